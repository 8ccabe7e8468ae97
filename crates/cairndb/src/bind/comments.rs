//! `obj_description` and `col_description`: comments read back. What they are asked about is a constant, so the comment is one
//! too: the plan rests on it.

use cairn_parser::{self as ast, Id, List, Span};

use super::binder::Binder;
use super::coerce::{null, text};
use super::functions::without_regclass;
use crate::catalog::{Commentable, Relation};
use crate::plan::Expr;
use crate::types::DataType;
use crate::{Error, Result};

impl Binder<'_> {
    /// `obj_description('t'::regclass, 'pg_class')`, `col_description('t'::regclass, 1)`
    pub(super) fn description(&mut self, function: &str, args: List<ast::Expr>, span: Span) -> Result<Expr> {
        let tree = self.tree;
        let given: Vec<Id<ast::Expr>> = tree.list(args).collect();
        let (Some(&object), 1..=2) = (given.first(), given.len()) else {
            return Err(self.at(super::overload::no_function(function, &[]), span));
        };
        let name = without_regclass(tree, object);
        let ast::Expr::String { text: name_text } = tree.get(name) else {
            let what = format!("{function} of what is not a constant name");
            return Err(self.at(Error::unsupported(what), tree.span(object)));
        };
        let found = crate::sql::relation_name(tree.text(name_text)).and_then(|name| {
            self.catalog.relation(&name).map(Commentable::on).ok_or_else(|| self.catalog.no_relation(&name))
        });
        let relation = found.map_err(|error| self.at(error, tree.span(name)))?;
        let on = match (function, given.get(1).map(|part| (tree.get(*part), tree.written(*part)))) {
            ("col_description", Some((ast::Expr::Integer { .. }, number))) => {
                Commentable { part: number.parse().unwrap_or(u32::MAX), ..relation }
            }
            ("obj_description", None) => relation,
            ("obj_description", Some((ast::Expr::String { text: catalog }, _))) => match tree.text(catalog) {
                "pg_class" => relation,
                _ => return Ok(null(DataType::Text)),
            },
            _ => {
                let message = format!("{function} with these arguments");
                return Err(self.at(Error::unsupported(message), span));
            }
        };
        self.rests.borrow_mut().add_comments();
        Ok(self.catalog.comment(on).map_or_else(|| null(DataType::Text), text))
    }
}

impl Commentable {
    /// A relation.
    pub(crate) fn on(relation: &Relation) -> Commentable {
        match relation {
            Relation::PrimaryKey(table) => Commentable::of(table.primary_key_id),
            relation => Commentable::of(relation.id()),
        }
    }
}
