//! FROM.

use cairn_parser::token::quoted;
use cairn_parser::{self as ast, Id, JoinKind, List, TableRef};

use super::node::Node;
use super::text::{Deparser, INDENT, Level, Named};
use crate::catalog::ObjectName;
use crate::sql::{name_text, object_name};
use crate::system;

impl Deparser<'_> {
    /// What FROM has, each under a name that nothing around it has.
    pub(super) fn level_of(&self, from: List<TableRef>) -> Option<Level> {
        let mut relations = Vec::new();
        if self.levels.is_empty() {
            let of_rule =
                |name: &str| Named { item: None, alias: String::new(), shown: name.to_owned(), columns: None };
            relations.extend(["old", "new"].map(of_rule));
        }
        for item in self.tree.list(from) {
            self.name_items(item, &mut relations)?;
        }
        Some(Level { relations, is_hidden: false })
    }

    fn name_items(&self, item: Id<TableRef>, relations: &mut Vec<Named>) -> Option<()> {
        let tree = self.tree;
        let alias = match tree.get(item) {
            TableRef::Join { left, right, alias, using_alias, .. } => {
                self.name_items(left, relations)?;
                self.name_items(right, relations)?;
                if using_alias.is_some() {
                    return None;
                }
                match alias.and_then(|alias| tree.get(alias).name) {
                    Some(name) => name_text(tree, name).to_owned(),
                    None => return Some(()),
                }
            }
            TableRef::Table { name, alias, .. } => {
                let own = tree.list(tree.get(name).parts).next_back()?;
                let given = alias.and_then(|alias| tree.get(alias).name);
                name_text(tree, given.unwrap_or(own)).to_owned()
            }
            TableRef::Function { functions, alias, .. } => match alias.and_then(|alias| tree.get(alias).name) {
                Some(name) => name_text(tree, name).to_owned(),
                None => match tree.get(tree.get(tree.nth(functions, 0)?).function) {
                    ast::Expr::Call { name, .. } => name_text(tree, tree.list(name).next_back()?).to_owned(),
                    _ => return None,
                },
            },
            TableRef::Subquery { alias, .. } => name_text(tree, tree.get(alias?).name?).to_owned(),
            TableRef::Xml { .. } => return None,
        };
        let shown = self.free_name(&alias, relations);
        let columns = self.facts.items.get(&item).cloned();
        relations.push(Named { item: Some(item), alias, shown, columns });
        Some(())
    }

    pub(super) fn from(&mut self, from: List<TableRef>) -> Option<()> {
        for (at, item) in self.tree.list(from).enumerate() {
            if at == 0 {
                self.keyword(" FROM ", -INDENT, INDENT, 2);
                self.item(item)?;
                continue;
            }
            self.say(", ");
            let text = self.apart(|it| it.item(item))?;
            self.put_wrapped(&text, false, false);
        }
        Some(())
    }

    fn shown_of(&self, item: Id<TableRef>) -> Option<String> {
        let relations = &self.levels.last()?.relations;
        relations.iter().find(|named| named.item == Some(item)).map(|named| named.shown.clone())
    }

    fn item(&mut self, item: Id<TableRef>) -> Option<()> {
        let tree = self.tree;
        match tree.get(item) {
            TableRef::Join { .. } => self.join(item),
            TableRef::Table { name, only, alias, sample } => {
                if sample.is_some() {
                    return None;
                }
                let parts: Vec<String> =
                    tree.list(tree.get(name).parts).map(|part| name_text(tree, part).to_owned()).collect();
                let own = parts.last()?.clone();
                let is_cte = parts.len() == 1 && self.ctes.contains(&own);
                let (text, own) = match is_cte {
                    true => (quoted(&own), own),
                    false => self.relation_text(&object_name(parts).ok()?)?,
                };
                self.say(if only { "ONLY " } else { "" });
                self.say(&text);
                let shown = self.shown_of(item)?;
                let given = alias.map(|alias| tree.get(alias));
                if given.is_some() || shown != own {
                    self.say(&format!(" {}", quoted(&shown)));
                }
                if given.is_some_and(|alias| !alias.columns.is_empty()) {
                    self.columns_of(item)?;
                }
                Some(())
            }
            TableRef::Subquery { query, lateral, alias } => {
                self.say(if lateral { "LATERAL (" } else { "(" });
                self.levels.last_mut()?.is_hidden = !lateral;
                self.query(query, None, true)?;
                self.levels.last_mut()?.is_hidden = false;
                let shown = self.shown_of(item)?;
                self.say(&format!(") {}", quoted(&shown)));
                if alias.is_some_and(|alias| !tree.get(alias).columns.is_empty()) {
                    self.columns_of(item)?;
                }
                Some(())
            }
            TableRef::Function { functions, rows_from, ordinality, alias, .. } => {
                self.functions(item, functions, rows_from, ordinality, alias)
            }
            TableRef::Xml { .. } => None,
        }
    }

    /// A relation as it is said, and its own name.
    fn relation_text(&self, name: &ObjectName) -> Option<(String, String)> {
        if let Some(relation) = self.catalog.relation(name) {
            return Some((system::relation_text(self.catalog, relation.id())?, name.name.clone()));
        }
        let found = system::named(name, self.catalog)?;
        let own = quoted(&name.name);
        let text = if found.schema() == "pg_catalog" { own } else { format!("{}.{own}", found.schema()) };
        Some((text, name.name.clone()))
    }

    fn columns_of(&mut self, item: Id<TableRef>) -> Option<()> {
        let known = self.facts.items.get(&item)?;
        // What the table got since goes by its own name.
        let table = match self.tree.get(item) {
            TableRef::Table { name, .. } => {
                let parts = self.tree.list(self.tree.get(name).parts);
                let parts = parts.map(|part| name_text(self.tree, part).to_owned()).collect();
                self.catalog.relation(&object_name(parts).ok()?).and_then(|relation| relation.table())
            }
            _ => None,
        };
        let since = table.into_iter().flat_map(|table| &table.columns).skip(known.len()).map(|column| &column.name);
        let names: Vec<String> = known.iter().chain(since).map(|name| quoted(name)).collect();
        self.say(&format!("({})", names.join(", ")));
        Some(())
    }

    fn functions(
        &mut self,
        item: Id<TableRef>,
        functions: List<ast::FunctionItem>,
        rows_from: bool,
        ordinality: bool,
        alias: Option<Id<ast::Alias>>,
    ) -> Option<()> {
        let tree = self.tree;
        let mut built = Vec::new();
        for function in tree.list(functions) {
            let ast::FunctionItem { function, columns } = tree.get(function);
            built.push((self.build(function)?.node, columns));
        }
        let is_lateral = built.iter().any(|(node, _)| self.looks_here(node));
        self.say(if is_lateral { "LATERAL " } else { "" });
        self.say(if rows_from { "ROWS FROM(" } else { "" });
        for (at, (node, columns)) in built.iter().enumerate() {
            self.say(if at > 0 { ", " } else { "" });
            self.node(node, true)?;
            if !columns.is_empty() {
                self.say(" AS ");
                self.definitions(*columns)?;
            }
        }
        self.say(if rows_from { ")" } else { "" });
        self.say(if ordinality { " WITH ORDINALITY" } else { "" });
        let shown = self.shown_of(item)?;
        self.say(&format!(" {}", quoted(&shown)));
        match alias.map(|alias| tree.get(alias).definitions) {
            Some(definitions) if !definitions.is_empty() => self.definitions(definitions),
            _ => self.columns_of(item),
        }
    }

    fn definitions(&mut self, definitions: List<ast::FunctionColumn>) -> Option<()> {
        let tree = self.tree;
        let each = tree.list(definitions).map(|column| {
            let ast::FunctionColumn { name, data_type, .. } = tree.get(column);
            Some(format!("{} {}", quoted(name_text(tree, name)), self.written_type(data_type)?))
        });
        let text = each.collect::<Option<Vec<_>>>()?.join(", ");
        self.say(&format!("({text})"));
        Some(())
    }

    /// Whether a node looks at what stands left of it.
    fn looks_here(&self, node: &Node) -> bool {
        let Some(level) = self.levels.last() else { return false };
        let is_here = |text: &str| {
            level
                .relations
                .iter()
                .any(|named| text.strip_prefix(&quoted(&named.shown)).is_some_and(|it| it.starts_with('.')))
        };
        match node {
            Node::Column(text) => is_here(text),
            Node::Constant(_) | Node::Plain(_) => false,
            Node::Operator { operands, .. } | Node::Between { operands, .. } => {
                operands.iter().any(|it| self.looks_here(it))
            }
            Node::List { items, .. } => items.iter().any(|it| self.looks_here(it)),
            Node::Cast(cast) => self.looks_here(&cast.arg),
            Node::Call(call) => call.args.iter().any(|(_, arg)| self.looks_here(arg)),
            Node::Syntax { args, .. } => args.iter().any(|it| self.looks_here(it)),
            Node::Subscript(base, _) | Node::Field(base, _) | Node::Collate(base, _) => self.looks_here(base),
            Node::Extract(_, base) | Node::Not(base) => self.looks_here(base),
            _ => false,
        }
    }

    fn join(&mut self, item: Id<TableRef>) -> Option<()> {
        let TableRef::Join { kind, natural, left, right, on, using, alias, .. } = self.tree.get(item) else {
            return None;
        };
        let parenthesis = !self.style.is_pretty || alias.is_some();
        let is_join = matches!(self.tree.get(right), TableRef::Join { alias: None, .. });
        let right_apart = self.style.is_pretty && is_join;
        self.say(if parenthesis { "(" } else { "" });
        self.item(left)?;
        let names: Vec<String> = match natural {
            true => self.facts.shared.get(&item)?.clone(),
            false => self.tree.list(using).map(|name| name_text(self.tree, name).to_owned()).collect(),
        };
        let word = match kind {
            JoinKind::Inner if on.is_none() && names.is_empty() => " CROSS JOIN ",
            JoinKind::Inner => " JOIN ",
            JoinKind::Left => " LEFT JOIN ",
            JoinKind::Right => " RIGHT JOIN ",
            JoinKind::Full => " FULL JOIN ",
            JoinKind::Cross => " CROSS JOIN ",
        };
        self.keyword(word, -INDENT, INDENT, 4);
        self.say(if right_apart { "(" } else { "" });
        self.item(right)?;
        self.say(if right_apart { ")" } else { "" });
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            self.say(&format!(" USING ({})", names.join(", ")));
        } else if let Some(on) = on {
            self.say(" ON ");
            let condition = self.condition(on)?;
            self.say(if self.style.is_pretty { "" } else { "(" });
            self.node(&condition, false)?;
            self.say(if self.style.is_pretty { "" } else { ")" });
        }
        self.say(if parenthesis { ")" } else { "" });
        if let Some(alias) = alias {
            let shown = self.shown_of(item)?;
            self.say(&format!(" {}", quoted(&shown)));
            if !self.tree.get(alias).columns.is_empty() {
                return None;
            }
        }
        Some(())
    }
}
