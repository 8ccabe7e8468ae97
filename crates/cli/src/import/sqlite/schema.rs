//! What a SQLite file holds, as its own catalog and the texts in it say.

use rusqlite::{Result, Transaction};
use turso_parser::ast::Expr;

use super::texts::{self, IndexText, TableText, mentions};

/// All of it.
#[derive(Default)]
pub struct Source {
    pub tables: Vec<Table>,
    pub views: Vec<View>,
    /// What `PRAGMA user_version` says: most applications keep the number of their schema there.
    pub user_version: i64,
    /// What is not taken over, and why.
    pub left_out: Vec<(String, String)>,
}

pub struct View {
    pub name: String,
    /// CREATE VIEW.
    pub sql: String,
    /// As SQLite calls them.
    pub columns: Vec<String>,
}

#[derive(Default)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    pub primary_key: Vec<String>,
    pub without_row_id: bool,
    pub auto_increment: bool,
    /// The last value that AUTOINCREMENT gave.
    pub sequence: Option<i64>,
    /// Conditions, and how they are written.
    pub checks: Vec<(Expr, String)>,
    /// Why its text, which has its checks and generated columns, is not understood.
    pub not_understood: Option<String>,
    pub indexes: Vec<Index>,
    pub foreign_keys: Vec<ForeignKey>,
}

pub struct Column {
    pub name: String,
    pub declared: String,
    pub not_null: bool,
    pub default: Option<String>,
    /// It compares without looking at case.
    pub no_case: bool,
    pub generated: Option<Generated>,
}

/// GENERATED ALWAYS AS.
pub struct Generated {
    /// Computed whenever it is read.
    pub is_virtual: bool,
    /// `None`: it is not found in the text.
    pub expression: Option<Expr>,
}

pub struct Index {
    pub name: String,
    pub unique: bool,
    /// Of a UNIQUE constraint.
    pub of_constraint: bool,
    pub columns: Vec<IndexColumn>,
    /// CREATE INDEX, where there was one.
    pub sql: Option<String>,
    pub partial: bool,
}

impl Index {
    pub fn text(&self) -> std::result::Result<IndexText, String> {
        texts::index(self.sql.as_deref().ok_or("its text is not there")?)
    }
}

pub struct IndexColumn {
    /// `None`: an expression.
    pub name: Option<String>,
    pub descending: bool,
    pub collation: String,
}

pub struct ForeignKey {
    pub parent: String,
    pub columns: Vec<String>,
    /// `None`: the parent's primary key.
    pub parent_columns: Option<Vec<String>>,
    pub on_update: String,
    pub on_delete: String,
}

impl Table {
    fn take(&mut self, text: TableText) {
        self.auto_increment = text.auto_increment;
        self.checks = text.checks;
        for column in &mut self.columns {
            column.no_case = text.no_case.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
        }
        for (name, expression) in text.generated {
            let column = self.columns.iter_mut().find(|column| column.name.eq_ignore_ascii_case(&name));
            if let Some(generated) = column.and_then(|column| column.generated.as_mut()) {
                generated.expression = Some(expression);
            }
        }
    }

    /// The column is computed where it is read, and no key or index wants it stored.
    pub fn is_virtual(&self, column: &Column) -> bool {
        let is_it = |name: &String| *name == column.name;
        let in_index = |index: &Index| {
            index.columns.iter().any(|part| part.name.as_ref().is_some_and(is_it))
                || index.sql.as_ref().is_some_and(|sql| mentions(sql, &column.name))
        };
        let in_key = |key: &ForeignKey| key.columns.iter().any(is_it);
        column.generated.as_ref().is_some_and(|generated| generated.is_virtual)
            && !self.primary_key.iter().any(is_it)
            && !self.indexes.iter().any(in_index)
            && !self.foreign_keys.iter().any(in_key)
    }

    /// The column is another name of the row number.
    pub fn is_row_id(&self, column: &Column) -> bool {
        !self.without_row_id
            && column.declared.eq_ignore_ascii_case("INTEGER")
            && self.primary_key == [column.name.clone()]
    }
}

/// A name as SQLite quotes it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub fn read(sqlite: &Transaction<'_>) -> Result<Source> {
    let user_version = sqlite.query_row("SELECT user_version FROM pragma_user_version", (), |row| row.get(0))?;
    let mut source = Source { user_version, ..Source::default() };
    let mut listed =
        sqlite.prepare("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY rowid")?;
    let listed = listed.query_map((), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?))
    })?;
    let listed: Vec<(String, String, String, String)> = listed.collect::<Result<_>>()?;
    let mut kinds = sqlite.prepare("SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'")?;
    let kinds =
        kinds.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?)))?;
    let kinds: Vec<(String, String, bool)> = kinds.collect::<Result<_>>()?;
    for (kind, name, of, sql) in &listed {
        let found = kinds.iter().find(|(table, ..)| table == name);
        match (kind.as_str(), found.map_or("", |(_, kind, _)| kind.as_str())) {
            ("table", _) if name.starts_with("sqlite_") => {}
            ("table", "virtual") => {
                source.left_out.push((format!("virtual table {name}"), "its module is SQLite's".to_string()));
            }
            ("table", "shadow") => {
                source.left_out.push((format!("table {name}"), "it belongs to a virtual table".to_string()));
            }
            ("table", _) => {
                let without_row_id = found.is_some_and(|(.., without)| *without);
                source.tables.push(read_table(sqlite, name, sql, without_row_id, &listed)?);
            }
            ("view", _) => match view_columns(sqlite, name) {
                Ok(columns) => source.views.push(View { name: name.clone(), sql: sql.clone(), columns }),
                Err(error) => source.left_out.push((format!("view {name}"), error.to_string())),
            },
            ("trigger", _) => {
                let why = "triggers are written in SQLite's dialect; here they call functions in PL/pgSQL";
                source.left_out.push((format!("trigger {name} of {of}"), why.to_string()));
            }
            _ => {}
        }
    }
    Ok(source)
}

