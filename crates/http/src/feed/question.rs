//! What many streams ask of a change alike: whether documents are in sight. It is asked once for all of them.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use cairndb::{Error, Jsonb, Rules};
use tokio::sync::OnceCell;

/// Who asks, and for what: streams whose questions are equal see the same.
#[derive(Debug)]
pub(crate) struct Question {
    /// Of all that follows, which is compared once for many.
    hash: u64,
    collection: String,
    filter: Option<String>,
    rules: Option<Rules>,
    claims: Option<String>,
}

impl Question {
    pub(crate) fn new(
        collection: &str,
        filter: Option<&str>,
        rules: Option<&Rules>,
        claims: Option<&Jsonb>,
    ) -> Question {
        let (claims, mut hasher) = (claims.map(ToString::to_string), DefaultHasher::new());
        (collection, filter, &claims).hash(&mut hasher);
        Question {
            hash: hasher.finish(),
            collection: collection.to_owned(),
            filter: filter.map(str::to_owned),
            rules: rules.cloned(),
            claims,
        }
    }
}

impl Hash for Question {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl PartialEq for Question {
    fn eq(&self, other: &Question) -> bool {
        std::ptr::eq(self, other)
            || self.hash == other.hash
                && (&self.collection, &self.filter) == (&other.collection, &other.filter)
                && (&self.rules, &self.claims) == (&other.rules, &other.claims)
    }
}

impl Eq for Question {}

/// Whether the document was in sight before, and is after; or why that is not known.
pub(crate) type InSight = Result<[bool; 2], Error>;

/// What was answered of one change.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<HashMap<Arc<Question>, Arc<OnceCell<InSight>>>>);

impl Answers {
    /// What was answered, or is; who is asked first asks for all.
    pub(super) async fn of(&self, question: &Arc<Question>, ask: impl Future<Output = InSight>) -> InSight {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(question.clone()).or_default().clone();
        known.get_or_init(|| ask).await.clone()
    }
}
