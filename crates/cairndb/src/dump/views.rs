//! Definitions that stand behind everything else: views, triggers, and what only this engine knows of tables.

use std::collections::{BTreeMap, BTreeSet};

use super::objects::{USER_SCHEMAS, only_here, qualified};
use super::order::in_order;
use super::{Dump, Sink, full, name, string, text};
use crate::schema::{Relation, RelationKind};
use crate::{Error, Result};

impl Dump<'_> {
    /// Views and materialized views, each behind those that it reads.
    pub(super) fn views(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = format!(
            "SELECT c.oid::text, n.nspname::text, c.relname::text, c.relkind::text, c.relispopulated::text,
                 pg_catalog.array_to_string(c.reloptions, ',')
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('v', 'm') AND {USER_SCHEMAS} ORDER BY 2, 3"
        );
        let (views, queries) = (self.rows(&sql)?, self.queries()?);
        let query = |row: &super::Texts| queries.get(&full(text(row, 1), text(row, 2))).map_or("", String::as_str);
        let key = |row: &super::Texts| (text(row, 1).to_string(), text(row, 2).to_string());
        let mut needs: BTreeMap<(String, String), BTreeSet<(String, String)>> = BTreeMap::new();
        for view in &views {
            // Names in the query have their schemas. Who only looks as if it were needed comes first for nothing.
            let reads = |other: &&super::Texts| {
                key(other) != key(view) && query(view).contains(&full(text(other, 1), text(other, 2)))
            };
            needs.insert(key(view), views.iter().filter(reads).map(key).collect());
        }
        for wanted in in_order(&needs) {
            let Some(view) = views.iter().find(|view| key(view) == wanted) else { continue };
            let (named, columns) = (full(&wanted.0, &wanted.1), self.column_names(text(view, 0))?.join(", "));
            let query = query(view);
            if let Err(error) = self.bound(query)? {
                self.leave_out(out, &named, query, error)?;
                continue;
            }
            match text(view, 3) {
                "m" => {
                    let data = if text(view, 4).starts_with('t') { "" } else { "\nWITH NO DATA" };
                    let kept = text(view, 5).split(',').find(|option| option.starts_with("maintained="));
                    let create = |options: &str| {
                        format!("CREATE MATERIALIZED VIEW {named} ({columns}){options} AS\n{query}{data}")
                    };
                    match kept {
                        None => out.statement(format_args!("{}", create("")))?,
                        Some(kept) => {
                            let (here, elsewhere) = (create(&format!(" WITH ({kept})")), create(""));
                            out.statement(format_args!("{}", only_here(&here, Some(&elsewhere))))?;
                        }
                    }
                    self.indexes_of(out, &format!("t.oid = {}", text(view, 0)))?;
                }
                _ => {
                    let check = match text(view, 5) {
                        "check_option=local" => "\nWITH LOCAL CHECK OPTION",
                        "check_option=cascaded" => "\nWITH CASCADED CHECK OPTION",
                        _ => "",
                    };
                    out.statement(format_args!("CREATE VIEW {named} ({columns}) AS\n{query}{check}"))?;
                    self.defaults_of(out, &named, text(view, 0))?;
                }
            }
        }
        Ok(())
    }

    /// The views' queries as they are stored, by the names of the views.
    fn queries(&self) -> Result<BTreeMap<String, String>> {
        let schema = self.connection.schema()?;
        let query = |found: &Relation| match &found.kind {
            RelationKind::View(view) => Some((full(&found.schema, &found.name), view.query.clone())),
            RelationKind::MaterializedView(_, query) => Some((full(&found.schema, &found.name), query.clone())),
            _ => None,
        };
        Ok(schema.relations().iter().filter_map(query).collect())
    }

    /// Whether a query still means something; the transaction goes on either way.
    fn bound(&self, query: &str) -> Result<Result<()>> {
        self.connection.execute_script("SAVEPOINT bound")?;
        let bound = self.connection.prepare(query).map(drop);
        self.connection.execute_script("ROLLBACK TO bound; RELEASE bound")?;
        Ok(bound)
    }

    /// Leaves out a view that would make a script that does not load: its query stands in the script as a comment.
    fn leave_out(&self, out: &mut Sink<'_>, view: &str, query: &str, error: Error) -> Result<()> {
        // (A comment ends with its line, of which a name may have several.)
        let line = |text: &str| text.replace(['\n', '\r'], " ");
        let said = format!("View {} is left out: {}. Its query was:", line(view), line(error.message()));
        let query = query.split(['\n', '\r']).map(|line| format!("    {line}"));
        out.comment(std::iter::once(said).chain(query))?;
        self.left_out.borrow_mut().insert(view.to_owned(), error);
        Ok(())
    }

    /// What columns of a view, which is given by its oid, have for a default.
    fn defaults_of(&self, out: &mut Sink<'_>, view: &str, oid: &str) -> Result<()> {
        let sql = format!(
            "SELECT a.attname::text, pg_catalog.pg_get_expr(d.adbin, d.adrelid), pg_catalog.format_type(a.atttypid, a.atttypmod)
             FROM pg_catalog.pg_attrdef d JOIN pg_catalog.pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
             WHERE d.adrelid = {oid} ORDER BY a.attnum"
        );
        for row in self.rows(&sql)? {
            let (column, default) = (name(text(&row, 0)), qualified(text(&row, 1), text(&row, 2)));
            out.statement(format_args!("ALTER VIEW {view} ALTER COLUMN {column} SET DEFAULT {default}"))?;
        }
        Ok(())
    }

    pub(super) fn triggers(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = format!(
            "SELECT pg_catalog.pg_get_triggerdef(g.oid), n.nspname::text, t.relname::text, g.tgname::text, g.tgenabled::text
             FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_class t ON t.oid = g.tgrelid
             JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
             WHERE NOT g.tgisinternal AND {USER_SCHEMAS} ORDER BY 2, 3, 4"
        );
        for row in self.rows(&sql)? {
            if self.left_out.borrow().contains_key(&full(text(&row, 1), text(&row, 2))) {
                continue;
            }
            out.statement(format_args!("{}", text(&row, 0)))?;
            let fires = match text(&row, 4) {
                "D" => "DISABLE",
                "R" => "ENABLE REPLICA",
                "A" => "ENABLE ALWAYS",
                _ => continue,
            };
            let table = full(text(&row, 1), text(&row, 2));
            out.statement(format_args!("ALTER TABLE {table} {fires} TRIGGER {}", name(text(&row, 3))))?;
        }
        Ok(())
    }

    /// Which tables' rows are documents. Only here is that known: elsewhere versions stay what they are.
    pub(super) fn collections(&self, out: &mut Sink<'_>) -> Result<()> {
        let schema = self.connection.schema()?;
        let is_collection =
            |found: &&Relation| matches!(&found.kind, RelationKind::Table(table) if table.is_collection);
        let is_kept = |found: &&Relation| found.schema != "pg_temp";
        for found in schema.relations().iter().filter(is_collection).filter(is_kept) {
            let RelationKind::Table(table) = &found.kind else { continue };
            let rules = table.rules.options().map(|(option, rule)| format!(", {option} = {}", string(rule)));
            let (name, rules) = (full(&found.schema, &found.name), rules.collect::<String>());
            let set = format!("ALTER TABLE {name} SET (collection = on{rules})");
            out.statement(format_args!("{}", only_here(&set, None)))?;
        }
        Ok(())
    }

    /// Which tables tell of their changes. Only here is that known.
    pub(super) fn change_feeds(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = format!(
            "SELECT n.nspname::text, c.relname::text
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.reloptions @> '{{change_feed=on}}' AND {USER_SCHEMAS} ORDER BY 1, 2"
        );
        for row in self.rows(&sql)? {
            let table = full(text(&row, 0), text(&row, 1));
            let Some(kept) = self.connection.change_feed_limits(&table)? else { continue };
            let (age, bytes) = (kept.age.as_micros(), kept.bytes);
            let set = format!(
                "ALTER TABLE {table} SET (change_feed = on, change_feed_age = '{age} microseconds', change_feed_bytes = {bytes})"
            );
            out.statement(format_args!("{}", only_here(&set, None)))?;
        }
        Ok(())
    }
}
