//! `cairn verify`, `backup`, `compact`, `salvage` and `stats`.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cairndb::salvage::{SalvageProgress, SavedTable, UncertainFile, salvage_with_progress};
use cairndb::{Database, Options, Salvaged, SqlState, Verified};

use crate::output::{Column, Expanded, Format, Grid, Style, write_grid};
use crate::progress;
use crate::report::{Failure, say};
use crate::shell::open_file;

/// Opens a database that must exist: a tool that makes an empty one to check it would hide a typing error.
pub fn open_existing(path: &Path, options: Options) -> Result<Database, Failure> {
    match path.metadata() {
        Err(error) => Err(Failure::file(path, &error)),
        Ok(metadata) if metadata.is_dir() => Err(Failure::Message(format!("{}: is a directory", path.display()))),
        Ok(_) => open_file(path, options),
    }
}

/// What `cairn salvage` ends with when something is lost or uncertain, `cairn verify` when rows violate constraints, and an
/// import when something is left out.
const INCOMPLETE: u8 = 4;

/// Checks a whole database, which is only read.
pub fn verify(path: &Path, constraints: bool) -> Result<ExitCode, Failure> {
    let database = open_existing(path, Options::default().read_only(true))?;
    let bar = progress::busy("checking");
    let result = database.verify();
    let violated = if constraints && result.is_ok() { database.verify_constraints() } else { Ok(Vec::new()) };
    bar.finish_and_clear();
    let (found, violated) = (result?, violated?);
    database.close()?;
    let mut lines = vec![format!("{}: {} ({})", path.display(), what_is_right(&found), size(path)?)];
    lines.extend(found.notes.iter().map(|note| format!("  {note}")));
    if constraints && violated.is_empty() {
        lines.push("Every row keeps its table's constraints.".into());
    }
    lines.extend(section("Violated constraints:", &violated));
    tell(&lines, violated.is_empty())
}

/// Writes lines, and says with which code the command ends: that nobody reads them to their end is no reason for another.
pub fn tell(lines: &[impl Display], is_complete: bool) -> Result<ExitCode, Failure> {
    match lines.iter().try_for_each(say) {
        Ok(()) | Err(Failure::BrokenPipe) if is_complete => Ok(ExitCode::SUCCESS),
        Ok(()) | Err(Failure::BrokenPipe) => Ok(ExitCode::from(INCOMPLETE)),
        Err(failure) => Err(failure),
    }
}

/// A title, and what is listed below it; nothing, if nothing is.
pub fn section(title: &str, of: &[impl Display]) -> Vec<String> {
    let title = (!of.is_empty()).then(|| title.to_string());
    title.into_iter().chain(of.iter().map(|line| format!("  {line}"))).collect()
}

/// What a verification found right.
pub fn what_is_right(found: &Verified) -> String {
    let Verified { trees, pages, entries, free_pages, indexes, index_entries, .. } = found;
    format!(
        "every page, checksum and order is right: {trees} trees, {pages} pages, {entries} entries, {free_pages} free pages; \
         {indexes} indexes with {index_entries} entries agree with their tables"
    )
}

/// Copies a database to a new file, or all of a folder to a new folder.
pub fn backup(path: &Path, target: &Path) -> Result<(), Failure> {
    if path.is_dir() { backup_folder(path, target) } else { backup_file(path, target) }
}

/// Each is copied as it is at a moment of its own. One that can not be copied keeps none from it that can.
fn backup_folder(path: &Path, target: &Path) -> Result<(), Failure> {
    let files: Vec<PathBuf> = std::fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>())
        .map_err(|error| Failure::file(path, &error))?;
    let mut files: Vec<PathBuf> =
        files.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "cairn")).collect();
    files.sort();
    if files.is_empty() {
        return Err(Failure::Message(format!("{}: there is no database in the folder", path.display())));
    }
    std::fs::create_dir(target).map_err(|error| Failure::file(target, &error))?;
    let copied = files.iter().filter_map(|file| Some((file, file.file_name()?)));
    let failed: Vec<Failure> = copied.filter_map(|(file, name)| backup_file(file, &target.join(name)).err()).collect();
    match &failed[..] {
        [] => Ok(()),
        failed => {
            let told: Vec<String> = failed.iter().map(Failure::to_string).collect();
            Err(Failure::Message(format!("{} of {} were not copied: {}", failed.len(), files.len(), told.join("; "))))
        }
    }
}

/// One that is in use is read beside others that read, or copied by who writes; one that can not be written is only read.
fn backup_file(path: &Path, target: &Path) -> Result<(), Failure> {
    if target.exists() {
        return Err(Failure::Message(format!("{}: exists already; a backup never overwrites", target.display())));
    }
    let to_read = || open_existing(path, Options::default().read_only(true));
    let opened = open_existing(path, Options::default())
        .or_else(|failure| to_read().map_err(|other| if is_in_use(&failure) { other } else { failure }));
    let bar = progress::bytes(path.metadata().map_or(0, |metadata| metadata.len()));
    let copied = |bytes| bar.set_position(bytes);
    let result = match &opened {
        Ok(database) => database.backup_with_progress(target, copied),
        Err(failure) if is_in_use(failure) => Database::request_backup(path, target, copied),
        Err(_) => Ok(()),
    };
    bar.finish_and_clear();
    result?;
    match opened {
        Ok(database) => database.close()?,
        Err(failure) if !is_in_use(&failure) => return Err(failure),
        Err(_) => {}
    }
    say(format_args!("{} copied to {} ({})", path.display(), target.display(), size(target)?))
}

