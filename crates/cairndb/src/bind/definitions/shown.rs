//! Definitions as they would be written now: what was renamed since stands under its new name.

use cairn_parser::token::fold_identifier;
use cairn_parser::token::quoted;
use cairn_parser::{Id, List, NodeRef, Query, QueryBody, Span, Target, Tree};

use super::definition::is_unchanged;
use crate::bind::queries::output_name::output_name;
use crate::catalog::{Catalog, Column, Definition, KnownColumn, Reference, Routine, Table, UserType, View};
use crate::sql;

impl Catalog {
    /// A definition as it would be written now. It means the same, also where another table got a name that it uses.
    pub fn text_of(&self, definition: &Definition) -> String {
        let text = &definition.text;
        let Some((tree, root)) = parsed(text) else { return text.clone() };
        let all = definition.references();
        let taken: Vec<&str> = all.iter().flat_map(|reference| &reference.columns).map(|c| c.name.as_str()).collect();
        let changed = |reference: &Reference| self.renamed(&tree, root, reference, &taken);
        let mut changes: Vec<(Span, String)> = all.iter().filter_map(changed).collect();
        if changes.is_empty() {
            return text.clone();
        }
        schemas_of_columns(&tree, root, |span| changes.push((span, String::new())));
        changes.sort_by_key(|(span, _)| span.start);
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        for (span, new) in changes {
            out.push_str(text.get(done..span.start as usize).unwrap_or_default());
            out.push_str(&new);
            done = span.end as usize;
        }
        out.push_str(text.get(done..).unwrap_or_default());
        out
    }

    /// Whether a definition would be written as it was, but for columns that its tables got since.
    pub(in crate::bind) fn is_as_written(&self, definition: &Definition) -> bool {
        let is_longer = |reference: &&Reference| {
            let found = self.table_by_id(reference.object).zip(reference.columns.last());
            found.is_none_or(|(table, _)| {
                let mut known = reference.columns.iter().zip(&table.columns);
                table.columns.len() <= reference.columns.len()
                    || !known.all(|(known, now)| known.number == now.number && known.name == now.name)
                    || self.shown(table.schema, &table.name).contains('.')
            })
        };
        let rest: Vec<Reference> = definition.references().iter().filter(is_longer).cloned().collect();
        let text = definition.text.clone();
        self.text_of(&Definition { text, references: Some(rest) }) == definition.text
    }

    /// A view's query as it would be written now, giving its columns the names that they have in the view.
    pub(crate) fn view_text(&self, view: &View) -> String {
        let text = self.text_of(&view.query);
        with_names(&text, &view.columns).unwrap_or(text)
    }

    /// What is to stand for a reference, and in which place of the text; `None`: it stands there.
    fn renamed(&self, tree: &Tree<'_>, root: NodeRef, reference: &Reference, taken: &[&str]) -> Option<(Span, String)> {
        let sequence = self.sequence_by_id(reference.object);
        if let Some(sequence) = sequence
            && let Some(constant) = node_at(tree, root, "Expr::String", reference.place)
        {
            let now = format!("'{}'", self.shown(sequence.schema, &sequence.name).replace('\'', "''"));
            return (written(tree, constant) != now).then(|| (tree.place(constant), now));
        }
        if let Some(of) = self.type_by_id(reference.object) {
            return match reference.columns.first() {
                Some(known) => {
                    let label = of.labels().iter().find(|label| label.oid == known.number)?;
                    let constant = node_at(tree, root, "Expr::String", reference.place)?;
                    let now = format!("'{}'", label.name.replace('\'', "''"));
                    (label.name != known.name).then(|| (tree.place(constant), now))
                }
                None => self.renamed_type(tree, node_at(tree, root, "TypeName", reference.place)?, of),
            };
        }
        let (table, view) = (self.table_by_id(reference.object), self.view_by_id(reference.object));
        if table.is_none() && view.is_none() && sequence.is_none() {
            let routine = self.routine_by_id(reference.object)?.routine()?;
            return self.renamed_routine(tree, node_at(tree, root, "Expr::Call", reference.place)?, routine);
        }
        let table_name = table.map(|table| (table.schema, &table.name));
        let (schema, name) = table_name
            .or(view.map(|view| (view.schema, &view.name)))
            .or(sequence.map(|sequence| (sequence.schema, &sequence.name)))?;
        let item = node_at(tree, root, "TableRef::Table", reference.place)?;
        let (parts, alias, given) = parts_of(tree, item)?;
        let then = parts.last()?;
        let is_same = match (table, view) {
            (Some(table), _) => is_unchanged(reference, table),
            (None, Some(view)) => reference.columns.iter().zip(&view.columns).all(|(known, now)| known.name == *now),
            (None, None) => true,
        };
        let is_found =
            self.relation(&sql::object_name(parts.clone()).ok()?).is_some_and(|now| now.id() == reference.object);
        if then == name && is_found && is_same {
            return None;
        }
        let columns = shown_columns(reference, table.map(|table| &**table), &given, taken);
        let has_columns = !(columns.is_empty() || is_same && given.is_empty());
        let mut out = self.shown(schema, name);
        // What has no other name keeps its own, with its schema or without.
        if alias.is_some() || then != name || has_columns {
            out = format!("{out} AS {}", quoted(alias.as_ref().unwrap_or(then)));
        }
        if has_columns {
            out = format!("{out} ({})", columns.join(", "));
        }
        Some((tree.place(item), out))
    }
}

