//! ALTER TABLE, ALTER MATERIALIZED VIEW.

use cairn_parser::{Expr, Id, TokenKind, TypeName};

use super::clause::Clause;
use super::constraint::{Constraint, deferral};
use super::create_table::{ColumnDefinition, Identity, check_collation, check_reset, check_storage_options, identity};
use super::in_vain::check_compression;
use super::sequence::SequenceOptions;
use super::table_options::TableOptions;
use crate::catalog::{Deferral, Enabled, ObjectName, RelationKind};
use crate::error::Feature;
use crate::{Error, Result, SqlState};

/// ALTER TABLE, or ALTER MATERIALIZED VIEW.
#[derive(Debug)]
pub(crate) struct AlterTable {
    pub(crate) kind: RelationKind,
    pub(crate) name: ObjectName,
    pub(crate) if_exists: bool,
    pub(crate) actions: Vec<TableAction>,
}

/// What ALTER TABLE does.
#[derive(Debug)]
pub(crate) enum TableAction {
    /// Of the whole relation, of whatever kind it is; stands alone.
    RenameTo(String),
    RenameColumn {
        from: String,
        to: String,
    },
    RenameConstraint {
        from: String,
        to: String,
    },
    AddColumn {
        column: ColumnDefinition,
        if_not_exists: bool,
    },
    AddConstraint(Constraint),
    DropColumn {
        name: String,
        if_exists: bool,
        cascade: bool,
    },
    DropConstraint {
        name: String,
        if_exists: bool,
        cascade: bool,
    },
    AlterColumn {
        name: String,
        change: ColumnChange,
    },
    /// Every constraint is valid.
    ValidateConstraint(String),
    /// When a foreign key is looked at.
    AlterConstraint {
        name: String,
        deferral: Deferral,
    },
    /// ENABLE or DISABLE TRIGGER; `None`: all.
    EnableTrigger {
        name: Option<String>,
        enabled: Enabled,
    },
    /// Dumps say whose a table is; there are no roles.
    Owner,
    /// SET or RESET of parameters that mean something here.
    Options(TableOptions),
    /// What is about how PostgreSQL stores a table, in these words.
    WithoutEffect(String),
}

/// ALTER COLUMN.
#[derive(Debug)]
pub(crate) enum ColumnChange {
    SetNotNull,
    DropNotNull,
    SetDefault(Id<Expr>),
    DropDefault,
    /// Of what it is computed from now on.
    SetExpression(Id<Expr>),
    DropExpression {
        if_exists: bool,
    },
    SetType {
        to: Id<TypeName>,
        is_collated: bool,
        using: Option<Id<Expr>>,
    },
    AddIdentity(Identity),
    /// ALWAYS, or BY DEFAULT; and what is said of the sequence.
    SetIdentity {
        always: Option<bool>,
        options: SequenceOptions,
    },
    DropIdentity {
        if_exists: bool,
    },
}

/// PostgreSQL's order of what one ALTER TABLE does, whatever the order in which it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pass {
    Drop,
    AlterType,
    AddColumn,
    Expression,
    Attributes,
    AddIndexConstraint,
    AddOtherConstraint,
    Rest,
}

impl TableAction {
    /// What PostgreSQL calls it, if it is nothing for materialized views.
    pub(crate) fn of_tables_only(&self) -> Option<&'static str> {
        use ColumnChange as C;
        use TableAction as A;
        Some(match self {
            A::RenameTo(_) | A::RenameColumn { .. } | A::Owner | A::WithoutEffect(_) => return None,
            A::RenameConstraint { .. } => "RENAME CONSTRAINT",
            A::AddColumn { .. } => "ADD COLUMN",
            A::AddConstraint(_) => "ADD CONSTRAINT",
            A::DropColumn { .. } => "DROP COLUMN",
            A::DropConstraint { .. } => "DROP CONSTRAINT",
            A::ValidateConstraint(_) => "VALIDATE CONSTRAINT",
            A::AlterConstraint { .. } => "ALTER CONSTRAINT",
            A::EnableTrigger { enabled: Enabled::No, .. } => "DISABLE TRIGGER",
            A::EnableTrigger { .. } => "ENABLE TRIGGER",
            A::Options(options) => options.words(),
            A::AlterColumn { change, .. } => match change {
                C::SetNotNull => "ALTER COLUMN ... SET NOT NULL",
                C::DropNotNull => "ALTER COLUMN ... DROP NOT NULL",
                C::SetDefault(_) | C::DropDefault => "ALTER COLUMN ... SET DEFAULT",
                C::SetExpression(_) => "ALTER COLUMN ... SET EXPRESSION",
                C::DropExpression { .. } => "ALTER COLUMN ... DROP EXPRESSION",
                C::SetType { .. } => "ALTER COLUMN ... SET DATA TYPE",
                C::AddIdentity(_) => "ALTER COLUMN ... ADD IDENTITY",
                C::SetIdentity { .. } => "ALTER COLUMN ... SET",
                C::DropIdentity { .. } => "ALTER COLUMN ... DROP IDENTITY",
            },
        })
    }

    /// When its turn is.
    pub(crate) fn pass(&self) -> Pass {
        use ColumnChange as C;
        use TableAction as A;
        match self {
            A::DropColumn { .. } | A::DropConstraint { .. } => Pass::Drop,
            A::AddColumn { .. } => Pass::AddColumn,
            A::AddConstraint(constraint) => constraint.pass(),
            A::AlterColumn { change, .. } => match change {
                C::DropNotNull | C::DropDefault | C::DropExpression { .. } | C::DropIdentity { .. } => Pass::Drop,
                C::SetType { .. } => Pass::AlterType,
                C::SetExpression(_) => Pass::Expression,
                C::SetNotNull | C::SetIdentity { .. } => Pass::Attributes,
                C::SetDefault(_) | C::AddIdentity(_) => Pass::AddOtherConstraint,
            },
            A::RenameTo(_) | A::RenameColumn { .. } | A::RenameConstraint { .. } => Pass::Rest,
            A::ValidateConstraint(_) | A::AlterConstraint { .. } | A::EnableTrigger { .. } => Pass::Rest,
            A::Owner | A::WithoutEffect(_) => Pass::Rest,
            A::Options(_) => Pass::Rest,
        }
    }
}

