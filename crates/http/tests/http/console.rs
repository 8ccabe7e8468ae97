//! What the console's page asks for: sessions, results that are kept, files of them, what its editor is told.

use std::io::Write;
use std::time::{Duration, Instant};

use super::*;

/// Who has come in by the page.
pub struct Page {
    client: Client,
    cookie: String,
    csrf: String,
}

pub fn login(client: &Client, token: &str) -> Answer {
    client.with("").post("/console/login", &json!({ "token": token }).to_string())
}

impl Page {
    pub fn of(client: &Client, answer: &Answer) -> Page {
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap();
        let attributes = cookie.split_once("; ").unwrap().1;
        assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Page { client: client.with(""), cookie, csrf: answer.json()["csrf"].as_str().unwrap().to_owned() }
    }

    pub fn new(served: &Served) -> Page {
        Page::of(&served.client, &login(&served.client, &served.client.secret))
    }

    pub fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let headers =
            [("Cookie", self.cookie.as_str()), ("X-Cairn-Csrf", &self.csrf), ("Content-Type", "application/json")];
        self.client.ask(method, path, &headers, body)
    }

    fn run(&self, sql: &str) -> Value {
        let answer = self.ask("POST", "/db/shop/console/run", &json!({ "sql": sql }).to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    fn page(&self, id: &str, query: &str) -> Answer {
        self.ask("GET", &format!("/console/results/{id}{query}"), "")
    }

    /// Once it is over.
    fn done(&self, told: &Value) -> Value {
        let id = told["id"].as_str().unwrap();
        let mut told = told.clone();
        while told["state"] == "running" {
            told = self.page(id, &format!("?seen={}", told["rows"])).json();
        }
        told
    }

    fn file(&self, id: &str, form: &str) -> Answer {
        let asked = json!({ "form": form }).to_string();
        let ticket = self.ask("POST", &format!("/console/results/{id}/download"), &asked);
        let path = ticket.json()["path"].as_str().unwrap().to_owned();
        let answer = self.client.ask("GET", &path, &[("Cookie", &self.cookie)], "");
        assert_eq!(self.client.ask("GET", &path, &[("Cookie", &self.cookie)], "").status, 401, "it is good once");
        answer
    }
}

#[test]
fn the_page_is_for_everybody_and_loads_nothing_of_elsewhere() {
    let served = Served::new();
    let nobody = served.client.with("");
    let index = nobody.get("/");
    assert_eq!((index.status, index.header("content-type")), (200, Some("text/html; charset=utf-8")));
    for file in cairn_console::FILES {
        let path = format!("/console/page/{}", file.name);
        let answer = nobody.get(&path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(file.kind)), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"), "{policy}");
        assert!(
            policy.contains("frame-ancestors 'none'") && answer.header("x-content-type-options") == Some("nosniff")
        );
        let tag = answer.header("etag").unwrap();
        assert_eq!(nobody.ask("GET", &path, &[("If-None-Match", tag)], "").status, 304);
    }
    for path in ["/console/page/none", "/console/page/..%2Fsrc%2Flib.rs", "/console/page/../src/lib.rs"] {
        assert_eq!(nobody.get(path).status, 404, "{path}");
    }
    // By a name of elsewhere, not even that.
    assert_eq!(nobody.ask("GET", "/", &[("Host", "evil.example")], "").status, 421);
    let none = Served::with(Options { console: false, ..Options::default() }, cairn_server::Options::default());
    assert_eq!([none.client.get("/").status, login(&none.client, &none.client.secret).status], [404, 401]);
}

#[test]
fn a_session_is_shown_by_both_of_its_secrets() {
    let served = Served::new();
    let page = Page::new(&served);
    assert_eq!(page.ask("GET", "/db", "").json(), json!({"databases": ["shop"]}));
    let other = Page::new(&served);
    let ask = |headers: &[(&str, &str)]| page.client.ask("GET", "/db", headers, "").status;
    // The cookie alone, the other secret alone, those of two sessions, one in place of the other.
    assert_eq!(ask(&[("Cookie", &page.cookie)]), 401);
    assert_eq!(ask(&[("X-Cairn-Csrf", &page.csrf)]), 401);
    assert_eq!(ask(&[("Cookie", &page.cookie), ("X-Cairn-Csrf", &other.csrf)]), 401);
    let (name, secret) = page.cookie.split_once('=').unwrap();
    assert_eq!(ask(&[("Cookie", &format!("{name}={}", page.csrf)), ("X-Cairn-Csrf", secret)]), 401);
    assert_eq!(ask(&[("Cookie", &page.cookie), ("X-Cairn-Csrf", secret)]), 401);
    // Neither is a token.
    assert_eq!(page.client.with(&page.csrf).get("/db").status, 401);
    assert_eq!(page.client.with(secret).get("/db").status, 401);
    assert_eq!(ask(&[("Cookie", &format!("a=b; {}; c=d", page.cookie)), ("X-Cairn-Csrf", &page.csrf)]), 200);
    // Who leaves is out, and nobody else with him.
    assert_eq!(page.ask("POST", "/console/logout", "").status, 200);
    assert_eq!([page.ask("GET", "/db", "").status, other.ask("GET", "/db", "").status], [401, 200]);
}

#[test]
fn a_login_makes_new_secrets_and_ends_the_session_before_it() {
    let served = Served::new();
    let page = Page::new(&served);
    let body = json!({ "token": served.client.secret }).to_string();
    // Secrets that somebody else has laid there become nobody's.
    let (name, _) = page.cookie.split_once('=').unwrap();
    let planted = format!("{name}=cairn_planted");
    let json = ("Content-Type", "application/json");
    let answer = page.client.ask("POST", "/console/login", &[("Cookie", &planted), json], &body);
    let again = Page::of(&served.client, &answer);
    assert!(again.cookie != planted && again.cookie != page.cookie);
    let answer = page.client.ask("POST", "/console/login", &[("Cookie", &page.cookie), json], &body);
    let third = Page::of(&served.client, &answer);
    assert_eq!([page.ask("GET", "/db", "").status, third.ask("GET", "/db", "").status], [401, 200]);
    // A page of elsewhere has nobody log in: not by a form, nor by what browsers say of it.
    assert_eq!(page.client.ask("POST", "/console/login", &[("Content-Type", "text/plain")], &body).status, 415);
    for site in ["cross-site", "same-site"] {
        assert_eq!(page.client.ask("POST", "/console/login", &[json, ("Sec-Fetch-Site", site)], &body).status, 403);
    }
    for wrong in ["", "cairn_", &third.csrf] {
        assert_eq!(login(&served.client, wrong).status, 401, "{wrong}");
    }
    assert_eq!(login(&served.client, &"x".repeat(20_000)).status, 413);
}

#[test]
fn a_secret_that_is_good_once_is_good_once() {
    let served = Served::new();
    let (_, token) = token("console", &[Scope::Sql]);
    let mut options = Options { addresses: vec!["127.0.0.1:0".parse().unwrap()], ..Options::default() };
    options.tokens.push(token.clone());
    let http = Running::start(served._server.services(), options).unwrap();
    let secret = http.console_secret(token.clone()).unwrap();
    let client = Client::new(http.addresses()[0], "");
    assert_eq!(client.with(secret.text()).get("/db").status, 401, "it is no token");
    let page = Page::of(&client, &login(&client, secret.text()));
    assert_eq!(login(&client, secret.text()).status, 401);
    assert_eq!(page.run("SELECT 1")["data"], json!([["1"]]));
    // Cookies of two servers of a machine have two names.
    assert_ne!(page.cookie.split('=').next(), Page::new(&served).cookie.split('=').next());
    // With the token the session ends.
    http.reload(Options::default()).unwrap();
    assert_eq!(page.ask("GET", "/db", "").status, 401);
}

#[test]
fn where_all_are_trusted_a_session_takes_no_token() {
    let trusting = || cairn_server::Options { trusts_all: true, ..Default::default() };
    let served = Served::with(Options::default(), trusting());
    let page = Page::of(&served.client, &login(&served.client, ""));
    assert_eq!(page.run("SELECT 1")["data"], json!([["1"]]));
    // What is kept is a session's there, too.
    let id = page.run("SELECT 2")["id"].as_str().unwrap().to_owned();
    assert_eq!(page.client.get(&format!("/console/results/{id}")).status, 403);
}

#[test]
fn secrets_of_sessions_are_in_no_log() {
    let lines = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told_to = lines.clone();
    let log = cairn_server::Log::to(move |line| told_to.lock().unwrap().push(line.to_owned()));
    let options = Options { logs_requests: true, ..Options::default() };
    let served = Served::with(options, cairn_server::Options { log, ..Default::default() });
    let page = Page::new(&served);
    let told = page.done(&page.run("SELECT 'hidden'"));
    assert_eq!(page.file(told["id"].as_str().unwrap(), "csv").body, "?column?\r\nhidden\r\n");
    page.ask("POST", "/console/logout", "");
    page.ask("GET", "/db", "");
    let lines = lines.lock().unwrap().join("\n");
    assert!(lines.contains("path=/console/login status=200") && lines.contains("path=/console/download"), "{lines}");
    let secret = page.cookie.split_once('=').unwrap().1;
    for secret in [&served.client.secret, &page.csrf, secret, "hidden"] {
        assert!(!lines.contains(secret), "{lines}");
    }
    assert!(!lines.contains("cairn_"), "{lines}");
}

#[test]
fn rows_are_told_from_where_somebody_looks() {
    let served = Served::new();
    let page = Page::new(&served);
    let first = page.run("SELECT n, 'row ' || n AS name FROM generate_series(1, 100000) AS n");
    same(&first["columns"], json!([{"name": "n", "type": "integer"}, {"name": "name", "type": "text"}]));
    same(&first["data"][0], json!(["1", "row 1"]));
    let told = page.done(&first);
    assert_eq!((told["state"].as_str(), told["rows"].as_u64()), (Some("done"), Some(100_000)));
    let id = told["id"].as_str().unwrap();
    for from in [0u64, 1, 999, 54_321, 99_999] {
        let answer = page.page(id, &format!("?from={from}")).json();
        let (first, rows) = (answer["from"].as_u64().unwrap(), answer["data"].as_array().unwrap());
        let at = usize::try_from(from - first).unwrap();
        assert_eq!(rows[at], json!([(from + 1).to_string(), format!("row {}", from + 1)]));
        assert!(rows.len() < 4000, "a page");
    }
    assert_eq!(page.page(id, "?from=100000").json()["data"], json!([]));
    // Nobody else has it, nor who has it once it is ended.
    assert_eq!(Page::new(&served).page(id, "").status, 404);
    assert_eq!(page.ask("DELETE", &format!("/console/results/{id}"), "").status, 204);
    assert_eq!(page.page(id, "").status, 404);
}

#[test]
fn what_gives_no_rows_or_goes_wrong_is_told() {
    let served = Served::new();
    let page = Page::new(&served);
    let made = page.run("CREATE TABLE t (a int PRIMARY KEY)");
    assert_eq!(
        (&made["state"], &made["command"], &made["columns"]),
        (&json!("done"), &json!("CREATE TABLE"), &json!(null))
    );
    assert_eq!(page.run("INSERT INTO t VALUES (1), (2)")["affected"], json!(2));
    let wrong = page.run("SELECT a, b FROM t");
    assert_eq!((&wrong["state"], &wrong["error"]["sqlstate"]), (&json!("failed"), &json!("42703")));
    assert_eq!(wrong["error"]["position"], json!(11));
    let late = page.done(&page.run("SELECT 1 / (50000 - n) FROM generate_series(1, 100000) AS n"));
    assert_eq!((&late["state"], &late["error"]["sqlstate"]), (&json!("failed"), &json!("22012")));
    assert!(late["rows"].as_u64().unwrap() > 0, "what came before it is told");
    // Nothing that has no rows is a file.
    let id = made["id"].as_str().unwrap();
    assert_eq!(page.ask("POST", &format!("/console/results/{id}/download"), "{\"form\": \"csv\"}").status, 409);
}

#[test]
fn a_statement_without_end_is_stopped() {
    let served = Served::new();
    let page = Page::new(&served);
    let told = page.run("SELECT pg_sleep(1000)");
    assert_eq!(told["state"], json!("running"));
    let id = told["id"].as_str().unwrap();
    let begun = Instant::now();
    assert_eq!(page.ask("DELETE", &format!("/console/results/{id}"), "").status, 204);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(page.page(id, "").status, 404);
}

#[test]
fn a_result_is_a_file_with_all_that_its_values_have() {
    let served = Served::new();
    let page = Page::new(&served);
    let sql = "SELECT n, n % 2 = 0 AS even, CASE WHEN n > 1 THEN repeat('x', 5000) END AS long,
               1.50 AS price, '{\"a\": 1}'::jsonb AS doc, ARRAY[1, n] AS items, '2024-02-29'::date AS day, '=1,\"' AS odd
        FROM generate_series(1, 2) AS n";
    let told = page.done(&page.run(sql));
    let long = "x".repeat(5000);
    let cell = &told["data"][1][2];
    assert!(cell["bytes"] == json!(5000) && cell["text"].as_str().unwrap().len() < 1000, "{cell}");
    let id = told["id"].as_str().unwrap();
    let path = format!("/console/results/{id}/value?at={}&bytes={}", cell["at"], cell["bytes"]);
    let whole = page.ask("GET", &path, "");
    assert_eq!((whole.body == long, whole.header("content-type")), (true, Some("text/plain; charset=utf-8")));
    assert_eq!(page.ask("GET", &format!("/console/results/{id}/value?at=99999999999&bytes=1"), "").status, 400);
    let csv = page.file(id, "csv");
    assert_eq!(csv.header("content-disposition"), Some("attachment; filename=\"result.csv\""));
    let expected = format!(
        "n,even,long,price,doc,items,day,odd\r\n1,f,,1.50,\"{{\"\"a\"\": 1}}\",\"{{1,1}}\",2024-02-29,\"=1,\"\"\"\r\n\
         2,t,{long},1.50,\"{{\"\"a\"\": 1}}\",\"{{1,2}}\",2024-02-29,\"=1,\"\"\"\r\n"
    );
    assert_eq!(csv.body, expected);
    let first = json!({"n": 1, "even": false, "long": null, "price": 1.50, "doc": {"a": 1}, "items": "{1,1}",
        "day": "2024-02-29", "odd": "=1,\""});
    same(&page.file(id, "json").json()[0], first);
    // As the same statement gives it where it is asked for as Arrow's.
    let (_, direct, _) = arrow::asked(&served.client, sql);
    assert_eq!(arrow::batches(&page.bytes(id)), arrow::batches(&direct));
    // Of nothing there is a file, too.
    let none = page.done(&page.run("SELECT 1 AS a WHERE false"));
    let id = none["id"].as_str().unwrap();
    assert_eq!([page.file(id, "csv").body, page.file(id, "json").body], ["a\r\n", "[]\n"]);
}

#[test]
fn a_session_keeps_so_many_results() {
    let served = Served::new();
    let page = Page::new(&served);
    let ids: Vec<String> = (0..40).map(|_| page.run("SELECT 1")["id"].as_str().unwrap().to_owned()).collect();
    let there = ids.iter().filter(|id| page.page(id, "").status == 200).count();
    assert!(there == 32 && page.page(&ids[39], "").status == 200 && page.page(&ids[0], "").status == 404, "{there}");
    for _ in 0..32 {
        // (A statement that runs is taken for nothing new.)
        let body = json!({ "sql": "SELECT pg_sleep(1000)" }).to_string();
        let headers = page.headers();
        let mut stream = page.client.connect();
        let length = body.len().to_string();
        let mut all = headers.clone();
        all.push(("Content-Length", &length));
        stream.write_all((page.client.head("POST", "/db/shop/console/run", &all) + &body).as_bytes()).unwrap();
        std::mem::forget(stream);
    }
    let begun = Instant::now();
    loop {
        let more = page.ask("POST", "/db/shop/console/run", &json!({ "sql": "SELECT 1" }).to_string());
        if more.status != 200 {
            assert_eq!(told(&more), of(503, "53400"));
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    // They end with the session.
    page.ask("POST", "/console/logout", "");
    let begun = Instant::now();
    while !served.client.get("/metrics").body.contains("cairn_sched_queue_depth{database=\"shop\"} 0") {
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_token_that_only_reads_writes_nothing_by_the_console() {
    let (secret, reads) = token("reads", &[Scope::Sql]);
    let (documents, other) = token("documents", &[Scope::Read]);
    let options = Options { tokens: vec![reads, other], ..Options::default() };
    let served = Served::with(options, cairn_server::Options::default());
    let page = Page::of(&served.client, &login(&served.client, &secret));
    assert_eq!(page.run("CREATE TABLE t (a int)")["error"]["sqlstate"], json!("25006"));
    assert_eq!(page.run("SELECT 1")["state"], json!("done"));
    let other = Page::of(&served.client, &login(&served.client, &documents));
    assert_eq!(told(&other.ask("POST", "/db/shop/console/run", "{\"sql\": \"SELECT 1\"}")), of(403, "42501"));
    assert_eq!(
        told(&other.ask("POST", "/db/shop/console/complete", "{\"text\": \"\", \"cursor\": 0}")),
        of(403, "42501")
    );
}

#[test]
fn the_editor_is_told_where_statements_are_and_what_may_follow() {
    let served = Served::new();
    let page = Page::new(&served);
    page.run("CREATE TABLE crew (name text, \"Launch day\" date)");
    let text = "SELECT '\u{1f680};'; -- a;\nSELECT 2";
    let told = page.ask("POST", "/console/statements", &json!({ "text": text }).to_string()).json();
    let of = |text: &str| text.encode_utf16().count();
    let first = of("SELECT '\u{1f680};'");
    same(&told, json!({"statements": [[0, first], [of(text) - 8, of(text)]]}));
    let complete = |text: &str| {
        let cursor = of(text.split('|').next().unwrap());
        let asked = json!({ "text": text.replace('|', ""), "cursor": cursor }).to_string();
        page.ask("POST", "/db/shop/console/complete", &asked).json()
    };
    same(&complete("SELECT '\u{1f680}', n| FROM crew")["candidates"][0], json!("name"));
    assert_eq!(complete("SELECT '\u{1f680}', n| FROM crew")["start"], json!(13));
    same(&complete("SELECT * FROM cr|"), json!({"start": 14, "candidates": ["crew"]}));
    same(&complete("")["start"], json!(0));
}

impl Page {
    /// A file of Arrow's.
    fn bytes(&self, id: &str) -> Vec<u8> {
        let ticket = self.ask("POST", &format!("/console/results/{id}/download"), "{\"form\": \"arrow\"}").json();
        let mut stream = self.client.connect();
        let head = self.client.head("GET", ticket["path"].as_str().unwrap(), &[("Cookie", &self.cookie)]);
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = std::io::BufReader::new(stream);
        assert_eq!(client::read_head(&mut reader).0, 200);
        std::iter::from_fn(|| client::read_chunk(&mut reader)).flatten().collect()
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        vec![("Cookie", &self.cookie), ("X-Cairn-Csrf", &self.csrf), ("Content-Type", "application/json")]
    }
}

#[test]
fn what_runs_is_seen_and_stopped_by_who_may_do_it_himself() {
    let (reads, all) = (token("reads", &[Scope::Sql]), token("all", &Scope::ALL));
    let mut elsewhere = token("elsewhere", &Scope::ALL);
    elsewhere.1.databases = vec!["other".to_owned()];
    let tokens = [&reads, &all, &elsewhere].map(|(_, token)| token.clone()).to_vec();
    let served = Served::with(Options { tokens, ..Options::default() }, cairn_server::Options::default());
    let [reads, page, elsewhere] =
        [reads, all, elsewhere].map(|(secret, _)| Page::of(&served.client, &login(&served.client, &secret)));
    let sleeps = reads.run("SELECT pg_sleep(1000), 'hidden'");
    let seen = |page: &Page| page.ask("GET", "/console/activity", "").json()["sessions"].as_array().unwrap().clone();
    let session = &seen(&page)[0];
    same(&session["statement"], json!("SELECT pg_sleep (?), ?"));
    same(&json!([session["user"], session["database"], session["state"]]), json!(["reads", "shop", "active"]));
    assert!(seen(&reads).is_empty() && seen(&elsewhere).is_empty());
    let cancel = |page: &Page, which: &Value| page.ask("POST", "/console/activity/cancel", &which.to_string()).status;
    let which = json!({ "id": session["id"] });
    assert_eq!([cancel(&reads, &which), cancel(&elsewhere, &which), cancel(&page, &json!({}))], [404, 404, 400]);
    assert_eq!(cancel(&page, &which), 200);
    assert_eq!(reads.done(&sleeps)["error"]["sqlstate"], json!("57014"));
    assert_eq!((seen(&page).len(), cancel(&page, &which)), (0, 404));
    assert_eq!(cancel(&page, &json!({ "process": 1 })), 404);
    // What was run, with its token's name.
    reads.run("SELECT 1");
    let statements = page.ask("GET", "/console/activity", "").json()["statements"].clone();
    assert!(statements.as_array().unwrap().iter().any(|one| one["user"] == "reads" && one["calls"] == 1));
}

#[test]
fn a_database_is_copied_as_a_file_and_checked_one_at_a_time() {
    let served = Served::new();
    let page = Page::new(&served);
    page.run("CREATE TABLE t (a int PRIMARY KEY)");
    page.run("INSERT INTO t SELECT generate_series(1, 1000)");
    let checked = page.ask("POST", "/db/shop/console/verify", "").json();
    assert!(checked["pages"].as_u64() > Some(0) && checked["wrong"] == json!(null), "{checked}");
    let asked = page.ask("POST", "/db/shop/console/copy", "");
    // (While it waits to be fetched nothing else of the kind is done.)
    assert_eq!(told(&page.ask("POST", "/db/shop/console/verify", "")), of(503, "53400"));
    let path = asked.json()["path"].as_str().unwrap().to_owned();
    let mut stream = page.client.connect();
    stream.write_all(page.client.head("GET", &path, &[("Cookie", &page.cookie)]).as_bytes()).unwrap();
    let mut reader = std::io::BufReader::new(stream);
    assert_eq!(client::read_head(&mut reader).0, 200);
    let bytes: Vec<u8> = std::iter::from_fn(|| client::read_chunk(&mut reader)).flatten().collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.cairn");
    std::fs::write(&file, bytes).unwrap();
    let copy = cairndb::Database::open(&file).unwrap();
    assert_eq!(copy.connect().unwrap().query_row_as::<i64>("SELECT count(*) FROM t", ()).unwrap(), 1000);
    assert_eq!(page.client.ask("GET", &path, &[("Cookie", &page.cookie)], "").status, 401, "it is good once");
    // Without SQL there is neither, nor outside of a session.
    let (documents, reads) = token("documents", &[Scope::Read]);
    let served = Served::with(Options { tokens: vec![reads], ..Options::default() }, cairn_server::Options::default());
    let other = Page::of(&served.client, &login(&served.client, &documents));
    for path in ["/db/shop/console/copy", "/db/shop/console/verify"] {
        assert_eq!([other.ask("POST", path, "").status, served.client.post(path, "").status], [403, 403], "{path}");
    }
}
