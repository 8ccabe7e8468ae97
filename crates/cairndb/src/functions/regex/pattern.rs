//! PostgreSQL's advanced regular expressions (its manual, 9.7.3), written for the libraries that match them.
//!
//! What has neither back references nor look-around is matched in time linear in the text. The rest is matched by
//! backtracking, with a bound on its steps.
//!
//! Of the matches that begin first PostgreSQL takes the longest, or the shortest where the first quantifier that says so is
//! of the kind that takes as little as it can. So does what is matched in linear time, whatever the order of
//! alternatives; what lies in the groups of such a match, and all of a match that was found by backtracking, is what the
//! first alternatives give.

use fancy_regex::RegexBuilder as BacktrackingBuilder;
use regex::{CaptureLocations, Regex, RegexBuilder};
use regex_automata::nfa::thompson::{self, pikevm};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use crate::functions::support::invalid_parameter;
use crate::types::invalid_regex;
use crate::{Error, Result, SqlState};

/// Bytes that a compiled expression may take.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// How often a match may go back to try something else.
const BACKTRACKS_MAX: usize = 1_000_000;
/// How deep groups may nest.
const NESTED_MAX: u32 = 100;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// Any match that begins first is the longest.
    Linear(Regex),
    /// Where the first begins, and which of those that begin there is meant.
    Measured(Regex, Box<Measured>),
    Backtracking(Box<fancy_regex::Regex>),
}

/// Finds the longest match that begins at a place, or the shortest.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    machine: pikevm::PikeVM,
    shortest: bool,
}

/// Where a match lies and its groups; the first is the whole.
#[derive(Default)]
pub(super) struct Found {
    groups: Vec<Option<(usize, usize)>>,
    locations: Option<CaptureLocations>,
    cache: Option<pikevm::Cache>,
    slots: Vec<Option<NonMaxUsize>>,
}

impl Measured {
    fn new(written: &Written, options: &Options) -> Result<Measured> {
        let syntax = syntax::Config::new()
            .nest_limit(NESTED_MAX)
            .dot_matches_new_line(options.dot_matches_newline)
            .multi_line(options.is_multi_line)
            .case_insensitive(options.ignores_case)
            .ignore_whitespace(options.is_expanded);
        let machine = pikevm::Builder::new()
            .configure(pikevm::Config::new().match_kind(MatchKind::All))
            .syntax(syntax)
            .thompson(thompson::Config::new().nfa_size_limit(Some(COMPILED_BYTES_MAX)))
            .build(&written.pattern)
            .map_err(|error| wrong(&error.to_string()))?;
        Ok(Measured { machine, shortest: written.shortest })
    }

    /// Finds the groups of the match that begins at byte `start`, where one does.
    fn find(&self, text: &str, start: usize, found: &mut Found) {
        let cache = found.cache.get_or_insert_with(|| self.machine.create_cache());
        found.slots.clear();
        found.slots.resize(self.machine.get_nfa().group_info().slot_len(), None);
        let input = Input::new(text).range(start..).anchored(Anchored::Yes).earliest(self.shortest);
        self.machine.search_slots(cache, &input, &mut found.slots);
        let place = |slot: &Option<NonMaxUsize>| slot.map(NonMaxUsize::get);
        found.groups.extend(found.slots.chunks_exact(2).map(|pair| place(&pair[0]).zip(place(&pair[1]))));
    }
}

impl Found {
    /// The bytes of the whole match.
    pub(super) fn whole(&self) -> (usize, usize) {
        self.group(0).unwrap_or_default()
    }

    pub(super) fn group(&self, number: usize) -> Option<(usize, usize)> {
        self.groups.get(number).copied().flatten()
    }

    /// How many groups the expression has, the whole not counted.
    pub(super) fn len(&self) -> usize {
        self.groups.len().saturating_sub(1)
    }
}

fn too_complex(_: fancy_regex::Error) -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "regular expression takes too many steps")
        .with_hint("Write it without back references or look-around, or so that less of the text is tried.")
}

