//! What is accepted works: no part of a command is accepted that nobody looks at.
//!
//! The parser gives a statement for everything that its grammar leaves open. From the tree of each, every run of parts is
//! taken out that may be left out; unless the command is refused as unsupported (0A000) or as bad syntax (42601), it must
//! become another command without it. (`bind/tests/fields.rs` does the same for queries and changes of rows. That a
//! command's fields are read, the compiler says.)

use std::collections::BTreeMap;

use cairn_parser::{NodeRef, Parts, Tree, command_examples};

use super::{Command, CommandKind, Explain};
use crate::reference::WITHOUT_EFFECT;
use crate::sql::ParsedStatement;

/// Examples with more than one thing to say.
const MORE: &[&str] = &[
    "COPY t FROM STDIN WHERE a > 1",
    "CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS 'a', 'b'",
    "DO 's' LANGUAGE plpgsql",
];

/// What makes one of the examples complete.
const COMPLETIONS: &[&str] = &["", " LANGUAGE sql AS 's'", " LANGUAGE sql"];

/// What need not be said: why, and for each rule of the grammar the words. What else has no effect stands in the reference.
const NEEDLESS: &[(&str, Said)] = &[
    (
        "a word that says nothing",
        &[
            ("abort", &["TRANSACTION", "WORK"]),
            ("alter_column", &["SET DATA"]),
            ("argument", &["IN"]),
            ("begin", &["TRANSACTION", "WORK"]),
            ("commit", &["TRANSACTION", "WORK"]),
            ("copy", &["WITH"]),
            ("copy_old_option", &["AS"]),
            ("create_domain", &["AS"]),
            ("create_trigger", &["EACH"]),
            ("deallocate", &["PREPARE"]),
            ("do", &["LANGUAGE plpgsql"]),
            ("fetch_arguments", &["FORWARD", "NEXT"]),
            ("from_cursor", &["FROM", "IN"]),
            ("function_property", &["EXTERNAL"]),
            ("identity_option", &["WITH"]),
            ("number", &["+"]),
            ("release", &["SAVEPOINT"]),
            ("rename_column", &["COLUMN"]),
            ("rollback", &["TRANSACTION", "WORK"]),
            ("rollback_to", &["SAVEPOINT", "TRANSACTION", "WORK"]),
            ("routine_body", &[";"]),
            ("sequence_option", &["BY", "WITH"]),
            ("set", &["SESSION"]),
            ("signed_integer", &["+"]),
            ("table_command", &["COLUMN"]),
            ("transition", &["AS"]),
            ("truncate", &["TABLE"]),
            ("type_command", &["SET DATA"]),
        ],
    ),
    (
        "so it is anyway",
        &[
            ("abort", &["AND NO CHAIN"]),
            ("alter_domain", &["RESTRICT"]),
            ("alter_type", &["RESTRICT"]),
            ("check_option", &["CASCADED"]),
            ("check_rule", &["INITIALLY IMMEDIATE", "NOT DEFERRABLE"]),
            ("column_rule", &["NULLS DISTINCT"]),
            ("commit", &["AND NO CHAIN"]),
            ("create_constraint_trigger", &["INITIALLY IMMEDIATE", "NOT DEFERRABLE"]),
            ("create_function", &["CALLED ON NULL INPUT", "VOLATILE"]),
            ("create_index", &["NULLS DISTINCT"]),
            ("create_materialized_view", &["WITH DATA"]),
            ("create_table_as", &["WITH DATA", "WITHOUT OIDS"]),
            ("create_table", &["WITHOUT OIDS"]),
            ("create_trigger", &["FOR STATEMENT"]),
            ("declare_cursor", &["ASENSITIVE", "INSENSITIVE", "WITHOUT HOLD"]),
            ("drop", &["RESTRICT"]),
            ("drop_aggregate", &["RESTRICT"]),
            ("drop_function", &["RESTRICT"]),
            ("foreign_key_rule", &["INITIALLY IMMEDIATE", "NOT DEFERRABLE"]),
            ("generated_from", &["virtual"]),
            ("index_element", &["ASC", "NULLS LAST"]),
            ("like", &["EXCLUDING ALL"]),
            ("primary_key_rule", &["INITIALLY IMMEDIATE", "NOT DEFERRABLE"]),
            ("references", &["MATCH SIMPLE", "ON DELETE NO ACTION", "ON UPDATE NO ACTION"]),
            ("refresh", &["WITH DATA"]),
            ("rollback", &["AND NO CHAIN"]),
            ("set_rest_more", &["DEFAULT"]),
            ("table_command", &["INITIALLY IMMEDIATE", "NOT DEFERRABLE", "RESTRICT"]),
            ("truncate", &["CONTINUE IDENTITY", "RESTRICT"]),
            ("type_command", &["RESTRICT"]),
            ("unique_rule", &["INITIALLY IMMEDIATE", "NOT DEFERRABLE", "NULLS DISTINCT"]),
        ],
    ),
    (
        "it is said twice, or once more what the other part said",
        &[
            ("check_rule", &["NOT VALID"]),
            ("column", &["NULL"]),
            ("create_domain", &["CONSTRAINT a NULL", "NULL"]),
            ("declare_cursor", &["SCROLL"]),
            ("foreign_key_rule", &["NOT VALID"]),
            ("like", &["ALL INCLUDING", "INCLUDING ALL"]),
            ("set", &["LOCAL"]),
            ("transaction_modes", &["READ ONLY"]),
        ],
    ),
    ("what is no constraint keeps no name, in PostgreSQL 15 either", &[("column_constraint", &["CONSTRAINT a"])]),
    (
        "a function is told from others by the types of what goes into it",
        &[
            ("argument", &["IN OUT", "INOUT", "VARIADIC", "a"]),
            ("argument_mode", &["OUT"]),
            ("function_signature", &["OUT a integer", "OUT integer", "a OUT integer"]),
        ],
    ),
    (
        "nothing depends on it",
        &[("alter_domain", &["CASCADE"]), ("alter_type", &["CASCADE"]), ("type_command", &["CASCADE"])],
    ),
    ("a temporary table is the session's, in PostgreSQL too", &[("temporary", &["GLOBAL", "LOCAL"])]),
];

