//! Functions that return rows and that users write in Rust.
//!
//! Their rows are pulled: the next one is asked for when a statement wants it, and what gives them is dropped with the statement, or
//! when LIMIT has enough. What holds for users' functions holds for each of these steps: a panic, a row of another width, a value of
//! another type are errors of the statement.

use std::sync::Arc;

use super::users::{Arguments, FunctionOptions, guard, of_type};
use super::{Function, Parallel};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

/// Begins the rows of a call.
pub(super) type BeginOwn = dyn Fn(&[Value]) -> Result<OwnRows> + Send + Sync;

/// Rows, one after another; each has as many values as there are columns, of their types.
pub(crate) type OwnRows = Box<dyn Iterator<Item = Result<Vec<Value>>> + Send>;

/// A function over a closure that begins the rows of a call.
///
/// # Errors
///
/// SQLSTATE 42P13: it has no columns, or two of one name, or of a type that is not known.
pub(crate) fn table_function<I>(
    name: &str,
    args: &[DataType],
    columns: &[(&str, DataType)],
    options: FunctionOptions,
    begin: impl Fn(&Arguments<'_>) -> Result<I> + Send + Sync + 'static,
) -> Result<Function>
where
    I: IntoIterator<Item = Result<Vec<Value>>>,
    I::IntoIter: Send + 'static,
{
    let columns: Vec<(&str, DataType)> = columns.iter().map(|(name, of)| (*name, of.base())).collect();
    check(name, &columns)?;
    let types: Arc<[DataType]> = columns.iter().map(|(_, of)| *of).collect();
    let called: Arc<str> = name.into();
    let begin = move |args: &[Value]| {
        let rows = guard(&called, || begin(&Arguments::of(args)).map(IntoIterator::into_iter))?;
        Ok(Box::new(Guarded { name: called.clone(), types: types.clone(), rows: Some(rows) }) as OwnRows)
    };
    let returns = if let [(_, only)] = *columns { only } else { super::ANY };
    let args: Box<[DataType]> = args.iter().map(|arg| arg.base()).collect();
    let kernel = Function::of_own_rows(&columns, Arc::new(begin));
    Ok(Function {
        strict: options.strict,
        volatility: options.volatility,
        parallel: Parallel::Unsafe,
        folds: false,
        ..Function::new(name.to_owned(), args, returns, kernel)
    })
}

fn check(name: &str, columns: &[(&str, DataType)]) -> Result<()> {
    let refuse = |message: String| Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message));
    if columns.is_empty() {
        return refuse(format!("function \"{name}\" returns rows without columns"));
    }
    for (at, (column, of)) in columns.iter().enumerate() {
        if column.is_empty() || columns[..at].iter().any(|(before, _)| before == column) {
            return refuse(format!("function \"{name}\" returns a column \"{column}\" without a name of its own"));
        }
        if *of == DataType::Unknown {
            return refuse(format!("column \"{column}\" of function \"{name}\" has a type that is not known"));
        }
    }
    Ok(())
}

/// A user's rows; `None`: they are over, or one of them was an error.
struct Guarded<I> {
    name: Arc<str>,
    types: Arc<[DataType]>,
    rows: Option<I>,
}

impl<I: Iterator<Item = Result<Vec<Value>>>> Iterator for Guarded<I> {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Result<Vec<Value>>> {
        let rows = self.rows.as_mut()?;
        let next = guard(&self.name, || rows.next().transpose());
        let row = next.and_then(|row| row.map(|row| self.of_types(row)).transpose());
        if !matches!(row, Ok(Some(_))) {
            self.rows = None;
        }
        row.transpose()
    }
}

impl<I> Guarded<I> {
    fn of_types(&self, row: Vec<Value>) -> Result<Vec<Value>> {
        let (name, width, wanted) = (&self.name, row.len(), self.types.len());
        if width != wanted {
            let message = format!("function {name} returned a row of {width} values, but it has {wanted} columns");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        row.into_iter().zip(&*self.types).map(|(value, of)| of_type(name, value, *of)).collect()
    }
}
