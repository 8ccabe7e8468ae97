//! What goes wrong: line by line what is listed of bad input and faults, where another file has not got it.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cairn_storage::io::SimDisk;
use cairn_storage::{Environment, Store};

use super::listener::Listener;
use super::*;

const JSON: (&str, &str) = ("Content-Type", "application/json");
const MERGE: (&str, &str) = ("Content-Type", "application/merge-patch+json");

#[test]
fn conditions_are_of_all_that_tags_can_say() {
    let served = Served::with_notes();
    let client = &served.client;
    let old = client.put(&note("a"), "1").etag().to_owned();
    let put =
        |id: &str, headers: &[(&str, &str)]| client.ask("PUT", &note(id), &[&[JSON], headers].concat(), "2").status;
    // What is put only if it is in none of these states.
    assert_eq!(put("a", &[("If-None-Match", &old)]), 412);
    assert_eq!(put("a", &[("If-None-Match", &format!("\"x\", W/{old}"))]), 412);
    assert_eq!(put("a", &[("If-None-Match", "\"x\"")]), 200);
    assert_eq!(put("a", &[("If-None-Match", &old)]), 200);
    assert_eq!(put("b", &[("If-None-Match", &old)]), 201);
    // Both at once of what is put, and what would not be looked at.
    assert_eq!(put("a", &[("If-None-Match", "\"x\""), ("If-Match", "*")]), 400);
    for (method, kind, body) in [("PATCH", MERGE, "{}"), ("DELETE", JSON, "")] {
        for tag in ["*", "\"x\""] {
            let answer = client.ask(method, &note("a"), &[kind, ("If-None-Match", tag)], body);
            assert_eq!(told(&answer), of(400, "22023"), "{method} {tag}");
        }
    }
    // A weak tag is none of what has to be so.
    let now = client.get(&note("a")).etag().to_owned();
    for (tag, status) in
        [(now.clone(), 200), (format!("W/{now}"), 412), ("\"x\"".to_owned(), 412), ("*".to_owned(), 200)]
    {
        assert_eq!(client.ask("GET", &note("a"), &[("If-Match", &tag)], "").status, status, "{tag}");
    }
    // Of many who put what has not been in one state, all come through one after the other, and none is lost.
    let versions: std::collections::BTreeSet<i64> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..6)
            .map(|n| {
                let client = client.with(&client.secret);
                scope.spawn(move || {
                    let answer = client.ask("PUT", &note("c"), &[JSON, ("If-None-Match", "\"x\"")], n.to_string());
                    assert!([200, 201].contains(&answer.status), "{answer:?}");
                    answer.json()["version"].as_i64().unwrap()
                })
            })
            .collect();
        tries.into_iter().map(|each| each.join().unwrap()).collect()
    });
    assert_eq!(versions.len(), 6);
}

