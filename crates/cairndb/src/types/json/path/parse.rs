//! Text to paths: words and signs, then expressions by how tightly operators bind.

use super::{BinaryOp, JsonPath, Method, PathExpr, Pattern, Step, syntax_error};
use crate::types::Numeric;
use crate::{Error, Result, SqlState};

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A sign, of one character or more.
    Sign(&'static str),
    /// A word, or a key without quotes.
    Word(String),
    String(String),
    /// `$name`
    Variable(String),
    Number(String),
}

/// Parts of a path within or behind each other.
const PARTS_MAX: usize = 200;

const SIGNS: [&str; 27] = [
    "**", "==", "!=", "<>", "<=", ">=", "&&", "||", "?", "$", "@", ".", "[", "]", "{", "}", "(", ")", ",", "*", "+",
    "-", "/", "%", "<", ">", "!",
];

impl JsonPath {
    /// A path from its text.
    ///
    /// # Errors
    ///
    /// SQLSTATE 42601: it is none. 54001: it is nested too deep.
    pub(crate) fn parse(text: &str) -> Result<JsonPath> {
        let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, filters: 0, subscripts: 0 };
        if parser.tokens.is_empty() {
            let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
            return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
        }
        // A mode is a word that no accessor follows, and could be nothing else.
        let strict = parser.eat_word("strict");
        if !strict {
            parser.eat_word("lax");
        }
        let expr = parser.expr(0)?;
        match parser.peek() {
            None => Ok(JsonPath { lax: !strict, expr }),
            Some(_) => Err(parser.unexpected()),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut tokens = vec![];
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").ok_or_else(|| syntax_error("unexpected end of comment at end"))?;
            (None, end + 4)
        } else if first == '"' {
            let (text, length) = quoted(rest)?;
            (Some(Token::String(text)), length)
        } else if first == '$' {
            variable(&rest[1..])?
        } else if first.is_ascii_digit() || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            let length = number(rest);
            if let Some(junk) = rest[length..].chars().next().filter(|c| is_word(*c)) {
                let near = format!("{}{junk}", &rest[..length]);
                return Err(syntax_error(&format!("trailing junk after numeric literal at or near \"{near}\"")));
            }
            (Some(Token::Number(rest[..length].to_owned())), length)
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Some(Token::Sign(sign)), sign.len())
        } else {
            let (word, length) = word(rest)?;
            (Some(Token::Word(word)), length)
        };
        tokens.extend(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

/// What begins with `$`.
fn variable(rest: &str) -> Result<(Option<Token>, usize)> {
    if rest.starts_with('"') {
        let (name, length) = quoted(rest)?;
        return Ok((Some(Token::Variable(name)), length + 1));
    }
    if rest.starts_with(is_word) {
        let (name, length) = word(rest)?;
        return Ok((Some(Token::Variable(name)), length + 1));
    }
    Ok((Some(Token::Sign("$")), 1))
}

fn is_word(c: char) -> bool {
    !c.is_ascii_whitespace() && !"?%$.[]{}()|&!=<>@#,*:-+/\"".contains(c)
}

fn word(text: &str) -> Result<(String, usize)> {
    let mut word = String::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next().filter(|c| is_word(*c)) {
        if c == '\\' {
            let (escaped, length) = escape(&text[at..])?;
            word.extend(escaped);
            at += length;
        } else {
            word.push(c);
            at += c.len_utf8();
        }
    }
    if at == 0 {
        let found: String = text.chars().take(1).collect();
        return Err(syntax_error(&format!("syntax error at or near \"{found}\"")));
    }
    Ok((word, at))
}

/// A string in quotes, and how long it is with them.
fn quoted(text: &str) -> Result<(String, usize)> {
    let mut string = String::new();
    let mut at = 1;
    loop {
        match text[at..].chars().next() {
            None => return Err(syntax_error("unterminated quoted string at end")),
            Some('"') => return Ok((string, at + 1)),
            Some('\\') => {
                let (escaped, length) = escape(&text[at..])?;
                string.extend(escaped);
                at += length;
            }
            Some(c) => {
                string.push(c);
                at += c.len_utf8();
            }
        }
    }
}

/// What stands behind a backslash, and how long it is with it: `\n`, `\x41`, `\u0041`, `\u{41}`.
fn escape(text: &str) -> Result<(Option<char>, usize)> {
    let invalid = || syntax_error("invalid escape sequence at or near the end");
    let c = text[1..].chars().next().ok_or_else(invalid)?;
    let plain = |c: char| Ok((Some(c), 1 + c.len_utf8()));
    match c {
        'b' => Ok((Some('\u{8}'), 2)),
        'f' => Ok((Some('\u{c}'), 2)),
        'n' => Ok((Some('\n'), 2)),
        'r' => Ok((Some('\r'), 2)),
        't' => Ok((Some('\t'), 2)),
        'v' => Ok((Some('\u{b}'), 2)),
        'x' => {
            let code = text.get(2..4).and_then(hexadecimal).ok_or_else(invalid)?;
            character(code).map(|c| (Some(c), 4))
        }
        'u' if text[2..].starts_with('{') => {
            let hex = text[3..].split_once('}').map(|(hex, _)| hex).filter(|hex| hex.len() <= 6).ok_or_else(invalid)?;
            let code = hexadecimal(hex).ok_or_else(invalid)?;
            character(code).map(|c| (Some(c), 4 + hex.len()))
        }
        'u' => {
            let code = |at: usize| text.get(at..at + 4).and_then(hexadecimal);
            let first = code(2).ok_or_else(invalid)?;
            match (first, text.get(6..8), code(8)) {
                (0xd800..=0xdbff, Some("\\u"), Some(second @ 0xdc00..=0xdfff)) => {
                    character(0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff)).map(|c| (Some(c), 12))
                }
                _ => character(first).map(|c| (Some(c), 6)),
            }
        }
        c => plain(c),
    }
}

