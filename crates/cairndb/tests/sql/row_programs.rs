//! One meaning of a row's change: random statements on random tables run as point statements, on the general path, and
//! many rows at once against row by row, and must give the same rows, errors and trees.

use crate::common::Random;
use cairndb::{Connection, Database, Result, ToValue, Value};

/// Seeds tried, and statements of each.
const SEEDS: u64 = 60;
const STEPS: u32 = 60;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Int,
    Big,
    Text,
    Varchar,
    Char,
    Numeric,
    Date,
    Bool,
    Double,
}

const KINDS: [Kind; 9] =
    [Kind::Int, Kind::Big, Kind::Text, Kind::Varchar, Kind::Char, Kind::Numeric, Kind::Date, Kind::Bool, Kind::Double];

impl Kind {
    fn sql_type(self, random: &mut Random) -> String {
        match self {
            Kind::Int => "int".into(),
            Kind::Big => "bigint".into(),
            Kind::Text => "text".into(),
            Kind::Varchar => format!("varchar({})", 2 + random.below(4)),
            Kind::Char => format!("char({})", 1 + random.below(4)),
            Kind::Numeric => format!("numeric({},{})", 3 + random.below(3), random.below(3)),
            Kind::Date => "date".into(),
            Kind::Bool => "boolean".into(),
            Kind::Double => "double precision".into(),
        }
    }

    /// The text of a value; none is NULL.
    fn value(self, random: &mut Random) -> Option<String> {
        if random.one_in(8) {
            return None;
        }
        let is_odd = random.one_in(6);
        Some(match self {
            Kind::Varchar | Kind::Char if is_odd => random.pick(&["äöü", "abcdefg", "a      "]).to_string(),
            Kind::Numeric if is_odd => random.pick(&["99.999", "12345", "-2.345"]).to_string(),
            Kind::Int | Kind::Big => random.below(14).to_string(),
            Kind::Text => random.pick(&["", "a", "b", "ab", "äöü", "longer"]).to_string(),
            Kind::Varchar | Kind::Char => random.pick(&["", "a", "b", "c", "ä", "d ", "e  "]).to_string(),
            Kind::Numeric => random.pick(&["0", "1", "1.5", "1.25", "2.005", "3.1"]).to_string(),
            Kind::Date => format!("2024-02-{:02}", 1 + random.below(9)),
            Kind::Bool => random.pick(&["true", "false"]).to_string(),
            Kind::Double => random.pick(&["0.5", "1", "-2.25", "1e3"]).to_string(),
        })
    }

    /// An expression over the column.
    fn change(self, column: &str, random: &mut Random) -> String {
        let forms: &[&str] = match self {
            Kind::Int | Kind::Big => &["# + 1", "# - 1", "# * 2", "10 / nullif(#, 3)", "coalesce(#, 4)"],
            Kind::Text | Kind::Varchar | Kind::Char => &["# || 'x'", "upper(#)", "nullif(#, 'a')", "trim(#)"],
            Kind::Numeric => &["# * 2", "# + 0.125", "-#"],
            Kind::Date => &["# + 1", "nullif(#, '2024-02-03')"],
            Kind::Bool => &["NOT #", "#"],
            Kind::Double => &["# / 2", "1 / #"],
        };
        random.pick(forms).replace('#', column)
    }

    fn check(self, column: &str, random: &mut Random) -> String {
        let forms: &[&str] = match self {
            Kind::Int | Kind::Big => &["# < 11", "# <> 5", "# IS NOT NULL OR id > 2"],
            Kind::Text | Kind::Varchar | Kind::Char => &["length(#) < 5", "# <> 'b'", "# LIKE 'a%' OR id < 9"],
            Kind::Numeric => &["# < 90", "# >= -1 OR id < 5"],
            Kind::Date => &["# > '2024-02-01'"],
            Kind::Bool => &["# OR id < 10"],
            Kind::Double => &["# > -2"],
        };
        random.pick(forms).replace('#', column)
    }

    /// An expression over a column that an index may be of; none fails.
    fn key(self, column: &str) -> String {
        let form = match self {
            Kind::Int | Kind::Big => "(# % 5)",
            Kind::Text | Kind::Varchar | Kind::Char => "lower(#)",
            Kind::Numeric => "round(#)",
            Kind::Date => "(# > '2024-01-15')",
            Kind::Bool => "(NOT #)",
            Kind::Double => "(# > 1)",
        };
        form.replace('#', column)
    }
}