#[test]
fn the_tag_of_a_document_that_was_deleted_and_made_again_fails_everywhere() {
    let served = Served::with_notes();
    let client = &served.client;
    let old = client.put(&note("a"), r#"{"n": 1}"#).etag().to_owned();
    client.delete(&note("a"));
    client.put(&note("a"), r#"{"n": 1}"#);
    let condition = ("If-Match", old.as_str());
    assert_eq!(client.ask("PUT", &note("a"), &[JSON, condition], "2").status, 412);
    assert_eq!(client.ask("PATCH", &note("a"), &[MERGE, condition], "{}").status, 412);
    assert_eq!(client.ask("DELETE", &note("a"), &[condition], "").status, 412);
    assert_eq!(client.ask("GET", &note("a"), &[condition], "").status, 412);
    assert_eq!(client.ask("GET", &note("a"), &[("If-None-Match", &old)], "").status, 200);
    let tag = old.trim_matches('"');
    for operation in
        [json!({ "op": "put", "doc": 1 }), json!({ "op": "merge", "patch": {} }), json!({ "op": "delete" })]
    {
        let mut operation = operation;
        for (name, value) in [("collection", "notes"), ("id", "a"), ("if_match", tag)] {
            operation[name] = json!(value);
        }
        let answer = client.post("/db/shop/batch", &json!({ "operations": [operation] }).to_string());
        assert_eq!(told(&answer), of(412, "27000"), "{operation}");
    }
    assert_eq!(served.rows("SELECT count(*) FROM notes WHERE doc ->> 'n' = '1'"), 1);
}

#[test]
fn races_for_one_state_have_one_winner_with_sql_among_them() {
    let served = Served::with_notes();
    let client = &served.client;
    for _ in 0..10 {
        let put = client.put(&note("a"), "{}");
        let (tag, version) = (put.etag().to_owned(), put.json()["version"].as_i64().unwrap());
        let won: usize = std::thread::scope(|scope| {
            let over_http = (0..3).map(|_| {
                let (client, tag) = (client.with(&client.secret), tag.clone());
                scope.spawn(move || {
                    usize::from(
                        client.ask("PATCH", &note("a"), &[MERGE, ("If-Match", &tag)], "{\"n\": 1}").status == 200,
                    )
                })
            });
            let by_sql = (0..3).map(|_| {
                let conn = served.database.connect().unwrap();
                scope.spawn(move || {
                    let sql = "UPDATE notes SET doc = '{}' WHERE id = 'a' AND version = $1";
                    conn.execute(sql, (version,)).map_or(0, |changed| changed as usize)
                })
            });
            let tries: Vec<_> = over_http.chain(by_sql).collect();
            tries.into_iter().map(|each| each.join().unwrap()).sum()
        });
        assert_eq!(won, 1);
    }
}

/// A client that takes nothing of its stream is let go of, and in nobody's way until then.
#[test]
fn who_takes_nothing_of_a_stream_is_let_go_of() {
    let server =
        cairn_server::Options { output_timeout: Duration::from_millis(500), ..cairn_server::Options::default() };
    let served = Served::with(Options::default(), server);
    let client = &served.client;
    client.put(NOTES, "");
    let mut takes = Listener::begin(client, "", "").unwrap();
    let mut stuck = client.connect();
    stuck.write_all(client.head("GET", &format!("{NOTES}/changes"), &[]).as_bytes()).unwrap();
    let big = format!("\"{}\"", "x".repeat(500_000));
    let connections = || {
        let told = client.get("/metrics").body;
        let line = told.lines().find(|line| line.starts_with("cairn_http_connections ")).unwrap().to_owned();
        line.rsplit_once(' ').unwrap().1.parse::<u32>().unwrap()
    };
    // (Its own connection is one.)
    let begun = Instant::now();
    let mut count = 0;
    while count < 60 || connections() > 2 {
        assert_eq!(client.put(&note(&format!("n{count}")), &big).status, 201);
        takes.expect("insert", &format!("n{count}"));
        count += 1;
        assert!(begun.elapsed() < Duration::from_secs(60), "it is kept");
    }
    drop(stuck);
}

#[test]
fn a_storm_of_wrong_tokens_keeps_nobody_from_coming_in() {
    let served = Served::with_notes();
    let client = &served.client;
    client.put(&note("a"), "{}");
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let client = client.with("");
            scope.spawn(move || {
                for n in 0..60 {
                    let secret = match n % 4 {
                        0 => format!("cairn_{thread}{n}"),
                        1 => "x".repeat(20_000),
                        2 => format!("e{thread}.{n}.z"),
                        _ => "\u{7f}".to_owned(),
                    };
                    let status = client.with(&secret).get(&note("a")).status;
                    assert!([400, 401].contains(&status), "{status}");
                }
            });
        }
        for _ in 0..60 {
            let begun = Instant::now();
            assert_eq!(client.get(&note("a")).status, 200);
            assert!(begun.elapsed() < Duration::from_secs(5));
        }
    });
}

