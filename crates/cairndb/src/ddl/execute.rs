//! Dispatches schema changes.

use std::sync::Arc;

use super::context::{Ddl, SchemaHost};
use super::index_beside::create_index_beside;
use crate::catalog::{SearchPath, SystemTrees};
use crate::command::{Command, SchemaCommand, SchemaElement, said_in_vain};
use crate::dml::DmlContext;
use crate::notice::Notice;
use crate::plan::{Field, OptimizerOptions};
use crate::routine::{run_block, run_call};
use crate::sql::ParsedStatement;
use crate::{Error, Result, SqlState, Value};

/// What a schema change did.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// PostgreSQL's command tag.
    pub(crate) tag: &'static str,
    /// Rows, for CREATE TABLE AS.
    pub(crate) affected: u64,
    /// Of CALL and EXPLAIN.
    pub(crate) rows: Option<(Vec<Field>, Vec<Vec<Value>>)>,
    /// Severity, code, text, detail.
    pub(crate) notices: Vec<Notice>,
}

/// Runs a statement that changes the schema. `is_alone`: the transaction is the statement's own.
pub(crate) fn execute(
    parsed: &ParsedStatement,
    context: &DmlContext<'_>,
    trees: SystemTrees,
    options: &OptimizerOptions,
    session: &dyn SchemaHost,
    is_alone: bool,
) -> Result<Done> {
    let Command::Schema(command) = Command::of(parsed)? else { return Err(Error::internal("not a schema change")) };
    if !is_alone {
        refuse_unless_alone(&command, "run inside a transaction block")?;
    }
    if let (SchemaCommand::CreateIndex(create), true) = (&command, is_alone)
        && let Some(done) = create_index_beside(parsed, create, context, trees, options, session)?
    {
        return Ok(done);
    }
    let mut ddl = Ddl::new(parsed, context, trees, options, session)?;
    let frees = matches!(command, SchemaCommand::Drop(_) | SchemaCommand::DropSchemas(_) | SchemaCommand::Truncate(_));
    ddl.done.tag = match frees {
        true => ddl.dml.tx.freeing(|| ddl.dispatch(&command))?,
        false => ddl.dispatch(&command)?,
    };
    for notice in said_in_vain(parsed) {
        ddl.notice(SqlState::SUCCESSFUL_COMPLETION, notice);
    }
    Ok(ddl.done)
}

/// SQLSTATE 25001 for a command that runs in no transaction but its own: it can not do this.
fn refuse_unless_alone(command: &SchemaCommand, this: &str) -> Result<()> {
    wants_to_be_alone(command).map_or(Ok(()), |words| {
        let message = format!("{words} cannot {this}");
        Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message))
    })
}

/// What the command is called, if it runs in no transaction but its own.
fn wants_to_be_alone(command: &SchemaCommand) -> Option<&str> {
    match command {
        SchemaCommand::CreateIndex(create) if create.concurrently => Some("CREATE INDEX CONCURRENTLY"),
        SchemaCommand::Drop(drop) if drop.concurrently => Some("DROP INDEX CONCURRENTLY"),
        SchemaCommand::Reindex(reindex) => reindex.alone.as_deref(),
        _ => None,
    }
}

impl Ddl<'_> {
    /// Runs a command that is part of this one, as a statement of its own, with names looked up along another path; what it changed is
    /// seen here once this is loaded anew.
    pub(super) fn run_within(&self, element: &SchemaElement, path: &Arc<SearchPath>) -> Result<Done> {
        let parsed = ParsedStatement::parse(&element.text, element.characters_before)?;
        let Command::Schema(command) = Command::of(&parsed)? else {
            return Err(Error::internal("not a schema change"));
        };
        refuse_unless_alone(&command, "be executed from a function")?;
        let mut ddl = Ddl::new(&parsed, self.dml, self.trees, self.options, self.session)?;
        ddl.catalog = Arc::new(self.catalog.under(path));
        ddl.done.tag = ddl.dispatch(&command)?;
        Ok(ddl.done)
    }

    fn dispatch(&mut self, command: &SchemaCommand) -> Result<&'static str> {
        use SchemaCommand as S;
        match command {
            S::CreateTable(create) => self.create_table(create),
            S::CreateTableAs(create) => self.create_table_as(create),
            S::Explain(explain) => self.explain_made(explain),
            S::CreateView(create) => self.create_view(create),
            S::CreateMaterializedView(create) => self.create_materialized_view(create),
            S::RefreshMaterializedView(refresh) => self.refresh_materialized_view(refresh),
            S::CreateIndex(create) => self.create_index(create),
            S::CreateSequence(create) => self.create_sequence(create),
            S::AlterSequence(alter) => self.alter_sequence(alter),
            S::CreateTrigger(create) => self.create_trigger(create),
            S::DropTrigger(drop) => self.drop_trigger(drop),
            S::RenameTrigger(rename) => self.rename_trigger(rename),
            S::Do(block) => {
                let runner = self.session.functions(&self.catalog)?;
                run_block(&runner, &block.body, &self.dml.exec.eval, None)?;
                Ok("DO")
            }
            S::Call(call) => {
                let text = self.parsed.tree.written(call.call);
                let ran = run_call(self.session.functions(&self.catalog)?, text, &self.dml.exec.eval)?;
                let has_columns = !ran.fields.iter().all(|field| field.name.is_empty());
                self.done.rows = has_columns.then_some((ran.fields, ran.rows.into_rows()?));
                Ok("CALL")
            }
            S::CreateAggregate(create) => self.create_aggregate(create),
            S::CreateRoutine(create) => self.create_routine(create),
            S::DropRoutines(drop) => self.drop_routines(drop),
            S::CreateSchema(create) => self.create_schema(create),
            S::CreateExtension(create) => self.create_extension(create),
            S::AlterExtension(alter) => self.alter_extension(alter),
            S::DropExtensions(drop) => self.drop_extensions(drop),
            S::AlterSchema(alter) => self.alter_schema(alter),
            S::AlterRoutine(alter) => self.alter_routine(alter),
            S::Privileges(privileges) => {
                self.find_target(&privileges.target)?;
                self.notice(
                    SqlState::SUCCESSFUL_COMPLETION,
                    format!("{} does nothing: there are no roles", privileges.tag),
                );
                Ok(privileges.tag)
            }
            S::DropSchemas(drop) => self.drop_schemas(drop),
            S::SetSchema(change) => self.set_schema(change),
            S::CreateEnum(create) => self.create_enum(create),
            S::CreateComposite(create) => self.create_composite(create),
            S::AlterType(alter) => self.alter_type(alter),
            S::CreateDomain(create) => self.create_domain(create),
            S::AlterDomain(alter) => self.alter_domain(alter),
            S::DropTypes(drop) => self.drop_types(drop),
            S::AlterTable(alter) => self.alter_table(alter),
            S::AlterRelation(alter) => self.alter_relation(alter),
            S::Drop(drop) => self.drop(drop),
            S::Truncate(truncate) => self.truncate(truncate),
            S::Comment(comment) => self.comment(comment),
            S::Analyze(analyze) => self.analyze(&analyze.tables).map(|()| "ANALYZE"),
            S::Vacuum(vacuum) => self.vacuum(vacuum),
            S::Reindex(reindex) => self.reindex(reindex),
            S::InVain(said) => {
                self.notice(SqlState::SUCCESSFUL_COMPLETION, said.notice.clone());
                Ok(said.tag)
            }
        }
    }
}
