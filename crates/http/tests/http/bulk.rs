//! Many documents at once.

use std::io::{BufReader, Write};

use super::client::read_answer;
use super::*;

const LINES: (&str, &str) = ("Content-Type", "application/x-ndjson");

fn bulk(query: &str) -> String {
    format!("{NOTES}/bulk{query}")
}

#[test]
fn an_array_or_lines_are_inserted_as_a_whole() {
    let served = Served::with_notes();
    let client = &served.client;
    same(&client.post(&bulk(""), r#"[{"n": 1}, {"n": 2}, 3]"#).json(), json!({"inserted": 3}));
    let lines: String = (0..1000).map(|n| format!("{{\"n\": {n}}}\n")).collect();
    let answer = client.ask("POST", &bulk(""), &[LINES], &lines);
    assert_eq!((answer.status, answer.body.as_str()), (201, r#"{"inserted":1000}"#));
    // All or nothing.
    assert_eq!(told(&client.ask("POST", &bulk(""), &[LINES], lines + "{")), of(400, "22P02"));
    assert_eq!(served.rows("SELECT count(*) FROM notes"), 1003);
    let ids = "{\"id\": \"a\", \"doc\": {\"n\": 1.50}}\n{\"id\": \"b\", \"doc\": []}\n";
    assert_eq!(client.ask("POST", &bulk("?ids=true"), &[LINES], ids).status, 201);
    assert_eq!(client.get(&note("a")).body, r#"{"n": 1.50}"#);
    assert_eq!(told(&client.ask("POST", &bulk("?ids=true"), &[LINES], ids)), of(409, "23505"));
    assert_eq!(told(&client.ask("POST", &bulk("?idz=true"), &[LINES], ids)), of(400, "22023"));
}

#[test]
fn a_prefix_is_inserted_where_that_is_asked_for_and_told() {
    let served = Served::with_notes();
    let client = &served.client;
    let pad = "x".repeat(1000);
    let lines: String = (0..5000).map(|n| format!("{{\"n\": {n}, \"pad\": \"{pad}\"}}\n")).collect();
    let answer = client.ask("POST", &bulk("?atomic=false"), &[LINES], format!("{lines}{{\n{lines}"));
    assert_eq!(told(&answer), of(400, "22P02"));
    let inserted = answer.json()["inserted"].as_i64().unwrap();
    assert!((1..=5000).contains(&inserted), "{inserted}");
    assert_eq!(served.rows("SELECT count(*) FROM notes"), inserted);
    assert_eq!(served.rows("SELECT max((doc ->> 'n')::bigint) + 1 FROM notes"), inserted);
}

#[test]
fn who_breaks_off_leaves_a_prefix_or_nothing() {
    let served = Served::with_notes();
    let client = &served.client;
    for (query, most) in [("", 0), ("?atomic=false", 3000)] {
        let mut stream = client.connect();
        let head = client.head("POST", &bulk(query), &[LINES, ("Content-Length", "100000000")]);
        stream.write_all(head.as_bytes()).unwrap();
        let pad = "x".repeat(1000);
        for n in 0..3000 {
            stream.write_all(format!("{{\"n\": {n}, \"pad\": \"{pad}\"}}\n").as_bytes()).unwrap();
        }
        drop(stream);
        // Whoever asks next is answered when that is over.
        let connections = || {
            let told = client.get("/metrics").body;
            let line = told.lines().find(|line| line.starts_with("cairn_http_connections ")).unwrap().to_owned();
            line.rsplit_once(' ').unwrap().1.parse::<u32>().unwrap()
        };
        while connections() > 1 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let rows = served.rows("SELECT count(*) FROM notes");
        assert!(rows <= most && (rows > 0) == (most > 0), "{query}: {rows}");
        let next: i64 = served.rows("SELECT coalesce(max((doc ->> 'n')::bigint) + 1, 0) FROM notes");
        assert_eq!(next, rows, "a prefix");
    }
}

#[test]
fn a_body_in_chunks_is_taken() {
    let served = Served::with_notes();
    let client = &served.client;
    let mut stream = client.connect();
    let head = client.head("POST", &bulk(""), &[LINES, ("Transfer-Encoding", "chunked")]);
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"4\r\n[1]\n\r\n5\r\n[2,3]\r\n0\r\n\r\n").unwrap();
    let answer = read_answer(&mut BufReader::new(stream), false);
    same(&answer.json(), json!({"inserted": 2}));
}
