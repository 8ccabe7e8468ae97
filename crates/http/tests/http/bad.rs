//! What nobody should send.

use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

use super::client::read_answer;
use super::*;

#[test]
fn documents_that_are_none_are_refused() {
    let served = Served::with_notes();
    let client = &served.client;
    let post = |body: &[u8]| {
        let headers = [("Content-Type", "application/json")];
        told(&client.ask("POST", &format!("{NOTES}/documents"), &headers, body))
    };
    for body in ["", "{", "{\"a\": 1,}", "nul", "{} {}", "\"\u{1}\"", "\u{feff}{}", "NaN", "1e"] {
        assert_eq!(post(body.as_bytes()), of(400, "22P02"), "{body}");
    }
    assert_eq!(post(b"\"\xff\""), of(400, "22021"));
    // A half of a pair of surrogates is no character; the character 0 is in no text.
    assert_eq!(post(br#""\ud800""#).0, 400);
    assert_eq!(post(br#""\u0000""#), of(400, "22P05"));
    for deep in [300, 100_000, 1_000_000] {
        let (status, code) = post("[".repeat(deep).as_bytes());
        assert!(status == 400 || status == 413, "{deep}: {status} {code}");
        let whole = "[".repeat(deep) + &"]".repeat(deep);
        let (status, code) = post(whole.as_bytes());
        assert!(status == 400 || status == 413, "{deep}: {status} {code}");
    }
    // Of names that are said twice the last one counts, as in jsonb.
    assert_eq!(client.put(&note("twice"), r#"{"a": 1, "a": 2}"#).status, 201);
    assert_eq!(client.get(&note("twice")).body, r#"{"a": 2}"#);
    assert_eq!(served.rows("SELECT count(*) FROM notes"), 1);
}

#[test]
fn bodies_are_as_long_and_of_the_kind_that_they_may_be() {
    let served = Served::with(Options { body_bytes: 100_000, ..Options::default() }, cairn_server::Options::default());
    let client = &served.client;
    client.put(NOTES, "");
    let huge = format!("\"{}\"", "x".repeat(100_000));
    assert_eq!(told(&client.put(&note("a"), &huge)), of(413, "54000"));
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""] {
        let answer = client.ask("PUT", &note("a"), &[("Content-Type", kind)], "{}");
        assert_eq!(told(&answer), of(415, "0A000"), "{kind}");
    }
    assert_eq!(client.ask("PUT", &note("a"), &[("Content-Type", "Application/JSON; charset=utf-8")], "{}").status, 201);
}

#[test]
fn a_document_of_many_pages_is_kept() {
    let served = Served::with_notes();
    let huge = format!("\"{}\"", "x".repeat(10_000_000));
    assert_eq!(served.client.put(&note("a"), &huge).status, 201);
    assert_eq!(served.client.get(&note("a")).body, huge);
}

#[test]
fn a_body_that_never_ends_is_let_go_of() {
    let options = Options { request_timeout: Duration::from_millis(300), ..Options::default() };
    let served = Served::with(options, cairn_server::Options::default());
    let client = &served.client;
    client.put(NOTES, "");
    for path in [format!("{NOTES}/documents"), format!("{NOTES}/bulk")] {
        let mut stream = client.connect();
        let headers = [("Content-Type", "application/json"), ("Content-Length", "1000")];
        stream.write_all(client.head("POST", &path, &headers).as_bytes()).unwrap();
        stream.write_all(b"[1").unwrap();
        let begun = Instant::now();
        let answer = read_answer(&mut BufReader::new(stream), false);
        assert!([408, 504].contains(&answer.status) && begun.elapsed() < Duration::from_secs(5), "{answer:?}");
    }
}

#[test]
fn names_lead_nowhere_else() {
    let served = Served::with_notes();
    let client = &served.client;
    for name in ["..%2F..%2Fetc%2Fpasswd", "..", "shop.cairn", "shop%00", "SHOP", "%2Ftmp%2Fx"] {
        assert_eq!(client.get(&format!("/db/{name}/collections")).status, 404, "{name}");
    }
    for name in ["pg_class", "pg_catalog.pg_class", "a%22%3B%20DROP%20TABLE%20notes%3B--", "x%27"] {
        let status = client.get(&format!("/db/shop/collections/{name}")).status;
        assert!([400, 404].contains(&status), "{name}: {status}");
    }
    let odd = "/db/shop/collections/a%22%3B%20DROP%20TABLE%20notes%3B--";
    assert_eq!(client.put(odd, "").status, 201);
    assert_eq!(client.put(&format!("{odd}/documents/x"), "{}").status, 201);
    assert_eq!(client.get("/db/shop/collections").json()["collections"].as_array().unwrap().len(), 2);
    let long = "x".repeat(64);
    assert_eq!(told(&client.put(&format!("/db/shop/collections/{long}"), "")), of(400, "42602"));
    for (method, path, status) in [
        // (The console.)
        ("GET", "/", 200),
        ("GET", "//", 404),
        ("GET", "/nothing", 404),
        ("DELETE", "/db", 405),
        ("TRACE", "/healthz", 405),
        ("GET", "/db/shop/collections/notes/documents/", 404),
        ("GET", "/db//collections", 404),
    ] {
        assert_eq!(client.ask(method, path, &[], "").status, status, "{method} {path}");
    }
}

#[test]
fn what_is_no_http_is_hung_up_on() {
    let served = Served::new();
    for bytes in [&b"\x01\x02\r\n\r\n"[..], b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00"] {
        let mut stream = served.client.connect();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    let mut stream = served.client.connect();
    let _ = stream.write_all(format!("GET / HTTP/1.1\r\nX: {}\r\n", "y".repeat(1 << 20)).as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(served.client.get("/healthz").status, 200);
}
