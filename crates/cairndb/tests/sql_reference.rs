//! `docs/sql.md` says what there is, and its examples run.
//!
//! `UPDATE_DOCS=1 cargo test -p cairndb --test sql_reference` writes the page anew: read the difference before keeping it.

use std::collections::BTreeMap;
use std::fmt::Write;

use cairndb::reference::{
    Answer, DIFFERENCES, Routine, RoutineKind, STATEMENTS, UNSUPPORTED, WITHOUT_EFFECT, extensions, routines, types,
};
use cairndb::{Connection, Database, Result};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sql.md");

#[test]
fn the_page_is_what_there_is() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PATH, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(PATH).expect("the page can be read");
    let differs = written.lines().zip(page.lines()).find(|(old, new)| old != new);
    assert_eq!(differs, None, "docs/sql.md is not what there is now: see the head of this file");
    assert_eq!(written, page);
}

#[test]
fn every_statement_of_the_page_runs() -> Result<()> {
    let connection = Database::open_in_memory()?.connect()?;
    for statement in STATEMENTS {
        let done = match statement.name {
            "COPY" => connection.copy_out(statement.example, Vec::new()).map(drop),
            // Its rows do not end.
            "SUBSCRIBE" => connection.query(statement.example, ()).and_then(|mut rows| rows.next().map(drop)),
            _ => connection.execute_script(statement.example).map(drop),
        };
        done.unwrap_or_else(|error| panic!("{}: {error}", statement.name));
    }
    Ok(())
}

fn with_table() -> Result<Connection> {
    let connection = Database::open_in_memory()?.connect()?;
    connection.execute("CREATE TABLE t (a integer PRIMARY KEY, b text)", ())?;
    Ok(connection)
}

/// The first value of the last of these statements, as text.
fn first_value(connection: &Connection, script: &str) -> Result<Option<String>> {
    let (before, last) = script.rsplit_once("; ").unwrap_or(("", script));
    connection.execute_script(before)?;
    let mut rows = connection.query(last, ())?;
    let first = rows.next()?.and_then(|row| row.values().first().map(ToString::to_string));
    while rows.next()?.is_some() {}
    Ok(first)
}

#[test]
fn what_is_not_supported_is_refused() -> Result<()> {
    for refused in UNSUPPORTED {
        let error = with_table()?.execute_script(refused.example).map(drop).expect_err(refused.example);
        assert_eq!(error.sqlstate().0, refused.state, "{}: {error}", refused.example);
        let is_told = error.hint().is_some() || refused.instead == "not planned" || refused.state != "0A000";
        assert!(is_told, "{}: {error}, and no hint says what to do instead", refused.example);
    }
    Ok(())
}

#[test]
fn differences_are_as_the_page_says() -> Result<()> {
    for difference in DIFFERENCES {
        let found = first_value(&with_table()?, difference.example);
        match (difference.here, found) {
            (Answer::Value(expected), Ok(found)) => assert_eq!(found.as_deref(), Some(expected), "{difference:?}"),
            (Answer::Done, Ok(_)) => {}
            (Answer::Error(state), Err(error)) => assert_eq!(error.sqlstate().0, state, "{difference:?}: {error}"),
            (_, found) => panic!("{difference:?}: {found:?}"),
        }
    }
    Ok(())
}

#[test]
fn what_has_no_effect_is_accepted() -> Result<()> {
    for accepted in WITHOUT_EFFECT {
        with_table()?.execute_script(accepted.example).unwrap_or_else(|error| panic!("{}: {error}", accepted.example));
    }
    Ok(())
}

fn page() -> String {
    let mut out = String::new();
    write_page(&mut out).expect("a string can be written to");
    out
}

