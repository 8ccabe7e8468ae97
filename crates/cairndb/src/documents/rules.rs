//! Rules: what somebody sees of a collection who comes with claims, and may change.
//!
//! - What is read is asked for with the rule in the statement's own WHERE: what is counted, sorted, paged or filtered by is in sight.
//! - A change of a document that is there is one of a document in sight (`view`); else there is none. It is a transaction: the document is read, the rule
//!   asked of it and of what it is to be, and it is written on condition that it still is the one that was read.
//! - The rule is asked before anything is written: who may not make a document is not told what would have been in its way. Where a trigger wrote
//!   something else, it is asked again of that, and if it is not so, nothing of it stays.
//! - A rule that fails is not so. Of why it failed nothing is told: that could tell of what is out of sight.

use std::cell::RefCell;
use std::sync::Arc;

use super::by_id::ById;
use super::collection::{Collection, Upserted};
use super::document::{Document, Written, jsonb};
use super::filter::{literal, wrong};
use crate::api::Statement;
use crate::bind::{asked_of_values, is_of_values_alone, with_claims};
use crate::catalog::{RuleKind, Rules};
use crate::types::{DataType, EvalContext, Jsonb, fit};
use crate::{Error, Result, SqlState, ToValue, Value};

/// Who comes with claims, and the rules for him.
pub(super) struct Under {
    claims: Value,
    rules: Arc<Rules>,
}

/// The same with the statements that ask.
pub(super) struct Ruled<'c> {
    pub(super) under: Under,
    get: Slot<'c>,
    create: Slot<'c>,
    update: Slot<'c>,
    delete: Slot<'c>,
    insert: Slot<'c>,
    insert_as: Slot<'c>,
    replace: Slot<'c>,
    remove: Slot<'c>,
}

type Slot<'c> = RefCell<Option<Statement<'c>>>;

/// What a rule is asked of: an id, a version and a document, of which those that are not known are NULL.
type Proposed = (Value, Value, Value);

const WRITTEN: &str = "RETURNING id, version, doc";

impl Under {
    /// The rule of a kind. SQLSTATE 42501 where there is none.
    pub(super) fn rule(&self, kind: RuleKind) -> Result<&str> {
        self.rules.of(kind).ok_or_else(refused)
    }

    pub(super) fn claims(&self) -> Value {
        self.claims.clone()
    }
}

/// A document by its id, if the rule lets it be viewed; the claims are the second parameter.
pub(super) fn get_sql(table: &str, rule: &str) -> String {
    let rule = with_claims(rule, 2);
    format!("SELECT id, version, doc FROM {table} AS document WHERE id = $1 AND ({rule})")
}

/// A new document, of which it is told what was written.
pub(super) fn insert_sql(table: &str) -> String {
    format!("INSERT INTO {table} (doc) VALUES ($1) {WRITTEN}")
}

/// SQLSTATE 42501.
fn refused() -> Error {
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, "the rules of the collection do not let this be done")
}

/// What is told of an error of a statement that asks a rule: nothing that comes of rows.
pub(super) fn concealed(error: Error) -> Error {
    let is_of_the_moment = ["08", "25", "40", "53", "55", "57", "58", "XX"];
    let class = error.sqlstate().as_str().get(..2).unwrap_or_default();
    match is_of_the_moment.contains(&class) || error.sqlstate() == SqlState::INSUFFICIENT_PRIVILEGE {
        true => error,
        false => Error::new(SqlState::INSUFFICIENT_PRIVILEGE, "a rule of the collection, or the filter, fails")
            .with_hint("Whoever may manage the collection can try its rules in SQL."),
    }
}

impl<'c> Collection<'c> {
    /// The rules that there are.
    pub fn rules(&self) -> Result<Rules> {
        let catalog = self.connection().catalog()?;
        Ok(Rules::clone(&self.known(&catalog)?.rules))
    }

