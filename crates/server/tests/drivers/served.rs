//! A server over TLS, its certificate, and the authority of the tests that vouches for it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cairn_server::{Options, Running, Server, Tls, Verifier};
use cairndb::Database;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose, SignatureAlgorithm};
use tempfile::TempDir;

pub const USER: &str = "alice";
pub const PASSWORD: &str = "s3cret ÄÖ";
pub const DATABASE: &str = "shop";

/// The files of a certificate for this machine.
pub struct Certificate {
    /// Of the authority.
    pub root: PathBuf,
    pub own: PathBuf,
    pub key: PathBuf,
}

impl Certificate {
    /// Signed by an authority whose key is of this kind.
    pub fn signed_by(algorithm: &'static SignatureAlgorithm, folder: &Path) -> Certificate {
        let key = KeyPair::generate_for(algorithm).expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(rcgen::DnType::CommonName, "authority of the tests");
        let root = params.self_signed(&key).expect("a certificate");
        let authority = Issuer::new(params, key);
        let own_key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name.push(rcgen::DnType::CommonName, "localhost");
        let own = params.signed_by(&own_key, &authority).expect("a certificate");
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            fs::write(&path, text).expect("written");
            path
        };
        let root = write("root.crt", root.pem());
        let own = write("server.crt", own.pem());
        let key = write("server.key", own_key.serialize_pem());
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("its mode");
        Certificate { root, own, key }
    }

    pub fn tls(&self) -> Tls {
        Tls::of_files(&self.own, &self.key).expect("a certificate and its key")
    }
}

pub struct Served {
    pub folder: TempDir,
    pub certificate: Certificate,
    pub database: Database,
    pub running: Running,
}

impl Served {
    pub fn new() -> Served {
        Served::with(&rcgen::PKCS_ECDSA_P256_SHA256, |_| {})
    }

    pub fn with(algorithm: &'static SignatureAlgorithm, change: impl FnOnce(&mut Options)) -> Served {
        let folder = TempDir::new().expect("a folder");
        let certificate = Certificate::signed_by(algorithm, folder.path());
        let database = Database::open(folder.path().join("shop.cairn")).expect("opens");
        let mut options = Options {
            name: DATABASE.to_owned(),
            addresses: vec!["127.0.0.1:0".parse().expect("an address")],
            socket: Some((folder.path().to_owned(), 5432)),
            users: HashMap::from([(USER.to_owned(), Verifier::of_password(PASSWORD, &[3; 16]).into())]),
            tls: Some(certificate.tls()),
            ..Options::default()
        };
        change(&mut options);
        let running = Server::over(database.clone()).with(options).start().expect("starts");
        Served { folder, certificate, database, running }
    }

    pub fn port(&self) -> u16 {
        self.running.addresses()[0].port()
    }
}
