//! How a session comes to a live query.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairn_parser::{Id, Statement};

use super::definition::{Definition, Limits, QueryEnv};
use super::query::not_a_query;
use super::shown::Identity;
use super::subscription::Subscription;
use super::{LiveQuery, SubscribedRows};
use crate::prepared::{Access, Body};
use crate::session::execute::Runnable;
use crate::session::{Executed, Params, Rows, Session};
use crate::sql::ParsedStatement;
use crate::{Error, Result, SqlState};

const COMMIT_FIRST: &str = "Commit first: what a live query tells of is committed.";
const LIVE_INSTEAD: &str = "Watch the query as a live query, which keeps no thread.";

impl Session {
    /// Watches a query's result: see [`LiveQuery`]. The session's settings are those that it has now.
    pub(crate) fn live(&self, sql: &str, params: impl Params) -> Result<LiveQuery> {
        self.subscription(sql, params).map(|subscription| self.live_of(subscription))
    }

    fn live_of(&self, subscription: Subscription) -> LiveQuery {
        LiveQuery::of(subscription, self.handle.clone())
    }

    /// The same, which does not keep the database open.
    pub(super) fn subscription(&self, sql: &str, params: impl Params) -> Result<Subscription> {
        self.check_process()?;
        if self.in_transaction() {
            let error = Error::new(SqlState::ACTIVE_SQL_TRANSACTION, "a live query cannot begin in a transaction");
            return Err(error.with_hint(COMMIT_FIRST));
        }
        if !self.keeps_interrupt {
            self.interrupt.store(false, Ordering::Relaxed);
        }
        let sql = &*crate::session::text_for(sql, &params)?;
        let Runnable { parsed, .. } = self.runnable(sql)?;
        self.watch(&parsed, sql, &params)
    }

    /// SUBSCRIBE to the query within a statement.
    pub(in crate::session) fn subscribe(
        &self,
        parsed: &ParsedStatement,
        query: Id<Statement>,
        params: &dyn Params,
    ) -> Result<Executed> {
        if self.in_transaction() {
            let message = "SUBSCRIBE cannot run inside a transaction block";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message).with_hint(COMMIT_FIRST));
        }
        if self.pipelines.get() {
            // Whoever runs it so has few threads, and this one would wait as long as somebody asks.
            return Err(Error::unsupported("SUBSCRIBE among statements that share threads").with_hint(LIVE_INSTEAD));
        }
        let deadline = self.deadline();
        let live =
            self.watch(&Arc::new(parsed.within(query, parsed.declared.clone())), parsed.tree.written(query), params)?;
        let rows = SubscribedRows::new(self.live_of(live), self.interrupt.clone(), deadline);
        Ok(Executed::rows("SUBSCRIBE", Rows::endless(rows)))
    }

    /// `text`: of the query, by which those that are the same know each other.
    fn watch(&self, parsed: &Arc<ParsedStatement>, text: &str, params: &dyn Params) -> Result<Subscription> {
        if Access::of(parsed) != Access::Read {
            return Err(not_a_query());
        }
        let mut runnable = Runnable::new(parsed.clone());
        let (context, parameter_types) = self.with_state(|state| {
            let prepared = self.plan(&mut runnable, state)?;
            match prepared.body()? {
                Body::Plan(_) => {
                    let context = self.context(&prepared, state, params)?;
                    Ok((context, prepared.parameters.clone()))
                }
                _ => Err(not_a_query()),
            }
        })?;
        let settings = self.state.borrow().settings.clone();
        let path = settings.search_path.clone();
        // What users wrote in Rust is the session's own.
        let shared_settings = path.functions.is_empty().then(|| self.shared().live.text_of(&settings));
        let identity = shared_settings.as_ref().map(|settings| Identity {
            text: text.into(),
            parameters: format!("{:?}", context.parameters).into(),
            settings: settings.clone(),
        });
        let definition = Definition {
            parsed: parsed.clone(),
            path,
            options: settings.optimizer.clone(),
            parameter_types,
            settings: shared_settings,
            timeout: settings.statement_timeout,
            surroundings: QueryEnv::of(&context),
        };
        let limits = Limits { interrupt: context.interrupt, deadline: context.deadline };
        self.shared().live.subscribe(self.shared(), definition, identity, &limits)
    }
}
