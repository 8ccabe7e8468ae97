//! Functions that ask the catalog of the statement that calls them.
//!
//! Entries as others are; what they ask is known above, where the catalog is ([`Asks`]). An entry is chosen without a catalog, and its
//! call has that of its statement.

use std::borrow::Cow;
use std::sync::Arc;

use super::catalogue::{Kernel, pseudo_types};
use super::{ANY, Declared, Function};
use crate::types::{DataType, EvalContext, Value};
use crate::{Error, Result};

/// What is asked, and of which catalog.
pub(crate) trait Asks: Send + Sync {
    /// The answer for a row's arguments.
    fn ask(&self, args: &[Value], context: &EvalContext) -> Result<Value>;

    /// Whether the database is looked at as it is when it is asked, not as its statement reads it.
    fn looks_at_database(&self) -> bool;
}

/// An entry that is no call yet.
struct Nobody;

impl Asks for Nobody {
    fn ask(&self, _: &[Value], _: &EvalContext) -> Result<Value> {
        Err(Error::internal("a function asks the catalog, but which it is nothing says"))
    }

    fn looks_at_database(&self) -> bool {
        false
    }
}

impl Function {
    /// An entry that asks the catalog, stable as what that says is within a statement.
    pub(crate) fn of_catalog(name: &'static str, args: Vec<Declared>, returns: DataType) -> Function {
        let types: Vec<DataType> = args.iter().map(|arg| arg.fixed().unwrap_or(ANY)).collect();
        let kernel = Kernel::Asked(Arc::new(Nobody));
        let declared = pseudo_types(args, Declared::Type(returns));
        let mut function =
            Function { polymorphic: declared, ..Function::new(Cow::Borrowed(name), types, returns, kernel) };
        function.stable();
        function
    }

    /// The entry in a call with arguments of these types. A plan that holds an answer rests on the schema, so it may be made
    /// beforehand; what is stored rests on none.
    pub(crate) fn asking(&self, types: Vec<DataType>, asks: Arc<dyn Asks>) -> Function {
        let args = types.iter().zip(&self.args).map(|(given, declared)| if *declared == ANY { ANY } else { *given });
        Function {
            args: args.collect(),
            polymorphic: None,
            folds: !asks.looks_at_database(),
            kernel: Kernel::Asked(asks),
            ..self.clone()
        }
    }

    /// Whether it looks at the database as it is when it is called, not as its statement reads it.
    pub(crate) fn looks_at_database(&self) -> bool {
        match &self.kernel {
            Kernel::Asked(asks) => asks.looks_at_database(),
            _ => self.is_unseen(),
        }
    }

    /// Whether its answer follows the schema.
    pub(crate) fn asks_catalog(&self) -> bool {
        matches!(&self.kernel, Kernel::Asked(_))
    }
}
