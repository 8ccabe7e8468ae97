//! What keeps a database open.

use std::fmt;
use std::sync::Arc;

use super::shared::Engine;
use crate::Result;

/// What everything that uses a database has, by an `Arc`; with the last of them goes what opened it, which closes it.
pub(crate) struct Handle {
    engine: Arc<Engine>,
    /// Nothing here needs to know more of it.
    _opened: Arc<dyn Send + Sync>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({:?})", self.engine.path)
    }
}

impl Handle {
    pub(crate) fn new(engine: Arc<Engine>, opened: Arc<dyn Send + Sync>) -> Handle {
        Handle { engine, _opened: opened }
    }

    #[inline]
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine, in the process that opened it.
    #[inline]
    pub(crate) fn engine_here(&self) -> Result<&Engine> {
        self.engine.check_process().map(|()| &*self.engine)
    }

    /// Whether this is the process that opened it.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        self.engine.pages.slots.process.is_current()
    }
}
