use super::*;

fn of(text: &str) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.yaml");
    std::fs::write(&path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let said = |failure: Failure| failure.to_string().replace(&format!("{}, ", path.display()), "");
    Config::read(Some(&path), std::iter::empty(), &[]).map_err(said)
}

const VERIFIER: &str = "SCRAM-SHA-256$4096:AAAAAAAAAAAAAAAAAAAAAA==\
    $AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

#[test]
fn a_file_says_all_there_is_to_say() {
    let text = format!(
        "data: shop.cairn\ncreate: true\nlisten: [127.0.0.1:1, '[::1]:2']\nsocket:\n  folder: /run\n  port: 7\n\
         insecure: no\nmax_connections: 9\nmax_connections_by_user: 3\nmemory:\n  cache_bytes: 64MB\n\
         wal:\n  fsync:\n    mode: group\n    interval_ms: 20\n    max_batch_size: 8\n\
         limits:\n  work_mem: 1MB\n  statement_timeout: 30s\n  temp_file_limit: 2GB\n  output_timeout: 1min\n  portals: 5\n\
         log:\n  slow_statement: 500ms\n\
         users:\n  alice:\n    verifier: {VERIFIER}\n  bob: {{ verifier: '{VERIFIER}', read_only: true }}\n\
         access:\n  - from: socket\n    method: owner\n  - {{ from: 10.0.0.0/8, tls: yes, user: [alice, bob], database: shop, method: password }}\n"
    );
    let config = of(&text).unwrap();
    assert_eq!(config.data.as_deref(), Some(Path::new("shop.cairn")));
    assert!(config.create && !config.server.is_insecure);
    assert_eq!(
        config.server.addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>(),
        ["127.0.0.1:1", "[::1]:2"]
    );
    assert_eq!((config.socket_folder.as_deref(), config.socket_port), (Some(Path::new("/run")), Some(7)));
    assert_eq!((config.server.connections_max, config.server.connections_max_by_user), (9, Some(3)));
    assert_eq!(
        (config.database.memory.as_ref().map(Memory::bytes), config.database.work_mem),
        (Some(64 << 20), 1 << 20)
    );
    assert_eq!((config.database.durability, config.database.group_size), (Durability::Group, 8));
    assert_eq!(config.database.sync_interval, Some(Duration::from_millis(20)));
    assert_eq!(config.database.temp_file_limit, Some(2 << 30));
    assert_eq!(config.ceilings.statement_timeout, Some(Duration::from_secs(30)));
    assert_eq!((config.server.output_timeout, config.server.limits.portals), (Duration::from_secs(60), 5));
    assert_eq!(config.server.slow_statement, Some(Duration::from_millis(500)));
    let reads_only = |name: &str| config.server.users[name].reads_only;
    assert_eq!((reads_only("alice"), reads_only("bob")), (false, true));
    assert_eq!(config.server.access[0].method, Method::Owner);
    assert_eq!(config.server.access[1].users, ["alice", "bob"]);
    assert_eq!(config.server.access[1].databases, ["shop"]);
    assert_eq!((config.server.access[0].tls, config.server.access[1].tls), (None, Some(true)));
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_what_may_be_meant() {
    for (text, expected) in [
        ("max_conections: 3", "line 1: there is no key max_conections; perhaps max_connections is meant"),
        ("wal:\n  fsync:\n    mod: group", "line 3: there is no key wal.fsync.mod; perhaps wal.fsync.mode is meant"),
        ("xyzzy: 1", "line 1: there is no key xyzzy; there are: data"),
        ("wall:\n  a: 1", "line 1: there is no key wall; perhaps"),
        ("max_conections:", "line 1: there is no key max_conections"),
        ("\nmax_connections: many", "line 2: max_connections: \"many\" is no number"),
        ("max_connections: [1]", "line 1: max_connections has one value, not a list"),
        ("max_connections: {a: 1}", "line 1: max_connections has one value"),
        ("wal: 1", "line 1: wal: "),
        ("listen:\n - 127.0.0.1", "line 1: listen: \"127.0.0.1\" is no address with a port"),
        ("wal: {fsync: {mode: never}}", "is none of always, group, interval, none"),
        ("limits: {statement_timeout: 0s}", "is not between 1ms and 365d"),
        ("limits: {statement_timeout: 5}", "is no time"),
        ("limits: {work_mem: 1kB}", "at least 64kB"),
        ("users: {alice: {verifier: secret}}", "--make-verifier"),
        ("users:\n  alice:\n    read_only: true", "line 2: user \"alice\" has no verifier"),
        ("users:\n  alice:\n    password: x", "line 3: there is no key password"),
        ("access:\n  - method: trust", "line 2: a rule of access says where from"),
        ("access:\n  - from: nowhere\n    method: trust", "line 2: \"nowhere\" is neither"),
        ("access: {from: all}", "by which method"),
        ("access: {from: all, tls: perhaps}", "\"perhaps\" is neither true nor false"),
        ("tls: {cert: c.pem}", "tls.key: a certificate for TLS has a key, give both or none"),
        ("tls: {cert: nowhere.pem, key: nowhere.pem}", "nowhere.pem"),
        ("access: []\nusers: x", "line 2: expected names and values"),
        ("- a", "line 1: expected names and values"),
        ("a: b: c", "line 1"),
    ] {
        let told = of(text).err().unwrap_or_else(|| panic!("{text} is accepted"));
        assert!(told.contains(expected), "{text}: {told}");
        assert!(!told.contains("secret"), "{told}");
    }
}

#[test]
fn the_command_line_is_over_the_environment_and_that_over_the_file() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = || {
        vec![
            pair("CAIRN_SERVE_MAX_CONNECTIONS", "5"),
            pair("CAIRN_SERVE_WAL_FSYNC_MODE", "none"),
            pair("CAIRN_PAGER", "less"),
        ]
    };
    let said = [pair("max_connections", "6")];
    let config = Config::read(None, environment().into_iter(), &said).unwrap();
    assert_eq!((config.server.connections_max, config.database.durability), (6, Durability::Off));
    let unknown = Config::read(None, [pair("CAIRN_SERVE_MAX_CONECTIONS", "5")].into_iter(), &[]);
    assert!(unknown.err().unwrap().to_string().contains("CAIRN_SERVE_MAX_CONECTIONS"));
    let unknown = Config::read(None, std::iter::empty(), &[pair("max_conections", "5")]);
    assert!(unknown.err().unwrap().to_string().contains("perhaps max_connections"));
}

