//! The same statement for many parameters, as one.
//!
//! Parameters are read some rows at a time with the interpreter, and run with it let go.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{raised, refused};
use crate::from_python::{Given, Param};
use crate::open::Open;
use crate::released::released;

/// Rows that are read together.
const ROWS: usize = 1000;

/// Runs it; how many rows were changed in all. Where none is open, in a transaction of its own: all or none.
pub(crate) fn execute_many(
    py: Python<'_>,
    open: &mut Open,
    begins: bool,
    sql: &Bound<'_, PyString>,
    given: &Bound<'_, PyAny>,
) -> PyResult<u64> {
    let first = open.statements.get(sql)?.rewritten.first;
    let is_own = !open.connection.in_transaction();
    if is_own {
        open.begin(py, true)?;
    } else {
        open.before(py, begins, first)?;
    }
    let ran = run(py, open, sql, given);
    if !is_own || (begins && ran.is_ok()) {
        return ran;
    }
    let end = if ran.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = released(py, || open.connection.execute(end, ()));
    let changed = ran?;
    ended.map_err(|error| raised(py, &error))?;
    Ok(changed)
}

fn run(py: Python<'_>, open: &mut Open, sql: &Bound<'_, PyString>, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    let connection = open.statements.connection();
    let known = open.statements.get(sql)?;
    let (mut changed, mut params) = (0, Vec::new());
    let mut rows = given.try_iter()?;
    let Some(first) = rows.next().transpose()? else { return Ok(0) };
    changed += {
        let prepared = known.prepare(py, connection, Some(&first), &mut params)?;
        if !prepared.statement.columns().is_empty() {
            return Err(refused(py, "0A000", "executemany() of a statement that returns rows is not supported"));
        }
        let ran = released(py, || prepared.statement.execute(Given(&params)));
        ran.map_err(|error| known.raised(py, &error))?
    };
    let mut is_end = false;
    while !is_end {
        params.clear();
        let (mut count, mut width) = (0, 0);
        while count < ROWS {
            let Some(row) = rows.next().transpose()? else {
                is_end = true;
                break;
            };
            known.read(py, Some(&row), &mut params)?;
            count += 1;
            width = params.len() / count;
        }
        changed += run_rows(py, known, (connection, &first), (&params, count, width))?;
    }
    Ok(changed)
}

/// Runs the statement for rows of this width.
fn run_rows(
    py: Python<'_>,
    known: &mut crate::statements::Known,
    (connection, first): (&'static cairndb::Connection, &Bound<'_, PyAny>),
    (params, count, width): (&[Param], usize, usize),
) -> PyResult<u64> {
    if count == 0 {
        return Ok(0);
    }
    let mut unused = Vec::new();
    let ran = {
        let prepared = known.prepare(py, connection, Some(first), &mut unused)?;
        released(py, || {
            let mut changed = 0;
            for row in 0..count {
                changed += prepared.statement.execute(Given(&params[row * width..(row + 1) * width]))?;
            }
            Ok(changed)
        })
    };
    ran.map_err(|error| known.raised(py, &error))
}
