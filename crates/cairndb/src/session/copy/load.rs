//! COPY FROM: what the data's rows become.

use std::io::BufRead;
use std::sync::Arc;

use super::batches::{GivenBatches, NextBatch};
use super::incoming::{BinaryRows, GivenRows, Incoming, Rows, TextRows, first};
use super::{condition_of, flags, positions, target};
use crate::bind::{Callees, bind_default};
use crate::catalog::{Catalog, Definition, ObjectName, Table};
use crate::columns::{Batch, Vector, row_number};
use crate::command::Copy;
use crate::copy::{Decoded, Header, Lines, Tuples};
use crate::dml::row::RowInsert;
use crate::dml::{DmlContext, Feed, OfRow};
use crate::exec::eval_row;
use crate::plan::Expr;
use crate::session::Params;
use crate::state::TemporaryTrees;
use crate::types::DataType;
use crate::{Error, Result, SqlState, Value};

/// A column that the data has values for.
pub(super) struct Target {
    position: usize,
    pub(super) data_type: DataType,
    pub(super) force_not_null: bool,
    pub(super) force_null: bool,
}

/// What is copied into a table.
pub(super) enum Data<'d> {
    Bytes(&'d mut dyn BufRead),
    /// Hands the next row to who takes it; whether there was one.
    Rows(&'d mut NextRow<'d>),
    /// Gives the next rows; `None`: there are no more.
    Batches(&'d mut NextBatch<'d>),
}

pub(super) type NextRow<'d> = dyn FnMut(&mut dyn FnMut(&dyn Params) -> Result<()>) -> Result<bool> + 'd;

/// COPY FROM, while it runs.
pub(super) struct Load<'a> {
    pub(super) table: &'a Table,
    pub(super) targets: Vec<Target>,
    /// Of the columns that are not as the data has them, as far as they have one.
    defaults: Vec<(usize, Expr)>,
    filter: Option<Expr>,
    pub(super) context: &'a DmlContext<'a>,
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
        Data::Rows(next) => return load.run(&mut GivenRows::new(next), feed()?),
        Data::Batches(next) => return load.run(&mut GivenBatches::new(next), feed()?),
    };
    if copy.is_binary {
        let tuples = Tuples::new(input, load.targets.len())?;
        return load.run(&mut BinaryRows::new(tuples), feed()?);
    }
    let mut decoded;
    let input: &mut dyn BufRead = match copy.encoding.decoder()? {
        None => input,
        Some(decoder) => {
            decoded = Decoded::new(input, decoder);
            &mut decoded
        }
    };
    let mut rows = TextRows::new(Lines::new(input, copy.format.clone()));
    if copy.format.header != Header::No {
        rows.pass_header(&load, (copy.format.header == Header::Match).then_some(&names))?;
    }
    load.run(&mut rows, feed()?)
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
    fn run(&self, incoming: &mut dyn Incoming, mut feed: Feed<'_>) -> Result<u64> {
        let computes = self.computed().next().is_some();
        let is_ahead =
            !computes || feed.allows_ahead() && self.computed().all(|expr| Callees::of(expr) == Callees::BuiltIn);
        loop {
            self.context.exec.check()?;
            let Rows { columns, count, end } = incoming.next(self);
            let rows = self.in_tables_order(columns, count)?;
            // What is computed for a row may ask for those before it, and who is asked for those before for what was computed.
            let at_once = if is_ahead { count } else { 1 };
            for start in (0..count).step_by(at_once.max(1)) {
                let part = rows.slice(start, at_once);
                self.insert(part, &mut feed)
                    .map_err(|(error, row)| error.with_context(incoming.place(self, start + row)))?;
            }
            match end {
                Some(Ok(())) => return feed.finish(),
                Some(Err(error)) => return Err(error),
                None => {}
            }
        }
    }

    /// What is evaluated for each row besides what the table asks.
    fn computed(&self) -> impl Iterator<Item = &Expr> {
        self.defaults.iter().map(|(_, default)| default).chain(&self.filter)
    }

    /// Rows of all columns; those that are not copied are NULL.
    fn in_tables_order(&self, columns: Vec<Vector>, rows: usize) -> Result<Batch> {
        let mut all = vec![None; self.table.columns.len()];
        for (mut column, target) in columns.into_iter().zip(&self.targets) {
            column.check_text();
            all[target.position] = Some(Arc::new(column));
        }
        let others = all.into_iter().zip(&self.table.columns).map(|(column, of)| match column {
            Some(column) => Ok(column),
            None => Vector::repeat(of.data_type, &Value::Null, rows).map(Arc::new),
        });
        Ok(Batch::new(others.collect::<Result<_>>()?, rows))
    }

    /// Inserts rows with the defaults of the other columns, as far as they are wanted.
    fn insert(&self, rows: Batch, feed: &mut Feed<'_>) -> Result<(), OfRow> {
        let (rows, without_default) = self.with_defaults(rows);
        let (wanted, unjudged) = self.wanted(&rows);
        match &wanted {
            None => feed.insert(&rows)?,
            Some(wanted) => {
                let mut wanted_rows = rows.gather(wanted);
                wanted_rows.check_text();
                feed.insert(&wanted_rows)
                    .map_err(|(error, row)| (error, wanted.get(row).map_or(0, |&row| row as usize)))?;
            }
        }
        unjudged.or(without_default).map_or(Ok(()), Err)
    }

    /// Those before the first that has none.
    fn with_defaults(&self, rows: Batch) -> (Batch, Option<OfRow>) {
        if self.defaults.is_empty() {
            return (rows, None);
        }
        let empty =
            |(column, _): &(usize, Expr)| Vector::with_capacity(self.table.columns[*column].data_type, rows.len());
        let mut values: Vec<Vector> = self.defaults.iter().map(empty).collect();
        let mut evaluate = |row: usize| {
            self.defaults
                .iter()
                .zip(&mut values)
                .try_for_each(|((_, default), values)| values.push(&eval_row(default, &[], self.context.exec)?))
                .map_err(|error| (error, row))
        };
        let failed = (0..rows.len()).find_map(|row| evaluate(row).err());
        let count = failed.as_ref().map_or(rows.len(), |(_, row)| *row);
        let mut columns = rows.slice(0, count).into_columns();
        for ((position, _), values) in self.defaults.iter().zip(values) {
            columns[*position] = Arc::new(if values.len() > count { first(&values, count) } else { values });
        }
        let mut rows = Batch::new(columns, count);
        rows.check_text();
        (rows, failed)
    }

    /// The rows that the condition is true of, before the first that it can not be asked; `None`: all.
    fn wanted(&self, rows: &Batch) -> (Option<Vec<u32>>, Option<OfRow>) {
        let Some(filter) = &self.filter else { return (None, None) };
        let (mut wanted, mut values) = (Vec::new(), Vec::new());
        for row in 0..rows.len() {
            rows.read_row(row, &mut values);
            match eval_row(filter, &values, self.context.exec) {
                Ok(Value::Boolean(true)) => wanted.push(row_number(row)),
                Ok(_) => {}
                Err(error) => return (Some(wanted), Some((error, row))),
            }
        }
        (Some(wanted), None)
    }

    pub(super) fn column(&self, target: &Target) -> &str {
        &self.table.columns[target.position].name
    }
}
