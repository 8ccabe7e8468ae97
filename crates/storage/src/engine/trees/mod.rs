//! Which trees a state of the database has, and their roots.
//!
//! A list that is shared: each version has all trees, and consecutive ones differ in a few. So it is a tree of nodes itself, in
//! memory, whose nodes are copied when they change ([`LatestTrees`]): a commit copies one node a level, of at most a KiB. Its top lies
//! in each version itself ([`Trees`]), which is all there is of it where there are few trees. Checkpoints, which write all of it
//! anyway, have it flat ([`TreeList`]).
//!
//! What must hold:
//! - A node changes only while no version has it: it was made since the last version was cut, or the last state marked. What
//!   lies above such a node was made since then, too.
//! - A node that was replaced is used again once nobody can find it: when no version that is published or held lies
//!   between its birth and the version that replaced it. Versions tell what is held as they do of themselves: an object that
//!   is retired keeps the nodes that died with its successor until it is nobody's, then those that the next older one has, too,
//!   are that one's (`Spares::recycle`).
//!
//! Counting who has a node instead would write to each child of a node that is copied, which costs more than the copy.

mod latest;
mod list;
mod node;
mod shared;

pub(crate) use latest::{LatestTrees, Marked};
pub(crate) use list::TreeList;
pub(crate) use node::DeadNodes;
pub(crate) use shared::Trees;

#[cfg(test)]
mod tests;