impl Constraint {
    /// When one is added.
    pub(crate) fn pass(&self) -> Pass {
        match self {
            Constraint::PrimaryKey { .. } | Constraint::Unique { .. } | Constraint::UsingIndex { .. } => {
                Pass::AddIndexConstraint
            }
            Constraint::Check { .. } | Constraint::ForeignKey { .. } => Pass::AddOtherConstraint,
        }
    }
}

impl AlterTable {
    pub(super) fn of(command: Clause<'_>) -> Result<AlterTable> {
        command.refuse_feature_word(TokenKind::Tablespace, Feature::Tablespaces, "TABLESPACE")?;
        command.refuse_feature("partition_command", Feature::Partitions, "a partitioned table")?;
        command.refuse("depends", "DEPENDS ON EXTENSION")?;
        let kind = match command.rule() {
            "alter_materialized_view" => RelationKind::MaterializedView,
            _ => RelationKind::Table,
        };
        let is_rename = command.part("rename").is_some() || command.part("rename_column").is_some();
        let actions = match command.part("rename_part").or(is_rename.then_some(command)) {
            Some(rename) => vec![renamed(rename)?],
            None => command.parts("table_command").map(TableAction::of).collect::<Result<_>>()?,
        };
        Ok(AlterTable { kind, name: command.relation()?, if_exists: command.part("if_exists").is_some(), actions })
    }
}

fn renamed(rename: Clause<'_>) -> Result<TableAction> {
    if let Some(relation) = rename.part("rename") {
        return Ok(TableAction::RenameTo(relation.name()?));
    }
    let names: Vec<String> = rename.part("rename_column").unwrap_or(rename).names().collect();
    let [from, to] = <[String; 2]>::try_from(names).map_err(|_| Error::internal("RENAME without two names"))?;
    Ok(match rename.has(TokenKind::Constraint) {
        true => TableAction::RenameConstraint { from, to },
        false => TableAction::RenameColumn { from, to },
    })
}

impl TableAction {
    fn of(clause: Clause<'_>) -> Result<TableAction> {
        let if_exists = clause.part("if_exists").is_some();
        match () {
            () if clause.part("owner").is_some() => Ok(TableAction::Owner),
            () if clause.part("column").is_some() || clause.part("table_constraint").is_some() => added(clause),
            () if clause.has(TokenKind::Alter) && clause.has(TokenKind::Constraint) => altered_constraint(clause),
            () if clause.has(TokenKind::Drop) => {
                let (name, cascade) = (clause.name()?, clause.is_cascade());
                Ok(match clause.has(TokenKind::Constraint) {
                    true => TableAction::DropConstraint { name, if_exists, cascade },
                    false => TableAction::DropColumn { name, if_exists, cascade },
                })
            }
            () if clause.has(TokenKind::Trigger) => {
                let enabled = match () {
                    () if clause.has(TokenKind::Disable) => Enabled::No,
                    () if clause.has(TokenKind::Replica) => Enabled::OnReplica,
                    () if clause.has(TokenKind::Always) => Enabled::Always,
                    () => Enabled::Yes,
                };
                Ok(TableAction::EnableTrigger { name: clause.names().next(), enabled })
            }
            () if clause.has(TokenKind::Validate) => Ok(TableAction::ValidateConstraint(clause.name()?)),
            () if options(clause)?.is_said() => options(clause).map(TableAction::Options),
            () if is_about_storage(clause)? => Ok(TableAction::WithoutEffect(clause.first_words())),
            () => match clause.part("alter_column") {
                Some(column) => altered(column),
                None => Err(clause.unsupported_words("ALTER TABLE ... ", &clause.first_words())),
            },
        }
    }
}

