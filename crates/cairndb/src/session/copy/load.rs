//! COPY FROM: what the data's rows become.

use std::io::BufRead;

use super::{condition_of, flags, positions, target};
use crate::bind::bind_default;
use crate::catalog::{Catalog, Definition, ObjectName, Table};
use crate::command::Copy;
use crate::copy::{Bad, Header, Records, Tuples};
use crate::dml::row::RowInsert;
use crate::dml::{DmlContext, Feed};
use crate::exec::eval_row;
use crate::plan::Expr;
use crate::session::Params;
use crate::state::TemporaryTrees;
use crate::types::{DataType, ValueRef, fit, from_text, read_binary};
use crate::{Error, Result, SqlState, Value};

/// The most of a line, or of a value, that an error shows.
const SHOWN_MAX: usize = 100;

/// How many rows go by between two looks whether to stop.
const ROWS_PER_CHECK: u64 = 256;

/// A column that the data has values for.
struct Target {
    position: usize,
    data_type: DataType,
    force_not_null: bool,
    force_null: bool,
}

/// What is copied into a table.
pub(super) enum Data<'d> {
    Bytes(&'d mut dyn BufRead),
    /// Hands the next row to who takes it; whether there was one.
    Rows(&'d mut NextRow<'d>),
}

pub(super) type NextRow<'d> = dyn FnMut(&mut dyn FnMut(&dyn Params) -> Result<()>) -> Result<bool> + 'd;

/// COPY FROM, while it runs.
struct Load<'a> {
    table: &'a Table,
    targets: Vec<Target>,
    /// Of the columns that are not as the data has them, as far as they have one.
    defaults: Vec<(usize, Expr)>,
    filter: Option<Expr>,
    context: &'a DmlContext<'a>,
}

pub(super) fn copy_from(
    copy: &Copy,
    (name, columns): (&ObjectName, &[String]),
    data: Data<'_>,
    context: &DmlContext<'_>,
) -> Result<u64> {
    let table = target(name, context.catalog)?;
    if copy.freezes {
        check_unseen(&table, context)?;
    }
    let positions = positions(&table, columns)?;
    let names: Vec<String> = positions.iter().map(|&position| table.columns[position].name.clone()).collect();
    for named in [&copy.force_not_null, &copy.force_null] {
        if !named.is_empty() {
            self::positions(&table, named)?;
        }
    }
    let not_null = flags("FORCE_NOT_NULL", &copy.force_not_null, &names)?;
    let null = flags("FORCE_NULL", &copy.force_null, &names)?;
    let target = |((&position, force_not_null), force_null): ((&usize, bool), bool)| Target {
        position,
        data_type: table.columns[position].data_type,
        force_not_null,
        force_null,
    };
    let filter = copy.filter.as_ref().map(|text| condition_of(text, &table, context.catalog));
    let load = Load {
        table: &table,
        targets: positions.iter().zip(not_null).zip(null).map(target).collect(),
        defaults: defaults(&table, &given(&table, &positions), context.catalog)?,
        filter: filter.transpose()?,
        context,
    };
    let program = if table.is_face() { None } else { Some(RowInsert::plain(&table, context.catalog)?) };
    let feed = || match &program {
        Some(program) => Feed::new(program, context),
        None => Feed::instead(&table, context),
    };
    let input = match data {
        Data::Bytes(input) => input,
        Data::Rows(next) => return load.run_rows(next, feed()?),
    };
    if copy.is_binary {
        return load.run_binary(Tuples::new(input)?, feed()?);
    }
    let mut records = Records::new(input, copy.format.clone());
    if copy.format.header != Header::No {
        let is_there = records.next().map_err(|bad| load.bad(bad, &records))?;
        if is_there && copy.format.header == Header::Match {
            records.check_header(&names).map_err(|bad| load.bad(bad, &records))?;
        }
    }
    load.run(&mut records, feed()?)
}

