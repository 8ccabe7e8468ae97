//! Lists that are queries of the catalog's: `\dt` and its kin, `\l`, `\dn`, `\df`, `\dT`, `\dD`, and the texts of functions and views.

use super::pattern::Pattern;
use super::session::Session;
use crate::output::{Column, Grid, cells_of};
use crate::report::{Failure, warn};

/// Of the schemas, those that are not the system's.
const USER: &str = "n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'";

/// The kinds of relations that are listed: the letter of their command, that of the catalog, the name.
const KINDS: [(char, char, &str); 5] = [
    ('t', 'r', "table"),
    ('v', 'v', "view"),
    ('m', 'm', "materialized view"),
    ('i', 'i', "index"),
    ('s', 'S', "sequence"),
];

const FROM_RELATIONS: &str = "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace";

/// What a list is of: without a pattern the user's own, with one all there are of that name, or with `S`.
fn wanted(command: &str, pattern: Option<&Pattern>, column: &str, visible: &str) -> String {
    match pattern {
        Some(pattern) => pattern.condition(column, visible),
        None if command.contains('S') => "true".to_string(),
        None => format!("({USER} OR n.oid = pg_catalog.pg_my_temp_schema())"),
    }
}

/// Schema and name of the relations that a pattern finds.
pub fn relations(session: &Session, pattern: &Pattern) -> Result<Vec<(String, String)>, Failure> {
    let sql = format!(
        "SELECT n.nspname::text, c.relname::text {FROM_RELATIONS} WHERE c.relkind IN ('r', 'v', 'm', 'i', 'S') AND {} ORDER BY 1, 2",
        pattern.condition("c.relname", "pg_catalog.pg_table_is_visible(c.oid)")
    );
    let rows = session.connection().query_as(&sql, ()).map_err(|error| Failure::sql(error, &sql))?;
    Ok(rows.collect::<cairndb::Result<_>>()?)
}

/// Whether a command lists relations by the letters of their kinds: `dt`, `dvm+`, `dtS`.
pub fn lists_relations(command: &str) -> bool {
    let letters = command.strip_prefix('d').map(|letters| letters.trim_end_matches(['+', 'S']));
    letters.is_some_and(|letters| {
        !letters.is_empty() && letters.chars().all(|letter| KINDS.iter().any(|(known, ..)| *known == letter))
    })
}

/// `\dt`, `\di`, `\dv`, `\dm`, `\ds` and `\d` without a name.
pub fn list_relations(session: &mut Session, command: &str, pattern: Option<&Pattern>) -> Result<(), Failure> {
    let letters = command.trim_start_matches('d').trim_end_matches(['+', 'S']);
    let kinds = KINDS.iter().filter(|(letter, ..)| match letters {
        "" => *letter != 'i',
        letters => letters.contains(*letter),
    });
    let kinds: Vec<_> = kinds.collect();
    let cases: String = kinds.iter().map(|(_, kind, name)| format!(" WHEN '{kind}' THEN '{name}'")).collect();
    let shown = |relation: &str, schema: &str| {
        format!(
            "CASE WHEN pg_catalog.pg_table_is_visible({relation}.oid) THEN {relation}.relname
                 ELSE {schema}.nspname || '.' || {relation}.relname END"
        )
    };
    let table = match letters.contains('i') {
        false => String::new(),
        true => format!(
            ", (SELECT {} FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
                JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace WHERE i.indexrelid = c.oid) AS \"Table\"",
            shown("t", "s")
        ),
    };
    let comment = match command.ends_with('+') {
        false => "",
        true => ", pg_catalog.obj_description(c.oid, 'pg_class') AS \"Description\"",
    };
    let sql = format!(
        "SELECT {} AS \"Name\", CASE c.relkind{cases} END AS \"Type\"{table}{comment}
         {FROM_RELATIONS} WHERE c.relkind IN ('{}') AND {} ORDER BY 1",
        shown("c", "n"),
        kinds.iter().map(|(_, kind, _)| kind.to_string()).collect::<Vec<_>>().join("', '"),
        wanted(command, pattern, "c.relname", "pg_catalog.pg_table_is_visible(c.oid)")
    );
    let found = grid(session, "List of relations", &sql)?;
    if !found.rows.is_empty() {
        return session.show(found);
    }
    match pattern {
        Some(pattern) => warn(format_args!("Did not find any relation named \"{}\".", pattern.text)),
        None => warn("Did not find any relations."),
    }
    Ok(())
}

/// Runs the command, whose name this is.
pub fn list(session: &mut Session, command: &str, pattern: Option<&Pattern>) -> Result<(), Failure> {
    let wanted = |column: &str, visible: &str| wanted(command, pattern, column, visible);
    let is_long = command.ends_with('+');
    match command.trim_end_matches(['+', 'S']) {
        "l" => databases(session),
        "dn" => {
            let sql = format!(
                "SELECT n.nspname AS \"Name\" FROM pg_catalog.pg_namespace n WHERE {} ORDER BY 1",
                match pattern {
                    // Schemas lie in none.
                    Some(pattern) => pattern.condition("n.nspname", "true"),
                    None if command.contains('S') => "true".to_string(),
                    None => USER.to_string(),
                }
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
                wanted("p.proname", "pg_catalog.pg_function_is_visible(p.oid)")
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
                wanted("t.typname", "pg_catalog.pg_type_is_visible(t.oid)")
            );
            show(session, "List of domains", &sql)
        }
        "dT" => {
            let more = match is_long {
                false => "",
                true => {
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
                 WHERE {} AND t.typelem = 0
                     AND (t.typrelid = 0 OR EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid AND c.relkind = 'c')) ORDER BY 1, 2",
                wanted("t.typname", "pg_catalog.pg_type_is_visible(t.oid)")
            );
            show(session, "List of data types", &sql)
        }
        _ => Err(Failure::Message(format!("invalid command \\{command}"))),
    }
}

fn show(session: &mut Session, title: &str, sql: &str) -> Result<(), Failure> {
    let grid = grid(session, title, sql)?;
    session.show(grid)
}

fn grid(session: &Session, title: &str, sql: &str) -> Result<Grid, Failure> {
    let context = session.context();
    let mut rows = session.connection().query(sql, ()).map_err(|error| Failure::sql(error, sql))?;
    let columns = rows.columns().iter().map(Column::from).collect();
    let mut cells = Vec::new();
    while let Some(row) = rows.next()? {
        cells.push(cells_of(&row, &context));
    }
    Ok(Grid { title: Some(title.to_string()), columns, rows: cells, footer: None })
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
pub fn text(session: &mut Session, command: &str, name: Option<&str>) -> Result<(), Failure> {
    let name = name.ok_or_else(|| Failure::Message(format!("\\{command}: a name is missing")))?;
    let sql = match (command, name.contains('(')) {
        ("sv", _) => "SELECT 'CREATE VIEW ' || $1 || E' AS\\n' || pg_catalog.pg_get_viewdef($1::regclass)",
        (_, true) => "SELECT pg_catalog.pg_get_functiondef($1::regprocedure)",
        (_, false) => "SELECT pg_catalog.pg_get_functiondef($1::regproc)",
    };
    let text = session.connection().query_row(sql, (name,), |row| row.get::<Option<String>>(0))?;
    session.say(text.unwrap_or_default().trim_end())
}
