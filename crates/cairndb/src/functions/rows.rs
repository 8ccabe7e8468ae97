//! Functions that return rows: entries of the catalogue as others are, whose answer is rows of columns.
//!
//! Which of them a call means is one choice with all else of its name. What it gives in columns the entry says
//! ([`Function::columns`]), and its rows begin when the statement runs ([`Function::start_rows`]): one after another, for a
//! statement may want the first only. A call of one is no expression of its own: it stands in FROM, or binding puts it there.

use std::borrow::Cow;
use std::sync::Arc;

use super::arrays::{Form, form};
use super::catalogue::{Catalogue, Kernel, pseudo_types};
use super::own_rows::{BeginOwn, OwnRows};
use super::{ANY, Declared, Function, Series};
use crate::types::{Array, DataType, EvalContext, Value};
use crate::{Error, Result};

/// Begins the rows of a call.
pub(super) type Begin = fn(&Function, &[Value], &EvalContext) -> Result<SetRows>;

/// What an entry says that returns rows.
#[derive(Clone)]
pub(crate) struct Rows {
    /// Their names and types; a column without a name is called as the function is, or as its alias.
    columns: Box<[(Cow<'static, str>, Declared)]>,
    begin: Beginning,
    /// What it says changes without a commit.
    unseen: bool,
    /// PostgreSQL has others of the name, for types that are not here: an untyped literal does not tell them apart.
    has_others: bool,
}

#[derive(Clone)]
enum Beginning {
    Plain(Begin),
    /// A user's closure.
    Own(Arc<BeginOwn>),
}

/// The rows of a call, while there are some.
pub enum SetRows {
    /// `generate_series`
    Series(Series),
    /// Arrays side by side, and how far it is.
    Unnest(Vec<Option<Arc<Array>>>, usize),
    /// The rows of an array, and how far it is.
    Elements(Arc<Array>, usize),
    /// `generate_subscripts`: the next, the last, and the step.
    Subscripts(i64, i64, i64),
    /// Values, as many as a row has together.
    Parts(std::vec::IntoIter<Value>, usize),
    /// Rows that are there.
    Rows(std::vec::IntoIter<Vec<Value>>),
    /// Those of a user's function, which works each of them out when it is asked for.
    Own(OwnRows),
}

impl SetRows {
    pub(crate) fn none() -> SetRows {
        SetRows::Rows(vec![].into_iter())
    }

    /// Rows of so many columns, value after value.
    pub(crate) fn of(columns: usize, values: Vec<Value>) -> SetRows {
        SetRows::Parts(values.into_iter(), columns)
    }

    /// Whether a row is worked out by what is not the engine's: none is before it is wanted.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, SetRows::Own(_))
    }

    /// The next row, appended to `row`; false: there is none.
    pub fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        match self {
            SetRows::Series(series) => {
                let value = series.next_value()?;
                row.extend(value);
                Ok(!row.is_empty())
            }
            SetRows::Unnest(arrays, at) => {
                let values = |array: &Option<Arc<Array>>| array.as_ref().map_or(0, |array| array.values().len());
                if *at >= arrays.iter().map(values).max().unwrap_or(0) {
                    return Ok(false);
                }
                let value = |array: &Option<Arc<Array>>| array.as_ref()?.values().get(*at).cloned();
                row.extend(arrays.iter().map(|array| value(array).unwrap_or(Value::Null)));
                *at += 1;
                Ok(true)
            }
            SetRows::Elements(array, at) => {
                let next = array.values().get(*at).and_then(Value::as_composite);
                row.extend(next.into_iter().flat_map(|row| row.values()).cloned());
                *at += 1;
                Ok(next.is_some())
            }
            SetRows::Parts(values, width) => {
                row.extend(values.by_ref().take(*width));
                Ok(!row.is_empty())
            }
            SetRows::Rows(rows) => {
                let next = rows.next();
                Ok(next.map(|mut values| row.append(&mut values)).is_some())
            }
            SetRows::Own(rows) => {
                let next = rows.next().transpose()?;
                Ok(next.map(|mut values| row.append(&mut values)).is_some())
            }
            SetRows::Subscripts(next, last, step) => {
                let over = if *step > 0 { *next > *last } else { *next < *last };
                if !over {
                    row.push(Value::Integer(*next as i32));
                    *next += *step;
                }
                Ok(!over)
            }
        }
    }
}

