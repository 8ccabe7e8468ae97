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

/// The number that a document has.
fn n_of(event: &super::listener::Event) -> i64 {
    event.data["doc"]["n"].as_i64().unwrap_or_else(|| panic!("{event:?}"))
}

/// Commits one document after the other, from the number on.
fn commit_all(served: &Served, numbers: std::ops::Range<i64>, text: &str) {
    let conn = served.database.connect().unwrap();
    let mut insert =
        conn.prepare("INSERT INTO notes (doc) VALUES (jsonb_build_object('n', $1::bigint, 'text', $2::text))").unwrap();
    for n in numbers {
        insert.execute((n, text)).unwrap();
    }
}

/// Streams that begin while others are told hear of what was before from the feed, and of what comes with the others.
#[test]
fn a_stream_that_is_cut_again_and_again_hears_each_change_once_beside_one_that_stays() {
    const COUNT: i64 = 600;
    let served = Served::with_notes();
    let mut stays = listen(&served, "", "");
    std::thread::scope(|scope| {
        scope.spawn(|| commit_all(&served, 0..COUNT, ""));
        scope.spawn(|| {
            let (mut last, mut expected, mut cuts) = (String::new(), 0, 0);
            while expected < COUNT {
                let mut again = listen(&served, "", &last);
                for _ in 0..1 + expected % 37 {
                    if expected == COUNT {
                        break;
                    }
                    let event = again.next().unwrap();
                    assert!(n_of(&event) == expected || last.is_empty(), "{event:?}, not {expected}");
                    (expected, last) = (n_of(&event) + 1, event.id.expect("each is a commit"));
                }
                cuts += 1;
            }
            assert!(cuts > 10, "{cuts}");
        });
        for n in 0..COUNT {
            assert_eq!(n_of(&stays.next().unwrap()), n);
        }
    });
}

/// It is told no more with the others, and goes on by itself.
#[test]
fn a_stream_that_takes_nothing_for_a_while_hears_each_change_once_all_the_same() {
    const COUNT: i64 = 3_000;
    let served = Served::with_notes();
    let (mut slow, mut quick) = (listen(&served, "", ""), listen(&served, "", ""));
    let text = "x".repeat(4_000);
    std::thread::scope(|scope| {
        scope.spawn(|| commit_all(&served, 0..COUNT, &text));
        (0..COUNT).for_each(|n| assert_eq!(n_of(&quick.next().unwrap()), n));
    });
    for n in 0..COUNT {
        let event = slow.next().unwrap();
        assert_eq!((n_of(&event), event.id.is_some()), (n, true));
    }
    // And then with the others again.
    served.client.put(&note("last"), "{}");
    slow.expect("insert", "last");
    quick.expect("insert", "last");
}

/// The same within one commit: what was told of it is not told again.
#[test]
fn a_commit_of_many_changes_is_told_once_to_who_is_slow() {
    const COUNT: i64 = 3_000;
    let served = Served::with_notes();
    let mut slow = listen(&served, "", "");
    let script = format!(
        "INSERT INTO notes (doc) SELECT jsonb_build_object('n', n, 'text', repeat('x', 4000)) FROM generate_series(0, {}) n",
        COUNT - 1
    );
    served.database.connect().unwrap().execute_script(&script).unwrap();
    let mut heard = Vec::new();
    for n in 0..COUNT {
        let event = slow.next().unwrap();
        assert_eq!(event.id.is_some(), n == COUNT - 1);
        heard.push(n_of(&event));
    }
    heard.sort_unstable();
    assert!(heard.into_iter().eq(0..COUNT));
}

/// Each is found by its value, in both forms of a document.
#[test]
fn streams_that_want_a_value_hear_of_documents_that_have_it_or_had_it() {
    let served = Served::with_notes();
    let room =
        |value: &str| listen(&served, &format!("?filter=%7B%22room%22%3A{value}%2C%22by.name%22%3A%22Ada%22%7D"), "");
    let mut rooms = [room("1"), room("2.0"), room("%5B1%5D")];
    let mut of_id = listen(&served, "?filter=%7B%22%24id%22%3A%22b%22%7D", "");
    let mut all = listen(&served, "", "");
    for (id, doc) in [
        ("a", r#"{"room": 1.00, "by": {"name": "Ada"}}"#),
        ("b", r#"{"room": 1, "by": {"name": "Bob"}}"#),
        ("b", r#"{"room": [1.0], "by": {"name": "Ada"}}"#),
        ("a", r#"{"room": 2, "by": {"name": "Ada"}}"#),
        ("a", r#"{"room": 2, "by": {"name": "Ada"}, "more": 1}"#),
        ("a", r#"{"room": 2, "by": {"name": "Bob"}, "more": 1}"#),
        ("c", r#"{"room": null, "by": "Ada"}"#),
        ("c", r#"[]"#),
    ] {
        assert!(served.client.put(&note(id), doc).status < 300);
    }
    let conn = served.database.connect().unwrap();
    conn.execute("TRUNCATE notes", ()).unwrap();
    let kinds = |listener: &mut Listener| {
        let mut kinds = Vec::new();
        while kinds.last().is_none_or(|kind| kind != "truncate") {
            kinds.push(listener.next().unwrap().kind);
        }
        kinds.join(" ")
    };
    assert_eq!(kinds(&mut rooms[0]), "insert delete truncate");
    assert_eq!(kinds(&mut rooms[1]), "insert update delete truncate");
    assert_eq!(kinds(&mut rooms[2]), "insert truncate");
    assert_eq!(kinds(&mut of_id), "insert update truncate");
    assert_eq!(kinds(&mut all), "insert insert update update update update insert update truncate");
}

/// Who reads the feed for all is there while somebody listens.
#[test]
fn nothing_is_read_while_nobody_listens() {
    let served = Served::with_notes();
    let streams = || {
        let metrics = served.client.get("/metrics").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix("cairn_http_change_streams{database=\"shop\"} "));
        line.and_then(|count| count.parse::<usize>().ok()).unwrap_or_else(|| panic!("{metrics}"))
    };
    for _ in 0..3 {
        let listeners = [(); 3].map(|()| listen(&served, "", ""));
        assert_eq!(streams(), 3);
        drop(listeners);
        let begun = std::time::Instant::now();
        while streams() > 0 {
            // Somebody who is gone is noticed when he is to be told something.
            assert!(begun.elapsed().as_secs() < 30, "streams that nobody hears");
            served.client.put(&note("a"), "{}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
