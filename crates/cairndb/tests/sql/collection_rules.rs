//! Rules of collections: what somebody sees who comes with claims, and what he is refused.

use crate::common::{connect, fails, opened, rows};
use cairndb::{Collection, Connection, Error, Jsonb, Rules};

const OWN: &str = "doc -> 'owner' = claims -> 'sub'";

fn rules(all: [Option<&str>; 5]) -> Rules {
    let mut rules = Rules::default();
    let [list, view, create, update, delete] = all.map(|rule| rule.map(str::to_owned));
    (rules.list, rules.view, rules.create, rules.update, rules.delete) = (list, view, create, update, delete);
    rules
}

/// Documents of Ada and Bob, each of which is its owner's alone.
fn notes() -> Connection {
    let conn = connect("CREATE TABLE notes () WITH (collection = on)");
    let notes = conn.collection("notes").unwrap();
    let update = "doc -> 'owner' = claims -> 'sub' AND old.doc -> 'owner' = claims -> 'sub'";
    notes.set_rules(&rules([Some(OWN), Some(OWN), Some(OWN), Some(update), Some(OWN)])).unwrap();
    for (id, doc) in [("a1", r#"{"owner": "ada", "n": 1}"#), ("b1", r#"{"owner": "bob", "n": 2, "s": "x"}"#)] {
        notes.put(id, doc).unwrap();
    }
    drop(notes);
    conn
}

fn of<'c>(conn: &'c Connection, sub: &str) -> Collection<'c> {
    let claims: Jsonb = format!(r#"{{"sub": "{sub}"}}"#).parse().unwrap();
    conn.collection("notes").unwrap().for_claims(claims).unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "42501", "{error:?}");
    assert!(error.detail().is_none() && error.position().is_none(), "{error:?}");
}

