//! Utility commands with types: what each consists of, made from the parser's parts before anything runs.
//!
//! Invariant: what is made here can be run. Whatever PostgreSQL's grammar takes and this engine does not have is refused
//! (SQLSTATE 0A000) with the feature's name and its place; no clause is left unread. What a command needs is not
//! necessarily there (a table may be missing): that is for whoever runs it.

mod aggregate;
mod alter_table;
mod change_feed;
mod channel;
mod clause;
mod comment;
mod constraint;
mod copy;
mod create_table;
mod cursor;
mod domain;
mod drop;
mod explain;
mod extension;
mod in_vain;
mod index;
mod lacking;
mod maintenance;
mod prepared;
mod privileges;
mod rename;
mod routine;
#[cfg(test)]
mod said;
mod schema;
mod sequence;
mod settings;
mod table_options;
#[cfg(test)]
mod tests;
mod transaction;
mod trigger;
mod types;
mod view;

pub(crate) use aggregate::{AggregateArguments, CreateAggregate};
pub(crate) use alter_table::{AlterTable, ColumnChange, Pass, TableAction};
pub(crate) use change_feed::FeedOptions;
pub(crate) use channel::ChannelCommand;
use clause::Clause;
pub(crate) use comment::{Comment, Commented};
pub(crate) use constraint::{Constraint, References};
pub(crate) use copy::{Copied, Copy, Endpoint, Forced};
pub(crate) use create_table::{
    ColumnDefinition, CreateTable, CreateTableAs, Identity, Like, RowsOf, TableElement, refuse_into,
};
pub(crate) use cursor::{CursorCommand, DeclareCursor, Direction};
pub(crate) use domain::{AlterDomain, CreateDomain, DomainChange, DomainCheck};
pub(crate) use drop::DropRelations;
pub(crate) use explain::{Explain, ExplainMade, Explained, Makes, Runs};
pub use explain::{ExplainFormat, ExplainRequest};
pub(crate) use extension::{AlterExtension, CreateExtension, DropExtensions};
use in_vain::is_ours;
pub(crate) use in_vain::{InVain, said_in_vain};
pub(crate) use index::{CreateIndex, IndexKey, IndexPart};
pub(crate) use maintenance::{Analyze, Reindex, Reindexed, Truncate, Vacuum};
pub(crate) use prepared::{Execute, PreparedCommand};
pub(crate) use privileges::{Privileges, Target};
pub(crate) use rename::{AlterRelation, RelationChange};
pub(crate) use routine::{
    AlterRoutine, Call, CreateRoutine, Do, DropRoutines, Parameter, PathOption, Properties, RoutineChange, Signature,
};
pub(crate) use schema::{AlterSchema, CreateSchema, DropSchemas, SchemaElement, SetSchema};
pub(crate) use sequence::{AlterSequence, CreateSequence, SequenceOptions, SequenceOwner};
pub(crate) use settings::{Discard, SessionCommand};
pub(crate) use table_options::TableOptions;
pub(crate) use transaction::TransactionCommand;
pub(crate) use trigger::{CreateTrigger, DropTrigger, RenameTrigger, Transition};
pub(crate) use types::{
    AlterType, AttributeChange, AttributeDefinition, CreateComposite, CreateEnum, DropTypes, EnumNeighbour, TypeChange,
};
pub(crate) use view::{CreateMaterializedView, CreateView, Maintain, RefreshMaterializedView};

use cairn_parser::{Id, Parts, Statement, TokenKind};

use crate::catalog::TEMPORARY;
use crate::sql::ParsedStatement;
use crate::{Error, Result};

/// A command that is not EXPLAIN of a statement with a plan.
#[derive(Debug)]
pub(crate) enum Command {
    Transaction(TransactionCommand),
    Session(SessionCommand),
    Prepared(PreparedCommand),
    Cursor(CursorCommand),
    Channel(ChannelCommand),
    /// To the query in it.
    Subscribe(Id<Statement>),
    Copy(Copy),
    Schema(SchemaCommand),
}