impl Pattern {
    pub(super) fn is_match(&self, text: &str) -> Result<bool> {
        match self {
            Pattern::Linear(regex) | Pattern::Measured(regex, _) => Ok(regex.is_match(text)),
            Pattern::Backtracking(regex) => regex.is_match(text).map_err(too_complex),
        }
    }

    /// Finds the first match that begins at byte `from` or behind it.
    pub(super) fn find(&self, text: &str, from: usize, found: &mut Found) -> Result<bool> {
        found.groups.clear();
        match self {
            Pattern::Linear(regex) => {
                let locations = found.locations.get_or_insert_with(|| regex.capture_locations());
                if regex.captures_read_at(locations, text, from).is_none() {
                    return Ok(false);
                }
                found.groups.extend((0..locations.len()).map(|group| locations.get(group)));
            }
            Pattern::Measured(regex, measured) => {
                let Some(first) = regex.find_at(text, from) else { return Ok(false) };
                measured.find(text, first.start(), found);
            }
            Pattern::Backtracking(regex) => {
                let Some(captures) = regex.captures_from_pos(text, from).map_err(too_complex)? else {
                    return Ok(false);
                };
                let groups = (0..captures.len()).map(|group| captures.get(group));
                found.groups.extend(groups.map(|group| group.map(|group| (group.start(), group.end()))));
            }
        }
        Ok(true)
    }

    /// Compiles `pattern`; `flags` are the letters of the functions that take some.
    pub(super) fn new(pattern: &str, flags: &str) -> Result<Pattern> {
        let (pattern, embedded) = embedded_options(pattern);
        let mut options = Options::default();
        options.read(flags)?;
        options.read(embedded).map_err(|_| wrong("invalid embedded option"))?;
        let written = match options.is_literal || pattern.starts_with("***=") {
            true => Written { pattern: regex::escape(pattern.trim_start_matches("***=")), ..Written::default() },
            false => written(pattern, options.is_expanded)?,
        };
        if !written.backtracks {
            let mut builder = RegexBuilder::new(&written.pattern);
            builder.size_limit(COMPILED_BYTES_MAX).dfa_size_limit(COMPILED_BYTES_MAX).nest_limit(NESTED_MAX);
            builder.dot_matches_new_line(options.dot_matches_newline).multi_line(options.is_multi_line);
            builder.case_insensitive(options.ignores_case).ignore_whitespace(options.is_expanded);
            let regex = builder.build().map_err(|error| invalid_regex(&error))?;
            return Ok(match written.is_measured {
                true => Pattern::Measured(regex, Box::new(Measured::new(&written, &options)?)),
                false => Pattern::Linear(regex),
            });
        }
        let mut builder = BacktrackingBuilder::new(&written.pattern);
        builder.delegate_size_limit(COMPILED_BYTES_MAX).delegate_dfa_size_limit(COMPILED_BYTES_MAX);
        builder.backtrack_limit(BACKTRACKS_MAX);
        builder.dot_matches_new_line(options.dot_matches_newline).multi_line(options.is_multi_line);
        builder.case_insensitive(options.ignores_case).ignore_whitespace(options.is_expanded);
        let regex = builder.build();
        let regex = regex.map_err(|error| wrong(error.to_string().lines().last().unwrap_or_default()))?;
        Ok(Pattern::Backtracking(Box::new(regex)))
    }
}

/// SQLSTATE 2201B
fn wrong(reason: &str) -> Error {
    Error::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {reason}"))
}

struct Options {
    ignores_case: bool,
    dot_matches_newline: bool,
    is_multi_line: bool,
    is_expanded: bool,
    is_literal: bool,
}

impl Default for Options {
    /// PostgreSQL's dot matches newlines unless told otherwise.
    fn default() -> Options {
        Options {
            ignores_case: false,
            dot_matches_newline: true,
            is_multi_line: false,
            is_expanded: false,
            is_literal: false,
        }
    }
}

