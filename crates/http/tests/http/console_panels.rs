//! What the console's panels ask for: tokens, channels, a document's history.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use cairn_server::Log;

use super::console::{Page, login};
use super::*;

/// A server of a folder, whose own database has its tokens.
struct Folder {
    http: Running,
    server: cairn_server::Running,
    lines: Arc<Mutex<Vec<String>>>,
    _folder: TempDir,
}

impl Folder {
    fn new() -> Folder {
        let folder = TempDir::new().unwrap();
        drop(Database::open(folder.path().join("shop.cairn")).unwrap());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let told_to = lines.clone();
        let log = Log::to(move |line| told_to.lock().unwrap().push(line.to_owned()));
        let server = Server::of_folder(folder.path(), cairndb::Options::default()).unwrap();
        let server = server.with(cairn_server::Options { log, ..Default::default() }).start().unwrap();
        let options = Options { addresses: vec!["127.0.0.1:0".parse().unwrap()], ..Options::default() };
        let http = Running::start(server.services(), options).unwrap();
        Folder { http, server, lines, _folder: folder }
    }

    /// Who comes in with a token like this one.
    fn page(&self, name: &str, scopes: &[Scope], change: impl FnOnce(&mut Token)) -> Page {
        let (secret, mut token) = token(name, scopes);
        change(&mut token);
        let services = self.server.services();
        services.own().unwrap().connect().unwrap().execute_script(&cairn_http::create_token(&token)).unwrap();
        let client = Client::new(self.http.addresses()[0], "");
        Page::of(&client, &login(&client, &secret))
    }

    fn end(self) {
        self.http.stop();
        self.server.stop();
    }
}