struct Column {
    name: String,
    kind: Kind,
}

struct Table {
    name: String,
    /// The first is `id`, which is unique.
    columns: Vec<Column>,
    /// Sets of columns that are unique, `id` first.
    unique: Vec<Vec<String>>,
    refers_to_itself: bool,
    /// Columns that are computed from others, with these.
    generated: Vec<(String, String)>,
}

/// A table with all that can keep a row from being written.
fn table(number: usize, before: &[Table], random: &mut Random) -> (Table, String) {
    let name = format!("t{number}");
    let mut columns = vec![Column { name: "id".into(), kind: Kind::Int }];
    let mut parts = vec![if random.one_in(4) { "id int UNIQUE" } else { "id int PRIMARY KEY" }.to_string()];
    let mut refers_to_itself = false;
    for at in 0..2 + random.below(6) {
        let (kind, column) = (*random.pick(&KINDS), format!("c{at}"));
        let mut part = format!("{column} {}", kind.sql_type(random));
        if random.one_in(3) {
            let default = kind.value(random).filter(|value| value.len() == 1);
            part += &default.map_or(String::new(), |value| format!(" DEFAULT '{value}'"));
        }
        part += if random.one_in(4) { " NOT NULL" } else { "" };
        if random.one_in(4) {
            part += &format!(" CHECK ({})", kind.check(&column, random));
        }
        if kind == Kind::Int && random.one_in(2) {
            let actions = ["", " ON DELETE CASCADE", " ON DELETE SET NULL ON UPDATE CASCADE", " ON UPDATE CASCADE"];
            let parent = if before.is_empty() || random.one_in(3) { &name } else { &random.pick(before).name };
            refers_to_itself |= *parent == name;
            part += &format!(" REFERENCES {parent} (id){}", random.pick(&actions));
        }
        parts.push(part);
        columns.push(Column { name: column, kind });
    }
    let mut unique = vec![vec!["id".to_string()]];
    let mut generated = Vec::new();
    for at in 0..random.below(3) {
        let (of, own) = (random.pick(&columns), format!("g{at}"));
        let value = of.kind.change(&of.name, random);
        // What is before or behind the others in the row is computed from them all the same.
        let place = 1 + random.below(parts.len());
        let mut part = format!("{own} {} GENERATED ALWAYS AS ({value}) STORED", of.kind.sql_type(random));
        part += if random.one_in(5) { " NOT NULL" } else { "" };
        if random.one_in(4) {
            part += &format!(" CHECK ({})", of.kind.check(&own, random));
        }
        if of.kind == Kind::Int && random.one_in(4) {
            let parent = if before.is_empty() || random.one_in(3) { &name } else { &random.pick(before).name };
            refers_to_itself |= *parent == name;
            part += &format!(" REFERENCES {parent} (id){}", random.pick(&["", " ON DELETE CASCADE"]));
        }
        if random.one_in(3) {
            part += " UNIQUE";
            unique.push(vec![own.clone()]);
        }
        // Of the first there may be an index; and what is only computed when it is read has to be there then.
        let never_fails = matches!(of.kind, Kind::Text | Kind::Date | Kind::Bool);
        let is_plain = ![" UNIQUE", " REFERENCES"].iter().any(|rule| part.contains(rule));
        if at > 0 && is_plain && never_fails {
            part = part.replace(" STORED", " VIRTUAL");
        }
        parts.insert(place, part);
        generated.push((own, of.name.clone()));
    }
    for _ in 0..random.below(3) {
        let mut of: Vec<String> = columns[1..].iter().map(|column| column.name.clone()).collect();
        let start = random.below(of.len());
        of = of.split_off(start);
        of.truncate(1 + random.below(2));
        let nulls = if random.one_in(3) { " NULLS NOT DISTINCT" } else { "" };
        parts.push(format!("UNIQUE{nulls} ({})", of.join(", ")));
        unique.push(of);
    }
    let mut script = format!("CREATE TABLE {name} ({});", parts.join(", "));
    if let Some((own, _)) = generated.first().filter(|_| random.one_in(2)) {
        script += &format!("CREATE INDEX ON {name} ({own}, id);");
    }
    if random.one_in(2) {
        let column = &random.pick(&columns).name;
        script += &format!("CREATE INDEX ON {name} ({column} DESC, id);");
    }
    if random.one_in(3) {
        let (column, other) = (random.pick(&columns), random.pick(&columns));
        let (key, filter) = (column.kind.key(&column.name), other.kind.check(&other.name, random));
        script += &match random.below(3) {
            0 => format!("CREATE INDEX ON {name} ({key} DESC, id);"),
            1 => format!("CREATE UNIQUE INDEX ON {name} ({key}, {}) WHERE {filter};", other.name),
            _ => format!("CREATE INDEX ON {name} ({}) WHERE {filter};", column.name),
        };
    }
    (Table { name, columns, unique, refers_to_itself, generated }, script)
}

