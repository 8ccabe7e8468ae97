//! `POST ../aggregate`: groups of documents, and what is worked out of each.

use std::fmt;
use std::marker::PhantomData;

use axum::body::Body;
use axum::http::StatusCode;
use cairndb::{Aggregation, Connection, Error, SqlState};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::asking::Asking;
use crate::collections::json_text;
use crate::problem::{Answer, Problem};
use crate::query::LIMIT;
use crate::token::Scope;

/// What is asked for; filters are left as the texts that they are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    filter: Option<Box<RawValue>>,
    #[serde(default)]
    group: Pairs<String>,
    #[serde(default)]
    /// Each is one operator, and what it is of.
    fields: Pairs<Pairs<Of>>,
    having: Option<Box<RawValue>>,
    #[serde(default)]
    sort: Vec<String>,
    limit: Option<u32>,
}

/// What something is worked out of: all documents (`true`), or what lies at a path.
#[derive(Deserialize)]
#[serde(untagged)]
enum Of {
    All(bool),
    At(String),
    /// Of what nothing is worked out: it is told with its name.
    Other(IgnoredAny),
}

/// Members of an object in their order, also those that are said twice: of that it is told.
struct Pairs<T>(Vec<(String, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Pairs<T> {
        Pairs(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Pairs<T>, D::Error> {
        struct Reading<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reading<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs<T>, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(Reading(PhantomData))
    }
}

impl Asked {
    fn of<'a>(&self, mut aggregate: Aggregation<'a>) -> Result<Aggregation<'a>, Error> {
        for (name, path) in &self.group.0 {
            aggregate = aggregate.group(name, path);
        }
        for (name, Pairs(calculation)) in &self.fields.0 {
            aggregate = match &calculation[..] {
                [(operator, of)] => match (operator.as_str(), of) {
                    ("$count", Of::All(true)) => aggregate.count(name),
                    ("$count", Of::At(path)) => aggregate.count_of(name, path),
                    ("$sum", Of::At(path)) => aggregate.sum(name, path),
                    ("$avg", Of::At(path)) => aggregate.avg(name, path),
                    ("$min", Of::At(path)) => aggregate.min(name, path),
                    ("$max", Of::At(path)) => aggregate.max(name, path),
                    _ => return Err(unknown(name)),
                },
                _ => return Err(unknown(name)),
            };
        }
        if let Some(having) = &self.having {
            aggregate = aggregate.having(having.get());
        }
        Ok(aggregate.sort(self.sort.clone()))
    }
}

fn unknown(name: &str) -> Error {
    let message = format!("it is not said what \"{name}\" is to be");
    let hint = "Write {\"$sum\": \"path\"}; there are $count (also of true), $sum, $avg, $min and $max.";
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(hint)
}

pub(crate) async fn run(asking: Asking, body: Body) -> Answer {
    let open = asking.documents(Scope::Read).await?;
    let asked: Asked = asking.said(body).await?;
    let limit = asked.limit.unwrap_or(LIMIT);
    let most = asking.app.options().documents_max;
    if limit == 0 || limit > most {
        return Err(Problem::wrong(format!("an answer has from 1 to {most} groups")));
    }
    let (principal, name) = (asking.principal.clone(), asking.names.collection.clone());
    let groups = move |connection: &Connection| {
        let collection = principal.collection(connection, &name)?;
        let filter = asked.filter.as_ref().map_or("{}", |filter| filter.get());
        // One more tells whether there are more.
        asked.of(collection.aggregate(filter))?.limit(limit.saturating_add(1)).all()
    };
    let mut groups = open.database.call(groups).await?;
    let has_more = groups.len() > limit as usize;
    groups.truncate(limit as usize);
    let groups: Vec<String> = groups.iter().map(ToString::to_string).collect();
    let more = if has_more { ",\"more\":true" } else { "" };
    Ok(json_text(StatusCode::OK, format!("{{\"groups\":[{}]{more}}}", groups.join(","))))
}
