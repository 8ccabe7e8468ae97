//! Bodies that were parsed, for as long as their functions stay what they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::plpgsql::PlPgSql;
use super::sql_body::SqlBody;
use crate::Result;
use crate::api::Runner;
use crate::catalog::{Language, ObjectId, Routine};

/// How many functions a session keeps.
const KEPT_MAX: usize = 1000;

/// A body that was parsed, with the plans that its statements have so far.
#[derive(Debug)]
pub(crate) enum Compiled {
    Sql(SqlBody),
    PlPgSql(Box<PlPgSql>),
}

/// Those of a session.
#[derive(Debug, Default)]
pub(crate) struct CompiledRoutines(Mutex<HashMap<ObjectId, Known>>);

type Known = (Arc<Routine>, Arc<Compiled>);

impl CompiledRoutines {
    pub(crate) fn of(&self, routine: &Arc<Routine>, runner: &Runner) -> Result<Arc<Compiled>> {
        if let Some((known, compiled)) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&routine.id)
            && (Arc::ptr_eq(known, routine) || known == routine)
        {
            return Ok(compiled.clone());
        }
        let compiled = Arc::new(Compiled::new(routine, runner)?);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT_MAX {
            all.clear();
        }
        all.insert(routine.id, (routine.clone(), compiled.clone()));
        Ok(compiled)
    }
}

impl Compiled {
    pub(crate) fn new(routine: &Routine, runner: &Runner) -> Result<Compiled> {
        match routine.language {
            Language::Sql => SqlBody::new(routine).map(Compiled::Sql),
            Language::PlPgSql => Ok(Compiled::PlPgSql(Box::new(PlPgSql::new(routine, runner)?))),
        }
    }
}
