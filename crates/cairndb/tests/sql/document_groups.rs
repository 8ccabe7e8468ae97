//! Groups of documents, compared with the same questions in SQL over generated documents, and documents that others name; both under rules.

use cairndb::{Aggregation, Collection, Connection, Rules};

use crate::common::{Random, connect, rows};
use crate::document_filters::document;

const PATHS: [&str; 5] = ["a", "b", "c", "a.b", "b.0"];

/// What lies there, by SQL's path language.
fn lies(path: &str) -> String {
    let step = |step: &str| step.parse::<u32>().map_or_else(|_| format!(".\"{step}\""), |at| format!("[{at}]"));
    let steps: String = path.split('.').map(step).collect();
    format!("jsonb_path_query_first(doc, 'strict ${steps}', '{{}}', true)")
}

fn number(path: &str) -> String {
    let at = lies(path);
    format!("(CASE jsonb_typeof({at}) WHEN 'number' THEN {at}::text END)::numeric")
}

fn text(path: &str) -> String {
    let at = lies(path);
    format!("(CASE jsonb_typeof({at}) WHEN 'string' THEN jsonb_build_array({at}) ->> 0 END) COLLATE \"C\"")
}

/// Something to work out of groups, and what that means.
fn field<'a>(random: &mut Random, groups: Aggregation<'a>, name: &str) -> (Aggregation<'a>, String) {
    let path = PATHS[random.below(5) as usize];
    let (at, number, text) = (lies(path), number(path), text(path));
    match random.below(6) {
        0 => (groups.count(name), "count(*)".to_owned()),
        1 => (groups.count_of(name, path), format!("count(*) FILTER (WHERE {at} IS NOT NULL)")),
        2 => (groups.sum(name, path), format!("sum({number})")),
        3 => (groups.avg(name, path), format!("sum({number}) / nullif(count({number}), 0)")),
        4 => (groups.min(name, path), format!("coalesce(to_jsonb(min({text})), to_jsonb(min({number})))")),
        _ => (groups.max(name, path), format!("coalesce(to_jsonb(max({number})), to_jsonb(max({text})))")),
    }
}

fn filled(conn: &Connection, count: i64) -> Collection<'_> {
    let notes = conn.create_collection("notes").unwrap();
    let mut random = Random(36);
    notes.insert_many((0..count).map(|_| document(&mut random, 0))).unwrap();
    notes
}

