//! `\d` and its kin: what the schema holds, as psql shows it, without what is the same everywhere here (owners, storage).

use cairndb::schema::{
    Column, ForeignKey, ForeignKeyAction, Index, IndexKind, IndexedColumn, Relation, RelationKind, Schema, Sequence,
    Table, View,
};

use super::catalog;
use super::pattern::Pattern;
use super::session::Session;
use crate::output;
use crate::output::Grid;
use crate::report::Failure;

/// `\d [PATTERN]`: each relation that it finds; `\d+` shows comments too.
pub fn describe(session: &mut Session, command: &str, pattern: Option<&Pattern>) -> Result<(), Failure> {
    let Some(pattern) = pattern else { return catalog::list_relations(session, command, None) };
    let schema = session.schema()?;
    let mut names = catalog::relations(session, pattern)?;
    if names.is_empty() {
        // Written as it is, with capital letters and without quotes.
        let found = schema.relation(&pattern.text);
        names.extend(found.map(|found| (found.schema.clone(), found.name.clone())));
    }
    if names.is_empty() {
        return describe_of_system(session, &pattern.text);
    }
    for (of, name) in names {
        if let Some(found) = schema.relations().iter().find(|found| found.schema == of && found.name == name) {
            describe_one(session, &schema, command, found)?;
        }
    }
    Ok(())
}

fn describe_one(session: &mut Session, schema: &Schema, command: &str, found: &Relation) -> Result<(), Failure> {
    let mut grid = match &found.kind {
        RelationKind::Table(table) => describe_table(found, table),
        RelationKind::View(view) => describe_view(session, found, view)?,
        RelationKind::MaterializedView(table, query) => describe_materialized_view(found, table, query),
        RelationKind::Sequence(sequence) => describe_sequence(found, sequence),
        RelationKind::Index(index, table) => describe_index(schema, found, index, table),
    };
    let has_columns = !matches!(found.kind, RelationKind::Sequence(_) | RelationKind::Index(..));
    if has_columns {
        say_types(session, found, &mut grid)?;
        let footer = grid.footer.get_or_insert_default();
        triggers(session, found, footer)?;
        if command.ends_with('+') {
            footer.extend(options(session, found)?);
        }
    }
    let comments: Vec<Option<String>> = match &found.kind {
        RelationKind::Table(table) | RelationKind::MaterializedView(table, _) => {
            table.columns.iter().map(|column| column.comment.clone()).collect()
        }
        RelationKind::View(view) => view.columns.iter().map(|(_, comment)| comment.clone()).collect(),
        _ => Vec::new(),
    };
    if command.ends_with('+') && !comments.is_empty() {
        grid.columns.push(output::Column::text("Description"));
        grid.rows.iter_mut().zip(comments).for_each(|(row, comment)| row.push(comment));
    }
    session.show(grid)
}

/// What is there and in no list: a relation of the system's own. Its columns.
fn describe_of_system(session: &mut Session, name: &str) -> Result<(), Failure> {
    let missing = || Failure::Message(format!("Did not find any relation named \"{name}\"."));
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
    let sql = format!("SELECT * FROM {name} LIMIT 0");
    // In a session of its own: a transaction is not to fail because of a name that is not there.
    let apart = session.connection().database().connect()?;
    let rows = if is_name { apart.query(&sql, ()).ok() } else { None }.ok_or_else(missing)?;
    let row = |field: &cairndb::Field| vec![Some(field.name.clone()), Some(field.data_type.to_string())];
    let rows: Vec<_> = rows.columns().iter().map(row).collect();
    let columns = ["Column", "Type"].map(output::Column::text).to_vec();
    session.show(Grid { title: Some(format!("System view \"{name}\"")), columns, rows, footer: Some(Vec::new()) })
}

