//! Which state a maintained view shows, and waiting for one.

use std::sync::Arc;
use std::time::Duration;

use super::{PAUSE, WRITING};
use crate::catalog::{Table, followed_tree_of};
use crate::clock::check_statement;
use crate::session::{Position, Session};
use crate::sql::relation_name;
use crate::{Error, Result, SqlState, sync};

impl Session {
    /// The position of the state that a maintained materialized view shows: that of the connection's newest state for one that
    /// commits keep current; for one that follows, that of its last change. `None`: it has not begun to follow.
    pub(crate) fn view_position(&self, view: &str) -> Result<Option<Position>> {
        let view = self.maintained_view(view)?;
        Ok(self.view_shows(&view)?.map(|place| self.shared().told(place)))
    }

    fn view_shows(&self, view: &Table) -> Result<Option<u64>> {
        let snapshot = self.shared().store.snapshot()?;
        if view.is_kept_by_commits() {
            return Ok(Some(snapshot.position()));
        }
        let Some(followed) = followed_tree_of(snapshot.reader())? else { return Ok(None) };
        let position = snapshot.reader().get(followed, &view.id.0.to_be_bytes())?;
        Ok(position.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes))
    }

    /// Waits until a maintained materialized view shows a state of this [position](crate::Connection::position), or a later one, for at
    /// most so long; false: not so far.
    pub(crate) fn wait_for_view(&self, view: &str, position: Position, time: Duration) -> Result<bool> {
        let until = sync::now().checked_add(time);
        let left = || until.map_or(time, |until| until.saturating_duration_since(sync::now()));
        let position = self.shared().store.place_of(&position.0)?;
        if !self.wait_for_place(position, time)? {
            return Ok(false);
        }
        loop {
            let view = self.maintained_view(view)?;
            view.refuse_unpopulated()?;
            if view.is_kept_by_commits() {
                return Ok(true);
            }
            if self.shared().options.read_only {
                // Nobody follows.
                return Ok(self.view_shows(&view)?.is_some_and(|shown| shown >= position));
            }
            let follower = self.shared().followers.of(view.id);
            let subscription = follower.as_ref().and_then(|follower| follower.subscription.lock().clone());
            match subscription.zip(follower) {
                Some((subscription, follower)) => {
                    if subscription.has_reached(position, left().min(PAUSE)) {
                        if follower.is_idle(&subscription) {
                            return Ok(true);
                        }
                        sync::sleep(WRITING);
                    }
                }
                None => sync::sleep(left().min(Duration::from_millis(1))),
            }
            check_statement(&self.interrupt, None)?;
            if left() == Duration::ZERO {
                return Ok(false);
            }
        }
    }

    fn maintained_view(&self, name: &str) -> Result<Arc<Table>> {
        let catalog = self.catalog()?;
        let parts = relation_name(name)?;
        let view = catalog.relation(&parts).and_then(|relation| relation.table()).cloned();
        let view = view.ok_or_else(|| catalog.no_relation(&parts))?;
        match view.is_kept_by_commits() || view.is_follower() {
            true => Ok(view),
            false => {
                let message = format!("\"{}\" is not a materialized view that is maintained", view.name);
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
        }
    }
}