/// Where a rule's parts are among its fields.
const PARTS: usize = 1;

/// What becomes of a statement that is accepted.
fn command_of(parsed: &ParsedStatement) -> Option<String> {
    match CommandKind::of(parsed)? {
        CommandKind::Explain => Explain::of(parsed).ok().map(|explain| format!("{explain:?}")),
        _ => Command::of(parsed).ok().map(|command| format!("{command:?}")),
    }
}

/// The statement with this tree, if it can be written.
fn written(parsed: &ParsedStatement, tree: Tree<'static>) -> Option<ParsedStatement> {
    let again = ParsedStatement::parse(&tree.print(parsed.statement), 0).ok()?;
    if !tree.same(tree.reference(parsed.statement), &again.tree, again.tree.reference(again.statement)) {
        return None;
    }
    let mut left = parsed.clone();
    left.tree = tree;
    Some(left)
}

/// The rules of a command, each with the places of its parts.
fn rules(tree: &Tree<'_>) -> Vec<(NodeRef, Vec<NodeRef>)> {
    let rules = tree.nodes().filter(|node| tree.kind(*node).name == "Part::Rule");
    let parts = |node: NodeRef| {
        let mut parts = vec![];
        tree.children(node, |part| parts.push(part));
        (node, parts)
    };
    rules.map(parts).collect()
}

/// The parts from `from` to before `to` of a rule, as they are written.
fn run_text(parsed: &ParsedStatement, parts: &[NodeRef]) -> String {
    let (start, end) = (parsed.tree.place(parts[0]).start, parsed.tree.place(parts[parts.len() - 1]).end);
    let text = &parsed.tree.source()[start as usize..end as usize];
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without(tree: &Tree<'static>, rule: NodeRef, from: usize, to: usize) -> Option<Tree<'static>> {
    (from..to).try_fold(tree.clone(), |tree, _| tree.without_item(rule, PARTS, from))
}

/// What is said in a command and changes nothing: the rule, and the words.
fn ignored_in(text: &str) -> Vec<(String, String)> {
    let Ok(parsed) = ParsedStatement::parse(text, 0) else { return vec![] };
    let (Some(whole), Some(command)) = (command_of(&parsed), parsed.command()) else { return vec![] };
    let mut ignored = vec![];
    for (rule, parts) in rules(&parsed.tree) {
        let name = match command.name() {
            command if commands_without_effect().any(|name| name == command) => command,
            _ => Parts::of_reference(&parsed.tree, rule).map_or("", |parts| parts.name()),
        };
        for from in 0..parts.len() {
            let is_same = |to: &usize| {
                let left = without(&parsed.tree, rule, from, *to).and_then(|tree| written(&parsed, tree));
                left.is_some_and(|left| command_of(&left).as_ref() == Some(&whole))
            };
            // What is longer is this and what stands behind it.
            if let Some(to) = (from + 1..=parts.len()).find(is_same) {
                ignored.push((name.to_owned(), run_text(&parsed, &parts[from..to])));
            }
        }
    }
    ignored.retain(|(_, text)| !text.ends_with([',', '.']));
    ignored
}

#[test]
fn no_part_of_a_command_is_accepted_and_ignored() {
    let complete = |text: String| COMPLETIONS.iter().map(move |more| format!("{text}{more}"));
    let examples = command_examples().into_iter().flat_map(complete);
    let mut ignored: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for text in examples.chain(MORE.iter().map(|text| (*text).to_owned())) {
        for (rule, words) in ignored_in(&text) {
            ignored.entry(rule).or_default().insert(words, text.clone());
        }
    }
    for rule in commands_without_effect() {
        assert!(ignored.remove(rule).is_some(), "{rule} has an effect now");
    }
    let listed = WITHOUT_EFFECT.iter().map(|known| (known.why, known.said)).chain(NEEDLESS.iter().copied());
    for (why, rule, words) in listed.flat_map(|(why, said)| each_of(why, said)) {
        let texts = ignored.get_mut(rule).and_then(|texts| texts.remove(words));
        assert!(texts.is_some(), "{rule}: {words} has an effect now, though {why}");
    }
    ignored.retain(|_, texts| !texts.is_empty());
    assert!(ignored.is_empty(), "accepted, and ignored: {ignored:#?}");
}

type Said = &'static [(&'static str, &'static [&'static str])];

fn each_of(why: &'static str, said: Said) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    said.iter().flat_map(move |(rule, texts)| texts.iter().map(move |words| (why, *rule, *words)))
}

fn commands_without_effect() -> impl Iterator<Item = &'static str> {
    let said = WITHOUT_EFFECT.iter().flat_map(|known| known.said);
    said.filter(|(_, words)| words.is_empty()).map(|(command, _)| *command)
}
