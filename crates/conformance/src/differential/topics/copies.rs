//! COPY to and from the client, as text and CSV, with options and with data that is not as it should be.

use super::super::case::{Step, Via};
use super::super::change::Changes;
use super::super::schema::{ColumnSpec, TableSpec};
use super::super::{Kind, Random};
use super::{Block, change};

/// How one COPY writes.
struct Form {
    csv: bool,
    delimiter: char,
    quote: char,
    escape: char,
    null: &'static str,
    header: bool,
    options: String,
}

fn form(b: &mut Block<'_>, columns: &[&str], into: bool) -> Form {
    let csv = b.random.percent(50);
    let mut form = Form {
        csv,
        delimiter: if csv { ',' } else { '\t' },
        quote: '"',
        escape: '"',
        null: if csv { "" } else { "\\N" },
        header: false,
        options: String::new(),
    };
    let mut options = vec![format!("FORMAT {}", if csv { "csv" } else { "text" })];
    if b.random.percent(25) {
        form.delimiter = *b.random.pick(&['|', ';', ' ', '~']);
        options.push(format!("DELIMITER '{}'", form.delimiter));
    }
    if b.random.percent(25) {
        form.null = *b.random.pick(&["nil", "", "\\N", "-"]);
        options.push(format!("NULL '{}'", form.null));
    }
    if b.random.percent(30) {
        form.header = true;
        options.push((*b.random.pick(&["HEADER", "HEADER true"])).into());
    }
    if csv && b.random.percent(20) {
        form.quote = '\'';
        form.escape = '\'';
        options.push("QUOTE ''''".into());
    }
    if csv && b.random.percent(20) {
        form.escape = '\\';
        options.push("ESCAPE '\\'".into());
    }
    let column = *b.random.pick(columns);
    if csv && b.random.percent(20) {
        options.push(match (into, b.random.below(2)) {
            (false, 0) => "FORCE_QUOTE *".into(),
            (false, _) => format!("FORCE_QUOTE ({column})"),
            (true, 0) => format!("FORCE_NULL ({column})"),
            (true, _) => format!("FORCE_NOT_NULL ({column})"),
        });
    }
    form.options = format!("({})", options.join(", "));
    form
}

/// What a table or a query says.
pub(super) fn out(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let table = b.table();
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let form = form(b, &names, false);
    let source = match b.random.below(4) {
        0 => table.name.clone(),
        1 => format!("{} ({})", table.name, names.first()?),
        2 => format!("(SELECT * FROM {} WHERE k > {})", table.name, b.random.between(-5, 10)),
        _ => format!("(SELECT k, k IS NULL AS n, NULL AS o, '' AS e, E'a\\\\b\\tc\\n\"d\"' AS t FROM {})", table.name),
    };
    let sql = format!("COPY {source} TO STDOUT {}", form.options);
    Some(vec![Step { sql, changes: false, strict: true, unordered: true, via: Via::CopyOut }])
}

/// Rows for a table, now and then spoiled; and what the table has then.
pub(super) fn into(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let table = b.table();
    let columns: Vec<&ColumnSpec> = table.columns.iter().filter(|column| !column.generated).collect();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let form = form(b, &names, true);
    let condition = if b.random.percent(15) { " WHERE k > 3" } else { "" };
    let mut text = String::new();
    let header_shown = form.header;
    if header_shown {
        text += &names.join(&form.delimiter.to_string());
        text += "\n";
    }
    for _ in 0..1 + b.random.below(4) {
        let values: Vec<String> = columns.iter().map(|column| field(b.random, &form, column, &table)).collect();
        text += &values.join(&form.delimiter.to_string());
        text += "\n";
    }
    if b.random.percent(35) {
        // A quote in a header reaches beyond its line, and nothing looks at that.
        let header = if form.header { text.find('\n').map_or(0, |end| end + 1) } else { 0 };
        let rows = text.split_off(header);
        text += &spoiled(b.random, rows);
    }
    let sql = format!("COPY {} ({}) FROM STDIN {}{condition}", table.name, names.join(", "), form.options);
    let step = Step { sql, changes: true, strict: true, unordered: true, via: Via::CopyIn(text.into_bytes()) };
    let mut steps = vec![step, Changes::contents(&table)];
    if b.random.percent(30) {
        steps.insert(0, change("BEGIN"));
        steps.push(change(*b.random.pick(&["ROLLBACK", "COMMIT"])));
    }
    Some(steps)
}