/// A command that runs in a transaction.
#[derive(Debug)]
pub(crate) enum SchemaCommand {
    CreateTable(CreateTable),
    CreateTableAs(CreateTableAs),
    Explain(ExplainMade),
    CreateView(CreateView),
    CreateMaterializedView(CreateMaterializedView),
    RefreshMaterializedView(RefreshMaterializedView),
    CreateIndex(CreateIndex),
    CreateSequence(CreateSequence),
    AlterSequence(AlterSequence),
    CreateAggregate(CreateAggregate),
    CreateRoutine(CreateRoutine),
    DropRoutines(DropRoutines),
    CreateTrigger(CreateTrigger),
    DropTrigger(DropTrigger),
    RenameTrigger(RenameTrigger),
    Do(Do),
    Call(Call),
    CreateSchema(CreateSchema),
    CreateExtension(CreateExtension),
    AlterExtension(AlterExtension),
    AlterSchema(AlterSchema),
    AlterRoutine(AlterRoutine),
    Privileges(Privileges),
    DropExtensions(DropExtensions),
    DropSchemas(DropSchemas),
    SetSchema(SetSchema),
    CreateEnum(CreateEnum),
    CreateComposite(CreateComposite),
    AlterType(AlterType),
    DropTypes(DropTypes),
    CreateDomain(CreateDomain),
    AlterDomain(AlterDomain),
    AlterTable(AlterTable),
    AlterRelation(AlterRelation),
    Drop(DropRelations),
    Truncate(Truncate),
    Comment(Comment),
    Analyze(Analyze),
    Vacuum(Vacuum),
    Reindex(Reindex),
    InVain(InVain),
}

/// What a command is about, by its name in the grammar: known without looking into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    Transaction,
    Session,
    Prepared,
    Cursor,
    Channel,
    Subscribe,
    Copy,
    Explain,
    /// Everything else, what is not supported among it.
    Schema,
}

impl CommandKind {
    pub(crate) fn of(parsed: &ParsedStatement) -> Option<CommandKind> {
        match parsed.command() {
            Some(parts) => Some(CommandKind::named(parts.name())),
            None if create_table::selects_into(&parsed.tree, parsed.statement).is_some() => Some(CommandKind::Schema),
            None => None,
        }
    }

    fn named(rule: &str) -> CommandKind {
        match rule {
            "begin" | "start_transaction" | "commit" | "rollback" | "abort" | "savepoint" | "release"
            | "rollback_to" | "set_constraints" => CommandKind::Transaction,
            "set" | "show" | "reset" | "discard" | "checkpoint" | "lock" => CommandKind::Session,
            "prepare" | "execute" | "deallocate" => CommandKind::Prepared,
            "declare_cursor" | "fetch" | "move" | "close" => CommandKind::Cursor,
            "listen" | "unlisten" | "notify" => CommandKind::Channel,
            "subscribe" => CommandKind::Subscribe,
            "copy" => CommandKind::Copy,
            "explain" => CommandKind::Explain,
            _ => CommandKind::Schema,
        }
    }
}

/// Whether this is what ends a transaction without its changes, and is always in time.
pub(crate) fn is_rollback(parsed: &ParsedStatement) -> bool {
    parsed.command().is_some_and(|parts| matches!(parts.name(), "rollback" | "abort"))
}

/// Whether this begins or ends a transaction, or a part of one.
pub(crate) fn controls_transaction(parsed: &ParsedStatement) -> bool {
    let is_control = |parts: &Parts<'_, '_>| {
        CommandKind::named(parts.name()) == CommandKind::Transaction && parts.name() != "set_constraints"
    };
    parsed.command().as_ref().is_some_and(is_control)
}

/// Whether this is COPY FROM STDIN, whose data stands behind it in a script.
pub(crate) fn reads_data(parsed: &ParsedStatement) -> bool {
    let copy = Clause::of_statement(parsed).filter(|command| command.rule() == "copy");
    let reads = |command: Clause<'_>| {
        command.has(TokenKind::From)
            && command.part("copy_file").is_some_and(|file| file.has(TokenKind::Stdin) || file.has(TokenKind::Stdout))
    };
    copy.is_some_and(reads)
}

