//! JSON Web Tokens: which are believed, and what they let nobody do.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use cairn_http::Jwt;
use cairn_server::Log;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};

use super::listener::Listener;
use super::*;

pub(super) const SECRET: &[u8] = b"a secret of this test, 32 bytes or more";
const RSA: (&[u8], &[u8]) = (include_bytes!("keys/rsa.pem"), include_bytes!("keys/rsa.pub.pem"));
const EC: (&[u8], &[u8]) = (include_bytes!("keys/ec.pem"), include_bytes!("keys/ec.pub.pem"));
const ED: (&[u8], &[u8]) = (include_bytes!("keys/ed.pem"), include_bytes!("keys/ed.pub.pem"));

/// Seconds since 1970, so many from now.
pub(super) fn at(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    i64::try_from(now).unwrap() + seconds
}

fn signed(header: &Header, key: &EncodingKey, claims: &Value) -> String {
    encode(header, claims, key).unwrap()
}

fn secret_key(secret: &[u8]) -> EncodingKey {
    EncodingKey::from_secret(secret).unwrap()
}

fn named(algorithm: Algorithm, id: &str) -> Header {
    Header { kid: Some(id.to_owned()), ..Header::new(algorithm) }
}

/// A token by HS256 for an hour.
pub(super) fn token_of(sub: &str) -> String {
    hs256(&json!({ "sub": sub, "exp": at(3600) }))
}

pub(super) fn hs256(claims: &Value) -> String {
    signed(&Header::new(Algorithm::HS256), &secret_key(SECRET), claims)
}

pub(super) fn believing(jwt: Jwt) -> Options {
    Options { jwt: Some(Arc::new(jwt)), ..Options::default() }
}

pub(super) fn by_secret() -> Jwt {
    let mut jwt = Jwt::default();
    jwt.leeway = Duration::ZERO;
    jwt.add_secret(None, SECRET).unwrap();
    jwt
}

fn in_database(name: &str) -> Jwt {
    let mut jwt = by_secret();
    jwt.databases = vec![name.to_owned()];
    jwt
}

fn by_all_keys() -> Jwt {
    let mut jwt = Jwt::default();
    jwt.leeway = Duration::ZERO;
    jwt.add_secret(Some("hs"), SECRET).unwrap();
    jwt.add_public_key(Some("rs"), "RS256", RSA.1).unwrap();
    jwt.add_public_key(Some("es"), "ES256", EC.1).unwrap();
    jwt.add_public_key(Some("ed"), "EdDSA", ED.1).unwrap();
    jwt
}

