//! A commit on its way to the disk.

use std::task::{Context, Poll};

use crate::Result;

/// From [`Statement::execute_async`](crate::Statement::execute_async): the change is made, its durability is pending.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE t (a int PRIMARY KEY)", ())?;
/// let mut insert = conn.prepare("INSERT INTO t VALUES ($1)")?;
/// let mut tickets = (0..10).map(|a| insert.execute_async((a,))).collect::<Result<Vec<_>, _>>()?;
/// // All of them are on their way; each is durable once its ticket says so.
/// let last = tickets.pop().expect("ten");
/// assert_eq!(last.affected(), 1);
/// last.wait()?;
/// assert!(tickets.iter().all(|ticket| ticket.is_durable()));
/// let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// assert!(tickets[0].poll(&mut context)?.is_ready());
/// # Ok::<(), cairndb::Error>(())
/// ```
#[must_use = "the change is not known to be durable before `wait` returned"]
pub struct Ticket {
    affected: u64,
    commit: Option<cairn_storage::Ticket>,
}

impl Ticket {
    pub(crate) fn new(affected: u64, commit: Option<cairn_storage::Ticket>) -> Ticket {
        Ticket { affected, commit }
    }

    /// Waits until the commit is durable (as its durability mode says); the number of rows it changed.
    pub fn wait(self) -> Result<u64> {
        if let Some(commit) = self.commit {
            commit.wait()?;
        }
        Ok(self.affected)
    }

    /// As `wait`, for tasks of an asynchronous program: the task is woken when there is an answer.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<u64>> {
        let affected = self.affected;
        match &mut self.commit {
            Some(commit) => commit.poll(context).map(|done| Ok(done.map(|()| affected)?)),
            None => Poll::Ready(Ok(affected)),
        }
    }

    /// The number of rows that were changed.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// Whether `wait` would return at once.
    pub fn is_durable(&self) -> bool {
        self.commit.as_ref().is_none_or(cairn_storage::Ticket::is_durable)
    }
}
