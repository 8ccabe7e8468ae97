//! CREATE TABLE and CREATE TABLE AS.

use cairn_parser::{Expr, Id, Into, Persistence, Query, QueryBody, Statement, TokenKind, Tree, TypeName};

use super::clause::Clause;
use super::constraint::{Constraint, column_rule, deferral, refuse_attributes};
use super::in_vain::check_compression;
use super::prepared::Execute;
use super::sequence::{SequenceOptions, refuse_owner};
use super::table_options::TableOptions;
use crate::catalog::{ObjectName, OnCommit};
use crate::error::Feature;
use crate::sql::{ParsedStatement, name_text, object_name};
use crate::types::{COLLATION_HINT, is_known_collation};
use crate::{Error, Result, SqlState};

/// CREATE TABLE.
#[derive(Debug)]
pub(crate) struct CreateTable {
    pub(crate) name: ObjectName,
    pub(crate) temporary: bool,
    /// Said of a table that must be temporary then.
    pub(crate) on_commit: Option<OnCommit>,
    pub(crate) if_not_exists: bool,
    /// WITH (...), which does nothing.
    pub(crate) has_storage_options: bool,
    pub(crate) options: TableOptions,
    pub(crate) elements: Vec<TableElement>,
    /// Those of the table, without those written with columns.
    pub(crate) constraints: Vec<Constraint>,
}

/// What columns come from.
#[derive(Debug)]
pub(crate) enum TableElement {
    Column(ColumnDefinition),
    Like(Like),
}

/// LIKE a relation: its columns, and what of it is copied with them.
#[derive(Debug)]
pub(crate) struct Like {
    pub(crate) relation: ObjectName,
    pub(crate) comments: bool,
    pub(crate) constraints: bool,
    pub(crate) defaults: bool,
    pub(crate) generated: bool,
    pub(crate) identity: bool,
    pub(crate) indexes: bool,
}

/// A column of CREATE TABLE or ALTER TABLE .. ADD COLUMN.
#[derive(Debug)]
pub(crate) struct ColumnDefinition {
    pub(crate) name: String,
    pub(crate) data_type: Id<TypeName>,
    pub(crate) not_null: bool,
    /// NULL is said.
    pub(crate) nullable: bool,
    /// Every DEFAULT that was said; more than one is an error.
    pub(crate) defaults: Vec<Id<Expr>>,
    /// Every GENERATED .. AS IDENTITY, and every GENERATED ALWAYS AS (expression).
    pub(crate) identities: Vec<Identity>,
    pub(crate) generated: Vec<GeneratedFrom>,
    pub(crate) constraints: Vec<Constraint>,
    /// COLLATE was said, which only texts take.
    pub(crate) is_collated: bool,
}

/// GENERATED ALWAYS AS (expression) [STORED | VIRTUAL].
#[derive(Clone, Copy, Debug)]
pub(crate) struct GeneratedFrom {
    pub(crate) expr: Id<Expr>,
    pub(crate) is_virtual: bool,
}

/// GENERATED .. AS IDENTITY.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Values of the user's own are refused.
    pub(crate) always: bool,
    pub(crate) options: SequenceOptions,
    /// What the sequence is to be called.
    pub(crate) sequence: Option<ObjectName>,
}

/// CREATE TABLE .. AS.
#[derive(Debug)]
pub(crate) struct CreateTableAs {
    pub(crate) name: ObjectName,
    pub(crate) temporary: bool,
    pub(crate) on_commit: Option<OnCommit>,
    pub(crate) if_not_exists: bool,
    /// Names of the first columns.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: RowsOf,
    /// WITH DATA, which is the default.
    pub(crate) with_data: bool,
}

/// Where the rows of CREATE TABLE .. AS come from.
#[derive(Debug)]
pub(crate) enum RowsOf {
    /// A query, and the INTO in it that names the table.
    Query(Id<Query>, Option<Id<Into>>),
    Execute(Execute),
}

