//! `cairn watch`: a query's result that stays current. On a terminal it is a table that changes in place, with marks where
//! the last change was; elsewhere every change is a line.
//!
//! One process has a database open for writing, so what changes the result runs in this one: the statements of standard
//! input, where that is no terminal. With their end the watching ends.

use std::io::{IsTerminal, Write, stdin, stdout};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cairndb::{Connection, Database, EvalContext, LiveChange, LiveQuery, Next, Options, Position, Row, split_script};
use console::Term;

use crate::output::{Column, Expanded, Format, Grid, Style, cells_of, json_object, write_grid};
use crate::report::Failure;
use crate::shell::{answer_backups, open_file};

/// How long it may take until Ctrl-C is noticed, or that the statements of standard input have ended.
const NOTICE: Duration = Duration::from_millis(100);

/// A terminal is drawn anew so often at most.
const FRAME: Duration = Duration::from_millis(50);

/// When nothing has come for so long behind the last statement, nothing does.
const QUIET: Duration = Duration::from_millis(300);

/// Lines of a terminal that are no rows: title, names, rule, count, blank, and the cursor's.
const OTHER_LINES: usize = 6;

/// Watches until Ctrl-C, the end of the statements on standard input, or that of the query.
pub fn run(file: &Path, sql: &str, format: Format) -> Result<(), Failure> {
    let database = open_file(file, Options::default())?;
    answer_backups(&database);
    let watched = watch(&database, sql, format);
    database.close()?;
    watched
}

fn watch(database: &Database, sql: &str, format: Format) -> Result<(), Failure> {
    let connection = database.connect()?;
    let mut live = connection.live(sql, ()).map_err(|error| Failure::sql(error, sql))?;
    let leaving = Arc::new(AtomicBool::new(false));
    let flag = leaving.clone();
    // Without it Ctrl-C ends the process, which the next opening recovers from.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::SeqCst));
    let writer = (!stdin().is_terminal()).then(|| Writer::start(database.clone()));
    let mut face: Box<dyn Face + '_> = match stdout().is_terminal() && format == Format::Table {
        true => Box::new(Screen { connection: &connection, sql, lines: 0 }),
        false => Box::new(Lines { format, columns: live.columns().iter().map(Column::from).collect() }),
    };
    let shown = follow(&mut live, face.as_mut(), &leaving, writer.as_ref());
    match writer {
        Some(writer) if shown.is_ok() && !leaving.load(Ordering::SeqCst) => writer.end(),
        _ => shown,
    }
}

fn follow(
    live: &mut LiveQuery,
    face: &mut dyn Face,
    leaving: &AtomicBool,
    writer: Option<&Writer>,
) -> Result<(), Failure> {
    while !leaving.load(Ordering::SeqCst) {
        let has_ended = writer.is_some_and(Writer::has_ended);
        match live.next_change_within(if has_ended { QUIET } else { NOTICE })? {
            Next::Item(change) => face.show(&change)?,
            Next::NotYet if !has_ended => {}
            Next::NotYet | Next::End => return Ok(()),
        }
    }
    Ok(())
}

/// The statements of standard input, on a connection of their own.
struct Writer(JoinHandle<Result<(), Failure>>);

impl Writer {
    fn start(database: Database) -> Writer {
        Writer(thread::spawn(move || {
            let text =
                std::io::read_to_string(stdin()).map_err(|error| Failure::Message(format!("cannot read: {error}")))?;
            let connection = database.connect()?;
            for statement in split_script(&text) {
                connection.execute_script(statement.text).map_err(|error| Failure::sql(error, statement.text))?;
            }
            Ok(())
        }))
    }

    fn has_ended(&self) -> bool {
        self.0.is_finished()
    }

    fn end(self) -> Result<(), Failure> {
        self.0.join().unwrap_or_else(|_| Err(Failure::Message("the statements ended in a panic".to_string())))
    }
}

/// Where changes are shown.
trait Face {
    fn show(&mut self, change: &LiveChange) -> Result<(), Failure>;
}

/// Every change is a line.
struct Lines {
    format: Format,
    columns: Vec<Column>,
}

