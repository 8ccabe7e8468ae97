//! What a command takes and gives, found out before it runs.
//!
//! CALL takes parameters, and so does what has a query in it: DECLARE, CREATE TABLE .. AS, SELECT .. INTO, SUBSCRIBE. (EXPLAIN has a plan,
//! and its query's with it.) Every other command has the parameters that were declared for it, as in PostgreSQL, and reads none of them.

use std::sync::Arc;

use super::{Runnable, State};
use crate::bind::{ParameterTypes, bind_rows_of};
use crate::command::{
    self, Command, CreateTableAs, CursorCommand, DeclareCursor, ExplainMade, Makes, RowsOf, SchemaCommand,
};
use crate::prepared::Prepared;
use crate::session::Session;
use crate::session::bodies::has_columns;
use crate::sql::ParsedStatement;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Session {
    /// Finds out what a command takes and gives, where that is anything.
    pub(super) fn prepare_command(&self, statement: &mut Runnable) -> Result<()> {
        let parsed = &statement.parsed;
        let takes_parameters = parsed.parameters > 0 || !parsed.declared.is_empty();
        if !takes_parameters && !command::runs_body(parsed) {
            return Ok(());
        }
        let prepared = self.with_state(|state| match Command::of(parsed)? {
            Command::Schema(SchemaCommand::Call(call)) => {
                let called = self.prepare_call(parsed, &call, state)?;
                let fields = if has_columns(called.fields()) { called.fields().to_vec() } else { Vec::new() };
                Ok(utility(parsed, state).described(called.parameters.clone(), fields))
            }
            Command::Schema(SchemaCommand::CreateMaterializedView(_)) if parsed.parameters > 0 => {
                let message = "materialized views may not be defined using bound parameters";
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            Command::Cursor(CursorCommand::Declare(DeclareCursor { query, .. })) | Command::Subscribe(query) => {
                let mut within = Runnable::new(Arc::new(parsed.within(query, parsed.declared.clone())));
                let parameters = self.plan(&mut within, state)?.parameters.clone();
                Ok(utility(parsed, state).described(parameters, Vec::new()))
            }
            _ => self.command_in(parsed, state),
        })?;
        statement.prepared = Some(Arc::new(prepared));
        Ok(())
    }

    /// A command that runs in a state, with the types of its parameters.
    pub(super) fn command_in(&self, parsed: &Arc<ParsedStatement>, state: &State<'_>) -> Result<Prepared> {
        Ok(utility(parsed, state).described(parameters_of(parsed, state)?, Vec::new()))
    }
}

fn utility(parsed: &Arc<ParsedStatement>, state: &State<'_>) -> Prepared {
    Prepared::utility(parsed, state.stamp, &state.catalog)
}

fn parameters_of(parsed: &ParsedStatement, state: &State<'_>) -> Result<Vec<DataType>> {
    if parsed.parameters == 0 {
        return Ok(parsed.declared.clone());
    }
    let (query, into) = match Command::of(parsed)? {
        Command::Schema(
            SchemaCommand::CreateTableAs(CreateTableAs { rows: RowsOf::Query(query, into), .. })
            | SchemaCommand::Explain(ExplainMade {
                makes: Makes::Table(CreateTableAs { rows: RowsOf::Query(query, into), .. }),
                ..
            }),
        ) => (query, into),
        _ => return Ok(parsed.declared.clone()),
    };
    let mut parameters = ParameterTypes::default();
    bind_rows_of(parsed, (query, into), &state.catalog, &mut parameters)?;
    Ok(parameters.into_parts().0)
}