/// Whether this is PREPARE, whose parameters are another statement's.
pub(crate) fn is_prepare(parsed: &ParsedStatement) -> bool {
    parsed.command().is_some_and(|parts| parts.name() == "prepare")
}

/// What an EXPLAIN runs.
pub(crate) fn explain_runs(parsed: &ParsedStatement) -> Runs {
    explain::runs(parsed)
}

/// Whether a READ ONLY transaction may run the command, which changes no table itself, nor what a dump would show.
pub(crate) fn is_harmless(parsed: &ParsedStatement) -> bool {
    let rule = parsed.command().map(|parts| parts.name());
    matches!(rule, Some("do" | "call" | "analyze" | "vacuum" | "reindex"))
}

/// Whether it is CALL or DO, which run a body.
pub(crate) fn runs_body(parsed: &ParsedStatement) -> bool {
    matches!(parsed.command().map(|parts| parts.name()), Some("do" | "call"))
}

/// The command's first words, for errors: `CREATE TABLE`, `COPY`.
pub(crate) fn first_words(parsed: &ParsedStatement) -> Option<String> {
    let command = Clause::of_statement(parsed)?;
    // Its first word is no keyword.
    Some(if command.rule() == "subscribe" { "SUBSCRIBE".to_owned() } else { command.first_words() })
}

impl Command {
    /// The statement's command; SQLSTATE 0A000 where it cannot be run.
    pub(crate) fn of(parsed: &ParsedStatement) -> Result<Command> {
        if let Some(create) = CreateTableAs::of_select(&parsed.tree, parsed.statement)? {
            return Ok(Command::Schema(SchemaCommand::CreateTableAs(create)));
        }
        let command = Clause::of_statement(parsed).ok_or_else(|| Error::internal("not a command"))?;
        Ok(match CommandKind::named(command.rule()) {
            CommandKind::Transaction => Command::Transaction(TransactionCommand::of(command)?),
            CommandKind::Session => Command::Session(SessionCommand::of(command)?),
            CommandKind::Prepared => Command::Prepared(PreparedCommand::of(command)?),
            CommandKind::Cursor => Command::Cursor(CursorCommand::of(command)?),
            CommandKind::Channel => Command::Channel(ChannelCommand::of(command)?),
            CommandKind::Subscribe => {
                let query = command.statement().ok_or_else(|| Error::internal("SUBSCRIBE to nothing"))?;
                Command::Subscribe(query)
            }
            CommandKind::Copy => Command::Copy(Copy::of(command)?),
            CommandKind::Explain => Explain::of(parsed)?.command()?,
            CommandKind::Schema => Command::Schema(SchemaCommand::of(command)?),
        })
    }
}

impl SchemaCommand {
    /// Whether it makes a relation in the session's temporary schema, as far as the command itself says.
    pub(crate) fn makes_temporary(&self) -> bool {
        let (name, said) = match self {
            SchemaCommand::CreateTable(create) => (&create.name, create.temporary),
            SchemaCommand::CreateTableAs(create)
            | SchemaCommand::Explain(ExplainMade { makes: Makes::Table(create), .. }) => {
                (&create.name, create.temporary)
            }
            SchemaCommand::CreateView(create) => (&create.name, create.temporary),
            SchemaCommand::CreateSequence(create) => (&create.name, create.temporary),
            _ => return false,
        };
        said || name.schema.as_deref() == Some(TEMPORARY)
    }

    /// As `makes_temporary`, of a relation whose schema is not said.
    pub(crate) fn makes_in_path(&self) -> bool {
        match self {
            SchemaCommand::CreateTable(CreateTable { name, .. })
            | SchemaCommand::CreateTableAs(CreateTableAs { name, .. })
            | SchemaCommand::Explain(ExplainMade { makes: Makes::Table(CreateTableAs { name, .. }), .. })
            | SchemaCommand::CreateView(CreateView { name, .. })
            | SchemaCommand::CreateSequence(CreateSequence { name, .. }) => name.schema.is_none(),
            _ => false,
        }
    }

