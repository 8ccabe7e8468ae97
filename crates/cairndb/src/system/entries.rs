//! The system's functions as entries: one for each list of arguments that PostgreSQL has, or, where that has none of our types, that they
//! take.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::BoundViews;
use super::functions::{Asking, Eval, FUNCTIONS, SystemFunction, Takes};
use super::pg_catalog::listed;
use crate::catalog::Catalog;
use crate::functions::{Asks, Declared, Function};
use crate::types::{DataType, EvalContext, Value};
use crate::{Error, Result};

/// One of the system's functions for arguments of certain types.
pub(crate) struct SystemEntry {
    pub(crate) function: Function,
    of: &'static SystemFunction,
}

/// A call's question.
struct Asked {
    of: &'static SystemFunction,
    catalog: Arc<Catalog>,
    views: &'static dyn BoundViews,
    /// A client asks.
    is_clients: bool,
}

impl Asks for Asked {
    fn ask(&self, args: &[Value], context: &EvalContext) -> Result<Value> {
        let session = || match &context.channels {
            Some(session) => Ok(&**session),
            None => Err(Error::unsupported(format!("{}() in this place", self.of.name))),
        };
        match self.of.eval {
            Eval::Catalog(eval) => eval(&self.catalog, args),
            Eval::Views(eval) => eval(&self.catalog, args, self.views),
            Eval::Database(eval) => eval(&self.catalog, args, session()?),
            Eval::Server(eval) => eval(args, &Asking { session: session()?, is_clients: self.is_clients }),
        }
    }

    fn looks_at_database(&self) -> bool {
        matches!(self.of.eval, Eval::Database(_) | Eval::Server(_))
    }
}

impl SystemEntry {
    /// What its answer is made of, of each argument.
    pub(crate) fn takes(&self) -> &'static [Takes] {
        self.of.takes
    }

    /// The entry in a call, whose arguments are of these types and whose statement has this catalog and binds views; and whether a client
    /// asks.
    pub(crate) fn asking(
        &self,
        types: Vec<DataType>,
        catalog: Arc<Catalog>,
        (views, is_clients): (&'static dyn BoundViews, bool),
    ) -> Function {
        self.function.asking(types, Arc::new(Asked { of: self.of, catalog, views, is_clients }))
    }
}

static ENTRIES: LazyLock<HashMap<&'static str, Vec<Arc<SystemEntry>>>> =
    LazyLock::new(|| FUNCTIONS.iter().map(|of| (of.name, of_function(of))).collect());

/// All of a name; empty: there is none.
pub(crate) fn entries(name: &str) -> &'static [Arc<SystemEntry>] {
    ENTRIES.get(name).map_or(&[], Vec::as_slice)
}

/// All of them.
pub(crate) fn all_entries() -> impl Iterator<Item = &'static SystemEntry> {
    FUNCTIONS.iter().flat_map(|of| entries(of.name)).map(|entry| &**entry)
}

fn of_function(of: &'static SystemFunction) -> Vec<Arc<SystemEntry>> {
    let counts = of.least..=of.takes.len();
    let mut all: Vec<Vec<Declared>> = listed(of.name).filter(|args| counts.contains(&args.len())).collect();
    // (What has a default PostgreSQL lists once.)
    if all.is_empty() || matches!(of.eval, Eval::Server(_)) {
        let missing: Vec<usize> = counts.filter(|count| all.iter().all(|args| args.len() != *count)).collect();
        all.extend(missing.into_iter().map(|count| of.takes[..count].iter().map(|takes| takes.declared()).collect()));
    }
    let entry = |args| {
        let mut function = Function::of_catalog(of.name, args, of.returns);
        (function.strict, function.parallel) = (of.strict, of.parallel);
        function.set_volatility(of.volatility);
        if function.args.len() == of.parameters.len() {
            function.parameters = of.parameters;
        }
        Arc::new(SystemEntry { function, of })
    };
    all.into_iter().map(entry).collect()
}
