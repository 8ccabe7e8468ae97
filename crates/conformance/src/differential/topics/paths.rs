//! Queries of json paths, and assignments to parts of documents, arrays and rows.
//!
//! Left out: `.keyvalue()`, whose ids are places in PostgreSQL's own form of a document.

use super::super::Kind;
use super::super::case::Step;
use super::super::expression::Expressions;
use super::super::literal::literal;
use super::Block;

const STEPS: [&str; 17] = [
    ".a",
    ".b",
    ".*",
    "[*]",
    "[0]",
    "[last]",
    "[0 to 1]",
    "[1, 0]",
    ".**",
    ".**{1 to 2}",
    ".type()",
    ".size()",
    ".double()",
    ".abs()",
    ".floor()",
    ".\"a\"",
    "[last - 1]",
];

const FILTERS: [&str; 16] = [
    "@ > 1",
    "@.a == 1",
    "@.a == $x",
    "exists(@.a)",
    "@ like_regex \"^[ab]\"",
    "@ like_regex \"A\" flag \"i\"",
    "@ starts with \"a\"",
    "!(@ == null)",
    "@ == \"a\" || @ == 2",
    "@.a > 0 && @.b != 3",
    "(@ > 1) is unknown",
    "@ >= 1 && @ <= $x",
    "@.type() == \"number\"",
    "@ + 1 > 2",
    "@ % 2 == 1",
    "-@ < 0",
];

/// A path as a literal.
fn path(g: &mut Expressions<'_>) -> String {
    let mut text = (*g.random.pick(&["$", "$", "$", "lax $", "strict $"])).to_owned();
    for _ in 0..g.random.below(3) {
        text += *g.random.pick(&STEPS);
    }
    if g.random.percent(50) {
        text += &format!(" ? ({})", g.random.pick(&FILTERS));
    }
    if g.random.percent(20) {
        text += *g.random.pick(&STEPS);
    }
    format!("'{text}'")
}

/// What paths find in the documents of a table.
pub(in super::super) fn query(g: &mut Expressions<'_>, from: &str, alias: &str) -> String {
    let document = g.value(Kind::Jsonb, 1);
    let (path, silent) = (path(g), *g.random.pick(&["false", "true", "true"]));
    let rest = format!("{path}, '{{\"x\": 1}}', {silent})");
    match g.random.below(5) {
        0 => format!("SELECT {alias}.k, jsonb_path_exists({document}, {rest} FROM {from}"),
        1 => format!("SELECT {alias}.k, jsonb_path_query_array({document}, {rest} FROM {from}"),
        2 => format!("SELECT {alias}.k, jsonb_path_query_first({document}, {rest} FROM {from}"),
        3 => format!("SELECT {alias}.k, p FROM {from}, jsonb_path_query({document}, {rest} AS p"),
        _ => format!("SELECT {alias}.k, {document} @? {path} FROM {from}"),
    }
}

/// UPDATEs of parts: subscripts of documents and arrays, slices, fields.
pub(super) fn parts(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let table = b.table();
    let fitting = |column: &&super::ColumnSpec| {
        !column.in_key && !column.generated && (column.kind.has_entries() || column.kind == Kind::Pair)
    };
    let free: Vec<super::ColumnSpec> = table.columns.iter().filter(fitting).cloned().collect();
    if free.is_empty() {
        return None;
    }
    let mut steps = Vec::new();
    for _ in 0..1 + b.random.below(3) {
        let column = b.random.pick(&free).clone();
        let name = &column.name;
        let mut value = |kind| literal(b.random, kind, b.dialect());
        let (integer, text, document) = (value(Kind::Integer), value(Kind::Text), value(Kind::Jsonb));
        let (mood, pair) = (value(Kind::Mood), value(Kind::Pair));
        let index = b.random.between(-1, 4);
        let assigned = match column.kind {
            Kind::Jsonb => {
                let subscripts = *b.random.pick(&["['a']", "['b']['c']", "[0]", "['a'][1]", "[-1]", "['b'][2]['x']"]);
                format!("{name}{subscripts} = {document}")
            }
            Kind::Integers if b.random.percent(30) => format!("{name}[{index}:{}] = '{{7,8}}'", index + 1),
            Kind::Integers => format!("{name}[{index}] = {integer}"),
            Kind::Texts => format!("{name}[{index}] = {text}"),
            Kind::Moods => format!("{name}[{index}] = {mood}"),
            Kind::Pairs if b.random.percent(50) => format!("{name}[{index}].a = {integer}"),
            Kind::Pairs => format!("{name}[{index}] = {pair}"),
            _ if b.random.percent(50) => format!("{name}.a = {integer}, {name}.b = {text}"),
            _ => format!("{name}.b = {text}"),
        };
        let low = b.random.between(-9, 20);
        let returning = if b.random.percent(50) { format!(" RETURNING k, {name}") } else { String::new() };
        let high = low + 8;
        steps.push(Step::change(format!(
            "UPDATE {} SET {assigned} WHERE k BETWEEN {low} AND {high}{returning}",
            table.name
        )));
    }
    Some(steps)
}
