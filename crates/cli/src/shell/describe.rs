//! `\d` and its kin: what the schema holds, as psql shows it.

use std::sync::Arc;

use cairndb::catalog::{
    Catalog, Check, Column, ForeignKey, Index, ObjectId, ObjectName, ReferentialAction, Relation, Sequence, Table, View,
};

use super::session::Session;
use crate::output;
use crate::output::Grid;
use crate::report::Failure;

/// The kinds of relations that are listed, by the letter of their command.
const KINDS: [(char, &str); 4] = [('t', "table"), ('v', "view"), ('i', "index"), ('s', "sequence")];

/// `\d [NAME]`; `\d+` shows comments too.
pub fn describe(session: &mut Session, command: &str, name: Option<&str>) -> Result<(), Failure> {
    let Some(name) = name else { return list(session, command, None) };
    let catalog = session.catalog()?;
    let found = catalog.relation(&name.into()).or_else(|| catalog.relation(&named(name)));
    let mut grid = match found {
        Some(Relation::Table(table)) => describe_table(&catalog, table),
        Some(Relation::View(view)) => describe_view(session, &catalog, view)?,
        Some(Relation::Sequence(sequence)) => describe_sequence(&catalog, sequence),
        Some(Relation::Index(table, index)) => describe_index(&catalog, table, index),
        Some(Relation::PrimaryKey(table)) => describe_index(&catalog, table, &primary_key(table)),
        None if name.contains(['*', '?']) => return list(session, command, Some(name)),
        None => {
            let name = folded(name);
            return Err(Failure::Message(format!("Did not find any relation named \"{name}\".")));
        }
    };
    if let (true, Some(relation @ (Relation::Table(_) | Relation::View(_)))) = (command.ends_with('+'), found) {
        grid.columns.push(output::Column::text("Description"));
        let comment = |position| catalog.comment_on_column(relation, position).map(str::to_string);
        grid.rows.iter_mut().enumerate().for_each(|(position, row)| row.push(comment(position)));
    }
    session.show(grid)
}

/// `\dt`, `\di`, `\dv`, `\ds` and `\d` without a name.
pub fn list(session: &mut Session, command: &str, pattern: Option<&str>) -> Result<(), Failure> {
    let catalog = session.catalog()?;
    let pattern = pattern.map(folded);
    let (letters, with_comments) = match command.strip_suffix('+') {
        Some(letters) => (letters, true),
        None => (command, false),
    };
    let wanted = |kind: &str| match letters.strip_prefix('d').unwrap_or_default() {
        "" => kind != "index",
        letters => KINDS.iter().any(|(letter, name)| *name == kind && letters.contains(*letter)),
    };
    let mut relations = relations(&catalog);
    relations
        .retain(|Listed { name, kind, .. }| wanted(kind) && pattern.as_deref().is_none_or(|like| matches(name, like)));
    if relations.is_empty() {
        match pattern {
            Some(pattern) => eprintln!("Did not find any relation named \"{pattern}\"."),
            None => eprintln!("Did not find any relations."),
        }
        return Ok(());
    }
    let with_table = wanted("index");
    let mut columns = vec![output::Column::text("Name"), output::Column::text("Type")];
    if with_table {
        columns.push(output::Column::text("Table"));
    }
    if with_comments {
        columns.push(output::Column::text("Description"));
    }
    let row = |Listed { name, kind, table, comment }: Listed| {
        let mut row = vec![Some(name), Some(kind.to_string())];
        row.extend(with_table.then_some(table));
        row.extend(with_comments.then_some(comment));
        row
    };
    let rows = relations.into_iter().map(row).collect();
    session.show(Grid { title: Some("List of relations".to_string()), columns, rows, footer: None })
}

/// A relation in a list.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    name: String,
    kind: &'static str,
    table: Option<String>,
    comment: Option<String>,
}

/// Every relation, by name.
fn relations(catalog: &Catalog) -> Vec<Listed> {
    let listed = |schema, name: &str, relation: Relation| {
        let (kind, table) = match &relation {
            Relation::Table(_) => ("table", None),
            Relation::View(_) => ("view", None),
            Relation::Sequence(_) => ("sequence", None),
            Relation::Index(table, _) | Relation::PrimaryKey(table) => {
                ("index", Some(plain(catalog.table_name(table), &table.name)))
            }
        };
        let comment = catalog.comment_on(&relation).map(str::to_string);
        Listed { name: plain(catalog.shown(schema, name), name), kind, table, comment }
    };
    let mut all: Vec<Listed> = Vec::new();
    for table in catalog.tables() {
        all.push(listed(table.schema, &table.name, Relation::Table(table.clone())));
        let primary = table.primary_key_name.iter();
        all.extend(primary.map(|name| listed(table.schema, name, Relation::PrimaryKey(table.clone()))));
        let index = |index: &Arc<Index>| Relation::Index(table.clone(), index.clone());
        all.extend(table.indexes.iter().map(|each| listed(table.schema, &each.name, index(each))));
    }
    all.extend(catalog.views().map(|view| listed(view.schema, &view.name, Relation::View(view.clone()))));
    let sequences = catalog.sequences();
    all.extend(sequences.map(|each| listed(each.schema, &each.name, Relation::Sequence(each.clone()))));
    all.sort();
    all
}