/// With a collection whose documents everybody may read who shows a token that is believed.
fn served(jwt: Jwt) -> Served {
    let served = Served::with(believing(jwt), cairn_server::Options::default());
    served.client.put(NOTES, "");
    served.client.put(&note("a"), r#"{"n": 1}"#);
    assert_eq!(served.client.put(&format!("{NOTES}/rules"), r#"{"view": "true"}"#).status, 204);
    served
}

fn status(served: &Served, token: &str) -> u16 {
    served.client.with(token).get(&note("a")).status
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            out.push(char::from(DIGITS[(bits >> (18 - 6 * at)) as usize & 63]));
        }
    }
    out
}

#[test]
fn tokens_are_believed_by_the_keys_that_signed_them() {
    let served = served(by_all_keys());
    let claims = json!({ "sub": "ada", "exp": at(3600) });
    let hs = secret_key(SECRET);
    let (rs, es) = (EncodingKey::from_rsa_pem(RSA.0).unwrap(), EncodingKey::from_ec_pem(EC.0).unwrap());
    let ed = EncodingKey::from_ed_pem(ED.0).unwrap();
    let all = [
        (Algorithm::HS256, "hs", &hs),
        (Algorithm::RS256, "rs", &rs),
        (Algorithm::ES256, "es", &es),
        (Algorithm::EdDSA, "ed", &ed),
    ];
    for (algorithm, id, key) in all {
        for header in [named(algorithm, id), Header::new(algorithm)] {
            let good = signed(&header, key, &claims);
            assert_eq!((status(&served, &good), status(&served, &good)), (200, 200), "{algorithm:?}");
            // What was said is what was signed.
            let parts: Vec<&str> = good.split('.').collect();
            let other = base64(&json!({ "sub": "eve", "exp": at(3600) }).to_string());
            for forged in [
                format!("{}.{other}.{}", parts[0], parts[2]),
                format!("{}.{}.", parts[0], parts[1]),
                format!("{}.{}", parts[0], parts[1]),
                format!("{}.{}.{}.x", parts[0], parts[1], parts[2]),
                format!("{}.{}.{}", parts[0], parts[1], "A".repeat(parts[2].len())),
            ] {
                assert_eq!(status(&served, &forged), 401, "{forged}");
            }
        }
        // A name of a key of another algorithm, or of none, is a lie.
        for id in all.iter().map(|(_, other, _)| *other).filter(|other| *other != id).chain(["../keys/rsa.pem", ""]) {
            assert_eq!(status(&served, &signed(&named(algorithm, id), key, &claims)), 401, "{algorithm:?} {id}");
        }
    }
}

#[test]
fn an_algorithm_is_that_of_the_key_and_of_no_token() {
    let served = served(by_all_keys());
    let claims = json!({ "sub": "eve", "exp": at(3600) });
    // What everybody knows is no secret: the public keys, as texts and as they are.
    for public in [RSA.1, EC.1, ED.1] {
        for id in ["hs", "rs", "es", "ed"] {
            let key = secret_key(public);
            assert_eq!(status(&served, &signed(&named(Algorithm::HS256, id), &key, &claims)), 401);
        }
    }
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        assert_eq!(status(&served, &signed(&Header::new(algorithm), &secret_key(SECRET), &claims)), 401);
    }
    for algorithm in [Algorithm::RS384, Algorithm::PS256] {
        let key = EncodingKey::from_rsa_pem(RSA.0).unwrap();
        assert_eq!(status(&served, &signed(&named(algorithm, "rs"), &key, &claims)), 401);
    }
    let said = base64(&claims.to_string());
    for none in ["none", "None", "NONE", "", "HS256 ", "hs256"] {
        let header = base64(&json!({ "alg": none, "typ": "JWT" }).to_string());
        for signature in ["", "AA"] {
            assert_eq!(status(&served, &format!("{header}.{said}.{signature}")), 401, "{none}");
        }
    }
    // A key that comes along is nobody's.
    let eve = secret_key(b"a secret of somebody else, 32 bytes or more");
    let mut header = named(Algorithm::HS256, "hs");
    header.jku = Some("http://evil.example/keys".to_owned());
    header.jwk =
        serde_json::from_value(json!({ "kty": "oct", "k": base64("a secret of somebody else, 32 bytes or more") }))
            .ok();
    assert!(header.jwk.is_some());
    assert_eq!(status(&served, &signed(&header, &eve, &claims)), 401);
    // What has to be understood, and is not.
    let mut header = named(Algorithm::HS256, "hs");
    header.crit = Some(vec!["exp".to_owned()]);
    assert_eq!(status(&served, &signed(&header, &secret_key(SECRET), &claims)), 401);
}

