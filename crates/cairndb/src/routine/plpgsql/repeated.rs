//! A trigger's function whose body is one INSERT of a row of expressions, run for all rows of a batch: what such functions are
//! for, mostly, is to note what was changed.
//!
//! Nothing is done in another order than row by row: the expressions are evaluated for a row, it is inserted, then comes the
//! next. What is saved is to begin and end a statement and a call for each.

use std::mem;
use std::sync::Arc;

use super::fragment::{Bound, Fragment};
use super::frame::Frame;
use super::run::{Run, of_statement};
use super::tree::{Kind, Query, Statement};
use super::{PlPgSql, Room, TriggerVariables};
use crate::columns::{Batch, Vector};
use crate::exec::ExecContext;
use crate::functions::{Firing, TriggerCall, TriggerEvent};
use crate::routine::StatementHost;
use crate::types::DataType;
use crate::{Error, Result};

impl PlPgSql {
    /// Runs it as an AFTER ROW trigger's function for these rows, as they were and as they are; false, and nothing done: its
    /// body is more than an INSERT.
    pub(crate) fn fire_all(
        &self,
        host: &dyn StatementHost,
        context: &ExecContext,
        call: &TriggerCall,
        (event, (old, new)): (TriggerEvent, (&Batch, &Batch)),
        room: &mut Room,
    ) -> Result<bool> {
        let (Some(variables), Some((line, insert))) = (&self.trigger, self.only_insert()) else { return Ok(false) };
        if call.sees_tables() || old.is_empty() {
            return Ok(false);
        }
        context.check()?;
        let mut run = Run::new(self, &call.routine, (host, context), vec![], mem::take(room));
        // What is bound for one row is right for all of them.
        let firing = Firing { event, old: Some(old.row(0)), new: Some(new.row(0)), tables: [None, None] };
        self.enter(&mut run, call, firing)?;
        let bound = insert.bound(&run.frame, host)?;
        let parameters = self.parameters(&bound, variables, &run.frame, (old, new))?;
        let is_done = host.insert_each(&bound.prepared, context, &parameters).map_err(|error| {
            run.failed_at = Some((line, "at SQL statement"));
            run.failure(of_statement(error, insert.parsed.text()))
        })?;
        *room = run.into_room();
        Ok(is_done)
    }

    /// The INSERT, or so, that the body is besides a RETURN.
    fn only_insert(&self) -> Option<(u32, &Fragment)> {
        let block = &self.body.block;
        let [first, last] = block.statements.as_slice() else { return None };
        let Statement::Run(Query::Plain(fragment), None) = &first.what else { return None };
        let is_end = match &last.what {
            Statement::ReturnRow(variable) => {
                self.trigger.as_ref().is_some_and(|known| [known.new, known.old].contains(variable))
            }
            Statement::Return(Some(value)) => value.text.eq_ignore_ascii_case("NULL"),
            _ => false,
        };
        (is_end && block.declares.is_empty() && block.handlers.is_none()).then_some((first.line, fragment))
    }

    /// The parameters of a statement, of all rows.
    fn parameters(
        &self,
        bound: &Bound,
        variables: &TriggerVariables,
        frame: &Frame,
        (old, new): (&Batch, &Batch),
    ) -> Result<Batch> {
        let column = |rows: &Batch, field: usize| {
            rows.columns().get(field).cloned().ok_or_else(|| Error::internal("no such column of a row"))
        };
        let mut columns = Vec::with_capacity(bound.sources.len());
        for source in &bound.sources {
            columns.push(match source.field {
                Some(field) if source.variable == variables.new => column(new, field)?,
                Some(field) if source.variable == variables.old => column(old, field)?,
                _ => {
                    let data_type = match &self.body.variables[source.variable].kind {
                        Kind::Value(data_type) => *data_type,
                        Kind::Row(_) => DataType::Boolean,
                    };
                    let mut same = Vector::repeat(data_type, frame.get(source)?, old.len())?;
                    same.check_text();
                    Arc::new(same)
                }
            });
        }
        Ok(Batch::new(columns, old.len()))
    }
}
