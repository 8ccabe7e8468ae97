//! Rows, and where sequences stand.

use std::io::Write;

use super::objects::USER_SCHEMAS;
use super::{Dump, full, name, string, text};
use crate::copy::copy_out;
use crate::report::Failure;

impl Dump<'_> {
    /// Every table's rows, in the order in which they lie.
    pub(super) fn data(&self, out: &mut dyn Write) -> Result<(), Failure> {
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
            writeln!(out, "COPY {table} ({columns}) FROM stdin;")?;
            copy_out(self.connection, &format!("COPY {table} ({columns}) TO STDOUT"), out)?;
            writeln!(out, "\\.\n")?;
        }
        Ok(())
    }

    /// What every sequence gives out next.
    pub(super) fn sequence_values(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let sql = "SELECT schemaname, sequencename, start_value::text FROM pg_catalog.pg_sequences
                   WHERE schemaname NOT LIKE 'pg\\_temp%' ORDER BY 1, 2";
        let mut any = false;
        for row in self.rows(sql)? {
            let sequence = full(text(&row, 0), text(&row, 1));
            let (value, called) = self.connection.sequence_value(&sequence)?;
            if called || value.to_string() != text(&row, 2) {
                any = true;
                writeln!(out, "SELECT pg_catalog.setval({}, {value}, {called});", string(&sequence))?;
            }
        }
        if any {
            writeln!(out)?;
        }
        Ok(())
    }

    /// The names of a relation's columns, in order.
    pub(super) fn column_names(&self, oid: &str) -> Result<Vec<String>, Failure> {
        let sql = format!(
            "SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = {oid} AND a.attnum > 0
             AND NOT a.attisdropped ORDER BY a.attnum"
        );
        Ok(self.rows(&sql)?.iter().map(|row| name(text(row, 0))).collect())
    }
}