/// A row's value as the format writes it.
fn field(random: &mut Random, form: &Form, column: &ColumnSpec, table: &TableSpec) -> String {
    if column.nullable && random.percent(20) || column.name == "p" {
        return form.null.into();
    }
    if column.name == "k" && table.has_key {
        return random.between(-9, 55).to_string();
    }
    let value = value(random, column.kind);
    encoded(random, form, value)
}

fn value(random: &mut Random, kind: Kind) -> String {
    let choices: &[&str] = match kind {
        Kind::Boolean => &["t", "f", "true", "off", "1", "yes", " no "],
        Kind::SmallInt | Kind::Integer | Kind::BigInt | Kind::Amount => {
            &["0", "7", " 12 ", "-3", "+4", "x", "99999999999999999999"]
        }
        Kind::Real | Kind::Double => &["1.5", "-0", "NaN", "1e3", "Infinity", ".5"],
        Kind::Numeric => &["1.5", "-2.125", "12", "1e2", "NaN"],
        Kind::Text | Kind::Varchar => {
            &["a", "", "a\tb", "it's", "q\"q", "a,b", "a|b;c~d e", "\\", "\\N", "l1\nl2", "\\.", "\u{e9}", "nil", "-"]
        }
        Kind::Char => &["a", "ab   ", "abcde", "abcdef"],
        Kind::Bytea => &["\\x00ff", "abc", "\\\\", "\\x0"],
        Kind::Date => &["2024-02-29", "2023-02-29", "infinity", "Jan 8, 1999", "epoch"],
        Kind::Time => &["12:30", "24:00", "1:2:3.4567891", "allballs"],
        Kind::Timestamp | Kind::TimestampTz => &["2024-02-29 12:30", "-infinity", "2021-01-01T00:00:00+02", "epoch"],
        Kind::Interval => &["1 day", "-04:05:06", "1 year 2 mons", "P1D"],
        Kind::Uuid => &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{A0EEBC999C0B4EF8BB6D6BB9BD380A11}", "x"],
        Kind::Integers => &["{}", "{1,2}", "{NULL,3}", "[2:3]={1,2}", "{1", "{{1,2},{3,4}}"],
        Kind::Jsonb => &["{\"a\": 1}", "[1, \"x\\\"y\"]", "null", "{\"a\":", "\"\\u00e9\\n\""],
        Kind::Mood => &["sad", "so so", "happy", "glum", "OK"],
        Kind::Pair => &["(1,a)", "(,)", "(2,\"x\"\"y\")", "(3)", "(\"4\",\"a,b\")", "(5,\\\\)"],
        Kind::Pairs => &["{}", "{\"(1,a)\",NULL}", "{\"(,\\\"x y\\\")\"}"],
        Kind::Moods => &["{}", "{ok,\"so so\"}", "{glum}"],
        Kind::Texts => &["{}", "{a,\"b c\",NULL}", "{\"\\\"\",\"\\\\\"}", "{a,,b}"],
    };
    (*random.pick(choices)).into()
}

fn encoded(random: &mut Random, form: &Form, value: String) -> String {
    if !form.csv {
        let mut text = String::new();
        for c in value.chars() {
            match c {
                '\\' => text += "\\\\",
                '\n' => text += "\\n",
                '\t' => text += "\\t",
                '\r' => text += "\\r",
                c if c == form.delimiter => text.extend(['\\', c]),
                c if random.percent(2) && c.is_ascii() => text += &format!("\\x{:02x}", c as u32),
                c if random.percent(1) && c.is_ascii() => text += &format!("\\{:03o}", c as u32),
                c => text.push(c),
            }
        }
        return text;
    }
    let special = |c: char| c == form.quote || c == form.delimiter || c == form.escape || c == '\n' || c == '\r';
    let needs = value.chars().any(special) || value == form.null || value == "\\.";
    if !needs && random.percent(75) {
        return value;
    }
    let mut text = String::from(form.quote);
    for c in value.chars() {
        if c == form.quote || c == form.escape {
            text.push(form.escape);
        }
        text.push(c);
    }
    text.push(form.quote);
    text
}

/// Data that is not what it should be.
fn spoiled(random: &mut Random, mut text: String) -> String {
    let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
    let place = *random.pick(&places);
    match random.below(9) {
        0 => text.truncate(place),
        1 => text.insert(place, '"'),
        2 => text.insert(place, '\\'),
        3 => text.insert_str(place, "\\x"),
        4 => text += "\\.\n",
        5 => text.insert(place, '\n'),
        6 => text.insert(place, '\t'),
        7 => text = text.replace('\n', "\r\n"),
        _ => text.insert(place, '\r'),
    }
    text
}