fn write_page(out: &mut String) -> std::fmt::Result {
    out.push_str(
        "# SQL\n\n\
         CairnDB speaks PostgreSQL's SQL: what a statement, type or function means stands in PostgreSQL's documentation \
         (version 15). This page says what there is. It is made from the engine's own lists \
         (`UPDATE_DOCS=1 cargo test -p cairndb --test sql_reference`), every example on it runs in that test, and \
         what it says of PostgreSQL is asked of a server (`cargo test -p cairn-conformance --test differences`).\n\n\
         ## Statements\n\n\
         `[]` may be left out, `|` is a choice, `...` may be repeated.\n",
    );
    for statement in STATEMENTS {
        let example: Vec<&str> = statement.example.lines().map(str::trim).collect();
        write!(out, "\n### {}\n\n```text\n{}\n```\n\n", statement.name, statement.syntax)?;
        write!(out, "```sql\n{};\n```\n", example.join("\n").replace("; ", ";\n"))?;
    }
    out.push_str("\n## Types\n\nEach has an array type too (`integer[]`).\n\n| type | other names |\n|---|---|\n");
    for (name, others) in types() {
        writeln!(out, "| `{name}` | {} |", code(others.iter()))?;
    }
    out.push_str("| enums, composite types, domains | `CREATE TYPE`, `CREATE DOMAIN` |\n");
    out.push_str(
        "\n## Extensions\n\n\
         What each has is built in: CREATE EXTENSION says in which schema it is found besides, and makes the type where it brings one. \
         Functions and operators are found without their schema whatever the search path is.\n\n\
         | name | what | version | type | functions |\n|---|---|---|---|---|\n",
    );
    for of in extensions() {
        let functions = code(of.functions.iter().chain(of.added_to));
        let of_type = of.type_name.map_or_else(String::new, |name| format!("`{name}`"));
        writeln!(out, "| `{}` | {} | {} | {of_type} | {functions} |", of.name, of.comment, of.version)?;
    }
    let (sets, all): (Vec<Routine>, Vec<Routine>) =
        routines().into_iter().partition(|routine| routine.returns.starts_with("setof "));
    write_operators(out, &all)?;
    for (kind, title) in [
        (RoutineKind::Function, "Functions"),
        (RoutineKind::Aggregate, "Aggregates"),
        (RoutineKind::Window, "Window functions"),
    ] {
        write!(out, "\n## {title}\n\n| name | arguments and answer |\n|---|---|\n")?;
        write_functions(out, all.iter().filter(|routine| routine.kind == kind))?;
    }
    out.push_str(
        "\n## Functions that return rows\n\n\
         They stand in FROM, where `unnest` takes several arrays side by side, and in select lists; in FROM stands any other function, too: its answer is one row.\n\n\
         | name | arguments and answer |\n|---|---|\n",
    );
    write_functions(out, sets.iter())?;
    out.push_str(
        "\n## What differs from PostgreSQL\n\n| what | example | here | PostgreSQL 15 | why |\n|---|---|---|---|---|\n",
    );
    for difference in DIFFERENCES {
        let [here, there] = [difference.here, difference.postgresql].map(answer);
        let example = escaped(difference.example);
        writeln!(out, "| {} | `{example}` | {here} | {there} | {} |", difference.what, difference.why)?;
    }
    out.push_str("\n## What is accepted without effect\n\n| what | example | why |\n|---|---|---|\n");
    for accepted in WITHOUT_EFFECT {
        writeln!(out, "| {} | `{}` | {} |", accepted.what, escaped(accepted.example), accepted.why)?;
    }
    out.push_str("\n## What is not supported\n\n| what | example | SQLSTATE | instead |\n|---|---|---|---|\n");
    for refused in UNSUPPORTED {
        let (example, state) = (escaped(refused.example), refused.state);
        writeln!(out, "| {} | `{example}` | {state} | {} |", refused.what, refused.instead)?;
    }
    Ok(())
}

fn write_functions<'r>(out: &mut String, all: impl Iterator<Item = &'r Routine>) -> std::fmt::Result {
    let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for routine in all {
        by_name.entry(&routine.name).or_default().push(signature(routine));
    }
    by_name
        .iter()
        .try_for_each(|(name, signatures)| writeln!(out, "| `{}` | {} |", escaped(name), signatures.join(", ")))
}

fn write_operators(out: &mut String, all: &[Routine]) -> std::fmt::Result {
    out.push_str("\n## Operators\n\n| operator | operands and answer |\n|---|---|\n");
    let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for operator in all.iter().filter(|routine| routine.kind == RoutineKind::Operator && routine.arguments.len() <= 2) {
        let operands = operator.arguments.join(&format!(" {} ", operator.name));
        let operands = if operator.arguments.len() == 1 { format!("{}{operands}", operator.name) } else { operands };
        by_name.entry(&operator.name).or_default().push(format!("`{}`: {}", escaped(&operands), operator.returns));
    }
    by_name.iter().try_for_each(|(name, operands)| writeln!(out, "| `{}` | {} |", escaped(name), operands.join(", ")))
}

fn signature(routine: &Routine) -> String {
    let more = if routine.variadic { ", ..." } else { "" };
    format!("`({}{more})`: {}", routine.arguments.join(", "), routine.returns)
}

fn answer(answer: Answer) -> String {
    match answer {
        Answer::Value(value) => format!("`{value}`"),
        Answer::Done => "runs".to_owned(),
        Answer::Error(state) => format!("error {state}"),
    }
}

fn code<'n>(names: impl Iterator<Item = &'n &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// In a table's cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
