//! From a schema's document to its rules.
//!
//! Nothing here calls itself: parts that are schemas are put on a list, so that neither nesting nor a chain of references takes
//! stack.

use std::collections::HashMap;

use super::pattern::Pattern;
use super::rule::{Bound, Keyword, Measure, Place, Properties, Rule, Schema, Types};
use crate::types::{Items, Json, JsonNode, Jsonb, Numeric};
use crate::{Error, Result, SqlState};

/// Of one schema; each takes up to a quarter of a MiB.
const PATTERNS_MAX: usize = 128;
const DIALECTS: [&str; 3] = ["draft/2020-12/schema", "draft/2019-09/schema", "draft-07/schema"];
/// Keywords that decide about documents, and that are not understood.
const REFUSED: [&str; 6] =
    ["$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems", "$anchor", "$dynamicAnchor"];

/// # Errors
///
/// SQLSTATE 22023: it is no schema. 0A000: it says what is not understood here.
pub(super) fn compile(root: JsonNode<'_>) -> Result<Schema> {
    let mut compiler = Compiler { root, id: "", is_old: false, places: HashMap::new(), waiting: vec![], patterns: 0 };
    if let Json::Object(items) = root.read()? {
        compiler.begin(items)?;
    }
    compiler.place(String::new(), root);
    let mut rules = vec![];
    while let Some((pointer, node)) = compiler.waiting.get(rules.len()).cloned() {
        rules.push(compiler.rule(&pointer, node)?);
    }
    Ok(Schema { rules })
}

pub(super) fn wrong(message: impl std::fmt::Display) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid JSON schema: {message}"))
}

fn refused(message: String, hint: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(hint)
}

struct Compiler<'a> {
    root: JsonNode<'a>,
    /// The root's `$id`.
    id: &'a str,
    /// Draft 7: beside `$ref` nothing counts.
    is_old: bool,
    /// Of rules by their JSON pointers.
    places: HashMap<String, Place>,
    /// All rules, in the order of their places; those at the end are to be made yet.
    waiting: Vec<(String, JsonNode<'a>)>,
    patterns: usize,
}

/// A keyword's value and where it stands.
struct At<'p, 'a> {
    pointer: &'p str,
    keyword: &'p str,
    value: JsonNode<'a>,
}

impl<'a> At<'_, 'a> {
    fn pointer(&self, part: impl std::fmt::Display) -> String {
        format!("{}/{}/{}", self.pointer, self.keyword, part.to_string().replace('~', "~0").replace('/', "~1"))
    }

    fn must_be(&self, what: &str) -> Error {
        wrong(format_args!("{}/{} must be {what}", self.pointer, self.keyword))
    }

    fn items(&self) -> Result<Items<'a>> {
        match self.value.read()? {
            Json::Array(items) => Ok(items),
            _ => Err(self.must_be("an array")),
        }
    }

    fn pairs(&self) -> Result<Vec<(&'a str, JsonNode<'a>)>> {
        match self.value.read()? {
            Json::Object(items) => items.pairs().collect(),
            _ => Err(self.must_be("an object")),
        }
    }

    fn number(&self) -> Result<Numeric> {
        match self.value.read()? {
            Json::Number(number) => Ok(number),
            _ => Err(self.must_be("a number")),
        }
    }

    fn count(&self) -> Result<u64> {
        let number = self.number()?;
        let count = number.to_i64().filter(|count| Numeric::from_i128((*count).into(), 0) == number);
        count.and_then(|count| count.try_into().ok()).ok_or_else(|| self.must_be("a number of things"))
    }

    fn string(&self) -> Result<&'a str> {
        match self.value.read()? {
            Json::String(text) => Ok(text),
            _ => Err(self.must_be("a string")),
        }
    }

    fn strings(&self) -> Result<Vec<String>> {
        let string = |node: Result<JsonNode<'a>>| match node?.read()? {
            Json::String(text) => Ok(text.to_owned()),
            _ => Err(self.must_be("an array of strings")),
        };
        self.items()?.elements().map(string).collect()
    }
}

