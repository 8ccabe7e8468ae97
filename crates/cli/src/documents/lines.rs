//! Lines of JSON as COPY reads rows: one of a document, or of an id and a document.

use std::io::{self, BufRead, Read};

use serde_json::value::RawValue;

use super::extended::Kept;
use super::members::Members;

/// The longest document, in bytes.
const LINE_MAX: u64 = 1 << 28;
/// What is made at once.
const CHUNK: usize = 1 << 16;
/// Where lines name their documents.
pub const ID: &str = "_id";

pub struct Lines<R> {
    input: R,
    /// Of `input`, in errors.
    name: String,
    number: u64,
    line: String,
    /// Each line has an id; as the first one has.
    pub has_ids: bool,
    /// Lines are in MongoDB's extended JSON; what of it stayed.
    pub extended: Option<Kept>,
    out: String,
    at: usize,
}

impl<R: BufRead> Lines<R> {
    /// # Errors
    ///
    /// The first line can not be read, or is no JSON.
    pub fn new(input: R, name: String, is_extended: bool) -> io::Result<Lines<R>> {
        let extended = is_extended.then(Kept::default);
        let (line, out) = Default::default();
        let mut lines = Lines { input, name, number: 0, line, has_ids: false, extended, out, at: 0 };
        if lines.next_line()? {
            let members = Members::of(&lines.line).map_err(|error| lines.wrong(&no_json(&lines.line, &error)))?;
            lines.has_ids = members.is_some_and(|members| members.get(ID).is_some());
            lines.append()?;
        }
        Ok(lines)
    }

    fn wrong(&self, what: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}, line {}: {what}", self.name, self.number))
    }

    /// Goes to the next line that is not blank; false: there is none.
    fn next_line(&mut self) -> io::Result<bool> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = (&mut self.input).take(LINE_MAX).read_line(&mut self.line);
            if read.map_err(|error| self.wrong(&error.to_string()))? == 0 {
                return Ok(false);
            }
            if self.line.len() as u64 == LINE_MAX {
                return Err(self.wrong("it is longer than a document may be (256 MiB)"));
            }
            if !self.line.trim().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Makes a row of the line.
    fn append(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let row = self.row(&line);
        self.line = line;
        row.map_err(|what| self.wrong(&what))
    }

    fn row(&mut self, line: &str) -> Result<(), String> {
        if !self.has_ids && self.extended.is_none() {
            // As it is: the database says what is no JSON.
            serde_json::from_str::<&RawValue>(line).map_err(|error| no_json(line, &error))?;
            escape(line.trim(), &mut self.out);
            self.out.push('\n');
            return Ok(());
        }
        let members = Members::of(line).map_err(|error| no_json(line, &error))?;
        let members = members.ok_or("it is no JSON object, so it has no _id, which the first line has")?;
        let id = members.get(ID);
        if self.has_ids {
            let id = id.ok_or("it has no _id, which the first line has")?;
            let id = self.id(id)?;
            escape(&id, &mut self.out);
            self.out.push('\t');
        } else if id.is_some() {
            return Err("it has an _id, which the first line has not".into());
        }
        let mut document = String::with_capacity(line.len());
        document.push('{');
        for (name, value) in members.0.iter().filter(|(name, _)| name != ID) {
            document.push_str(if document.len() == 1 { "" } else { ", " });
            document.push_str(&serde_json::to_string(name).map_err(|error| error.to_string())?);
            document.push_str(": ");
            match &mut self.extended {
                Some(kept) => kept.plain(value, &mut document)?,
                None => document.push_str(value.get()),
            }
        }
        document.push('}');
        escape(&document, &mut self.out);
        self.out.push('\n');
        Ok(())
    }

    /// The text of an id: a string's without quotes, anything else as it is written.
    fn id(&mut self, id: &RawValue) -> Result<String, String> {
        let mut text = id.get().to_owned();
        match &mut self.extended {
            Some(kept) => {
                text.clear();
                kept.plain(id, &mut text)?;
            }
            None if text.starts_with("{\"$") => {
                return Err(
                    "its _id is in MongoDB's extended JSON; say --mongo if this is what mongoexport wrote".into()
                );
            }
            None => {}
        }
        if text == "null" {
            return Err("its _id is null".into());
        }
        Ok(if text.starts_with('"') { serde_json::from_str(&text).map_err(|error| error.to_string())? } else { text })
    }
}

fn no_json(line: &str, error: &serde_json::Error) -> String {
    if line.starts_with('[') && error.is_eof() {
        return "it is the beginning of an array, not a document; one document a line is read (mongoexport without --jsonArray, or jq -c '.[]')".into();
    }
    format!("it is no JSON: {}", error.to_string().replace(" line 1", ""))
}

/// As COPY's text format has it.
fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '\t', '\n', '\r']) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'\\' => "\\\\",
            b'\t' => "\\t",
            b'\n' => "\\n",
            _ => "\\r",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.out.len() {
            (self.at, self.out) = (0, std::mem::take(&mut self.out));
            self.out.clear();
            while self.out.len() < CHUNK && self.next_line()? {
                self.append()?;
            }
        }
        let rest = &self.out.as_bytes()[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
