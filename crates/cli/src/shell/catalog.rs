//! Lists that are queries of the catalog's: `\l`, `\dn`, `\df`, `\dT`, `\dD`, and the texts of functions and views.

use super::session::Session;
use crate::output::{Column, Grid, cells_of};
use crate::report::Failure;

const USER: &str = "n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'";

/// Runs the command, whose name this is.
pub fn list(session: &mut Session, command: &str, pattern: Option<&str>) -> Result<(), Failure> {
    // Without a name, the user's own; with one, all there are of that name.
    let named = |column: &str| match pattern {
        None => USER.to_string(),
        Some(pattern) => {
            let (schema, name) = pattern.split_once('.').map_or((None, pattern), |(schema, name)| (Some(schema), name));
            let of_schema = schema.map_or(String::new(), |schema| format!(" AND n.nspname LIKE {}", like(schema)));
            format!("{column} LIKE {}{of_schema}", like(name))
        }
    };
    match command {
        "l" => databases(session),
        "dn" => {
            let sql = format!(
                "SELECT n.nspname AS \"Name\" FROM pg_catalog.pg_namespace n WHERE {} ORDER BY 1",
                named("n.nspname")
            );
            show(session, "List of schemas", &sql)
        }
        "df" => {
            let sql = format!(
                "SELECT n.nspname AS \"Schema\", p.proname AS \"Name\", pg_catalog.pg_get_function_result(p.oid) AS \"Result data type\",
                     pg_catalog.pg_get_function_arguments(p.oid) AS \"Argument data types\",
                     CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END AS \"Type\"
                 FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
                 WHERE {} ORDER BY 1, 2, 4",
                named("p.proname")
            );
            show(session, "List of functions", &sql)
        }
        "dD" => {
            let sql = format!(
                "SELECT n.nspname AS \"Schema\", t.typname AS \"Name\", pg_catalog.format_type(t.typbasetype, t.typtypmod) AS \"Type\",
                     CASE WHEN t.typnotnull THEN 'not null' END AS \"Nullable\", t.typdefault AS \"Default\",
                     (SELECT pg_catalog.string_agg(pg_catalog.pg_get_constraintdef(r.oid, true), ' ' ORDER BY r.conname)
                         FROM pg_catalog.pg_constraint r WHERE r.contypid = t.oid AND r.contype = 'c') AS \"Check\"
                 FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
                 WHERE {} AND t.typtype = 'd' ORDER BY 1, 2",
                named("t.typname")
            );
            show(session, "List of domains", &sql)
        }
        "dT" | "dT+" => {
            let more = match command {
                "dT" => "",
                _ => {
                    ", (SELECT pg_catalog.string_agg(e.enumlabel::text, ', ' ORDER BY e.enumsortorder)
                        FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid) AS \"Elements\",
                     pg_catalog.obj_description(t.oid, 'pg_type') AS \"Description\""
                }
            };
            let sql = format!(
                "SELECT n.nspname AS \"Schema\", t.typname AS \"Name\",
                     CASE t.typtype WHEN 'e' THEN 'enum' WHEN 'd' THEN 'domain over ' || pg_catalog.format_type(t.typbasetype, t.typtypmod)
                         WHEN 'c' THEN 'composite' ELSE 'base' END AS \"Kind\"{more}
                 FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
                 WHERE {} AND t.typelem = 0 AND t.typrelid = 0 ORDER BY 1, 2",
                named("t.typname")
            );
            show(session, "List of data types", &sql)
        }
        _ => text(session, command, pattern),
    }
}

/// `*` and `?` as LIKE has them.
fn like(pattern: &str) -> String {
    let mut like = String::from("E'");
    for c in pattern.to_lowercase().chars() {
        match c {
            '*' => like.push('%'),
            '?' => like.push('_'),
            '_' | '%' => like.extend(["\\\\", c.encode_utf8(&mut [0; 4])]),
            '\\' => like.push_str("\\\\\\\\"),
            '\'' => like.push_str("''"),
            c => like.push(c),
        }
    }
    like + "'"
}

fn show(session: &mut Session, title: &str, sql: &str) -> Result<(), Failure> {
    let context = session.context();
    let grid = {
        let mut rows = session.connection().query(sql, ()).map_err(|error| Failure::sql(error, sql))?;
        let columns = rows.columns().iter().map(Column::from).collect();
        let mut cells = Vec::new();
        while let Some(row) = rows.next()? {
            cells.push(cells_of(&row, &context));
        }
        Grid { title: Some(title.to_string()), columns, rows: cells, footer: None }
    };
    session.show(grid)
}

/// The database that is open: one file is one.
fn databases(session: &mut Session) -> Result<(), Failure> {
    let file = session.file().map(|path| path.display().to_string());
    let size = session.file().and_then(|path| path.metadata().ok()).map(|found| found.len().to_string());
    let row = vec![Some(session.name().to_string()), Some(file.unwrap_or_else(|| "in memory".to_string())), size];
    let columns = vec![Column::text("Name"), Column::text("File"), Column::number("Bytes")];
    session.show(Grid { title: Some("List of databases".to_string()), columns, rows: vec![row], footer: None })
}

/// `\sf NAME`, `\sv NAME`.
fn text(session: &mut Session, command: &str, name: Option<&str>) -> Result<(), Failure> {
    let name = name.ok_or_else(|| Failure::Message(format!("\\{command}: a name is missing")))?;
    let sql = match (command, name.contains('(')) {
        ("sv", _) => "SELECT 'CREATE VIEW ' || $1 || E' AS\\n' || pg_catalog.pg_get_viewdef($1::regclass)",
        (_, true) => "SELECT pg_catalog.pg_get_functiondef($1::regprocedure)",
        (_, false) => "SELECT pg_catalog.pg_get_functiondef($1::regproc)",
    };
    let text = session.connection().query_row(sql, (name,), |row| row.get::<Option<String>>(0))?;
    session.say(text.unwrap_or_default().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_likes() {
        assert_eq!(like("A*b_?'\\"), "E'a%b\\\\__''\\\\\\\\'");
    }
}
