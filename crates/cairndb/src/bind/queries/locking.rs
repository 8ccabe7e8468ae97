//! FOR UPDATE and its kin. Transactions are serializable, so that they need do nothing, and nobody ever waits for a row;
//! what PostgreSQL refuses of them (`CheckSelectLocking`, `transformLockingClause`) is refused, and so are SKIP LOCKED, which would
//! skip nothing, and NOWAIT, which would tell nobody that a row is taken.

use cairn_parser::{List, LockStrength, LockWait, Locking};

use crate::bind::binder::Binder;
use crate::bind::relations::scope::Scope;
use crate::sql::name_text;
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    /// `beside`: what stands in the query that rows cannot be locked through.
    pub(super) fn locking_beside(&self, locking: List<Locking>, beside: Option<&str>) -> Result<()> {
        let (Some(first), Some(beside)) = (self.tree.list(locking).next(), beside) else { return Ok(()) };
        let name = name_of(self.tree.get(first).strength);
        let message = format!("{name} {beside}");
        Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), self.tree.span(first)))
    }

    /// The relations that it names are in the FROM clause.
    pub(super) fn locked_relations(&self, locking: List<Locking>, scope: &Scope) -> Result<()> {
        let tree = self.tree;
        for clause in tree.list(locking) {
            let Locking { strength, tables, wait } = tree.get(clause);
            if let Some(wait) = wait {
                let name = if wait == LockWait::NoWait { "NOWAIT" } else { "SKIP LOCKED" };
                let error = Error::unsupported(name).with_hint(
                    "Rows are not locked: of two transactions that take the same row, one fails with SQLSTATE 40001 when it \
                     commits, and can be run again.",
                );
                return Err(self.at(error, tree.span(clause)));
            }
            let named = |alias: &str| {
                let mut names = tree.list(tables).filter_map(|table| tree.list(tree.get(table).parts).next_back());
                tables.is_empty() || names.any(|name| name_text(tree, name) == alias)
            };
            for relation in scope.relations.iter().filter(|relation| named(&relation.alias)) {
                if let Some((table, _)) = relation.table.as_ref().filter(|(table, _)| table.is_materialized()) {
                    let message = format!("cannot lock rows in materialized view \"{}\"", table.name);
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
            }
            for table in tree.list(tables) {
                let parts = tree.get(table).parts;
                let alias = tree.list(parts).next_back().map_or("", |name| name_text(tree, name));
                let error = if tree.len(parts) > 1 {
                    let message = format!("{} must specify unqualified relation names", name_of(strength));
                    Error::new(SqlState::SYNTAX_ERROR, message)
                } else if scope.relations.iter().any(|relation| relation.alias == alias) {
                    continue;
                } else {
                    let clause = name_of(strength);
                    let message = format!("relation \"{alias}\" in {clause} clause not found in FROM clause");
                    Error::new(SqlState::UNDEFINED_TABLE, message)
                };
                return Err(self.at(error, tree.span(table)));
            }
        }
        Ok(())
    }
}

fn name_of(strength: LockStrength) -> &'static str {
    match strength {
        LockStrength::Update => "FOR UPDATE",
        LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
        LockStrength::Share => "FOR SHARE",
        LockStrength::KeyShare => "FOR KEY SHARE",
    }
}
