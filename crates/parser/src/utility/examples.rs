//! A statement for everything that the grammar of the utility commands leaves open, for tests that ask what becomes of it.
//!
//! A command's shortest form stands for it; each other form departs from that in one place: an alternative taken, a part
//! that may be left out said, a list with a second item. What the grammar's text takes and the checks behind it refuse
//! is among them.

use super::grammar::{Grammar, Step};
use super::leaf::Leaf;
use super::view::keyword_text;

/// Statements of every command, each form once.
pub fn command_examples() -> Vec<String> {
    let grammar = Grammar::get();
    let own = grammar.all_own_commands().flat_map(|(name, command)| {
        let behind_name = |form: String| form.trim_start().strip_prefix(text(Leaf::Ident)).map(str::to_owned);
        forms(grammar, command).into_iter().filter_map(behind_name).map(move |rest| format!("{name}{rest}"))
    });
    let mut texts: Vec<String> =
        grammar.all_commands().flat_map(|command| forms(grammar, command)).chain(own).collect();
    texts.sort();
    texts.dedup();
    texts
}

/// Each form of a step, as text.
fn forms(grammar: &Grammar, step: &Step) -> Vec<String> {
    match step {
        Step::Token(_) | Step::Leaf(_) => vec![shortest(grammar, step)],
        Step::Not(_) => vec![String::new()],
        Step::Rule(number) => forms(grammar, grammar.rule(*number)),
        Step::FirstOf(steps) => steps.iter().flat_map(|step| forms(grammar, step)).collect(),
        Step::Optional(step) => with(String::new(), forms(grammar, step)),
        Step::Commas(step) => with(twice(grammar, step, ", "), forms(grammar, step)),
        Step::Repeated(step, 0) => with(String::new(), with(twice(grammar, step, " "), forms(grammar, step))),
        Step::Repeated(step, _) => with(twice(grammar, step, " "), forms(grammar, step)),
        Step::All(steps) => (0..steps.len()).flat_map(|place| forms_at(grammar, steps, place)).collect(),
    }
}

fn with(one: String, mut others: Vec<String>) -> Vec<String> {
    others.push(one);
    others
}

fn twice(grammar: &Grammar, step: &Step, between: &str) -> String {
    [shortest(grammar, step), shortest(grammar, step)].join(between)
}

/// The forms of one of the steps, between the shortest ones of the others.
fn forms_at(grammar: &Grammar, steps: &[Step], place: usize) -> Vec<String> {
    let plain = |steps: &[Step]| steps.iter().map(|step| shortest(grammar, step)).collect::<Vec<_>>().join(" ");
    let (before, behind) = (plain(&steps[..place]), plain(&steps[place + 1..]));
    forms(grammar, &steps[place]).iter().map(|form| format!("{before} {form} {behind}")).collect()
}

fn shortest(grammar: &Grammar, step: &Step) -> String {
    match step {
        Step::Token(kind) => keyword_text(*kind as u32),
        Step::Leaf(leaf) => text(*leaf).to_owned(),
        Step::Rule(number) => shortest(grammar, grammar.rule(*number)),
        Step::All(steps) => steps.iter().map(|step| shortest(grammar, step)).collect::<Vec<_>>().join(" "),
        Step::FirstOf(steps) => {
            steps.iter().map(|step| shortest(grammar, step)).min_by_key(String::len).unwrap_or_default()
        }
        Step::Optional(_) | Step::Repeated(_, 0) | Step::Not(_) => String::new(),
        Step::Repeated(step, _) | Step::Commas(step) => shortest(grammar, step),
    }
}

/// One of what a leaf may be.
fn text(leaf: Leaf) -> &'static str {
    match leaf {
        Leaf::Name | Leaf::Label | Leaf::Word | Leaf::FunctionWord | Leaf::Ident => "a",
        Leaf::FunctionName | Leaf::FunctionReference | Leaf::TableName | Leaf::Relation | Leaf::FromList => "t",
        Leaf::Virtual => "virtual",
        Leaf::Reserved => "NULL",
        Leaf::String | Leaf::PlainString => "'s'",
        // No number that is so without being said.
        Leaf::Integer | Leaf::UnsignedNumber => "2",
        Leaf::Operator | Leaf::QualifiedOperator => "+",
        Leaf::Expr | Leaf::RestrictedExpr => "1",
        Leaf::FunctionCall | Leaf::PlainCall => "f()",
        Leaf::Type | Leaf::SimpleType | Leaf::FunctionType => "integer",
        Leaf::Query | Leaf::DataStatement | Leaf::Statement => "SELECT 1",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Options, parse_statement};

    /// Those that the checks behind the grammar refuse, that take departing in two places, and the list of commands.
    const NEVER_READ: &[&str] = &[
        "command",
        "interval_second",
        "copy_where",
        "hash_bound",
        "hash_bound_element",
        "policy_kind",
        "create_assertion",
        "role_flag",
        "extension_from",
        "own",
    ];

    fn rules_of(text: &str) -> Vec<&'static str> {
        let Ok(Some(parsed)) = parse_statement(text, Options::default()) else { return Vec::new() };
        let tree = &parsed.tree;
        let rules = tree.nodes().map(|node| (node, tree.kind(node))).filter(|(_, kind)| kind.name == "Part::Rule");
        rules.map(|(node, kind)| Grammar::get().name(tree.field_words(node, kind)[0])).collect()
    }

    #[test]
    fn there_is_one_that_can_be_read_for_every_rule() {
        let read: BTreeSet<&str> = command_examples().iter().flat_map(|text| rules_of(text)).collect();
        let missing: Vec<&str> = Grammar::get().names.iter().copied().filter(|name| !read.contains(name)).collect();
        assert_eq!(missing, NEVER_READ);
    }
}
