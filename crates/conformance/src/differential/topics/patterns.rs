//! Regular expressions and the patterns of SQL, made of pieces.

use super::super::Kind;
use super::super::expression::Expressions;

const PIECES: [&str; 26] = [
    "a",
    "b",
    "ab",
    ".",
    "[ab]",
    "[^a]",
    "[[:alpha:]]",
    "[[:digit:]_]",
    "\\d",
    "\\w",
    "\\s",
    "\\W",
    "(a|b)",
    "(?:ab|a)",
    "(b)(c)?",
    "(?=b)",
    "(?!z)",
    "\\m",
    "\\M",
    "\\y",
    "\\Y",
    "^",
    "$",
    "(a)\\1",
    "(?<=a)",
    "\\u00e9",
];

/// An advanced regular expression as a literal. Back references refer to a group that is there.
pub(super) fn expression(g: &mut Expressions<'_>) -> String {
    let mut text = String::new();
    let mut has_group = false;
    for _ in 0..1 + g.random.below(4) {
        let piece = *g.random.pick(&PIECES);
        // A group before it would take the number of the back reference.
        if piece.contains("\\1") && has_group {
            continue;
        }
        has_group |= piece.contains('(') && !piece.contains("(?");
        text += piece;
        let repeats = !piece.starts_with(['^', '$']) && !piece.starts_with("\\m") && !piece.starts_with("(?=");
        if repeats && piece.len() < 9 && !matches!(piece, "\\M" | "\\y" | "\\Y" | "(?!z)" | "(?<=a)" | "(a)\\1") {
            text += *g.random.pick(&["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?", "??"]);
        }
        if g.random.percent(10) {
            text += "|";
        }
    }
    format!("'{}{text}'", g.random.pick(&["", "", "", "(?i)", "***:"]))
}

/// A condition by a pattern.
pub(in super::super) fn test(g: &mut Expressions<'_>, depth: usize) -> String {
    let a = g.value(Kind::Text, depth);
    match g.random.below(6) {
        0..=3 => {
            let operator = *g.random.pick(&["~", "~*", "!~", "!~*"]);
            format!("({a} {operator} {})", expression(g))
        }
        4 => {
            let pattern = g.random.pick(&["%(a|b)%", "[a-m]_%", "a%", "(ab|x!_y)%", "_{2}", "%b+%"]);
            format!("({a} {} '{pattern}' ESCAPE '!')", g.random.pick(&["SIMILAR TO", "NOT SIMILAR TO"]))
        }
        _ => format!("regexp_like({a}, {}, '{}')", expression(g), g.random.pick(&["", "i", "n", "w"])),
    }
}

/// A text taken out of a text, or with parts of it replaced.
pub(in super::super) fn text(g: &mut Expressions<'_>, depth: usize) -> String {
    let a = g.value(Kind::Text, depth);
    let pattern = expression(g);
    match g.random.below(6) {
        0 => format!("substring({a} from {pattern})"),
        1 => {
            let by = g.random.pick(&["'<\\&>'", "''", "'\\\\'", "'x'", "'[\\1]'"]);
            format!("regexp_replace({a}, {pattern}, {by}, '{}')", g.random.pick(&["", "g", "gi", "n"]))
        }
        2 => format!("regexp_replace({a}, {pattern}, '_', {}, {})", g.random.between(1, 3), g.random.between(0, 2)),
        3 => format!("regexp_substr({a}, {pattern}, 1, {})", g.random.between(1, 2)),
        4 => format!("array_to_string(regexp_split_to_array({a}, {pattern}), '|', '-')"),
        _ => format!("array_to_string(regexp_match({a}, {pattern}), '|', '-')"),
    }
}
