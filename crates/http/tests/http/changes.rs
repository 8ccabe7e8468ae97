//! What becomes of documents, as events.

use std::io::BufRead;
use std::time::SystemTime;

use super::listener::Listener;
use super::*;

fn listen(served: &Served, query: &str, last_id: &str) -> Listener {
    Listener::begin(&served.client, query, last_id).unwrap()
}

#[test]
fn changes_are_told_once_in_order_and_go_on_from_where_they_were() {
    let served = Served::with_notes();
    let mut all = listen(&served, "", "");
    served.client.put(&note("a"), r#"{"n": 1.10}"#);
    let first = all.expect("insert", "a");
    let version = served.rows("SELECT version FROM notes WHERE id = 'a'");
    assert_eq!((first.data["version"].as_i64(), first.id.is_some()), (Some(version), true));
    // Numbers keep their digits.
    assert!(first.data["doc"].to_string().contains("1.1"));
    served.client.put(&note("a"), r#"{"n": 2}"#);
    all.expect("update", "a");
    let place = all.last_id.clone();
    drop(all);
    // While nobody listens, and by SQL: several changes of one commit.
    let script = "BEGIN; INSERT INTO notes VALUES ('b', '{}'), ('c', '[]'); DELETE FROM notes WHERE id = 'a'; COMMIT";
    served.database.connect().unwrap().execute_script(script).unwrap();
    let mut again = listen(&served, "", &place);
    let ids: Vec<bool> = [("insert", "b"), ("insert", "c"), ("delete", "a")]
        .map(|(kind, id)| again.expect(kind, id).id.is_some())
        .to_vec();
    // Who breaks off within a commit hears all of it again.
    assert_eq!(ids, [false, false, true]);
    served.client.delete(&note("b"));
    again.expect("delete", "b");
    let mut since = listen(&served, &format!("?since={place}"), "");
    since.expect("insert", "b");
    // What leaves the database as it was, or is of other tables, is told to nobody.
    assert_eq!(served.client.put("/db/shop/collections/other", "").status, 201);
    served.client.put("/db/shop/collections/other/documents/x", "{}");
    served.database.connect().unwrap().execute("TRUNCATE notes", ()).unwrap();
    assert_eq!(again.next().unwrap().kind, "truncate");
    assert_eq!(served.client.delete(NOTES).status, 204);
    assert_eq!(again.next().unwrap().kind, "end");
    assert_eq!(again.next(), None);
}

/// The commit's last change may be another collection's, or out of sight.
#[test]
fn who_has_heard_all_that_he_sees_of_a_commit_goes_on_behind_it() {
    let served = Served::with_notes();
    assert_eq!(served.client.put("/db/shop/collections/other", "").status, 201);
    let conn = served.database.connect().unwrap();
    for last in ["INSERT INTO other VALUES ($1, '{}')", "INSERT INTO notes VALUES ($1 || 'hidden', '{\"a\": 1}')"] {
        let mut listener = listen(&served, "?filter=%7B%22a%22%3A2%7D", "");
        let id = format!("{}", last.len());
        let last = last.replace("$1", &format!("'{id}'"));
        let script = format!("BEGIN; INSERT INTO notes VALUES ('{id}', '{{\"a\": 2}}'); {last}; COMMIT");
        conn.execute_script(&script).unwrap();
        assert_eq!(listener.expect("insert", &id).id, None);
        let before = listener.last_id.clone();
        // What is told by itself: no event comes before the next commit's.
        while listener.last_id == before {
            listener.hear();
        }
        let mut again = listen(&served, "?filter=%7B%22a%22%3A2%7D", &listener.last_id);
        conn.execute("INSERT INTO notes VALUES ($1, '{\"a\": 2}')", (format!("{id} next"),)).unwrap();
        again.expect("insert", &format!("{id} next"));
    }
}

/// One that leaves its sight is a delete, one that comes into it an insert.
#[test]
fn a_filter_sees_what_comes_into_its_sight_and_what_leaves_it() {
    let served = Served::with_notes();
    let mut open = listen(&served, "?filter=%7B%22open%22%3Atrue%7D", "");
    for (id, doc) in [
        ("a", r#"{"open": true}"#),
        ("hidden", r#"{"open": false}"#),
        ("a", r#"{"open": true, "n": 1}"#),
        ("a", r#"{"open": false, "secret": 1}"#),
        ("hidden", r#"{"open": true}"#),
    ] {
        served.client.put(&note(id), doc);
    }
    served.client.delete(&note("hidden"));
    open.expect("insert", "a");
    open.expect("update", "a");
    let left = open.expect("delete", "a");
    same(&left.data, json!({ "id": "a" }));
    open.expect("insert", "hidden");
    open.expect("delete", "hidden");
}

#[test]
fn what_can_not_be_listened_to_is_told() {
    let served = Served::with_notes();
    let refused = |query: &str, last: &str| told(&Listener::begin(&served.client, query, last).err().unwrap());
    assert_eq!(refused("?filter=%7B%22a%22%3A%7B%22%24x%22%3A1%7D%7D", ""), of(400, "22023"));
    assert_eq!(refused("", "no place"), of(400, "22023"));
    assert_eq!(refused("?until=1", ""), of(400, "22023"));
    let conn = served.database.connect().unwrap();
    // A place of another database, as a backup is one.
    let other = Database::open_in_memory().unwrap().connect().unwrap();
    other.execute("CREATE TABLE t (a int) WITH (change_feed = on)", ()).unwrap();
    let elsewhere = other.change_token().unwrap().to_string();
    assert_eq!(refused("", &elsewhere), of(410, "55000"));
    conn.execute("ALTER TABLE notes SET (change_feed = off)", ()).unwrap();
    assert_eq!(refused("", ""), of(409, "55000"));
    let (writer, token) = token("writer", &[Scope::Write]);
    served.http.reload(Options { tokens: vec![token], ..Options::default() }).unwrap();
    assert_eq!(served.client.with(&writer).get(&format!("{NOTES}/changes")).status, 403);
}

#[test]
fn a_stream_ends_with_its_token() {
    let served = Served::with_notes();
    let (secret, mut short) = token("short", &[Scope::Read]);
    short.expires = Some(SystemTime::now() + std::time::Duration::from_secs(4));
    let (other, revoked) = token("revoked", &[Scope::Read]);
    served.http.reload(Options { tokens: vec![short.clone(), revoked], ..Options::default() }).unwrap();
    let mut expiring = Listener::begin(&served.client.with(&secret), "", "").unwrap();
    let mut listening = Listener::begin(&served.client.with(&other), "", "").unwrap();
    let ended = expiring.next().unwrap();
    assert_eq!((ended.kind.as_str(), expiring.next()), ("end", None));
    served.http.reload(Options { tokens: vec![short], ..Options::default() }).unwrap();
    assert_eq!((listening.next().unwrap().kind.as_str(), listening.next()), ("end", None));
}

#[test]
fn streams_end_when_the_server_does() {
    let served = Served::with_notes();
    let mut listening = listen(&served, "", "");
    drop(served);
    assert_eq!(listening.next(), None);
    let mut rest = String::new();
    listening.reader.read_line(&mut rest).unwrap();
    assert_eq!(rest, "");
}
