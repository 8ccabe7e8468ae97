//! Statements that change the schema, and what these have of their session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Executed, Params, State};
use crate::catalog::{Catalog, CatalogStamp, ObjectId, SearchPath};
use crate::command::Execute;
use crate::ddl;
use crate::exec::{ExecContext, SequenceSource};
use crate::routine::StatementHost;
use crate::session::{Rows, Session};
use crate::sql::ParsedStatement;
use crate::state::Transaction;
use crate::{Result, Value};

impl Session {
    /// Changes the schema in a transaction by a command that is not the user's.
    pub(in crate::session) fn change_schema_in(
        &self,
        tx: &Transaction,
        path: &Arc<SearchPath>,
        command: &Arc<ParsedStatement>,
    ) -> Result<()> {
        let (stamp, catalog) = self.catalog_of(tx)?;
        let (reader, catalog) = (tx.reader(), Arc::new(catalog.under(path)));
        let state = State { reader, tx: None, stamp, catalog, started: None, read_only: false, has_lost: false };
        self.change_schema(tx, (command, &()), &state).map(drop)
    }

    pub(super) fn change_schema(
        &self,
        tx: &Transaction,
        (command, params): (&Arc<ParsedStatement>, &dyn Params),
        state: &State<'_>,
    ) -> Result<Executed> {
        let prepared = self.command_in(command, state)?;
        let params = if prepared.parameters.is_empty() { &() } else { params };
        let context = self.context(&prepared, state, params)?;
        let session = self.state.borrow();
        let (dml, options) = (self.dml_context(tx, (state, &context)), session.settings.optimizer.clone());
        let is_alone = state.started.is_none();
        let around = SchemaStatement { session: self, context: &context, state };
        let done = self.shared().change_schema(command, (&dml, &options), &around, is_alone)?;
        self.routines.channels.notices.add_all(done.notices);
        let rows = done.rows.map(|(fields, rows)| Rows::buffered(fields, rows));
        Ok(Executed { tag: done.tag, affected: done.affected, rows })
    }
}

/// What a schema change has of its session.
struct SchemaStatement<'a> {
    session: &'a Session,
    context: &'a ExecContext,
    state: &'a State<'a>,
}

impl ddl::SchemaHost for SchemaStatement<'_> {
    fn sequences(&self, catalog: &Arc<Catalog>) -> Arc<dyn SequenceSource> {
        self.session.sequences_under(catalog, self.state.read_only)
    }

    fn functions(&self, catalog: &Arc<Catalog>) -> Result<Arc<dyn StatementHost>> {
        let stamp = CatalogStamp::of(self.state.reader.database(), self.session.shared().trees)?;
        let state = State { catalog: catalog.clone(), stamp, ..*self.state };
        Ok(Arc::new(self.session.runner(self.context, &state, &self.session.state.borrow())))
    }

    fn is_busy(&self, _: ObjectId) -> bool {
        false
    }

    fn executed(&self, parsed: &ParsedStatement, execute: &Execute) -> Result<(Arc<ParsedStatement>, Vec<Value>)> {
        let (runnable, values) = self.session.executed(parsed, execute)?;
        Ok((runnable.parsed, values))
    }

    fn parameters(&self) -> &[Value] {
        &self.context.parameters
    }

    fn keep_feeds(&self) -> Result<()> {
        self.session.shared().keep_feeds()
    }

    fn follow_views(&self) {
        self.session.routines.views.store(true, Ordering::Relaxed);
    }
}