fn names(page: &Page) -> Vec<String> {
    let tokens = page.ask("GET", "/console/tokens", "").json()["tokens"].as_array().cloned().unwrap();
    tokens.iter().map(|token| token["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tokens_are_made_seen_and_revoked_by_who_may_make_them_and_let_do_no_more() {
    let folder = Folder::new();
    let soon = SystemTime::now() + Duration::from_secs(3600);
    let seconds = soon.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let maker = folder.page("maker", &[Scope::Read, Scope::Sql, Scope::Tokens], |token| {
        token.databases = vec!["shop".to_owned()];
        token.expires = Some(soon);
    });
    folder.page("everything", &Scope::ALL, |_| {});
    let make = |page: &Page, body: Value| page.ask("POST", "/console/tokens", &body.to_string());
    let right = json!({"name": "it's \\ 'me", "scopes": ["sql"], "databases": ["shop"], "expires": seconds - 60});
    let made = make(&maker, right.clone());
    assert_eq!((made.status, made.header("cache-control")), (201, Some("no-store")));
    let secret = made.json()["secret"].as_str().unwrap().to_owned();
    let client = Client::new(folder.http.addresses()[0], &secret);
    assert_eq!(client.post("/db/shop/sql", r#"{"sql": "SELECT 1"}"#).status, 200);
    assert_eq!(told(&client.put("/db/shop/collections/notes", "")), of(403, "42501"));
    assert_eq!(names(&maker), ["it's \\ 'me"], "its own, and those that do more, are not there");
    assert_eq!(told(&make(&maker, right.clone())), of(409, "23505"));
    // More than he may himself, for longer, or what makes others.
    for (name, value) in [
        ("scopes", json!(["write"])),
        ("scopes", json!(["tokens"])),
        ("databases", json!([])),
        ("databases", json!(["shop", "other"])),
        ("expires", json!(seconds + 60)),
        ("expires", json!(null)),
    ] {
        let mut body = right.clone();
        body["name"] = json!("more");
        body[name] = value;
        assert_eq!(told(&make(&maker, body)), of(403, "42501"), "{name}");
    }
    for (name, value) in [
        ("scopes", json!([])),
        ("scopes", json!(["all"])),
        ("name", json!("")),
        ("expires", json!(1)),
        ("expires", json!(u64::MAX)),
    ] {
        let mut body = right.clone();
        body["name"] = json!("wrong");
        body[name] = value;
        assert_eq!(told(&make(&maker, body)), of(400, "22023"), "{name}");
    }
    assert_eq!(names(&maker).len(), 1);
    // Who may not, may not, whatever else his token lets him do.
    let other = folder.page("other", &[Scope::Read, Scope::Write, Scope::Manage, Scope::Sql], |_| {});
    let revoke =
        |page: &Page, name: &str| page.ask("POST", "/console/tokens/revoke", &json!({ "name": name }).to_string());
    assert_eq!(told(&other.ask("GET", "/console/tokens", "")), of(403, "42501"));
    assert_eq!(told(&make(&other, right)), of(403, "42501"));
    assert_eq!(told(&revoke(&other, "maker")), of(403, "42501"));
    assert_eq!(told(&revoke(&maker, "everything")), of(404, "P0002"));
    assert_eq!(revoke(&maker, "it's \\ 'me").status, 204);
    assert_eq!(client.post("/db/shop/sql", r#"{"sql": "SELECT 1"}"#).status, 401);
    // A token alone, without a session of the console, is not enough.
    let (bare, mut token) = token("bare", &Scope::ALL);
    token.expires = None;
    let services = folder.server.services();
    services.own().unwrap().connect().unwrap().execute_script(&cairn_http::create_token(&token)).unwrap();
    assert_eq!(told(&client.with(&bare).get("/console/tokens")), of(403, "42501"));
    drop(services);
    let lines = folder.lines.lock().unwrap().join("\n");
    assert!(lines.contains("event=token_made") && lines.contains("event=token_revoked"), "{lines}");
    assert!(lines.contains("token=maker") && !lines.contains(&secret) && !lines.contains(&secret[6..]), "{lines}");
    drop((maker, other));
    folder.end();
}

#[test]
fn the_tokens_of_a_configuration_are_not_made_here() {
    let served = Served::new();
    let page = Page::new(&served);
    same(&page.ask("GET", "/console/tokens", "").json(), json!({ "tokens": null }));
    let asked = json!({"name": "a", "scopes": ["read"]}).to_string();
    assert_eq!(told(&page.ask("POST", "/console/tokens", &asked)), of(409, "55000"));
}

#[test]
fn a_document_has_the_history_that_its_feed_keeps() {
    let served = Served::with_notes();
    let conn = served.database.connect().unwrap();
    for id in ["a", "b"] {
        assert_eq!(served.client.put(&note(id), r#"{"n": 1.50}"#).status, 201);
    }
    conn.execute_script(r#"UPDATE notes SET doc = '{"n": 2}' WHERE id = 'a'; DELETE FROM notes; INSERT INTO notes (id, doc) VALUES ('a', '{}')"#)
        .unwrap();
    let page = Page::new(&served);
    let history = |id: &str| page.ask("GET", &format!("{}/console/history", note(id)), "");
    let kinds = |answer: &Answer| -> Vec<String> {
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect()
    };
    let of_a = history("a");
    assert_eq!(kinds(&of_a), ["insert", "update", "delete", "insert", "end"]);
    assert!(of_a.body.contains(r#""doc":{"n": 1.50}"#), "{}", of_a.body);
    assert_eq!(kinds(&history("b")), ["insert", "delete", "end"]);
    assert_eq!(kinds(&history("nobody")), ["end"]);
    // Many batches of changes, most of them of others.
    conn.execute_script("INSERT INTO notes (id, doc) SELECT 'many' || n, '{}' FROM generate_series(1, 1000) AS n")
        .unwrap();
    assert_eq!(kinds(&history("many1000")), ["insert", "end"]);
    conn.execute_script("ALTER TABLE notes SET (change_feed = off)").unwrap();
    assert_eq!(told(&history("a")), of(409, "55000"));
}

#[test]
fn who_may_run_sql_listens_to_channels() {
    let (documents, token) = token("documents", &[Scope::Read]);
    let served = Served::with(Options { tokens: vec![token], ..Options::default() }, cairn_server::Options::default());
    let listen = |page: &Page, channels: Value| {
        page.ask("POST", "/db/shop/console/listen", &json!({ "channels": channels }).to_string())
    };
    let page = Page::new(&served);
    for channels in [json!([]), json!(vec!["c"; 17])] {
        assert_eq!(told(&listen(&page, channels)), of(400, "22023"));
    }
    let other = Page::of(&served.client, &login(&served.client, &documents));
    assert_eq!(told(&listen(&other, json!(["c"]))), of(403, "42501"));
    // It hears what is told to its channel, until the server ends.
    let database = served.database.clone();
    let told = std::thread::spawn(move || {
        let conn = database.connect().unwrap();
        // (Nobody says here when it listens.)
        for _ in 0..100 {
            conn.execute_script("NOTIFY other, 'x'; NOTIFY c, 'hello'").unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        served.http.stop();
    });
    let heard = listen(&page, json!(["c"]));
    told.join().unwrap();
    assert!(heard.body.contains("event: listening") && heard.body.contains(r#""payload":"hello""#), "{}", heard.body);
    assert!(heard.body.contains(r#""channel":"c""#) && !heard.body.contains(r#""channel":"other""#), "{}", heard.body);
}

/// The events that are kept, the last one first, each with what it is of.
fn audit(client: &Client) -> Vec<(String, Value)> {
    let answer = client.get("/audit");
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")), "{}", answer.body);
    let events = answer.json()["events"].as_array().cloned().unwrap();
    events.iter().map(|event| (event["event"].as_str().unwrap().to_owned(), event["of"].clone())).collect()
}

#[test]
fn what_was_done_is_kept_for_who_manages_all_of_the_server() {
    let folder = Folder::new();
    let owner = folder.page("owner", &Scope::ALL, |_| {});
    let (secret, manager) = token("manager", &[Scope::Manage]);
    let services = folder.server.services();
    services.own().unwrap().connect().unwrap().execute_script(&cairn_http::create_token(&manager)).unwrap();
    let manager = Client::new(folder.http.addresses()[0], &secret);
    let made = json!({"name": "it's <b>", "scopes": ["read"]});
    let told = owner.ask("POST", "/console/tokens", &made.to_string());
    let app = told.json()["secret"].as_str().unwrap().to_owned();
    assert_eq!(owner.ask("POST", "/console/tokens/revoke", &json!({"name": "it's <b>"}).to_string()).status, 204);
    assert_eq!(manager.put("/db/shop/collections/notes", "").status, 201);
    assert_eq!(manager.put("/db/shop/collections/notes/rules", r#"{"list": "true"}"#).status, 204);
    assert_eq!(owner.ask("POST", "/db/shop/console/verify", "").status, 200);
    assert_eq!(Client::new(folder.http.addresses()[0], &app).get("/db").status, 401);
    owner.ask("POST", "/db/shop/sql", &json!({"sql": "SELECT 'hunter2'"}).to_string());
    owner.ask("POST", "/console/logout", "");
    let events = audit(&manager);
    let of = |name: &str| events.iter().find(|(event, _)| event == name).map(|(_, of)| of.clone());
    assert_eq!(of("token_made"), Some(json!({"name": "it's <b>", "token": "owner"})));
    assert_eq!(of("token_revoked"), Some(json!({"name": "it's <b>", "token": "owner"})));
    let rules = json!({"database": "shop", "token": "manager", "collection": "notes", "what": "set"});
    assert_eq!(of("rules"), Some(rules));
    assert_eq!(of("verify").unwrap()["found"], "nothing wrong");
    assert_eq!(of("console_begun").unwrap()["token"], "owner");
    assert_eq!(of("console_ended").unwrap()["token"], "owner");
    assert_eq!(of("token_refused").unwrap()["path"], "/db");
    assert!(of("started").is_some());
    let all = format!("{events:?}");
    for secret in [&secret, &app, &"hunter2".to_owned()] {
        assert!(!all.contains(secret.as_str()) && !all.contains(secret.trim_start_matches("cairn_")), "{all}");
    }
    // It is of all databases: who manages some of them, or looks only, is not told.
    let (some, mut of_shop) = token("some", &Scope::ALL);
    of_shop.databases = vec!["shop".to_owned()];
    let (reads, reader) = token("reader", &[Scope::Read, Scope::Write, Scope::Sql, Scope::Tokens]);
    let (notes, mut of_notes) = token("notes", &[Scope::Manage]);
    of_notes.collections = vec!["notes".to_owned()];
    for token in [of_shop, reader, of_notes] {
        services.own().unwrap().connect().unwrap().execute_script(&cairn_http::create_token(&token)).unwrap();
    }
    for secret in [some, reads, notes] {
        assert_eq!(
            super::told(&Client::new(folder.http.addresses()[0], &secret).get("/audit")),
            super::of(403, "42501")
        );
    }
    folder.end();
}

#[test]
fn a_login_that_the_owner_has_made_is_good_once_and_no_longer_than_its_token_and_its_server() {
    let folder = Folder::new();
    let own = |script: &str| {
        let services = folder.server.services();
        services.own().unwrap().connect().unwrap().execute_script(script).unwrap();
    };
    let make = |name: &str| {
        let (once, random) = (cairn_http::Secret::random().unwrap(), cairn_http::Secret::random().unwrap());
        let mut token = random.token(name, &[Scope::Sql]);
        token.databases = vec!["shop".to_owned()];
        own(&cairn_http::create_console_login(&token, &once));
        once.text().to_owned()
    };
    let client = Client::new(folder.http.addresses()[0], "");
    let enters = |secret: &str| login(&client, secret).status;
    let once = make("one");
    assert_eq!(client.with(&once).get("/db").status, 401, "it is no token");
    let page = Page::of(&client, &login(&client, &once));
    assert_eq!(page.ask("POST", "/db/shop/sql", r#"{"sql": "SELECT 1"}"#).status, 200);
    assert_eq!(enters(&once), 401, "it is good once");
    own(&cairn_http::revoke_token("one"));
    assert_eq!(page.ask("POST", "/db/shop/sql", r#"{"sql": "SELECT 1"}"#).status, 401);
    // One whose token is gone, one whose time is over.
    let gone = make("two");
    own(&cairn_http::revoke_token("two"));
    assert_eq!(enters(&gone), 401);
    let late = make("three");
    own("UPDATE server.logins SET expires = now() - interval '1 second'");
    assert_eq!(enters(&late), 401);
    // One that many use at once lets one in.
    let raced = make("four");
    let came: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| enters(&raced))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(came.iter().filter(|status| **status == 200).count(), 1, "{came:?}");
    // What was made for a server that ran before is for nobody who has its address now.
    let before = make("five");
    folder.http.stop();
    let options = Options { addresses: vec!["127.0.0.1:0".parse().unwrap()], ..Options::default() };
    let http = Running::start(folder.server.services(), options).unwrap();
    assert_eq!(login(&Client::new(http.addresses()[0], ""), &before).status, 401);
    http.stop();
    folder.server.stop();
}
