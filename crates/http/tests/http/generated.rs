//! Requests made up from the document that says what there is: whatever it lets be asked is answered as it says.
//!
//! Bodies and parameters come from the schemas of each operation; names that mean something come from a few that do. So that what is refused is met as well,
//! some requests are spoiled. `CAIRN_SEED` makes others, `CAIRN_ROUNDS` more of them.

use std::collections::BTreeMap;
use std::io::{BufReader, Write};

use super::client::read_head;
use super::*;

/// Requests of each operation.
const ROUNDS: u64 = 16;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)) % limit.max(1) as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Texts for what has this name, as they are in parameters.
fn texts(name: &str) -> &'static [&'static str] {
    match name {
        "database" => &["shop", "shop", "shop", "none"],
        "collection" => &["notes", "notes", "notes", "notes", "none", "a b"],
        "id" => &["a", "b", "c/d"],
        "path" => &["n", "tags", "by.name", "a..b"],
        "$count" | "$sum" | "$avg" | "$min" | "$max" => &["n", "tags", "by.name"],
        "sort" => &["n", "-by.name", "-n"],
        "select" => &["n", "by"],
        "filter" => &["{}", r#"{"n":{"$gt":1}}"#, r#"{"$bad":1}"#, r#"{"tags":{"$elemMatch":{"$eq":"a"}}}"#, "["],
        "having" => &["{}", r#"{"n":{"$gt":1}}"#],
        "after" => &[r#"["a"]"#, "x"],
        "since" => &["none", "1-1-1"],
        "expand" => &["by:notes", "by:none", "by"],
        "If-Match" | "If-None-Match" => &["*", "\"1-1-1\"", "none"],
        "Last-Event-ID" => &["none"],
        "if_match" => &["1-1-1"],
        "sql" => &[
            "SELECT id, doc FROM notes",
            "SELECT 1 / 0",
            "INSERT INTO notes (doc) VALUES ('1')",
            "BEGIN",
            "SELECT $1::int",
        ],
        "params" => &["[]", "[]", "[1]", "x"],
        "table" => &["notes", "notes", "none"],
        "list" | "view" | "create" | "delete" => &["true", "doc ? 'n'", "nothing"],
        "update" => &["old.doc = doc", "true"],
        _ => &["x", "", "ä"],
    }
}

struct Generated<'d> {
    document: &'d Value,
    random: Random,
}

impl<'d> Generated<'d> {
    fn resolved(&self, schema: &'d Value) -> &'d Value {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(to) => self.document.pointer(to.strip_prefix('#').unwrap()).unwrap(),
            None => schema,
        }
    }

    /// Something that is as a schema says, of what is called so.
    fn value(&mut self, name: &str, schema: &'d Value) -> Value {
        let schema = self.resolved(schema);
        if let Some(all) = schema["enum"].as_array() {
            return all[self.random.below(all.len())].clone();
        }
        if let Some(one) = schema.get("const") {
            return one.clone();
        }
        if let Some(any) = schema["anyOf"].as_array() {
            let at = self.random.below(any.len());
            return self.value(name, &any[at]);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[self.random.below(kinds.len())].as_str(),
            kind => kind.as_str(),
        };
        match kind {
            Some("string") => json!(self.random.one(texts(name))),
            Some("integer") => json!(schema["minimum"].as_i64().unwrap_or(0) + self.random.below(4) as i64),
            Some("boolean") => json!(self.random.below(2) == 0),
            Some("null") => Value::Null,
            Some("array") => (0..schema["minItems"].as_u64().unwrap_or(0) + self.random.below(3) as u64)
                .map(|_| self.value(name, &schema["items"]))
                .collect(),
            Some("object") => self.object(name, schema),
            _ => self.anything(name, 0),
        }
    }

    fn object(&mut self, name: &str, schema: &'d Value) -> Value {
        let mut object = serde_json::Map::new();
        let one = schema["maxProperties"] == json!(1);
        if let Some(members) = schema["properties"].as_object() {
            let only = self.random.below(members.len());
            for (at, (name, member)) in members.iter().enumerate() {
                let needed = schema["required"].as_array().is_some_and(|needed| needed.contains(&json!(name)));
                if (one && at == only) || (!one && (needed || self.random.below(2) == 0)) {
                    object.insert(name.clone(), self.value(name, member));
                }
            }
        } else if schema["additionalProperties"].is_object() {
            for at in 0..self.random.below(3) {
                let (member, of) = match name {
                    "expand" => ("by".to_owned() + &".x".repeat(at), "collection"),
                    _ => (format!("{name}{at}"), "$sum"),
                };
                object.insert(member, self.value(of, &schema["additionalProperties"]));
            }
        } else if !texts(name)[0].is_empty() {
            // A filter.
            return serde_json::from_str(self.random.one(texts(name))).unwrap_or_else(|_| json!({}));
        }
        object.into()
    }

    /// Some JSON.
    fn anything(&mut self, name: &str, depth: usize) -> Value {
        if name == "patch" && depth == 0 && self.random.below(2) == 0 {
            return json!([{ "op": "add", "path": "/n", "value": 1 }]);
        }
        match self.random.below(if depth > 2 { 4 } else { 6 }) {
            0 => json!(self.random.below(5)),
            1 => json!(self.random.one(&["a", "b", "ä"])),
            2 => Value::Null,
            3 => json!(true),
            4 => (0..self.random.below(3)).map(|_| self.anything(name, depth + 1)).collect(),
            _ => ["n", "by", "tags"].iter().map(|name| ((*name).to_owned(), self.anything(name, depth + 1))).collect(),
        }
    }
}

/// A request.
#[derive(Debug)]
struct Asked {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

fn percent(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

impl<'d> Generated<'d> {
    fn request(&mut self, path: &str, method: &str) -> Asked {
        let of = &self.document["paths"][path];
        let operation = &of[method];
        let mut asked =
            Asked { method: method.to_uppercase(), path: path.to_owned(), headers: Vec::new(), body: String::new() };
        let mut query = Vec::new();
        let parameters = [&of["parameters"], &operation["parameters"]].map(|all| all.as_array().cloned());
        for parameter in parameters.into_iter().flatten().flatten() {
            let to = parameter.get("$ref").and_then(Value::as_str).map(|to| to.strip_prefix('#').unwrap().to_owned());
            let parameter = to.map_or(parameter.clone(), |to| self.document.pointer(&to).unwrap().clone());
            let name = parameter["name"].as_str().unwrap().to_owned();
            let value = match parameter["schema"]["type"].as_str() {
                Some("integer") => self.random.below(3).to_string(),
                Some("boolean") => self.random.one(&["true", "false"]).to_owned(),
                _ => self.random.one(texts(&name)).to_owned(),
            };
            match parameter["in"].as_str().unwrap() {
                "path" => asked.path = asked.path.replace(&format!("{{{name}}}"), &percent(&value)),
                // What may be left out mostly is.
                _ if parameter["required"] != json!(true) && self.random.below(3) > 0 => {}
                "query" => query.push(format!("{name}={}", percent(&value))),
                _ => asked.headers.push((name, value)),
            }
        }
        if !query.is_empty() {
            asked.path += &format!("?{}", query.join("&"));
        }
        if let Some(kinds) = operation["requestBody"]["content"].as_object() {
            let kinds: Vec<(&String, &Value)> = kinds.iter().collect();
            let (kind, content) = kinds[self.random.below(kinds.len())];
            asked.headers.push(("Content-Type".to_owned(), kind.clone()));
            asked.body = match kind.as_str() {
                "application/x-ndjson" => (0..3).map(|_| self.anything("", 0).to_string() + "\n").collect(),
                _ => self.value("", &content["schema"]).to_string(),
            };
        }
        if self.random.below(8) == 0 {
            match self.random.below(3) {
                0 => asked.body = asked.body.chars().take(asked.body.len() / 2).collect(),
                1 => asked.headers.retain(|(name, _)| name != "Content-Type"),
                _ => asked.path += if asked.path.contains('?') { "&more=1" } else { "?more=1" },
            }
        }
        asked
    }
}

/// The answer; of a stream its head, and nothing of what comes.
fn answer(client: &Client, asked: &Asked) -> Answer {
    let headers: Vec<(&str, &str)> =
        asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let is_stream = asked.path.contains("/changes") || asked.path.contains("/live");
    if !is_stream {
        return client.ask(&asked.method, &asked.path, &headers, &asked.body);
    }
    let length = asked.body.len().to_string();
    let all: Vec<(&str, &str)> = headers.into_iter().chain([("Content-Length", length.as_str())]).collect();
    let mut stream = client.connect();
    stream.write_all((client.head(&asked.method, &asked.path, &all) + &asked.body).as_bytes()).unwrap();
    let (status, headers) = read_head(&mut BufReader::new(&stream));
    if status == 200 {
        return Answer { status, headers, body: String::new() };
    }
    let headers: Vec<(&str, &str)> =
        asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    client.ask(&asked.method, &asked.path, &headers, &asked.body)
}

/// What is wrong with the answer, by the document; nothing: an empty text.
fn wrong(served: &Served, document: &Value, operation: &Value, answer: &Answer) -> String {
    let responses = &operation["responses"];
    let status = answer.status.to_string();
    let said = match responses.get(&status) {
        Some(said) => said,
        None if answer.status >= 400 && answer.status < 500 => &document["components"]["responses"]["Problem"],
        None => return "the status is none that it says".to_owned(),
    };
    let Some(kinds) = said["content"].as_object() else {
        return if answer.body.is_empty() { String::new() } else { "there is a body".to_owned() };
    };
    let kind = answer.header("content-type").unwrap_or_default().split(';').next().unwrap();
    let Some(content) = kinds.get(kind) else { return format!("a body of type {kind}") };
    if !kind.ends_with("json") {
        return String::new();
    }
    let schema = json!({ "allOf": [content["schema"]], "components": document["components"] }).to_string();
    let conn = served.database.connect().unwrap();
    let errors: Result<String, _> = conn.query_row(
        "SELECT jsonschema_validation_errors($1::text::json, $2::text::jsonb)::text",
        (schema, answer.body.clone()),
        |row| row.get(0),
    );
    match errors {
        Ok(errors) if errors == "{}" => String::new(),
        other => format!("{other:?}"),
    }
}

#[test]
fn whatever_may_be_asked_is_answered_as_it_is_said() {
    let served = Served::new();
    let document: Value = Client::new(served.client.address, "").get("/openapi.json").json();
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let mut generated = Generated { document: &document, random: Random(number("CAIRN_SEED").unwrap_or(36)) };
    let mut met: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let conn = served.database.connect().unwrap();
    for _ in 0..number("CAIRN_ROUNDS").unwrap_or(ROUNDS) {
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters")
            {
                let name = operation["operationId"].as_str().unwrap();
                if name == "createCollection" {
                    let _ = conn.drop_collection("notes");
                } else {
                    let notes = conn.create_collection("notes").unwrap();
                    for (id, doc) in
                        [("a", r#"{"n": 1, "by": "b", "tags": ["a"]}"#), ("b", r#"{"n": 2.50, "by": ["a", "x"]}"#)]
                    {
                        // (A schema that was set may refuse them.)
                        let _ = notes.put(id, doc);
                    }
                    if name == "getSchema" {
                        notes.set_schema(Some("true")).unwrap();
                    }
                }
                let asked = generated.request(path, method);
                let answer = answer(&served.client, &asked);
                let wrong = wrong(&served, &document, operation, &answer);
                assert!(wrong.is_empty(), "{wrong}\n{asked:?}\n{answer:?}");
                let (good, bad) = met.entry(name.to_owned()).or_default();
                *if answer.status < 400 { good } else { bad } += 1;
            }
        }
    }
    assert!(met.len() > 25, "{met:?}");
    // Each was met by what it takes, and by what it refuses where it can refuse something.
    let takes_all = ["listDatabases", "listAudit", "getMetrics", "getHealth", "getReadiness", "getOpenApi"];
    met.retain(|name, (good, bad)| *good == 0 || (*bad == 0 && !takes_all.contains(&name.as_str())));
    assert!(met.is_empty(), "met by what is taken and by what is refused: {met:?}");
}
