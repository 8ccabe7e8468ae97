//! A table or a query into CSV.

use std::fs::File;
use std::io::{BufWriter, Write};

use cairndb::Connection;
use cairndb::{EvalContext, to_text};

use super::command::{Copy, Source};
use crate::output::write_record;
use crate::progress;
use crate::report::Failure;

/// The progress bar is told every so many rows.
const ROWS_PER_TICK: u64 = 1024;

/// Writes the rows to the command's file, or to `own_output`; the number of rows.
pub fn export(
    connection: &Connection,
    copy: &Copy,
    own_output: &mut dyn Write,
    context: &EvalContext,
) -> Result<u64, Failure> {
    let Some(path) = &copy.file else { return write_rows(connection, copy, own_output, context) };
    let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let count = write_rows(connection, copy, &mut out, context)?;
    out.flush().map_err(|error| Failure::file(path, &error))?;
    Ok(count)
}

fn query_of(source: &Source) -> String {
    let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
    match source {
        Source::Query(query) => query.clone(),
        Source::Table { name, columns } if columns.is_empty() => format!("SELECT * FROM {}", quoted(name)),
        Source::Table { name, columns } => {
            let columns: Vec<String> = columns.iter().map(quoted).collect();
            format!("SELECT {} FROM {}", columns.join(", "), quoted(name))
        }
    }
}

/// As [`export`], always to `out`.
pub(super) fn write_rows(
    connection: &Connection,
    copy: &Copy,
    out: &mut dyn Write,
    context: &EvalContext,
) -> Result<u64, Failure> {
    let query = query_of(&copy.source);
    let mut rows = connection.query(&query, ()).map_err(|error| Failure::sql(error, &query))?;
    if copy.header {
        let names: Vec<Option<&str>> = rows.columns().iter().map(|field| Some(field.name.as_str())).collect();
        write_record(out, &names, &copy.dialect)?;
    }
    let bar = progress::rows();
    let mut count = 0;
    while let Some(row) = rows.next()? {
        let cells: Vec<Option<String>> =
            row.values().iter().map(|value| (!value.is_null()).then(|| to_text(value, context))).collect();
        let cells: Vec<Option<&str>> = cells.iter().map(Option::as_deref).collect();
        write_record(out, &cells, &copy.dialect)?;
        count += 1;
        if count % ROWS_PER_TICK == 0 {
            bar.set_position(count);
        }
    }
    bar.finish_and_clear();
    Ok(count)
}