impl Catalogue {
    /// A strict, immutable function that returns rows.
    pub(super) fn add_rows(
        &mut self,
        name: &'static str,
        args: &[Declared],
        columns: &[(&'static str, Declared)],
        begin: Begin,
    ) -> &mut Function {
        let function = self.add(name, &[], ANY, |_, _| Ok(Value::Null));
        function.make_rows(args, columns, begin);
        function
    }
}

impl Function {
    fn make_rows(&mut self, args: &[Declared], columns: &[(&'static str, Declared)], begin: Begin) {
        // Of several columns a row is a record.
        let returns = if let [(_, only)] = columns { *only } else { Declared::Any };
        self.args = args.iter().map(|arg| arg.fixed().unwrap_or(ANY)).collect();
        self.returns = returns.fixed().unwrap_or(ANY);
        self.polymorphic = pseudo_types(args.to_vec(), returns);
        let columns = columns.iter().map(|(name, declared)| (Cow::Borrowed(*name), *declared)).collect();
        let begin = Beginning::Plain(begin);
        self.kernel = Kernel::Rows(Rows { columns, begin, unseen: false, has_others: false });
        self.folds = false;
    }

    /// A user's: what it gives follows no commit, so nothing that follows commits may have it.
    pub(super) fn of_own_rows(columns: &[(&str, DataType)], begin: Arc<BeginOwn>) -> Kernel {
        let columns = columns.iter().map(|(name, of)| (Cow::Owned((*name).to_owned()), Declared::Type(*of))).collect();
        Kernel::Rows(Rows { columns, begin: Beginning::Own(begin), unseen: true, has_others: false })
    }

    /// One that gives the rows of a relation of the system's, whose columns that says. `unseen`: it changes without a commit.
    pub(crate) fn of_relation(name: &'static str, unseen: bool, begin: Begin) -> Arc<Function> {
        let mut function = Function::new(name, [], ANY, Kernel::Plain(|_, _| Ok(Value::Null)));
        function.make_rows(&[], &[], begin);
        if unseen {
            function.unseen();
        }
        function.stable();
        Arc::new(function)
    }

    /// The same of one that is told whether a client asks, and then asks the server.
    pub(crate) fn of_server(name: &'static str, begin: Begin) -> Arc<Function> {
        let mut function = Function::new(name, [], ANY, Kernel::Plain(|_, _| Ok(Value::Null)));
        function.make_rows(&[Declared::Type(DataType::Boolean)], &[], begin);
        function.unseen().stable();
        Arc::new(function)
    }

    pub(super) fn rows(&self) -> Option<&Rows> {
        if let Kernel::Rows(rows) = &self.kernel { Some(rows) } else { None }
    }

    /// Whether it is a user's that returns rows.
    pub(super) fn gives_own_rows(&self) -> bool {
        self.rows().is_some_and(|rows| matches!(rows.begin, Beginning::Own(_)))
    }

    /// What it says changes without a commit.
    pub(super) fn unseen(&mut self) -> &mut Function {
        if let Kernel::Rows(rows) = &mut self.kernel {
            rows.unseen = true;
        }
        self
    }

    /// See [`Function::is_untold`].
    pub(super) fn beside_others(&mut self) -> &mut Function {
        if let Kernel::Rows(rows) = &mut self.kernel {
            rows.has_others = true;
        }
        self
    }

    /// Whether it is one of the built-in functions that return rows.
    pub(crate) fn returns_rows(&self) -> bool {
        self.rows().is_some()
    }

    /// Whether it says what changes without a commit.
    pub(super) fn is_unseen(&self) -> bool {
        self.rows().is_some_and(|rows| rows.unseen)
    }

    /// Whether arguments that are untyped literals do not tell that this one is called, but one that is not here.
    pub(crate) fn is_untold(&self, args: &[DataType]) -> bool {
        self.rows().is_some_and(|rows| rows.has_others) && args.contains(&DataType::Unknown)
    }

    /// The names and types of its columns, for the arguments that it was resolved for; an empty name is the function's, or its alias.
    pub(crate) fn columns(&self) -> Vec<(&str, DataType)> {
        let element = || self.args.iter().find_map(|arg| arg.element()).map_or(ANY, DataType::base);
        let Some(Rows { columns, .. }) = self.rows() else { return Vec::new() };
        columns.iter().map(|(name, declared)| (&**name, declared.fixed().unwrap_or_else(element))).collect()
    }

    /// The same, as declared.
    pub(crate) fn declared_columns(&self) -> impl Iterator<Item = (&str, Declared)> {
        self.rows().into_iter().flat_map(|rows| &rows.columns).map(|(name, declared)| (&**name, *declared))
    }

    /// Begins the rows of a call.
    pub(crate) fn start_rows(&self, args: &[Value], context: &EvalContext) -> Result<SetRows> {
        match &self.kernel {
            Kernel::Stored(routine) => {
                let rows = context.caller()?.rows(routine, args, context)?;
                Ok(SetRows::Rows(rows.into_iter()))
            }
            Kernel::Rows(_) if self.strict && args.iter().any(Value::is_null) => Ok(SetRows::none()),
            Kernel::Rows(rows) => match &rows.begin {
                Beginning::Plain(begin) => begin(self, args, context),
                Beginning::Own(begin) => begin(args).map(SetRows::Own),
            },
            _ => Err(Error::internal(format!("{} returns no rows", self.name))),
        }
    }
}

/// What gives the rows of an array in their columns, which no name calls.
pub(crate) fn rows_of_array(array: DataType) -> Arc<Function> {
    made(Form::RowsOfArray, &[array], |_, args, _| match args {
        [Value::Array(array)] => Ok(SetRows::Elements(array.clone(), 0)),
        _ => Ok(SetRows::none()),
    })
}

/// `unnest(a, b)` of FROM: arrays side by side, which PostgreSQL reads as a syntax.
pub(crate) fn unnest_side_by_side(arrays: &[DataType]) -> Arc<Function> {
    made(Form::UnnestSideBySide, arrays, |_, args, _| {
        let array = |value: &Value| if let Value::Array(array) = value { Some(array.clone()) } else { None };
        Ok(SetRows::Unnest(args.iter().map(array).collect(), 0))
    })
}

fn made(of: Form, args: &[DataType], begin: Begin) -> Arc<Function> {
    let name = if matches!(of, Form::UnnestSideBySide) { "unnest" } else { "" };
    let function = form(of, name, args.into(), ANY, |_, _, _| Ok(Value::Null));
    let begin = Beginning::Plain(begin);
    let kernel = Kernel::Rows(Rows { columns: [].into(), begin, unseen: false, has_others: false });
    Arc::new(Function { kernel, folds: false, ..Arc::unwrap_or_clone(function) })
}
