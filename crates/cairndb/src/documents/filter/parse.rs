//! A filter's text to what it says.

use super::path::Path;
use super::wrong;
use crate::Value;
use crate::types::{Document, JsonKind as Kind, Jsonb};
use crate::{Error, Result};

/// Conditions within each other.
const DEPTH_MAX: usize = 32;
/// Conditions, and values of `$in`, of one filter.
const CONDITIONS_MAX: usize = 1024;

/// Which documents are wanted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filter(pub(super) Condition);

/// What of a document is looked at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// A part of what it is.
    Path(Path),
    /// All of it: an element that `$elemMatch` compares.
    Whole,
    Id,
    Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A condition; each is true or false of a document, and never neither.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Exists(Place),
    Equal(Place, Operand),
    In(Place, Vec<Operand>),
    Range(Place, Range, Operand),
    Matches {
        place: Place,
        pattern: String,
        ignore_case: bool,
    },
    /// An element of the array there for which it is true.
    Element(Place, Box<Condition>),
}

/// A value to compare with.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(super) value: Jsonb,
    pub(super) kind: Kind,
}

impl Operand {
    /// What a string is.
    pub(super) fn string(&self) -> Result<String> {
        let text = Document::Node(self.value.root()).to_text()?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }
}

impl PartialEq for Operand {
    fn eq(&self, other: &Operand) -> bool {
        self.value.as_bytes() == other.value.as_bytes()
    }
}

impl Filter {
    /// # Errors
    ///
    /// SQLSTATE 22023: it says what no filter says. 22P02: it is no JSON. 54001: it is nested too deep.
    pub(crate) fn parse(text: &str) -> Result<Filter> {
        crate::types::check_json(text)?;
        let document = Document::Text(text);
        let mut reading = Reading { conditions: 0 };
        reading.object(document, 0).map(Filter)
    }
}

impl Filter {
    /// Whether asking a document can fail: an expression can.
    pub(crate) fn may_fail(&self) -> bool {
        self.0.any(&|condition| matches!(condition, Condition::Matches { .. }))
    }

    /// Whether it asks of more than what is in a document.
    pub(crate) fn is_of_columns(&self) -> bool {
        self.0.any(&|condition| matches!(condition.place(), Some(Place::Id | Place::Version)))
    }
}

impl Condition {
    /// Whether this is so of it, or of one within it.
    fn any(&self, is_so: &dyn Fn(&Condition) -> bool) -> bool {
        let within = match self {
            Condition::All(all) | Condition::Any(all) => all.iter().any(|each| each.any(is_so)),
            Condition::Not(inner) | Condition::Element(_, inner) => inner.any(is_so),
            _ => false,
        };
        within || is_so(self)
    }

    fn place(&self) -> Option<&Place> {
        match self {
            Condition::Exists(place)
            | Condition::Equal(place, _)
            | Condition::In(place, _)
            | Condition::Range(place, ..)
            | Condition::Matches { place, .. }
            | Condition::Element(place, _) => Some(place),
            Condition::All(_) | Condition::Any(_) | Condition::Not(_) => None,
        }
    }
}

struct Reading {
    conditions: usize,
}

/// What is under the `$options` beside a `$regex`.
const OPTIONS: &str = "$options";

impl Reading {
    /// `{"path": .., "$or": [..]}`: all of it.
    fn object(&mut self, document: Document<'_>, depth: usize) -> Result<Condition> {
        if depth > DEPTH_MAX {
            return Err(wrong(format!("the filter is nested deeper than {DEPTH_MAX} conditions")));
        }
        if document.kind()? != Kind::Object {
            return Err(wrong("a filter is an object of paths and conditions")
                .with_hint("Write {\"path\": value} or {\"path\": {\"$gt\": value}}."));
        }
        let pairs = document.pairs()?;
        if let [(key, value)] = &pairs[..] {
            return self.pair(key, *value, depth);
        }
        refuse_repeated(pairs.iter().map(|(key, _)| &**key))?;
        let all = pairs.iter().map(|(key, value)| self.pair(key, *value, depth)).collect::<Result<Vec<_>>>()?;
        Ok(one_or(all, Condition::All))
    }

