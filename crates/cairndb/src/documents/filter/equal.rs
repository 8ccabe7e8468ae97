//! Filters that ask for values to be equal and nothing else, for who tells many of one document: he finds those who want it by its values, and tries
//! none of the others.

use std::hash::{Hash, Hasher};

use super::parse::{Condition, Filter, Place};
use super::path::Path;
use crate::documents::id::IdKind;
use crate::types::{Document, EvalContext, JsonKind as Kind, Jsonb, to_text};
use crate::{CollectionInfo, Result, Value};

/// See the module. A document is found where it has each of these values.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// use cairndb::internals::Equalities;
///
/// let notes = conn.create_collection("notes")?;
/// let wanted = Equalities::of(notes.info(), r#"{"room": 7, "by.name": "Ada"}"#)?.expect("nothing else is asked");
/// let (id, doc) = ("a".into(), r#"{"room": 7.0, "by": {"name": "Ada"}}"#.parse()?);
/// assert!(wanted.are_met(&id, &doc)?);
/// let (at, value) = wanted.first();
/// assert_eq!(at.value(&id, &doc)?.as_ref(), Some(value));
/// assert!(Equalities::of(notes.info(), r#"{"room": {"$gt": 7}}"#)?.is_none());
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Equalities {
    first: (Looked, Wanted),
    others: Vec<(Looked, Wanted)>,
}

/// What of a document is looked at.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// # use cairndb::internals::Equalities;
/// let notes = conn.create_collection("notes")?;
/// let wanted = Equalities::of(notes.info(), r#"{"room": 7}"#)?.expect("nothing else is asked");
/// let (at, value) = wanted.first();
/// let found = at.value(&"a".into(), &r#"{"room": 7.0}"#.parse()?)?;
/// assert_eq!(found.as_ref(), Some(value));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Looked(At);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    Id,
    Path(Path),
}

/// A value that is compared as SQL does it: numbers that are equal are one, whatever their digits.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// # use cairndb::internals::Equalities;
/// let notes = conn.create_collection("notes")?;
/// let wanted = Equalities::of(notes.info(), r#"{"room": 7}"#)?.expect("nothing else is asked");
/// let (at, value) = wanted.first();
/// let found = at.value(&"a".into(), &r#"{"room": 7.0}"#.parse()?)?;
/// assert_eq!(found.as_ref(), Some(value));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Wanted(Comparable);

#[derive(Clone, Debug)]
enum Comparable {
    /// An id in the one form that it has as text.
    Id(String),
    Part(Jsonb),
    /// What no document has.
    Nothing,
}

impl Equalities {
    /// Those of a filter; `None`: it asks for something else, or for nothing.
    ///
    /// # Errors
    ///
    /// Those of filters: SQLSTATE 22023, 22P02, 54001.
    pub fn of(collection: &CollectionInfo, filter: &str) -> Result<Option<Equalities>> {
        let mut all = Vec::new();
        let are_all = collect(&Filter::parse(filter)?.0, collection.ids(), &mut all)?;
        let mut all = all.into_iter().filter(|_| are_all);
        Ok(all.next().map(|first| Equalities { first, others: all.collect() }))
    }

    /// One of them, by which those are to be found who may want a document.
    pub fn first(&self) -> (&Looked, &Wanted) {
        (&self.first.0, &self.first.1)
    }

    /// Whether a document has all of these values. SQLSTATE XX001: it is damaged.
    pub fn are_met(&self, id: &Value, doc: &Jsonb) -> Result<bool> {
        for (at, wanted) in std::iter::once(&self.first).chain(&self.others) {
            if at.value(id, doc)?.as_ref() != Some(wanted) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// False: it is something else, too.
fn collect(of: &Condition, ids: IdKind, into: &mut Vec<(Looked, Wanted)>) -> Result<bool> {
    match of {
        Condition::All(all) => {
            for each in all {
                if !collect(each, ids, into)? {
                    return Ok(false);
                }
            }
        }
        Condition::Equal(Place::Path(path), operand) => {
            into.push((Looked(At::Path(path.clone())), Wanted(Comparable::Part(operand.value.clone()))));
        }
        Condition::Equal(Place::Id, operand) => {
            let id = match operand.kind {
                Kind::String => ids.of_text(&operand.string()?),
                _ => ids.of_number(&operand.value.to_string()),
            };
            into.push((Looked(At::Id), Wanted(id.map_or(Comparable::Nothing, |id| Comparable::Id(text_of(&id))))));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn text_of(id: &Value) -> String {
    to_text(id, &EvalContext::default())
}

impl Looked {
    /// What a document has there; `None`: nothing. SQLSTATE XX001: it is damaged.
    pub fn value(&self, id: &Value, doc: &Jsonb) -> Result<Option<Wanted>> {
        match &self.0 {
            At::Id => Ok(Some(Wanted(Comparable::Id(text_of(id))))),
            At::Path(path) => {
                let Some(Document::Node(part)) = path.part(Document::Node(doc.root()))? else { return Ok(None) };
                Ok(Some(Wanted(Comparable::Part(Jsonb::of_part(part)))))
            }
        }
    }
}

impl PartialEq for Wanted {
    fn eq(&self, other: &Wanted) -> bool {
        match (&self.0, &other.0) {
            (Comparable::Id(mine), Comparable::Id(others)) => mine == others,
            (Comparable::Part(mine), Comparable::Part(others)) => mine.compare(others).is_eq(),
            // Not even to itself for who finds a document; what is kept by it is one.
            (Comparable::Nothing, Comparable::Nothing) => true,
            _ => false,
        }
    }
}

impl Eq for Wanted {}

impl Hash for Wanted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Comparable::Id(id) => id.hash(state),
            Comparable::Part(part) => part.hash(state),
            Comparable::Nothing => {}
        }
    }
}