impl Lines {
    fn line(&self, sign: &str, row: &Row<'_>, old: Option<&Row<'_>>, position: Position) -> String {
        let context = EvalContext::now();
        if self.format == Format::Json {
            let object = |row: &Row<'_>| json_object(&self.columns, row, &context);
            let old = old.map_or(String::new(), |old| format!(",\"old\":{}", object(old)));
            return format!("{{\"change\":\"{sign}\",\"position\":\"{position}\",\"row\":{}{old}}}", object(row));
        }
        let mut line = sign.to_string();
        for cell in cells_of(row, &context) {
            line.push('\t');
            match cell {
                None => line.push_str("\\N"),
                Some(text) => text.chars().for_each(|c| match c {
                    '\\' => line.push_str("\\\\"),
                    '\t' => line.push_str("\\t"),
                    '\n' => line.push_str("\\n"),
                    '\r' => line.push_str("\\r"),
                    c => line.push(c),
                }),
            }
        }
        line
    }
}

impl Face for Lines {
    fn show(&mut self, change: &LiveChange) -> Result<(), Failure> {
        let position = change.position();
        let mut out = stdout().lock();
        for row in change.removed() {
            writeln!(out, "{}", self.line("-", &row, None, position))?;
        }
        for (old, new) in change.updated() {
            writeln!(out, "{}", self.line("~", &new, Some(&old), position))?;
        }
        for row in change.added() {
            writeln!(out, "{}", self.line("+", &row, None, position))?;
        }
        Ok(out.flush()?)
    }
}

/// A table that changes in place. Its rows are read again, so that they stand in the query's order.
struct Screen<'c> {
    connection: &'c Connection,
    sql: &'c str,
    /// Lines that were drawn last.
    lines: usize,
}

impl Face for Screen<'_> {
    fn show(&mut self, change: &LiveChange) -> Result<(), Failure> {
        let context = EvalContext::now();
        let added: Vec<_> = change.added().map(|row| cells_of(&row, &context)).collect();
        let updated: Vec<_> = change.updated().map(|(_, new)| cells_of(&new, &context)).collect();
        let mark = |row: &Vec<Option<String>>| match (updated.contains(row), added.contains(row)) {
            _ if change.is_first() => "",
            (true, _) => "~",
            (_, true) => "+",
            _ => "",
        };
        let term = Term::stdout();
        let (height, width) = term.size();
        let room = usize::from(height).saturating_sub(OTHER_LINES).max(1);
        let mut found = self.connection.query(self.sql, ()).map_err(|error| Failure::sql(error, self.sql))?;
        let mut columns = vec![Column::text("")];
        columns.extend(found.columns().iter().map(Column::from));
        let (mut rows, mut count) = (Vec::new(), 0);
        while let Some(row) = found.next()? {
            count += 1;
            if rows.len() < room {
                let row = cells_of(&row, &context);
                rows.push([vec![Some(mark(&row).to_string())], row].concat());
            }
        }
        let more = if count > rows.len() { format!(", the first {} are shown", rows.len()) } else { String::new() };
        let gone = change.removed().count();
        let gone = if gone > 0 { format!(", {gone} just went") } else { String::new() };
        let footer = Some(vec![format!("({count} rows{more}{gone}) Ctrl-C leaves")]);
        let mut drawn = Vec::new();
        write_grid(&mut drawn, &Grid { title: None, columns, rows, footer }, &style())?;
        self.draw(&term, &String::from_utf8_lossy(&drawn), usize::from(height), usize::from(width))?;
        thread::sleep(FRAME);
        Ok(())
    }
}

impl Screen<'_> {
    fn draw(&mut self, term: &Term, text: &str, height: usize, width: usize) -> Result<(), Failure> {
        let lines: Vec<&str> = text.trim_end().lines().take(height.saturating_sub(1)).collect();
        let mut out = String::new();
        if self.lines > 0 {
            out.push_str(&format!("\x1b[{}A\r\x1b[J", self.lines));
        }
        for line in &lines {
            let shown = console::truncate_str(line, width.saturating_sub(1), "");
            let coloured = match line.trim_start().starts_with(['~', '+']) && console::colors_enabled() {
                true => console::style(shown).yellow().bold().to_string(),
                false => shown.to_string(),
            };
            out.push_str(&coloured);
            out.push('\n');
        }
        self.lines = lines.len();
        Ok(term.write_str(&out)?)
    }
}

fn style() -> Style {
    Style { format: Format::Table, header: true, null: String::new(), expanded: Expanded::Off, terminal_columns: None }
}
