//! Statements spoiled: a token left out, put in, doubled, moved or replaced, the text cut or a character changed.

/// A small generator of random numbers (xorshift), the same ones for the same seed.
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % limit as u64) as usize
    }
}

/// What is put in: what opens, closes, joins, names and counts, and words of each class.
const STRANGERS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    ";",
    ":",
    "::",
    ":=",
    "=>",
    "..",
    "+",
    "-",
    "*",
    "/",
    "^",
    "=",
    "<",
    "<>",
    "||",
    "'s'",
    "E'\\x'",
    "'",
    "\"",
    "\"q\"",
    "\"\"",
    "$1",
    "$$d$$",
    "$",
    "1",
    "1.5",
    "1e",
    "123abc",
    "0x1F",
    "1_000",
    "x'1'",
    "b'2'",
    "a",
    "select",
    "from",
    "where",
    "not",
    "null",
    "in",
    "is",
    "and",
    "or",
    "between",
    "like",
    "as",
    "on",
    "table",
    "values",
    "int",
    "interval",
    "left",
    "name",
    "with",
    "nulls",
    "first",
    "collate",
    "operator",
    "set",
    "default",
    "all",
    "--",
    "/*",
    "*/",
    "U&'\\00'",
    "U&\"x\"",
    "uescape",
    "overlaps",
    "array",
    "row",
    "case",
    "when",
    "end",
    "filter",
    "within",
    "group",
    "by",
    "order",
    "limit",
    "using",
    "returning",
    "into",
    "only",
    "cascade",
    "if",
    "exists",
    "to",
    "do",
    "@",
    "?",
    "!",
];

/// The tokens with one to three of them spoiled, as text.
pub fn mutated(tokens: &[String], random: &mut Random) -> String {
    let mut tokens = tokens.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(tokens.len().max(1));
        let next = (at + 1) % tokens.len().max(1);
        let stranger = STRANGERS[random.below(STRANGERS.len())].to_owned();
        match random.below(6) {
            0 | 1 if !tokens.is_empty() => drop(tokens.remove(at)),
            2 => tokens.insert(at, stranger),
            3 if !tokens.is_empty() => tokens[at] = stranger,
            4 if !tokens.is_empty() => tokens.insert(at, tokens[at].clone()),
            5 if tokens.len() > 1 => tokens.swap(at, next),
            _ => tokens.truncate(at),
        }
    }
    // Two that stand together may become one.
    if random.below(4) == 0 && tokens.len() > 1 {
        let at = random.below(tokens.len() - 1);
        let behind = tokens.remove(at + 1);
        tokens[at].push_str(&behind);
    }
    joined(&tokens, random)
}

/// The tokens as text.
pub fn joined(tokens: &[String], random: &mut Random) -> String {
    let mut text = String::new();
    for token in tokens {
        match random.below(24) {
            0 => text.push('\n'),
            1 => text.push_str(" /* c */ "),
            _ => text.push(' '),
        }
        text.push_str(token);
    }
    text
}
