//! A change as it is told, whoever hears it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use cairndb::{Change, ChangeKind, Error, Jsonb, Position, Row, Value};
use serde_json::json;

use super::question::{Answers, InSight, Question};
use crate::documents::id_text;

/// A document as it was or is.
pub(crate) type Document = (Value, i64, Jsonb);

/// Where a change stands: its commit, and how many of that one's changes there are up to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) commit: Position,
    pub(crate) nth: u64,
}

impl Place {
    /// Behind all of a commit.
    pub(crate) fn behind(commit: Position) -> Place {
        Place { commit, nth: u64::MAX }
    }

    /// Behind the next change of those that were read so far.
    pub(crate) fn next(self, commit: Position) -> Place {
        let nth = if self.commit == commit && self.nth != u64::MAX { self.nth + 1 } else { 1 };
        Place { commit, nth }
    }

    /// Whether it lies behind the other. (Both are told by one opening of the database, whose positions are ordered.)
    pub(crate) fn is_behind(&self, other: &Place) -> bool {
        self.commit > other.commit || self.commit == other.commit && self.nth > other.nth
    }
}

/// What becomes of a document, for who sees it before, after, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Becomes {
    Insert = 0,
    Update = 1,
    Delete = 2,
}

/// What a change is to who listens.
#[derive(Debug)]
pub(crate) enum What {
    Document {
        old: Option<Document>,
        new: Option<Document>,
        events: [OnceLock<Bytes>; 3],
    },
    Truncate,
    /// Nothing more comes.
    End(&'static str),
    /// Documents are what they were.
    Nothing,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) table: u32,
    pub(crate) place: Place,
    /// It is the last of its commit, whose token is told with it.
    pub(crate) is_last: bool,
    pub(crate) what: What,
    kept: OnceLock<Kept>,
    answers: Answers,
}

/// Bytes that are counted while they are kept for streams.
#[derive(Debug)]
struct Kept(Arc<AtomicUsize>, usize);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

impl Told {
    pub(crate) fn of(change: &Change, place: Place) -> Told {
        let what = match change.kind() {
            ChangeKind::Insert | ChangeKind::Update | ChangeKind::Delete => {
                What::Document { old: None, new: None, events: Default::default() }
            }
            ChangeKind::Truncate => What::Truncate,
            ChangeKind::Drop => What::End("the collection was dropped"),
            ChangeKind::End => What::End("the change feed ended"),
            _ => What::Nothing,
        };
        Told {
            table: change.table().id,
            place,
            is_last: change.is_last(),
            what,
            kept: OnceLock::new(),
            answers: Answers::default(),
        }
    }

    /// The same with the documents: of tables that are collections.
    pub(crate) fn with_documents(mut self, change: &Change) -> Result<Told, Error> {
        if let What::Document { old, new, .. } = &mut self.what {
            (*old, *new) = (change.old().map(document).transpose()?, change.new_row().map(document).transpose()?);
        }
        Ok(self)
    }

    /// Counts what it takes, for as long as somebody has it.
    pub(super) fn count(&self, all: &Arc<AtomicUsize>) {
        let What::Document { old, new, .. } = &self.what else { return };
        let bytes = [old, new].into_iter().flatten().map(|(_, _, doc)| doc.stored_len()).sum();
        self.kept.get_or_init(|| {
            all.fetch_add(bytes, Ordering::Relaxed);
            Kept(all.clone(), bytes)
        });
    }

    /// Who sees its documents; `ask` where nobody has asked the same.
    pub(crate) async fn in_sight(&self, question: &Arc<Question>, ask: impl Future<Output = InSight>) -> InSight {
        self.answers.of(question, ask).await
    }

    /// The token that is told with it.
    pub(crate) fn token(&self) -> Option<Position> {
        self.is_last.then_some(self.place.commit)
    }

    /// The event of what the document becomes, made once for all who hear it.
    pub(crate) fn event(&self, becomes: Becomes) -> Bytes {
        let What::Document { old, new, events } = &self.what else { return Bytes::new() };
        let make = || {
            let (kind, data) = match (becomes, old, new) {
                (Becomes::Insert, _, Some(new)) => ("insert", whole(new)),
                (Becomes::Update, _, Some(new)) => ("update", whole(new)),
                (_, Some((id, ..)), _) | (_, _, Some((id, ..))) => ("delete", json!({ "id": id_text(id) }).to_string()),
                (_, None, None) => return Bytes::new(),
            };
            self.text(kind, &data)
        };
        events[becomes as usize].get_or_init(make).clone()
    }

    /// An event of it.
    pub(crate) fn text(&self, kind: &str, data: &str) -> Bytes {
        let id = self.token().map_or_else(String::new, |token| format!("id: {token}\n"));
        format!("{id}event: {kind}\ndata: {data}\n\n").into()
    }
}

fn document(row: Row<'_>) -> Result<Document, Error> {
    Ok((row.get("id")?, row.get("version")?, row.get("doc")?))
}

/// Ids are strings, as in all answers.
fn whole((id, version, doc): &Document) -> String {
    format!("{{\"id\":{},\"version\":{version},\"doc\":{doc}}}", json!(id_text(id)))
}
