//! CREATE INDEX.

use cairn_parser::{Expr, TokenKind};

use super::clause::Clause;
use super::constraint::are_nulls_equal;
use super::create_table::{check_collation, check_storage_options};
use crate::catalog::ObjectName;
use crate::functions::extensions::{is_class, is_item_class};
use crate::{Error, Result, SqlState};

/// CREATE INDEX.
#[derive(Debug)]
pub(crate) struct CreateIndex {
    /// None: one is made up.
    pub(crate) name: Option<String>,
    pub(crate) table: ObjectName,
    pub(crate) columns: Vec<IndexPart>,
    /// INCLUDE.
    pub(crate) included: Vec<String>,
    /// Which rows have entries; `None`: all.
    pub(crate) filter: Option<String>,
    /// The method that was asked for, where it is not there, and `btree` takes its place.
    pub(crate) method: Option<String>,
    /// USING gin.
    pub(crate) is_inverted: bool,
    /// WITH (...), which does nothing.
    pub(crate) has_storage_options: bool,
    pub(crate) unique: bool,
    /// NULLS NOT DISTINCT.
    pub(crate) nulls_equal: bool,
    pub(crate) if_not_exists: bool,
    /// Beside writers, as it is wherever it is a statement of its own.
    pub(crate) concurrently: bool,
}

/// What an index is of.
#[derive(Debug)]
pub(crate) enum IndexKey {
    Column(String),
    Expression(String),
}

/// A column of an index.
#[derive(Debug)]
pub(crate) struct IndexPart {
    pub(crate) key: IndexKey,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
    /// COLLATE was said, which only texts take.
    pub(crate) is_collated: bool,
    /// The operator class, which must be one of the order that the column's type has anyway.
    pub(crate) class: Option<String>,
}

impl CreateIndex {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateIndex> {
        command.part("options").map_or(Ok(()), check_storage_options)?;
        let method = command.name_behind(TokenKind::Using).filter(|method| method != "btree");
        let is_inverted = method.as_deref() == Some("gin");
        let method = match method {
            Some(_) if is_inverted => None,
            // What these find, a btree finds.
            Some(method) if method == "brin" || method == "hash" && !command.has(TokenKind::Unique) => Some(method),
            Some(method) if method == "hash" => {
                let message = "access method \"hash\" does not support unique indexes";
                return Err(command.here(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)));
            }
            Some(method) if method == "gist" || method == "spgist" => {
                const HINT: &str = "USING btree orders columns and expressions; USING gin finds what documents (jsonb) and arrays hold.";
                command
                    .refuse_word(TokenKind::Using, "an index method other than btree and gin")
                    .map_err(|error| error.with_hint(HINT))?;
                None
            }
            Some(method) => {
                let message = format!("access method \"{method}\" does not exist");
                return Err(command.here(Error::new(SqlState::UNDEFINED_OBJECT, message)));
            }
            None => None,
        };
        let filter = match command.has(TokenKind::Where) {
            true => Some(command.tree().print(command.expr()?)),
            false => None,
        };
        let (keys, included) = command.parts_around(TokenKind::Include, "index_element");
        if is_inverted {
            check_inverted(command, &keys, &included)?;
        }
        Ok(CreateIndex {
            name: command.name_before(TokenKind::On),
            table: command.relation()?,
            columns: keys.into_iter().map(IndexPart::of).collect::<Result<_>>()?,
            included: included.into_iter().map(included_column).collect::<Result<_>>()?,
            filter,
            method,
            is_inverted,
            has_storage_options: command.part("options").is_some(),
            unique: command.has(TokenKind::Unique),
            nulls_equal: are_nulls_equal(command),
            if_not_exists: command.part("if_not_exists").is_some(),
            concurrently: command.has(TokenKind::Concurrently),
        })
    }
}

/// What an inverted index can not be. SQLSTATE 0A000.
fn check_inverted(command: Clause<'_>, keys: &[Clause<'_>], included: &[Clause<'_>]) -> Result<()> {
    let refused = |place: Clause<'_>, what: &str| {
        let message = format!("access method \"gin\" does not support {what}");
        Err(place.here(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)))
    };
    if command.has(TokenKind::Unique) {
        return refused(command, "unique indexes");
    }
    if let Some(element) = included.first() {
        return refused(*element, "included columns");
    }
    for element in keys {
        if element.has(TokenKind::Asc) || element.has(TokenKind::Desc) {
            return refused(*element, "ASC/DESC options");
        }
        if element.part("nulls_order").is_some() {
            return refused(*element, "NULLS FIRST/LAST options");
        }
    }
    Ok(())
}

impl IndexPart {
    fn of(element: Clause<'_>) -> Result<IndexPart> {
        let collation = element.part("collate");
        collation.map_or(Ok(()), check_collation)?;
        let class = element.part("operator_class");
        if let Some(class) = class {
            class.refuse("options", "an option of an operator class")?;
        }
        let class = class.map(operator_class).transpose()?;
        let descending = element.has(TokenKind::Desc);
        let nulls = element.part("nulls_order").map(|order| order.has(TokenKind::First));
        let key = match element.names().next() {
            Some(name) => IndexKey::Column(name),
            None => key_of(element)?,
        };
        let nulls_first = nulls.unwrap_or(descending);
        Ok(IndexPart { key, descending, nulls_first, is_collated: collation.is_some(), class })
    }
}

/// An operator class's name. SQLSTATE 42704: they are all in the system's schema, but for those of extensions, which go with their types.
fn operator_class(clause: Clause<'_>) -> Result<String> {
    let mut names = clause.dotted_names().next().unwrap_or_default();
    let name = names.pop().unwrap_or_default();
    match names.as_slice() {
        [] => Ok(name),
        [schema] if schema == "pg_catalog" || is_class(&name) || is_item_class(&name) => Ok(name),
        _ => {
            let message = format!("operator class \"{}.{name}\" does not exist", names.join("."));
            Err(clause.here(Error::new(SqlState::UNDEFINED_OBJECT, message)))
        }
    }
}

/// A column that is INCLUDEd, of which nothing more can be said.
fn included_column(element: Clause<'_>) -> Result<String> {
    let refused = |what: &str| {
        let message = format!("including column does not support {what}");
        Err(element.here(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)))
    };
    let part = IndexPart::of(element)?;
    match part.key {
        IndexKey::Expression(_) => {
            let message = "expressions are not supported in included columns";
            Err(element.here(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)))
        }
        IndexKey::Column(_) if part.is_collated => refused("a collation"),
        IndexKey::Column(_) if part.class.is_some() => refused("an operator class"),
        IndexKey::Column(_) if element.has(TokenKind::Asc) || element.has(TokenKind::Desc) => {
            refused("ASC/DESC options")
        }
        IndexKey::Column(_) if element.part("nulls_order").is_some() => refused("NULLS FIRST/LAST options"),
        IndexKey::Column(name) => Ok(name),
    }
}

/// A column's name may stand where an expression could.
fn key_of(element: Clause<'_>) -> Result<IndexKey> {
    let (tree, expr) = (element.tree(), element.expr()?);
    match tree.get(expr) {
        Expr::Column { names } if tree.len(names) == 1 => {
            let name = tree.nth(names, 0).ok_or_else(|| Error::internal("a column without a name"))?;
            Ok(IndexKey::Column(crate::sql::name_text(tree, name).to_owned()))
        }
        _ => Ok(IndexKey::Expression(tree.print(expr))),
    }
}