    fn pair(&mut self, key: &str, value: Document<'_>, depth: usize) -> Result<Condition> {
        self.count(1)?;
        match key {
            "$and" => Ok(Condition::All(self.list(key, value, depth)?)),
            "$or" => Ok(Condition::Any(self.list(key, value, depth)?)),
            "$nor" => Ok(Condition::Not(Box::new(Condition::Any(self.list(key, value, depth)?)))),
            "$not" => Ok(Condition::Not(Box::new(self.object(value, depth + 1)?))),
            "$id" => self.at(Place::Id, value, depth),
            "$version" => self.at(Place::Version, value, depth),
            _ if key.starts_with('$') => {
                Err(unknown(key, "$and, $or, $nor, $not, $id and $version stand beside paths"))
            }
            _ => self.at(Place::Path(Path::parse(key)?), value, depth),
        }
    }

    fn list(&mut self, key: &str, value: Document<'_>, depth: usize) -> Result<Vec<Condition>> {
        let elements = value.elements()?;
        if elements.is_empty() {
            return Err(wrong(format!("{key} takes an array of filters, which is not empty")));
        }
        elements.into_iter().map(|element| self.object(element, depth + 1)).collect()
    }

    /// `value`, or `{"$gt": value, ..}`: what is said of what is there.
    fn at(&mut self, place: Place, value: Document<'_>, depth: usize) -> Result<Condition> {
        if depth > DEPTH_MAX {
            return Err(wrong(format!("the filter is nested deeper than {DEPTH_MAX} conditions")));
        }
        let pairs = if value.kind()? == Kind::Object { value.pairs()? } else { Vec::new() };
        let operators = pairs.iter().filter(|(key, _)| key.starts_with('$')).count();
        if operators == 0 {
            let operand = self.operand(&place, value)?;
            return Ok(Condition::Equal(place, operand));
        }
        if let Some((name, _)) = pairs.iter().find(|(key, _)| !key.starts_with('$')) {
            return Err(wrong(format!("operators and the field \"{name}\" stand in one object"))
                .with_hint("Write {\"path\": {\"$eq\": {..}}} to compare with an object."));
        }
        refuse_repeated(pairs.iter().map(|(key, _)| &**key))?;
        let options = pairs.iter().find(|(key, _)| key == OPTIONS).map(|(_, value)| *value);
        let mut all = Vec::with_capacity(pairs.len());
        for (key, value) in &pairs {
            match &**key {
                OPTIONS if pairs.iter().any(|(key, _)| key == "$regex") => {}
                "$regex" => all.push(matches(place.clone(), *value, options)?),
                key => all.push(self.operator(&place, key, *value, depth)?),
            }
        }
        Ok(one_or(all, Condition::All))
    }

    fn operator(&mut self, place: &Place, key: &str, value: Document<'_>, depth: usize) -> Result<Condition> {
        self.count(1)?;
        let not = |condition| Condition::Not(Box::new(condition));
        let at = || place.clone();
        let range = |reading: &mut Reading, range| {
            let operand = reading.operand(place, value)?;
            match operand.kind {
                Kind::Number | Kind::String | Kind::Boolean => Ok(Condition::Range(at(), range, operand)),
                kind => Err(wrong(format!("{key} does not compare with {}", with_article(kind)))
                    .with_hint("Ranges are of numbers, strings or booleans.")),
            }
        };
        match key {
            "$eq" => Ok(Condition::Equal(at(), self.operand(place, value)?)),
            "$ne" => Ok(not(Condition::Equal(at(), self.operand(place, value)?))),
            "$gt" => range(self, Range::Greater),
            "$gte" => range(self, Range::GreaterOrEqual),
            "$lt" => range(self, Range::Less),
            "$lte" => range(self, Range::LessOrEqual),
            "$in" => Ok(Condition::In(at(), self.operands(place, key, value)?)),
            "$nin" => Ok(not(Condition::In(at(), self.operands(place, key, value)?))),
            "$exists" => match value.to_text()?.as_str() {
                Some("true") if value.kind()? == Kind::Boolean => Ok(Condition::Exists(at())),
                Some("false") if value.kind()? == Kind::Boolean => Ok(not(Condition::Exists(at()))),
                _ => Err(wrong("$exists takes true or false")),
            },
            "$not" => Ok(not(self.operators(place, key, value, depth)?)),
            "$elemMatch" if matches!(place, Place::Path(_) | Place::Whole) => {
                let is_operators = value
                    .pairs()?
                    .first()
                    .is_some_and(|(key, _)| key.starts_with('$') && !["$and", "$or", "$nor", "$not"].contains(&&**key));
                let condition = match is_operators {
                    true => self.operators(&Place::Whole, key, value, depth)?,
                    false => self.object(value, depth + 1)?,
                };
                Ok(Condition::Element(at(), Box::new(condition)))
            }
            _ => Err(unknown(
                key,
                "conditions are $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $not, $regex and $elemMatch",
            )),
        }
    }

