//! A document beside a schema.
//!
//! How often a rule is asked is bounded by the document's length: schemas whose alternatives refer to each other could ask for as
//! many looks as there are subsets.

use super::rule::{Bound, Keyword, Measure, Place, Properties, Rule, Schema, Types};
use crate::types::{Items, Json, JsonBuilder, JsonNode, Jsonb, Numeric, write_node};
use crate::{Error, Result, SqlState};

/// Looks that any document may take, and how many more for each of its bytes.
const LOOKS: u64 = 1 << 20;
const LOOKS_BYTE: u64 = 16;
/// How deep rules may ask each other: a document of the deepest nesting, with a few references at each level.
const DEPTH_MAX: usize = 1_024;
/// Places that are told.
const ERRORS_MAX: usize = 20;
/// Of a value that is told.
const SHOWN_MAX: usize = 60;

impl Schema {
    pub(super) fn matches(&self, document: &Jsonb) -> Result<bool> {
        Check::new(self, document, None).rule(0, document.root())
    }

    /// What does not hold, each with its place as a JSON pointer: the first few.
    pub(super) fn errors(&self, document: &Jsonb) -> Result<Vec<String>> {
        let mut check = Check::new(self, document, Some(vec![]));
        check.rule(0, document.root())?;
        Ok(check.errors.unwrap_or_default())
    }
}

enum Step<'n> {
    Key(&'n str),
    Element(usize),
}

struct Check<'s, 'n> {
    schema: &'s Schema,
    looks: u64,
    depth: usize,
    path: Vec<Step<'n>>,
    /// Where somebody wants to know; else the first that does not hold is enough.
    errors: Option<Vec<String>>,
}

impl<'s, 'n> Check<'s, 'n> {
    fn new(schema: &'s Schema, document: &Jsonb, errors: Option<Vec<String>>) -> Check<'s, 'n> {
        let looks = LOOKS + LOOKS_BYTE * document.as_bytes().len() as u64;
        Check { schema, looks, depth: 0, path: vec![], errors }
    }

    fn spend(&mut self, looks: usize) -> Result<()> {
        let left =
            self.looks.checked_sub(looks as u64).ok_or_else(|| too_much("takes too many looks at a document"))?;
        self.looks = left;
        Ok(())
    }

    fn rule(&mut self, place: Place, node: JsonNode<'n>) -> Result<bool> {
        self.spend(1)?;
        let keywords = match &self.schema.rules[place] {
            Rule::Never => return Ok(self.fails(|| "there must be nothing".into())),
            Rule::All(keywords) => keywords,
        };
        if self.depth == DEPTH_MAX {
            return Err(too_much("refers to itself without end, or too deep"));
        }
        self.depth += 1;
        let json = node.read()?;
        let mut holds = true;
        for keyword in keywords {
            holds &= self.keyword(keyword, node, &json)?;
            if !holds && self.errors.is_none() {
                break;
            }
        }
        self.depth -= 1;
        Ok(holds)
    }

    /// Says what does not hold where the document is looked at: false.
    fn fails(&mut self, message: impl FnOnce() -> String) -> bool {
        if let Some(errors) = &mut self.errors
            && errors.len() < ERRORS_MAX
        {
            errors.push(format!("{}: {}", pointer(&self.path), message()));
        }
        false
    }

    /// Whether a rule holds, of which nothing is told.
    fn asks(&mut self, place: Place, node: JsonNode<'n>) -> Result<bool> {
        let errors = self.errors.take();
        let holds = self.rule(place, node);
        self.errors = errors;
        holds
    }

    fn below(&mut self, step: Step<'n>, place: Place, node: JsonNode<'n>) -> Result<bool> {
        self.path.push(step);
        let holds = self.rule(place, node);
        self.path.pop();
        holds
    }

    /// All of them, or up to the first that does not hold where nobody wants to know.
    fn all(&mut self, places: &[Place], node: JsonNode<'n>) -> Result<bool> {
        let mut holds = true;
        for place in places {
            holds &= self.rule(*place, node)?;
            if !holds && self.errors.is_none() {
                break;
            }
        }
        Ok(holds)
    }

    fn count(&mut self, places: &[Place], node: JsonNode<'n>, enough: usize) -> Result<usize> {
        let mut count = 0;
        for place in places {
            count += usize::from(self.asks(*place, node)?);
            if count == enough {
                break;
            }
        }
        Ok(count)
    }