#[test]
fn every_key_can_be_set_and_nothing_secret_lies_open() {
    for (key, ..) in KEYS {
        let refused = Config::default().set(key, "\u{1}").err();
        assert!(refused.is_none_or(|why| !why.contains("there is no key")), "{key}");
    }
    #[cfg(unix)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.yaml");
        std::fs::write(&path, format!("users: {{a: {{verifier: '{VERIFIER}'}}}}")).unwrap();
        let refused = Config::read(Some(&path), std::iter::empty(), &[]).err().expect("others may read it");
        assert!(refused.to_string().contains("chmod 600"));
    }
}

#[test]
fn keys_of_json_web_tokens_are_said_with_their_algorithms() {
    let public = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (pem, set) = (
        path("ed.pem", public),
        path(
            "set.json",
            r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
        ),
    );
    let text = format!(
        "jwt:\n  jwks: {set}\n  keys:\n    a: {{algorithm: HS256, secret: a secret of 32 bytes or more than that}}\n\
         \x20   b: {{algorithm: EdDSA, public_key: {pem}}}\n  issuer: https://id.example\n  audience: [a, b]\n  leeway: 5s\n  databases: shop\n"
    );
    let jwt = of(&text).unwrap().http.jwt.unwrap();
    assert!(jwt.check().is_ok() && jwt.has_secret());
    assert_eq!((jwt.audience.len(), jwt.issuers.len(), jwt.databases.len()), (2, 1, 1));
    assert_eq!(jwt.leeway, Duration::from_secs(5));
    assert!(of("http: {listen: 127.0.0.1:0}").unwrap().http.jwt.is_none());
    for (said, expected) in [
        ("a: {algorithm: HS256, secret: short}".to_owned(), "at least 32 bytes"),
        (format!("a: {{algorithm: HS256, public_key: {pem}}}"), "HS256 has a secret"),
        ("a: {algorithm: EdDSA, secret: a secret of 32 bytes or more than that}".to_owned(), "EdDSA has a public_key"),
        (format!("a: {{algorithm: ES256, public_key: {pem}}}"), "no public key in PEM for ES256"),
        (format!("a: {{algorithm: none, public_key: {pem}}}"), "is no algorithm of a public key"),
        ("a: {secret: x}".to_owned(), "has no algorithm"),
        ("a: {algorithm: EdDSA, public_key: /nothing}".to_owned(), "/nothing"),
        ("a: {algoritm: EdDSA}".to_owned(), "perhaps algorithm is meant"),
    ] {
        let error = of(&format!("jwt:\n  keys:\n    {said}")).err().unwrap();
        assert!(error.contains("line 3") && error.contains(expected), "{said}: {error}");
        assert!(!error.contains("a secret of"), "{error}");
    }
    // Others may read neither a secret here nor one in a set.
    #[cfg(unix)]
    {
        let secret = path(
            "secret.json",
            r#"{"keys": [{"kty": "oct", "k": "YSBzZWNyZXQgb2YgdGhpcyB0ZXN0LCAzMiBieXRlcyBvciBtb3Jl"}]}"#,
        );
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(of(&format!("jwt: {{jwks: {secret}}}")).err().unwrap().contains("others may read it"));
    }
    // Audience and issuer alone let nobody in.
    let alone = of("jwt: {issuer: https://id.example}").unwrap().http;
    assert!(alone.check(&cairn_server::Options::default()).is_err());
}
