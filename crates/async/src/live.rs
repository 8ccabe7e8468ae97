//! Live queries as streams.

use std::pin::Pin;
use std::task::{Context, Poll};

use cairndb::{Field, LiveChange, LiveQuery, Result};
use futures_core::Stream;

/// A query whose result is kept current, as a stream of its changes, the whole result first: see [`cairndb::LiveQuery`].
/// Dropping it ends it.
pub struct Live(LiveQuery);

impl Live {
    pub(crate) fn new(live: LiveQuery) -> Live {
        Live(live)
    }

    /// The result's columns.
    pub fn columns(&self) -> &[Field] {
        self.0.columns()
    }

    /// See [`LiveQuery::key`].
    pub fn key(&self) -> Option<&[usize]> {
        self.0.key()
    }

    /// The next change; `None`: the database was closed.
    ///
    /// # Errors
    ///
    /// Why the query ended.
    pub async fn next_change(&mut self) -> Result<Option<LiveChange>> {
        std::future::poll_fn(|context| self.0.poll_change(context)).await
    }
}

impl Stream for Live {
    type Item = Result<LiveChange>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_change(context).map(Result::transpose)
    }
}
