//! The types of a statement's parameters, known beforehand or inferred from where they stand.

use std::sync::Arc;

use super::variables::Variables;
use crate::catalog::{ObjectId, PlanDependencies, Routine, Table};
use crate::plan::{Expr, walk};
use crate::types::DataType;

/// What a statement calls, or something in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Callees {
    /// Nothing but what is built in.
    #[default]
    BuiltIn,
    /// Functions of the session's own, or of the schema's, which may read: no point statement is to run them under the commit
    /// lock, and what they see does not change with the statement.
    Readers,
    /// Functions that may change rows, too, or that do something at the commit.
    Writers,
}

impl Callees {
    fn of_routine(routine: &Routine) -> Callees {
        if routine.may_write() { Callees::Writers } else { Callees::Readers }
    }

    /// Those of an expression.
    pub(crate) fn of(expr: &Expr) -> Callees {
        let mut calls = Callees::BuiltIn;
        walk::walk(expr, 0, &mut |expr, _| {
            if let Expr::Call { function, .. } = expr
                && function.calls_routines()
            {
                calls = calls.max(function.routine().map_or(Callees::Readers, |routine| Callees::of_routine(routine)));
            }
        });
        calls
    }
}

/// One type per parameter, `$1` first. Binding fills in what it infers; afterwards none is `Unknown`.
#[derive(Clone, Debug, Default)]
pub struct ParameterTypes {
    types: Vec<DataType>,
    /// What the statement calls.
    pub(crate) calls: Callees,
    /// What names mean besides columns, in a function's body.
    pub(super) variables: Option<Arc<dyn Variables>>,
    /// Functions whose bodies are being bound in place of their calls.
    pub(super) inlined: Vec<ObjectId>,
    /// What else binding found out: what the statement's names meant.
    pub(super) rests: PlanDependencies,
}

impl ParameterTypes {
    /// Of a statement in a function.
    pub(crate) fn with_variables(variables: Arc<dyn Variables>) -> ParameterTypes {
        ParameterTypes { variables: Some(variables), ..ParameterTypes::default() }
    }

    /// Whether it is one of a statement in a function.
    pub(crate) fn has_variables(&self) -> bool {
        self.variables.is_some()
    }

    /// What names mean besides columns.
    pub(crate) fn variables(&self) -> Option<&Arc<dyn Variables>> {
        self.variables.as_ref()
    }

    /// The parameter that a variable is.
    pub(super) fn variable(&mut self, index: usize, data_type: DataType) -> DataType {
        self.get(index);
        if let Some(slot) = self.types.get_mut(index) {
            *slot = data_type;
        }
        data_type
    }

    /// Notes a call.
    pub(super) fn note_call(&mut self, routine: &Routine) {
        self.calls = self.calls.max(Callees::of_routine(routine));
    }

    /// Whether the statement, or a function that it calls, may change rows.
    pub(crate) fn writes(&self) -> bool {
        self.calls == Callees::Writers || self.rests.has_written()
    }

    /// The types, `$1` first.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// Whether the statement has to do with what is temporary.
    pub(crate) fn uses_temporary(&self) -> bool {
        self.rests.has_temporary()
    }

    /// The tables that the statement names, by way of views too; those whose rows it changes, too, if they are asked for.
    pub(crate) fn tables(&self, written: bool) -> impl Iterator<Item = &Arc<Table>> {
        self.rests.tables(written)
    }

    pub(crate) fn into_parts(self) -> (Vec<DataType>, PlanDependencies) {
        (self.types, self.rests)
    }

    /// What was said of the first of them.
    pub(crate) fn declare(&mut self, types: &[DataType]) {
        if self.types.is_empty() {
            self.types = types.to_vec();
        }
    }

    pub(super) fn get(&mut self, index: usize) -> DataType {
        if self.types.len() <= index {
            self.types.resize(index + 1, DataType::Unknown);
        }
        self.types.get(index).copied().unwrap_or(DataType::Unknown)
    }

    /// Decides a parameter that is still unknown.
    pub(super) fn infer(&mut self, index: usize, data_type: DataType) -> DataType {
        let known = self.get(index);
        if known != DataType::Unknown {
            return known;
        }
        if let Some(slot) = self.types.get_mut(index) {
            *slot = data_type;
        }
        data_type
    }

    /// What nothing decided is text, as in PostgreSQL.
    pub(super) fn finish(&mut self, count: usize) {
        if let Some(last) = count.checked_sub(1) {
            self.get(last);
        }
        for slot in self.types.iter_mut().filter(|slot| **slot == DataType::Unknown) {
            *slot = DataType::Text;
        }
    }
}