impl Catalog {
    /// What is to stand for a type's name.
    fn renamed_type(&self, tree: &Tree<'_>, node: NodeRef, of: &UserType) -> Option<(Span, String)> {
        let mut names = Vec::new();
        tree.children(node, |name| names.push(name));
        let names: Vec<NodeRef> = names.into_iter().filter(|name| tree.kind(*name).name == "Name").collect();
        let parts: Vec<String> = names.iter().map(|name| said(written(tree, *name))).collect();
        let found = match parts.as_slice() {
            [name] => self.user_type(None, name, |_, _| {}),
            [schema, name] => self.user_type(Some(schema), name, |_, _| {}),
            _ => Ok(None),
        };
        if found.ok().flatten().is_some_and(|found| found.id == of.id) {
            return None;
        }
        let (first, last) = (tree.place(*names.first()?), tree.place(*names.last()?));
        Some((Span { start: first.start, end: last.end }, self.shown_type(of)))
    }
}

impl Catalog {
    /// What is to stand for the name of a function that is called.
    fn renamed_routine(&self, tree: &Tree<'_>, call: NodeRef, routine: &Routine) -> Option<(Span, String)> {
        let mut names = Vec::new();
        tree.children(call, |name| names.push(name));
        // One that has its schema is found by it.
        let is_name = |node: &NodeRef| tree.kind(*node).name == "Name";
        let [name] = *names.into_iter().take_while(is_name).collect::<Vec<_>>() else { return None };
        let now = self.routine_name(routine);
        (said(&now) != said(written(tree, name))).then(|| (tree.place(name), now))
    }
}

/// A query's or an expression's tree.
fn parsed(text: &str) -> Option<(Tree<'static>, NodeRef)> {
    if let Ok(parsed) = sql::parse_query(text) {
        let root = parsed.tree.reference(parsed.query);
        return Some((parsed.tree, root));
    }
    let parsed = sql::parse_expression(text).ok()?;
    let root = parsed.tree.reference(parsed.expr);
    Some((parsed.tree, root))
}

/// The node of this kind that begins here.
fn node_at(tree: &Tree<'_>, root: NodeRef, kind: &str, place: u32) -> Option<NodeRef> {
    let mut left = vec![root];
    while let Some(node) = left.pop() {
        if tree.kind(node).name == kind && tree.place(node).start == place {
            return Some(node);
        }
        tree.children(node, |child| left.push(child));
    }
    None
}

/// The schemas before columns, `public.` of `public.t.a`: they can not stand before an alias.
fn schemas_of_columns(tree: &Tree<'_>, root: NodeRef, mut found: impl FnMut(Span)) {
    let mut left = vec![root];
    while let Some(node) = left.pop() {
        let mut parts = Vec::new();
        tree.children(node, |child| parts.push(child));
        if let ("Expr::Column", [schema, table, _]) = (tree.kind(node).name, parts.as_slice()) {
            found(Span { start: tree.place(*schema).start, end: tree.place(*table).start });
        } else {
            left.extend(parts);
        }
    }
}