#[test]
fn what_is_out_of_sight_is_not_there() {
    let conn = notes();
    let (ada, bob) = (of(&conn, "ada"), of(&conn, "bob"));
    assert!(ada.get("a1").unwrap().is_some() && ada.get("b1").unwrap().is_none() && ada.get("none").unwrap().is_none());
    let found = |filter: &str| ada.find(filter).all().unwrap().iter().map(|note| note.id_text()).collect::<Vec<_>>();
    assert_eq!(found("{}"), ["a1"]);
    for filter in [r#"{"s": "x"}"#, r#"{"$id": "b1"}"#, r#"{"s": {"$exists": true}}"#, r#"{"s": {"$regex": "^x"}}"#] {
        assert_eq!((found(filter).len(), ada.find(filter).count().unwrap()), (0, 0), "{filter}");
        assert_eq!(bob.find(filter).count().unwrap(), 1, "{filter}");
    }
    // A filter is no way around the rule, whatever it is made of.
    assert_eq!(found(r#"{"$or": [{"s": "x"}, {"n": {"$gt": 0}}, {"$not": {"n": 1}}]}"#), ["a1"]);
    let page = ada.find("{}").sort(["-s", "n"]).limit(1).page().unwrap();
    assert_eq!((page.documents.len(), page.next), (1, None));
    // An expression that is none is not tried with what is out of sight.
    conn.execute("DELETE FROM notes WHERE id = 'a1'", ()).unwrap();
    assert_eq!(ada.find(r#"{"s": {"$regex": "("}}"#).count().unwrap(), 0);
    refused(bob.find(r#"{"s": {"$regex": "("}}"#).count());
}

#[test]
fn changes_of_what_is_out_of_sight_are_of_nothing() {
    let conn = notes();
    let ada = of(&conn, "ada");
    let version = conn.collection("notes").unwrap().get("b1").unwrap().unwrap().version;
    for id in ["b1", "none"] {
        assert_eq!(ada.replace(id, r#"{"owner": "ada"}"#).unwrap(), None);
        assert_eq!(ada.replace_if(id, r#"{"owner": "ada"}"#, version).unwrap(), None);
        assert_eq!(ada.update(id, "{}").unwrap(), None);
        assert_eq!(ada.patch(id, r#"[{"op": "test", "path": "/s", "value": "x"}]"#).unwrap(), None);
        assert_eq!(ada.update_if(id, "{}", version).unwrap(), None);
        assert!(!ada.delete(id).unwrap() && !ada.delete_if(id, version).unwrap());
    }
    assert_eq!(rows(&conn, "SELECT id, doc ->> 'owner' FROM notes ORDER BY id"), ["a1|ada", "b1|bob"]);
    // What may not be made is refused alike, whether something is in its way or not.
    for id in ["b1", "c1"] {
        refused(ada.insert_as(id, r#"{"owner": "bob"}"#));
        refused(ada.put(id, r#"{"owner": "bob"}"#));
    }
    refused(ada.insert(r#"{"owner": "bob"}"#));
    refused(ada.insert_many([r#"{"owner": "ada"}"#, r#"{"owner": "bob"}"#]));
    refused(ada.insert_many_as([("c1", r#"{"owner": "ada"}"#), ("c2", "{}")]));
    // What is given away, or taken.
    refused(ada.replace("a1", r#"{"owner": "bob"}"#));
    refused(ada.update("a1", r#"{"owner": null}"#));
    assert_eq!(rows(&conn, "SELECT id FROM notes ORDER BY id"), ["a1", "b1"]);
    assert!(ada.upsert("a2", r#"{"owner": "ada"}"#).unwrap().is_new);
    assert!(!ada.upsert("a2", r#"{"owner": "ada", "n": 3}"#).unwrap().is_new);
    assert_eq!(ada.insert_many([r#"{"owner": "ada"}"#]).unwrap(), 1);
    assert!(ada.patch("a2", r#"[{"op": "remove", "path": "/n"}]"#).unwrap().is_some());
    assert!(ada.delete("a2").unwrap());
}

#[test]
fn nobody_may_what_no_rule_says() {
    let conn = notes();
    let plain = conn.collection("notes").unwrap();
    plain.set_rules(&rules([None, Some("true"), None, None, None])).unwrap();
    let ada = of(&conn, "ada");
    assert!(ada.get("b1").unwrap().is_some());
    refused(ada.find("{}").all());
    refused(ada.find("{}").count());
    refused(ada.find("no filter").count());
    refused(ada.find("{}").watch().map(drop));
    refused(ada.insert("{}"));
    for id in ["b1", "none"] {
        refused(ada.replace(id, "{}"));
        refused(ada.delete(id));
    }
    plain.set_rules(&rules([None, None, Some("true"), Some("true"), Some("true")])).unwrap();
    let ada = of(&conn, "ada");
    // What is not seen is neither changed nor deleted.
    for id in ["b1", "none"] {
        refused(ada.get(id));
        refused(ada.replace(id, "{}"));
        refused(ada.put(id, "{}"));
        refused(ada.delete(id));
    }
    ada.insert("{}").unwrap();
    plain.set_rules(&Rules::default()).unwrap();
    refused(conn.collection("notes").unwrap().for_claims("{}".parse().unwrap()).map(|_| ()));
}

#[test]
fn a_rule_that_fails_refuses_and_tells_nothing() {
    let conn = notes();
    let plain = conn.collection("notes").unwrap();
    for fails in ["1 / (doc ->> 'n')::int = 1 / (2 - (doc ->> 'n')::int)", "(doc ->> 'owner')::int = 1"] {
        plain.set_rules(&rules([Some(fails), Some(fails), Some(fails), Some("true"), Some("true")])).unwrap();
        let ada = of(&conn, "ada");
        refused(ada.find("{}").all());
        refused(ada.find("{}").count());
        refused(ada.get("b1"));
        refused(ada.replace("b1", "{}"));
        refused(ada.delete("b1"));
        refused(ada.insert(r#"{"owner": "ada", "n": 2}"#));
    }
    // What it rests on is gone.
    conn.execute_script("CREATE TABLE members (name text)").unwrap();
    let rests = "EXISTS (SELECT FROM members WHERE name = claims ->> 'sub')";
    plain.set_rules(&rules([Some(rests), Some(rests), None, None, None])).unwrap();
    assert_eq!(of(&conn, "ada").find("{}").count().unwrap(), 0);
    conn.execute_script("DROP TABLE members").unwrap();
    let ada = of(&conn, "ada");
    refused(ada.find("{}").count());
    refused(ada.get("a1"));
}

#[test]
fn rules_look_into_other_tables_and_at_what_was() {
    let conn = notes();
    conn.execute_script(
        "CREATE TABLE teams (name text, doc jsonb); INSERT INTO teams VALUES ('ada', '{\"owner\": \"bob\"}')",
    )
    .unwrap();
    let plain = conn.collection("notes").unwrap();
    // Within the subquery `doc` is that of the other table.
    let team =
        "EXISTS (SELECT 1 FROM teams WHERE name = claims ->> 'sub' AND doc -> 'owner' = document.doc -> 'owner')";
    let grows = "(doc ->> 'n')::int > (old.doc ->> 'n')::int AND old.version > 0 AND id = old.id AND version IS NULL";
    plain.set_rules(&rules([Some(team), Some(team), None, Some(grows), None])).unwrap();
    let ada = of(&conn, "ada");
    assert_eq!(ada.find("{}").one().unwrap().unwrap().id_text(), "b1");
    assert!(ada.get("a1").unwrap().is_none() && ada.get("b1").unwrap().is_some());
    refused(ada.update("b1", r#"{"n": 2}"#));
    assert!(ada.update("b1", r#"{"n": 3}"#).unwrap().is_some());
    let seen = ada.find(r#"{"n": 3}"#);
    assert!(seen.finds(&"x".into(), 1, &r#"{"owner": "bob", "n": 3}"#.parse().unwrap()).unwrap());
    assert!(!seen.finds(&"x".into(), 1, &r#"{"owner": "ada", "n": 3}"#.parse().unwrap()).unwrap());
}

/// Claims are a value, whatever is in them, and braces of a rule are its own.
#[test]
fn claims_and_texts_are_no_sql() {
    let conn = notes();
    let plain = conn.collection("notes").unwrap();
    let rule = "doc @> '{}' AND doc ->> 'owner' = claims ->> 'sub'";
    plain.set_rules(&rules([Some(rule), Some(rule), Some(rule), Some("doc <> '{}' -- all"), None])).unwrap();
    for sub in ["' OR true --", "ada') OR (true", "$1"] {
        assert_eq!(of(&conn, sub).find("{}").count().unwrap(), 0, "{sub}");
        refused(of(&conn, sub).insert("{}"));
    }
    assert_eq!(of(&conn, "ada").find("{}").count().unwrap(), 1);
    assert!(of(&conn, "ada").update("a1", "{}").unwrap().is_some());
    // One expression, and no more.
    for text in ["true) OR (true", "true; DROP TABLE notes", "", "true --)\n(", "/* true"] {
        assert_eq!(
            plain.set_rules(&rules([Some(text), None, None, None, None])).unwrap_err().sqlstate().as_str(),
            "42601",
            "{text}"
        );
    }
}

#[test]
fn what_a_trigger_writes_is_judged_too() {
    let conn = notes();
    conn.execute_script(
        "CREATE FUNCTION given() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF new.doc ? 'to' THEN new.doc := jsonb_set(new.doc, '{owner}', new.doc -> 'to'); END IF; RETURN new; END $$;
         CREATE TRIGGER given BEFORE INSERT OR UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION given()",
    )
    .unwrap();
    let ada = of(&conn, "ada");
    refused(ada.insert_as("c", r#"{"owner": "ada", "to": "bob"}"#));
    refused(ada.update("a1", r#"{"to": "bob"}"#));
    assert!(ada.update("a1", r#"{"to": "ada"}"#).unwrap().is_some());
    // In a transaction of somebody who goes on all the same, nothing of it is committed.
    conn.execute("BEGIN", ()).unwrap();
    refused(ada.insert_as("c", r#"{"owner": "ada", "to": "bob"}"#));
    assert!(conn.transaction_failed());
    conn.execute("ROLLBACK", ()).unwrap();
    assert_eq!(rows(&conn, "SELECT id FROM notes ORDER BY id"), ["a1", "b1"]);
}

#[test]
fn rules_are_said_in_sql_and_go_with_the_table() {
    let (db, conn) = opened("CREATE TABLE notes () WITH (collection = on, view_rule = 'true')");
    let now = |conn: &Connection| {
        let rules = conn.collection("notes").unwrap().rules().unwrap();
        rules.options().map(|(option, rule)| format!("{option} {rule}")).collect::<Vec<_>>()
    };
    assert_eq!(now(&conn), ["view_rule TRUE"]);
    conn.execute("ALTER TABLE notes SET (list_rule = 'doc = claims', update_rule = 'old.doc = doc')", ()).unwrap();
    conn.execute("ALTER TABLE notes RESET (view_rule)", ()).unwrap();
    assert_eq!(now(&db.connect().unwrap()), ["list_rule doc = claims", "update_rule old.doc = doc"]);
    conn.execute("ALTER TABLE notes RENAME TO others", ()).unwrap();
    conn.execute("ALTER TABLE others RENAME TO notes", ()).unwrap();
    assert_eq!(now(&conn).len(), 2);
    for (rule, code) in [
        ("nothing", "42703"),
        ("doc", "42804"),
        ("count(*) > 0", "42803"),
        ("old.doc = doc", "42P01"),
        ("$1 = 1", "42P02"),
        ("random() > 0.5", "42P17"),
        ("nextval(''s'') > 0", "42P17"),
        ("(SELECT random()) > 0.5", "42P17"),
        ("EXISTS (SELECT 1 FROM pg_class WHERE random() > 0.5)", "42P17"),
        ("EXISTS (SELECT 1 FROM nothing)", "42P01"),
        ("pg_sleep(1) IS NULL", "42P17"),
        ("(SELECT true", "42601"),
    ] {
        let error = fails(&conn, &format!("ALTER TABLE notes SET (view_rule = '{rule}')"), code);
        assert!(error.detail().is_some_and(|detail| detail.contains("view_rule")), "{rule}: {error:?}");
    }
    conn.execute_script(
        "CREATE TABLE seen (n int); CREATE FUNCTION writes() RETURNS boolean LANGUAGE sql AS 'INSERT INTO seen VALUES (1); SELECT true';
         CREATE FUNCTION lies() RETURNS boolean STABLE LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (1); RETURN true; END $$",
    )
    .unwrap();
    fails(&conn, "ALTER TABLE notes SET (view_rule = 'writes()')", "42P17");
    conn.execute("ALTER TABLE notes SET (view_rule = 'lies()')", ()).unwrap();
    conn.execute("INSERT INTO notes (id, doc) VALUES ('a', '{}')", ()).unwrap();
    refused(of(&conn, "ada").get("a"));
    assert_eq!(rows(&conn, "SELECT count(*) FROM seen"), ["0"]);
    let long = format!("ALTER TABLE notes SET (view_rule = 'true{}')", " ".repeat(20_000));
    fails(&conn, &long, "54000");
    fails(&conn, "ALTER TABLE notes SET (view_rule)", "22023");
    fails(&conn, "ALTER TABLE seen SET (view_rule = 'true')", "42809");
    fails(&conn, "CREATE TABLE plain (a int) WITH (view_rule = 'true')", "42809");
    fails(&conn, "CREATE TABLE filled WITH (view_rule = 'true') AS SELECT 1 AS a", "0A000");
    conn.execute("ALTER TABLE notes SET (collection = off)", ()).unwrap();
    conn.execute("ALTER TABLE notes SET (collection = on)", ()).unwrap();
    assert_eq!(now(&conn).len(), 0);
}
