//! `cairn verify`, `backup`, `compact` and `stats`.

use std::path::Path;

use cairndb::{Database, Options};

use crate::output::{Column, Expanded, Format, Grid, Style, write_grid};
use crate::progress;
use crate::report::Failure;
use crate::shell::open_file;

/// Opens a database that must exist: a tool that makes an empty one to check it would hide a typing error.
fn open_existing(path: &Path, options: Options) -> Result<Database, Failure> {
    match path.metadata() {
        Err(error) => Err(Failure::file(path, &error)),
        Ok(metadata) if metadata.is_dir() => Err(Failure::Message(format!("{}: is a directory", path.display()))),
        Ok(_) => open_file(path, options),
    }
}

/// Checks a whole database.
pub fn verify(path: &Path) -> Result<(), Failure> {
    let database = open_existing(path, Options::default())?;
    let bar = progress::busy("checking");
    let result = database.verify();
    bar.finish_and_clear();
    result?;
    println!("{}: every page, checksum and order is right ({})", path.display(), size(path)?);
    Ok(database.close()?)
}

/// Copies a database to a new file.
pub fn backup(path: &Path, target: &Path) -> Result<(), Failure> {
    if target.exists() {
        return Err(Failure::Message(format!("{}: exists already; a backup never overwrites", target.display())));
    }
    let database = open_existing(path, Options::default())?;
    let bar = progress::busy("copying");
    let result = database.backup_to(target);
    bar.finish_and_clear();
    result?;
    println!("{} copied to {} ({})", path.display(), target.display(), size(target)?);
    Ok(database.close()?)
}

/// Gives free space back.
pub fn compact(path: &Path) -> Result<(), Failure> {
    let before = path.metadata().map_err(|error| Failure::file(path, &error))?.len();
    let database = open_existing(path, Options::default())?;
    let bar = progress::busy("compacting");
    let result = database.compact();
    bar.finish_and_clear();
    result?;
    database.close()?;
    println!("{}: {} before, {} now", path.display(), human_bytes(before), size(path)?);
    Ok(())
}

/// Shows counters and the tables' rows.
pub fn stats(path: &Path) -> Result<(), Failure> {
    let database = open_existing(path, Options::default().read_only(true))?;
    let connection = database.connect()?;
    let mut rows = Vec::new();
    for name in connection.catalog()?.tables.keys() {
        let query = format!("SELECT count(*) FROM \"{}\"", name.replace('"', "\"\""));
        let count: i64 = connection.query_row(&query, (), |row| row.get(0))?;
        rows.push(vec![Some(name.clone()), Some(count.to_string())]);
    }
    let columns = vec![Column::text("table"), Column::number("rows")];
    let grid = Grid { title: Some(format!("{} ({})", path.display(), size(path)?)), columns, rows, footer: None };
    write_grid(&mut std::io::stdout().lock(), grid, &plain_style())?;
    println!("{:#?}", database.stats());
    Ok(())
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