#[test]
fn a_token_is_for_somebody_for_a_time() {
    let mut jwt = by_secret();
    (jwt.audience, jwt.issuers) =
        (vec!["notes".to_owned(), "others".to_owned()], vec!["https://id.example".to_owned()]);
    let served = served(jwt);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut claims = json!({ "sub": "ada", "exp": at(60), "aud": ["notes"], "iss": "https://id.example" });
        change(&mut claims);
        status(&served, &hs256(&claims))
    };
    assert_eq!(with(&|_| {}), 200);
    assert_eq!(with(&|claims| claims["aud"] = json!("others")), 200);
    assert_eq!(with(&|claims| claims["nbf"] = json!(at(-5))), 200);
    let without = |name: &'static str| move |claims: &mut Value| drop(claims.as_object_mut().unwrap().remove(name));
    for name in ["exp", "aud", "iss"] {
        assert_eq!(with(&without(name)), 401, "{name}");
    }
    for (name, value) in [
        ("exp", json!(at(-1))),
        ("exp", json!("never")),
        ("exp", json!(-1)),
        ("exp", json!(1e300)),
        ("exp", json!(null)),
        ("nbf", json!(at(60))),
        ("nbf", json!("x")),
        ("aud", json!("somebody")),
        ("aud", json!([])),
        ("aud", json!(7)),
        ("iss", json!("https://id.example.evil")),
        ("iss", json!([])),
        // No jsonb.
        ("sub", json!("\u{0}")),
    ] {
        assert_eq!(with(&|claims| claims[name] = value.clone()), 401, "{name}: {value}");
    }
    for not_claims in [json!([]), json!(7), json!(null), json!("x")] {
        assert_eq!(status(&served, &hs256(&not_claims)), 401);
    }
    // Where nobody is named, a token for somebody is for somebody else.
    let open = self::served(by_secret());
    assert_eq!(status(&open, &hs256(&json!({ "exp": at(60), "aud": "notes" }))), 401);
    assert_eq!(status(&open, &hs256(&json!({ "exp": at(60) }))), 200);
    // One that was good is looked at no more, but ends all the same.
    let short = hs256(&json!({ "exp": at(5) }));
    assert_eq!(status(&open, &short), 200);
    std::thread::sleep(Duration::from_millis(5_100));
    assert_eq!(status(&open, &short), 401);
}

#[test]
fn what_is_too_long_is_not_looked_at() {
    let served = served(by_secret());
    let with = |bytes: usize| status(&served, &hs256(&json!({ "exp": at(60), "x": "x".repeat(bytes) })));
    assert_eq!((with(3_900), with(4_200), with(20_000)), (200, 401, 401));
    let padded = format!("{}{}", "A".repeat(9_000), token_of("ada"));
    assert_eq!(status(&served, &padded), 401);
    for junk in ["a.b.c", "..", ".", "a", &"..".repeat(2_000), &base64("{").repeat(3)] {
        assert_eq!(status(&served, junk), 401, "{junk}");
    }
    // More tokens than are kept: each is good all the same.
    let many: Vec<String> =
        (0..40).map(|n| hs256(&json!({ "exp": at(60), "sub": n.to_string(), "x": "x".repeat(3_000) }))).collect();
    for token in many.iter().chain(&many) {
        assert_eq!(status(&served, token), 200);
    }
}

#[test]
fn keys_that_are_none_are_refused() {
    let mut jwt = Jwt::default();
    assert!(jwt.check().is_err());
    let code = |result: Result<(), cairndb::Error>| result.unwrap_err().sqlstate().as_str().to_owned();
    assert_eq!(code(jwt.add_secret(None, b"short")), "22023");
    assert_eq!(code(jwt.add_public_key(None, "HS256", RSA.1)), "22023");
    assert_eq!(code(jwt.add_public_key(None, "none", RSA.1)), "22023");
    assert_eq!(code(jwt.add_public_key(None, "ES256", RSA.1)), "22023");
    assert_eq!(code(jwt.add_public_key(None, "RS256", EC.1)), "22023");
    assert_eq!(code(jwt.add_public_key(None, "EdDSA", b"no key")), "22023");
    assert_eq!(code(jwt.add_public_key(None, "RS256", include_bytes!("keys/short.pub.pem"))), "22023");
    for set in [
        r#"{"keys": []}"#,
        "{}",
        r#"{"keys": [{"kty": "oct", "k": "c2hvcnQ"}]}"#,
        r#"{"keys": [{"kty": "RSA", "n": "c2hvcnQ", "e": "AQAB"}]}"#,
        r#"{"keys": [{"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"}]}"#,
        r#"{"keys": [{"kty": "EC", "crv": "P-384", "x": "AAAA", "y": "AAAA"}]}"#,
        r#"{"keys": [{"kty": "oct", "use": "enc", "k": "YSBzZWNyZXQgb2YgdGhpcyB0ZXN0LCAzMiBieXRlcyBvciBtb3Jl"}]}"#,
        r#"{"keys": [{"kty": "oct", "alg": "HS512", "k": "YSBzZWNyZXQgb2YgdGhpcyB0ZXN0LCAzMiBieXRlcyBvciBtb3Jl"}]}"#,
    ] {
        assert_eq!(code(jwt.add_key_set(set)), "22023", "{set}");
    }
    assert!(jwt.check().is_err() && !jwt.has_secret());
    assert_eq!(format!("{:?}", by_secret()), "Jwt");
}

