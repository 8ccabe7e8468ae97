//! Who may do what.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use cairn_server::Log;

use super::*;

#[test]
fn nobody_comes_in_without_a_token_that_is_known() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told_to = lines.clone();
    let log = Log::to(move |line| told_to.lock().unwrap().push(line.to_owned()));
    let options = Options { logs_requests: true, ..Options::default() };
    let served = Served::with(options, cairn_server::Options { log, ..Default::default() });
    let nobody = served.client.with("");
    let refused = nobody.get("/db");
    assert_eq!((told(&refused), refused.header("www-authenticate")), (of(401, "28P01"), Some("Bearer")));
    let wrong = served.client.with(&"cairn_0".repeat(5));
    for path in ["/db", "/db/shop/collections", "/metrics", "/nothing"] {
        assert_eq!(wrong.get(path).status, 401, "{path}");
    }
    let basic = served.client.ask("GET", "/db", &[("Authorization", "Basic eDp5")], "");
    assert_eq!(basic.status, 401);
    assert_eq!([nobody.get("/healthz").status, nobody.get("/readyz").status], [200, 200]);
    assert_eq!(served.client.get("/db").status, 200);
    let lines = lines.lock().unwrap().join("\n");
    assert!(lines.contains("event=token_refused method=GET path=/db status=401"), "{lines}");
    assert!(lines.contains("event=request method=GET path=/db status=200") && lines.contains("token=all"), "{lines}");
    for secret in [&served.client.secret, &wrong.secret] {
        assert!(!lines.contains(secret.as_str()) && !lines.contains(&secret[6..]), "{lines}");
    }
}

#[test]
fn a_token_lets_do_what_its_scopes_say() {
    let (reads, mut reader) = token("reader", &[Scope::Read]);
    reader.collections = vec!["notes".to_owned()];
    let (writes, mut writer) = token("writer", &[Scope::Write]);
    writer.databases = vec!["shop".to_owned()];
    let (elsewhere, mut other) = token("other", &Scope::ALL);
    other.databases = vec!["other".to_owned()];
    let (late, mut expired) = token("late", &Scope::ALL);
    expired.expires = Some(SystemTime::now() - Duration::from_secs(1));
    let options = Options { tokens: vec![reader, writer, other, expired], ..Options::default() };
    let served = Served::with(options, cairn_server::Options::default());
    served.client.put(NOTES, "");
    served.client.put("/db/shop/collections/secret", "");
    served.client.put(&note("a"), "{}");
    let ask = |secret: &str, method: &str, path: &str| {
        served.client.with(secret).ask(method, path, &[("Content-Type", "application/json")], "{}").status
    };
    for (secret, method, path, status) in [
        (&reads, "GET", note("a").as_str(), 200),
        (&reads, "PUT", note("a").as_str(), 403),
        (&reads, "DELETE", note("a").as_str(), 403),
        (&reads, "DELETE", NOTES, 403),
        (&reads, "GET", "/db/shop/collections", 200),
        // Whether there is one or not, nobody is told.
        (&reads, "GET", "/db/shop/collections/secret", 403),
        (&reads, "GET", "/db/shop/collections/none", 403),
        (&reads, "GET", "/db/shop/collections/public.notes", 403),
        (&writes, "GET", note("a").as_str(), 403),
        (&writes, "PUT", note("b").as_str(), 201),
        (&writes, "PUT", "/db/shop/collections/new", 403),
        (&elsewhere, "GET", note("a").as_str(), 403),
        (&elsewhere, "GET", "/db/none/collections", 403),
        (&elsewhere, "GET", "/db/postgres/collections", 403),
        (&elsewhere, "GET", "/db/other/collections", 404),
        (&late, "GET", note("a").as_str(), 401),
    ] {
        assert_eq!(ask(secret, method, path), status, "{method} {path}");
    }
    // Who may see some collections is told of those, and of no others.
    let listed = served.client.with(&reads).get("/db/shop/collections").json();
    assert_eq!(listed, json!({ "collections": ["notes"] }));
    assert_eq!(served.rows("SELECT count(*) FROM notes"), 2);
}

#[test]
fn tokens_of_a_folder_are_in_its_own_database_and_can_be_revoked() {
    let folder = TempDir::new().unwrap();
    let server = Server::of_folder(folder.path(), cairndb::Options::default()).unwrap();
    let server = server.with(cairn_server::Options::default()).start().unwrap();
    let services = server.services();
    let own = services.own().unwrap().connect().unwrap();
    let options = Options { addresses: vec!["127.0.0.1:0".parse().unwrap()], ..Options::default() };
    let http = Running::start(services.clone(), options).unwrap();
    let (secret, token) = token("it's \\ me", &Scope::ALL);
    let client = Client::new(http.addresses()[0], &secret);
    assert_eq!(client.get("/db").status, 401, "nobody has made one");
    own.execute_script(&cairn_http::create_token(&token)).unwrap();
    same(&client.get("/db").json(), json!({"databases": []}));
    drop(Database::open(folder.path().join("shop.cairn")).unwrap());
    same(&client.get("/db").json(), json!({"databases": ["shop"]}));
    assert_eq!(client.put(NOTES, "").status, 201);
    // What tokens are in is nobody's who has one.
    for name in ["cairn", "postgres"] {
        assert_eq!(told(&client.get(&format!("/db/{name}/collections"))), of(403, "42501"));
    }
    own.execute_script("UPDATE server.tokens SET expires = now() - interval '1 second'").unwrap();
    assert_eq!(client.get("/db").status, 401);
    own.execute_script("UPDATE server.tokens SET expires = now() + interval '1 hour'").unwrap();
    assert_eq!(client.get("/db").status, 200);
    own.execute_script(&cairn_http::revoke_token("it's \\ me")).unwrap();
    assert_eq!(client.get("/db").status, 401);
    drop(own);
    drop(services);
    http.stop();
    server.stop();
}

#[test]
fn a_page_of_elsewhere_reaches_nothing() {
    let served = Served::with_notes();
    let ask = |host: &str| served.client.ask("GET", "/healthz", &[("Host", host)], "").status;
    assert_eq!(
        [ask("localhost"), ask("127.0.0.1:1"), ask("evil.example"), ask("evil.example:80")],
        [200, 200, 421, 421]
    );
    let preflight = [("Origin", "https://app.example"), ("Access-Control-Request-Method", "PUT")];
    let answer = served.client.ask("OPTIONS", &note("a"), &preflight, "");
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let options = Options { origins: vec!["https://app.example".to_owned()], ..Options::default() };
    let named = Served::with(options, cairn_server::Options::default());
    let answer = named.client.with("").ask("OPTIONS", &note("a"), &preflight, "");
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    let other = [("Origin", "https://evil.example"), ("Access-Control-Request-Method", "PUT")];
    assert_eq!(named.client.ask("OPTIONS", &note("a"), &other, "").header("access-control-allow-origin"), None);
}

#[test]
fn addresses_that_others_reach_need_more() {
    let reached = || Options { addresses: vec!["0.0.0.0:0".parse().unwrap()], ..Options::default() };
    let server = cairn_server::Options::default();
    assert_eq!(reached().check(&server).unwrap_err().sqlstate().as_str(), "42501");
    let insecure = cairn_server::Options { is_insecure: true, ..server };
    assert!(reached().check(&insecure).is_ok());
    let trusting = cairn_server::Options { trusts_all: true, ..insecure };
    assert_eq!(reached().check(&trusting).unwrap_err().sqlstate().as_str(), "42501");
}
