//! Names that stand for values where a function's statement is bound: its parameters, PL/pgSQL's variables.

use std::fmt::Debug;

use crate::Result;
use crate::catalog::Routine;
use crate::types::{CompositeType, DataType};

/// What the names in a function's statement mean besides columns. Each value is a parameter of the statement.
pub(crate) trait Variables: Debug + Send + Sync {
    /// The number of the parameter that a name means, from 0, and its type; `$1` is a name, too.
    fn find(&self, name: &[&str]) -> Result<Option<(usize, DataType)>>;

    /// The fields of a variable that is a row: names, parameters and types.
    fn fields(&self, _name: &str) -> Option<Vec<(String, usize, DataType)>> {
        None
    }

    /// The type of a variable that is a row, if it has one with a name.
    fn row_type(&self, _name: &str) -> Option<CompositeType> {
        None
    }

    /// A parameter that is NULL where a variable that is a row holds none.
    fn presence(&self, _name: &str) -> Option<(usize, DataType)> {
        None
    }

    /// The rows that a name in FROM means: a parameter that is an array of them.
    fn rows(&self, _name: &str) -> Option<RowsVariable> {
        None
    }

    /// Procedures may be called in FROM: that is how CALL is planned.
    fn calls_procedures(&self) -> bool {
        false
    }

    /// The statement stands for CALL: what it selects from is to be a procedure.
    fn is_call(&self) -> bool {
        false
    }

    /// What it does not know of `$1` and its like is given to who runs the statement.
    fn leaves_parameters(&self) -> bool {
        false
    }

    /// What a name means that is a column's, too.
    fn conflict(&self) -> Conflict {
        Conflict::Column
    }
}

/// What a name means that is a column's and a variable's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// The column, as in functions in SQL.
    Column,
    Variable,
    /// It is an error, as in PL/pgSQL, unless `#variable_conflict` says otherwise.
    #[default]
    Error,
}

/// Rows that a function's statements see as a table.
#[derive(Debug)]
pub(crate) struct RowsVariable {
    /// The parameter's number and type.
    pub(crate) parameter: (usize, DataType),
    /// The rows' columns.
    pub(crate) columns: Vec<(String, DataType)>,
}

/// A parameter of a function as its statements see it.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: Option<String>,
    pub(crate) data_type: DataType,
}

/// The parameters of a function in SQL.
#[derive(Debug)]
pub(crate) struct Parameters {
    function: String,
    all: Vec<Variable>,
}

impl Parameters {
    pub(crate) fn of(routine: &Routine) -> Parameters {
        let variable = |parameter: &crate::catalog::RoutineParameter| Variable {
            name: parameter.name.clone(),
            data_type: parameter.data_type,
        };
        Parameters { function: routine.name.clone(), all: routine.inputs().map(variable).collect() }
    }
}

impl Variables for Parameters {
    fn find(&self, name: &[&str]) -> Result<Option<(usize, DataType)>> {
        let at = match name {
            [number] if number.starts_with('$') => {
                number[1..].parse().ok().and_then(|number: usize| number.checked_sub(1))
            }
            [plain] => self.position(plain),
            [function, plain] if *function == self.function => self.position(plain),
            _ => None,
        };
        Ok(at.and_then(|at| Some((at, self.all.get(at)?.data_type))))
    }
}

impl Parameters {
    fn position(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|variable| variable.name.as_deref() == Some(name))
    }
}