    fn keyword(&mut self, keyword: &'s Keyword, node: JsonNode<'n>, json: &Json<'n>) -> Result<bool> {
        let holds = match (keyword, json) {
            (Keyword::Type(types), _) => {
                types.has(json) || self.fails(|| format!("{} is not {}", shown(node), types.names()))
            }
            (Keyword::Values(values), _) => {
                self.spend(values.len())?;
                values.iter().any(|value| value.root().compare(node).is_eq()) || self.fails(|| not_among(node, values))
            }
            (Keyword::Limit(bound, limit), Json::Number(number)) => {
                bound.holds(number, limit) || self.fails(|| format!("{number} {} {limit}", bound.broken()))
            }
            (Keyword::MultipleOf(of), Json::Number(number)) => {
                number.rem(of)?.is_zero() || self.fails(|| format!("{number} is not a multiple of {of}"))
            }
            (Keyword::Least(measure, least), _) => match measure.of(json) {
                Some(count) if count < *least => self.fails(|| measure.too_few(*least)),
                _ => true,
            },
            (Keyword::Most(measure, most), _) => match measure.of(json) {
                Some(count) if count > *most => self.fails(|| measure.too_many(*most)),
                _ => true,
            },
            (Keyword::Matches(pattern), Json::String(text)) => {
                self.spend(text.len() / 16)?;
                pattern.is_match(text)? || self.fails(|| format!("{} does not match \"{}\"", shown(node), pattern.text))
            }
            (Keyword::Elements(first, rest), Json::Array(items)) => self.elements(first, *rest, *items)?,
            (Keyword::Contains { rule, least, most }, Json::Array(items)) => {
                self.contains(*rule, *least, most.unwrap_or(u64::MAX), *items)?
            }
            (Keyword::Unique, Json::Array(items)) => self.is_unique(*items)?,
            (Keyword::Properties(properties), Json::Object(items)) => self.properties(properties, *items)?,
            (Keyword::Names(rule), Json::Object(items)) => self.names(*rule, *items)?,
            (Keyword::Required(names), Json::Object(items)) => self.has_all(names, *items)?,
            (Keyword::RequiredWith(name, names), Json::Object(items)) => {
                items.get(name)?.is_none() || self.has_all(names, *items)?
            }
            (Keyword::DependentRule(name, rule), Json::Object(items)) => {
                items.get(name)?.is_none() || self.rule(*rule, node)?
            }
            (Keyword::AllOf(rules), _) => self.all(rules, node)?,
            (Keyword::AnyOf(rules), _) => {
                self.count(rules, node, 1)? == 1 || self.fails(|| format!("{} is none of what it may be", shown(node)))
            }
            (Keyword::OneOf(rules), _) => match self.count(rules, node, 2)? {
                1 => true,
                0 => self.fails(|| format!("{} is none of what it may be", shown(node))),
                _ => self.fails(|| format!("{} is more than one of what it may be", shown(node))),
            },
            (Keyword::Not(rule), _) => {
                !self.asks(*rule, node)? || self.fails(|| format!("{} is what it must not be", shown(node)))
            }
            (Keyword::If { condition, then, otherwise }, _) => {
                let branch = if self.asks(*condition, node)? { then } else { otherwise };
                branch.map_or(Ok(true), |rule| self.rule(rule, node))?
            }
            (Keyword::Reference(rule), _) => self.rule(*rule, node)?,
            // Of another kind of value it says nothing.
            _ => true,
        };
        Ok(holds)
    }

    fn elements(&mut self, first: &[Place], rest: Option<Place>, items: Items<'n>) -> Result<bool> {
        let mut holds = true;
        for (at, element) in items.elements().enumerate() {
            let Some(rule) = first.get(at).copied().or(rest) else { break };
            holds &= self.below(Step::Element(at), rule, element?)?;
            if !holds && self.errors.is_none() {
                break;
            }
        }
        Ok(holds)
    }

    fn contains(&mut self, rule: Place, least: u64, most: u64, items: Items<'n>) -> Result<bool> {
        let mut count = 0;
        for element in items.elements() {
            count += u64::from(self.asks(rule, element?)?);
        }
        if count < least {
            return Ok(self.fails(|| format!("fewer than {least} of its elements are what they must be")));
        }
        Ok(count <= most || self.fails(|| format!("more than {most} of its elements are what so many may be")))
    }

    fn is_unique(&mut self, items: Items<'n>) -> Result<bool> {
        let mut elements: Vec<JsonNode<'_>> = items.elements().collect::<Result<_>>()?;
        self.spend(elements.len())?;
        elements.sort_unstable_by(|a, b| a.compare(*b));
        let twice = elements.windows(2).find(|pair| pair[0].compare(pair[1]).is_eq()).map(|pair| pair[0]);
        Ok(twice.is_none_or(|twice| self.fails(|| format!("{} is there twice", shown(twice)))))
    }

    fn properties(&mut self, properties: &'s Properties, items: Items<'n>) -> Result<bool> {
        let mut holds = true;
        for pair in items.pairs() {
            let (key, value) = pair?;
            let mut known = false;
            if let Some(rule) = properties.named(key) {
                known = true;
                holds &= self.below(Step::Key(key), rule, value)?;
            }
            for (pattern, rule) in &properties.matching {
                self.spend(1 + key.len() / 16)?;
                if pattern.is_match(key)? {
                    known = true;
                    holds &= self.below(Step::Key(key), *rule, value)?;
                }
            }
            if let Some(rule) = properties.rest.filter(|_| !known) {
                holds &= self.rest(key, rule, value)?;
            }
            if !holds && self.errors.is_none() {
                break;
            }
        }
        Ok(holds)
    }