impl Options {
    fn read(&mut self, letters: &str) -> Result<()> {
        for letter in letters.chars() {
            match letter {
                'i' => self.ignores_case = true,
                'c' => self.ignores_case = false,
                'n' | 'm' => (self.dot_matches_newline, self.is_multi_line) = (false, true),
                'p' => (self.dot_matches_newline, self.is_multi_line) = (false, false),
                's' => (self.dot_matches_newline, self.is_multi_line) = (true, false),
                'w' => (self.dot_matches_newline, self.is_multi_line) = (true, true),
                'x' => self.is_expanded = true,
                't' => self.is_expanded = false,
                'q' => self.is_literal = true,
                'e' => self.is_literal = false,
                _ => return Err(invalid_parameter(format!("invalid regular expression option: \"{letter}\""))),
            }
        }
        Ok(())
    }
}

/// The pattern, and the letters of `(?...)` at its beginning.
fn embedded_options(pattern: &str) -> (&str, &str) {
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    let options = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    match options {
        Some((letters, rest)) if letters.bytes().all(|letter| letter.is_ascii_lowercase()) && !letters.is_empty() => {
            (rest, letters)
        }
        _ => (pattern, ""),
    }
}

/// A pattern as the libraries read it.
#[derive(Default)]
struct Written {
    pattern: String,
    /// It needs the one that backtracks.
    backtracks: bool,
    /// Matches of several lengths may begin at a place, of which the first that is found may be another than the one meant.
    is_measured: bool,
    /// The shortest is meant.
    shortest: bool,
}

/// Whether as much is taken as can be, or as little.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Greed {
    Much,
    Little,
}

/// An open group, or the whole.
#[derive(Default)]
struct Level {
    /// It is look-around.
    is_around: bool,
    has_alternatives: bool,
    /// Of the first of its parts that has one.
    greed: Option<Greed>,
}

impl Level {
    /// That of alternatives is always to take much.
    fn greed(&self) -> Option<Greed> {
        if self.has_alternatives { Some(Greed::Much) } else { self.greed }
    }
}

fn written(pattern: &str, is_expanded: bool) -> Result<Written> {
    let mut writer = Writer { rest: pattern, out: String::with_capacity(pattern.len() + 8), ..Writer::default() };
    writer.is_expanded = is_expanded;
    while let Some(c) = writer.next() {
        writer.atom(c)?;
    }
    writer.settle();
    let shortest = writer.whole.greed() == Some(Greed::Little);
    // A single repetition of a character takes much, or little, by itself.
    let is_measured = writer.alternatives || writer.quantifiers > 1 || writer.quantified_group;
    Ok(Written { pattern: writer.out, backtracks: writer.backtracks, is_measured, shortest })
}

#[derive(Default)]
struct Writer<'p> {
    rest: &'p str,
    out: String,
    backtracks: bool,
    is_expanded: bool,
    /// What was written last may be repeated: it is no quantifier, no constraint (`^`, `\y`, look-around), nor a beginning.
    is_operand: bool,
    whole: Level,
    /// The open groups.
    open: Vec<Level>,
    /// That of the group right before, which a quantifier overrules.
    pending: Option<Greed>,
    /// What was written last is a group.
    behind_group: bool,
    alternatives: bool,
    quantifiers: usize,
    quantified_group: bool,
    /// Groups that capture, so far.
    groups: usize,
}