impl<'a> Compiler<'a> {
    fn begin(&mut self, items: Items<'a>) -> Result<()> {
        let text = |key: &str| -> Result<&'a str> {
            match items.get(key)?.map(JsonNode::read).transpose()? {
                None => Ok(""),
                Some(Json::String(text)) => Ok(text),
                Some(_) => Err(wrong(format_args!("/{key} must be a string"))),
            }
        };
        self.id = text("$id")?.trim_end_matches('#');
        let dialect = text("$schema")?.trim_end_matches('#');
        let known = DIALECTS.iter().position(|known| dialect.ends_with(known));
        if !dialect.is_empty() && known.is_none() {
            let hint = "2020-12, 2019-09 and draft 7 are understood.";
            return Err(refused(format!("JSON schemas of \"{dialect}\" are not supported"), hint));
        }
        self.is_old = known == Some(2);
        Ok(())
    }

    /// The place of a rule, which is made later.
    fn place(&mut self, pointer: String, node: JsonNode<'a>) -> Place {
        let next = self.waiting.len();
        let place = *self.places.entry(pointer.clone()).or_insert(next);
        if place == next {
            self.waiting.push((pointer, node));
        }
        place
    }

    fn here(&mut self, at: &At<'_, 'a>) -> Place {
        self.place(format!("{}/{}", at.pointer, at.keyword), at.value)
    }

    fn each(&mut self, at: &At<'_, 'a>) -> Result<Vec<Place>> {
        let elements = at.items()?.elements().enumerate();
        let places = elements.map(|(number, node)| Ok(self.place(at.pointer(number), node?)));
        places.collect()
    }

    fn each_named(&mut self, at: &At<'_, 'a>) -> Result<Vec<(String, Place)>> {
        let pairs = at.pairs()?.into_iter();
        Ok(pairs.map(|(name, node)| (name.to_owned(), self.place(at.pointer(name), node))).collect())
    }

    fn pattern(&mut self, text: &str) -> Result<Pattern> {
        self.patterns += 1;
        if self.patterns > PATTERNS_MAX {
            return Err(wrong(format_args!("it has more than {PATTERNS_MAX} patterns")));
        }
        Pattern::new(text)
    }

    fn rule(&mut self, pointer: &str, node: JsonNode<'a>) -> Result<Rule> {
        let items = match node.read()? {
            Json::Boolean(true) => return Ok(Rule::All(vec![])),
            Json::Boolean(false) => return Ok(Rule::Never),
            Json::Object(items) => items,
            _ => {
                let place = if pointer.is_empty() { "it" } else { pointer };
                return Err(wrong(format_args!("{place} must be an object, true or false")));
            }
        };
        if !pointer.is_empty() && items.get("$id")?.is_some() {
            return Err(refused(
                format!("{pointer} of a JSON schema has an $id of its own"),
                "Refer to it by its place: #/$defs/name.",
            ));
        }
        let mut keywords = vec![];
        for pair in items.pairs() {
            let (keyword, value) = pair?;
            if self.is_old && keyword != "$ref" && items.get("$ref")?.is_some() {
                continue;
            }
            let at = At { pointer, keyword, value };
            keywords.extend(self.keyword(&at)?);
        }
        self.together(pointer, items, &mut keywords)?;
        Ok(Rule::All(keywords))
    }

    /// What stands for itself.
    fn keyword(&mut self, at: &At<'_, 'a>) -> Result<Option<Keyword>> {
        Ok(Some(match at.keyword {
            "type" => Keyword::Type(types(at)?),
            "enum" => {
                Keyword::Values(at.items()?.elements().map(|node| node.map(Jsonb::of_part)).collect::<Result<_>>()?)
            }
            "const" => Keyword::Values(vec![Jsonb::of_part(at.value)]),
            "minimum" => Keyword::Limit(Bound::Minimum, at.number()?),
            "exclusiveMinimum" => Keyword::Limit(Bound::ExclusiveMinimum, at.number()?),
            "maximum" => Keyword::Limit(Bound::Maximum, at.number()?),
            "exclusiveMaximum" => Keyword::Limit(Bound::ExclusiveMaximum, at.number()?),
            "multipleOf" => Keyword::MultipleOf(
                Some(at.number()?).filter(|number| number.signum() > 0).ok_or_else(|| at.must_be("more than 0"))?,
            ),
            "minLength" => Keyword::Least(Measure::Characters, at.count()?),
            "maxLength" => Keyword::Most(Measure::Characters, at.count()?),
            "minItems" => Keyword::Least(Measure::Elements, at.count()?),
            "maxItems" => Keyword::Most(Measure::Elements, at.count()?),
            "minProperties" => Keyword::Least(Measure::Properties, at.count()?),
            "maxProperties" => Keyword::Most(Measure::Properties, at.count()?),
            "pattern" => Keyword::Matches(self.pattern(at.string()?)?),
            "uniqueItems" => match at.value.read()? {
                Json::Boolean(true) => Keyword::Unique,
                Json::Boolean(false) => return Ok(None),
                _ => return Err(at.must_be("true or false")),
            },
            "propertyNames" => Keyword::Names(self.here(at)),
            "required" => Keyword::Required(at.strings()?),
            "allOf" => Keyword::AllOf(self.each(at)?),
            "anyOf" => Keyword::AnyOf(self.each(at)?),
            "oneOf" => Keyword::OneOf(self.each(at)?),
            "not" => Keyword::Not(self.here(at)),
            "$ref" => Keyword::Reference(self.reference(at.string()?)?),
            keyword if REFUSED.contains(&keyword) => {
                let message = format!("{}/{keyword} of a JSON schema is not supported", at.pointer);
                return Err(refused(
                    message,
                    "Refer to parts by their place (#/$defs/name), and say what else there may be where the properties are named.",
                ));
            }
            _ => return Ok(None),
        }))
    }

    /// What stands for something together with its neighbours.
    fn together(&mut self, pointer: &str, items: Items<'a>, keywords: &mut Vec<Keyword>) -> Result<()> {
        if self.is_old && items.get("$ref")?.is_some() {
            return Ok(());
        }
        let at = |keyword: &'static str| -> Result<Option<At<'_, 'a>>> {
            Ok(items.get(keyword)?.map(|value| At { pointer, keyword, value }))
        };
        let is_tuple = match items.get("items")? {
            Some(node) => matches!(node.read()?, Json::Array(_)),
            None => false,
        };
        let (first, rest) = if is_tuple { ("items", "additionalItems") } else { ("prefixItems", "items") };
        let first = at(first)?.map(|at| self.each(&at)).transpose()?;
        let rest = at(rest)?.map(|at| self.here(&at));
        if first.is_some() || rest.is_some() {
            keywords.push(Keyword::Elements(first.unwrap_or_default(), rest));
        }
        if let Some(contains) = at("contains")? {
            let least = at("minContains")?.map_or(Ok(1), |at| at.count())?;
            let most = at("maxContains")?.map(|at| at.count()).transpose()?;
            keywords.push(Keyword::Contains { rule: self.here(&contains), least, most });
        }
        let mut properties = Properties::default();
        if let Some(at) = at("properties")? {
            properties.named = self.each_named(&at)?;
            properties.named.sort();
        }
        if let Some(at) = at("patternProperties")? {
            for (name, place) in self.each_named(&at)? {
                properties.matching.push((self.pattern(&name)?, place));
            }
        }
        properties.rest = at("additionalProperties")?.map(|at| self.here(&at));
        if !(properties.named.is_empty() && properties.matching.is_empty() && properties.rest.is_none()) {
            keywords.push(Keyword::Properties(properties));
        }
        if let Some(condition) = at("if")? {
            let condition = self.here(&condition);
            let then = at("then")?.map(|at| self.here(&at));
            let otherwise = at("else")?.map(|at| self.here(&at));
            keywords.push(Keyword::If { condition, then, otherwise });
        }
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            if let Some(at) = at(keyword)? {
                self.dependent(&at, keywords)?;
            }
        }
        Ok(())
    }

    fn dependent(&mut self, at: &At<'_, 'a>, keywords: &mut Vec<Keyword>) -> Result<()> {
        for (name, node) in at.pairs()? {
            let is_list = matches!(node.read()?, Json::Array(_));
            if at.keyword == "dependentRequired" || at.keyword == "dependencies" && is_list {
                let listed = At { pointer: at.pointer, keyword: at.keyword, value: node };
                keywords.push(Keyword::RequiredWith(name.to_owned(), listed.strings()?));
            } else {
                keywords.push(Keyword::DependentRule(name.to_owned(), self.place(at.pointer(name), node)));
            }
        }
        Ok(())
    }

    /// A part of this schema, by its JSON pointer (RFC 6901).
    fn reference(&mut self, to: &str) -> Result<Place> {
        let (document, pointer) = to.split_once('#').unwrap_or((to, ""));
        if !document.is_empty() && document != self.id {
            let message = format!("the JSON schema refers to \"{to}\", which is another document");
            return Err(refused(message, "Nothing is fetched: put it under $defs of this one."));
        }
        let missing = || wrong(format_args!("there is nothing at \"{to}\""));
        let pointer = unescaped(pointer).ok_or_else(missing)?;
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(refused(
                format!("the JSON schema refers to an anchor, \"{to}\""),
                "Refer to it by its place: #/$defs/name.",
            ));
        }
        let mut node = self.root;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            node = match node.read()? {
                Json::Object(items) => items.get(&step)?,
                Json::Array(items) => step.parse().ok().map(|at: u32| items.at(at.into())).transpose()?.flatten(),
                _ => None,
            }
            .ok_or_else(missing)?;
        }
        Ok(self.place(pointer, node))
    }
}

/// What stands for percent signs and two digits; `None`: they are no UTF-8.
fn unescaped(text: &str) -> Option<String> {
    let (mut out, mut rest) = (vec![], text.as_bytes());
    while let Some((&byte, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(meant) => {
                out.push(meant);
                rest = &behind[2..];
            }
            None => {
                out.push(byte);
                rest = behind;
            }
        }
    }
    String::from_utf8(out).ok()
}

fn types(at: &At<'_, '_>) -> Result<Types> {
    let names = match at.value.read()? {
        Json::String(name) => vec![name.to_owned()],
        _ => at.strings()?,
    };
    let mut types = Types::default();
    for name in &names {
        match name.as_str() {
            "null" => types.null = true,
            "boolean" => types.boolean = true,
            "integer" => types.integer = true,
            "number" => types.number = true,
            "string" => types.string = true,
            "array" => types.array = true,
            "object" => types.object = true,
            _ => return Err(at.must_be("null, boolean, integer, number, string, array or object")),
        }
    }
    Ok(types)
}
