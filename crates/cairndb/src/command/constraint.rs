//! Constraints, wherever they stand.

use cairn_parser::{Expr, Id, TokenKind};

use super::clause::Clause;
use crate::catalog::{Deferral, ObjectName, ReferentialAction};
use crate::error::Feature;
use crate::{Error, Result, SqlState};

/// A constraint as the statement gives it, wherever it stood.
#[derive(Debug)]
pub(crate) enum Constraint {
    PrimaryKey {
        name: Option<String>,
        columns: Vec<String>,
        included: Vec<String>,
        deferral: Deferral,
    },
    /// `nulls_equal`: two rows of NULL are not unique either.
    Unique {
        name: Option<String>,
        columns: Vec<String>,
        included: Vec<String>,
        nulls_equal: bool,
        deferral: Deferral,
    },
    /// A primary key, or UNIQUE, of which an index is made that is there.
    UsingIndex {
        name: Option<String>,
        index: String,
        primary: bool,
        deferral: Deferral,
        /// Of the error for a table that is only being made.
        place: u32,
    },
    /// `valid`: also for the rows that are there.
    Check {
        name: Option<String>,
        condition: Id<Expr>,
        valid: bool,
    },
    ForeignKey {
        name: Option<String>,
        columns: Vec<String>,
        references: References,
    },
}

/// What a foreign key points at.
#[derive(Debug)]
pub(crate) struct References {
    pub(crate) table: ObjectName,
    /// None: the primary key.
    pub(crate) columns: Vec<String>,
    pub(crate) on_delete: ReferentialAction,
    /// Those columns of it that are set then; none: all of them.
    pub(crate) set_on_delete: Vec<String>,
    pub(crate) on_update: ReferentialAction,
    /// MATCH FULL.
    pub(crate) full: bool,
    pub(crate) deferral: Deferral,
    /// Also for the rows that are there.
    pub(crate) valid: bool,
}

impl Constraint {
    /// A constraint of the table.
    pub(super) fn of_table(clause: Clause<'_>) -> Result<Constraint> {
        let name = clause.names().next();
        let rule = clause.part("table_rule").ok_or_else(|| Error::internal("a constraint without a rule"))?;
        let rule = rule.first_part()?;
        let is_not_valid = |attribute: &Clause<'_>| attribute.has(TokenKind::Valid);
        let valid = !rule.parts("rule_attribute").any(|attribute| is_not_valid(&attribute));
        let attributes = || rule.parts("rule_attribute").filter(|attribute| !is_not_valid(attribute));
        // The parser knows where NOT VALID may stand.
        if rule.rule() == "check_rule" {
            refuse_waiting(attributes())?;
        }
        let deferral = deferral(attributes())?;
        let columns = rule.names_in("columns");
        let included = rule.part("include").map(|include| include.names_in("columns")).unwrap_or_default();
        refuse_index_options(rule)?;
        match rule.rule() {
            "primary_key_rule" | "unique_rule" if rule.part("existing_index").is_some() => {
                let index = rule.part("existing_index").ok_or_else(|| Error::internal("no index"))?;
                let primary = rule.has(TokenKind::Primary);
                Ok(Constraint::UsingIndex { name, index: index.name()?, primary, deferral, place: clause.start() })
            }
            "primary_key_rule" => Ok(Constraint::PrimaryKey { name, columns, included, deferral }),
            "unique_rule" => {
                let nulls_equal = are_nulls_equal(rule);
                Ok(Constraint::Unique { name, columns, included, nulls_equal, deferral })
            }
            "check_rule" => Ok(Constraint::Check { name, condition: condition(rule)?, valid }),
            "foreign_key_rule" => {
                let references = rule.part("references").ok_or_else(|| Error::internal("no REFERENCES"))?;
                Ok(Constraint::ForeignKey {
                    name,
                    columns,
                    references: References { deferral, valid, ..References::of(references)? },
                })
            }
            _ => Err(rule.lacking(Feature::Exclusions, "an exclusion constraint")),
        }
    }
}

/// A constraint written with a column; none for NULL, which is no constraint.
pub(super) fn column_rule(name: Option<String>, rule: Clause<'_>, column: &str) -> Result<Option<Constraint>> {
    let columns = vec![column.to_owned()];
    refuse_index_options(rule)?;
    Ok(Some(match rule.part("references") {
        Some(references) => Constraint::ForeignKey { name, columns, references: References::of(references)? },
        None if rule.part("check").is_some() => Constraint::Check { name, condition: condition(rule)?, valid: true },
        None if rule.has(TokenKind::Primary) => {
            Constraint::PrimaryKey { name, columns, included: Vec::new(), deferral: Deferral::Never }
        }
        None if rule.has(TokenKind::Unique) => Constraint::Unique {
            name,
            columns,
            included: Vec::new(),
            nulls_equal: are_nulls_equal(rule),
            deferral: Deferral::Never,
        },
        None => return Ok(None),
    }))
}