    /// Sets all of them: what is not said nobody may. They hold for who comes [with claims](Collection::for_claims), from now on.
    ///
    /// A rule is a condition of SQL over `id`, `doc`, `version` and `claims`, which are a `jsonb`; that of `update` also over `old.id`, `old.doc` and
    /// `old.version`. Subqueries may look into other tables; there the document is `document.doc`.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let mut rules = cairndb::Rules::default();
    /// rules.view = Some("nothing = claims".to_owned());
    /// assert_eq!(notes.set_rules(&rules).unwrap_err().sqlstate().0, "42703");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with one, by its SQLSTATE. 42P17: it calls what is VOLATILE. 54000: it is longer than 16 KiB. Nothing has changed then.
    pub fn set_rules(&self, rules: &Rules) -> Result<()> {
        let (mut set, mut reset) = (Vec::new(), Vec::new());
        for kind in RuleKind::ALL {
            match rules.of(kind) {
                Some(rule) => set.push(format!("{} = {}", kind.option(), literal(rule))),
                None => reset.push(kind.option().to_owned()),
            }
        }
        let action = |word: &str, all: &[String]| (!all.is_empty()).then(|| format!("{word} ({})", all.join(", ")));
        let actions: Vec<String> = [action("SET", &set), action("RESET", &reset)].into_iter().flatten().collect();
        self.connection().execute(&format!("ALTER TABLE {} {}", self.info().table(), actions.join(", ")), ()).map(drop)
    }

