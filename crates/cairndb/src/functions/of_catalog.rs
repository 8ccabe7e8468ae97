//! Functions that ask the catalog of the statement that calls them.

use std::sync::Arc;

use super::catalogue::Kernel;
use super::{ANY, Function, Volatility};
use crate::catalog::Catalog;
use crate::system::{Eval, SystemFunction, Takes};
use crate::types::{DataType, EvalContext, Value};
use crate::{Error, Result};

/// What is asked, and of which catalog.
#[derive(Clone)]
pub struct Asked {
    function: &'static SystemFunction,
    catalog: Arc<Catalog>,
}

/// Set in the entries of functions that ask the catalog; the engine's others have small numbers.
const ASKING: u64 = 1 << 61;

impl Asked {
    pub(super) fn run(&self, args: &[Value], context: &EvalContext) -> Result<Value> {
        match self.function.eval {
            Eval::Catalog(eval) => eval(&self.catalog, args),
            Eval::Database(eval) => match &context.channels {
                Some(database) => eval(&self.catalog, args, &**database),
                None => Err(Error::unsupported(format!("{}() in this place", self.function.name))),
            },
        }
    }
}

impl Function {
    /// Whether it looks at the database as it is when it is called, not as its statement reads it.
    pub(crate) fn looks_at_database(&self) -> bool {
        let Kernel::Asked(Asked { function, .. }) = &self.kernel else { return self.is_unseen() };
        matches!(function.eval, Eval::Database(_))
    }

    /// One of the system's functions, for arguments of these types.
    pub(crate) fn of_system(of: &'static SystemFunction, types: Vec<DataType>, catalog: Arc<Catalog>) -> Function {
        let args = types.iter().zip(of.takes).map(|(given, takes)| if *takes == Takes::Any { ANY } else { *given });
        let kernel = Kernel::Asked(Asked { function: of, catalog });
        let volatility = of.volatility();
        Function {
            // Tells it from all other functions; the same at each call, of whatever catalog.
            entry: ASKING | std::ptr::from_ref(of).addr() as u64,
            strict: of.strict,
            // A plan that holds an answer rests on the schema; what is stored rests on none, so little of this is immutable.
            immutable: volatility == Volatility::Immutable,
            folds: matches!(of.eval, Eval::Catalog(_)),
            volatile: volatility == Volatility::Volatile,
            ..Function::new(of.name, args.collect::<Vec<_>>(), of.returns, kernel)
        }
    }

    /// Whether its answer follows the schema.
    pub(crate) fn asks_catalog(&self) -> bool {
        matches!(&self.kernel, Kernel::Asked(_))
    }
}
