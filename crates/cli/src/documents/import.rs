//! Documents into a collection: a COPY of the database's, which gets the lines. All of them or none.

use std::fs::File;
use std::io::{self, BufReader, Read, stdin};
use std::path::PathBuf;

use cairndb::{CollectionOptions, Connection, Options, SqlState};
use clap::Args;
use indicatif::ProgressBar;

use super::lines::Lines;
use crate::progress;
use crate::report::{Failure, say};
use crate::shell::open_file;

/// What is imported, and into what.
#[derive(Debug, Args)]
pub struct Ndjson {
    /// The documents, one a line; - is standard input
    pub file: PathBuf,
    /// The database file; it is made where there is none
    pub into: PathBuf,
    /// The collection; it is made where there is none [default: the file's name]
    #[arg(long, value_name = "NAME")]
    pub collection: Option<String>,
    /// What mongoexport wrote: numbers, dates and ids in MongoDB's extended JSON become JSON's
    #[arg(long)]
    pub mongo: bool,
    /// A collection that is made here gets no change feed
    #[arg(long)]
    pub no_feed: bool,
}

pub fn import(asked: &Ndjson) -> Result<(), Failure> {
    let name = match (&asked.collection, asked.file.file_stem().and_then(|stem| stem.to_str())) {
        (Some(name), _) => name,
        (None, Some(stem)) if stem != "-" => stem,
        _ => return Err(Failure::Message("--collection says which collection the documents go to".into())),
    };
    let (input, total): (Box<dyn Read>, u64) = match asked.file.as_os_str() == "-" {
        true => (Box::new(stdin().lock()), 0),
        false => {
            let file = File::open(&asked.file).map_err(|error| Failure::file(&asked.file, &error))?;
            let total = file.metadata().map_or(0, |metadata| metadata.len());
            (Box::new(file), total)
        }
    };
    let bar = progress::bytes(total);
    let input = BufReader::with_capacity(1 << 17, Counted { input, bar: &bar });
    let shown = asked.file.display().to_string();
    // Before there is a database: what can not be read makes none.
    let mut lines = Lines::new(input, shown, asked.mongo).map_err(|error| Failure::Message(error.to_string()))?;
    let database = open_file(&asked.into, Options::default())?;
    let connection = database.connect()?;
    let count = copy(&connection, name, asked, &mut lines);
    bar.finish_and_clear();
    let count = count?;
    drop(connection);
    database.close()?;
    say(format!("{count} documents imported into {name} of {}", asked.into.display()))?;
    let kept = lines.extended.iter().flat_map(|kept| &kept.0);
    kept.into_iter().try_for_each(|(kind, count)| {
        say(format!("  {count} values of {kind} stay as MongoDB writes them: JSON has nothing of the kind"))
    })
}

/// The collection and its documents are one transaction.
fn copy(
    connection: &Connection,
    name: &str,
    asked: &Ndjson,
    lines: &mut Lines<impl io::BufRead>,
) -> Result<u64, Failure> {
    let columns = if lines.has_ids { "id, doc" } else { "doc" };
    let mut options = CollectionOptions::default();
    options.change_feed = !asked.no_feed;
    connection.execute("BEGIN", ())?;
    let made = match connection.collection(name) {
        Err(error) if error.sqlstate() == SqlState::UNDEFINED_TABLE => {
            connection.create_collection_with(name, &options).and_then(|_| connection.collection(name))
        }
        there => there,
    };
    let copied = made.and_then(|collection| {
        connection.copy_in(&format!("COPY {} ({columns}) FROM STDIN", collection.info().table()), lines)
    });
    let ended = connection.execute(if copied.is_ok() { "COMMIT" } else { "ROLLBACK" }, ());
    let count = copied?;
    ended?;
    Ok(count)
}

/// Tells how much of it was read.
struct Counted<'b> {
    input: Box<dyn Read>,
    bar: &'b ProgressBar,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}