impl CreateTable {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateTable> {
        refuse_storage(command)?;
        command.refuse_feature("partition_by", Feature::Partitions, "a partitioned table")?;
        let body = command.part("table_body").ok_or_else(|| Error::internal("a table without a body"))?;
        body.refuse_feature_word(TokenKind::Partition, Feature::Partitions, "a partitioned table")?;
        body.refuse_word(TokenKind::Of, "a typed table")?;
        body.refuse_feature("inherits", Feature::Inheritance, "INHERITS")?;
        let mut table = CreateTable {
            name: command.relation()?,
            temporary: is_temporary(command),
            on_commit: on_commit(command),
            if_not_exists: command.part("if_not_exists").is_some(),
            has_storage_options: has_storage_options(command),
            options: command
                .part("storage")
                .and_then(|storage| storage.part("options"))
                .map_or(Ok(TableOptions::default()), |options| TableOptions::of(options, false))?,
            elements: Vec::new(),
            constraints: Vec::new(),
        };
        for element in body.parts("table_element") {
            if let Some(like) = element.part("like") {
                table.elements.push(TableElement::Like(Like::of(like)?));
                continue;
            }
            match (element.part("column"), element.part("table_constraint")) {
                (Some(column), _) => table.elements.push(TableElement::Column(ColumnDefinition::of(column)?)),
                (_, Some(constraint)) => table.constraints.push(Constraint::of_table(constraint)?),
                _ => return Err(Error::internal("a table's element of no kind")),
            }
        }
        Ok(table)
    }

    /// The columns that are described.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &ColumnDefinition> {
        self.elements.iter().filter_map(|element| match element {
            TableElement::Column(column) => Some(column),
            TableElement::Like(_) => None,
        })
    }
}

impl Like {
    fn of(clause: Clause<'_>) -> Result<Like> {
        use TokenKind as T;
        let options: Vec<Clause<'_>> = clause.parts("like_option").collect();
        let words = clause.keywords_of(&[T::Including, T::Excluding]);
        let said: Vec<(bool, Clause<'_>)> = words.map(|word| word == T::Including).zip(options).collect();
        // What is said last counts.
        let is_copied = |what: T| {
            let about = said.iter().rev().find(|(_, option)| option.has(T::All) || option.has(what));
            about.is_some_and(|(including, _)| *including)
        };
        Ok(Like {
            relation: clause.relation()?,
            comments: is_copied(T::Comments),
            constraints: is_copied(T::Constraints),
            defaults: is_copied(T::Defaults),
            generated: is_copied(T::Generated),
            identity: is_copied(T::Identity),
            indexes: is_copied(T::Indexes),
        })
    }
}

impl CreateTableAs {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateTableAs> {
        refuse_storage(command)?;
        if let Some(options) = command.part("storage").and_then(|storage| storage.part("options")) {
            TableOptions::refuse(options)?;
        }
        let rows = match (command.part("execute"), command.query()) {
            (Some(execute), _) => RowsOf::Execute(Execute::of(execute)?),
            (None, Some(query)) => RowsOf::Query(query, None),
            _ => return Err(Error::internal("no query")),
        };
        Ok(CreateTableAs {
            name: command.relation()?,
            temporary: is_temporary(command),
            on_commit: on_commit(command),
            if_not_exists: command.part("if_not_exists").is_some(),
            columns: command.names_in("columns"),
            rows,
            with_data: with_data(command),
        })
    }
}

/// Where a query puts its rows: the INTO of its first SELECT.
pub(crate) fn into_of(tree: &Tree<'_>, query: Id<Query>) -> Option<Id<Into>> {
    let mut query = query;
    loop {
        match tree.get(tree.get(query).body) {
            QueryBody::Select { into, .. } => return into,
            QueryBody::SetOperation { left, .. } => query = left,
            _ => return None,
        }
    }
}

/// The query that the statement is, where it puts its rows into a table, and that.
pub(super) fn selects_into(tree: &Tree<'_>, statement: Id<Statement>) -> Option<(Id<Query>, Id<Into>)> {
    let Statement::Query { query } = tree.get(statement) else { return None };
    Some((query, into_of(tree, query)?))
}

/// SQLSTATE 0A000 where the statement is a query that puts its rows into a table.
pub(crate) fn refuse_into(parsed: &ParsedStatement, what: &str) -> Result<()> {
    match selects_into(&parsed.tree, parsed.statement) {
        Some(_) => Err(Error::unsupported(what).with_hint("Write CREATE TABLE ... AS.")),
        None => Ok(()),
    }
}

impl CreateTableAs {
    /// SELECT .. INTO. SQLSTATE 0A000.
    pub(super) fn of_select(tree: &Tree<'_>, statement: Id<Statement>) -> Result<Option<CreateTableAs>> {
        let Some((query, into)) = selects_into(tree, statement) else { return Ok(None) };
        let Into { persistence, name } = tree.get(into);
        let parts = tree.get(name).parts;
        Ok(Some(CreateTableAs {
            name: object_name(tree.list(parts).map(|part| name_text(tree, part).to_owned()).collect())?,
            temporary: persistence == Persistence::Temporary,
            on_commit: None,
            if_not_exists: false,
            columns: Vec::new(),
            rows: RowsOf::Query(query, Some(into)),
            with_data: true,
        }))
    }
}

/// Whether rows are wanted, which is the default.
pub(super) fn with_data(command: Clause<'_>) -> bool {
    !command.part("with_data").is_some_and(|data| data.has(TokenKind::No))
}

/// Refuses what is said of where and how a table is kept.
fn refuse_storage(command: Clause<'_>) -> Result<()> {
    check_method(command)?;
    // WITHOUT OIDS says what is so.
    command.part("storage").and_then(|storage| storage.part("options")).map_or(Ok(()), check_storage_options)
}

/// USING heap says what PostgreSQL does where nothing is said.
pub(super) fn check_method(command: Clause<'_>) -> Result<()> {
    match command.part("table_method").filter(|method| method.names().next().as_deref() != Some("heap")) {
        Some(method) => Err(method.unsupported("a table access method")),
        None => Ok(()),
    }
}

/// How PostgreSQL fills pages, and when it cleans up: nothing of that is decided here, and dumps bring it along.
const STORAGE_OPTIONS: &[&str] = &[
    "autosummarize",
    "buffering",
    "deduplicate_items",
    "fastupdate",
    "fillfactor",
    "gin_pending_list_limit",
    "log_autovacuum_min_duration",
    "n_distinct",
    "n_distinct_inherited",
    "oids",
    "pages_per_range",
    "parallel_workers",
    "toast_tuple_target",
    "user_catalog_table",
    "vacuum_index_cleanup",
    "vacuum_truncate",
];

/// SQLSTATE 42601 where RESET says what a parameter is to be.
pub(super) fn check_reset(options: Clause<'_>) -> Result<()> {
    match options.parts("storage_option").find(|option| option.has(TokenKind::Equal)) {
        Some(option) => {
            Err(option.here(Error::new(SqlState::SYNTAX_ERROR, "RESET must not include values for parameters")))
        }
        None => Ok(()),
    }
}

/// SQLSTATE 22023 for a storage parameter that PostgreSQL has not, or that is said twice.
pub(super) fn check_storage_options(options: Clause<'_>) -> Result<()> {
    let mut said: Vec<Vec<String>> = Vec::new();
    for option in options.parts("storage_option") {
        let names: Vec<String> = option.names().collect();
        if said.contains(&names) {
            let message = format!("parameter \"{}\" specified more than once", option_name(option));
            return Err(option.here(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)));
        }
        said.push(names);
    }
    let is_known = |option: &Clause<'_>| TableOptions::have(&option_name(*option));
    options.parts("storage_option").filter(|option| !is_known(option)).try_for_each(check_storage_option)
}

