//! What is accepted works: no field of the syntax tree is accepted that nobody looks at.
//!
//! Each field of each node of the statements in `fields.sql` is taken out of its tree, one at a time. What is left, where it can
//! be written, must for one of the statements become another plan, command or error, unless they are all refused as
//! unsupported (0A000) or as what PostgreSQL takes for bad syntax (42601). There is a statement for every field that a tree may have: a new one is not in the tree without one here.

use std::collections::BTreeMap;

use cairn_parser::{self as ast, FieldSort, NodeRef, Tree};

use super::fixture::catalog;
use crate::bind::{ParameterTypes, bind_statement};
use crate::catalog::Catalog;
use crate::command::{Command, CommandKind};
use crate::sql::{ParsedStatement, split_script};

const STATEMENTS: &str = include_str!("fields.sql");

/// Fields that are accepted and change nothing, and why that is right.
const HARMLESS: &[(&str, &str)] = &[
    ("ArrayBound.size", "how long an array may be is no part of its type, in PostgreSQL either"),
    ("Locking.strength", "transactions are serializable: no row is locked, however strongly"),
    ("Locking.tables", "the same; that they are there is looked at"),
    ("Relation.only", "no table has children"),
    ("TableRef::Function.lateral", "a function in FROM sees what stands before it with or without LATERAL"),
    ("TableRef::Table.only", "no table has children"),
];

/// Fields of types that only signatures of functions have.
const IN_SIGNATURES: &[&str] = &["TypeName.set_of", "TypeName.of_column", "Part::Names.names", "Part::From.tables"];

/// What came of leaving out a field.
#[derive(Default)]
struct Field {
    makes_a_difference: bool,
    /// Statements that say the same without it, though they are accepted, or refused for another reason.
    ignored_in: Vec<String>,
}

/// What a statement is bound to, or why not.
fn outcome(parsed: &ParsedStatement, catalog: &Catalog) -> String {
    let is_command = CommandKind::of(parsed).is_some_and(|kind| kind != CommandKind::Explain);
    let outcome = match is_command {
        true => Command::of(parsed).map(|command| format!("{command:?}")),
        false => bind_statement(parsed, catalog, &mut ParameterTypes::default()).map(|bound| format!("{bound:?}")),
    };
    outcome.unwrap_or_else(|error| format!("{} {error} {:?}", error.sqlstate().0, error.position()))
}

/// The statement with this tree, if it can be written.
fn written(parsed: &ParsedStatement, tree: Tree<'static>) -> Option<ParsedStatement> {
    let again = ParsedStatement::parse(&tree.print(parsed.statement), 0).ok()?;
    let root = |tree: &Tree<'static>, parsed: &ParsedStatement| tree.reference(parsed.statement);
    if !tree.same(root(&tree, parsed), &again.tree, root(&again.tree, &again)) {
        return None;
    }
    let mut left = parsed.clone();
    left.tree = tree;
    Some(left)
}

fn nodes(parsed: &ParsedStatement) -> Vec<NodeRef> {
    let mut nodes = vec![parsed.tree.reference(parsed.statement)];
    let mut next = 0;
    while next < nodes.len() {
        parsed.tree.children(nodes[next], |child| nodes.push(child));
        next += 1;
    }
    nodes
}

fn leave_out_each(text: &str, catalog: &Catalog, fields: &mut BTreeMap<String, Field>) {
    let parsed = ParsedStatement::parse(text, 0).unwrap_or_else(|error| panic!("{text}: {error}"));
    let whole = outcome(&parsed, catalog);
    let is_refused = whole.starts_with("0A000 ") || whole.starts_with("42601 ");
    for node in nodes(&parsed) {
        let info = parsed.tree.kind(node);
        for (place, (name, _)) in info.fields.iter().enumerate() {
            let Some(tree) = parsed.tree.without(node, place) else { continue };
            let field = fields.entry(format!("{}.{name}", info.name)).or_default();
            match written(&parsed, tree) {
                Some(left) if outcome(&left, catalog) != whole => field.makes_a_difference = true,
                Some(_) if !is_refused => field.ignored_in.push(text.to_owned()),
                _ => {}
            }
        }
    }
}

fn fields() -> BTreeMap<String, Field> {
    let (catalog, mut fields) = (catalog(), BTreeMap::new());
    for statement in split_script(STATEMENTS) {
        leave_out_each(statement.text, &catalog, &mut fields);
    }
    fields
}

#[test]
fn no_field_of_the_tree_is_accepted_and_ignored() {
    let ignored: BTreeMap<String, Vec<String>> = fields()
        .into_iter()
        .filter(|(_, field)| !field.makes_a_difference && !field.ignored_in.is_empty())
        .map(|(name, field)| (name, field.ignored_in))
        .collect();
    let names: Vec<&str> = ignored.keys().map(String::as_str).collect();
    let harmless: Vec<&str> = HARMLESS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, harmless, "{ignored:#?}");
}

#[test]
fn there_is_a_statement_for_every_field() {
    let fields = fields();
    let mut missing = vec![];
    for info in ast::kinds() {
        for (name, sort) in info.fields {
            let field = format!("{}.{name}", info.name);
            if !matches!(sort, FieldSort::Node | FieldSort::Text) && !fields.contains_key(&field) {
                missing.push(field);
            }
        }
    }
    assert_eq!(missing, IN_SIGNATURES);
}