/// What a statement said: rows of RETURNING, or the number of rows, or its error.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Rows(Vec<Vec<Value>>),
    Affected(u64),
    Error(String, String),
}

impl Answer {
    fn sqlstate(&self) -> &str {
        if let Answer::Error(state, _) = self { state } else { "" }
    }
}

fn run(conn: &Connection, sql: &str, values: &[Value]) -> Answer {
    let params: Vec<&dyn ToValue> = values.iter().map(|value| value as &dyn ToValue).collect();
    let answer = || -> Result<Answer> {
        let mut statement = conn.prepare(sql)?;
        if statement.columns().is_empty() {
            return Ok(Answer::Affected(statement.execute(params.as_slice())?));
        }
        let (mut rows, mut all) = (statement.query(params.as_slice())?, vec![]);
        while let Some(row) = rows.next()? {
            all.push(row.values().to_vec());
        }
        Ok(Answer::Rows(all))
    };
    answer().unwrap_or_else(|error| Answer::Error(error.sqlstate().0.to_string(), format!("{error:?}")))
}

/// A statement with its parameters.
type Call = (String, Vec<Value>);

struct Parameters(Vec<Value>);

impl Parameters {
    fn next(&mut self, value: Option<String>) -> String {
        self.0.push(value.map_or(Value::Null, Value::text));
        format!("${}", self.0.len())
    }
}

fn returning(random: &mut Random) -> &'static str {
    const FORMS: [&str; 4] = ["", "", " RETURNING *", " RETURNING id, id + 1"];
    FORMS[random.below(4)]
}

fn on_conflict(table: &Table, random: &mut Random) -> String {
    let target = random.pick(&table.unique).join(", ");
    let column = random.pick(&table.columns);
    let name = &column.name;
    match random.below(6) {
        0 => " ON CONFLICT DO NOTHING".into(),
        1 => format!(" ON CONFLICT ({target}) DO NOTHING"),
        2 => format!(" ON CONFLICT ({target}) DO UPDATE SET {name} = excluded.{name}"),
        3 => {
            let changed = column.kind.change(&format!("{}.{name}", table.name), random);
            format!(" ON CONFLICT ({target}) DO UPDATE SET {name} = {changed} WHERE {}.id <> 3", table.name)
        }
        _ => String::new(),
    }
}

/// Columns that an INSERT gives values for.
fn given<'t>(table: &'t Table, random: &mut Random) -> Vec<&'t Column> {
    table.columns.iter().enumerate().filter(|(at, _)| *at == 0 || !random.one_in(5)).map(|(_, column)| column).collect()
}

/// A statement of one row.
fn call(table: &Table, random: &mut Random) -> Call {
    let (mut parameters, name) = (Parameters(vec![]), &table.name);
    let id = |parameters: &mut Parameters, random: &mut Random| parameters.next(Some(random.below(14).to_string()));
    let sql = match random.below(5) {
        0..=1 => {
            let columns = given(table, random);
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let values: Vec<String> = columns.iter().map(|column| parameters.next(column.kind.value(random))).collect();
            let (names, values) = (names.join(", "), values.join(", "));
            let (conflict, returning) = (on_conflict(table, random), returning(random));
            format!("INSERT INTO {name} ({names}) VALUES ({values}){conflict}{returning}")
        }
        2..=3 => {
            let column = random.pick(&table.columns);
            let value = match random.one_in(2) {
                true => parameters.next(column.kind.value(random)),
                false => column.kind.change(&column.name, random),
            };
            let id = id(&mut parameters, random);
            format!("UPDATE {name} SET {} = {value} WHERE id = {id}{}", column.name, returning(random))
        }
        _ => format!("DELETE FROM {name} WHERE id = {}{}", id(&mut parameters, random), returning(random)),
    };
    (sql, parameters.0)
}