/// The rows that the catalog has for the relation, which the query calls `c`, as texts.
fn asked(session: &Session, relation: &Relation, query: &str) -> Result<Vec<Vec<String>>, Failure> {
    let sql = query.replace(
        ":relation",
        "c.relname = $2 AND c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1)",
    );
    let rows = session.connection().query(&sql, (&relation.schema, &relation.name));
    let mut rows = rows.map_err(|error| Failure::sql(error, &sql))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let texts = (0..row.values().len()).map(|at| row.get::<Option<String>>(at).map(Option::unwrap_or_default));
        found.push(texts.collect::<cairndb::Result<Vec<String>>>()?);
    }
    Ok(found)
}

/// Types as they were declared, which domains are.
fn say_types(session: &Session, relation: &Relation, grid: &mut Grid) -> Result<(), Failure> {
    let types = asked(
        session,
        relation,
        "SELECT pg_catalog.format_type(a.atttypid, a.atttypmod)
         FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
         WHERE :relation AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
    )?;
    let types = types.into_iter().map(|row| row.into_iter().next());
    grid.rows.iter_mut().zip(types).for_each(|(row, data_type)| row[1] = data_type);
    Ok(())
}

fn triggers(session: &Session, relation: &Relation, footer: &mut Vec<String>) -> Result<(), Failure> {
    let all = asked(
        session,
        relation,
        "SELECT g.tgenabled::text, pg_catalog.pg_get_triggerdef(g.oid, true)
         FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid
         WHERE :relation AND NOT g.tgisinternal ORDER BY g.tgname",
    )?;
    for (enabled, title) in [
        ("O", "Triggers:"),
        ("D", "Disabled user triggers:"),
        ("A", "Triggers firing always:"),
        ("R", "Triggers firing on replica only:"),
    ] {
        let of = all.iter().filter(|trigger| trigger[0] == enabled);
        let text = |trigger: &Vec<String>| {
            trigger[1].split_once(" TRIGGER ").map_or_else(String::new, |(_, text)| text.to_string())
        };
        section(footer, title, of.map(text).collect());
    }
    Ok(())
}

fn options(session: &Session, relation: &Relation) -> Result<Option<String>, Failure> {
    let query = "SELECT pg_catalog.array_to_string(c.reloptions, ', ') FROM pg_catalog.pg_class c WHERE :relation";
    let said = asked(session, relation, query)?.into_iter().flatten().next();
    Ok(said.filter(|said| !said.is_empty()).map(|said| format!("Options: {said}")))
}

/// Every table and view, or those that the pattern finds, one after another: what they are made of.
pub fn describe_all(session: &mut Session, pattern: Option<&Pattern>) -> Result<(), Failure> {
    if pattern.is_some() {
        return describe(session, "d", pattern);
    }
    let schema = session.schema()?;
    let is_described =
        |relation: &&Relation| !matches!(relation.kind, RelationKind::Index(..) | RelationKind::Sequence(_));
    schema.relations().iter().filter(is_described).try_for_each(|found| describe_one(session, &schema, "d", found))
}

/// A name without quotes, where no schema stands before it.
fn plain(shown: &str) -> String {
    match shown.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(name) if !name.replace("\"\"", "").contains('"') => name.replace("\"\"", "\""),
        _ => shown.to_string(),
    }
}

/// A relation's name with its schema.
fn full(relation: &Relation) -> String {
    format!("{}.{}", relation.schema, relation.name)
}

fn describe_table(relation: &Relation, table: &Table) -> Grid {
    let row = |column: &Column| {
        let nullable = if column.not_null { "not null" } else { "" };
        let texts = [column.name.clone(), column.data_type.to_string(), nullable.to_string(), default_of(column)];
        texts.map(Some).to_vec()
    };
    let mut footer = Vec::new();
    section(&mut footer, "Indexes:", table.indexes.iter().map(index_line).collect());
    let checks = table
        .checks
        .iter()
        .map(|check| format!("\"{}\" CHECK ({}){}", check.name, check.condition, not_valid(check.valid)));
    section(&mut footer, "Check constraints:", checks.collect());
    section(&mut footer, "Foreign-key constraints:", table.foreign_keys.iter().map(foreign_key_line).collect());
    let referencing = table.referenced_by.iter();
    let referencing =
        referencing.map(|(child, key)| format!("TABLE \"{}\" CONSTRAINT {}", plain(child), foreign_key_line(key)));
    section(&mut footer, "Referenced by:", referencing.collect());
    if table.is_collection {
        footer.push("Collection: rows are documents".to_string());
        let rules = table.rules.options().map(|(option, rule)| format!("{option}: {rule}"));
        section(&mut footer, "Rules:", rules.collect());
    }
    Grid {
        title: Some(format!("Table \"{}\"", full(relation))),
        columns: ["Column", "Type", "Nullable", "Default"].map(output::Column::text).to_vec(),
        rows: table.columns.iter().map(row).collect(),
        footer: Some(footer),
    }
}

