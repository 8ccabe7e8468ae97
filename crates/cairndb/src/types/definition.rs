//! Texts that speak of other objects: a view's query, a column's default, a CHECK's condition.
//!
//! A definition is the text as it was written and what the names in it meant then: for each name of a relation or a
//! sequence the object's id, and for a relation its columns by number, under the names that they had. It is bound by those,
//! so it goes on meaning the same whatever is renamed, made or added later, and nobody has to rewrite it. What a definition
//! rests on is known exactly: the objects, and the columns that it uses.

use super::ObjectId;

/// A text with what its names mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// SQL, as it was written.
    pub text: String,
    /// What its names meant. `None`: not known (an older library wrote it), so they mean what they mean now.
    pub(crate) references: Option<Vec<Reference>>,
}

/// What a name in a definition means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The byte of the text at which the name begins.
    pub(crate) place: u32,
    /// The relation or sequence.
    pub(crate) object: ObjectId,
    /// The name of the schema that the relation was in.
    pub(crate) schema: String,
    /// All columns that the relation had.
    pub(crate) columns: Vec<KnownColumn>,
    /// The text makes sense only as long as the relation's primary key is one.
    pub(crate) by_key: bool,
}

/// A column of a relation as a definition knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownColumn {
    /// A table's column by its number, a view's by its position.
    pub(crate) number: u32,
    /// Its name then.
    pub(crate) name: String,
    pub(crate) used: bool,
}

impl Definition {
    /// What is known of its references.
    pub(crate) fn references(&self) -> &[Reference] {
        self.references.as_deref().unwrap_or_default()
    }

    /// The reference whose name begins here.
    pub(crate) fn reference_at(&self, place: u32) -> Option<&Reference> {
        self.references().iter().find(|reference| reference.place == place)
    }
}

impl From<&str> for Definition {
    /// The names in it mean what they mean when it is bound.
    fn from(text: &str) -> Definition {
        Definition { text: text.to_owned(), references: None }
    }
}
