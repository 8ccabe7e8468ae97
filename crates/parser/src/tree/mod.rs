//! The tree: nodes in one vector, their fields and lists in another, texts in the source.

mod define;
mod field;
mod ids;
mod nesting;
mod node;
mod walk;

pub(crate) use define::{scalar, syntax};
pub(crate) use field::Field;
pub use field::Text;
pub use ids::{Id, List};
pub(crate) use node::{Draft, Node, TreeRoom, TreeSize};
pub use node::{Span, Tree};
pub use walk::{FieldSort, KindInfo, NodeRef, Syntax};
