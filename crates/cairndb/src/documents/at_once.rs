//! Documents for who comes with claims, where nothing has to be waited for: the rule is asked, and the document read or written, on the thread that asks.
//!
//! - A rule is asked here only where its statement reads one row at most, and calls nothing but what is built in and cheap: it is a point statement.
//!   What is to be made is asked of without looking at any table: what others write meanwhile changes nothing in what the rule says, so the rule and
//!   the write need no transaction around them.
//! - The rules are those of the newest durable state, as they are for who opens the collection.
//! - What is refused, fails, or would have to wait is not answered, and leaves no trace: who can wait does it by [`Collection`](super::Collection),
//!   which says why.

use super::by_id::ById;
use super::create::known;
use super::document::Document;
use super::info::CollectionInfo;
use super::rules::{get_sql, insert_sql};
use crate::api::NonBlocking;
use crate::bind::asked_of_values;
use crate::catalog::RuleKind;
use crate::{Jsonb, Result, Rows, Ticket, ToValue, Value};

impl NonBlocking {
    /// The document of an id, if it is in sight of who comes with these claims: see [`Collection::get`](super::Collection::get).
    ///
    /// ```
    /// use cairndb::{Database, NonBlocking, PlanCache};
    ///
    /// let db = Database::open_in_memory()?;
    /// let notes = db.connect()?.create_collection("notes")?.info().clone();
    /// let at_once = NonBlocking::new(db.connect()?, &PlanCache::new())?;
    /// assert!(at_once.get_for_claims(&notes, &"{}".parse()?, &"a").is_none(), "nobody may, and nobody has planned it");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn get_for_claims(
        &self,
        of: &CollectionInfo,
        claims: &Jsonb,
        id: &impl ToValue,
    ) -> Option<Option<Result<Document>>> {
        let sql = get_sql(of.table(), &self.rule(of, RuleKind::View)?);
        self.query_point(&sql, (id, claims), ById::document)
    }

    /// A new document of who comes with these claims: see [`Collection::insert`](super::Collection::insert). The row begins with what
    /// [`ById::written`] reads; it is to be told once the ticket is durable.
    ///
    /// ```
    /// use cairndb::{Database, NonBlocking, PlanCache, Pooled, Rules};
    ///
    /// let db = Database::open_in_memory()?;
    /// let (plans, claims) = (PlanCache::new(), r#"{"sub": "ada"}"#.parse()?);
    /// let (pooled, at_once) = (Pooled::new(db.connect()?, &plans), NonBlocking::new(db.connect()?, &plans)?);
    /// let mut rules = Rules::default();
    /// rules.create = Some("doc -> 'owner' = claims -> 'sub'".to_owned());
    /// pooled.connection().create_collection("notes")?.set_rules(&rules)?;
    /// let of_ada = pooled.connection().collection_for_claims("notes", r#"{"sub": "ada"}"#.parse()?)?;
    /// of_ada.insert(r#"{"owner": "ada"}"#)?;
    /// let (rows, ticket) = at_once.insert_for_claims(of_ada.info(), &claims, r#"{"owner": "ada"}"#).expect("its plans are known");
    /// ticket.expect("a commit").wait()?;
    /// assert_eq!(rows.columns()[0].name, "id");
    /// assert!(at_once.insert_for_claims(of_ada.info(), &claims, r#"{"owner": "bob"}"#).is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn insert_for_claims(&self, of: &CollectionInfo, claims: &Jsonb, doc: &str) -> Option<(Rows, Option<Ticket>)> {
        let rule = self.rule(of, RuleKind::Create)?;
        let doc = Value::Jsonb(doc.parse().ok()?);
        let asked = asked_of_values(&rule, RuleKind::Create, of.id_type());
        let of_values = (claims, Value::Null, Value::Null, &doc);
        match self.holds_for_values(&asked, of_values)? {
            true => self.query(&insert_sql(of.table()), (&doc,)),
            false => None,
        }
    }

    /// A rule as it is now of a collection that was found before; `None`: it has none, or its table is another.
    fn rule(&self, of: &CollectionInfo, kind: RuleKind) -> Option<String> {
        let catalog = self.catalog()?;
        let table = known(&catalog, of.name()).ok().filter(|table| of.is_of(table))?;
        table.rules.of(kind).map(str::to_owned)
    }
}
