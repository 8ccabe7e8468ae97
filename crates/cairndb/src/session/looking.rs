//! Looking at a state of the database as nobody's statement: with the schema's functions, which change nothing there.

use std::sync::Arc;
use std::time::Duration;

use super::Session;
use super::execute::State;
use crate::Result;
use crate::catalog::{Catalog, CatalogStamp};
use crate::exec::ExecContext;
use crate::routine::calls_of;
use crate::state::Reader;
use crate::sync;

impl Session {
    /// To evaluate what is stored in a state, under its catalog. `time`: for all of it; SQLSTATE 57014.
    pub(crate) fn looking(&self, reader: &Reader, catalog: &Arc<Catalog>, time: Duration) -> Result<ExecContext> {
        let session = self.state.borrow();
        let now = crate::types::datetime::clock_micros();
        let mut eval = session.eval(now, now);
        eval.know_oids(catalog.clone());
        let mut context = ExecContext::new(reader.clone(), Arc::new(eval));
        context.spill = self.shared().spill_space();
        context.deadline = sync::now().checked_add(time);
        if catalog.has_routines() {
            let stamp = CatalogStamp::of(reader.database(), self.shared().trees)?;
            let (catalog, started, read_only, has_lost) = (catalog.clone(), Some(now), true, false);
            let state = State { reader, tx: None, stamp, catalog, started, read_only, has_lost };
            let runner = Arc::new(self.runner(&context, &state, &session));
            context.eval = Arc::new(context.eval.with_calls(Some(calls_of(runner))));
        }
        Ok(context)
    }
}
