//! Statements for what a SQLite file holds beside its rows.

use cairndb::DataType;
use turso_parser::ast::{Expr, SortOrder};

use super::kinds::Kind as ColumnKind;
use super::meaning::{Column, Relation, Translator, Value};
use super::names::Names;
use super::schema::{ForeignKey, Index, Source, Table, View, quoted};
use super::texts;

/// A text, and how its meaning differs.
pub struct Translation {
    pub text: String,
    pub changes: Vec<String>,
}

/// What expressions and views see of a table.
pub fn relation(table: &Table, kinds: &[ColumnKind]) -> Relation {
    let columns = table.columns.iter().zip(kinds).map(|(column, kind)| Column {
        name: column.name.clone(),
        kind: super::meaning::Kind::of(&kind.data_type),
        no_case: column.no_case,
    });
    let row_id = table.columns.iter().find(|column| table.is_row_id(column)).map(|column| column.name.clone());
    Relation { name: table.name.clone(), columns: columns.collect(), row_id }
}

/// An expression over a table's rows.
fn over(
    relation: &Relation,
    names: &Names,
    expression: &Expr,
    finish: impl FnOnce(Value) -> Result<Value, String>,
) -> Result<Translation, String> {
    let mut translator = Translator::of_table(names, relation);
    let value = finish(translator.expression(expression)?)?;
    Ok(Translation { text: value.text, changes: translator.changes() })
}

/// What a column of the type is generated as.
pub fn generated(
    relation: &Relation,
    names: &Names,
    expression: &Expr,
    data_type: &DataType,
) -> Result<Translation, String> {
    over(relation, names, expression, |value| value.assigned_to(data_type))
}

/// A CHECK's condition.
pub fn check(relation: &Relation, names: &Names, expression: &Expr) -> Result<Translation, String> {
    over(relation, names, expression, |value| value.condition())
}

/// CREATE VIEW, and what the view gives.
pub fn view(view: &View, relations: &[Relation], names: &Names) -> Result<(Translation, Relation), String> {
    let select = texts::view(&view.sql)?;
    let mut translator = Translator::new(names, relations);
    let query = translator.query(&select)?;
    if query.columns.len() != view.columns.len() {
        return Err("it has other columns than SQLite says".to_string());
    }
    let list: Vec<String> = view.columns.iter().map(|column| names.shown(column)).collect();
    let text = format!("CREATE VIEW {} ({}) AS {}", names.shown(&view.name), list.join(", "), query.text);
    let columns =
        query.columns.into_iter().zip(&view.columns).map(|(column, name)| Column { name: name.clone(), ..column });
    let relation = Relation { name: view.name.clone(), columns: columns.collect(), row_id: None };
    Ok((Translation { text, changes: translator.changes() }, relation))
}

/// A column's default; `None` where it is none.
pub fn default(sql: &str, data_type: &DataType, names: &Names) -> Result<Option<Translation>, String> {
    let expression = match texts::expression(sql)? {
        // A bare word is a string there.
        Expr::Id(name) | Expr::Name(name)
            if !["true", "false"].iter().any(|word| name.as_str().eq_ignore_ascii_case(word)) =>
        {
            Expr::Literal(turso_parser::ast::Literal::String(name.as_literal()))
        }
        other => other,
    };
    let mut translator = Translator::new(names, &[]);
    let value = translator.expression(&expression)?;
    if value.is_null() {
        return Ok(None);
    }
    let text = value.assigned_to(data_type)?.text;
    Ok(Some(Translation { text, changes: translator.changes() }))
}

/// The statement for an index, and what is not as it was; why there is none otherwise.
pub fn index(table: &Table, relation: &Relation, index: &Index, names: &Names) -> Result<Translation, String> {
    let (name, on) = (names.shown(&index.name), names.shown(&table.name));
    let unique = if index.unique { "UNIQUE " } else { "" };
    let collated =
        |collation: &str| index.columns.iter().any(|column| column.collation.eq_ignore_ascii_case(collation));
    let mut changes = Vec::new();
    if let Some(odd) = index.columns.iter().find(|column| !known_collation(&column.collation)) {
        changes.push(format!("compares by characters, without COLLATE {}", odd.collation));
    }
    if index.partial || index.columns.iter().any(|column| column.name.is_none()) {
        let (list, condition, found) = expressions(relation, index, names)?;
        changes.extend(found);
        let text = format!("CREATE {unique}INDEX {name} ON {on} ({list}){condition}");
        return Ok(Translation { text, changes });
    }
    let no_case = collated("NOCASE");
    let column = |column: &super::schema::IndexColumn| {
        let shown = names.shown(column.name.as_deref().unwrap_or_default());
        let order = if column.descending { " DESC" } else { "" };
        match column.collation.eq_ignore_ascii_case("NOCASE") {
            true => format!("lower({shown}){order}"),
            false => format!("{shown}{order}"),
        }
    };
    let columns: Vec<String> = index.columns.iter().map(column).collect();
    if no_case {
        changes.push("COLLATE NOCASE: it is an index of lower(..) here, which queries have to ask for".to_string());
    }
    let columns = columns.join(", ");
    let text = match (index.of_constraint, no_case) {
        (true, false) => format!("ALTER TABLE {on} ADD UNIQUE ({columns})"),
        (true, true) => format!("CREATE UNIQUE INDEX ON {on} ({columns})"),
        (false, _) => format!("CREATE {unique}INDEX {name} ON {on} ({columns})"),
    };
    Ok(Translation { text, changes })
}

/// The list of an index with expressions or a condition, the condition, and what differs.
fn expressions(relation: &Relation, index: &Index, names: &Names) -> Result<(String, String, Vec<String>), String> {
    let text = index.text()?;
    let mut translator = Translator::of_table(names, relation);
    let mut list = Vec::with_capacity(text.columns.len());
    for column in &text.columns {
        let value = translator.expression(&column.expr)?;
        let order = if column.order == Some(SortOrder::Desc) { " DESC" } else { "" };
        list.push(format!("({}){order}", value.plain().text));
    }
    let condition = text.condition.map(|condition| translator.expression(&condition)?.condition()).transpose()?;
    let condition = condition.map(|condition| format!(" WHERE {}", condition.text)).unwrap_or_default();
    Ok((list.join(", "), condition, translator.changes()))
}

fn known_collation(name: &str) -> bool {
    ["", "BINARY", "NOCASE"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

pub fn foreign_key(table: &Table, key: &ForeignKey, source: &Source, names: &Names) -> String {
    let list = |columns: &[String]| columns.iter().map(|column| names.shown(column)).collect::<Vec<_>>().join(", ");
    let parent = source.tables.iter().find(|table| table.name.eq_ignore_ascii_case(&key.parent));
    let referenced = key.parent_columns.as_ref().or(parent.map(|parent| &parent.primary_key));
    let action = |event: &str, action: &str| match action {
        "NO ACTION" => String::new(),
        action => format!(" ON {event} {action}"),
    };
    format!(
        "ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ({}){}{}",
        names.shown(&table.name),
        list(&key.columns),
        names.shown(&key.parent),
        list(referenced.map_or(&[], Vec::as_slice)),
        action("UPDATE", &key.on_update),
        action("DELETE", &key.on_delete)
    )
}

/// The columns that are read, as SQLite names them.
pub fn selected(table: &Table) -> String {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    format!("SELECT {} FROM {}", columns.join(", "), quoted(&table.name))
}
