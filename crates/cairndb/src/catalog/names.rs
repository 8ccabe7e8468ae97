//! How relations are named and found: schemas, the search path, names as statements give them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use cairn_parser::token::quoted;

use super::objects::TemporaryObjects;
use crate::functions::users::UsersFunctions;

/// A relation's name as a statement gives it.
#[derive(Clone, Debug)]
pub struct ObjectName {
    /// The schema, where it is said.
    pub schema: Option<String>,
    /// The name itself.
    pub name: String,
    /// The byte of the statement where it begins.
    pub(crate) place: Option<u32>,
}

impl ObjectName {
    /// A name in a schema, or in whichever of the path's has it first.
    pub fn new(schema: Option<&str>, name: &str) -> ObjectName {
        ObjectName { schema: schema.map(str::to_owned), name: name.to_owned(), place: None }
    }
}

impl From<&str> for ObjectName {
    fn from(name: &str) -> ObjectName {
        ObjectName::new(None, name)
    }
}

impl PartialEq for ObjectName {
    /// Wherever it stands.
    fn eq(&self, other: &ObjectName) -> bool {
        (&self.schema, &self.name) == (&other.schema, &other.name)
    }
}

impl fmt::Display for ObjectName {
    /// As messages show it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(out, "{schema}.{}", self.name),
            None => out.write_str(&self.name),
        }
    }
}

/// The user that everybody is.
pub(crate) const USER: &str = "cairndb";

/// The session's own schema of temporary tables, by the name that everybody has for his own.
pub(crate) const TEMPORARY: &str = "pg_temp";

/// The path of who has set none; everybody's is the same.
pub(crate) fn default_path() -> Arc<SearchPath> {
    static PATH: OnceLock<Arc<SearchPath>> = OnceLock::new();
    PATH.get_or_init(Arc::default).clone()
}

/// In which schemas names without one are looked up, in order; and the functions and the temporary objects that only this
/// session knows.
#[derive(Clone, Debug)]
pub(crate) struct SearchPath {
    pub(crate) schemas: Vec<String>,
    pub(crate) functions: Arc<UsersFunctions>,
    pub(crate) temporary: Option<Arc<TemporaryObjects>>,
}

impl PartialEq for SearchPath {
    fn eq(&self, other: &SearchPath) -> bool {
        let same = Arc::ptr_eq(&self.functions, &other.functions);
        let stamp = |path: &SearchPath| path.temporary.as_ref().map(|temporary| temporary.stamp);
        let same = same || self.functions.is_empty() && other.functions.is_empty();
        self.schemas == other.schemas && same && stamp(self) == stamp(other)
    }
}

impl Default for SearchPath {
    fn default() -> SearchPath {
        let schemas = vec!["$user".to_owned(), "public".to_owned()];
        SearchPath { schemas, functions: Arc::default(), temporary: None }
    }
}

impl SearchPath {
    /// The same schemas, with what is the session's own on another path of it.
    pub(crate) fn in_session(self: Arc<SearchPath>, other: &SearchPath) -> Arc<SearchPath> {
        match other.functions.is_empty() && other.temporary.is_none() {
            true => self,
            false => Arc::new(SearchPath { schemas: self.schemas.clone(), ..other.clone() }),
        }
    }

    /// The same with other temporary objects.
    pub(crate) fn with_temporary(&self, temporary: TemporaryObjects) -> Arc<SearchPath> {
        Arc::new(SearchPath { temporary: Some(Arc::new(temporary)), ..self.clone() })
    }

    /// Whether new relations, whose schema is not said, are temporary.
    pub(crate) fn begins_temporary(&self) -> bool {
        self.schemas.first().is_some_and(|schema| schema == TEMPORARY)
    }

    /// What a list of schemas says: `a, "B"`. `None` where it is no such list.
    pub(crate) fn of(text: &str) -> Option<SearchPath> {
        let mut schemas = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (name, behind) = match rest.strip_prefix('"') {
                Some(quoted) => take_quoted(quoted)?,
                None => {
                    let end = rest.find(',').unwrap_or(rest.len());
                    let name = cairn_parser::token::fold_identifier(rest[..end].trim_end());
                    (name, &rest[end..])
                }
            };
            schemas.push(name);
            let behind = behind.trim_start();
            rest = match behind.strip_prefix(',') {
                Some(more) if !more.trim().is_empty() => more.trim_start(),
                None if behind.is_empty() => behind,
                _ => return None,
            };
        }
        Some(SearchPath { schemas, ..SearchPath::default() })
    }
}

/// The name that ends at the next quote that is not doubled, and what is behind it.
pub(crate) fn take_quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, rest)),
        }
    }
}

impl fmt::Display for SearchPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemas: Vec<String> = self.schemas.iter().map(|schema| quoted(schema)).collect();
        out.write_str(&schemas.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_paths_are_lists_of_names() {
        let of = |text: &str| SearchPath::of(text).map(|path| path.to_string());
        assert_eq!(of("\"$user\", public").as_deref(), Some("\"$user\", public"));
        assert_eq!(of(" A,\"B\"\"c\" ").as_deref(), Some("a, \"B\"\"c\""));
        assert_eq!(of("").as_deref(), Some(""));
        assert_eq!(of("a,"), None);
        assert_eq!(of("\"a"), None);
        assert_eq!(SearchPath::default().to_string(), "\"$user\", public");
    }
}
