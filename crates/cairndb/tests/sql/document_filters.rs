//! Filters of documents, compared with the same questions in SQL's path language over generated documents, and the library's face.

use cairndb::internals::Equalities;
use cairndb::{Collection, Connection, Document};

use crate::common::{Random, connect, rows};

/// Some value, of few kinds and few of each, so that they meet.
fn value(random: &mut Random, depth: u32) -> String {
    match random.below(if depth > 2 { 7 } else { 9 }) {
        0 => "null".to_owned(),
        1 => ["true", "false"][random.below(2) as usize].to_owned(),
        2 => format!("{}", random.below(5)),
        3 => ["-1.50", "1.0", "2e0", "123456789012345678901234567890", "0.1"][random.below(5) as usize].to_owned(),
        4 | 5 => ["\"\"", "\"a\"", "\"b\"", "\"é\"", "\"it's\""][random.below(5) as usize].to_owned(),
        6 => "{}".to_owned(),
        7 => {
            let items: Vec<String> = (0..random.below(4)).map(|_| value(random, depth + 1)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => document(random, depth + 1),
    }
}

pub(crate) fn document(random: &mut Random, depth: u32) -> String {
    let mut fields = Vec::new();
    for name in ["a", "b", "c"] {
        if random.below(3) > 0 {
            fields.push(format!("\"{name}\": {}", value(random, depth)));
        }
    }
    format!("{{{}}}", fields.join(", "))
}

/// A path, as filters and as SQL's path language have it.
fn path(random: &mut Random) -> (String, String) {
    let steps: Vec<&str> = (0..=random.below(2)).map(|_| ["a", "b", "c", "0", "1"][random.below(5) as usize]).collect();
    let step = |step: &&str| match step.parse::<u32>() {
        Ok(at) => format!("[{at}]"),
        Err(_) => format!(".\"{step}\""),
    };
    (steps.join("."), steps.iter().map(step).collect::<String>())
}

/// A scalar that both can compare with.
fn scalar(random: &mut Random) -> String {
    loop {
        let value = value(random, 3);
        if value != "{}" {
            return value;
        }
    }
}

/// A condition and what it means, which no part of the filters' code has written.
fn condition(random: &mut Random, depth: u32) -> (String, String) {
    let asked = |path: &str, predicate: &str| {
        // `strict` looks into no array; what is missing is no error within `@?`, but nothing.
        format!("coalesce(doc @? '{}', false)", format!("strict ${path} ? ({predicate})").replace('\'', "''"))
    };
    match random.below(if depth > 2 { 6 } else { 10 }) {
        0 => {
            let ((name, sql), value) = (path(random), scalar(random));
            (format!("{{\"{name}\": {value}}}"), asked(&sql, &format!("@ == {value}")))
        }
        1 => {
            let ((name, sql), value) = (path(random), scalar(random));
            (format!("{{\"{name}\": {{\"$ne\": {value}}}}}"), format!("NOT {}", asked(&sql, &format!("@ == {value}"))))
        }
        2 | 3 => {
            let (name, sql) = path(random);
            let value = loop {
                let value = scalar(random);
                if value != "null" {
                    break value;
                }
            };
            let (word, operator) =
                [("$gt", ">"), ("$gte", ">="), ("$lt", "<"), ("$lte", "<=")][random.below(4) as usize];
            (format!("{{\"{name}\": {{\"{word}\": {value}}}}}"), asked(&sql, &format!("@ {operator} {value}")))
        }
        4 => {
            let (name, sql) = path(random);
            let is = random.below(2) == 0;
            let there = format!("coalesce(doc @? 'strict ${sql}', false)");
            (format!("{{\"{name}\": {{\"$exists\": {is}}}}}"), if is { there } else { format!("NOT {there}") })
        }
        5 => {
            let ((name, sql), (one, two)) = (path(random), (scalar(random), scalar(random)));
            match random.below(2) {
                0 => (
                    format!("{{\"{name}\": {{\"$in\": [{one}, {two}]}}}}"),
                    asked(&sql, &format!("@ == {one} || @ == {two}")),
                ),
                _ => (
                    format!("{{\"{name}\": {{\"$elemMatch\": {{\"$eq\": {one}}}}}}}"),
                    asked(&sql, &format!("@.type() == \"array\" && exists(@[*] ? (@ == {one}))")),
                ),
            }
        }
        kind => {
            let (one, first) = condition(random, depth + 1);
            let (two, second) = condition(random, depth + 1);
            match kind {
                6 => (format!("{{\"$and\": [{one}, {two}]}}"), format!("(({first}) AND ({second}))")),
                7 => (format!("{{\"$or\": [{one}, {two}]}}"), format!("(({first}) OR ({second}))")),
                8 => (format!("{{\"$nor\": [{one}, {two}]}}"), format!("NOT (({first}) OR ({second}))")),
                _ => (format!("{{\"$not\": {one}}}"), format!("NOT ({first})")),
            }
        }
    }
}

fn ids(found: Vec<Document>) -> Vec<String> {
    found.iter().map(Document::id_text).collect()
}

fn filled(conn: &Connection, documents: i64) -> Collection<'_> {
    conn.execute("CREATE TABLE notes (id bigint) WITH (collection = on)", ()).unwrap();
    let notes = conn.collection("notes").unwrap();
    let mut random = Random(36);
    for id in 0..documents {
        notes.put(id, document(&mut random, 0)).unwrap();
    }
    notes
}

#[test]
fn filters_find_what_the_path_language_finds() {
    let conn = connect("");
    let notes = filled(&conn, 300);
    let mut random = Random(7);
    let mut found = 0;
    for round in 0..600 {
        if round == 300 {
            // By indexes from here on.
            for path in ["a", "b", "a.b", "c.0"] {
                notes.create_index(path).unwrap();
            }
            notes.create_elements_index("a").unwrap();
            conn.execute("ANALYZE notes", ()).unwrap();
        }
        let (filter, meant) = condition(&mut random, 0);
        let wanted = rows(&conn, &format!("SELECT id FROM notes WHERE {meant} ORDER BY id"));
        let question = notes.find(&filter);
        let given = question.all().unwrap_or_else(|error| panic!("{filter}: {error:?}"));
        found += given.len();
        assert_eq!(question.count().unwrap(), wanted.len() as u64, "{filter}");
        assert_eq!(ids(given), wanted, "{filter}\n{meant}\n{:?}", question.sql());
    }
    assert!(found > 10_000, "{found}");
}

/// Who tells many of one document looks them up by its values: those whom it finds are those whose filters find it.
#[test]
fn filters_of_equal_values_are_met_by_what_they_find() {
    let conn = connect("");
    let notes = filled(&conn, 100);
    let documents = notes.find("{}").all().unwrap();
    let mut random = Random(11);
    let mut met = 0;
    for _ in 0..200 {
        let both = [(); 2].map(|()| format!("\"{}\": {}", path(&mut random).0, value(&mut random, 2)));
        let filter = match random.below(3) {
            0 => format!("{{{}}}", both[0]),
            1 => format!("{{\"$and\": [{{{}}}, {{{}}}]}}", both[0], both[1]),
            _ => format!("{{\"$id\": \"{}\"}}", documents[random.below(100) as usize].id_text()),
        };
        let wanted = Equalities::of(notes.info(), &filter).unwrap().unwrap_or_else(|| panic!("{filter}"));
        let (at, value) = wanted.first();
        let found = ids(notes.find(&filter).all().unwrap());
        for document in &documents {
            let is_met = wanted.are_met(&document.id, &document.doc).unwrap();
            assert_eq!(is_met, found.contains(&document.id_text()), "{filter} of {}", document.doc);
            let looked_up = at.value(&document.id, &document.doc).unwrap();
            assert!(!is_met || looked_up.as_ref() == Some(value), "{filter} of {}", document.doc);
            met += u32::from(is_met);
        }
    }
    assert!(met > 100, "{met}");
    for more in [
        "{}",
        r#"{"a": {"$gt": 1}}"#,
        r#"{"a": 1, "b": {"$exists": true}}"#,
        r#"{"$or": [{"a": 1}]}"#,
        r#"{"$version": 1}"#,
    ] {
        assert!(Equalities::of(notes.info(), more).unwrap().is_none(), "{more}");
    }
}

#[test]
fn an_index_on_a_path_answers_filters_and_orders() {
    let conn = connect("");
    let notes = conn.create_collection("notes").unwrap();
    notes.create_index("n").unwrap();
    notes.create_index("deep.er").unwrap();
    notes.create_elements_index("tags").unwrap();
    let docs = (0..2000).map(|n| format!("{{\"n\": {n}, \"deep\": {{\"er\": {n}}}, \"tags\": [\"t{n}\", \"all\"]}}"));
    assert_eq!(notes.insert_many(docs).unwrap(), 2000);
    conn.execute("ANALYZE notes", ()).unwrap();
    for (filter, sort, index) in [
        (r#"{"n": 7}"#, None, "notes_expr_idx"),
        (r#"{"n": {"$gte": 5, "$lt": 9}}"#, None, "notes_expr_idx"),
        (r#"{"n": {"$in": [5, 9]}}"#, None, "notes_expr_idx"),
        (r#"{"deep.er": {"$gt": 1995, "$lt": 1999}}"#, None, "notes_expr_idx1"),
        (r#"{"tags": {"$elemMatch": {"$eq": "t7"}}}"#, None, "notes_expr_idx2"),
        ("{}", Some("n"), "notes_expr_idx"),
    ] {
        let mut find = notes.find(filter);
        if let Some(path) = sort {
            find = find.sort([path]).limit(3);
        }
        let (sql, params) = find.sql().unwrap();
        let plan = conn.query_map(&format!("EXPLAIN {sql}"), params, |row| row.get::<String>(0)).unwrap();
        let plan = plan.collect::<cairndb::Result<Vec<_>>>().unwrap().join("\n");
        assert!(
            plan.contains(&format!("{index} ")) || plan.ends_with(index) || plan.contains(&format!("{index}\n")),
            "{sql}\n{plan}"
        );
    }
}

#[test]
fn pages_are_the_whole_in_parts_whatever_comes_between() {
    let conn = connect("");
    let notes = filled(&conn, 200);
    for sort in
        [vec![], vec!["a"], vec!["-a"], vec!["b", "-a"], vec!["-a.b", "-c"], vec!["-$id"], vec!["a", "-$version"]]
    {
        let whole = ids(notes.find("{}").sort(sort.clone()).all().unwrap());
        let (mut parts, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut find = notes.find("{}").sort(sort.clone()).limit(17).select(["c"]);
            if let Some(cursor) = cursor {
                find = find.after(cursor);
            }
            let page = find.page().unwrap();
            parts.extend(ids(page.documents));
            // The last of the page goes; the cursor stands where it stood.
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(parts, whole, "{sort:?}");
    }
    let page = notes.find("{}").sort(["a"]).limit(5).page().unwrap();
    let last = page.documents.last().unwrap().id.clone();
    assert!(notes.delete(&last).unwrap());
    let rest = notes.find("{}").sort(["a"]).after(page.next.clone().unwrap()).all().unwrap();
    assert_eq!(rest.len(), 195);
    for cursor in ["", "1", "[]", "[\"x\"]", "[[], \"no number\"]", "[[1, 2]]"] {
        assert_eq!(notes.find("{}").sort(["a"]).after(cursor).all().unwrap_err().sqlstate().0, "22023", "{cursor}");
    }
    assert!(notes.find("{}").limit(0).page().is_err());
}

#[test]
fn ids_of_each_kind_are_found_by_their_one_form() {
    let conn = connect(
        "CREATE TABLE texts () WITH (collection = on); CREATE TABLE uuids (id uuid) WITH (collection = on);
         CREATE TABLE numbers (id bigint) WITH (collection = on)",
    );
    let [texts, uuids, numbers] = ["texts", "public.uuids", "numbers"].map(|name| conn.collection(name).unwrap());
    let uuid = "0b9a2d3e-0000-4000-8000-0123456789ab";
    for id in ["a/../b", "%2F", "", "é", "A"] {
        texts.put(id, "{}").unwrap();
        assert_eq!(texts.get(id).unwrap().unwrap().id_text(), id);
    }
    uuids.put(uuid, "{}").unwrap();
    numbers.put(7, "{}").unwrap();
    let count = |of: &Collection<'_>, filter: &str| of.find(filter).count().unwrap();
    assert_eq!(count(&texts, r#"{"$id": {"$in": ["A", "a", ""]}}"#), 2);
    assert_eq!(count(&uuids, &format!("{{\"$id\": \"{uuid}\"}}")), 1);
    assert_eq!(count(&uuids, &format!("{{\"$id\": \"{}\"}}", uuid.to_uppercase())), 0);
    assert_eq!(count(&numbers, r#"{"$id": 7}"#), 1);
    assert_eq!(count(&numbers, r#"{"$id": "7"}"#), 1);
    assert_eq!(count(&numbers, r#"{"$id": "07"}"#), 0);
    assert_eq!(count(&numbers, r#"{"$id": {"$gte": 7}, "$version": 1}"#), 1);
    assert_eq!(numbers.insert("{}").unwrap().version, 2);
    conn.execute("CREATE TABLE plain (id text PRIMARY KEY)", ()).unwrap();
    assert_eq!(conn.collection("plain").err().unwrap().sqlstate().0, "42809");
    assert_eq!(conn.collection("none").err().unwrap().sqlstate().0, "42P01");
}

#[test]
fn changes_by_id_are_point_statements_and_take_part_in_transactions() {
    let conn = connect("");
    let notes = conn.create_collection("notes").unwrap();
    let tx = conn.begin().unwrap();
    let first = notes.put("a", r#"{"n": 1}"#).unwrap();
    assert_eq!(notes.update_if("a", r#"{"n": 2}"#, first).unwrap(), Some(first + 1));
    assert_eq!(notes.patch_if("a", r#"[{"op": "remove", "path": "/n"}]"#, first).unwrap(), None);
    tx.rollback().unwrap();
    assert!(notes.get("a").unwrap().is_none());
    assert_eq!(notes.update("a", "{}").unwrap(), None);
    assert_eq!(notes.replace("a", "{}").unwrap(), None);
    let version = notes.put("a", "{}").unwrap();
    assert!(version > first + 1);
    assert_eq!((notes.delete_if("a", version - 1).unwrap(), notes.delete_if("a", version).unwrap()), (false, true));
    for sql in [
        "SELECT id, version, doc FROM notes WHERE id = $1",
        "INSERT INTO notes (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc RETURNING id, version",
        "UPDATE notes SET doc = $2 WHERE id = $1 AND version = $3 RETURNING version",
        "DELETE FROM notes WHERE id = $1 AND version = $2",
    ] {
        assert!(conn.prepare(sql).unwrap().is_point(), "{sql}");
    }
    assert_eq!(notes.insert("{").unwrap_err().sqlstate().0, "22P02");
    assert_eq!(
        notes
            .insert("123456789012345678901234567890.5")
            .map(|written| notes.get(&written.id).unwrap().unwrap().doc.to_string())
            .unwrap(),
        "123456789012345678901234567890.5"
    );
}

#[test]
fn patches_of_many_writers_are_all_in_the_document() {
    let db = cairndb::Database::open_in_memory().unwrap();
    let conn = db.connect().unwrap();
    conn.create_collection("notes").unwrap().put("a", "{}").unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let db = &db;
            scope.spawn(move || {
                let conn = db.connect().unwrap();
                let notes = conn.collection("notes").unwrap();
                for number in 0..25 {
                    notes.update("a", format!("{{\"{writer}-{number}\": true}}")).unwrap().unwrap();
                }
            });
        }
    });
    assert_eq!(rows(&conn, "SELECT count(*) FROM notes, jsonb_object_keys(doc)"), ["100"]);
    // Who was slower drew a number that nothing has.
    assert_eq!(rows(&conn, "SELECT version >= 101 FROM notes"), ["t"]);
}
