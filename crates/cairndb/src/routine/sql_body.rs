//! A function's body in SQL: statements one after the other, the last of which is what it gives.

use std::sync::Arc;

use super::domains::Results;
use crate::Result;
use crate::bind::{Parameters, Variables};
use crate::catalog::{ObjectId, Returns, Routine};
use crate::exec::ExecContext;
use crate::plan::Field;
use crate::session::{Planned, Runner};
use crate::sql::split_script;
use crate::types::{CastContext, Composite, CompositeType, DataType, can_cast, cast_assign};
use crate::{Error, SqlState, Value};

/// See the module.
#[derive(Debug)]
pub(crate) struct SqlBody {
    variables: Arc<dyn Variables>,
    statements: Vec<Planned>,
    results: Results,
}

impl SqlBody {
    pub(crate) fn new(routine: &Routine, runner: &Runner) -> Result<SqlBody> {
        let variables: Arc<dyn Variables> = Arc::new(Parameters::of(routine));
        let mut statements = Vec::new();
        for source in split_script(&routine.body) {
            statements.push(Planned::new(source.parse()?));
        }
        let results = Results::of(routine, &runner.catalog())?;
        Ok(SqlBody { variables, statements, results })
    }

    /// What it gives is of domains.
    pub(super) fn gives_domains(&self) -> bool {
        !self.results.is_empty()
    }

    /// Runs the statements; the rows of the last.
    pub(super) fn run(&self, routine: &Routine, runner: &Runner, context: &ExecContext) -> Result<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        let Some((last, before)) = self.statements.split_last() else { return Ok(rows) };
        let of_it = |number: usize| {
            move |error: Error| error.called_from(&format!("SQL function \"{}\" statement {number}", routine.name))
        };
        for (statement, number) in before.iter().zip(1..) {
            runner.run(statement, &self.variables, context, Some(1)).map_err(of_it(number))?;
        }
        let limit = (!routine.set).then_some(1);
        let done = runner.run(last, &self.variables, context, limit).map_err(of_it(before.len() + 1))?;
        if routine.returns == Returns::Void {
            return Ok(rows);
        }
        if routine.returns == Returns::Record {
            return done
                .rows
                .into_rows_within(context.memory_budget)?
                .into_iter()
                .map(|row| Ok(vec![as_record(&done.fields, row)?]))
                .collect();
        }
        let types = result_types(routine, runner)?;
        check_result(routine, &done.fields, &types)?;
        rows = done.rows.into_rows_within(context.memory_budget)?;
        if whole_row(&done.fields, &types).is_some() {
            rows = rows.into_iter().map(|row| exploded(row, types.len())).collect();
            self.check_results(&rows, context).map_err(of_it(before.len() + 1))?;
            return Ok(rows);
        }
        for row in &mut rows {
            for ((value, field), to) in row.iter_mut().zip(&done.fields).zip(&types) {
                if field.data_type.base() != *to {
                    *value = cast_assign(value, field.data_type, *to, &context.eval)?;
                }
            }
        }
        self.check_results(&rows, context).map_err(of_it(before.len() + 1))?;
        Ok(rows)
    }

    fn check_results(&self, rows: &[Vec<Value>], context: &ExecContext) -> Result<()> {
        match self.results.is_empty() {
            true => Ok(()),
            false => rows.iter().try_for_each(|row| self.results.check(row, &context.eval)),
        }
    }

    /// Binds every statement, and looks whether the last gives what is declared.
    pub(super) fn check(&self, routine: &Routine, runner: &Runner) -> Result<()> {
        let mut fields = vec![];
        for statement in &self.statements {
            fields = runner.fields_of(statement, &self.variables)?;
        }
        match routine.returns {
            Returns::Void => Ok(()),
            _ => check_result(routine, &fields, &result_types(routine, runner)?),
        }
    }
}

