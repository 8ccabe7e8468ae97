//! A CairnDB database in memory.

use super::{Engine, Failure, Session};

/// An empty CairnDB database in memory.
pub struct CairnEngine;

impl CairnEngine {
    /// Makes an empty database.
    pub fn create() -> Result<CairnEngine, Failure> {
        Ok(CairnEngine)
    }
}

impl Engine for CairnEngine {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Err(Failure { sqlstate: "0A000".into(), message: "the public API is not there yet".into() })
    }
}
