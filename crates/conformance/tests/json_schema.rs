//! JSON schemas beside a library of its own standing: generated schemas say of generated documents what they say there.

use std::collections::BTreeSet;

use cairn_conformance::differential::Random;
use cairndb::{Connection, Database};
use serde_json::{Value, json};

const SCHEMAS: usize = 4_000;
/// Of each schema.
const DOCUMENTS: usize = 8;
const NAMES: [&str; 4] = ["a", "b", "ab", "ä"];
const KINDS: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const PATTERNS: [&str; 6] = ["^a", "b$", "^\\w+$", "^[^a]*$", "\\d", "^(a|ä)+$"];

struct Made<'r> {
    random: &'r mut Random,
    /// Of the whole schema's `$defs`.
    definitions: usize,
}

impl Made<'_> {
    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.below(choices.len())]
    }

    fn count(&mut self) -> Value {
        json!(self.random.below(3))
    }

    /// Quarters, so that what is a multiple of what is exact in the other library too.
    fn number(&mut self) -> Value {
        match self.random.below(3) {
            0 => json!(self.random.below(7) as f64 / 4.0 - 0.5),
            _ => json!(self.random.below(7) as i64 - 3),
        }
    }

    fn document(&mut self, depth: usize) -> Value {
        match self.random.below(if depth == 0 { 5 } else { 9 }) {
            0 => Value::Null,
            1 => json!(self.random.below(2) == 0),
            2 | 3 => self.number(),
            4 => json!(self.of(&["", "a", "b", "ab", "ä1", "aaa"])),
            5 | 6 => (0..self.random.below(4)).map(|_| self.document(depth - 1)).collect(),
            _ => (0..self.random.below(4)).map(|_| (self.of(&NAMES).to_owned(), self.document(depth - 1))).collect(),
        }
    }

    fn schemas(&mut self, depth: usize) -> Value {
        (0..1 + self.random.below(2)).map(|_| self.schema(depth)).collect()
    }

    fn schema(&mut self, depth: usize) -> Value {
        if depth == 0 || self.random.below(12) == 0 {
            return match self.random.below(4) {
                0 => json!(self.random.below(2) == 0),
                1 => {
                    let kinds = BTreeSet::from([self.of(&KINDS), self.of(&KINDS)]);
                    json!({"type": kinds})
                }
                2 => json!({"const": self.document(1)}),
                _ => json!({}),
            };
        }
        let mut schema = serde_json::Map::new();
        for _ in 0..1 + self.random.below(3) {
            let (keyword, value) = self.keyword(depth - 1);
            schema.insert(keyword.into(), value);
        }
        Value::Object(schema)
    }

    fn keyword(&mut self, depth: usize) -> (&'static str, Value) {
        match self.random.below(34) {
            0 | 1 => ("type", json!(self.of(&KINDS))),
            2 => ("enum", json!([self.document(1), self.document(1), self.document(0)])),
            3 => ("const", self.document(1)),
            4 => ("minimum", self.number()),
            5 => ("maximum", self.number()),
            6 => ("exclusiveMinimum", self.number()),
            7 => ("exclusiveMaximum", self.number()),
            8 => ("multipleOf", json!(self.of(&[0.25, 0.5, 1.0, 2.0]))),
            9 => ("minLength", self.count()),
            10 => ("maxLength", self.count()),
            11 => ("pattern", json!(self.of(&PATTERNS))),
            12 => ("items", self.schema(depth)),
            13 => ("prefixItems", self.schemas(depth)),
            14 => ("contains", self.schema(depth)),
            15 => ("minContains", self.count()),
            16 => ("maxContains", self.count()),
            17 => ("minItems", self.count()),
            18 => ("maxItems", self.count()),
            19 => ("uniqueItems", json!(true)),
            20 | 21 => {
                ("properties", json!({(self.of(&NAMES)): self.schema(depth), (self.of(&NAMES)): self.schema(depth)}))
            }
            22 => ("patternProperties", json!({(self.of(&PATTERNS)): self.schema(depth)})),
            23 => ("additionalProperties", self.schema(depth)),
            24 => ("propertyNames", self.schema(depth)),
            25 => ("required", json!([self.of(&NAMES)])),
            26 => ("minProperties", self.count()),
            27 => ("dependentRequired", json!({(self.of(&NAMES)): [self.of(&NAMES)]})),
            28 => ("dependentSchemas", json!({(self.of(&NAMES)): self.schema(depth)})),
            29 => ("allOf", self.schemas(depth)),
            30 => (self.of(&["anyOf", "oneOf"]), self.schemas(depth)),
            31 => ("not", self.schema(depth)),
            32 => (self.of(&["if", "then", "else"]), self.schema(depth)),
            _ => ("$ref", json!(format!("#/$defs/{}", self.random.below(self.definitions)))),
        }
    }
}

/// A definition refers to none, so that no schema asks for ever.
fn schema(random: &mut Random) -> Value {
    let mut definitions = serde_json::Map::new();
    for name in 0..2 {
        let mut made = Made { random, definitions: 1 };
        let mut definition = made.schema(2);
        without_references(&mut definition);
        definitions.insert(name.to_string(), definition);
    }
    let mut whole = Made { random, definitions: 2 }.schema(3);
    if let Value::Object(members) = &mut whole {
        members.insert("$defs".into(), definitions.into());
        return whole;
    }
    json!({"allOf": [whole], "$defs": definitions})
}

fn without_references(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.remove("$ref");
            members.values_mut().for_each(without_references);
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_references),
        _ => {}
    }
}

fn says(conn: &Connection, schema: &Value, document: &Value) -> bool {
    let asked = (schema.to_string(), document.to_string());
    conn.query_row("SELECT jsonb_matches_schema($1::text::json, $2::text::jsonb)", asked, |row| row.get::<bool>(0))
        .unwrap_or_else(|error| panic!("{schema} {document}: {error:?}"))
}

#[test]
fn schemas_say_of_documents_what_another_library_says() {
    let conn = Database::open_in_memory().unwrap().connect().unwrap();
    let (mut random, mut holding) = (Random::new(36), 0);
    for _ in 0..SCHEMAS {
        let schema = schema(&mut random);
        let other = jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
        for _ in 0..DOCUMENTS {
            let document = Made { random: &mut random, definitions: 1 }.document(3);
            let expected = other.is_valid(&document);
            holding += usize::from(expected);
            assert_eq!(says(&conn, &schema, &document), expected, "{schema} {document}");
        }
    }
    // Neither all nor none: both answers are compared.
    assert!((SCHEMAS..SCHEMAS * (DOCUMENTS - 1)).contains(&holding), "{holding}");
}
