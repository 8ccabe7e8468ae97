//! Calls of aggregates that SQL made: what their functions are for the types of a call.

use std::sync::Arc;

use cairn_parser::Span;

use super::overload::undecided;
use super::routine::returned_row;
use crate::bind::binder::Binder;
use crate::bind::expressions::coerce::fixed_context;
use crate::catalog::{Callee, Returns};
use crate::functions::{Aggregate, Declared, Function, StoredAggregate, decide};
use crate::system;
use crate::types::{DataType, Value, from_text};
use crate::{Error, Result};

impl Binder<'_> {
    /// The aggregate for arguments of these types.
    pub(super) fn stored_aggregate(
        &mut self,
        function: &Arc<Function>,
        types: &[DataType],
        span: Span,
    ) -> Result<Arc<Aggregate>> {
        let lost = || Error::internal("an aggregate without its parts");
        let routine = function.routine().ok_or_else(lost)?.clone();
        let parts = routine.aggregate.as_ref().ok_or_else(lost)?;
        let declared = routine.argument_types();
        let undecided = || undecided();
        let decided = decide(declared.iter().copied().zip(types.iter().copied()));
        let decided = decided.ok_or_else(undecided).map_err(|error| self.at(error, span))?.or_text();
        let resolved = |of: Declared| of.resolved(decided).ok_or_else(undecided);
        let args: Result<Vec<DataType>> = declared.iter().map(|of| resolved(*of)).collect();
        let args = args.map_err(|error| self.at(error, span))?;
        let state = resolved(parts.state).map_err(|error| self.at(error, span))?;
        let given: Vec<DataType> = std::iter::once(state).chain(args.iter().copied()).collect();
        let (transition, strict) = self.callee(&parts.transition, &given)?;
        let last = match (&parts.last, parts.last_extra) {
            (None, _) => None,
            (Some(last), true) => Some(self.callee(last, &given)?),
            (Some(last), false) => Some(self.callee(last, &given[..1])?),
        };
        let returns = match routine.returns {
            Returns::Type(data_type) => data_type,
            Returns::Any(of) => resolved(of).map_err(|error| self.at(error, span))?,
            _ => state,
        };
        let initial = match &parts.initial {
            Some(text) => from_text(text, state, fixed_context()).map_err(|error| self.at(error, span))?,
            None => Value::Null,
        };
        let parts = StoredAggregate {
            transition,
            strict,
            last_strict: last.as_ref().is_some_and(|(_, strict)| *strict),
            last: last.map(|(last, _)| last),
            last_extra: if parts.last_extra { args.len() } else { 0 },
            initial,
        };
        Ok(Arc::new(Aggregate::stored(function, args.into(), returns, parts)))
    }

    /// A function that an aggregate names, for these types, and whether it is not called with NULL.
    fn callee(&mut self, callee: &Callee, types: &[DataType]) -> Result<(Arc<Function>, bool)> {
        let gone = || Error::internal("a function of an aggregate is gone");
        let id = match callee {
            Callee::BuiltIn(oid) => return system::callee(*oid, types).ok_or_else(gone),
            Callee::Routine(id) => *id,
        };
        let function = self.catalog.routine_by_id(id).ok_or_else(gone)?.clone();
        let routine = function.routine().ok_or_else(gone)?.clone();
        self.rests_on(&routine);
        self.parameters.note_call(&routine);
        let function = match routine.is_polymorphic() {
            true => {
                let declared = routine.argument_types();
                let decided = decide(declared.into_iter().zip(types.iter().copied())).ok_or_else(gone)?;
                Arc::new(function.specialised(routine.specialised(decided).ok_or_else(gone)?))
            }
            false => function,
        };
        let function = match returned_row(&routine, self.catalog)? {
            Some(of) => Arc::new(function.giving(DataType::Composite(of))),
            None => function,
        };
        Ok((function, routine.strict))
    }
}
