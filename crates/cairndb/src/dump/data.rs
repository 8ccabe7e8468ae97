//! Rows, and where sequences stand.

use super::objects::USER_SCHEMAS;
use super::{Dump, Sink, full, name, string, text, write};
use crate::types::to_text;
use crate::{Result, Value};

/// So many bytes of rows one INSERT has, and one row more.
const INSERT_BYTES: usize = 16 << 10;

impl Dump<'_> {
    /// Every table's rows, in the order in which they lie.
    pub(super) fn data(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = format!(
            "SELECT n.nspname, c.relname, (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(a.attname::text), ', ' ORDER BY a.attnum)
                FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attgenerated = '' AND NOT a.attisdropped)
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind = 'r' AND {USER_SCHEMAS} ORDER BY 1, 2"
        );
        for row in self.rows(&sql)? {
            let table = full(text(&row, 0), text(&row, 1));
            let columns = text(&row, 2);
            if columns.is_empty() {
                continue;
            }
            match out {
                Sink::Script(script) => {
                    write(*script, format_args!("COPY {table} ({columns}) FROM stdin;\n"))?;
                    self.connection.copy_out(&format!("COPY {table} ({columns}) TO STDOUT"), &mut **script)?;
                    write(*script, format_args!("\\.\n\n"))?;
                }
                Sink::Statements(_) => self.inserts(&table, columns, out)?,
            }
        }
        Ok(())
    }

    /// A table's rows as INSERTs of several.
    fn inserts(&self, table: &str, columns: &str, out: &mut Sink<'_>) -> Result<()> {
        let mut rows = self.connection.query(&format!("SELECT {columns} FROM {table}"), ())?;
        let mut values = String::new();
        loop {
            let row = rows.next()?;
            if (row.is_none() && !values.is_empty()) || values.len() > INSERT_BYTES {
                out.statement(format_args!(
                    "INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE VALUES\n{values}"
                ))?;
                values.clear();
            }
            let Some(row) = row else { return Ok(()) };
            let literal = |value: &Value| match value {
                Value::Null => "NULL".to_owned(),
                // As the session writes it, in UTC: what COPY writes.
                value => string(&to_text(value, &self.context)),
            };
            let literals: Vec<String> = row.values().iter().map(literal).collect();
            let before = if values.is_empty() { "" } else { ",\n" };
            values.push_str(&format!("{before}({})", literals.join(", ")));
        }
    }

    /// What every sequence gives out next.
    pub(super) fn sequence_values(&self, out: &mut Sink<'_>) -> Result<()> {
        let sql = "SELECT schemaname, sequencename, start_value::text FROM pg_catalog.pg_sequences
                   WHERE schemaname NOT LIKE 'pg\\_temp%' ORDER BY 1, 2";
        let mut any = false;
        for row in self.rows(sql)? {
            let sequence = full(text(&row, 0), text(&row, 1));
            let (value, called) = self.connection.sequence_value(&sequence)?;
            if called || value.to_string() != text(&row, 2) {
                any = true;
                out.line(format_args!("SELECT pg_catalog.setval({}, {value}, {called})", string(&sequence)))?;
            }
        }
        if any { out.blank() } else { Ok(()) }
    }

    /// The names of a relation's columns, in order.
    pub(super) fn column_names(&self, oid: &str) -> Result<Vec<String>> {
        let sql = format!(
            "SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = {oid} AND a.attnum > 0
             AND NOT a.attisdropped ORDER BY a.attnum"
        );
        Ok(self.rows(&sql)?.iter().map(|row| name(text(row, 0))).collect())
    }
}
