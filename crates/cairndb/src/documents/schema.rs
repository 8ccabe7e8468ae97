//! A collection's JSON Schema: a CHECK over its documents, so that it holds whoever writes.

use super::Collection;
use crate::bind::bind_check;
use crate::catalog::collection::DOC;
use crate::functions::json::is_schema_match;
use crate::functions::quote_literal;
use crate::plan::Expr;
use crate::types::Jsonb;
use crate::{Result, Value};

/// The constraint's name.
const NAME: &str = "json_schema";

impl Collection<'_> {
    /// Documents have to be as a JSON Schema asks, from now on and those that are there: those that SQL, COPY and triggers write as well as
    /// those from here. It takes the place of one that was set before; `None` takes that away.
    ///
    /// It is a constraint, `CONSTRAINT json_schema CHECK (jsonb_matches_schema('..', doc))`. 2020-12, 2019-09 and draft 7 are understood, but for
    /// `unevaluatedProperties`, anchors, dynamic references and references to other documents; `format` is an annotation.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let people = conn.create_collection("people")?;
    /// people.set_schema(Some(r#"{"required": ["name"], "properties": {"age": {"type": "integer", "minimum": 0}}}"#))?;
    /// let refused = people.insert(r#"{"name": "Ada", "age": -1}"#).unwrap_err();
    /// assert_eq!(refused.sqlstate().0, "23514");
    /// assert_eq!(refused.detail(), Some("/age: -1 is less than 0"));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// SQLSTATE 22P02: it is no JSON. 22023: no schema. 0A000: it says what is not understood. 23514: a document is not as it asks; nothing
    /// has changed then.
    pub fn set_schema(&self, schema: Option<&str>) -> Result<()> {
        let table = self.info().table();
        let mut change = format!("ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {NAME}");
        if let Some(schema) = schema {
            // One that is no JSON is told as that.
            schema.parse::<Jsonb>()?;
            let schema = quote_literal(schema);
            change += &format!(", ADD CONSTRAINT {NAME} CHECK (jsonb_matches_schema({schema}, {DOC}))");
        }
        self.connection().execute(&change, ()).map(drop)
    }

    /// The JSON Schema that [`Collection::set_schema`] set, as it was written.
    pub fn schema(&self) -> Result<Option<String>> {
        let catalog = self.connection().catalog()?;
        let table = self.known(&catalog)?;
        let Some(check) = table.checks.iter().find(|check| check.name == NAME) else { return Ok(None) };
        Ok(match bind_check(&check.condition, table, &catalog)? {
            Expr::Call { function, args } if is_schema_match(&function) => match args.into_iter().next() {
                Some(Expr::Literal { value: Value::Json(schema), .. }) => Some(schema.into()),
                _ => None,
            },
            _ => None,
        })
    }
}