fn default_of(column: &Column) -> String {
    match (column.identity, &column.generated) {
        (Some(true), _) => "generated always as identity".to_string(),
        (Some(false), _) => "generated by default as identity".to_string(),
        (_, Some(expression)) if column.is_virtual => format!("generated always as ({expression})"),
        (_, Some(expression)) => format!("generated always as ({expression}) stored"),
        (None, None) => column.default.clone().unwrap_or_default(),
    }
}

fn section(footer: &mut Vec<String>, title: &str, lines: Vec<String>) {
    if !lines.is_empty() {
        footer.push(title.to_string());
        footer.extend(lines.into_iter().map(|line| format!("    {line}")));
    }
}

fn index_line(index: &Index) -> String {
    let kind = match index.kind {
        IndexKind::PrimaryKey => "PRIMARY KEY ",
        IndexKind::UniqueConstraint => "UNIQUE CONSTRAINT ",
        IndexKind::Unique => "UNIQUE ",
        IndexKind::Plain => "",
        IndexKind::Inverted => "gin ",
    };
    let columns: Vec<String> = index.columns.iter().map(index_column).collect();
    let filter = index.filter.as_ref().map_or_else(String::new, |filter| format!(" WHERE {filter}"));
    let nulls = if index.nulls_equal { " NULLS NOT DISTINCT" } else { "" };
    let deferral = deferral(index.deferrable, index.initially_deferred);
    let included = match index.included.as_slice() {
        [] => String::new(),
        included => format!(" INCLUDE ({})", included.join(", ")),
    };
    format!("\"{}\" {kind}({}){included}{nulls}{filter}{deferral}", index.name, columns.join(", "))
}

fn index_column(column: &IndexedColumn) -> String {
    let order = match (column.descending, column.nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    };
    let class = column.class.map_or_else(String::new, |class| format!(" {class}"));
    format!("{}{class}{order}", column.name)
}

fn not_valid(valid: bool) -> &'static str {
    if valid { "" } else { " NOT VALID" }
}

fn deferral(deferrable: bool, initially_deferred: bool) -> &'static str {
    match (deferrable, initially_deferred) {
        (_, true) => " DEFERRABLE INITIALLY DEFERRED",
        (true, false) => " DEFERRABLE",
        (false, false) => "",
    }
}

fn foreign_key_line(key: &ForeignKey) -> String {
    let (own, target) = (key.columns.join(", "), plain(&key.referenced_table));
    let action = |event: &str, action: ForeignKeyAction| match action {
        ForeignKeyAction::NoAction => String::new(),
        action => format!(" ON {event} {action}"),
    };
    let (update, delete) = (action("UPDATE", key.on_update), action("DELETE", key.on_delete));
    let columns = key.referenced_columns.join(", ");
    let deferral = deferral(key.deferrable, key.initially_deferred);
    let full = if key.match_full { " MATCH FULL" } else { "" };
    let set = match key.set_on_delete.is_empty() {
        true => String::new(),
        false => format!(" ({})", key.set_on_delete.join(", ")),
    };
    format!(
        "\"{}\" FOREIGN KEY ({own}) REFERENCES {target}({columns}){full}{update}{delete}{set}{deferral}{}",
        key.name,
        not_valid(key.valid)
    )
}

