//! In which order documents come, and where in it one is: a cursor says what the last document had, so that it holds whatever becomes of
//! documents meanwhile, that one among them.
//!
//! The order is total: the id comes last. What a document lacks comes behind everything, and before it where the order descends.

use super::Document;
use super::filter::{Asked, Path, Place, value_at, wrong};
use crate::catalog::collection::{DOC, ID};
use crate::types::{Document as Json, JsonBuilder, Jsonb};
use crate::{Result, Value};

#[derive(Clone, Debug)]
pub(super) struct SortKey {
    place: Place,
    descending: bool,
}

/// `a.b` ascends, `-a.b` descends; `$id` and `$version` are the columns, as in filters.
pub(super) fn keys(texts: &[String]) -> Result<Vec<SortKey>> {
    let place = |path: &str| match path {
        "$id" => Ok(Place::Id),
        "$version" => Ok(Place::Version),
        _ if path.starts_with('$') => {
            Err(wrong(format!("{path} is no order")).with_hint("$id and $version stand beside paths."))
        }
        _ => Path::parse(path).map(Place::Path),
    };
    texts.iter().map(|text| key(text, place)).collect()
}

/// The same of groups, which have nothing but what is in them.
pub(super) fn keys_of_groups(texts: &[String]) -> Result<Vec<SortKey>> {
    texts.iter().map(|text| key(text, |path| Path::parse(path).map(Place::Path))).collect()
}

fn key(text: &str, place: impl Fn(&str) -> Result<Place>) -> Result<SortKey> {
    let (path, descending) = text.strip_prefix('-').map_or((text, false), |path| (path, true));
    Ok(SortKey { place: place(path)?, descending })
}

impl SortKey {
    fn sql(&self) -> String {
        format!("{}{}", value_at(&self.place, DOC), if self.descending { " DESC" } else { "" })
    }
}

/// What stands behind ORDER BY.
pub(super) fn sql(keys: &[SortKey]) -> String {
    let mut sql = String::new();
    for key in keys {
        sql.push_str(&key.sql());
        sql.push_str(", ");
    }
    sql + ID
}

/// The same of what has no id; at last by these paths.
pub(super) fn listed(keys: &[SortKey], last: impl Iterator<Item = Path>) -> String {
    keys.iter().map(SortKey::sql).chain(last.map(|path| path.sql(DOC))).collect::<Vec<_>>().join(", ")
}

/// What a document has at each key, if it has something, and its id: as an array of arrays of at most one value, and the id's text.
pub(super) fn cursor(keys: &[SortKey], document: &Document) -> Result<String> {
    let mut builder = JsonBuilder::default();
    builder.begin_array()?;
    for key in keys {
        builder.begin_array()?;
        match &key.place {
            Place::Id => builder.string(&document.id_text()),
            Place::Version => builder.string(&document.version.to_string()),
            Place::Path(path) => {
                let found = Json::Node(document.doc.root()).path(path.steps().iter().map(String::as_str))?;
                if let Some(Json::Node(node)) = found {
                    builder.node(node)?;
                }
            }
            Place::Whole => {}
        }
        builder.end()?;
    }
    builder.string(&document.id_text());
    builder.end()?;
    Ok(builder.finish()?.to_string())
}

/// The condition of coming behind the document of a cursor.
pub(super) fn behind(keys: &[SortKey], cursor: &str, asked: &mut Asked) -> Result<String> {
    let unreadable = || wrong("the cursor is of another order, or none").with_hint("Take it from the page before.");
    let cursor: Jsonb = cursor.parse().map_err(|_| unreadable())?;
    let mut parts = Json::Node(cursor.root()).elements()?;
    let id = parts.pop().map(|id| id.to_text()).transpose()?;
    let id = id.and_then(|id| asked.ids.of_text(id.as_str()?)).ok_or_else(unreadable)?;
    if parts.len() != keys.len() {
        return Err(unreadable());
    }
    // (a behind) OR (a the same AND (b behind)) OR ..
    let (mut same, mut terms) = (Vec::<String>::new(), Vec::new());
    for (key, part) in keys.iter().zip(parts) {
        let at = value_at(&key.place, DOC);
        let value = part.at(0)?.map(|value| {
            let text = || value.to_text().ok().and_then(|text| text.as_str().map(str::to_owned)).ok_or_else(unreadable);
            let value = match &key.place {
                Place::Id => asked.ids.of_text(&text()?).ok_or_else(unreadable)?,
                Place::Version => Value::BigInt(text()?.parse().map_err(|_| unreadable())?),
                Place::Path(_) | Place::Whole => value.to_value(),
            };
            Ok::<_, crate::Error>(asked.param(value))
        });
        let value = value.transpose()?;
        let further = match (&value, key.descending) {
            (Some(value), false) if matches!(key.place, Place::Id | Place::Version) => Some(format!("{at} > {value}")),
            (Some(value), false) => Some(format!("({at} > {value} OR {at} IS NULL)")),
            (Some(value), true) => Some(format!("{at} < {value}")),
            (None, false) => None,
            (None, true) => Some(format!("{at} IS NOT NULL")),
        };
        terms.extend(further.map(|further| all(&same, further)));
        same.push(value.map_or_else(|| format!("{at} IS NULL"), |value| format!("{at} = {value}")));
    }
    let id = asked.param(id);
    terms.push(all(&same, format!("{ID} > {id}")));
    Ok(format!("({})", terms.join(" OR ")))
}

fn all(same: &[String], further: String) -> String {
    let all: Vec<&str> = same.iter().map(String::as_str).chain([further.as_str()]).collect();
    format!("({})", all.join(" AND "))
}