/// The same of one that means nothing here.
pub(super) fn check_storage_option(option: Clause<'_>) -> Result<()> {
    let name = option_name(option);
    if STORAGE_OPTIONS.contains(&name.as_str()) || name.starts_with("autovacuum_") || name == "toast" {
        return Ok(());
    }
    let message = format!("unrecognized parameter \"{name}\"");
    Err(option.here(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)))
}

/// What a storage parameter is called.
pub(super) fn option_name(option: Clause<'_>) -> String {
    let labels = option.parts("label").map(Clause::value_text);
    option.names().chain(labels).next().unwrap_or_else(|| option.first_words().to_ascii_lowercase())
}

/// What it is set to.
pub(super) fn option_value(option: Clause<'_>) -> String {
    let Some(value) = option.part("option_value") else { return "true".to_owned() };
    match value.data_types().next() {
        // A word is taken for a type.
        Some(word) => option.tree().written(word).to_owned(),
        None => value.value_text(),
    }
}

/// Whether storage parameters were said.
fn has_storage_options(command: Clause<'_>) -> bool {
    let options = command.part("storage").and_then(|storage| storage.part("options"));
    options
        .is_some_and(|options| options.parts("storage_option").any(|option| !TableOptions::have(&option_name(option))))
}

/// Whether TEMPORARY was said, and not UNLOGGED, which does nothing.
pub(super) fn is_temporary(command: Clause<'_>) -> bool {
    command.part("temporary").is_some_and(|said| !said.has(TokenKind::Unlogged))
}