/// A statement of many rows, and what does the same one by one. Whether both come to the same errors: not where rows get in
/// each other's way only, or no more, when they come together.
fn batch(conn: &Connection, table: &Table, random: &mut Random) -> (String, Vec<Call>, bool) {
    let name = &table.name;
    match random.below(3) {
        0 => {
            let columns = given(table, random);
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let names = names.join(", ");
            let literal = |value: Option<String>| value.map_or("NULL".into(), |value| format!("'{value}'"));
            let row = |random: &mut Random| -> String {
                columns.iter().map(|column| literal(column.kind.value(random))).collect::<Vec<_>>().join(", ")
            };
            let rows: Vec<String> = (0..1 + random.below(14)).map(|_| row(random)).collect();
            let returning = returning(random);
            let conflict = if random.one_in(2) { " ON CONFLICT DO NOTHING" } else { "" };
            let behind = format!("{conflict}{returning}");
            let one = |row: &String| (format!("INSERT INTO {name} ({names}) VALUES ({row}){behind}"), vec![]);
            let alone = rows.iter().map(one).collect();
            let all = format!("INSERT INTO {name} ({names}) VALUES ({}){behind}", rows.join("), ("));
            (all, alone, true)
        }
        1 => {
            let column = random.pick(&table.columns);
            let (value, returning) = (column.kind.change(&column.name, random), returning(random));
            let sql = format!("UPDATE {name} SET {} = {value}", column.name);
            let condition = random.pick(&["id < 6", "id >= 4", "id % 2 = 0"]);
            let is_part = |unique: &String| {
                let is_from = |(own, of): &(String, String)| own == unique && *of == column.name;
                *unique == column.name || table.generated.iter().any(is_from)
            };
            let is_unique = table.unique.iter().flatten().any(is_part);
            let wanted = wanted(conn, table, condition).into_iter();
            let alone = wanted.map(|id| (format!("{sql} WHERE id = $1{returning}"), vec![id])).collect();
            (format!("{sql} WHERE {condition}{returning}"), alone, !is_unique)
        }
        _ => {
            let (condition, returning) = (random.pick(&["id < 3", "id >= 9", "id % 5 = 0"]), returning(random));
            let wanted = wanted(conn, table, condition).into_iter();
            let alone = wanted.map(|id| (format!("DELETE FROM {name} WHERE id = $1{returning}"), vec![id])).collect();
            // A row that goes with another is not there any more, or was in its way.
            (format!("DELETE FROM {name} WHERE {condition}{returning}"), alone, false)
        }
    }
}

/// The rows that a condition holds for, in the order in which a statement of many rows comes to them.
fn wanted(conn: &Connection, table: &Table, condition: &str) -> Vec<Value> {
    let Answer::Rows(rows) = run(conn, &format!("SELECT * FROM {} WHERE {condition}", table.name), &[]) else {
        panic!("{condition}")
    };
    rows.into_iter().map(|row| row[0].clone()).collect()
}

/// The answers of statements one after the other, as if they were one.
fn run_alone(conn: &Connection, calls: &[Call]) -> Answer {
    let (mut rows, mut affected, mut returns) = (vec![], 0, false);
    for (sql, values) in calls {
        match run(conn, sql, values) {
            Answer::Rows(some) => {
                returns = true;
                rows.extend(some);
            }
            Answer::Affected(some) => affected += some,
            error => return error,
        }
    }
    if returns { Answer::Rows(rows) } else { Answer::Affected(affected) }
}

fn dump(conn: &Connection, table: &Table) -> Vec<Vec<Value>> {
    let sql = format!("SELECT * FROM {} ORDER BY id, {}", table.name, table.columns[1].name);
    let Answer::Rows(mut rows) = run(conn, &sql, &[]) else { panic!("{sql}") };
    rows.sort_by_key(|row| format!("{row:?}"));
    rows
}

struct Trio {
    point: Connection,
    general: Connection,
    batch: Connection,
    tables: Vec<Table>,
    log: Vec<String>,
}

impl Trio {
    fn new(random: &mut Random) -> Trio {
        let (mut tables, mut script) = (vec![], String::new());
        for number in 0..1 + random.below(3) {
            let (made, sql) = table(number, &tables, random);
            tables.push(made);
            script += &sql;
        }
        let connect = |settings: &str| {
            let conn = Database::open_in_memory().unwrap().connect().unwrap();
            conn.execute_script(&script).unwrap_or_else(|error| panic!("{script}: {error:?}"));
            conn.execute_script(settings).unwrap();
            conn
        };
        let off = "SET enable_point_statements = off";
        Trio { point: connect(""), general: connect(off), batch: connect(off), tables, log: vec![script.clone()] }
    }