/// A document grows by patches to thousands of pages, with an index on what grows, and comes back.
#[test]
fn a_document_that_outgrows_its_page_by_far_is_one_still() {
    let served = Served::with_notes();
    let client = &served.client;
    assert_eq!(client.post(&format!("{NOTES}/indexes"), r#"{"path": "n"}"#).status, 201);
    client.put(&note("a"), r#"{"n": 1}"#);
    for size in [1_000, 10_000, 100_000, 4_000_000, 10] {
        let patch = json!({ "text": "x".repeat(size), "n": size }).to_string();
        let patched = client.ask("PATCH", &note("a"), &[MERGE, ("If-Match", "*")], patch);
        assert_eq!(patched.status, 200);
        let found =
            client.post(&format!("{NOTES}/query"), &json!({ "filter": { "n": size }, "select": ["n"] }).to_string());
        assert_eq!(found.json()["documents"].as_array().unwrap().len(), 1, "{size}");
        assert_eq!(client.get(&note("a")).json()["text"].as_str().unwrap().len(), size);
    }
    served.database.verify().unwrap();
}

#[test]
fn ids_that_are_no_text_are_the_path_of_nothing() {
    let served = Served::with_notes();
    for id in ["%ED%A0%80", "%C0%AF", "%FF", "%00", "%2f", "%2", "%", "a%2Fb/c"] {
        let answer = served.client.get(&note(id));
        assert_eq!(answer.status, 404, "{id} {answer:?}");
    }
    let long = "x".repeat(60_000);
    let status = served.client.put(&note(&long), "{}").status;
    assert!((400..500).contains(&status), "{status}");
    assert_eq!(served.rows("SELECT count(*) FROM notes"), 0);
}

/// Texts that are no Unicode, wherever JSON is taken.
#[test]
fn halves_of_pairs_are_refused_wherever_they_stand() {
    let served = Served::with_notes();
    let client = &served.client;
    client.put(&note("a"), "{}");
    let half = r#""\ud800""#;
    let ways = [
        ("PATCH", note("a"), MERGE.1, format!("{{\"a\": {half}}}")),
        (
            "PATCH",
            note("a"),
            "application/json-patch+json",
            format!("[{{\"op\": \"add\", \"path\": \"/a\", \"value\": {half}}}]"),
        ),
        ("POST", format!("{NOTES}/bulk"), JSON.1, format!("[{half}]")),
        ("POST", format!("{NOTES}/bulk"), "application/x-ndjson", format!("{{}}\n{half}\n")),
        ("POST", format!("{NOTES}/query"), JSON.1, format!("{{\"filter\": {{\"a\": {half}}}}}")),
        ("POST", format!("{NOTES}/query"), JSON.1, format!("{{\"sort\": [{half}]}}")),
        ("POST", format!("{NOTES}/aggregate"), JSON.1, format!("{{\"group\": {{{half}: \"a\"}}}}")),
        (
            "POST",
            "/db/shop/batch".to_owned(),
            JSON.1,
            format!("{{\"operations\": [{{\"op\": \"insert\", \"collection\": \"notes\", \"doc\": {half}}}]}}"),
        ),
        ("POST", "/db/shop/sql".to_owned(), JSON.1, format!("{{\"sql\": \"SELECT $1\", \"params\": [{half}]}}")),
        ("PUT", format!("{NOTES}/schema"), JSON.1, format!("{{\"const\": {half}}}")),
    ];
    for (method, path, kind, body) in ways {
        let answer = client.ask(method, &path, &[("Content-Type", kind)], &body);
        assert_eq!(told(&answer).0, 400, "{method} {path} {body}: {answer:?}");
    }
    assert_eq!((served.rows("SELECT count(*) FROM notes"), client.get(&note("a")).body.as_str()), (1, "{}"));
}

#[test]
fn a_damaged_database_is_told_and_those_beside_it_answer() {
    let folder = TempDir::new().unwrap();
    for name in ["shop", "bad"] {
        let database = Database::open(folder.path().join(format!("{name}.cairn"))).unwrap();
        database.connect().unwrap().create_collection("notes").unwrap().put("a", "{}").unwrap();
        database.close().unwrap();
    }
    let bad = folder.path().join("bad.cairn");
    let mut bytes = std::fs::read(&bad).unwrap();
    bytes.iter_mut().step_by(3).for_each(|byte| *byte ^= 0x5a);
    std::fs::write(&bad, bytes).unwrap();
    std::fs::write(folder.path().join("none.cairn"), "no database").unwrap();
    let server = Server::of_folder(folder.path(), cairndb::Options::default()).unwrap();
    let server =
        server.with(cairn_server::Options { trusts_all: true, ..cairn_server::Options::default() }).start().unwrap();
    let options = Options { addresses: vec!["127.0.0.1:0".parse().unwrap()], ..Options::default() };
    let http = Running::start(server.services(), options).unwrap();
    let client = Client::new(http.addresses()[0], "");
    for _ in 0..2 {
        for name in ["bad", "none"] {
            let answer = client.get(&format!("/db/{name}/collections/notes/documents/a"));
            let (status, code) = told(&answer);
            assert!(status >= 400 && code.starts_with("XX00") || code.starts_with("58"), "{name}: {answer:?}");
        }
        assert_eq!(client.get(&note("a")).body, "{}");
    }
    http.stop();
    server.stop();
}

/// Where there is no room, what is written is refused as that, what was answered is there, and what is read is answered; with room it goes on.
#[test]
fn a_full_disk_refuses_writes_and_answers_reads() {
    let disk = SimDisk::new(36);
    let environment = Environment { files: Arc::new(disk.clone()), ..Environment::real() };
    let mut options = cairn_storage::Options::default();
    options.log_segment_bytes = 64 << 10;
    let store = Store::open_with(std::path::Path::new("shop"), options, environment).unwrap();
    let database = Database::over(store, cairndb::Options::default().name("shop")).unwrap();
    let server = Server::over(database.clone())
        .with(cairn_server::Options { trusts_all: true, ..Default::default() })
        .start()
        .unwrap();
    let options = Options { addresses: vec!["127.0.0.1:0".parse().unwrap()], ..Options::default() };
    let http = Running::start(server.services(), options).unwrap();
    let client = Client::new(http.addresses()[0], "");
    assert_eq!(client.put(NOTES, "").status, 201);
    disk.set_capacity(Some(disk.space_used() + (1 << 20)));
    let pad = format!("\"{}\"", "x".repeat(20_000));
    let (mut written, mut refused) = (0, None);
    for n in 0..500 {
        let answer = client.put(&note(&format!("n{n}")), &pad);
        if answer.status != 201 {
            refused = Some(told(&answer));
            break;
        }
        written += 1;
    }
    let (status, code) = refused.expect("there is an end of room");
    assert!([500, 503].contains(&status) && (code.starts_with("53") || code.starts_with("58")), "{status} {code}");
    assert!(written > 0);
    assert_eq!(client.get(&note("n0")).body, pad);
    assert_eq!(client.get(&format!("{NOTES}/documents?count=true&limit=1")).json()["count"], json!(written));
    disk.set_capacity(None);
    let again = client.put(&note("again"), &pad);
    assert_eq!(again.status, 201, "{again:?}");
    database.verify().unwrap();
    drop(database);
    http.stop();
    server.stop();
}
