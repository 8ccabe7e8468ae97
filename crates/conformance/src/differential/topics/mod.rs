//! Features that have statements of their own: cursors, COPY, views, types, and the like.
//!
//! A round of a case tries a few of them, each as a block of statements that begins and ends outside transactions. What a
//! block makes has the block's number in its name, so that no block needs another one.

mod constraints;
mod copies;
mod cursors;
mod definitions;
mod entries;
pub(super) mod formats;
pub(super) mod graphs;
pub(super) mod paths;
pub(super) mod patterns;
mod programs;
mod statements;
mod types;
mod views;

use super::case::Step;
use super::schema::{ColumnSpec, TableSpec};
use super::{Dialect, Kind, Random};

/// What a block is made from.
pub(super) struct Block<'a> {
    pub random: &'a mut Random,
    pub tables: &'a [TableSpec],
    /// Told apart by it are the names of what blocks make.
    pub number: usize,
}

/// Makes a block's statements; none where its tables do not suit.
type Topic = fn(&mut Block<'_>) -> Option<Vec<Step>>;

/// The statements of one block.
pub(super) fn block(mut b: Block<'_>) -> Vec<Step> {
    let topics: [Topic; 15] = [
        cursors::block,
        copies::out,
        copies::into,
        views::updatable,
        views::materialized,
        views::maintained,
        constraints::deferred,
        constraints::conflicts,
        paths::parts,
        programs::block,
        types::block,
        definitions::block,
        entries::block,
        graphs::block,
        statements::transitions,
    ];
    let topic = *b.random.pick(&topics);
    topic(&mut b).unwrap_or_default()
}

impl Block<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn table(&mut self) -> TableSpec {
        self.random.pick(self.tables).clone()
    }

    /// A table whose rows its first column tells apart.
    fn keyed(&mut self) -> Option<TableSpec> {
        let keyed: Vec<&TableSpec> = self.tables.iter().filter(|table| table.has_key).collect();
        if keyed.is_empty() { None } else { Some((*self.random.pick(&keyed)).clone()) }
    }

    /// A literal to store.
    fn stored(&mut self, kind: Kind, nullable: bool) -> String {
        super::literal::stored(self.random, kind, Dialect::Postgres, nullable)
    }
}

fn change(sql: impl Into<String>) -> Step {
    Step::change(sql.into())
}

/// A query whose rows come in any order.
fn rows(sql: impl Into<String>) -> Step {
    Step::query(sql.into(), true, true)
}
