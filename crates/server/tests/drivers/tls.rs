//! What is said over TLS, who insists on it, and what does not come through.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cairn_server::{Access, Method, Tls};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::psql::{psql, psql_program};
use crate::served::{Certificate, Served};

#[test]
fn psql_is_bound_to_the_certificate_that_it_verifies() {
    let Some(program) = psql_program() else { return };
    let served = Served::new();
    let say = |how: &str| psql(&program, &served, how, &["SELECT 'in'"]);
    for how in [
        "sslmode=verify-full channel_binding=require",
        "sslmode=verify-full hostaddr=127.0.0.1 channel_binding=require",
        "sslmode=require channel_binding=disable",
        "sslmode=verify-full channel_binding=require ssl_max_protocol_version=TLSv1.2",
        "sslmode=disable",
    ] {
        assert_eq!(say(how), "in\n", "{how}");
    }
    assert!(say("sslmode=disable channel_binding=require").contains("channel binding required"));
    assert!(
        say("sslmode=verify-full password=wrong channel_binding=require").contains("password authentication failed")
    );
    let about = psql(&program, &served, "sslmode=verify-full", &["\\conninfo"]);
    assert!(about.contains("SSL connection (protocol: TLSv1.3"), "{about}");
    let other = Served::new();
    std::fs::copy(&other.certificate.root, &served.certificate.root).unwrap();
    let said = say("sslmode=verify-full");
    assert!(said.contains("SSL error"), "{said}");
}

#[test]
fn the_binding_has_the_hash_of_the_signature_and_is_not_offered_where_that_has_none() {
    let Some(program) = psql_program() else { return };
    let served = Served::with(&rcgen::PKCS_ECDSA_P384_SHA384, |_| {});
    assert_eq!(psql(&program, &served, "sslmode=verify-full channel_binding=require", &["SELECT 'in'"]), "in\n");
    let served = Served::with(&rcgen::PKCS_ED25519, |_| {});
    assert_eq!(psql(&program, &served, "sslmode=verify-full", &["SELECT 'in'"]), "in\n");
    let said = psql(&program, &served, "sslmode=verify-full channel_binding=require", &["SELECT 'in'"]);
    assert!(said.contains("channel binding is required, but server did not offer"), "{said}");
}

#[test]
fn a_rule_lets_in_over_tls_only() {
    let Some(program) = psql_program() else { return };
    let served = Served::with(&rcgen::PKCS_ECDSA_P256_SHA256, |options| {
        let from = "127.0.0.0/8".parse().unwrap();
        let rule = Access { from, users: vec![], databases: vec![], tls: Some(true), method: Method::Password };
        options.access = vec![rule];
    });
    assert_eq!(psql(&program, &served, "sslmode=require", &["SELECT 'in'"]), "in\n");
    assert!(psql(&program, &served, "sslmode=disable", &["SELECT 'in'"]).contains("no rule of access lets user"));
}

#[test]
fn much_goes_through_tls_both_ways_and_comes_out_as_it_went_in() {
    let Some(program) = psql_program() else { return };
    let served = Served::new();
    let file = served.folder.path().join("out");
    let (out, back) = (format!("\\copy t TO '{0}'", file.display()), format!("\\copy u FROM '{0}'", file.display()));
    let commands = [
        "CREATE TABLE t AS SELECT a, repeat(md5(a::text), 4) AS b FROM generate_series(1, 30000) a",
        &out,
        "CREATE TABLE u (a int, b text)",
        &back,
        "SELECT count(*) FROM t JOIN u USING (a, b)",
        "SELECT length(repeat('x', 3000000))",
    ];
    let said = psql(&program, &served, "sslmode=verify-full", &commands);
    assert_eq!(said, "SELECT 30000\nCOPY 30000\nCREATE TABLE\nCOPY 30000\n30000\n3000000\n");
}

/// A client that speaks TLS without asking whether it may.
fn direct(served: &Served, protocols: &[&[u8]]) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&served.certificate.root).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|of| of.to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(("127.0.0.1", served.port())).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    StreamOwned::new(client, socket)
}

const STARTUP: &[u8] = b"\0\0\0\x22\0\x03\0\0user\0alice\0database\0shop\0\0";

