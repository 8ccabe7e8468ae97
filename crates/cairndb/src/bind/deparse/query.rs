//! Queries, clause by clause.

use cairn_parser::token::quoted;
use cairn_parser::{
    self as ast, Expr, GroupItem, Id, LimitForm, List, Locking, Query, QueryBody, Row, SelectQuantifier, TableRef,
};

use super::node::{Node, Typed};
use super::text::{Deparser, INDENT, Level};
use crate::bind::queries::output_name::output_name;
use crate::sql::name_text;
use crate::types::DataType;

/// What PostgreSQL calls the rows of VALUES.
const VALUES: &str = "\"*VALUES*\"";

/// How a query's columns are told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown<'n> {
    /// Their names, where they are not those that it gives itself.
    pub(super) names: Option<&'n [String]>,
    /// As what literals are taken that say nothing of it.
    pub(super) types: Option<&'n [DataType]>,
    /// Somebody sees the names.
    pub(super) is_visible: bool,
}

/// A query's targets: their names, and what they are.
pub(super) type Targets = Vec<(String, Id<Expr>)>;

impl Deparser<'_> {
    pub(super) fn query(&mut self, query: Id<Query>, names: Option<&[String]>, is_visible: bool) -> Option<()> {
        self.shown_query(query, Shown { names, types: None, is_visible })
    }

    pub(super) fn shown_query(&mut self, id: Id<Query>, shown: Shown<'_>) -> Option<()> {
        let query = self.tree.get(id);
        let deep = self.chain_of(query.body);
        self.enter(deep)?;
        let written = self.query_within(query, shown);
        self.leave(deep);
        written
    }

    fn query_within(&mut self, query: Query, shown: Shown<'_>) -> Option<()> {
        let (indent, ctes) = (self.indent, self.ctes.len());
        let level = match self.tree.get(query.body) {
            QueryBody::Select { from, .. } => self.level_of(from)?,
            _ => Level::default(),
        };
        self.levels.push(level);
        let written = self.query_in_level(query, shown);
        self.levels.pop();
        self.ctes.truncate(ctes);
        self.indent = indent;
        written
    }

    /// How deep a query's UNIONs and joins are.
    fn chain_of(&self, body: Id<QueryBody>) -> usize {
        let (mut body, mut deep) = (self.tree.get(body), 1);
        while let QueryBody::SetOperation { left, .. } = body {
            body = self.tree.get(self.tree.get(left).body);
            deep += 1;
        }
        let QueryBody::Select { from, .. } = body else { return deep };
        let joins = |item| {
            let (mut item, mut deep) = (self.tree.get(item), 0);
            while let TableRef::Join { left, .. } = item {
                item = self.tree.get(left);
                deep += 1;
            }
            deep
        };
        deep + self.tree.list(from).map(joins).max().unwrap_or(0)
    }

    fn query_in_level(&mut self, query: Query, shown: Shown<'_>) -> Option<()> {
        if let Some(with) = query.with {
            self.with(self.tree.get(with))?;
        }
        let targets = match self.tree.get(query.body) {
            body @ QueryBody::Select { .. } => self.select(body, shown)?,
            QueryBody::Values { rows } => {
                self.indent += INDENT;
                self.say(" ");
                self.named_values(rows, shown)?;
                Vec::new()
            }
            body @ QueryBody::SetOperation { .. } => {
                let types = self.set_types(body);
                let shown = Shown { types: shown.types.or(types.as_deref()), ..shown };
                self.set_operation(body, shown)?;
                Vec::new()
            }
            QueryBody::Table { .. } => return None,
        };
        self.order_by(&query, &targets)?;
        if let Some(offset) = query.offset {
            self.keyword(" OFFSET ", -INDENT, INDENT, 0);
            self.count(offset)?;
        }
        match (query.limit_form, query.limit) {
            (LimitForm::Plain, None) => {}
            (LimitForm::All, _) => self.keyword(" LIMIT ALL", -INDENT, INDENT, 0),
            (LimitForm::Plain, Some(limit)) => {
                self.keyword(" LIMIT ", -INDENT, INDENT, 0);
                self.count(limit)?;
            }
            (LimitForm::WithTies, limit) => {
                self.keyword(" FETCH FIRST ", -INDENT, INDENT, 0);
                self.say("(");
                match limit {
                    Some(limit) => self.count(limit)?,
                    None => self.say("1"),
                }
                self.say(") ROWS WITH TIES");
            }
        }
        self.locking(query.locking)
    }

    /// How many rows.
    fn count(&mut self, expr: Id<Expr>) -> Option<()> {
        let value = self.taken_as(self.build(expr)?, DataType::BigInt);
        self.node(&value.node, false)
    }

    /// VALUES; from another SELECT where its columns have names that are not its own.
    fn named_values(&mut self, rows: List<Row>, shown: Shown<'_>) -> Option<()> {
        let own = |at: usize| format!("column{}", at + 1);
        let names = shown.names.unwrap_or_default();
        if names.iter().enumerate().all(|(at, name)| *name == own(at)) {
            return self.values(rows, shown.types);
        }
        self.say("SELECT");
        for (at, name) in names.iter().enumerate() {
            self.say(if at > 0 { ", " } else { " " });
            let alias = if *name == own(at) { String::new() } else { format!(" AS {}", quoted(name)) };
            self.put_wrapped(&format!("{VALUES}.{}{alias}", own(at)), at == 0, false);
        }
        self.keyword(" FROM ", -INDENT, INDENT, 2);
        self.say("(");
        self.values(rows, shown.types)?;
        self.say(&format!(") {VALUES}"));
        Some(())
    }

    fn order_by(&mut self, query: &Query, targets: &[(String, Id<Expr>)]) -> Option<()> {
        if query.order_by.is_empty() {
            return Some(());
        }
        self.keyword(" ORDER BY ", -INDENT, INDENT, 1);
        if let QueryBody::SetOperation { .. } | QueryBody::Values { .. } = self.tree.get(query.body) {
            let names = self.set_names(query.body)?;
            let is_values = matches!(self.tree.get(query.body), QueryBody::Values { .. });
            for (at, key) in self.tree.list(query.order_by).enumerate() {
                let number = match self.tree.get(self.tree.get(key).expr) {
                    Expr::Integer { text } => self.tree.text(text).to_owned(),
                    Expr::Column { names: column } => {
                        let name = name_text(self.tree, self.tree.list(column).next_back()?);
                        (names.iter().position(|known| known == name)? + 1).to_string()
                    }
                    _ => return None,
                };
                let direction = self.direction(key)?;
                self.say(if at > 0 { ", " } else { "" });
                self.say(if is_values { VALUES } else { "" });
                self.say(if is_values { ".column" } else { "" });
                self.say(&format!("{number}{direction}"));
            }
            return Some(());
        }
        let keys = self.sort_keys(query.order_by, targets)?;
        self.sorted(&keys)
    }

    /// What a key means: a target by its number or its name, or what it says.
    pub(super) fn meant(&self, expr: Id<Expr>, targets: &[(String, Id<Expr>)], names_first: bool) -> Id<Expr> {
        let found = match self.tree.get(expr) {
            Expr::Integer { text } => {
                let number = self.tree.text(text).parse::<usize>().ok();
                number.and_then(|number| targets.get(number.checked_sub(1)?))
            }
            Expr::Column { names } if self.tree.len(names) == 1 => self.tree.nth(names, 0).and_then(|name| {
                let is_column = self.facts.owners.contains_key(&name);
                let named = |target: &&(String, Id<Expr>)| target.0 == name_text(self.tree, name);
                targets.iter().find(named).filter(|_| names_first || !is_column)
            }),
            _ => None,
        };
        found.map_or(expr, |(_, target)| *target)
    }

    fn locking(&mut self, locking: List<Locking>) -> Option<()> {
        for lock in self.tree.list(locking) {
            let Locking { strength, tables, wait } = self.tree.get(lock);
            let word = match strength {
                ast::LockStrength::Update => " FOR UPDATE",
                ast::LockStrength::NoKeyUpdate => " FOR NO KEY UPDATE",
                ast::LockStrength::Share => " FOR SHARE",
                ast::LockStrength::KeyShare => " FOR KEY SHARE",
            };
            let named: Vec<String> = match tables.is_empty() {
                true => self
                    .levels
                    .last()?
                    .relations
                    .iter()
                    .filter(|it| it.item.is_some())
                    .map(|it| quoted(&it.shown))
                    .collect(),
                false => {
                    let names = self.tree.list(tables).map(|table| {
                        let parts = self.tree.get(table).parts;
                        let name = name_text(self.tree, self.tree.list(parts).next_back()?);
                        self.shown_relation(name, None).map(quoted)
                    });
                    names.collect::<Option<_>>()?
                }
            };
            for name in named {
                self.keyword(word, -INDENT, INDENT, 0);
                self.say(&format!(" OF {name}"));
                self.say(match wait {
                    None => "",
                    Some(ast::LockWait::NoWait) => " NOWAIT",
                    Some(ast::LockWait::SkipLocked) => " SKIP LOCKED",
                });
            }
        }
        Some(())
    }

    fn select(&mut self, body: QueryBody, shown: Shown<'_>) -> Option<Targets> {
        let QueryBody::Select {
            quantifier,
            distinct_on,
            targets,
            from,
            filter,
            group_by,
            group_distinct,
            having,
            windows,
            ..
        } = body
        else {
            return None;
        };
        let tree = self.tree;
        let named: Targets = tree
            .list(targets)
            .map(|target| {
                let ast::Target { expr, alias } = tree.get(target);
                let name = alias.map(|alias| name_text(tree, alias).to_owned());
                (name.unwrap_or_else(|| output_name(tree, expr)), expr)
            })
            .collect();
        self.indent += INDENT;
        self.say(" SELECT");
        match quantifier {
            SelectQuantifier::All => {}
            SelectQuantifier::Distinct => self.say(" DISTINCT"),
            SelectQuantifier::DistinctOn => {
                self.say(" DISTINCT ON (");
                let keys = tree.list(distinct_on).map(|key| self.key_of(self.meant(key, &named, true)));
                let keys = keys.collect::<Option<Vec<_>>>()?;
                self.keys(&keys)?;
                self.say(")");
            }
        }
        self.targets(&named, shown)?;
        self.from(from)?;
        if let Some(filter) = filter {
            self.keyword(" WHERE ", -INDENT, INDENT, 1);
            let condition = self.condition(filter)?;
            self.node(&condition, false)?;
        }
        if !group_by.is_empty() {
            self.keyword(" GROUP BY ", -INDENT, INDENT, 1);
            self.say(if group_distinct { "DISTINCT " } else { "" });
            self.group_items(group_by, &named, true)?;
        }
        if let Some(having) = having {
            self.keyword(" HAVING ", -INDENT, INDENT, 0);
            let condition = self.condition(having)?;
            self.node(&condition, false)?;
        }
        for (at, window) in tree.list(windows).enumerate() {
            let ast::WindowDefinition { name, spec } = tree.get(window);
            match at {
                0 => self.keyword(" WINDOW ", -INDENT, INDENT, 1),
                _ => self.say(", "),
            }
            self.say(&format!("{} AS ", quoted(name_text(tree, name))));
            let window = self.window(spec)?;
            self.window_text(&window)?;
        }
        Some(named)
    }

    fn key_of(&self, expr: Id<Expr>) -> Option<Node> {
        Some(self.known(self.build(expr)?).node)
    }

    fn group_items(&mut self, items: List<GroupItem>, targets: &[(String, Id<Expr>)], is_bare: bool) -> Option<()> {
        for (at, item) in self.tree.list(items).enumerate() {
            self.say(if at > 0 { ", " } else { "" });
            match self.tree.get(item) {
                GroupItem::Empty => self.say("()"),
                GroupItem::Expr { expr } => self.grouped(expr, targets, is_bare)?,
                GroupItem::Rollup { items } => self.grouped_list("ROLLUP(", items, targets)?,
                GroupItem::Cube { items } => self.grouped_list("CUBE(", items, targets)?,
                GroupItem::Sets { items } => {
                    self.say("GROUPING SETS (");
                    self.group_items(items, targets, false)?;
                    self.say(")");
                }
            }
        }
        Some(())
    }

    fn grouped_list(&mut self, open: &str, items: List<Expr>, targets: &[(String, Id<Expr>)]) -> Option<()> {
        self.say(open);
        for (at, item) in self.tree.list(items).enumerate() {
            self.say(if at > 0 { ", " } else { "" });
            self.grouped(item, targets, true)?;
        }
        self.say(")");
        Some(())
    }

    fn grouped(&mut self, expr: Id<Expr>, targets: &[(String, Id<Expr>)], is_bare: bool) -> Option<()> {
        let exprs: Vec<Id<Expr>> = match self.tree.get(expr) {
            Expr::Row { items, explicit: false } => self.tree.list(items).collect(),
            _ => vec![expr],
        };
        let keys = exprs.into_iter().map(|expr| self.key_of(self.meant(expr, targets, false)));
        let keys = keys.collect::<Option<Vec<_>>>()?;
        let bare = is_bare && keys.len() == 1;
        self.say(if bare { "" } else { "(" });
        self.keys(&keys)?;
        self.say(if bare { "" } else { ")" });
        Some(())
    }

    fn targets(&mut self, targets: &[(String, Id<Expr>)], shown: Shown<'_>) -> Option<()> {
        let mut after_lines = false;
        for (at, (name, expr)) in targets.iter().enumerate() {
            let value = self.build(*expr)?;
            let value = match shown.types.and_then(|types| types.get(at)) {
                Some(wanted) if value.is_unknown() => self.taken_as(value, *wanted),
                _ => self.known(value),
            };
            let name = shown.names.and_then(|names| names.get(at)).unwrap_or(name);
            self.say(if at > 0 { ", " } else { " " });
            let text = self.apart(|it| it.target(&value, name, shown.is_visible))?;
            self.put_wrapped(&text, at == 0, after_lines);
            after_lines = text.get(1..).is_some_and(|rest| rest.contains('\n'));
        }
        Some(())
    }

    fn target(&mut self, value: &Typed, name: &str, is_visible: bool) -> Option<()> {
        let own = match &value.node {
            Node::Column(text) if text.ends_with(".*") => {
                self.say(&format!("{text}::{}", self.type_name(value.data_type)));
                None
            }
            node => {
                self.node(node, true)?;
                match node {
                    Node::Column(text) => last_part(text),
                    _ if is_visible => None,
                    _ => Some("?column?".to_owned()),
                }
            }
        };
        if own.as_deref() != Some(name) {
            self.say(&format!(" AS {}", quoted(name)));
        }
        Some(())
    }
}

/// The name of a column that is written with its relation, or without.
fn last_part(text: &str) -> Option<String> {
    let parts = crate::sql::relation_name(text).ok()?;
    Some(parts.name)
}