/// A view's columns are what its query gives now.
fn describe_view(session: &Session, relation: &Relation, view: &View) -> Result<Grid, Failure> {
    let query = format!("SELECT * FROM {} LIMIT 0", relation.shown);
    let rows = session.connection().query(&query, ())?;
    let default =
        |name: &str| view.defaults.iter().find(|(column, _)| column == name).map(|(_, default)| default.clone());
    let width = if view.defaults.is_empty() { 2 } else { 3 };
    let row = |field: &cairndb::Field| {
        let mut row = vec![Some(field.name.clone()), Some(field.data_type.to_string()), default(&field.name)];
        row.truncate(width);
        row
    };
    let footer = std::iter::once("View definition:".to_string());
    let footer = footer.chain(view.query.lines().map(|line| format!(" {line}"))).collect();
    Ok(Grid {
        title: Some(format!("View \"{}\"", full(relation))),
        columns: ["Column", "Type", "Default"][..width].iter().map(|name| output::Column::text(name)).collect(),
        rows: rows.columns().iter().map(row).collect(),
        footer: Some(footer),
    })
}

fn describe_materialized_view(relation: &Relation, table: &Table, query: &str) -> Grid {
    let mut grid = describe_table(relation, table);
    grid.title = Some(format!("Materialized view \"{}\"", full(relation)));
    let definition = std::iter::once("View definition:".to_string());
    let definition = definition.chain(query.lines().map(|line| format!(" {line}")));
    grid.footer.get_or_insert_default().splice(0..0, definition);
    grid
}

fn describe_sequence(relation: &Relation, sequence: &Sequence) -> Grid {
    let numbers =
        [sequence.start, sequence.min, sequence.max, sequence.increment].map(|number| Some(number.to_string()));
    let cycles = if sequence.cycle { "yes" } else { "no" };
    let owner = sequence.owner.as_ref().map(|owner| format!("Owned by: {}", owner.join(".")));
    let mut columns = vec![output::Column::text("Type")];
    columns.extend(["Start", "Minimum", "Maximum", "Increment"].map(output::Column::number));
    columns.push(output::Column::text("Cycles?"));
    let data_type = Some(sequence.data_type.to_string());
    Grid {
        title: Some(format!("Sequence \"{}\"", full(relation))),
        columns,
        rows: vec![[data_type].into_iter().chain(numbers).chain([Some(cycles.to_string())]).collect()],
        footer: Some(owner.into_iter().collect()),
    }
}

fn describe_index(schema: &Schema, relation: &Relation, index: &Index, table: &str) -> Grid {
    let row = |column: &IndexedColumn| {
        let key = if index.included.is_empty() { None } else { Some("yes".to_string()) };
        [Some(column.name.clone()), Some(column.data_type.to_string())].into_iter().chain(key.map(Some)).collect()
    };
    let of = schema.relations().iter().find(|known| known.shown == table);
    let of_table = of.and_then(|of| match &of.kind {
        RelationKind::Table(table) | RelationKind::MaterializedView(table, _) => Some(table),
        _ => None,
    });
    let included = index.included.iter().map(|name| {
        let column = of_table.and_then(|table| table.columns.iter().find(|column| column.name == *name));
        let data_type = column.map(|column| column.data_type.to_string());
        vec![Some(name.clone()), data_type, Some("no".to_string())]
    });
    let mut columns = vec![output::Column::text("Column"), output::Column::text("Type")];
    columns.extend((!index.included.is_empty()).then(|| output::Column::text("Key?")));
    let kind = match index.kind {
        IndexKind::PrimaryKey => "primary key, ",
        IndexKind::UniqueConstraint | IndexKind::Unique => "unique, ",
        IndexKind::Plain => "",
        IndexKind::Inverted => "gin, ",
    };
    let filter = index.filter.as_ref().map_or_else(String::new, |filter| format!(", predicate {filter}"));
    let table = of.map(full).unwrap_or_default();
    let deferral = match (index.deferrable, index.initially_deferred) {
        (_, true) => ", deferrable, initially deferred",
        (true, false) => ", deferrable",
        (false, false) => "",
    };
    Grid {
        title: Some(format!("Index \"{}\"", full(relation))),
        columns,
        rows: index.columns.iter().map(row).chain(included).collect(),
        footer: Some(vec![format!("{kind}for table \"{table}\"{filter}{deferral}")]),
    }
}