    fn all(&self, sql: &str) {
        for conn in [&self.point, &self.general, &self.batch] {
            conn.execute_script(sql).unwrap();
        }
    }

    /// A statement of one row, three times; how many of them were point statements, and whether it did something.
    fn single(&mut self, random: &mut Random) -> (bool, bool) {
        let (sql, values) = call(random.pick(&self.tables), random);
        self.log.push(format!("{sql} {values:?}"));
        let point = run(&self.point, &sql, &values);
        for conn in [&self.general, &self.batch] {
            assert_eq!(point, run(conn, &sql, &values), "{:#?}", self.log);
        }
        let is_point = self.point.prepare(&sql).is_ok_and(|statement| statement.is_point());
        (is_point, !matches!(point, Answer::Error(..)))
    }

    /// Rows together and one by one; whether they went well.
    fn many(&mut self, random: &mut Random) -> bool {
        let table = random.pick(&self.tables);
        let (sql, calls, same_errors) = batch(&self.batch, table, random);
        let is_insert = sql.starts_with("INSERT");
        let refers_to_itself = table.refers_to_itself;
        self.log.push(sql.clone());
        self.all("BEGIN");
        let together = run(&self.batch, &sql, &[]);
        let alone = [run_alone(&self.point, &calls), run_alone(&self.general, &calls)];
        assert_eq!(alone[0], alone[1], "{:#?}", self.log);
        let alone = &alone[0];
        let is_error = |answer: &Answer| matches!(answer, Answer::Error(..));
        match (is_error(&together), is_error(alone)) {
            (false, false) => {
                // Rows that go with others are not told when their turn comes.
                if is_insert || sql.starts_with("UPDATE") {
                    let empty = calls.is_empty();
                    assert!(empty || together == *alone, "{together:?} {alone:?} {:#?}", self.log);
                }
            }
            (true, true) => {
                // All values are computed before the first row is written, and references looked up behind the last.
                let is_elsewhere = |answer: &Answer| ["22003", "22012", "23503"].contains(&answer.sqlstate());
                if same_errors && !is_elsewhere(&together) && !is_elsewhere(alone) {
                    assert_eq!(together, *alone, "{:#?}", self.log);
                }
            }
            (together, _) => {
                let may_differ = !same_errors || refers_to_itself;
                assert!(may_differ, "together {together}, alone {alone:?}: {:#?}", self.log);
            }
        }
        let fine = !is_error(&together) && !is_error(alone);
        if fine {
            self.compare();
        }
        self.all(if fine { "COMMIT" } else { "ROLLBACK" });
        fine
    }

    fn compare(&self) {
        for table in &self.tables {
            let rows = dump(&self.point, table);
            assert_eq!(rows, dump(&self.general, table), "{}: {:#?}", table.name, self.log);
            assert_eq!(rows, dump(&self.batch, table), "{}: {:#?}", table.name, self.log);
        }
    }

    /// Every index is its table's, and no row violates anything.
    fn verify(&self) {
        for conn in [&self.point, &self.general, &self.batch] {
            conn.database().verify().unwrap_or_else(|error| panic!("{error:?} {:#?}", self.log));
            let violations = conn.database().verify_constraints().unwrap();
            assert!(violations.is_empty(), "{violations:?} {:#?}", self.log);
        }
    }
}

#[test]
fn one_row_and_many_change_alike_on_every_path() {
    let (mut points, mut fine, mut many) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut random = Random(seed * 7919 + 1);
        let mut trio = Trio::new(&mut random);
        for _ in 0..STEPS {
            if random.one_in(4) {
                many += u32::from(trio.many(&mut random));
                continue;
            }
            let (is_point, is_fine) = trio.single(&mut random);
            points += u32::from(is_point);
            fine += u32::from(is_fine);
        }
        trio.compare();
        trio.verify();
    }
    let steps = SEEDS as u32 * STEPS;
    assert!(points > steps / 4, "{points} of {steps} are point statements");
    assert!(fine > steps / 3, "{fine} of {steps} of one row succeed");
    assert!(many > steps / 20, "{many} of {steps} of many rows succeed");
}