    fn rest(&mut self, key: &'n str, rule: Place, value: JsonNode<'n>) -> Result<bool> {
        if matches!(self.schema.rules[rule], Rule::Never) {
            return Ok(self.fails(|| format!("there may be no property \"{key}\"")));
        }
        self.below(Step::Key(key), rule, value)
    }

    fn has_all(&mut self, names: &[String], items: Items<'n>) -> Result<bool> {
        self.spend(names.len())?;
        let mut holds = true;
        for name in names {
            if items.get(name)?.is_none() {
                holds = self.fails(|| format!("the property \"{name}\" is missing"));
            }
        }
        Ok(holds)
    }

    /// Names are asked as strings, which lie nowhere: those that hold are found without a path.
    fn names(&mut self, rule: Place, items: Items<'n>) -> Result<bool> {
        let mut holds = true;
        for at in 0..items.len() {
            let key = items.key(at)?;
            let name = as_string(key)?;
            let mut check = Check::new(self.schema, &name, None);
            (check.looks, check.depth) = (self.looks, self.depth);
            let named = check.rule(rule, name.root())?;
            self.looks = check.looks;
            if !named {
                holds = self.fails(|| format!("no property may be called \"{key}\""));
            }
        }
        Ok(holds)
    }
}

fn as_string(key: &str) -> Result<Jsonb> {
    let mut builder = JsonBuilder::default();
    builder.string(key);
    builder.finish()
}

fn too_much(what: &str) -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, format!("the JSON schema {what}"))
        .with_hint("Write alternatives so that few of them have to be tried, and references so that each goes deeper into the document.")
}

fn pointer(path: &[Step<'_>]) -> String {
    if path.is_empty() {
        return "(root)".into();
    }
    let step = |step: &Step<'_>| match step {
        Step::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        Step::Element(at) => format!("/{at}"),
    };
    path.iter().map(step).collect()
}

/// A value as an error tells it, cut where it is long.
fn shown(node: JsonNode<'_>) -> String {
    let mut text = String::new();
    if write_node(node, &mut text).is_err() {
        return "it".into();
    }
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn not_among(node: JsonNode<'_>, values: &[Jsonb]) -> String {
    match values {
        [value] => format!("{} is not {}", shown(node), shown(value.root())),
        _ => format!("{} is none of the values that it may be", shown(node)),
    }
}

impl Types {
    fn has(self, json: &Json<'_>) -> bool {
        match json {
            Json::Null => self.null,
            Json::Boolean(_) => self.boolean,
            Json::Number(number) => self.number || self.integer && number.trunc(0) == *number,
            Json::String(_) => self.string,
            Json::Array(_) => self.array,
            Json::Object(_) => self.object,
        }
    }

    fn names(self) -> String {
        let Types { null, boolean, integer, number, string, array, object } = self;
        let each = [
            (null, "null"),
            (boolean, "a boolean"),
            (integer, "an integer"),
            (number, "a number"),
            (string, "a string"),
            (array, "an array"),
            (object, "an object"),
        ];
        let named: Vec<&str> = each.iter().filter(|(is_one, _)| *is_one).map(|(_, name)| *name).collect();
        named.join(" or ")
    }
}

impl Bound {
    fn holds(self, number: &Numeric, limit: &Numeric) -> bool {
        match self {
            Bound::Minimum => number >= limit,
            Bound::ExclusiveMinimum => number > limit,
            Bound::Maximum => number <= limit,
            Bound::ExclusiveMaximum => number < limit,
        }
    }

    fn broken(self) -> &'static str {
        match self {
            Bound::Minimum => "is less than",
            Bound::ExclusiveMinimum => "is not more than",
            Bound::Maximum => "is more than",
            Bound::ExclusiveMaximum => "is not less than",
        }
    }
}

impl Measure {
    /// `None`: another kind of value.
    fn of(self, json: &Json<'_>) -> Option<u64> {
        match (self, json) {
            (Measure::Characters, Json::String(text)) => Some(text.chars().count() as u64),
            (Measure::Elements, Json::Array(items)) | (Measure::Properties, Json::Object(items)) => {
                Some(items.len() as u64)
            }
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Measure::Characters => "characters",
            Measure::Elements => "elements",
            Measure::Properties => "properties",
        }
    }

    fn too_few(self, least: u64) -> String {
        format!("it has fewer than {least} {}", self.name())
    }

    fn too_many(self, most: u64) -> String {
        format!("it has more than {most} {}", self.name())
    }
}
