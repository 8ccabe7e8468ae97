//! CREATE INDEX.

use cairn_parser::{Expr, TokenKind};

use super::clause::Clause;
use super::constraint::refuse_nulls_not_distinct;
use super::create_table::check_collation;
use crate::catalog::ObjectName;
use crate::{Error, Result};

/// CREATE INDEX.
#[derive(Debug)]
pub(crate) struct CreateIndex {
    /// None: one is made up.
    pub(crate) name: Option<String>,
    pub(crate) table: ObjectName,
    pub(crate) columns: Vec<IndexPart>,
    pub(crate) unique: bool,
    pub(crate) if_not_exists: bool,
}

/// A column of an index.
#[derive(Debug)]
pub(crate) struct IndexPart {
    pub(crate) name: String,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

impl CreateIndex {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateIndex> {
        command.refuse_word(TokenKind::Concurrently, "CONCURRENTLY")?;
        command.refuse_word(TokenKind::Where, "a partial index")?;
        command.refuse_word(TokenKind::Include, "INCLUDE")?;
        command.refuse("options", "a storage parameter")?;
        command.refuse("tablespace", "TABLESPACE")?;
        refuse_nulls_not_distinct(command)?;
        if command.name_behind(TokenKind::Using).is_some_and(|method| method != "btree") {
            command.refuse_word(TokenKind::Using, "an index method other than btree")?;
        }
        Ok(CreateIndex {
            name: command.name_before(TokenKind::On),
            table: command.relation()?,
            columns: command.parts("index_element").map(IndexPart::of).collect::<Result<_>>()?,
            unique: command.has(TokenKind::Unique),
            if_not_exists: command.part("if_not_exists").is_some(),
        })
    }
}

impl IndexPart {
    fn of(element: Clause<'_>) -> Result<IndexPart> {
        element.part("collate").map_or(Ok(()), check_collation)?;
        element.refuse("operator_class", "an operator class")?;
        let descending = element.has(TokenKind::Desc);
        let nulls = element.part("nulls_order").map(|order| order.has(TokenKind::First));
        let name = match element.names().next() {
            Some(name) => name,
            None => plain_column(element)?,
        };
        Ok(IndexPart { name, descending, nulls_first: nulls.unwrap_or(descending) })
    }
}

/// A column's name where an expression could stand.
fn plain_column(element: Clause<'_>) -> Result<String> {
    let (tree, expr) = (element.tree(), element.expr()?);
    match tree.get(expr) {
        Expr::Column { names } if tree.len(names) == 1 => {
            let name = tree.nth(names, 0).ok_or_else(|| Error::internal("a column without a name"))?;
            Ok(crate::sql::name_text(tree, name).to_owned())
        }
        _ => Err(element.unsupported(format!("the expression {} in a key", tree.print(expr)))),
    }
}