    /// `{"$gt": value, ..}`, and nothing else.
    fn operators(&mut self, place: &Place, key: &str, value: Document<'_>, depth: usize) -> Result<Condition> {
        match value.pairs()?.first() {
            Some((first, _)) if first.starts_with('$') => self.at(place.clone(), value, depth + 1),
            _ => Err(wrong(format!("{key} takes an object of operators")).with_hint("Write {\"$gt\": value}.")),
        }
    }

    fn operands(&mut self, place: &Place, key: &str, value: Document<'_>) -> Result<Vec<Operand>> {
        if value.kind()? != Kind::Array {
            return Err(wrong(format!("{key} takes an array of values")));
        }
        let elements = value.elements()?;
        self.count(elements.len())?;
        elements.into_iter().map(|element| self.operand(place, element)).collect()
    }

    fn operand(&mut self, place: &Place, value: Document<'_>) -> Result<Operand> {
        let kind = value.kind()?;
        let text = match value {
            Document::Text(text) => text,
            Document::Node(_) => return Err(Error::internal("a filter that is no text")),
        };
        match (place, kind) {
            (Place::Path(_) | Place::Whole, _)
            | (Place::Id, Kind::String | Kind::Number)
            | (Place::Version, Kind::Number) => Ok(Operand { value: text.parse()?, kind }),
            (Place::Id, _) => Err(wrong(format!("$id does not compare with {}", with_article(kind)))
                .with_hint("An id is a string or a number.")),
            (Place::Version, _) => Err(wrong(format!("$version does not compare with {}", with_article(kind)))
                .with_hint("A version is a number.")),
        }
    }

    fn count(&mut self, more: usize) -> Result<()> {
        self.conditions += more;
        match self.conditions > CONDITIONS_MAX {
            true => Err(wrong(format!("the filter has more than {CONDITIONS_MAX} conditions and values"))),
            false => Ok(()),
        }
    }
}

fn matches(place: Place, pattern: Document<'_>, options: Option<Document<'_>>) -> Result<Condition> {
    let string = |document: Document<'_>| match (document.kind()?, document.to_text()?) {
        (Kind::String, Value::Text(text)) => Ok(text.to_string()),
        _ => Err(wrong("$regex and $options take strings")),
    };
    let ignore_case = match options.map(string).transpose()?.as_deref() {
        None | Some("") => false,
        Some("i") => true,
        Some(other) => {
            return Err(wrong(format!("$options \"{other}\" are not supported")).with_hint("\"i\" ignores case."));
        }
    };
    if !matches!(place, Place::Path(_) | Place::Whole) {
        return Err(wrong("$regex is of what is in a document"));
    }
    Ok(Condition::Matches { place, pattern: string(pattern)?, ignore_case })
}

fn one_or(mut all: Vec<Condition>, several: impl FnOnce(Vec<Condition>) -> Condition) -> Condition {
    match all.len() {
        1 => all.remove(0),
        _ => several(all),
    }
}

fn refuse_repeated<'k>(keys: impl Iterator<Item = &'k str>) -> Result<()> {
    let mut keys: Vec<&str> = keys.collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            Err(wrong(format!("\"{}\" is said twice in one object", pair[0]))
                .with_hint("Write {\"$and\": [{..}, {..}]}."))
        }
        None => Ok(()),
    }
}

fn unknown(key: &str, known: &str) -> Error {
    wrong(format!("the operator {key} is not supported here")).with_hint(format!("Here {known}."))
}

fn with_article(kind: Kind) -> String {
    match kind {
        Kind::Array | Kind::Object => format!("an {}", kind.name()),
        Kind::Null => kind.name().to_owned(),
        kind => format!("a {}", kind.name()),
    }
}
