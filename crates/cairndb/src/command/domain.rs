//! CREATE DOMAIN, ALTER DOMAIN.

use cairn_parser::{Expr, Id, TokenKind, TypeName};

use super::clause::Clause;
use super::constraint::Constraint;
use super::create_table::check_collation;
use crate::catalog::ObjectName;
use crate::{Error, Result, SqlState};

/// CREATE DOMAIN.
#[derive(Debug)]
pub(crate) struct CreateDomain {
    pub(crate) name: ObjectName,
    pub(crate) base: Id<TypeName>,
    pub(crate) is_collated: bool,
    pub(crate) default: Option<Id<Expr>>,
    pub(crate) not_null: bool,
    pub(crate) checks: Vec<DomainCheck>,
}

/// A condition of a domain.
#[derive(Debug)]
pub(crate) struct DomainCheck {
    pub(crate) name: Option<String>,
    pub(crate) condition: Id<Expr>,
    /// Also for the values that are there.
    pub(crate) valid: bool,
}

/// ALTER DOMAIN.
#[derive(Debug)]
pub(crate) struct AlterDomain {
    pub(crate) name: ObjectName,
    pub(crate) change: DomainChange,
}

/// What becomes of a domain.
#[derive(Debug)]
pub(crate) enum DomainChange {
    /// None: DROP DEFAULT.
    Default(Option<Id<Expr>>),
    NotNull(bool),
    AddCheck(DomainCheck),
    DropCheck {
        name: String,
        if_exists: bool,
    },
    ValidateCheck(String),
    RenameCheck {
        from: String,
        to: String,
    },
    RenameTo(String),
    SetSchema(String),
    /// There is one user.
    Owner,
}

impl CreateDomain {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateDomain> {
        let mut domain = CreateDomain {
            name: named(command)?,
            base: command.data_type()?,
            is_collated: false,
            default: None,
            not_null: false,
            checks: Vec::new(),
        };
        let mut nullable = None;
        for option in command.parts("column_constraint") {
            if let Some(collation) = option.part("collate") {
                domain.is_collated = true;
                check_collation(collation)?;
                continue;
            }
            if let Some(attribute) = option.part("constraint_attribute") {
                return Err(attribute.here(syntax("specifying constraint deferrability not supported for domains")));
            }
            let rule = option.part("column_rule").ok_or_else(|| Error::internal("a domain's constraint of no kind"))?;
            match () {
                () if rule.part("check").is_some() => {
                    let condition = rule.part("check").ok_or_else(|| Error::internal("no CHECK"))?.expr()?;
                    domain.checks.push(DomainCheck { name: option.names().next(), condition, valid: true });
                }
                () if rule.has(TokenKind::Primary) => {
                    return Err(option.here(syntax("primary key constraints not possible for domains")));
                }
                () if rule.has(TokenKind::Unique) => {
                    return Err(option.here(syntax("unique constraints not possible for domains")));
                }
                () if rule.part("references").is_some() => {
                    return Err(option.here(syntax("foreign key constraints not possible for domains")));
                }
                () if rule.has(TokenKind::Generated) => {
                    return Err(option.unsupported("GENERATED for a domain"));
                }
                () if rule.has(TokenKind::Default) => {
                    if domain.default.replace(rule.expr()?).is_some() {
                        return Err(option.here(syntax("multiple default expressions")));
                    }
                }
                () if rule.has(TokenKind::Null) => {
                    domain.not_null = rule.has(TokenKind::Not);
                    if nullable.replace(!domain.not_null).is_some_and(|said| said == domain.not_null) {
                        return Err(option.here(syntax("conflicting NULL/NOT NULL constraints")));
                    }
                }
                () => return Err(option.unsupported("this constraint of a domain")),
            }
        }
        Ok(domain)
    }
}

impl AlterDomain {
    pub(super) fn of(command: Clause<'_>) -> Result<AlterDomain> {
        use TokenKind as T;
        let constraint = || {
            let mut names = command.names();
            names.next().ok_or_else(|| Error::internal("a constraint without a name"))
        };
        let change = match () {
            () if command.part("owner").is_some() => DomainChange::Owner,
            () if command.has(T::Default) && command.has(T::Set) => DomainChange::Default(Some(command.expr()?)),
            () if command.has(T::Default) => DomainChange::Default(None),
            () if command.has(T::Null) => DomainChange::NotNull(command.has(T::Set)),
            () if command.has(T::Validate) => DomainChange::ValidateCheck(constraint()?),
            () if command.has(T::Drop) => {
                DomainChange::DropCheck { name: constraint()?, if_exists: command.part("if_exists").is_some() }
            }
            () if command.has(T::Add) => {
                let part = command.part("table_constraint").ok_or_else(|| Error::internal("ADD of nothing"))?;
                match Constraint::of_table(part)? {
                    Constraint::Check { name, condition, valid } => {
                        DomainChange::AddCheck(DomainCheck { name, condition, valid })
                    }
                    Constraint::Unique { .. } => {
                        return Err(part.here(syntax("unique constraints not possible for domains")));
                    }
                    Constraint::PrimaryKey { .. } => {
                        return Err(part.here(syntax("primary key constraints not possible for domains")));
                    }
                    _ => return Err(part.here(syntax("foreign key constraints not possible for domains"))),
                }
            }
            () => match (command.part("rename"), command.name_behind(T::Schema)) {
                (Some(rename), _) => DomainChange::RenameTo(rename.name()?),
                (None, Some(schema)) => DomainChange::SetSchema(schema),
                (None, None) => {
                    let names: Vec<String> = command.names().collect();
                    let [from, to] =
                        <[String; 2]>::try_from(names).map_err(|_| command.unsupported("this form of ALTER DOMAIN"))?;
                    DomainChange::RenameCheck { from, to }
                }
            },
        };
        Ok(AlterDomain { name: named(command)?, change })
    }
}

fn syntax(message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

fn named(command: Clause<'_>) -> Result<ObjectName> {
    let name = command.named_relations()?.into_iter().next();
    name.ok_or_else(|| Error::internal("a domain without a name"))
}
