//! Comments, of what is in the script.

use super::objects::USER_SCHEMAS;
use super::{Dump, Sink, full, name, string, text};
use crate::Result;

impl Dump<'_> {
    pub(super) fn comments(&self, out: &mut Sink<'_>) -> Result<()> {
        let of_relations = format!(
            "SELECT CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
                    WHEN 'S' THEN 'SEQUENCE' ELSE 'INDEX' END,
                n.nspname::text, c.relname::text, d.description,
                (SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = d.objsubid AND a.attnum > 0),
                t.relname::text
             FROM pg_catalog.pg_description d JOIN pg_catalog.pg_class c ON c.oid = d.objoid
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
             WHERE d.classoid = 1259 AND {USER_SCHEMAS} ORDER BY 2, 3, d.objsubid"
        );
        for row in self.rows(&of_relations)? {
            let (kind, named) = (text(&row, 0), full(text(&row, 1), text(&row, 2)));
            // An index goes with its relation, which is in the same schema.
            let relation = match text(&row, 5) {
                "" => named.clone(),
                relation => full(text(&row, 1), relation),
            };
            if self.left_out.borrow().contains_key(&relation) {
                continue;
            }
            let of = match row.get(4).and_then(Option::as_deref) {
                Some(column) => format!("COLUMN {named}.{}", name(column)),
                None => format!("{kind} {named}"),
            };
            out.statement(format_args!("COMMENT ON {of} IS {}", string(text(&row, 3))))?;
        }
        let of_others = format!(
            "SELECT 'SCHEMA ' || pg_catalog.quote_ident(n.nspname::text), d.description
             FROM pg_catalog.pg_description d JOIN pg_catalog.pg_namespace n ON n.oid = d.objoid
             WHERE d.classoid = 2615 AND {USER_SCHEMAS}
             UNION ALL
             SELECT CASE WHEN t.typtype = 'd' THEN 'DOMAIN ' ELSE 'TYPE ' END
                 || pg_catalog.quote_ident(n.nspname::text) || '.' || pg_catalog.quote_ident(t.typname::text), d.description
             FROM pg_catalog.pg_description d JOIN pg_catalog.pg_type t ON t.oid = d.objoid
             JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE d.classoid = 1247 AND {USER_SCHEMAS}
             UNION ALL
             SELECT CASE p.prokind WHEN 'p' THEN 'PROCEDURE ' WHEN 'a' THEN 'AGGREGATE ' ELSE 'FUNCTION ' END || pg_catalog.quote_ident(n.nspname::text) || '.'
                 || pg_catalog.quote_ident(p.proname::text) || '(' || CASE WHEN p.prokind = 'a' AND p.pronargs = 0 THEN '*' ELSE pg_catalog.pg_get_function_identity_arguments(p.oid) END || ')',
                 d.description
             FROM pg_catalog.pg_description d JOIN pg_catalog.pg_proc p ON p.oid = d.objoid
             JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE d.classoid = 1255 AND {USER_SCHEMAS}
             UNION ALL
             SELECT 'CONSTRAINT ' || pg_catalog.quote_ident(c.conname::text) || ' ON ' || pg_catalog.quote_ident(n.nspname::text) || '.'
                 || pg_catalog.quote_ident(t.relname::text), d.description
             FROM pg_catalog.pg_description d JOIN pg_catalog.pg_constraint c ON c.oid = d.objoid
             JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
             JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace WHERE d.classoid = 2606 AND {USER_SCHEMAS}
             UNION ALL
             SELECT 'TRIGGER ' || pg_catalog.quote_ident(g.tgname::text) || ' ON ' || pg_catalog.quote_ident(n.nspname::text) || '.'
                 || pg_catalog.quote_ident(t.relname::text), d.description
             FROM pg_catalog.pg_description d JOIN pg_catalog.pg_trigger g ON g.oid = d.objoid
             JOIN pg_catalog.pg_class t ON t.oid = g.tgrelid
             JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace WHERE d.classoid = 2620 AND {USER_SCHEMAS}
             ORDER BY 1"
        );
        let is_left_out = |of: &str| self.left_out.borrow().keys().any(|view| of.ends_with(&format!(" ON {view}")));
        for row in self.rows(&of_others)?.iter().filter(|row| !is_left_out(text(row, 0))) {
            out.statement(format_args!("COMMENT ON {} IS {}", text(row, 0), string(text(row, 1))))?;
        }
        Ok(())
    }
}
