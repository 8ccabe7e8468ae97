//! Who listens to a table's changes, and finding those whom one concerns.

use std::collections::HashMap;
use std::sync::Arc;

use cairndb::internals::{Equalities, Looked, Wanted};
use cairndb::{Error, Position};
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::told::{Document, Told, What};

/// What a subscriber is sent.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Change(Arc<Told>),
    /// A commit of which he has heard is over, and its last change was not for him.
    Passed(Position),
    Failed(Error),
}

/// One stream.
#[derive(Clone)]
pub(super) struct Subscriber {
    pub(super) id: u64,
    pub(super) sender: Sender<Item>,
    /// The values that he wants documents to have; `None`: he hears of all.
    pub(super) wanted: Option<Arc<Equalities>>,
}

type Group = HashMap<u64, Subscriber>;

/// Those of one table.
#[derive(Default)]
pub(super) struct Subscribers {
    /// Who wants to hear of each change.
    everything: Group,
    /// Those who want documents of a value, by where it is looked for.
    by_value: HashMap<Looked, HashMap<Wanted, Group>>,
    /// Who has heard of the commit that is being told, and not of its end.
    ahead: Group,
}

/// What came of telling something.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) count: usize,
    /// So much is kept for streams that those who have something to take get no more.
    is_crowded: bool,
    /// Those who have no room for it.
    pub(super) late: Vec<Subscriber>,
}

impl Heard {
    fn send(&mut self, subscriber: &Subscriber, item: Item) {
        self.count += 1;
        if self.is_crowded && subscriber.has_some() || subscriber.is_late(item) {
            self.late.push(subscriber.clone());
        }
    }
}

impl Subscriber {
    /// There is something that he has not taken.
    pub(super) fn has_some(&self) -> bool {
        self.sender.capacity() < self.sender.max_capacity()
    }

    /// Sends it, unless there is no room for it.
    pub(super) fn is_late(&self, item: Item) -> bool {
        // (Who has gone is about to say so.)
        matches!(self.sender.try_send(item), Err(TrySendError::Full(_)))
    }
}

impl Subscribers {
    pub(super) fn add(&mut self, subscriber: Subscriber) {
        let group = match subscriber.wanted.as_deref().map(Equalities::first) {
            None => &mut self.everything,
            Some((at, value)) => self.by_value.entry(at.clone()).or_default().entry(value.clone()).or_default(),
        };
        group.insert(subscriber.id, subscriber);
    }

    /// Whether he was one.
    pub(super) fn remove(&mut self, id: u64, wanted: Option<&Equalities>) -> bool {
        self.ahead.remove(&id);
        let Some((at, value)) = wanted.map(Equalities::first) else { return self.everything.remove(&id).is_some() };
        let Some(values) = self.by_value.get_mut(at) else { return false };
        let Some(group) = values.get_mut(value) else { return false };
        let was_there = group.remove(&id).is_some();
        if group.is_empty() {
            values.remove(value);
        }
        if values.is_empty() {
            self.by_value.remove(at);
        }
        was_there
    }

    pub(super) fn is_empty(&self) -> bool {
        self.everything.is_empty() && self.by_value.is_empty()
    }

    /// Tells those whom it concerns. SQLSTATE XX001: a document is damaged.
    pub(super) fn tell(&mut self, told: &Arc<Told>, is_crowded: bool) -> Result<Heard, Error> {
        let Subscribers { everything, by_value, ahead } = self;
        let mut heard = Heard { is_crowded, ..Heard::default() };
        let mut tell = |group: &Group| {
            for subscriber in group.values() {
                heard.send(subscriber, Item::Change(told.clone()));
                if told.is_last {
                    ahead.remove(&subscriber.id);
                } else {
                    ahead.entry(subscriber.id).or_insert_with(|| subscriber.clone());
                }
            }
        };
        tell(everything);
        match &told.what {
            What::Document { old, new, .. } => {
                for (at, values) in by_value.iter() {
                    let value = |of: &Option<Document>| match of {
                        Some((id, _, doc)) => at.value(id, doc),
                        None => Ok(None),
                    };
                    let (old, new) = (value(old)?, value(new)?);
                    new.as_ref().and_then(|value| values.get(value)).into_iter().for_each(&mut tell);
                    let other = old.filter(|old| Some(old) != new.as_ref());
                    other.and_then(|value| values.get(&value)).into_iter().for_each(&mut tell);
                }
            }
            _ => by_value.values().flat_map(HashMap::values).for_each(tell),
        }
        Ok(heard)
    }

    /// A commit is over.
    pub(super) fn pass(&mut self, commit: Position) -> Heard {
        let mut heard = Heard::default();
        self.ahead.drain().for_each(|(_, subscriber)| heard.send(&subscriber, Item::Passed(commit)));
        heard
    }

    /// All of them, who are subscribers no more.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Subscriber> + use<> {
        let Subscribers { everything, by_value, .. } = std::mem::take(self);
        let by_value = by_value.into_values().flat_map(HashMap::into_values).flat_map(HashMap::into_values);
        everything.into_values().chain(by_value)
    }
}