pub fn is_in_use(failure: &Failure) -> bool {
    matches!(failure, Failure::Sql { error, .. } if error.sqlstate() == SqlState::OBJECT_IN_USE)
}

/// Gives free space back.
pub fn compact(path: &Path) -> Result<(), Failure> {
    let database = open_existing(path, Options::default())?;
    let bar = progress::busy("compacting");
    let result = database.compact();
    bar.finish_and_clear();
    let (before, after) = result?;
    database.close()?;
    say(format_args!("{}: {} before, {} now", path.display(), human_bytes(before), human_bytes(after)))
}

/// Saves what is left of a damaged database, and says what is not.
pub fn salvage(path: &Path, target: &Path) -> Result<ExitCode, Failure> {
    let bar = progress::busy("reading");
    let result = salvage_with_progress(path, target, |step| {
        bar.set_message(match step {
            SalvageProgress::Pages(read, of) => format!("reading: {read} of {of} pages"),
            SalvageProgress::Table(name) => format!("checking table {name}"),
            _ => "checking foreign keys".to_string(),
        });
    });
    bar.finish_and_clear();
    let saved = result?;
    let mut lines = vec![format!("{} saved to {} ({})", path.display(), target.display(), size(target)?)];
    lines.extend(words_of(&saved));
    tell(&lines, saved.is_complete())
}

/// What was saved, then what was not.
fn words_of(saved: &Salvaged) -> Vec<String> {
    let indexes = |table: &SavedTable| match table.indexes.len() {
        0 => String::new(),
        _ => format!("; indexes made anew: {}", table.indexes.join(", ")),
    };
    let mut lines: Vec<String> =
        saved.tables.iter().map(|table| format!("  {}: {} rows{}", table.name, table.rows, indexes(table))).collect();
    if saved.pages_replaced > 0 {
        lines.push(format!("Damaged pages whose content was known from elsewhere: {}", saved.pages_replaced));
    }
    if saved.is_complete() {
        lines.push("No row is known to be lost.".into());
    }
    let lost = saved.lost.iter().map(ToString::to_string).chain(saved.lost_besides.iter().cloned());
    lines.extend(section("Lost:", &lost.collect::<Vec<_>>()));
    lines.extend(section("Rows that refer to what is lost:", &saved.dangling));
    if let Some(uncertain) = &saved.uncertain {
        lines.extend(uncertain_words(uncertain));
    }
    lines.extend(section("To be known:", &saved.notes));
    lines
}

fn uncertain_words(uncertain: &UncertainFile) -> Vec<String> {
    let words = |(table, rows): &(String, u64)| match table.as_str() {
        "salvage_unknown" => {
            format!(
                "{table}: {rows} entries, as bytes, of what has no definition any more, or of definitions themselves"
            )
        }
        _ => format!("{table}: {rows} rows"),
    };
    let title = format!("What may or may not be live, each with the reason, in {}:", uncertain.path.display());
    section(&title, &uncertain.tables.iter().map(words).collect::<Vec<_>>())
}

/// Shows what tables and indexes take, and counters.
pub fn stats(path: &Path) -> Result<(), Failure> {
    let database = open_existing(path, Options::default().read_only(true))?;
    let bar = progress::busy("reading");
    let sizes = database.sizes();
    bar.finish_and_clear();
    let text = |text: String| Some(text);
    let row = |size: cairndb::RelationSize| {
        let name = match size.schema.as_str() {
            "public" => size.name,
            schema => format!("{schema}.{}", size.name),
        };
        let kind = size.index_of.map_or("table".to_string(), |table| format!("index of {table}"));
        let fill = if size.pages == 0 { String::new() } else { format!("{:.0} %", size.fill * 100.0) };
        [name, kind, size.rows.to_string(), size.pages.to_string(), size.bytes.to_string(), fill].map(text).to_vec()
    };
    let mut columns = ["name", "kind"].map(Column::text).to_vec();
    columns.extend(["rows", "pages", "bytes", "fill"].map(Column::number));
    let title = Some(format!("{} ({})", path.display(), size(path)?));
    let grid = Grid { title, columns, rows: sizes?.into_iter().map(row).collect(), footer: None };
    write_grid(&mut std::io::stdout().lock(), &grid, &plain_style())?;
    show("storage engine, since it was opened", ["counter", "value"], &database.stats().entries())
}

fn show(title: &str, names: [&str; 2], rows: &[(&str, u64)]) -> Result<(), Failure> {
    let columns = vec![Column::text(names[0]), Column::number(names[1])];
    let rows = rows.iter().map(|(name, value)| vec![Some((*name).to_string()), Some(value.to_string())]).collect();
    let grid = Grid { title: Some(title.to_string()), columns, rows, footer: None };
    write_grid(&mut std::io::stdout().lock(), &grid, &plain_style())
}

/// Tables as the shell shows them at its start.
pub fn plain_style() -> Style {
    Style { format: Format::Table, header: true, null: String::new(), expanded: Expanded::Off, terminal_columns: None }
}

/// The size of a file, for people.
pub fn size(path: &Path) -> Result<String, Failure> {
    Ok(human_bytes(path.metadata().map_err(|error| Failure::file(path, &error))?.len()))
}

fn human_bytes(bytes: u64) -> String {
    indicatif::HumanBytes(bytes).to_string()
}