/// A name without quotes, where no schema stands before it.
fn plain(shown: String, name: &str) -> String {
    if shown.starts_with('"') && shown.ends_with('"') { name.to_string() } else { shown }
}

/// A relation's name with its schema.
fn full(catalog: &Catalog, schema: ObjectId, name: &str) -> String {
    format!("{}.{name}", catalog.schema_name(schema).unwrap_or("pg_temp"))
}

/// The relation that is named: `t`, `s.t`.
fn named(name: &str) -> ObjectName {
    let name = name.trim_end_matches(';').to_lowercase();
    match name.split_once('.') {
        Some((schema, name)) => ObjectName::new(Some(schema), name),
        None => name.as_str().into(),
    }
}

/// A name as SQL folds it; that of `public` is left out.
fn folded(name: &str) -> String {
    let name = name.trim_end_matches(';').to_lowercase();
    name.strip_prefix("public.").map_or(name.clone(), str::to_string)
}

/// `*` and `?` as in file names.
fn matches(name: &str, pattern: &str) -> bool {
    let (name, pattern): (Vec<char>, Vec<char>) = (name.chars().collect(), pattern.chars().collect());
    let (mut at, mut in_pattern, mut star) = (0, 0, None);
    while at < name.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((at, in_pattern));
                in_pattern += 1;
            }
            Some(&c) if c == '?' || Some(&c) == name.get(at) => (at, in_pattern) = (at + 1, in_pattern + 1),
            _ => match star {
                Some((from, place)) => {
                    star = Some((from + 1, place));
                    (at, in_pattern) = (from + 1, place + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(in_pattern).all(|c| *c == '*')
}

fn describe_table(catalog: &Catalog, table: &Table) -> Grid {
    let row = |column: &Column| {
        let nullable = if column.not_null { "not null" } else { "" };
        let texts =
            [column.name.clone(), column.data_type.to_string(), nullable.to_string(), default_of(catalog, column)];
        texts.map(Some).to_vec()
    };
    let mut footer = Vec::new();
    section(&mut footer, "Indexes:", index_lines(table));
    section(&mut footer, "Check constraints:", check_lines(catalog, table));
    let own = table.foreign_keys.iter().map(|key| foreign_key_line(catalog, table, key)).collect();
    section(&mut footer, "Foreign-key constraints:", own);
    section(&mut footer, "Referenced by:", referencing_lines(catalog, table));
    Grid {
        title: Some(format!("Table \"{}\"", full(catalog, table.schema, &table.name))),
        columns: ["Column", "Type", "Nullable", "Default"].map(output::Column::text).to_vec(),
        rows: table.columns.iter().map(row).collect(),
        footer: Some(footer),
    }
}

fn default_of(catalog: &Catalog, column: &Column) -> String {
    match &column.identity {
        Some(identity) if identity.always => "generated always as identity".to_string(),
        Some(_) => "generated by default as identity".to_string(),
        None => column.default.as_ref().map_or_else(String::new, |default| catalog.text_of(default)),
    }
}

fn section(footer: &mut Vec<String>, title: &str, lines: Vec<String>) {
    if !lines.is_empty() {
        footer.push(title.to_string());
        footer.extend(lines.into_iter().map(|line| format!("    {line}")));
    }
}

fn index_lines(table: &Table) -> Vec<String> {
    let primary = table.primary_key_name.as_ref();
    let primary = primary.map(|name| format!("\"{name}\" PRIMARY KEY ({})", column_list(table, &table.primary_key)));
    let other = |index: &Arc<Index>| {
        let kind = match (index.unique, index.constraint) {
            (true, true) => "UNIQUE CONSTRAINT ",
            (true, false) => "UNIQUE ",
            _ => "",
        };
        format!("\"{}\" {kind}({})", index.name, index_columns(table, index))
    };
    primary.into_iter().chain(table.indexes.iter().map(other)).collect()
}

fn check_lines(catalog: &Catalog, table: &Table) -> Vec<String> {
    let line = |check: &Check| format!("\"{}\" CHECK ({})", check.name, catalog.text_of(&check.condition));
    table.checks.iter().map(line).collect()
}

fn foreign_key_line(catalog: &Catalog, table: &Table, key: &ForeignKey) -> String {
    let (target, columns) = match catalog.table_by_id(key.referenced_table) {
        Some(target) => {
            let name = plain(catalog.table_name(target), &target.name);
            (name, column_list(target, &key.referenced_columns))
        }
        None => ("?".to_string(), String::new()),
    };
    let own = column_list(table, &key.columns);
    let action = |event: &str, action| match action_name(action) {
        Some(name) => format!(" ON {event} {name}"),
        None => String::new(),
    };
    let update = action("UPDATE", key.on_update);
    let delete = action("DELETE", key.on_delete);
    format!("\"{}\" FOREIGN KEY ({own}) REFERENCES {target}({columns}){update}{delete}", key.name)
}

fn action_name(action: ReferentialAction) -> Option<&'static str> {
    match action {
        ReferentialAction::NoAction => None,
        ReferentialAction::Restrict => Some("RESTRICT"),
        ReferentialAction::Cascade => Some("CASCADE"),
        ReferentialAction::SetNull => Some("SET NULL"),
        ReferentialAction::SetDefault => Some("SET DEFAULT"),
    }
}

fn referencing_lines(catalog: &Catalog, table: &Table) -> Vec<String> {
    let mut lines = Vec::new();
    for other in catalog.tables() {
        for key in other.foreign_keys.iter().filter(|key| key.referenced_table == table.id) {
            lines.push(format!("TABLE \"{}\" CONSTRAINT {}", other.name, foreign_key_line(catalog, other, key)));
        }
    }
    lines
}

fn column_name(table: &Table, position: usize) -> String {
    table.columns.get(position).map(|column| column.name.clone()).unwrap_or_default()
}

fn column_list(table: &Table, positions: &[usize]) -> String {
    positions.iter().map(|position| column_name(table, *position)).collect::<Vec<_>>().join(", ")
}

fn index_columns(table: &Table, index: &Index) -> String {
    let shown = |column: &cairndb::catalog::IndexColumn| {
        let order = match (column.descending, column.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        };
        column_name(table, column.column) + order
    };
    index.columns.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// A view's columns are what its query gives now.
fn describe_view(session: &Session, catalog: &Catalog, view: &View) -> Result<Grid, Failure> {
    let query = format!("SELECT * FROM {} LIMIT 0", catalog.shown(view.schema, &view.name));
    let rows = session.connection().query(&query, ())?;
    let row = |field: &cairndb::Field| vec![Some(field.name.clone()), Some(field.data_type.to_string())];
    let definition = catalog.text_of(&view.query);
    let footer = std::iter::once("View definition:".to_string());
    let footer = footer.chain(definition.lines().map(|line| format!(" {line}"))).collect();
    Ok(Grid {
        title: Some(format!("View \"{}\"", full(catalog, view.schema, &view.name))),
        columns: ["Column", "Type"].map(output::Column::text).to_vec(),
        rows: rows.columns().iter().map(row).collect(),
        footer: Some(footer),
    })
}

fn describe_sequence(catalog: &Catalog, sequence: &Sequence) -> Grid {
    let numbers =
        [sequence.start, sequence.min, sequence.max, sequence.increment].map(|number| Some(number.to_string()));
    let cycles = if sequence.cycle { "yes" } else { "no" };
    let owner = sequence.owner.and_then(|(table, column)| {
        let table = catalog.table_by_id(table)?;
        let owner = full(catalog, table.schema, &table.name);
        Some(format!("Owned by: {owner}.{}", column_name(table, column)))
    });
    let mut columns = ["Start", "Minimum", "Maximum", "Increment"].map(output::Column::number).to_vec();
    columns.push(output::Column::text("Cycles?"));
    Grid {
        title: Some(format!("Sequence \"{}\"", full(catalog, sequence.schema, &sequence.name))),
        columns,
        rows: vec![numbers.into_iter().chain([Some(cycles.to_string())]).collect()],
        footer: Some(owner.into_iter().collect()),
    }
}

/// A primary key as the index that it is.
fn primary_key(table: &Table) -> Index {
    let column =
        |column: &usize| cairndb::catalog::IndexColumn { column: *column, descending: false, nulls_first: false };
    Index {
        id: table.id,
        name: table.primary_key_name.clone().unwrap_or_default(),
        tree: table.tree,
        columns: table.primary_key.iter().map(column).collect(),
        unique: true,
        constraint: true,
    }
}

fn describe_index(catalog: &Catalog, table: &Table, index: &Index) -> Grid {
    let row = |column: &cairndb::catalog::IndexColumn| {
        let data_type = table.columns.get(column.column).map(|column| column.data_type.to_string());
        vec![Some(column_name(table, column.column)), data_type]
    };
    let kind = match (index.unique, table.primary_key_name.as_deref() == Some(index.name.as_str())) {
        (_, true) => "primary key, ",
        (true, _) => "unique, ",
        _ => "",
    };
    Grid {
        title: Some(format!("Index \"{}\"", full(catalog, table.schema, &index.name))),
        columns: ["Column", "Type"].map(output::Column::text).to_vec(),
        rows: index.columns.iter().map(row).collect(),
        footer: Some(vec![format!("{kind}for table \"{}\"", full(catalog, table.schema, &table.name))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_file_names() {
        assert!(matches("moonwalkers", "moon*"));
        assert!(matches("evas", "?vas"));
        assert!(matches("a_b_c", "*b*"));
        assert!(matches("aab", "*ab"));
        assert!(!matches("moon", "moon?"));
        assert!(!matches("crew", "c*x"));
    }
}