impl Writer<'_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        Some(next)
    }

    fn take(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn level(&mut self) -> &mut Level {
        self.open.last_mut().unwrap_or(&mut self.whole)
    }

    /// The group right before keeps its greed.
    fn settle(&mut self) {
        self.behind_group = false;
        if let Some(greed) = self.pending.take() {
            self.level().greed.get_or_insert(greed);
        }
    }

    fn atom(&mut self, c: char) -> Result<()> {
        if !matches!(c, '*' | '+' | '?' | '{') {
            self.settle();
        }
        let was_operand = std::mem::replace(&mut self.is_operand, true);
        match c {
            '\\' => self.escape()?,
            '[' if self.take("[:<:]]") => self.constraint(r"\b{start}"),
            '[' if self.take("[:>:]]") => self.constraint(r"\b{end}"),
            '^' => self.constraint("^"),
            '$' => self.constraint("$"),
            '|' => {
                self.constraint("|");
                self.alternatives = true;
                self.level().has_alternatives = true;
            }
            ')' => {
                self.out.push(')');
                let closed = self.open.pop().unwrap_or_default();
                self.is_operand = !closed.is_around;
                self.behind_group = true;
                self.pending = closed.greed().filter(|_| !closed.is_around);
            }
            '[' => self.bracket()?,
            '(' if self.take("?#") => {
                while self.next().is_some_and(|c| c != ')') {}
                self.is_operand = was_operand;
            }
            '(' => self.group()?,
            '#' if self.is_expanded => {
                while self.next().is_some_and(|c| c != '\n') {}
                self.is_operand = was_operand;
            }
            c if self.is_expanded && c.is_whitespace() => self.is_operand = was_operand,
            '*' | '+' | '?' => self.quantifier(was_operand, &c.to_string())?,
            '{' if self.rest.starts_with(|c: char| c.is_ascii_digit()) => {
                let Some((bounds, rest)) = self.rest.split_once('}') else {
                    return Err(wrong("braces {} not balanced"));
                };
                let number = |text: &str| text.parse::<u16>().ok().filter(|number| *number <= 255);
                let is_fine = match bounds.split_once(',') {
                    Some((least, "")) => number(least).is_some(),
                    Some((least, most)) => number(least).zip(number(most)).is_some_and(|(least, most)| least <= most),
                    None => number(bounds).is_some(),
                };
                if !is_fine {
                    return Err(wrong("invalid repetition count(s)"));
                }
                self.rest = rest;
                self.quantifier(was_operand, &format!("{{{bounds}}}"))?;
            }
            '{' => self.out.push_str(r"\{"),
            c => self.out.push(c),
        }
        Ok(())
    }

    /// A quantifier and the `?` that makes it take as little as it can.
    fn quantifier(&mut self, was_operand: bool, quantifier: &str) -> Result<()> {
        if !was_operand {
            return Err(wrong("quantifier operand invalid"));
        }
        self.out.push_str(quantifier);
        let mut greed = Greed::Much;
        if self.take("?") {
            self.out.push('?');
            greed = Greed::Little;
        }
        self.is_operand = false;
        self.quantifiers += 1;
        self.quantified_group |= self.behind_group;
        // A fixed number of repetitions leaves the greed to what is repeated.
        if !quantifier.starts_with('{') || quantifier.contains(',') {
            self.pending = Some(greed);
        }
        self.settle();
        Ok(())
    }

    fn constraint(&mut self, written: &str) {
        self.out.push_str(written);
        self.is_operand = false;
    }

    fn group(&mut self) -> Result<()> {
        let forms = ["?:", "?=", "?!", "?<=", "?<!"];
        let form = forms.into_iter().find(|form| self.rest.starts_with(form));
        self.is_operand = false;
        self.open.push(Level { is_around: form.is_some_and(|form| form != "?:"), ..Level::default() });
        match form {
            Some(form) => {
                self.take(form);
                self.out.extend(["(", form]);
                self.backtracks |= form != "?:";
            }
            None if self.rest.starts_with('?') => return Err(wrong("quantifier operand invalid")),
            None => {
                self.groups += 1;
                self.out.push('(');
            }
        }
        Ok(())
    }

    /// Behind a backslash, outside brackets.
    fn escape(&mut self) -> Result<()> {
        let Some(c) = self.next() else { return Err(wrong("invalid escape \\ sequence")) };
        match c {
            'm' => self.constraint(r"\b{start}"),
            'M' => self.constraint(r"\b{end}"),
            'y' => self.constraint(r"\b"),
            'Y' => self.constraint(r"\B"),
            'Z' => self.constraint(r"\z"),
            'A' => self.constraint(r"\A"),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => self.out.extend(['\\', c]),
            '1'..='9' => {
                let mut number = c as usize - '0' as usize;
                // More digits belong to it where there are as many groups.
                while let Some(digit) = self.rest.chars().next().and_then(|next| next.to_digit(10))
                    && number * 10 + digit as usize <= self.groups
                {
                    number = number * 10 + digit as usize;
                    self.next();
                }
                if number > self.groups {
                    return Err(wrong("invalid backreference number"));
                }
                self.backtracks = true;
                self.out.push_str(&format!(r"(?:\{number})"));
            }
            c => {
                let c = self.character(c)?;
                self.literal(c);
            }
        }
        Ok(())
    }

    /// The character that an escape stands for.
    fn character(&mut self, c: char) -> Result<char> {
        Ok(match c {
            'a' => '\x07',
            'b' => '\x08',
            'B' => '\\',
            'e' => '\x1b',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '0' => '\0',
            'c' => match self.next() {
                Some(c) => char::from((c as u32 & 0x1f) as u8),
                None => return Err(wrong("invalid escape \\ sequence")),
            },
            'x' => self.hexadecimal(1, usize::MAX)?,
            'u' => self.hexadecimal(4, 4)?,
            'U' => self.hexadecimal(8, 8)?,
            c if c.is_ascii_alphanumeric() => return Err(wrong("invalid escape \\ sequence")),
            c => c,
        })
    }

    fn hexadecimal(&mut self, least: usize, most: usize) -> Result<char> {
        let digits = self.rest.bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
        let (text, rest) = self.rest.split_at(digits);
        let number = u32::from_str_radix(text, 16).ok().filter(|_| digits >= least);
        self.rest = rest;
        number.and_then(char::from_u32).ok_or_else(|| wrong("invalid escape \\ sequence"))
    }

    fn literal(&mut self, c: char) {
        let mut buffer = [0; 4];
        self.out.push_str(&regex::escape(c.encode_utf8(&mut buffer)));
        if self.is_expanded && (c.is_whitespace() || c == '#') {
            // `escape` leaves these as they are.
            self.out.pop();
            self.out.push_str(&format!(r"\x{{{:x}}}", c as u32));
        }
    }

    /// A bracket expression, whose `[` is read.
    fn bracket(&mut self) -> Result<()> {
        self.out.push('[');
        if self.take("^") {
            self.out.push('^');
        }
        if self.take("]") {
            self.out.push_str(r"\]");
        }
        loop {
            let Some(c) = self.next() else { return Err(wrong("brackets [] not balanced")) };
            match c {
                ']' => break,
                '\\' => {
                    let Some(c) = self.next() else { return Err(wrong("invalid escape \\ sequence")) };
                    match c {
                        'd' | 'D' | 's' | 'S' | 'w' | 'W' => self.out.extend(['\\', c]),
                        c => {
                            let c = self.character(c)?;
                            self.literal(c);
                        }
                    }
                }
                '[' if self.rest.starts_with(':') => self.class()?,
                '[' if self.rest.starts_with(['.', '=']) => self.collating()?,
                '[' | '&' | '~' | '#' => self.out.extend(['\\', c]),
                c if c.is_whitespace() => self.out.push_str(&format!(r"\x{{{:x}}}", c as u32)),
                c => self.out.push(c),
            }
        }
        self.out.push(']');
        Ok(())
    }

    /// `[:alpha:]`
    fn class(&mut self) -> Result<()> {
        let class = self.rest.find(":]").map(|end| &self.rest[1..end]);
        let written = match class {
            Some("alnum") => r"\p{Alphabetic}\d",
            Some("alpha") => r"\p{Alphabetic}",
            Some("lower") => r"\p{Lowercase}",
            Some("upper") => r"\p{Uppercase}",
            Some("digit") => r"\d",
            Some("space") => r"\s",
            Some("word") => r"\w",
            Some(class @ ("blank" | "cntrl" | "graph" | "print" | "punct" | "xdigit" | "ascii")) => {
                let length = class.len();
                self.out.push_str(&format!("[:{class}:]"));
                self.rest = &self.rest[length + 3..];
                return Ok(());
            }
            _ => return Err(wrong("invalid character class")),
        };
        let length = class.map_or(0, str::len);
        self.out.push_str(written);
        self.rest = &self.rest[length + 3..];
        Ok(())
    }

    /// `[.x.]`, `[=x=]`: of one character.
    fn collating(&mut self) -> Result<()> {
        let mut chars = self.rest.chars();
        let (mark, c) = (chars.next(), chars.next());
        match (c, chars.next(), chars.next()) {
            (Some(c), end, Some(']')) if end == mark => {
                self.rest = chars.as_str();
                self.literal(c);
                Ok(())
            }
            _ => Err(wrong("invalid collating element")),
        }
    }
}
