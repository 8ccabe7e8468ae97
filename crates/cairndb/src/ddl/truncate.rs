//! TRUNCATE: the trees are replaced by empty ones.

use std::sync::Arc;

use super::context::Ddl;
use super::sequence::new_generation;
use crate::catalog::{ObjectId, Sequence, Table, Timing, TriggerEvent, delete_statistics};
use crate::change_feed::EntryKind;
use crate::command::Truncate;
use crate::dml::{DmlContext, ReadyTriggers, Running, TableTriggers, has_trigger};
use crate::exec::ExecContext;
use crate::routine::calls_of;
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn truncate(&mut self, truncate: &Truncate) -> Result<&'static str> {
        let mut tables: Vec<Arc<Table>> = Vec::with_capacity(truncate.tables.len());
        for name in &truncate.tables {
            let table = self.table(name)?;
            // One that is named twice is emptied once.
            if tables.iter().all(|known| known.id != table.id) {
                tables.push(table);
            }
        }
        if truncate.cascade {
            self.add_referencing(&mut tables)?;
        }
        self.refuse_referenced(&tables)?;
        tables.iter().try_for_each(|table| self.refuse_pending(table, "TRUNCATE"))?;
        for table in &tables {
            self.fire(table, Timing::Before)?;
        }
        for table in &tables {
            self.empty(table)?;
            if truncate.restart {
                self.restart_sequences(table.id)?;
            }
        }
        if tables.iter().any(|table| !table.triggers.is_empty()) {
            self.reload()?;
            for table in &tables {
                let table = self.table_of(table.id)?;
                self.fire(&table, Timing::After)?;
            }
        }
        Ok("TRUNCATE TABLE")
    }

    /// Runs the table's triggers for TRUNCATE.
    fn fire(&self, table: &Arc<Table>, timing: Timing) -> Result<()> {
        if !has_trigger(table, TriggerEvent::Truncate, timing, false) {
            return Ok(());
        }
        let caller = self.session.functions(&self.catalog)?;
        let eval = Arc::new(self.dml.exec.eval.with_calls(Some(calls_of(caller))));
        let exec = ExecContext { eval, ..self.dml.exec.clone() };
        let context = DmlContext { exec: &exec, catalog: &self.catalog, ..*self.dml };
        TableTriggers::of(table, &self.catalog)?.statement(
            TriggerEvent::Truncate,
            timing,
            &[],
            &mut Running::new(&context, &mut ReadyTriggers::default()),
        )
    }

    fn add_referencing(&mut self, tables: &mut Vec<Arc<Table>>) -> Result<()> {
        let mut at = 0;
        while let Some(table) = tables.get(at).cloned() {
            for &(child, _) in &table.referenced_by {
                if tables.iter().all(|table| table.id != child) {
                    let child = self.catalog.table_by_id(child).cloned();
                    let child = child.ok_or_else(|| Error::internal("a table is missing"))?;
                    self.notice(
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("truncate cascades to table \"{}\"", child.name),
                    );
                    tables.push(child);
                }
            }
            at += 1;
        }
        Ok(())
    }

    fn refuse_referenced(&self, tables: &[Arc<Table>]) -> Result<()> {
        for table in tables {
            let foreign = |(child, _): &&(ObjectId, usize)| tables.iter().all(|table| table.id != *child);
            if let Some((child, _)) = table.referenced_by.iter().find(foreign) {
                let child = self.catalog.table_by_id(*child).map_or("", |child| child.name.as_str());
                return Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "cannot truncate a table referenced in a foreign key constraint",
                )
                .with_detail(format!("Table \"{child}\" references \"{}\".", table.name))
                .with_hint(format!("Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE.")));
            }
        }
        Ok(())
    }

    fn empty(&mut self, table: &Table) -> Result<()> {
        let mut new = table.clone();
        self.tell_feed(table, EntryKind::Truncate)?;
        self.drop_trees(table)?;
        self.give_trees(&mut new)?;
        self.empty_kept(table)?;
        delete_statistics(self.dml.tx, self.trees, table.id)?;
        self.store.put_table(&new)
    }

    fn restart_sequences(&mut self, table: ObjectId) -> Result<()> {
        for sequence in self.owned_sequences(table) {
            // A collection's versions go on.
            if self.catalog.counted_by(&sequence).is_some() {
                continue;
            }
            let (generation, restarted) = (new_generation(), None);
            let restarted = Sequence { generation, restarted, ..Sequence::clone(&sequence) };
            self.store.put_sequence(&restarted)?;
        }
        Ok(())
    }
}
