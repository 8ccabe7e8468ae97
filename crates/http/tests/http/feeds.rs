//! What becomes of tables' rows, told to who may run SQL.

use serde_json::json;

use super::listener::Listener;
use super::*;

fn follow(client: &Client, query: &str, last: &str) -> Listener {
    Listener::at(client, &format!("/db/shop/changes{query}"), last).unwrap()
}

fn next(listener: &mut Listener) -> (String, Value) {
    let event = listener.next().expect("an event");
    (event.kind, event.data)
}

#[test]
fn changes_of_a_table_are_told_once_to_who_comes_back() {
    let served = Served::with_notes();
    let conn = served.database.connect().unwrap();
    conn.execute_script(
        "CREATE SCHEMA \"odd.\"; CREATE TABLE \"odd.\".\"T t\" (id int PRIMARY KEY, n numeric, \"a\"\"b\" text) WITH (change_feed = on);
         CREATE TABLE other (id int) WITH (change_feed = on); CREATE TABLE silent (id int)",
    )
    .unwrap();
    let query = "?table=%22odd.%22.%22T%20t%22";
    let mut listener = follow(&served.client, query, "");
    conn.execute_script(
        "BEGIN; INSERT INTO \"odd.\".\"T t\" VALUES (1, 1.50, E'<b>\\n'); INSERT INTO other VALUES (1); COMMIT;
         UPDATE \"odd.\".\"T t\" SET n = 12345678901234567890.5; INSERT INTO other VALUES (2); DELETE FROM \"odd.\".\"T t\"",
    )
    .unwrap();
    let about = |more: Value| {
        let mut data = json!({"schema": "odd.", "table": "T t"});
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        data
    };
    let row = json!({"id": 1, "n": 1.5, "a\"b": "<b>\n"});
    assert_eq!(next(&mut listener), ("insert".to_owned(), about(json!({ "new": row }))));
    let event = listener.next().unwrap();
    assert_eq!((event.kind.as_str(), &event.data["old"]), ("update", &row));
    let (kind, gone) = next(&mut listener);
    assert_eq!((kind.as_str(), gone["new"].is_null()), ("delete", true));
    drop(listener);
    // Whoever comes back goes on behind what he has heard.
    let mut listener = follow(&served.client, query, &event.id.unwrap());
    assert_eq!(next(&mut listener), ("delete".to_owned(), gone));
    conn.execute_script("TRUNCATE \"odd.\".\"T t\"; ALTER TABLE \"odd.\".\"T t\" RENAME TO u; DROP TABLE \"odd.\".u")
        .unwrap();
    assert_eq!(next(&mut listener).0, "truncate");
    let (kind, data) = next(&mut listener);
    assert_eq!((kind.as_str(), &data["table"]), ("alter", &json!("u")));
    assert_eq!(next(&mut listener).0, "drop");
    assert!(listener.next().is_none(), "nothing more comes of it");
    // All tables that have feeds, collections among them.
    let mut listener = follow(&served.client, "", "");
    conn.execute_script("INSERT INTO silent VALUES (1); INSERT INTO other VALUES (3)").unwrap();
    served.client.put(&note("a"), "{}");
    assert_eq!(next(&mut listener).1, json!({"schema": "public", "table": "other", "new": {"id": 3}}));
    assert_eq!(next(&mut listener).1["table"], "notes");
}

#[test]
fn who_may_not_run_sql_follows_no_table() {
    let (reads, reader) = token("reader", &[Scope::Read, Scope::Write, Scope::Manage]);
    let options = Options { tokens: vec![reader], ..Options::default() };
    let served = Served::with(options, cairn_server::Options::default());
    served.database.connect().unwrap().execute("CREATE TABLE silent (id int)", ()).unwrap();
    let refused = |client: &Client, query: &str| told(&client.get(&format!("/db/shop/changes{query}")));
    assert_eq!(refused(&served.client.with(&reads), "?table=silent"), of(403, "42501"));
    assert_eq!(refused(&served.client, "?table=silent"), of(409, "55000"));
    assert_eq!(refused(&served.client, "?table=nothing"), of(404, "42P01"));
    assert_eq!(refused(&served.client, "?since=x").0, 400);
    // A place of another database, as a backup is one.
    let other = Database::open_in_memory().unwrap().connect().unwrap();
    other.execute("CREATE TABLE t (a int) WITH (change_feed = on)", ()).unwrap();
    let elsewhere = other.change_token().unwrap();
    assert_eq!(refused(&served.client, &format!("?since={elsewhere}")), of(410, "55000"));
    assert_eq!(refused(&served.client, "?what=x"), of(400, "22023"));
}