fn on_commit(command: Clause<'_>) -> Option<OnCommit> {
    command.part("on_commit").map(|said| match () {
        () if said.has(TokenKind::Drop) => OnCommit::Drop,
        () if said.has(TokenKind::Delete) => OnCommit::DeleteRows,
        () => OnCommit::Preserve,
    })
}

impl ColumnDefinition {
    pub(super) fn of<'p>(clause: Clause<'p>) -> Result<ColumnDefinition> {
        clause.part("compression").map_or(Ok(()), check_compression)?;
        clause.refuse("generic_options", "OPTIONS of a column")?;
        let mut column = ColumnDefinition {
            name: clause.name()?,
            data_type: clause.data_type()?,
            not_null: false,
            nullable: false,
            defaults: Vec::new(),
            identities: Vec::new(),
            generated: Vec::new(),
            constraints: Vec::new(),
            is_collated: false,
        };
        let options: Vec<Clause<'p>> = clause.parts("column_constraint").collect();
        let attribute = |option: &Clause<'p>| option.part("constraint_attribute");
        refuse_attributes(options.iter().map_while(attribute))?;
        for (at, option) in options.iter().enumerate().filter(|(_, option)| attribute(option).is_none()) {
            column.add(*option, options[at + 1..].iter().map_while(attribute))?;
        }
        Ok(column)
    }

    /// SQLSTATE 42601.
    pub(crate) fn said_twice(&self, what: &str, table: &str) -> Error {
        let message = format!("{what} for column \"{}\" of table \"{table}\"", self.name);
        Error::new(SqlState::SYNTAX_ERROR, message)
    }

    /// Takes a constraint, or what stands where one could.
    fn add<'p>(&mut self, option: Clause<'p>, attributes: impl Iterator<Item = Clause<'p>>) -> Result<()> {
        if let Some(collation) = option.part("collate") {
            self.is_collated = true;
            check_collation(collation)?;
            return refuse_attributes(attributes);
        }
        let before = self.constraints.len();
        let rule = option.part("column_rule").ok_or_else(|| Error::internal("a column's constraint of no kind"))?;
        match () {
            () if rule.has(TokenKind::Generated) => match rule.part("generated_from") {
                Some(from) => {
                    let is_virtual = !from.has(TokenKind::Stored);
                    self.generated.push(GeneratedFrom { expr: from.expr()?, is_virtual });
                }
                None => self.identities.push(identity(rule)?),
            },
            () if rule.has(TokenKind::Default) => self.defaults.push(rule.expr()?),
            () if rule.has(TokenKind::Not) => self.not_null = true,
            () if rule.has(TokenKind::Null) => self.nullable = true,
            () => self.constraints.extend(column_rule(option.names().next(), rule, &self.name)?),
        }
        let is_added = self.constraints.len() > before;
        match self.constraints.last_mut().filter(|_| is_added).and_then(Constraint::deferral_mut) {
            Some(known) => {
                *known = deferral(attributes)?;
                Ok(())
            }
            None => refuse_attributes(attributes),
        }
    }
}

/// GENERATED .. AS IDENTITY.
pub(super) fn identity(rule: Clause<'_>) -> Result<Identity> {
    let typed = rule.parts("sequence_option").find(|option| option.has(TokenKind::As));
    if let Some(option) = typed {
        return Err(option.unsupported("a type of an identity column's sequence"));
    }
    refuse_owner(rule)?;
    let always = rule.part("generated_when").is_some_and(|when| when.has(TokenKind::Always));
    let named = rule.parts("sequence_option").find(|option| option.has(TokenKind::Name));
    let sequence = named.and_then(|option| option.dotted_names().next()).map(object_name).transpose()?;
    Ok(Identity { always, options: SequenceOptions::of(rule)?, sequence })
}

/// Texts are ordered by their bytes; other orders are refused.
pub(super) fn check_collation(clause: Clause<'_>) -> Result<()> {
    let names: Vec<String> = clause.dotted_names().next().unwrap_or_default();
    match is_known_collation(&names.iter().map(String::as_str).collect::<Vec<_>>()) {
        true => Ok(()),
        false => Err(clause.unsupported(format!("collation {}", names.join("."))).with_hint(COLLATION_HINT)),
    }
}
