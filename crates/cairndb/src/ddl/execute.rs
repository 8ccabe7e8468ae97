//! Dispatches schema changes.

use sqlparser::ast;

use super::context::{Ddl, Sequences};
use crate::catalog::SystemTrees;
use crate::dml::DmlContext;
use crate::plan::OptimizerOptions;
use crate::sql::ParsedStatement;
use crate::{Error, Result, SqlState};

/// What a schema change did.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// PostgreSQL's command tag.
    pub(crate) tag: &'static str,
    /// Rows, for CREATE TABLE AS.
    pub(crate) affected: u64,
    /// Severity, code, text.
    pub(crate) notices: Vec<(&'static str, SqlState, String)>,
}

/// Runs a statement that changes the schema.
pub(crate) fn execute(
    parsed: &ParsedStatement,
    context: &DmlContext<'_>,
    trees: SystemTrees,
    options: &OptimizerOptions,
    sequences: Sequences<'_>,
) -> Result<Done> {
    let mut ddl = Ddl::new(context, trees, options, sequences)?;
    ddl.done.tag = ddl.dispatch(parsed)?;
    Ok(ddl.done)
}

impl Ddl<'_> {
    fn dispatch(&mut self, parsed: &ParsedStatement) -> Result<&'static str> {
        use ast::Statement as S;
        match &parsed.statement {
            S::CreateTable(create) if create.query.is_some() => self.create_table_as(create, parsed),
            S::CreateTable(create) => self.create_table(create),
            S::CreateView(create) => self.create_view(create, parsed),
            S::CreateIndex(create) => self.create_index(create),
            S::CreateSequence { .. } => self.create_sequence(&parsed.statement),
            S::AlterTable(alter) => self.alter_table(alter),
            S::AlterIndex { name, operation } => self.alter_index(name, operation),
            S::Drop { .. } => self.drop(&parsed.statement),
            S::Truncate(truncate) => self.truncate(truncate),
            S::Comment { .. } => self.comment(&parsed.statement),
            S::Analyze(analyze) => self.analyze(analyze),
            S::Vacuum(_) => Ok("VACUUM"),
            S::CreateSchema { .. } => Err(Error::unsupported("CREATE SCHEMA")),
            S::CreateDatabase { .. } => {
                Err(Error::unsupported("CREATE DATABASE").with_hint("A database is a file: open another file instead."))
            }
            other => Err(Error::unsupported(keyword(other))),
        }
    }
}

/// The statement's first words, for an error.
fn keyword(statement: &ast::Statement) -> String {
    let text = statement.to_string();
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    words.join(" ")
}
