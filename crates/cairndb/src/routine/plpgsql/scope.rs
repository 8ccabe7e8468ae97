//! Which names mean which variables, where.

use std::sync::Arc;

use super::tree::{Declared, Kind};
use crate::bind::{Conflict, RowsVariable, Variables};
use crate::functions::TriggerCall;
use crate::sync::Mutex;
use crate::types::{CompositeType, DataType, Shape};
use crate::{Error, Result, SqlState};

/// The names that a block or a loop adds, and what is around it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) parent: Option<usize>,
    pub(super) label: Option<String>,
    pub(super) names: Vec<(String, usize)>,
}

/// All scopes of a body.
#[derive(Clone, Debug, Default)]
pub(super) struct Scopes(pub(super) Vec<Scope>);

impl Scopes {
    /// The variable of this name that is in sight.
    pub(super) fn find(&self, mut scope: usize, label: Option<&str>, name: &str) -> Option<usize> {
        loop {
            let here = self.0.get(scope)?;
            let is_meant = label.is_none_or(|label| here.label.as_deref() == Some(label));
            if is_meant && let Some((_, variable)) = here.names.iter().rev().find(|(known, _)| known == name) {
                return Some(*variable);
            }
            scope = here.parent?;
        }
    }

    /// Whether a loop or block of this name is around.
    pub(super) fn has_label(&self, mut scope: usize, label: &str) -> bool {
        loop {
            match self.0.get(scope) {
                Some(here) if here.label.as_deref() == Some(label) => return true,
                Some(Scope { parent: Some(parent), .. }) => scope = *parent,
                _ => return false,
            }
        }
    }
}

/// What a name in an expression turned out to mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) variable: usize,
    /// Of a row the field.
    pub(super) field: Option<usize>,
}

/// The tables of a trigger's statement: rows as they were, and as they are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tables {
    names: [Option<String>; 2],
    /// Variables that are arrays of this type.
    pub(super) variables: [usize; 2],
    pub(super) data_type: DataType,
    columns: Vec<(String, DataType)>,
}

impl Tables {
    pub(super) fn of(call: &TriggerCall, variables: [usize; 2]) -> Result<Tables> {
        let of = DataType::Composite(call.shape.row_type()?).array();
        let data_type = of.ok_or_else(|| Error::internal("rows that are no elements"))?;
        let names = call.transition_tables.clone();
        Ok(Tables { names, variables, data_type, columns: call.shape.0.clone() })
    }

    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known.as_deref() == Some(name))
    }

    pub(super) fn rows(&self, parameter: (usize, DataType)) -> RowsVariable {
        RowsVariable { parameter, columns: self.columns.clone() }
    }
}

/// The variables that an expression sees, with the shapes that rows have when it is bound.
#[derive(Debug)]
pub(super) struct InSight {
    pub(super) scopes: Arc<Scopes>,
    pub(super) scope: usize,
    /// Names and kinds by number.
    pub(super) variables: Arc<Vec<(String, Kind)>>,
    pub(super) shapes: Vec<Option<Arc<Shape>>>,
    pub(super) tables: Option<Arc<Tables>>,
    pub(super) is_call: bool,
    pub(super) conflict: Conflict,
    pub(super) sources: Mutex<Vec<Source>>,
}

impl InSight {
    fn variable(&self, name: &[&str]) -> Option<(usize, usize)> {
        let find = |label, name| self.scopes.find(self.scope, label, name);
        match name {
            [] => None,
            [name] => Some((find(None, name)?, 1)),
            [first, second, ..] => match find(None, first) {
                Some(variable) if matches!(self.variables[variable].1, Kind::Row(_)) => Some((variable, 1)),
                _ => Some((find(Some(first), second)?, 2)),
            },
        }
    }

    fn source(&self, source: Source, data_type: DataType) -> (usize, DataType) {
        let mut sources = self.sources.lock();
        let at = sources.iter().position(|known| *known == source).unwrap_or_else(|| {
            sources.push(source);
            sources.len() - 1
        });
        (at, data_type)
    }

    /// What the parameters of the expression stand for.
    pub(super) fn take_sources(&self) -> Vec<Source> {
        std::mem::take(&mut self.sources.lock())
    }
}

/// SQLSTATE 55000: nothing was assigned to a row yet.
pub(super) fn unassigned(name: &str) -> Error {
    let message = format!("record \"{name}\" is not assigned yet");
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .with_detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

/// SQLSTATE 42703.
pub(super) fn no_field(name: &str, field: &str) -> Error {
    Error::new(SqlState::UNDEFINED_COLUMN, format!("record \"{name}\" has no field \"{field}\""))
}

impl Variables for InSight {
    fn find(&self, name: &[&str]) -> Result<Option<(usize, DataType)>> {
        let Some((variable, used)) = self.variable(name) else { return Ok(None) };
        let (called, kind) = &self.variables[variable];
        match (kind, &name[used..]) {
            (Kind::Value(data_type), []) => Ok(Some(self.source(Source { variable, field: None }, *data_type))),
            (Kind::Row(_), [field]) => {
                let shape = self.shapes[variable].as_ref().ok_or_else(|| unassigned(called))?;
                let at = shape.0.iter().position(|(known, _)| known == field).ok_or_else(|| no_field(called, field))?;
                Ok(Some(self.source(Source { variable, field: Some(at) }, shape.0[at].1)))
            }
            (Kind::Row(_), []) => Err(Error::unsupported(format!("the row \"{called}\" as a value"))),
            _ => Ok(None),
        }
    }

    fn fields(&self, name: &str) -> Option<Vec<(String, usize, DataType)>> {
        let variable = self.scopes.find(self.scope, None, name)?;
        let shape = self.shapes[variable].as_ref()?;
        let field = |(at, (name, data_type)): (usize, &(String, DataType))| {
            let (parameter, data_type) = self.source(Source { variable, field: Some(at) }, *data_type);
            (name.clone(), parameter, data_type)
        };
        Some(shape.0.iter().enumerate().map(field).collect())
    }

    fn row_type(&self, name: &str) -> Option<CompositeType> {
        let variable = self.scopes.find(self.scope, None, name)?;
        self.shapes[variable].as_ref()?.1
    }

    fn presence(&self, name: &str) -> Option<(usize, DataType)> {
        let variable = self.scopes.find(self.scope, None, name)?;
        let is_row = matches!(self.variables[variable].1, Kind::Row(_));
        is_row.then(|| self.source(Source { variable, field: None }, DataType::Boolean))
    }

    fn rows(&self, name: &str) -> Option<RowsVariable> {
        let tables = self.tables.as_ref()?;
        let variable = tables.variables[tables.named(name)?];
        Some(tables.rows(self.source(Source { variable, field: None }, tables.data_type)))
    }

    fn calls_procedures(&self) -> bool {
        true
    }

    fn is_call(&self) -> bool {
        self.is_call
    }

    fn conflict(&self) -> Conflict {
        self.conflict
    }
}

/// Names and kinds of variables, as expressions look at them.
pub(super) fn kinds_of(variables: &[Declared]) -> Vec<(String, Kind)> {
    variables.iter().map(|declared| (declared.name.clone(), declared.kind.clone())).collect()
}