#[test]
fn groups_are_what_sql_makes_of_the_same_documents() {
    let conn = connect("");
    let notes = filled(&conn, 300);
    let mut random = Random(9);
    let mut compared = 0;
    for _ in 0..150 {
        let keys: Vec<&str> = (0..random.below(3)).map(|_| PATHS[random.below(5) as usize]).collect();
        let (filter, condition) = match random.below(3) {
            0 => (r#"{"a": {"$exists": true}}"#, format!("{} IS NOT NULL", lies("a"))),
            1 => (r#"{"b": {"$gt": 1}}"#, format!("{} > 1", number("b"))),
            _ => ("{}", "true".to_owned()),
        };
        let (mut groups, mut columns) = (notes.aggregate(filter), Vec::new());
        for (at, path) in keys.iter().enumerate() {
            groups = groups.group(format!("k{at}"), *path);
            columns.push((format!("k{at}"), format!("to_jsonb({})", lies(path))));
        }
        for at in 0..1 + random.below(3) {
            let (with, meaning) = field(&mut random, groups, &format!("f{at}"));
            groups = with;
            columns.push((format!("f{at}"), format!("coalesce(to_jsonb({meaning}), 'null')")));
        }
        let names: Vec<String> = columns.iter().map(|(name, _)| format!("'{name}', {name}")).collect();
        let made: Vec<String> = columns.iter().map(|(name, sql)| format!("{sql} AS {name}")).collect();
        let by: Vec<String> = keys.iter().map(|path| lies(path)).collect();
        let by = if by.is_empty() { String::new() } else { format!("GROUP BY {}", by.join(", ")) };
        // A key that is missing is left out, and what is worked out is never missing.
        let sql = format!(
            "SELECT coalesce((SELECT jsonb_object_agg(key, value) FROM (VALUES {}) AS pairs (key, value) WHERE value IS NOT NULL), '{{}}')
             FROM (SELECT {} FROM notes WHERE {condition} {by}) AS grouped",
            names.iter().map(|pair| format!("({pair})")).collect::<Vec<_>>().join(", "),
            made.join(", "),
        );
        let mut wanted = rows(&conn, &sql);
        let mut given: Vec<String> = groups.all().unwrap().iter().map(ToString::to_string).collect();
        compared += given.len();
        // An average has as many digits as the division gives it.
        for texts in [&mut wanted, &mut given] {
            texts.sort();
        }
        assert_eq!(given, wanted, "{:?}\n{sql}", groups.sql());
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn groups_are_found_ordered_and_cut_as_documents_are() {
    let conn = connect("");
    let notes = conn.create_collection("notes").unwrap();
    notes.insert_many((0..100).map(|n| format!(r#"{{"by": "w{}", "n": {n}}}"#, n % 7))).unwrap();
    notes.insert_many([r#"{"by": null, "n": 1}"#, r#"{"n": 2}"#]).unwrap();
    let told = |groups: Aggregation<'_>| groups.all().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
    let all = || notes.aggregate("{}").group("by", "by").count("n");
    // By what they are grouped by: null, strings, and at last what lacks it.
    let every = told(all());
    assert_eq!((every.len(), every[0].as_str(), every[8].as_str()), (9, r#"{"n": 1, "by": null}"#, r#"{"n": 1}"#));
    assert_eq!(told(all().sort(["-n", "-by"]).limit(2)), [r#"{"n": 15, "by": "w1"}"#, r#"{"n": 15, "by": "w0"}"#]);
    assert_eq!(told(all().having(r#"{"n": 14, "by": {"$regex": "[35]"}}"#)).len(), 2);
    assert_eq!(told(all().having(r#"{"by": {"$exists": false}}"#)), [r#"{"n": 1}"#]);
    // Distinct values alone, and all in one.
    assert_eq!(told(notes.aggregate(r#"{"n": {"$lt": 3}}"#).group("by", "by")).len(), 5);
    assert_eq!(told(notes.aggregate(r#"{"n": 1000}"#).count("n").sum("s", "n")), [r#"{"n": 0, "s": null}"#]);
    assert!(told(notes.aggregate(r#"{"n": 1000}"#).group("by", "by").count("n")).is_empty());
    let numbers = format!(r#"{{"n": {}.5}}"#, "9".repeat(40));
    notes.insert(&*numbers).unwrap();
    let sum = notes.aggregate(r#"{"n": {"$gt": 1000}}"#).sum("s", "n");
    assert_eq!(told(sum), [format!(r#"{{"s": {}.5}}"#, "9".repeat(40))]);
    let wrong = |groups: Aggregation<'_>| groups.all().unwrap_err().sqlstate().0;
    assert_eq!(wrong(notes.aggregate("{}")), "22023");
    assert_eq!(wrong(all().sum("by", "n")), "22023");
    assert_eq!(wrong(all().sum("$x", "n")), "22023");
    assert_eq!(wrong(all().sum("x", "a..b")), "22023");
    assert_eq!(wrong(all().having(r#"{"$id": "a"}"#)), "22023");
    assert_eq!(wrong(all().having("[]")), "22023");
    assert_eq!(wrong(all().sort(["a..b"])), "22023");
    assert_eq!(wrong((0..17).fold(notes.aggregate("{}"), |of, at| of.group(at.to_string(), "n"))), "22023");
    // Names are values wherever they stand.
    let odd = notes.aggregate("{}").group("it's\\ \"odd\"", "by").count("a.b").sort(["-a\\.b"]).limit(1);
    assert_eq!(told(odd), [r#"{"a.b": 15, "it's\\ \"odd\"": "w0"}"#]);
}

#[test]
fn what_documents_name_comes_with_them() {
    let conn = connect(
        "CREATE TABLE texts () WITH (collection = on); CREATE TABLE uuids (id uuid) WITH (collection = on);
         CREATE TABLE numbers (id bigint) WITH (collection = on)",
    );
    let notes = conn.create_collection("notes").unwrap();
    let uuid = "0b9a2d3e-0000-4000-8000-0123456789ab";
    let [texts, uuids, numbers] = ["texts", "uuids", "numbers"].map(|name| conn.collection(name).unwrap());
    texts.put("7", r#"{"of": "texts"}"#).unwrap();
    uuids.put(uuid, r#"{"of": "uuids"}"#).unwrap();
    numbers.put(7, r#"{"of": "numbers"}"#).unwrap();
    let named = |value: &str, of: &Collection<'_>| {
        notes.put("a", format!(r#"{{"deep": {{"at": {value}}}}}"#)).unwrap();
        let page = notes.find("{}").select(["none"]).expand("deep.at", of).page().unwrap();
        assert_eq!(page.documents[0].doc.to_string(), "{}", "what is named is so before parts are taken");
        let named = &page.expanded[0].named[0];
        (named.documents.iter().map(|document| document.id_text()).collect::<Vec<_>>(), named.is_list)
    };
    for (value, of_texts, of_numbers) in [
        (r#""7""#, 1, 1),
        ("7", 0, 1),
        ("7.0", 0, 0),
        (r#""07""#, 0, 0),
        ("null", 0, 0),
        ("{\"7\": 7}", 0, 0),
        (r#""8""#, 0, 0),
    ] {
        assert_eq!((named(value, &texts).0.len(), named(value, &numbers).0.len()), (of_texts, of_numbers), "{value}");
    }
    assert_eq!(named(&format!("\"{uuid}\""), &uuids), (vec![uuid.to_owned()], false));
    assert!(named(&format!("\"{}\"", uuid.to_uppercase()), &uuids).0.is_empty());
    // In the order in which they are named, as often as they are.
    numbers.put(8, "{}").unwrap();
    let listed = named(r#"[8, "x", 7, null, [7], 9, "8"]"#, &numbers);
    assert_eq!(listed, (["8", "7", "8"].map(str::to_owned).to_vec(), true));
    let page = notes.find(r#"{"none": 1}"#).expand("deep.at", &numbers).page().unwrap();
    assert!(page.documents.is_empty() && page.expanded[0].named.is_empty());
    assert_eq!(notes.find("{}").expand("a..b", &texts).page().unwrap_err().sqlstate().0, "22023");
    let many: Vec<String> = (0..10_001).map(|id| id.to_string()).collect();
    notes.put("a", format!(r#"{{"deep": {{"at": [{}]}}}}"#, many.join(","))).unwrap();
    assert_eq!(notes.find("{}").expand("deep.at", &numbers).page().unwrap_err().sqlstate().0, "54000");
    // They are looked up by their key.
    let sql = "SELECT id, version, doc FROM numbers AS document WHERE id = ANY($1)";
    let plan = conn.query_map(&format!("EXPLAIN {sql}"), (vec![7_i64, 8],), |row| row.get::<String>(0)).unwrap();
    let plan = plan.collect::<cairndb::Result<Vec<_>>>().unwrap().join("\n");
    assert!(plan.contains("numbers_pkey"), "{plan}");
}

/// Documents of Ada and Bob, each of which is its owner's alone.
fn ruled() -> Connection {
    let conn = connect("CREATE TABLE notes () WITH (collection = on); CREATE TABLE people () WITH (collection = on)");
    let own = || Some("doc -> 'owner' = claims -> 'sub'".to_owned());
    let mut rules = Rules::default();
    (rules.list, rules.view) = (own(), own());
    conn.collection("notes").unwrap().set_rules(&rules).unwrap();
    rules.list = None;
    conn.collection("people").unwrap().set_rules(&rules).unwrap();
    let notes = conn.collection("notes").unwrap();
    for (id, owner, n) in [("a1", "ada", 1), ("a2", "ada", 3), ("b1", "bob", 1000)] {
        notes.put(id, format!(r#"{{"owner": "{owner}", "n": {n}, "with": ["{id}", "zz"], "of": "{owner}"}}"#)).unwrap();
        let people = conn.collection("people").unwrap();
        people.put(owner, format!(r#"{{"owner": "{owner}"}}"#)).unwrap();
    }
    drop(notes);
    conn
}

fn of<'c>(conn: &'c Connection, name: &str, sub: &str) -> Collection<'c> {
    conn.collection(name).unwrap().for_claims(format!(r#"{{"sub": "{sub}"}}"#).parse().unwrap()).unwrap()
}

#[test]
fn groups_are_of_what_is_in_sight() {
    let conn = ruled();
    let ada = of(&conn, "notes", "ada");
    let told = |groups: Aggregation<'_>| groups.all().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
    let all = told(ada.aggregate("{}").count("c").sum("s", "n").avg("m", "n").min("l", "n").max("g", "n"));
    assert_eq!(all, [r#"{"c": 2, "g": 3, "l": 1, "m": 2.0000000000000000, "s": 4}"#]);
    assert_eq!(told(ada.aggregate("{}").group("owner", "owner").count("n")), [r#"{"n": 2, "owner": "ada"}"#]);
    for filter in
        [r#"{"owner": "bob"}"#, r#"{"$nor": [{"owner": "ada"}]}"#, r#"{"$id": "b1"}"#, r#"{"owner": {"$regex": "^b"}}"#]
    {
        assert_eq!(told(ada.aggregate(filter).count("n")), [r#"{"n": 0}"#], "{filter}");
    }
    let having = ada.aggregate("{}").group("owner", "owner").max("g", "n").having(r#"{"g": {"$gt": 10}}"#);
    assert!(told(having).is_empty());
    // Who may not list may not group, whatever he says.
    let people = of(&conn, "people", "ada");
    for groups in [people.aggregate("{}").count("n"), people.aggregate("none"), people.aggregate("{}")] {
        assert_eq!(groups.all().unwrap_err().sqlstate().0, "42501");
    }
}

#[test]
fn what_is_named_and_out_of_sight_is_as_what_is_not_there() {
    let conn = ruled();
    let (ada, people) = (of(&conn, "notes", "ada"), of(&conn, "people", "ada"));
    let plain = conn.collection("notes").unwrap();
    let seen = |of: &str| {
        plain.put("a1", format!(r#"{{"owner": "ada", "of": {of}}}"#)).unwrap();
        let page = ada.find("{}").expand("of", &people).page().unwrap();
        format!("{:?}", page.expanded[0].named[0].documents.iter().map(|of| of.id_text()).collect::<Vec<_>>())
    };
    assert_eq!(seen(r#""ada""#), r#"["ada"]"#);
    for (hidden, none) in
        [(r#""bob""#, r#""zz""#), (r#"["bob", "ada"]"#, r#"["zz", "ada"]"#), (r#"["bob"]"#, r#"["zz"]"#)]
    {
        assert_eq!(seen(hidden), seen(none), "{hidden}");
    }
    // A rule of the other collection that fails says nothing of what.
    let mut rules = Rules::default();
    rules.view = Some("1 / (length(doc ->> 'owner') - 3) > 0".to_owned());
    conn.collection("people").unwrap().set_rules(&rules).unwrap();
    let people = of(&conn, "people", "ada");
    let error = ada.find("{}").expand("of", &people).page().unwrap_err();
    assert!(error.sqlstate().0 == "42501" && error.detail().is_none(), "{error:?}");
    // Where no rule lets view, it is refused whether something is named or not.
    rules.view = None;
    rules.list = Some("true".to_owned());
    conn.collection("people").unwrap().set_rules(&rules).unwrap();
    let people = of(&conn, "people", "ada");
    for filter in ["{}", r#"{"none": 1}"#] {
        assert_eq!(ada.find(filter).expand("of", &people).page().unwrap_err().sqlstate().0, "42501");
    }
}