/// What FREEZE asks for: SQLSTATE 55000 for a table whose rows others may look at already, since it was neither created nor emptied by the
/// transaction. (What it gives in PostgreSQL, that nobody has to find out later who may see the rows, all rows have here.)
fn check_unseen(table: &Table, context: &DmlContext<'_>) -> Result<()> {
    let store = match context.tx.temporary_store() {
        Some(own) if TemporaryTrees::have(table.tree) => own.store(),
        _ => context.store,
    };
    match store.snapshot()?.reader().tree_stamp(table.tree) {
        Err(cairn_storage::Error::NoSuchTree(_)) if !table.is_face() => Ok(()),
        Err(error) if !table.is_face() => Err(error.into()),
        _ => {
            let message = "cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction";
            Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .with_hint("Leave FREEZE out: rows need none."))
        }
    }
}

/// Those of the copied columns that are as the data has them: a collection's documents get versions of their own.
fn given(table: &Table, copied: &[usize]) -> Vec<usize> {
    copied.iter().copied().filter(|position| table.version_column() != Some(*position)).collect()
}

/// What the columns that are not copied get.
fn defaults(table: &Table, copied: &[usize], catalog: &Catalog) -> Result<Vec<(usize, Expr)>> {
    let mut defaults = Vec::new();
    for (position, column) in table.columns.iter().enumerate().filter(|(position, _)| !copied.contains(position)) {
        let definition = match column.identity {
            Some(identity) => {
                let sequence = catalog.sequence_by_id(identity.sequence);
                let sequence = sequence.ok_or_else(|| Error::internal("a sequence is missing"))?;
                let name = catalog.shown(sequence.schema, &sequence.name).replace('\'', "''");
                Some(Definition { text: format!("nextval('{name}')"), references: None })
            }
            None => column.default.clone(),
        };
        if let Some(definition) = definition {
            defaults.push((position, bind_default(&definition, column.data_type, catalog)?));
        }
    }
    Ok(defaults)
}