/// The types of the columns that a call gives.
pub(super) fn result_types(routine: &Routine, runner: &Runner) -> Result<Vec<DataType>> {
    Ok(match routine.returns {
        Returns::Void | Returns::Trigger => vec![],
        Returns::Any(_) => return Err(Error::internal("a call that says nothing of its types")),
        Returns::Record => vec![DataType::Composite(CompositeType::any_record()?)],
        Returns::Type(DataType::Composite(of)) if !routine.is_output() => attribute_types(of),
        Returns::Type(data_type) => vec![data_type.base()],
        Returns::Row => routine.outputs().map(|output| output.data_type.base()).collect(),
        Returns::RowOf(table) => row_types(table, runner)?,
    })
}

fn attribute_types(of: CompositeType) -> Vec<DataType> {
    of.attributes().iter().map(|attribute| attribute.data_type.base()).collect()
}

/// The only column of a query is a row of the columns that are wanted.
fn whole_row(fields: &[Field], types: &[DataType]) -> Option<CompositeType> {
    match fields {
        [Field { data_type: DataType::Composite(of), .. }] if types != [DataType::Composite(*of)] => {
            (of.attributes().len() == types.len()).then_some(*of)
        }
        _ => None,
    }
}

/// A query's row as a value; a row that is its only column is the value.
pub(super) fn as_record(fields: &[Field], mut row: Vec<Value>) -> Result<Value> {
    if let ([Field { data_type: DataType::Composite(_), .. }], true) = (fields, row.len() == 1) {
        return Ok(row.pop().unwrap_or(Value::Null));
    }
    let of = CompositeType::record(fields.iter().map(|field| (field.name.clone(), field.data_type)))?;
    Ok(Composite::new(of, row).into())
}

/// The columns of a row that is a value.
fn exploded(mut row: Vec<Value>, width: usize) -> Vec<Value> {
    match row.pop() {
        Some(Value::Composite(row)) => row.values().to_vec(),
        _ => vec![Value::Null; width],
    }
}

fn row_types(table: ObjectId, runner: &Runner) -> Result<Vec<DataType>> {
    let catalog = runner.catalog();
    let table = catalog.table_by_id(table).ok_or_else(|| Error::internal("the table of a function's rows is gone"))?;
    Ok(table.columns.iter().map(|column| column.data_type.base()).collect())
}

fn gives_rows(routine: &Routine) -> bool {
    match routine.returns {
        Returns::Type(of) => matches!(of, DataType::Composite(_)) && !routine.is_output(),
        Returns::RowOf(_) => true,
        _ => false,
    }
}

fn check_result(routine: &Routine, fields: &[Field], types: &[DataType]) -> Result<()> {
    let declared = match routine.returns {
        Returns::Type(data_type) => data_type.type_name(),
        _ => "record",
    };
    let mismatch = |detail: String| {
        let message = format!("return type mismatch in function declared to return {declared}");
        Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).with_detail(detail))
    };
    if fields.is_empty() {
        return mismatch("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.".to_owned());
    }
    if whole_row(fields, types).is_some_and(|of| attribute_types(of) == types) {
        return Ok(());
    }
    match (fields.len(), types.len()) {
        (given, wanted) if given == wanted => {}
        (_, 1) if !gives_rows(routine) => {
            return mismatch("Final statement must return exactly one column.".to_owned());
        }
        (given, wanted) if given < wanted => return mismatch("Final statement returns too few columns.".to_owned()),
        _ => return mismatch("Final statement returns too many columns.".to_owned()),
    }
    for (at, (field, to)) in fields.iter().zip(types).enumerate() {
        if field.data_type.base() != *to && !can_cast(field.data_type, *to, CastContext::Assignment) {
            let given = field.data_type.type_name();
            return mismatch(match types.len() {
                1 if !gives_rows(routine) => format!("Actual return type is {given}."),
                _ => format!("Final statement returns {given} instead of {} at column {}.", to.type_name(), at + 1),
            });
        }
    }
    Ok(())
}
