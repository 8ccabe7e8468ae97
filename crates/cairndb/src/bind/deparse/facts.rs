//! What binding finds out, by the place in the tree.

use std::collections::HashMap;

use cairn_parser::{self as ast, Id, List, Name, TableRef};

use crate::bind::binder::Binder;
use crate::bind::context::Context;
use crate::bind::relations::scope::{Env, Scope};
use crate::catalog::ObjectId;
use crate::plan::{Expr, same_expr};
use crate::sql::name_text;
use crate::types::DataType;

/// See the module.
#[derive(Debug, Default)]
pub(in crate::bind) struct Facts {
    pub(super) types: HashMap<Id<ast::Expr>, DataType>,
    /// By the name's last part.
    pub(super) owners: HashMap<Id<Name>, Owner>,
    /// The columns of items of FROM that are no joins.
    pub(super) items: HashMap<Id<TableRef>, Vec<String>>,
    /// The columns by which a NATURAL join joins.
    pub(super) shared: HashMap<Id<TableRef>, Vec<String>>,
}

/// Whose column a name is.
#[derive(Clone, Debug, Default)]
pub(super) struct Owner {
    /// The name under which its relation stands in FROM; `None`: two relations', which USING made one.
    pub(super) alias: Option<String>,
    /// Where it is a table's column, the domain of which its values are.
    pub(super) domain: Option<ObjectId>,
}

impl Binder<'_> {
    pub(in crate::bind) fn know_type(&self, expr: Id<ast::Expr>, data_type: DataType) {
        if let Some(facts) = &self.facts {
            facts.borrow_mut().types.insert(expr, data_type);
        }
    }

    /// Whose column the name means, which was found.
    pub(in crate::bind) fn know_owner(&self, names: List<Name>, context: &Context) {
        let Some(facts) = &self.facts else { return };
        let Some(last) = self.tree.list(names).next_back() else { return };
        let owner = match self.tree.len(names) {
            1 => context.env.and_then(|env| self.owner_of(env, last)),
            count => {
                let qualifier: Vec<Id<Name>> = self.tree.list(names).take(count - 1).collect();
                let found = self.relation_of(context.env, &qualifier).ok();
                found.map(|(relation, ..)| Owner {
                    alias: Some(relation.alias.clone()),
                    domain: relation.domain_of(name_text(self.tree, last)),
                })
            }
        };
        if let Some(owner) = owner {
            facts.borrow_mut().owners.insert(last, owner);
        }
    }

    fn owner_of(&self, env: &Env<'_>, name: Id<Name>) -> Option<Owner> {
        let name = name_text(self.tree, name);
        let mut next = Some(env);
        while let Some(env) = next {
            if let Some((expr, _)) = env.scope.find(name) {
                return Some(owner_in(env.scope, name, &expr));
            }
            next = env.outer;
        }
        None
    }

    /// The columns of an item of FROM.
    pub(in crate::bind) fn know_item(&self, item: Id<TableRef>, scope: &Scope) {
        if let (Some(facts), [relation]) = (&self.facts, scope.relations.as_slice()) {
            let names = relation.columns().map(|(name, _)| name.to_owned()).collect();
            facts.borrow_mut().items.insert(item, names);
        }
    }

    /// The columns that both sides of a NATURAL join have.
    pub(in crate::bind) fn know_shared(&self, join: Id<TableRef>, names: impl Iterator<Item = String>) {
        if let Some(facts) = &self.facts {
            facts.borrow_mut().shared.insert(join, names.collect());
        }
    }
}

fn owner_in(scope: &Scope, name: &str, expr: &Expr) -> Owner {
    let has = |(column, other): (&str, std::borrow::Cow<'_, Expr>)| column == name && same_expr(&other, expr);
    let mut relations = scope.relations.iter();
    let scalar = scope.relations.iter().find(|relation| relation.is_value_called(name));
    let found = relations.find(|relation| relation.columns().any(has)).or(scalar);
    found.map_or_else(Owner::default, |relation| Owner {
        alias: Some(relation.alias.clone()),
        domain: relation.domain_of(name),
    })
}