fn view_columns(sqlite: &Transaction<'_>, name: &str) -> Result<Vec<String>> {
    let mut columns = sqlite.prepare("SELECT name FROM pragma_table_xinfo(?1) ORDER BY cid")?;
    columns.query_map([name], |row| row.get(0))?.collect()
}

fn read_table(
    sqlite: &Transaction<'_>,
    name: &str,
    sql: &str,
    without_row_id: bool,
    listed: &[(String, String, String, String)],
) -> Result<Table> {
    let mut table = Table { name: name.to_string(), without_row_id, ..Table::default() };
    let mut columns = sqlite
        .prepare("SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1) ORDER BY cid")?;
    let mut rows = columns.query([name])?;
    let mut key: Vec<(i64, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (column, hidden): (String, i64) = (row.get(0)?, row.get(5)?);
        if hidden == 1 {
            continue;
        }
        let place: i64 = row.get(4)?;
        if place > 0 {
            key.push((place, column.clone()));
        }
        table.columns.push(Column {
            name: column,
            declared: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
            not_null: row.get(2)?,
            default: row.get(3)?,
            no_case: false,
            generated: (hidden > 1).then_some(Generated { is_virtual: hidden == 2, expression: None }),
        });
    }
    key.sort();
    table.primary_key = key.into_iter().map(|(_, column)| column).collect();
    match texts::table(sql) {
        Ok(text) => table.take(text),
        Err(why) => table.not_understood = Some(why),
    }
    if table.auto_increment {
        let last = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
        // The table of sequences is an ordinary one, which anybody may have written to.
        table.sequence = sqlite.query_row(last, [name], |row| row.get(0)).ok();
    }
    table.indexes = read_indexes(sqlite, name, listed)?;
    table.foreign_keys = read_foreign_keys(sqlite, name)?;
    Ok(table)
}

fn read_indexes(
    sqlite: &Transaction<'_>,
    table: &str,
    listed: &[(String, String, String, String)],
) -> Result<Vec<Index>> {
    let mut indexes = Vec::new();
    let mut list =
        sqlite.prepare("SELECT name, \"unique\", origin, partial FROM pragma_index_list(?1) ORDER BY seq DESC")?;
    let mut rows = list.query([table])?;
    while let Some(row) = rows.next()? {
        let (name, unique, origin, partial): (String, bool, String, bool) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        if origin == "pk" {
            continue;
        }
        let mut parts =
            sqlite.prepare("SELECT name, \"desc\", coll FROM pragma_index_xinfo(?1) WHERE \"key\" ORDER BY seqno")?;
        let columns = parts.query_map([&name], |row| {
            Ok(IndexColumn {
                name: row.get(0)?,
                descending: row.get(1)?,
                collation: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
            })
        })?;
        let columns = columns.collect::<Result<_>>()?;
        let sql = listed.iter().find(|(kind, index, ..)| kind == "index" && *index == name);
        let sql = sql.map(|(.., sql)| sql.clone()).filter(|sql| !sql.is_empty());
        indexes.push(Index { name, unique, of_constraint: origin == "u", columns, sql, partial });
    }
    Ok(indexes)
}

fn read_foreign_keys(sqlite: &Transaction<'_>, table: &str) -> Result<Vec<ForeignKey>> {
    let mut list = sqlite.prepare(
        "SELECT id, \"table\", \"from\", \"to\", on_update, on_delete FROM pragma_foreign_key_list(?1) ORDER BY id DESC, seq",
    )?;
    let mut rows = list.query([table])?;
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, from, to): (i64, String, Option<String>) = (row.get(0)?, row.get(2)?, row.get(3)?);
        if keys.last().is_none_or(|(last, _)| *last != id) {
            let (parent, on_update, on_delete) = (row.get(1)?, row.get(4)?, row.get(5)?);
            keys.push((id, ForeignKey { parent, columns: vec![], parent_columns: None, on_update, on_delete }));
        }
        if let Some((_, key)) = keys.last_mut() {
            key.columns.push(from);
            if let Some(to) = to {
                key.parent_columns.get_or_insert_default().push(to);
            }
        }
    }
    Ok(keys.into_iter().map(|(_, key)| key).collect())
}
