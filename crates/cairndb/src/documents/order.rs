//! In which order documents come, and where in it one is: a cursor says what the last document had, so that it holds whatever becomes of
//! documents meanwhile, that one among them.
//!
//! The order is total: the id comes last. What a document lacks comes behind everything, and before it where the order descends.

use super::Document;
use super::filter::{Asked, Path, Place, value_at, wrong};
use crate::Result;
use crate::catalog::collection::{DOC, ID};
use crate::types::{Document as Json, JsonBuilder, Jsonb};

#[derive(Clone, Debug)]
pub(super) struct SortKey {
    path: Path,
    descending: bool,
}

/// `a.b` ascends, `-a.b` descends.
pub(super) fn keys(texts: &[String]) -> Result<Vec<SortKey>> {
    let key = |text: &String| {
        let (path, descending) = text.strip_prefix('-').map_or((text.as_str(), false), |path| (path, true));
        Ok(SortKey { path: Path::parse(path)?, descending })
    };
    texts.iter().map(key).collect()
}

impl SortKey {
    fn sql(&self) -> String {
        format!("{}{}", self.path.sql(DOC), if self.descending { " DESC" } else { "" })
    }
}

/// What stands behind ORDER BY.
pub(super) fn sql(keys: &[SortKey]) -> String {
    keys.iter().map(SortKey::sql).chain([ID.to_owned()]).collect::<Vec<_>>().join(", ")
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
        let found = Json::Node(document.doc.root()).path(key.path.steps().iter().map(String::as_str))?;
        if let Some(Json::Node(node)) = found {
            builder.node(node)?;
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
        let at = value_at(&Place::Path(key.path.clone()), DOC);
        let value = part.at(0)?.map(|value| asked.param(value.to_value()));
        let further = match (&value, key.descending) {
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