/// Of an item of FROM the relation's name as it stands there, the alias, and the names that it gives to columns.
fn parts_of(tree: &Tree<'_>, item: NodeRef) -> Option<(Vec<String>, Option<String>, Vec<String>)> {
    let names_of = |node: NodeRef| {
        let mut names = Vec::new();
        tree.children(node, |name| names.push(said(written(tree, name))));
        names
    };
    let mut parts = Vec::new();
    tree.children(item, |part| parts.push(part));
    let name = names_of(*parts.first()?);
    let mut alias = parts.get(1).map(|alias| names_of(*alias)).unwrap_or_default().into_iter();
    Some((name, alias.next(), alias.collect()))
}

/// The query under these names for its columns; `None`: it gives them. Where something in it may mean a column by the name that
/// it has there, the names stand around it.
fn with_names(text: &str, names: &[String]) -> Option<String> {
    let parsed = sql::parse_query(text).ok()?;
    let tree = &parsed.tree;
    let Query { order_by, .. } = tree.get(parsed.query);
    let (mut query, mut is_plain) = (parsed.query, order_by.is_empty());
    let targets = loop {
        match tree.get(tree.get(query).body) {
            QueryBody::SetOperation { left, .. } => query = left,
            QueryBody::Select { targets, distinct_on, group_by, .. } => {
                is_plain &= tree.get(query).order_by.is_empty() && distinct_on.is_empty() && group_by.is_empty();
                break targets;
            }
            _ => {
                is_plain = false;
                break List::EMPTY;
            }
        }
    };
    let targets: Vec<Id<Target>> = tree.list(targets).collect();
    if is_plain && targets.len() == names.len() {
        return with_aliases(text, tree, &targets, names);
    }
    let is_named = |(target, name): (&Id<Target>, &String)| name_of_target(tree, *target) == *name;
    if targets.len() == names.len() && targets.iter().zip(names).all(is_named) {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| quoted(name).to_string()).collect();
    let columns: Vec<String> = names.iter().map(|name| format!("named.{name}")).collect();
    Some(format!("SELECT {} FROM ({text}) AS named ({})", columns.join(", "), names.join(", ")))
}

fn with_aliases(text: &str, tree: &Tree<'_>, targets: &[Id<Target>], names: &[String]) -> Option<String> {
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    let others = targets.iter().zip(names).filter(|(target, name)| name_of_target(tree, **target) != **name);
    for (target, name) in others {
        let (from, new) = match tree.get(*target).alias.map(|alias| tree.span(alias)) {
            Some(alias) => (alias, quoted(name).to_string()),
            None => {
                let whole = tree.span(*target);
                (Span { start: whole.end, ..whole }, format!(" AS {}", quoted(name)))
            }
        };
        out.push_str(text.get(done..from.start as usize)?);
        out.push_str(&new);
        done = from.end as usize;
    }
    out.push_str(text.get(done..)?);
    (done > 0).then_some(out)
}

fn name_of_target(tree: &Tree<'_>, target: Id<Target>) -> String {
    let Target { expr, alias } = tree.get(target);
    alias.map_or_else(|| output_name(tree, expr), |alias| sql::name_text(tree, alias).to_owned())
}

/// The names for the relation's columns: those that it had and still has, and behind them such that nobody uses.
fn shown_columns(reference: &Reference, table: Option<&Table>, given: &[String], taken: &[&str]) -> Vec<String> {
    let is_there = |known: &KnownColumn| table.is_none_or(|table| table.position_of_number(known.number).is_some());
    let name = |(at, known): (usize, &KnownColumn)| quoted(given.get(at).unwrap_or(&known.name));
    let known = reference.columns.iter().enumerate().filter(|(_, known)| is_there(known)).map(name);
    let is_new = |column: &&Column| reference.columns.iter().all(|known| known.number != column.number);
    let free = |name: &String| !taken.contains(&name.as_str()) && !given.contains(name);
    let added = table.into_iter().flat_map(|table| &table.columns).filter(is_new).map(|column| {
        let numbered = (1..).map(|number| format!("{}_{number}", column.name));
        quoted(&std::iter::once(column.name.clone()).chain(numbered).find(free).unwrap_or_default())
    });
    known.chain(added).collect()
}

fn written<'t>(tree: &'t Tree<'_>, node: NodeRef) -> &'t str {
    let span = tree.place(node);
    tree.source().get(span.start as usize..span.end as usize).unwrap_or_default()
}

/// What a written name says.
pub(crate) fn said(written: &str) -> String {
    match written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => fold_identifier(written),
    }
}