impl Load<'_> {
    fn run(&self, records: &mut Records<&mut dyn BufRead>, mut feed: Feed<'_>) -> Result<u64> {
        let mut row = vec![Value::Null; self.table.columns.len()];
        let mut count = 0u64;
        while records.next().map_err(|bad| self.bad(bad, records))? {
            count += 1;
            if count.is_multiple_of(ROWS_PER_CHECK) {
                self.context.exec.check()?;
            }
            self.read(records, &mut row)?;
            let inserted = self.is_wanted(&row).and_then(|wanted| if wanted { feed.insert(&row) } else { Ok(()) });
            inserted.map_err(|error| error.with_context(self.place_of_line(records)))?;
        }
        feed.finish()
    }

    fn run_binary(&self, mut tuples: Tuples<&mut dyn BufRead>, mut feed: Feed<'_>) -> Result<u64> {
        let mut row = vec![Value::Null; self.table.columns.len()];
        let mut count = 0u64;
        let place = |line: u64| format!("COPY {}, line {line}", self.table.name);
        loop {
            let is_there = tuples.next(self.targets.len());
            let line = tuples.line();
            if !is_there.map_err(|error| error.with_context(place(line)))? {
                return feed.finish();
            }
            count += 1;
            if count.is_multiple_of(ROWS_PER_CHECK) {
                self.context.exec.check()?;
            }
            for target in &self.targets {
                let field = tuples.field().and_then(|field| match field {
                    Some(bytes) => read_binary(bytes, target.data_type),
                    None => Ok(Value::Null),
                });
                row[target.position] = field.map_err(|error| {
                    error.with_context(format!("{}, column {}", place(line), self.table.columns[target.position].name))
                })?;
            }
            self.defaults(&mut row).map_err(|error| error.with_context(place(line)))?;
            let inserted = self.is_wanted(&row).and_then(|wanted| if wanted { feed.insert(&row) } else { Ok(()) });
            inserted.map_err(|error| error.with_context(place(line)))?;
        }
    }

    fn run_rows(&self, next: &mut NextRow<'_>, mut feed: Feed<'_>) -> Result<u64> {
        let mut row = vec![Value::Null; self.table.columns.len()];
        let mut count = 0u64;
        let place = |count: u64| format!("appending to {}, row {count}", self.table.name);
        loop {
            count += 1;
            if count.is_multiple_of(ROWS_PER_CHECK) {
                self.context.exec.check()?;
            }
            let mut take = |values: &dyn Params| self.take(values, &mut row, &|| place(count));
            if !next(&mut take)? {
                return feed.finish();
            }
            let inserted = self.defaults(&mut row).and_then(|()| feed.insert(&row));
            inserted.map_err(|error| error.with_context(place(count)))?;
        }
    }

    fn take(&self, values: &dyn Params, row: &mut [Value], place: &dyn Fn() -> String) -> Result<()> {
        if values.count() != self.targets.len() {
            let message = format!("the row has {} values for {} columns", values.count(), self.targets.len());
            return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_context(place()));
        }
        for (at, target) in self.targets.iter().enumerate() {
            let value = match values.value(at) {
                // Which looks at a string's length, too.
                value @ ValueRef::Text(text) if value.is_sound() => {
                    from_text(text, target.data_type, &self.context.exec.eval)
                }
                value => fit(value, target.data_type, &self.context.exec.eval),
            };
            row[target.position] = value.map_err(|error| {
                let column = &self.table.columns[target.position].name;
                error.with_context(format!("{}, column {column}", place()))
            })?;
        }
        Ok(())
    }

    /// The values of columns that the data does not have.
    fn defaults(&self, row: &mut [Value]) -> Result<()> {
        for (position, default) in &self.defaults {
            row[*position] = eval_row(default, &[], self.context.exec)?;
        }
        Ok(())
    }

    fn is_wanted(&self, row: &[Value]) -> Result<bool> {
        match &self.filter {
            Some(filter) => Ok(eval_row(filter, row, self.context.exec)? == Value::Boolean(true)),
            None => Ok(true),
        }
    }

    /// The record's values, and the defaults of the other columns.
    fn read(&self, records: &mut Records<&mut dyn BufRead>, row: &mut [Value]) -> Result<()> {
        let broken = |message: String| {
            Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_context(self.place_of_line(records)))
        };
        if let Some(target) = self.targets.get(records.len()) {
            return broken(format!("missing data for column \"{}\"", self.table.columns[target.position].name));
        }
        if records.len() > self.targets.len() {
            return broken("extra data after last expected column".to_owned());
        }
        for (at, target) in self.targets.iter().enumerate() {
            records.force(at, (target.force_not_null, target.force_null));
            let text = records.field(at).map_err(|error| error.with_context(self.place(records)))?;
            row[target.position] = match text {
                None => Value::Null,
                Some(text) => from_text(text, target.data_type, &self.context.exec.eval).map_err(|error| {
                    let column = &self.table.columns[target.position].name;
                    error.with_context(format!("{}, column {column}: \"{}\"", self.place(records), shortened(text)))
                })?,
            };
        }
        self.defaults(row).map_err(|error| error.with_context(self.place_of_line(records)))
    }

    fn bad(&self, bad: Bad, records: &Records<&mut dyn BufRead>) -> Error {
        let place = if bad.shows_line { self.place_of_line(records) } else { self.place(records) };
        bad.error.with_context(place)
    }

    fn place(&self, records: &Records<&mut dyn BufRead>) -> String {
        format!("COPY {}, line {}", self.table.name, records.line())
    }

    fn place_of_line(&self, records: &Records<&mut dyn BufRead>) -> String {
        format!("{}: \"{}\"", self.place(records), shortened(&records.raw()))
    }
}

/// A value for a message: not more than PostgreSQL shows.
fn shortened(text: &str) -> String {
    match text.char_indices().find(|(at, ch)| at + ch.len_utf8() > SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
