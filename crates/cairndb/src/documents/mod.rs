//! Documents: the face of a collection in Rust.
//!
//! A collection is a table (`catalog/collection.rs`), and all that is done with it here is SQL on a connection: statements of fixed text, whose plans
//! are kept, and whose values are parameters. So documents are in the connection's transactions, whoever else writes is seen, and nothing has to
//! hold here that does not hold for SQL.
//!
//! - A change of one document by its id is a point statement, conditions on its version included.
//! - A patch is worked out over the document that was read, and written on condition that it still is the one ([`Collection::update`]).
//! - Who comes with claims sees and changes what rules say ([`Collection::for_claims`]): each method of a collection that is about documents goes that way.
//! - What somebody sends as a filter or a cursor is bounded before it becomes SQL, and only paths and operators of it are text.

mod aggregate;
mod at_once;
mod by_id;
mod collection;
mod create;
mod document;
mod filter;
mod find;
mod id;
mod info;
mod named;
mod order;
mod patch;
mod rules;
mod schema;
#[cfg(test)]
mod tests;
mod tree;

pub use aggregate::Aggregation;
pub use by_id::ById;
pub use collection::{Collection, Upserted};
pub use create::CollectionOptions;
pub use document::{Document, Written};
pub use filter::{Equalities, Looked, Wanted};
pub use find::{Documents, Find, Page};
pub use info::CollectionInfo;
pub use named::{Expanded, Named};