/// Digits only: no sign.
fn hexadecimal(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(text, 16).ok())?
}

fn character(code: u32) -> Result<char> {
    match char::from_u32(code) {
        Some('\0') => {
            let error = Error::new(SqlState::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence");
            Err(error.with_detail("\\u0000 cannot be converted to text."))
        }
        Some(c) => Ok(c),
        None => Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type jsonpath")),
    }
}

fn number(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    end
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Filters and subscripts around: `@` and `last` mean something in them alone.
    filters: usize,
    subscripts: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_sign(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.tokens.get(self.at + ahead), Some(Token::Sign(found)) if *found == sign)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let is = self.is_sign(0, sign);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(self.tokens.get(self.at + ahead), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let is = self.is_word(0, word);
        self.at += usize::from(is);
        is
    }

    fn unexpected(&self) -> Error {
        match self.peek() {
            None => syntax_error("syntax error at end"),
            Some(token) => {
                let text = match token {
                    Token::Sign(sign) => sign,
                    Token::Word(text) | Token::String(text) | Token::Variable(text) | Token::Number(text) => &**text,
                };
                syntax_error(&format!("syntax error at or near \"{text}\""))
            }
        }
    }

    /// An expression whose operators bind more tightly than `power` says, or as much.
    fn expr(&mut self, power: u8) -> Result<PathExpr> {
        let before = self.depth;
        self.deepen()?;
        let mut left = self.operand()?;
        loop {
            if self.eat_like_regex(&mut left, power)? {
                continue;
            }
            let Some((op, length)) = self.binary().filter(|(op, _)| op.power() >= power) else { break };
            // Comparisons are between values, AND and OR between conditions.
            if left.is_predicate() != (op.power() < 2) {
                return Err(self.unexpected());
            }
            self.at += length;
            self.deepen()?;
            let right = self.expr(op.power() + 1)?;
            if right.is_predicate() != (op.power() < 2) {
                return Err(self.unexpected());
            }
            if op == BinaryOp::StartsWith && !matches!(right, PathExpr::String(_) | PathExpr::Variable(_)) {
                return Err(self.unexpected());
            }
            left = PathExpr::Binary(op, Box::new(left), Box::new(right));
        }
        self.depth = before;
        Ok(left)
    }

    /// Each operator and step of a chain counts: what a path is made of lies within each other.
    fn deepen(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > PARTS_MAX {
            let error = Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
            return Err(error.with_detail("A jsonpath is nested too deep."));
        }
        Ok(())
    }

    /// The operator at hand, and of how many tokens it is.
    fn binary(&self) -> Option<(BinaryOp, usize)> {
        let op = match self.peek()? {
            Token::Sign("||") => BinaryOp::Or,
            Token::Sign("&&") => BinaryOp::And,
            Token::Sign("==") => BinaryOp::Equal,
            Token::Sign("!=" | "<>") => BinaryOp::NotEqual,
            Token::Sign("<") => BinaryOp::Less,
            Token::Sign("<=") => BinaryOp::LessEqual,
            Token::Sign(">") => BinaryOp::Greater,
            Token::Sign(">=") => BinaryOp::GreaterEqual,
            Token::Sign("+") => BinaryOp::Add,
            Token::Sign("-") => BinaryOp::Subtract,
            Token::Sign("*") => BinaryOp::Multiply,
            Token::Sign("/") => BinaryOp::Divide,
            Token::Sign("%") => BinaryOp::Modulo,
            _ if self.is_word(0, "starts") && self.is_word(1, "with") => return Some((BinaryOp::StartsWith, 2)),
            _ => return None,
        };
        Some((op, 1))
    }

    fn eat_like_regex(&mut self, left: &mut PathExpr, power: u8) -> Result<bool> {
        if power > 2 || left.is_predicate() || !self.eat_word("like_regex") {
            return Ok(false);
        }
        let pattern = self.string()?;
        let flags = if self.eat_word("flag") { self.string()? } else { String::new() };
        let operand = std::mem::replace(left, PathExpr::Null);
        *left = PathExpr::LikeRegex(Box::new(operand), Pattern::new(pattern, &flags)?);
        Ok(true)
    }

    fn string(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::String(text)) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn operand(&mut self) -> Result<PathExpr> {
        for (sign, negative) in [("+", false), ("-", true)] {
            if self.eat(sign) {
                let operand = self.expr(5)?;
                if operand.is_predicate() {
                    return Err(self.unexpected());
                }
                return Ok(PathExpr::Sign(negative, Box::new(operand)));
            }
        }
        if self.eat("!") {
            let operand = match self.is_word(0, "exists") {
                true => self.operand()?,
                false => self.in_brackets()?,
            };
            return if operand.is_predicate() { Ok(PathExpr::Not(Box::new(operand))) } else { Err(self.unexpected()) };
        }
        if self.is_word(0, "exists") && self.is_sign(1, "(") {
            self.at += 1;
            return Ok(PathExpr::Exists(Box::new(self.in_brackets()?)));
        }
        let first = match self.is_sign(0, "(") {
            true => self.in_brackets()?,
            false => self.primary()?,
        };
        if first.is_predicate() && self.is_word(0, "is") && self.is_word(1, "unknown") {
            self.at += 2;
            return Ok(PathExpr::IsUnknown(Box::new(first)));
        }
        self.steps(first)
    }

    fn in_brackets(&mut self) -> Result<PathExpr> {
        self.expect("(")?;
        let inner = self.expr(0)?;
        self.expect(")")?;
        Ok(inner)
    }

    fn primary(&mut self) -> Result<PathExpr> {
        let unexpected = self.unexpected();
        let token = self.peek().cloned().ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(match token {
            Token::Sign("$") => PathExpr::Root,
            Token::Sign("@") if self.filters > 0 => PathExpr::Current,
            Token::Sign("@") => return Err(Error::new(SqlState::SYNTAX_ERROR, "@ is not allowed in root expressions")),
            Token::String(text) => PathExpr::String(text),
            Token::Variable(name) => PathExpr::Variable(name),
            Token::Number(text) => PathExpr::Number(Numeric::parse(&text)?),
            Token::Word(word) => match word.as_str() {
                "last" if self.subscripts > 0 => PathExpr::Last,
                "last" => {
                    let message = "LAST is allowed only in array subscripts";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
                "null" => PathExpr::Null,
                "true" => PathExpr::Boolean(true),
                "false" => PathExpr::Boolean(false),
                _ => return Err(unexpected),
            },
            Token::Sign(_) => return Err(unexpected),
        })
    }

    fn steps(&mut self, first: PathExpr) -> Result<PathExpr> {
        let mut steps = vec![];
        loop {
            self.deepen()?;
            if self.eat(".") {
                steps.push(self.member()?);
            } else if self.eat("[") {
                steps.push(self.elements()?);
            } else if self.eat("?") {
                self.filters += 1;
                self.expect("(")?;
                let predicate = self.expr(0)?;
                if !predicate.is_predicate() {
                    return Err(self.unexpected());
                }
                self.expect(")")?;
                self.filters -= 1;
                steps.push(Step::Filter(Box::new(predicate)));
            } else {
                break;
            }
        }
        Ok(if steps.is_empty() { first } else { PathExpr::Steps(Box::new(first), steps) })
    }

    /// Behind a dot.
    fn member(&mut self) -> Result<Step> {
        let token = self.peek().cloned().ok_or_else(|| self.unexpected())?;
        let unexpected = self.unexpected();
        self.at += 1;
        Ok(match token {
            Token::Sign("*") => Step::AnyKey,
            Token::Sign("**") => self.levels()?,
            Token::String(key) => Step::Key(key),
            Token::Word(word) if self.is_sign(0, "(") => {
                if word == "datetime" {
                    return self.datetime();
                }
                let method = Method::ALL.into_iter().find(|method| method.name() == word);
                let method = method.ok_or_else(|| self.unexpected())?;
                self.expect("(")?;
                self.expect(")")?;
                Step::Method(method)
            }
            Token::Word(word) => Step::Key(word),
            _ => return Err(unexpected),
        })
    }

    fn datetime(&mut self) -> Result<Step> {
        self.expect("(")?;
        let template = if self.is_sign(0, ")") { None } else { Some(self.string()?) };
        self.expect(")")?;
        Ok(Step::Datetime(template))
    }

    fn levels(&mut self) -> Result<Step> {
        if !self.eat("{") {
            return Ok(Step::Levels(Some(0), None));
        }
        let from = self.level()?;
        let to = if self.eat_word("to") { self.level()? } else { from };
        self.expect("}")?;
        Ok(Step::Levels(from, to))
    }

    fn level(&mut self) -> Result<Option<u32>> {
        if self.eat_word("last") {
            return Ok(None);
        }
        match self.peek() {
            Some(Token::Number(text)) => {
                let level = text.parse().map_err(|_| self.unexpected())?;
                self.at += 1;
                Ok(Some(level))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn elements(&mut self) -> Result<Step> {
        if self.is_sign(0, "*") && self.is_sign(1, "]") {
            self.at += 2;
            return Ok(Step::AnyElement);
        }
        let mut parts = vec![];
        self.subscripts += 1;
        loop {
            let from = self.expr(3)?;
            let to = if self.eat_word("to") { Some(self.expr(3)?) } else { None };
            parts.push((from, to));
            if !self.eat(",") {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(Step::Elements(parts))
    }
}
