//! A collection as lines of JSON, in one state of it.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

use cairndb::{Document, Options, Value};
use clap::Args;

use super::lines::ID;
use super::members::Members;
use crate::maintenance::open_existing;
use crate::report::Failure;

/// What is exported, and how.
#[derive(Debug, Args)]
pub struct Export {
    /// The database file
    pub file: PathBuf,
    /// The collection
    pub collection: String,
    /// Write to a new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Only documents that the filter finds, a JSON object (docs/documents.md)
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub filter: String,
    /// Documents alone, without an _id
    #[arg(long)]
    pub without_ids: bool,
}

pub fn export(asked: &Export) -> Result<(), Failure> {
    let database = open_existing(&asked.file, Options::default().read_only(true))?;
    let written = match &asked.output {
        None => write(asked, &database, &mut BufWriter::new(stdout().lock())),
        Some(path) => {
            let file = File::create_new(path).map_err(|error| Failure::file(path, &error))?;
            let mut out = BufWriter::new(&file);
            let written = write(asked, &database, &mut out)
                .and_then(|()| file.sync_all().map_err(|error| Failure::file(path, &error)));
            if written.is_err() {
                // Half a collection is none.
                let _ = std::fs::remove_file(path);
            }
            written
        }
    };
    written?;
    Ok(database.close()?)
}

fn write(asked: &Export, database: &cairndb::Database, out: &mut dyn Write) -> Result<(), Failure> {
    let connection = database.connect()?;
    let collection = connection.collection(&asked.collection)?;
    for document in collection.find(asked.filter.as_str()).sort(["$id"]).iter()? {
        let document = document?;
        let line = if asked.without_ids { document.doc.to_string() } else { with_id(&document)? };
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

/// The document's object with its id before all others.
fn with_id(document: &Document) -> Result<String, Failure> {
    let (id, text) = (document.id_text(), document.doc.to_string());
    let refused = |what: &str| {
        let message = format!("document {id:?} {what}; --without-ids writes documents alone");
        Err(Failure::Message(message))
    };
    match Members::of(&text) {
        Ok(Some(members)) if members.get(ID).is_some() => {
            return refused("has an _id of its own, which may not be its id");
        }
        Ok(Some(_)) => {}
        _ => return refused("is no JSON object, so there is no place for its id"),
    }
    let quoted = match &document.id {
        Value::BigInt(_) => id.clone(),
        _ => serde_json::to_string(&id).map_err(|error| Failure::Message(error.to_string()))?,
    };
    let rest = text.strip_prefix('{').unwrap_or_default();
    Ok(format!("{{\"{ID}\": {quoted}{}{rest}", if rest == "}" { "" } else { ", " }))
}