fn altered_constraint(clause: Clause<'_>) -> Result<TableAction> {
    if clause.parts("rule_attribute").any(|attribute| attribute.has(TokenKind::Valid)) {
        let message = "FOREIGN KEY constraints cannot be marked NOT VALID";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(TableAction::AlterConstraint { name: clause.name()?, deferral: deferral(clause.parts("rule_attribute"))? })
}

/// What is said right in it. SQLSTATE 22023, 42601 for parameters that there are not.
fn options(clause: Clause<'_>) -> Result<TableOptions> {
    let Some(options) = clause.part("options") else { return Ok(TableOptions::default()) };
    check_storage_options(options)?;
    match clause.has(TokenKind::Reset) {
        true => check_reset(options).and_then(|()| TableOptions::of(options, true)),
        false => TableOptions::of(options, false),
    }
}

/// CLUSTER ON, SET LOGGED, SET (...) and their like: how a table is stored, and what else dumps say of that.
fn is_about_storage(clause: Clause<'_>) -> Result<bool> {
    use TokenKind as T;
    let without = clause.has(T::Without) && (clause.has(T::Cluster) || clause.has(T::Oids));
    let stored = [T::Logged, T::Unlogged, T::Tablespace].iter().any(|word| clause.has(*word));
    let is_set = clause.has(T::Set) && (without || stored);
    // What says that rows are for everybody to see says what is so.
    let is_open = clause.has(T::Security) && (clause.has(T::Disable) || clause.has(T::No));
    Ok(is_set || is_open || clause.part("options").is_some() || clause.has(T::Cluster) || clause.has(T::Identity))
}

fn added(clause: Clause<'_>) -> Result<TableAction> {
    match (clause.part("column"), clause.part("table_constraint")) {
        (Some(column), _) => Ok(TableAction::AddColumn {
            column: ColumnDefinition::of(column)?,
            if_not_exists: clause.part("if_not_exists").is_some(),
        }),
        (_, Some(constraint)) => Ok(TableAction::AddConstraint(Constraint::of_table(constraint)?)),
        _ => Err(Error::internal("ADD of nothing")),
    }
}

pub(super) fn altered(clause: Clause<'_>) -> Result<TableAction> {
    use TokenKind as T;
    if let Some(options) = clause.part("options") {
        check_storage_options(options)?;
        clause.has(T::Reset).then(|| check_reset(options)).transpose()?;
    }
    clause.part("compression").map_or(Ok(()), check_compression)?;
    let is_stored = clause.part("compression").is_some() || clause.part("options").is_some();
    if clause.has(T::Statistics) || clause.has(T::Storage) || is_stored {
        let name = clause.name()?;
        return Ok(TableAction::WithoutEffect(format!("ALTER COLUMN \"{name}\" {}", clause.words_behind_name())));
    }
    let change = match (clause.has(T::Set), clause.has(T::Drop)) {
        _ if clause.has(T::Type) => {
            let using = clause.part("using").map(Clause::expr).transpose()?;
            let collation = clause.part("collate");
            collation.map_or(Ok(()), check_collation)?;
            ColumnChange::SetType { to: clause.data_type()?, is_collated: collation.is_some(), using }
        }
        (true, _) if clause.has(T::Expression) => ColumnChange::SetExpression(clause.expr()?),
        (true, _) if clause.has(T::Default) => ColumnChange::SetDefault(clause.expr()?),
        (_, true) if clause.has(T::Default) => ColumnChange::DropDefault,
        (_, true) if clause.has(T::Expression) => {
            ColumnChange::DropExpression { if_exists: clause.part("if_exists").is_some() }
        }
        (_, true) if clause.has(T::Identity) => {
            ColumnChange::DropIdentity { if_exists: clause.part("if_exists").is_some() }
        }
        _ if clause.has(T::Add) => ColumnChange::AddIdentity(identity(clause)?),
        _ if clause.part("identity_option").is_some() => identity_change(clause)?,
        (true, _) if clause.has(T::Null) => ColumnChange::SetNotNull,
        (_, true) if clause.has(T::Null) => ColumnChange::DropNotNull,
        _ => return Err(clause.unsupported(format!("ALTER COLUMN ... {}", clause.words_behind_name()))),
    };
    Ok(TableAction::AlterColumn { name: clause.name()?, change })
}

/// SET GENERATED, RESTART, SET with an option of the sequence.
fn identity_change(clause: Clause<'_>) -> Result<ColumnChange> {
    let mut always = None;
    for option in clause.parts("identity_option") {
        let Some(when) = option.part("generated_when") else { continue };
        if always.replace(when.has(TokenKind::Always)).is_some() {
            return Err(option.here(Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")));
        }
    }
    let options = clause.parts("identity_option").filter(|option| option.part("generated_when").is_none());
    let options = options.map(|option| option.part("sequence_option").unwrap_or(option));
    Ok(ColumnChange::SetIdentity { always, options: SequenceOptions::of_named(options)? })
}