/// NO INHERIT behind it says what is so: tables have no heirs.
fn condition(rule: Clause<'_>) -> Result<Id<Expr>> {
    rule.part("check").ok_or_else(|| Error::internal("no CHECK"))?.expr()
}

/// Refuses what is said of the index behind a constraint.
fn refuse_index_options(rule: Clause<'_>) -> Result<()> {
    rule.refuse("index_parameters", "a storage parameter")
}

/// NULLS NOT DISTINCT.
pub(super) fn are_nulls_equal(clause: Clause<'_>) -> bool {
    clause.part("nulls_treatment").is_some_and(|nulls| nulls.has(TokenKind::Not))
}

impl Constraint {
    /// When it is looked at, where that can be said of it.
    pub(super) fn deferral_mut(&mut self) -> Option<&mut Deferral> {
        match self {
            Constraint::PrimaryKey { deferral, .. }
            | Constraint::Unique { deferral, .. }
            | Constraint::UsingIndex { deferral, .. } => Some(deferral),
            Constraint::ForeignKey { references, .. } => Some(&mut references.deferral),
            Constraint::Check { .. } => None,
        }
    }
}

/// What is said of a column, and is no key, holds at once: SQLSTATE 42601 where something is said of when, be it so.
pub(super) fn refuse_attributes<'p>(mut attributes: impl Iterator<Item = Clause<'p>>) -> Result<()> {
    attributes.next().map_or(Ok(()), |attribute| {
        let message = format!("misplaced {} clause", attribute.first_words());
        Err(attribute.here(Error::new(SqlState::SYNTAX_ERROR, message)))
    })
}

/// A condition of a table holds at once. SQLSTATE 0A000 where it is to wait.
fn refuse_waiting<'p>(attributes: impl Iterator<Item = Clause<'p>>) -> Result<()> {
    for attribute in attributes {
        let deferrable = attribute.has(TokenKind::Deferrable) && !attribute.has(TokenKind::Not);
        if deferrable || attribute.has(TokenKind::Deferred) {
            return Err(attribute.unsupported("a deferrable constraint that is no key"));
        }
    }
    Ok(())
}

/// What a foreign key's attributes say of when it is looked at; SQLSTATE 42601 where they contradict each other.
pub(super) fn deferral<'p>(attributes: impl Iterator<Item = Clause<'p>>) -> Result<Deferral> {
    let (mut deferrable, mut deferred) = (None, None);
    let say = |said: &mut Option<bool>, value: bool, what: &str| match said.replace(value) {
        Some(_) => Err(Error::new(SqlState::SYNTAX_ERROR, format!("multiple {what} clauses not allowed"))),
        None => Ok(()),
    };
    for attribute in attributes {
        let is_not = attribute.has(TokenKind::Not);
        match () {
            () if attribute.has(TokenKind::Deferrable) => {
                say(&mut deferrable, !is_not, "DEFERRABLE/NOT DEFERRABLE")?;
            }
            () if attribute.has(TokenKind::Deferred) => say(&mut deferred, true, "INITIALLY IMMEDIATE/DEFERRED")?,
            () if attribute.has(TokenKind::Immediate) => say(&mut deferred, false, "INITIALLY IMMEDIATE/DEFERRED")?,
            () => {}
        }
    }
    match (deferrable, deferred) {
        (Some(false), Some(true)) => {
            let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            Err(Error::new(SqlState::SYNTAX_ERROR, message))
        }
        (_, Some(true)) => Ok(Deferral::Deferred),
        (Some(true), _) => Ok(Deferral::Immediate),
        _ => Ok(Deferral::Never),
    }
}

impl References {
    fn of(clause: Clause<'_>) -> Result<References> {
        let set = clause.part("on_delete").and_then(|clause| clause.part("key_action"));
        Ok(References {
            full: clause.part("match").is_some_and(|matching| matching.has(TokenKind::Full)),
            set_on_delete: set.map_or_else(Vec::new, |action| action.names_in("columns")),
            table: clause.relation()?,
            columns: clause.names_in("columns"),
            on_delete: action(clause.part("on_delete")),
            on_update: action(clause.part("on_update")),
            deferral: Deferral::Never,
            valid: true,
        })
    }
}

fn action(clause: Option<Clause<'_>>) -> ReferentialAction {
    let Some(action) = clause.and_then(|clause| clause.part("key_action")) else {
        return ReferentialAction::NoAction;
    };
    let actions = [
        (TokenKind::Restrict, ReferentialAction::Restrict),
        (TokenKind::Cascade, ReferentialAction::Cascade),
        (TokenKind::Null, ReferentialAction::SetNull),
        (TokenKind::Default, ReferentialAction::SetDefault),
    ];
    let found = actions.into_iter().find(|(word, _)| action.has(*word));
    found.map_or(ReferentialAction::NoAction, |(_, action)| action)
}
