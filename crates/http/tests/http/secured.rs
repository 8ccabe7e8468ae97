//! TLS, and what is kept of statements and databases.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use cairn_server::Tls;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::*;

/// A certificate of its own, and its key, in files.
fn certificate(folder: &TempDir) -> (rcgen::Certificate, Tls) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let [own, secret] = ["server.crt", "server.key"].map(|name| folder.path().join(name));
    std::fs::write(&own, certificate.pem()).unwrap();
    std::fs::write(&secret, key.serialize_pem()).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let tls = Tls::of_files(&own, &secret).unwrap();
    (certificate, tls)
}

/// What is answered over TLS to who believes this certificate, and offers this protocol.
fn asked(client: &Client, certificate: &rcgen::Certificate, alpn: &[u8]) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, client.connect());
    stream.write_all(client.head("GET", "/db", &[]).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn tls_is_spoken_by_the_certificate_of_the_server() {
    let folder = TempDir::new().unwrap();
    let (certificate, tls) = certificate(&folder);
    let server = cairn_server::Options { tls: Some(tls), ..cairn_server::Options::default() };
    let served = Served::with(Options { tls: true, ..Options::default() }, server.clone());
    let answer = asked(&served.client, &certificate, b"http/1.1").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"{"databases":["shop"]}"#), "{answer}");
    // Another protocol within, another certificate, and none at all.
    assert!(asked(&served.client, &certificate, b"h2").is_err());
    let other = self::certificate(&TempDir::new().unwrap()).0;
    assert!(asked(&served.client, &other, b"http/1.1").is_err());
    let mut plain = served.client.connect();
    plain.write_all(served.client.head("GET", "/db", &[]).as_bytes()).unwrap();
    let mut told = Vec::new();
    let _ = plain.read_to_end(&mut told);
    assert!(!told.starts_with(b"HTTP"), "{told:?}");
    // Who shakes no hands is in nobody's way, and not in that of the server's end.
    let _waits = TcpStream::connect(served.client.address).unwrap();
    assert!(asked(&served.client, &certificate, b"http/1.1").is_ok());
    let begun = std::time::Instant::now();
    drop(served);
    assert!(begun.elapsed() < Duration::from_secs(10));
    // Addresses that others reach are for who speaks TLS, and TLS is for who has a certificate.
    let reached = Options { addresses: vec!["0.0.0.0:0".parse().unwrap()], ..Options::default() };
    assert!(Options { tls: true, ..reached.clone() }.check(&server).is_ok());
    assert_eq!(reached.check(&server).unwrap_err().sqlstate().0, "42501");
    let none = Options { tls: true, ..Options::default() }.check(&cairn_server::Options::default());
    assert_eq!(none.unwrap_err().sqlstate().0, "22023");
    let trusts = cairn_server::Options { trusts_all: true, ..server };
    assert_eq!(Options { tls: true, ..reached }.check(&trusts).unwrap_err().sqlstate().0, "42501");
}