/// A set as issuers publish it: keys for other things stand beside.
#[test]
fn a_key_set_is_a_file_of_public_keys() {
    let secret = base64("a secret of this test, 32 bytes or more");
    let set = json!({ "keys": [
        { "kty": "RSA", "use": "enc", "kid": "other", "n": "AQAB", "e": "AQAB" },
        { "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": "ed", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
        { "kty": "new", "kid": "of later times" },
        { "kty": "oct", "alg": "HS256", "kid": "hs", "k": secret }
    ]});
    let mut jwt = Jwt::default();
    jwt.add_key_set(&set.to_string()).unwrap();
    assert!(jwt.has_secret());
    let served = served(jwt);
    let claims = json!({ "exp": at(60) });
    let by = |id: &str| signed(&named(Algorithm::HS256, id), &secret_key(SECRET), &claims);
    assert_eq!(
        [status(&served, &by("hs")), status(&served, &by("ed")), status(&served, &by("other"))],
        [200, 401, 401]
    );
}

#[test]
fn a_token_alone_lets_do_nothing() {
    let jwt = in_database("shop");
    let served = served(jwt);
    served.client.put("/db/shop/collections/plain", "");
    served.client.put("/db/shop/collections/plain/documents/a", "{}");
    // It says of itself what it likes.
    let says = json!({ "exp": at(60), "sub": "eve", "scopes": ["read", "write", "manage", "sql"], "scope": "manage sql", "role": "admin" });
    let eve = served.client.with(&hs256(&says));
    let json = [("Content-Type", "application/json")];
    for (method, path, body) in [
        ("GET", "/db", ""),
        ("GET", "/metrics", ""),
        ("GET", "/nothing", ""),
        ("GET", "/db/shop/collections", ""),
        ("GET", NOTES, ""),
        ("PUT", "/db/shop/collections/new", "{}"),
        ("DELETE", NOTES, ""),
        ("GET", &format!("{NOTES}/schema"), ""),
        ("PUT", &format!("{NOTES}/schema"), "{}"),
        ("DELETE", &format!("{NOTES}/schema"), ""),
        ("GET", &format!("{NOTES}/rules"), ""),
        ("PUT", &format!("{NOTES}/rules"), r#"{"list": "true"}"#),
        ("DELETE", &format!("{NOTES}/rules"), ""),
        ("POST", &format!("{NOTES}/indexes"), r#"{"path": "a"}"#),
        ("POST", "/db/shop/sql", r#"{"sql": "SELECT 1"}"#),
        ("GET", "/db/cairn/collections/tokens/documents", ""),
        ("GET", "/db/other/collections/notes/documents/a", ""),
    ] {
        let answer = eve.ask(method, path, &json, body);
        assert_eq!(told(&answer), of(403, "42501"), "{method} {path}");
    }
    // Whether there is such a collection or not, or what it is, is told to nobody whom no rule lets.
    let without = |name: &str, rest: &str| eve.get(&format!("/db/shop/collections/{name}{rest}")).body;
    for rest in ["/documents/a", "/documents", "/documents?filter=%7B%22$no%22:1%7D", "/changes"] {
        let all = ["plain", "none", "pg_catalog.pg_class", "public.none"].map(|name| without(name, rest));
        assert!(all.iter().all(|body| *body == all[0] && body.contains("42501")), "{all:?}");
    }
    assert_eq!(eve.get("/healthz").status, 200);
    assert_eq!(eve.get(&note("a")).status, 200);
}

#[test]
fn refused_tokens_are_in_no_log() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told_to = lines.clone();
    let log = Log::to(move |line| told_to.lock().unwrap().push(line.to_owned()));
    let options = Options { logs_requests: true, ..believing(by_secret()) };
    let served = Served::with(options, cairn_server::Options { log, ..Default::default() });
    let good = token_of("ada");
    let late = hs256(&json!({ "exp": at(-100), "sub": "eve\nevent=forged" }));
    let forged = served.client.with(&late).get(&note("a"));
    assert_eq!(told(&forged), of(401, "28P01"));
    assert!(forged.body.contains("expired"));
    assert_eq!(served.client.with(&good).get(&note("a")).status, 403);
    let name = hs256(&json!({ "exp": at(100), "sub": "eve\nevent=forged" }));
    served.client.with(&name).get(&note("a"));
    let lines = lines.lock().unwrap().join("\n");
    assert!(lines.contains("event=token_refused method=GET") && lines.contains("token=ada"), "{lines}");
    assert!(!lines.contains("\nevent=forged"), "{lines}");
    for token in [&good, &late, &name] {
        for part in token.split('.') {
            assert!(!lines.contains(part), "{lines}");
        }
    }
}

#[test]
fn keys_that_are_changed_end_what_was_good_by_them() {
    let served = served(by_secret());
    let token = token_of("ada");
    let client = served.client.with(&token);
    let mut heard = Listener::begin(&client, "", "").unwrap();
    let mut other = Jwt::default();
    other.add_secret(None, b"another secret, of 32 bytes and more").unwrap();
    let mut options = believing(other);
    let (_, same) = super::token("all", &Scope::ALL);
    options.tokens.push(cairn_http::Token { digest: digest_of(&served.client.secret), ..same });
    served.http.reload(options.clone()).unwrap();
    assert_eq!(status(&served, &token), 401);
    let end = heard.next().unwrap();
    assert_eq!(end.kind, "end");
    assert!(heard.next().is_none());
    options.jwt = Some(Arc::new(by_secret()));
    served.http.reload(options.clone()).unwrap();
    assert_eq!(status(&served, &token), 200);
    // Not in this database any more.
    options.jwt = Some(Arc::new(in_database("other")));
    served.http.reload(options.clone()).unwrap();
    assert_eq!(status(&served, &token), 403);
    options.jwt = None;
    served.http.reload(options).unwrap();
    assert_eq!(status(&served, &token), 401);
}

fn digest_of(secret: &str) -> String {
    let conn = Database::open_in_memory().unwrap().connect().unwrap();
    conn.query_row("SELECT encode(sha256($1::text::bytea), 'hex')", [secret], |row| row.get(0)).unwrap()
}

#[test]
fn a_stream_ends_with_its_token() {
    let served = served(by_secret());
    let client = served.client.with(&hs256(&json!({ "exp": at(8) })));
    let mut heard = Listener::begin(&client, "", "").unwrap();
    served.client.put(&note("b"), "{}");
    heard.expect("insert", "b");
    let end = heard.next().unwrap();
    assert_eq!((end.kind.as_str(), end.data["message"].as_str()), ("end", Some("the token has expired")));
    assert!(heard.next().is_none());
}