    fn of(command: Clause<'_>) -> Result<SchemaCommand> {
        use SchemaCommand as S;
        if let Some(change) = SetSchema::of(command)? {
            return Ok(S::SetSchema(change));
        }
        if let ("drop", Some(drop)) = (command.rule(), DropExtensions::of(command)) {
            return Ok(S::DropExtensions(drop));
        }
        if let ("drop", Some(drop)) = (command.rule(), DropSchemas::of(command)) {
            return Ok(S::DropSchemas(drop));
        }
        if let ("drop", Some(drop)) = (command.rule(), DropTypes::of(command)?) {
            return Ok(S::DropTypes(drop));
        }
        if let ("alter_sequence", Some(alter)) = (command.rule(), AlterSequence::of(command)?) {
            return Ok(S::AlterSequence(alter));
        }
        if let Some(said) = InVain::of(command) {
            return Ok(S::InVain(said));
        }
        if let Some(privileges) = Privileges::of(command)? {
            return Ok(S::Privileges(privileges));
        }
        if let ("drop_on", Some(drop)) = (command.rule(), DropTrigger::of(command)?) {
            return Ok(S::DropTrigger(drop));
        }
        Ok(match command.rule() {
            "create_table" => S::CreateTable(CreateTable::of(command)?),
            "create_table_as" => S::CreateTableAs(CreateTableAs::of(command)?),
            "create_view" => S::CreateView(CreateView::of(command)?),
            "create_materialized_view" => S::CreateMaterializedView(CreateMaterializedView::of(command)?),
            "refresh" => S::RefreshMaterializedView(RefreshMaterializedView::of(command)?),
            "create_index" => S::CreateIndex(CreateIndex::of(command)?),
            "create_sequence" => S::CreateSequence(CreateSequence::of(command)?),
            "create_type" => match CreateComposite::of(command)? {
                Some(create) => S::CreateComposite(create),
                None => S::CreateEnum(CreateEnum::of(command)?),
            },
            "create_domain" => S::CreateDomain(CreateDomain::of(command)?),
            "alter_domain" => S::AlterDomain(AlterDomain::of(command)?),
            "alter_type" => S::AlterType(AlterType::of(command)?),
            "create_schema" => S::CreateSchema(CreateSchema::of(command)?),
            "alter_schema" => S::AlterSchema(AlterSchema::of(command)?),
            "alter_aggregate" => S::AlterRoutine(AlterRoutine::of_aggregate(command)?),
            "alter_function" => S::AlterRoutine(AlterRoutine::of(command)?),
            "alter_table" | "alter_materialized_view" => S::AlterTable(AlterTable::of(command)?),
            "alter_index" | "alter_view" | "alter_sequence" => S::AlterRelation(AlterRelation::of(command)?),
            "create_trigger" | "create_constraint_trigger" => S::CreateTrigger(CreateTrigger::of(command)?),
            "alter_trigger" => S::RenameTrigger(RenameTrigger::of(command)?),
            "do" => S::Do(Do::of(command)?),
            "call" => S::Call(Call::of(command)?),
            "create_aggregate" => S::CreateAggregate(CreateAggregate::of(command)?),
            "create_function" | "create_procedure" => S::CreateRoutine(CreateRoutine::of(command)?),
            "drop_aggregate" => S::DropRoutines(DropRoutines::of_aggregates(command)?),
            "drop_function" => S::DropRoutines(DropRoutines::of(command)?),
            "drop" => S::Drop(DropRelations::of(command)?),
            "truncate" => S::Truncate(Truncate::of(command)?),
            "create_extension" => S::CreateExtension(CreateExtension::of(command)?),
            "alter_extension" => S::AlterExtension(AlterExtension::of(command)?),
            "create_language" if is_ours(command) => S::CreateExtension(CreateExtension::of_language(command)?),
            "comment" => S::Comment(Comment::of(command)?),
            "analyze" => S::Analyze(Analyze::of(command)?),
            "vacuum" => S::Vacuum(Vacuum::of(command)?),
            "reindex" => S::Reindex(Reindex::of(command)?),
            _ => return Err(command.unsupported_words("", &command.first_words())),
        })
    }
}
