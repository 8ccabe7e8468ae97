//! Definitions that other ones need: types, functions, sequences, tables, indexes.

use std::collections::{BTreeMap, BTreeSet};

use super::order::in_order;
use super::{Dump, Sink, full, name, string, text};
use crate::{DataType, Error, Result};

/// Of `pg_namespace n`: what is the user's, and stays.
pub(super) const USER_SCHEMAS: &str = "n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'";

/// A statement that PostgreSQL, which is to load the script, too, would not take, and what it runs instead.
pub(super) fn only_here(here: &str, elsewhere: Option<&str>) -> String {
    let elsewhere = elsewhere.map_or_else(String::new, |text| format!(" ELSE EXECUTE {};", string(text)));
    let here = string(here);
    let run = format!("BEGIN IF pg_catalog.version() LIKE 'CairnDB%' THEN EXECUTE {here};{elsewhere} END IF; END");
    let quotes = std::iter::once("$$".to_string()).chain((1_u64..).map(|number| format!("$q{number}$")));
    let quote = quotes.into_iter().find(|quote| !run.contains(quote.as_str())).unwrap_or_default();
    format!("DO {quote} {run} {quote}")
}

impl Dump<'_> {
    pub(super) fn schemas(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = format!("SELECT n.nspname::text FROM pg_catalog.pg_namespace n WHERE {USER_SCHEMAS} ORDER BY 1");
        let names: Vec<String> = self.rows(&sql)?.iter().map(|row| name(text(row, 0))).collect();
        // Texts of defaults may say types without their schemas.
        let public = names.iter().filter(|name| *name == "public");
        let path: Vec<&str> = public.chain(names.iter().filter(|name| *name != "public")).map(String::as_str).collect();
        out.statement(format_args!(
            "SET search_path = {}",
            if path.is_empty() { "''".to_string() } else { path.join(", ") }
        ))?;
        for schema in names.iter().filter(|name| *name != "public") {
            out.statement(format_args!("CREATE SCHEMA {schema}"))?;
        }
        Ok(())
    }

    /// Extensions that were made.
    pub(super) fn extensions(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = "SELECT e.extname::text, n.nspname::text FROM pg_catalog.pg_extension e
             JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE n.nspname <> 'pg_catalog' ORDER BY 1";
        for row in self.rows(sql)? {
            let (extension, schema) = (name(text(&row, 0)), name(text(&row, 1)));
            out.statement(format_args!("CREATE EXTENSION IF NOT EXISTS {extension} WITH SCHEMA {schema}"))?;
        }
        Ok(())
    }

    /// Enums, domains and composite types.
    pub(super) fn types(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = format!(
            "SELECT t.oid::text, n.nspname::text, t.typname::text, t.typtype::text,
                    pg_catalog.format_type(t.typbasetype, t.typtypmod), t.typdefault, t.typnotnull::text
             FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
             WHERE {USER_SCHEMAS} AND (t.typtype IN ('d', 'e')
                 OR EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid AND c.relkind = 'c')) ORDER BY 2, 3"
        );
        let mut texts = BTreeMap::new();
        let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in self.rows(&sql)? {
            let named = full(text(&row, 1), text(&row, 2));
            let (text, needed) = match text(&row, 3) {
                "e" => (vec![format!("CREATE TYPE {named} AS ENUM (\n{}\n)", self.labels(text(&row, 0))?)], vec![]),
                "d" => (self.domain(&named, &row)?, vec![text(&row, 4).to_string()]),
                _ => self.composite(&named).map(|(made, needed)| (vec![made], needed))?,
            };
            let needed = needed.iter().map(|of| of.trim_end_matches("[]").to_string());
            needs.insert(named.clone(), needed.collect());
            texts.insert(named, text);
        }
        for named in in_order(&needs) {
            texts.get(&named).into_iter().flatten().try_for_each(|text| out.statement(text))?;
        }
        Ok(())
    }

    fn labels(&self, oid: &str) -> Result<String> {
        let sql =
            format!("SELECT enumlabel::text FROM pg_catalog.pg_enum WHERE enumtypid = {oid} ORDER BY enumsortorder");
        let labels: Vec<String> = self.rows(&sql)?.iter().map(|row| format!("    {}", string(text(row, 0)))).collect();
        Ok(labels.join(",\n"))
    }

    /// What makes a domain, and what adds the checks that were not looked at.
    fn domain(&self, named: &str, row: &super::Texts) -> Result<Vec<String>> {
        let mut written = format!("CREATE DOMAIN {named} AS {}", text(row, 4));
        if let Some(Some(default)) = row.get(5) {
            written.push_str(&format!(" DEFAULT {default}"));
        }
        if text(row, 6) == "true" || text(row, 6) == "t" {
            written.push_str(" NOT NULL");
        }
        let sql = format!(
            "SELECT conname::text, pg_catalog.pg_get_constraintdef(oid), convalidated::text FROM pg_catalog.pg_constraint
             WHERE contypid = {} AND contype = 'c' ORDER BY 1",
            text(row, 0)
        );
        let (valid, others): (Vec<_>, Vec<_>) =
            self.rows(&sql)?.into_iter().partition(|check| text(check, 2).starts_with('t'));
        for check in valid {
            written.push_str(&format!("\n    CONSTRAINT {} {}", name(text(&check, 0)), text(&check, 1)));
        }
        let mut written = vec![written];
        for check in others {
            let (check, condition) = (name(text(&check, 0)), text(&check, 1));
            written.push(format!("ALTER DOMAIN {named} ADD CONSTRAINT {check} {condition}"));
        }
        Ok(written)
    }

    /// The text, and the types of the attributes.
    fn composite(&self, named: &str) -> Result<(String, Vec<String>)> {
        let rows = self.connection.query(&format!("SELECT NULL::{named}"), ())?;
        let Some(DataType::Composite(of)) = rows.columns().first().map(|field| field.data_type) else {
            return Err(Error::internal(format!("type {named} is not what the catalog says")));
        };
        let shown = |data_type: &DataType| self.type_name(&data_type.to_string());
        let attributes =
            of.attributes().iter().map(|attribute| Ok((name(&attribute.name), shown(&attribute.data_type)?)));
        let attributes: Vec<(String, String)> = attributes.collect::<Result<_>>()?;
        let lines: Vec<String> = attributes.iter().map(|(name, of)| format!("    {name} {of}")).collect();
        let types = attributes.into_iter().map(|(_, of)| of).collect();
        Ok((format!("CREATE TYPE {named} AS (\n{}\n)", lines.join(",\n")), types))
    }

    /// A type's name with its schema, where it is a user's.
    fn type_name(&self, shown: &str) -> Result<String> {
        let (element, brackets) = shown.split_at(shown.find("[]").unwrap_or(shown.len()));
        let plain = element.trim_matches('"').replace("\"\"", "\"");
        let sql = format!(
            "SELECT n.nspname::text FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
             WHERE {USER_SCHEMAS} AND t.typname = {}",
            string(&plain)
        );
        Ok(match self.rows(&sql)?.first() {
            Some(row) => format!("{}{brackets}", full(text(row, 0), &plain)),
            None => shown.to_string(),
        })
    }

    /// Functions and procedures. Those that need tables (their rows are arguments, or their body was read when they were
    /// made) are `late`.
    pub(super) fn functions(&self, out: &mut Sink<'_>, late: bool) -> Result<()> {
        let sql = format!(
            "SELECT p.oid::text, pg_catalog.pg_get_functiondef(p.oid)
             FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
             WHERE {USER_SCHEMAS} AND p.prokind IN ('f', 'p') AND
                 (pg_catalog.pg_get_function_sqlbody(p.oid) IS NOT NULL OR EXISTS (
                     SELECT FROM pg_catalog.pg_class c
                     WHERE c.relkind = 'r' AND (c.oid = p.prorettype OR c.oid = ANY (p.proargtypes))) OR EXISTS (
                     SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_type t ON t.oid = c.reltype
                     WHERE c.relkind IN ('r', 'v', 'm') AND (t.oid = p.prorettype OR t.oid = ANY (p.proargtypes)
                         OR (t.typarray <> 0 AND (t.typarray = p.prorettype OR t.typarray = ANY (p.proargtypes)))))) = {late}
             ORDER BY n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)"
        );
        for row in self.rows(&sql)? {
            out.statement(format_args!("{}", text(&row, 1).trim_end()))?;
        }
        Ok(())
    }

    /// Aggregates, whose functions are there by then.
    pub(super) fn aggregates(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = format!(
            "SELECT n.nspname::text, p.proname::text, pg_catalog.pg_get_function_identity_arguments(p.oid),
                 tn.nspname::text, t.proname::text, pg_catalog.format_type(a.aggtranstype, NULL),
                 ln.nspname::text, l.proname::text, a.aggfinalextra::text, a.agginitval
             FROM pg_catalog.pg_aggregate a JOIN pg_catalog.pg_proc p ON p.oid = a.aggfnoid
             JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
             JOIN pg_catalog.pg_proc t ON t.oid = a.aggtransfn JOIN pg_catalog.pg_namespace tn ON tn.oid = t.pronamespace
             LEFT JOIN pg_catalog.pg_proc l ON l.oid = a.aggfinalfn
             LEFT JOIN pg_catalog.pg_namespace ln ON ln.oid = l.pronamespace
             WHERE {USER_SCHEMAS} ORDER BY 1, 2, 3"
        );
        for row in self.rows(&sql)? {
            let arguments = if text(&row, 2).is_empty() { "*" } else { text(&row, 2) };
            let mut parts =
                vec![format!("SFUNC = {}", full(text(&row, 3), text(&row, 4))), format!("STYPE = {}", text(&row, 5))];
            if !text(&row, 7).is_empty() {
                parts.push(format!("FINALFUNC = {}", full(text(&row, 6), text(&row, 7))));
            }
            if text(&row, 8).starts_with('t') {
                parts.push("FINALFUNC_EXTRA".to_owned());
            }
            if let Some(Some(initial)) = row.get(9) {
                parts.push(format!("INITCOND = {}", string(initial)));
            }
            let named = full(text(&row, 0), text(&row, 1));
            out.statement(format_args!("CREATE AGGREGATE {named}({arguments}) (\n    {}\n)", parts.join(",\n    ")))?;
        }
        Ok(())
    }

    /// Sequences, but for those of identity columns, which come with them.
    pub(super) fn sequences(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = "SELECT s.schemaname::text, s.sequencename::text, s.data_type::text, s.start_value::text, s.increment_by::text,
                s.min_value::text, s.max_value::text, s.cycle::text
            FROM pg_catalog.pg_sequences s JOIN pg_catalog.pg_namespace n ON n.nspname = s.schemaname
            JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = s.sequencename AND c.relkind = 'S'
            WHERE n.nspname NOT LIKE 'pg\\_%' AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 1259 AND d.objid = c.oid AND d.deptype = 'i')
            ORDER BY 1, 2";
        for row in self.rows(sql)? {
            let named = full(text(&row, 0), text(&row, 1));
            out.statement(format_args!("CREATE SEQUENCE {named}\n    AS {}\n    {}", text(&row, 2), options(&row, 3)))?;
        }
        Ok(())
    }

    pub(super) fn tables(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = format!(
            "SELECT c.oid::text, n.nspname::text, c.relname::text
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind = 'r' AND {USER_SCHEMAS} ORDER BY 2, 3"
        );
        for row in self.rows(&sql)? {
            let (oid, named) = (text(&row, 0), full(text(&row, 1), text(&row, 2)));
            let mut parts = self.columns(oid)?;
            let checks = format!(
                "SELECT conname::text, pg_catalog.pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint
                 WHERE conrelid = {oid} AND (contype = 'p' OR (contype = 'c' AND convalidated)) ORDER BY contype DESC, 1"
            );
            for check in self.rows(&checks)? {
                parts.push(format!("CONSTRAINT {} {}", name(text(&check, 0)), text(&check, 1)));
            }
            let parts = if parts.is_empty() { String::new() } else { format!("\n    {}\n", parts.join(",\n    ")) };
            out.statement(format_args!("CREATE TABLE {named} ({parts})"))?;
        }
        self.owners(out)
    }

    fn columns(&self, oid: &str) -> Result<Vec<String>> {
        let sql = format!(
            "SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull::text, a.attidentity::text,
                a.attgenerated::text, pg_catalog.pg_get_expr(d.adbin, d.adrelid), a.attnum::text,
                (SELECT l.collname::text FROM pg_catalog.pg_collation l WHERE l.oid = a.attcollation AND l.collname <> 'default')
             FROM pg_catalog.pg_attribute a
             LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
             WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
        );
        let column = |row: super::Texts| {
            let mut written = format!("{} {}", name(text(&row, 0)), text(&row, 1));
            if !text(&row, 7).is_empty() {
                written.push_str(&format!(" COLLATE pg_catalog.{}", name(text(&row, 7))));
            }
            match (text(&row, 3), text(&row, 4), text(&row, 5)) {
                (identity @ ("a" | "d"), ..) => {
                    let kind = if identity == "a" { "ALWAYS" } else { "BY DEFAULT" };
                    written
                        .push_str(&format!(" GENERATED {kind} AS IDENTITY ({})", self.identity(oid, text(&row, 6))?));
                }
                (_, "v", expression) => written.push_str(&format!(" GENERATED ALWAYS AS ({expression}) VIRTUAL")),
                (_, "s", expression) => written.push_str(&format!(" GENERATED ALWAYS AS ({expression}) STORED")),
                (_, _, "") => {}
                (_, _, default) => written.push_str(&format!(" DEFAULT {}", qualified(default, text(&row, 1)))),
            }
            if text(&row, 2).starts_with('t') {
                written.push_str(" NOT NULL");
            }
            Ok(written)
        };
        self.rows(&sql)?.into_iter().map(column).collect()
    }

    /// An identity column's sequence.
    fn identity(&self, oid: &str, column: &str) -> Result<String> {
        let sql = format!(
            "SELECT n.nspname::text, c.relname::text, s.data_type::text, s.start_value::text, s.increment_by::text,
                 s.min_value::text, s.max_value::text, s.cycle::text
             FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_catalog.pg_sequences s ON s.schemaname = n.nspname AND s.sequencename = c.relname
             WHERE d.classid = 1259 AND d.refobjid = {oid} AND d.refobjsubid = {column} AND d.deptype = 'i'"
        );
        let rows = self.rows(&sql)?;
        let found =
            rows.first().map(|row| format!("SEQUENCE NAME {} {}", full(text(row, 0), text(row, 1)), options(row, 3)));
        Ok(found.unwrap_or_default())
    }

    /// Sequences that go with a column, as those of `serial` do.
    fn owners(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = format!(
            "SELECT n.nspname::text, c.relname::text, tn.nspname::text, t.relname::text, a.attname::text
             FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind = 'S'
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_catalog.pg_class t ON t.oid = d.refobjid JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
             JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
             WHERE d.classid = 1259 AND d.deptype = 'a' AND {USER_SCHEMAS} ORDER BY 1, 2"
        );
        for row in self.rows(&sql)? {
            let (sequence, table) = (full(text(&row, 0), text(&row, 1)), full(text(&row, 2), text(&row, 3)));
            out.statement(format_args!("ALTER SEQUENCE {sequence} OWNED BY {table}.{}", name(text(&row, 4))))?;
        }
        Ok(())
    }

    pub(super) fn constraints(&self, out: &mut Sink<'_>, which: &str) -> Result<()> {
        let sql = format!(
            "SELECT n.nspname::text, t.relname::text, c.conname::text, pg_catalog.pg_get_constraintdef(c.oid)
             FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
             JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
             WHERE t.relkind = 'r' AND {USER_SCHEMAS} AND ({which}) ORDER BY 1, 2, 3"
        );
        for row in self.rows(&sql)? {
            let table = full(text(&row, 0), text(&row, 1));
            out.statement(format_args!(
                "ALTER TABLE {table} ADD CONSTRAINT {} {}",
                name(text(&row, 2)),
                text(&row, 3)
            ))?;
        }
        Ok(())
    }

    pub(super) fn indexes(&self, out: &mut Sink<'_>) -> Result<()> {
        self.indexes_of(out, "t.relkind = 'r'")
    }

    pub(super) fn indexes_of(&self, out: &mut Sink<'_>, which: &str) -> Result<()> {
        let sql = format!(
            "SELECT pg_catalog.pg_get_indexdef(i.indexrelid)
             FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
             JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE {USER_SCHEMAS} AND {which} AND NOT EXISTS (
                 SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
             ORDER BY n.nspname, t.relname, c.relname"
        );
        for row in self.rows(&sql)? {
            out.statement(format_args!("{}", text(&row, 0)))?;
        }
        Ok(())
    }
}

/// A sequence's options, of which `start_value` stands at `at`.
fn options(row: &super::Texts, at: usize) -> String {
    let cycle = if text(row, at + 4).starts_with('t') { " CYCLE" } else { "" };
    format!(
        "START WITH {} INCREMENT BY {} MINVALUE {} MAXVALUE {}{cycle}",
        text(row, at),
        text(row, at + 1),
        text(row, at + 2),
        text(row, at + 3)
    )
}

/// A default whose last cast is to the column's own type, with that type's schema, which such texts may lack.
pub(super) fn qualified(default: &str, data_type: &str) -> String {
    let bare = data_type.split_once('.').map(|(_, bare)| format!("::{bare}"));
    match bare.and_then(|bare| default.strip_suffix(&bare)) {
        Some(value) => format!("{value}::{data_type}"),
        None => default.to_string(),
    }
}
