//! A thread that does what can not be answered where it is asked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cairndb::{Connection, Pooled, Result, Ticket};

use crate::error::leaves_something;
use crate::shared::Shared;
use crate::task::Work;

/// See the module.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    /// `None`: the next job makes another.
    pooled: Option<Pooled>,
}

impl Worker {
    /// Does jobs until there are no more; the last worker closes the database.
    pub(crate) fn work(shared: Arc<Shared>) {
        let mut worker = Worker { shared, pooled: None };
        while let Some(job) = worker.shared.queue.take() {
            // A task tells of its work's panic itself; this is one of what is around it, of dropping what nobody takes say.
            if catch_unwind(AssertUnwindSafe(|| job(&mut worker))).is_err() {
                worker.pooled = None;
            }
        }
        let Worker { shared, pooled } = worker;
        drop(pooled);
        shared.worker_ends();
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Does the work of a task on the worker's own connection, for whose user it stands only that long.
    pub(crate) fn run<T>(&mut self, task: Work<T>, work: impl FnOnce(&Pooled) -> Result<T>) {
        let mut pooled = match self.pooled.take().map_or_else(|| self.shared.connect(), Ok) {
            Ok(pooled) => pooled,
            Err(error) => return task.fail(error),
        };
        let interrupt = pooled.renew_interrupt();
        let ran = task.run(interrupt, || work(&pooled));
        let is_whole = ran.is_whole();
        ran.tell();
        if is_whole && pooled.end_use() {
            self.pooled = Some(pooled);
        }
    }
}

/// Runs one statement, whose commit is not waited for.
pub(crate) fn statement<T>(
    pooled: &Pooled,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<(T, Option<Ticket>)> {
    let (done, ticket) = pooled.pipelined(work);
    let done = done?;
    if pooled.end_use() { Ok((done, ticket)) } else { Err(leaves_something()) }
}