    /// The collection as somebody sees it who comes with these claims, and may change it: what its rules say.
    ///
    /// What reads and changes documents goes by the rules; what makes indexes, schemas and rules does not.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let mut rules = cairndb::Rules::default();
    /// rules.view = Some("doc -> 'owner' = claims -> 'sub'".to_owned());
    /// rules.create = rules.view.clone();
    /// notes.set_rules(&rules)?;
    /// notes.put("b", r#"{"owner": "bob"}"#)?;
    ///
    /// let of_ada = conn.collection("notes")?.for_claims(r#"{"sub": "ada"}"#.parse()?)?;
    /// of_ada.put("a", r#"{"owner": "ada"}"#)?;
    /// assert!(of_ada.get("a")?.is_some() && of_ada.get("b")?.is_none());
    /// assert_eq!(of_ada.insert(r#"{"owner": "bob"}"#).unwrap_err().sqlstate().0, "42501");
    /// assert_eq!(of_ada.find("{}").count().unwrap_err().sqlstate().0, "42501");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// SQLSTATE 42501: there is no rule, so nobody may do anything.
    pub fn for_claims(self, claims: Jsonb) -> Result<Collection<'c>> {
        let catalog = self.connection().catalog()?;
        let rules = self.known(&catalog)?.rules.clone();
        self.under(rules, claims)
    }

    /// The same by rules that were looked up.
    pub(super) fn under(self, rules: Arc<Rules>, claims: Jsonb) -> Result<Collection<'c>> {
        if rules.is_empty() {
            return Err(refused());
        }
        let slot = RefCell::default;
        let ruled = Ruled {
            under: Under { claims: Value::Jsonb(claims), rules },
            get: slot(),
            create: slot(),
            update: slot(),
            delete: slot(),
            insert: slot(),
            insert_as: slot(),
            replace: slot(),
            remove: slot(),
        };
        Ok(self.with_rules(ruled))
    }

    /// The document, if it is in sight.
    pub(super) fn get_under(&self, ruled: &Ruled<'c>, id: &dyn ToValue) -> Result<Option<Document>> {
        let under = &ruled.under;
        let rule = under.rule(RuleKind::View)?;
        let sql = || get_sql(self.info().table(), rule);
        let found = self.with_text(&ruled.get, sql, |statement| {
            statement.query_point((id, under.claims()), ById::document)?.transpose()
        });
        found.map_err(concealed)
    }

    /// SQLSTATE 42501 where the rule is not so.
    fn check_rule(
        &self,
        ruled: &Ruled<'c>,
        kind: RuleKind,
        (id, version, doc): Proposed,
        old: Option<&Document>,
    ) -> Result<()> {
        let rule = ruled.under.rule(kind)?;
        let slot = match kind {
            RuleKind::Create => &ruled.create,
            RuleKind::Update => &ruled.update,
            _ => &ruled.delete,
        };
        let mut params = vec![ruled.under.claims(), id, version, doc];
        if let Some(old) = old {
            params.extend([old.id.clone(), Value::BigInt(old.version), Value::Jsonb(old.doc.clone())]);
        }
        let sql = || asked_of_values(rule, kind, self.id_type());
        let is_so = self.with_text(slot, sql, |statement| statement.query_point(params, |_| ()));
        is_so.map_err(concealed)?.ok_or_else(refused)
    }

    /// In the transaction that is open, or one of its own.
    fn in_transaction<T>(&self, mut body: impl FnMut() -> Result<T>) -> Result<T> {
        match self.connection().in_transaction() {
            true => body(),
            false => self.connection().transaction(|_| body()),
        }
    }

    /// That the rule is so of what was written, if that is not what it was asked of. Else nothing of it may be committed.
    fn check_written(
        &self,
        ruled: &Ruled<'c>,
        kind: RuleKind,
        (proposed, written): (&Proposed, &Document),
        old: Option<&Document>,
    ) -> Result<()> {
        let (id, _, doc) = proposed;
        let has_id = *id == Value::Null || *id == written.id;
        let has_doc = matches!(doc, Value::Jsonb(doc) if doc.as_bytes() == written.doc.as_bytes());
        if has_id && has_doc {
            return Ok(());
        }
        let now = (written.id.clone(), Value::Null, Value::Jsonb(written.doc.clone()));
        self.check_rule(ruled, kind, now, old).inspect_err(|_| self.connection().fail_transaction())
    }

    pub(super) fn insert_under(
        &self,
        ruled: &Ruled<'c>,
        id: Option<&dyn ToValue>,
        doc: &dyn ToValue,
    ) -> Result<Written> {
        let (id, doc) = (id.map(|id| self.id_value(id)).transpose()?, doc_value(doc)?);
        self.in_transaction(|| self.insert_value(ruled, id.as_ref(), &doc))
    }

    fn insert_value(&self, ruled: &Ruled<'c>, id: Option<&Value>, doc: &Value) -> Result<Written> {
        let proposed = (id.cloned().unwrap_or(Value::Null), Value::Null, doc.clone());
        self.check_rule(ruled, RuleKind::Create, proposed.clone(), None)?;
        let table = self.info().table();
        let written = match id {
            None => {
                let sql = || insert_sql(table);
                self.with_text(&ruled.insert, sql, |statement| statement.query_point((doc,), ById::document))
            }
            Some(id) => {
                let sql = || format!("INSERT INTO {table} (id, doc) VALUES ($1, $2) {WRITTEN}");
                self.with_text(&ruled.insert_as, sql, |statement| statement.query_point((id, doc), ById::document))
            }
        };
        let written = written?.transpose()?.ok_or_else(ById::left_out)?;
        self.check_written(ruled, RuleKind::Create, (&proposed, &written), None)?;
        Ok(Written { id: written.id, version: written.version })
    }

    pub(super) fn insert_many_under<D: ToValue>(
        &self,
        ruled: &Ruled<'c>,
        docs: impl IntoIterator<Item = (Option<Value>, D)>,
    ) -> Result<u64> {
        let read = |(id, doc): (Option<Value>, D)| Ok((id, doc_value(&doc)?));
        let docs = docs.into_iter().map(read).collect::<Result<Vec<_>>>()?;
        let rule = ruled.under.rule(RuleKind::Create)?;
        if !self.is_judged_alone(rule)? {
            self.in_transaction(|| {
                docs.iter().try_for_each(|(id, doc)| self.insert_value(ruled, id.as_ref(), doc).map(drop))
            })?;
            return Ok(docs.len() as u64);
        }
        self.in_transaction(|| {
            docs.iter().try_for_each(|(id, doc)| {
                let proposed = (id.clone().unwrap_or(Value::Null), Value::Null, doc.clone());
                self.check_rule(ruled, RuleKind::Create, proposed, None)
            })?;
            match docs.first() {
                None => Ok(0),
                Some((None, _)) => self.append_docs(docs.iter().map(|(_, doc)| doc)),
                Some((Some(_), _)) => {
                    self.append_entries(docs.iter().map(|(id, doc)| (id.as_ref().unwrap_or(&Value::Null), doc)))
                }
            }
        })
    }

    /// Whether what is asked of a new document is the same whatever was written before it, and what is written is what was asked of: then many may be
    /// asked of first, and written at once.
    fn is_judged_alone(&self, rule: &str) -> Result<bool> {
        let catalog = self.connection().catalog()?;
        Ok(self.known(&catalog)?.triggers.is_empty()
            && is_of_values_alone(rule, RuleKind::Create, self.id_type(), &catalog)?)
    }

    /// What `make` makes of the document, if that is in sight, and has this version.
    pub(super) fn change_under(
        &self,
        ruled: &Ruled<'c>,
        (id, version): (&dyn ToValue, Option<i64>),
        make: impl Fn(&Jsonb) -> Result<Jsonb>,
    ) -> Result<Option<i64>> {
        ruled.under.rule(RuleKind::Update)?;
        self.in_transaction(|| {
            let Some(old) = self.get_under(ruled, id)? else { return Ok(None) };
            if version.is_some_and(|version| version != old.version) {
                return Ok(None);
            }
            self.change_seen(ruled, &old, make(&old.doc)?).map(Some)
        })
    }

    fn change_seen(&self, ruled: &Ruled<'c>, old: &Document, new: Jsonb) -> Result<i64> {
        let proposed = (old.id.clone(), Value::Null, Value::Jsonb(new));
        self.check_rule(ruled, RuleKind::Update, proposed.clone(), Some(old))?;
        let table = self.info().table();
        let sql = || format!("UPDATE {table} SET doc = $2 WHERE id = $1 AND version = $3 {WRITTEN}");
        let params = (&old.id, &proposed.2, old.version);
        let written = self.with_text(&ruled.replace, sql, |statement| statement.query_point(params, ById::document));
        let written = written?.transpose()?.ok_or_else(ById::left_out)?;
        self.check_written(ruled, RuleKind::Update, (&proposed, &written), Some(old))?;
        Ok(written.version)
    }

    /// A document in place of the one that is in sight, or a new one.
    pub(super) fn upsert_under(&self, ruled: &Ruled<'c>, id: &dyn ToValue, doc: &dyn ToValue) -> Result<Upserted> {
        let doc = doc_value(doc)?;
        let id = self.id_value(id)?;
        self.in_transaction(|| match self.get_under(ruled, &id)? {
            Some(old) => {
                let version = self.change_seen(ruled, &old, jsonb(doc.clone())?)?;
                Ok(Upserted { version, is_new: false })
            }
            None => Ok(Upserted { version: self.insert_value(ruled, Some(&id), &doc)?.version, is_new: true }),
        })
    }

    /// Whether there was such a document in sight.
    pub(super) fn delete_under(&self, ruled: &Ruled<'c>, (id, version): (&dyn ToValue, Option<i64>)) -> Result<bool> {
        ruled.under.rule(RuleKind::Delete)?;
        self.in_transaction(|| {
            let Some(old) = self.get_under(ruled, id)? else { return Ok(false) };
            if version.is_some_and(|version| version != old.version) {
                return Ok(false);
            }
            let there = (old.id.clone(), Value::BigInt(old.version), Value::Jsonb(old.doc.clone()));
            self.check_rule(ruled, RuleKind::Delete, there, None)?;
            let table = self.info().table();
            let sql = || format!("DELETE FROM {table} WHERE id = $1 AND version = $2");
            self.with_text(&ruled.remove, sql, |statement| Ok(statement.execute((&old.id, old.version))? > 0))
        })
    }

    pub(super) fn id_value(&self, id: &dyn ToValue) -> Result<Value> {
        fit(id.to_value(), self.id_data_type(), &EvalContext::default())
    }
}

fn doc_value(doc: &dyn ToValue) -> Result<Value> {
    match fit(doc.to_value(), DataType::Jsonb, &EvalContext::default())? {
        Value::Null => Err(wrong("NULL is no document")),
        value => Ok(value),
    }
}
