//! Bodies that were parsed, for as long as their functions stay what they are.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use super::domains::Results;
use super::plpgsql::PlPgSql;
use super::sql_body::SqlBody;
use crate::Result;
use crate::catalog::{Catalog, Language, ObjectId, Routine};
use crate::routine::StatementHost;
use crate::sync::Mutex;

/// How many functions a session keeps, and for how many kinds of calls it keeps each.
const KEPT_MAX: usize = 1000;
const KINDS_MAX: usize = 16;

/// A body that was parsed, with the plans that its statements have so far.
#[derive(Debug)]
pub(crate) enum Compiled {
    Sql(SqlBody),
    PlPgSql(Box<PlPgSql>),
}

/// Those of a session.
#[derive(Debug, Default)]
pub(crate) struct CompiledRoutines(Mutex<HashMap<ObjectId, Vec<Known>>>);

/// With the catalog in which it was found to be current last.
type Known = (Arc<Routine>, Arc<Compiled>, Weak<Catalog>);

impl CompiledRoutines {
    pub(crate) fn of(&self, routine: &Arc<Routine>, host: &dyn StatementHost) -> Result<Arc<Compiled>> {
        let is_same = |(known, ..): &&Known| Arc::ptr_eq(known, routine) || known == routine;
        let all = self.0.lock();
        let known = all.get(&routine.id).and_then(|kinds| kinds.iter().find(is_same));
        let known = known.map(|(_, compiled, catalog)| (compiled.clone(), catalog.clone()));
        drop(all);
        let now = Arc::downgrade(&host.catalog());
        let compiled = match known {
            Some((compiled, seen)) if seen.ptr_eq(&now) => return Ok(compiled),
            Some((compiled, _)) if compiled.is_current(routine, host) => compiled,
            _ => Arc::new(Compiled::new(routine, host)?),
        };
        let mut all = self.0.lock();
        if all.len() >= KEPT_MAX {
            all.clear();
        }
        let kinds = all.entry(routine.id).or_default();
        kinds.retain(|(known, ..)| known.change == routine.change && known != routine);
        if kinds.len() >= KINDS_MAX {
            kinds.clear();
        }
        kinds.push((routine.clone(), compiled.clone(), now));
        Ok(compiled)
    }
}

impl Compiled {
    pub(crate) fn new(routine: &Routine, host: &dyn StatementHost) -> Result<Compiled> {
        match routine.language {
            Language::Sql => SqlBody::new(routine, host).map(Compiled::Sql),
            Language::PlPgSql => Ok(Compiled::PlPgSql(Box::new(PlPgSql::new(routine, host)?))),
        }
    }

    /// Whether reading it once more would give the same.
    fn is_current(&self, routine: &Routine, host: &dyn StatementHost) -> bool {
        // What domains ask for may call functions, and these others.
        let no_domains = || Results::of(routine, &host.catalog()).is_ok_and(|now| now.is_empty());
        match self {
            Compiled::Sql(body) => !body.gives_domains() && no_domains(),
            Compiled::PlPgSql(body) => !body.has_domains() && no_domains() && body.is_current(host),
        }
    }
}