#[test]
fn tls_may_be_spoken_from_the_first_byte_by_who_says_what_for() {
    let served = Served::new();
    let mut client = direct(&served, &[b"postgresql"]);
    client.write_all(STARTUP).unwrap();
    let mut heard = [0; 43];
    client.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    for protocols in [&[][..], &[&b"http/1.1"[..]]] {
        let mut client = direct(&served, protocols);
        let told = client.write_all(STARTUP).and_then(|()| client.flush()).and_then(|()| client.read(&mut heard));
        assert!(!matches!(told, Ok(1..)), "{protocols:?}");
    }
}

/// As CVE-2021-23214 has it.
#[test]
fn bytes_sent_before_tls_come_to_nothing() {
    let served = Served::new();
    let mut socket = TcpStream::connect(("127.0.0.1", served.port())).unwrap();
    socket.write_all(&[b"\0\0\0\x08\x04\xd2\x16\x2f", STARTUP].concat()).unwrap();
    let mut heard = Vec::new();
    socket.read_to_end(&mut heard).unwrap();
    assert_eq!(heard[0], b'E');
    assert!(heard.windows(5).any(|code| code == b"08P01"), "{}", heard.escape_ascii());
    // Such as come a little later are no hand-shake.
    let mut socket = TcpStream::connect(("127.0.0.1", served.port())).unwrap();
    socket.write_all(b"\0\0\0\x08\x04\xd2\x16\x2f").unwrap();
    let mut answer = [0];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(answer, *b"S");
    socket.write_all(STARTUP).unwrap();
    let mut heard = Vec::new();
    // A closed connection may be told as one that was broken.
    let _ = socket.read_to_end(&mut heard);
    assert!(!heard.contains(&b'R'), "{}", heard.escape_ascii());
}

#[test]
fn who_takes_nothing_of_what_is_written_through_tls_is_let_go() {
    let served = Served::with(&rcgen::PKCS_ECDSA_P256_SHA256, |options| {
        options.trusts_all = true;
        options.output_timeout = Duration::from_secs(2);
    });
    let mut client = direct(&served, &[b"postgresql"]);
    let query = b"SELECT repeat('x', 1000) FROM generate_series(1, 1000000)\0";
    client.write_all(&[STARTUP, b"Q", &(query.len() as u32 + 4).to_be_bytes(), query].concat()).unwrap();
    client.flush().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let wait = |is_there: bool| {
        while (served.running.sessions() > 0) != is_there {
            assert!(Instant::now() < until, "a session is there: {}", !is_there);
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait(true);
    wait(false);
}

#[test]
fn the_end_is_told_through_tls() {
    let served = Served::with(&rcgen::PKCS_ECDSA_P256_SHA256, |options| options.trusts_all = true);
    let mut client = direct(&served, &[b"postgresql"]);
    client.write_all(STARTUP).unwrap();
    let mut heard = vec![0; 1];
    client.read_exact(&mut heard).unwrap();
    let stopping = std::thread::spawn(move || served.running.stop());
    // Up to the word that TLS has for it: a connection that is cut off is an error.
    client.read_to_end(&mut heard).unwrap();
    assert!(heard.windows(5).any(|code| code == b"57P01"), "{}", heard.escape_ascii());
    stopping.join().unwrap();
}

#[test]
fn a_key_that_others_may_read_or_that_is_another_certificates_is_refused() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let made = |folder: &tempfile::TempDir| Certificate::signed_by(&rcgen::PKCS_ECDSA_P256_SHA256, folder.path());
    let (own, others) = (made(&one), made(&other));
    let code = |certificate: &Path, key: &Path| {
        Tls::of_files(certificate, key).err().map(|error| error.sqlstate().as_str().to_owned())
    };
    assert_eq!(code(&own.own, &own.key), None);
    assert_eq!(code(&own.own, &others.key).as_deref(), Some("22023"));
    assert_eq!(code(&own.key, &own.key).as_deref(), Some("22023"));
    assert_eq!(code(&own.own, &own.own).as_deref(), Some("42501"));
    assert_eq!(code(&own.own, &one.path().join("none")).as_deref(), Some("58030"));
    std::fs::set_permissions(&own.key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(code(&own.own, &own.key).as_deref(), Some("42501"));
}
