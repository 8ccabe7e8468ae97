//! Aggregates of the schema's: a function takes each row's values into a state, and another may make the answer of it.
//!
//! As in PostgreSQL a strict transition function is not called with NULL: such rows are passed over, and where there is no state yet
//! the first row's value is it. Each function is called by whoever runs those of the statement ([`EvalContext`]).

use std::sync::Arc;

use super::super::catalogue::{Accumulator, Aggregate, AggregateKind, Function, Start};
use crate::Result;
use crate::types::{DataType, EvalContext, Value};

/// An aggregate of the schema's, for the types of a call.
#[derive(Clone, Debug)]
pub(crate) struct StoredAggregate {
    /// Takes the state and a row's values, and gives the state.
    pub(crate) transition: Arc<Function>,
    /// It is not called with NULL.
    pub(crate) strict: bool,
    /// Makes the answer of the state.
    pub(crate) last: Option<Arc<Function>>,
    /// It is not called with NULL.
    pub(crate) last_strict: bool,
    /// NULLs that it takes behind the state.
    pub(crate) last_extra: usize,
    /// Before the first row.
    pub(crate) initial: Value,
}

impl Aggregate {
    /// `of`: the aggregate as the catalog has it; the rest as it is in a call.
    pub(crate) fn stored(of: &Function, args: Box<[DataType]>, returns: DataType, parts: StoredAggregate) -> Aggregate {
        let functions = std::iter::once(&parts.transition).chain(&parts.last);
        let volatility = functions.map(|function| function.volatility).max().unwrap_or(of.volatility);
        Aggregate {
            name: of.name.clone(),
            args,
            returns,
            polymorphic: None,
            entry: of.entry,
            kind: AggregateKind::Other,
            volatility,
            direct: None,
            start: Start::Stored(Arc::new(parts)),
        }
    }

    /// Whether functions of the schema's, or some that these may name, are called for each row.
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self.start, Start::Stored(_))
    }

    /// As [`Aggregate::start`]; what functions it calls are run as the others of the statement are.
    pub(crate) fn start_in(&self, context: &Arc<EvalContext>) -> Box<dyn Accumulator> {
        match &self.start {
            Start::Stored(parts) => Run::begin(parts, context),
            _ => self.start(),
        }
    }
}

impl StoredAggregate {
    /// Where nobody runs functions.
    pub(in crate::functions) fn begin_alone(self: &Arc<StoredAggregate>) -> Box<dyn Accumulator> {
        Run::begin(self, &Arc::default())
    }
}

struct Run {
    parts: Arc<StoredAggregate>,
    context: Arc<EvalContext>,
    state: Value,
    /// There is a state, be it NULL.
    has_state: bool,
    /// A call's arguments.
    given: Vec<Value>,
}

impl Run {
    fn begin(parts: &Arc<StoredAggregate>, context: &Arc<EvalContext>) -> Box<dyn Accumulator> {
        let (state, parts, context) = (parts.initial.clone(), parts.clone(), context.clone());
        Box::new(Run { has_state: !state.is_null(), state, parts, context, given: vec![] })
    }
}

impl Accumulator for Run {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        if self.parts.strict {
            if args.iter().any(Value::is_null) {
                return Ok(());
            }
            if let (false, [first, ..]) = (self.has_state, args) {
                (self.state, self.has_state) = (first.clone(), true);
                return Ok(());
            }
            if self.state.is_null() {
                return Ok(());
            }
        }
        self.has_state = true;
        self.given.clear();
        self.given.push(std::mem::replace(&mut self.state, Value::Null));
        self.given.extend_from_slice(args);
        self.state = self.parts.transition.call(&self.given, &self.context)?;
        Ok(())
    }

    fn finish(&mut self) -> Result<Value> {
        let Some(last) = &self.parts.last else { return Ok(self.state.clone()) };
        if self.parts.last_strict && (self.state.is_null() || self.parts.last_extra > 0) {
            return Ok(Value::Null);
        }
        self.given.clear();
        self.given.push(self.state.clone());
        self.given.resize(1 + self.parts.last_extra, Value::Null);
        last.call(&self.given, &self.context)
    }
}
