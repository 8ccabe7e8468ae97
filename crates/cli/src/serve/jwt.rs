//! Whose JSON Web Tokens are believed: keys of the configuration, and of files that it names.

use std::path::Path;

use cairn_http::Jwt;

use super::config::{map, text, unknown};
use super::users::check_private;
use super::yaml::{At, Node};

const KEYS: [&str; 3] = ["algorithm", "secret", "public_key"];

/// `keys: { ID: { algorithm: HS256, secret: .. }, ID: { algorithm: ES256, public_key: FILE } }`; whether there is a secret among them.
pub fn read_keys(jwt: &mut Jwt, keys: At<Node>) -> Result<bool, At<String>> {
    let mut has_secrets = false;
    for (id, of) in map(keys)? {
        let line = id.line;
        let bad = |of: String| At { line, of };
        let (mut algorithm, mut secret, mut file) = (None, None, None);
        for (key, value) in map(of)? {
            let value = text(value)?.of;
            match key.of.as_str() {
                "algorithm" => algorithm = Some(value),
                "secret" => secret = Some(value),
                "public_key" => file = Some(value),
                other => return Err(unknown(other, key.line, &KEYS)),
            }
        }
        let named = format!("key \"{}\"", id.of);
        let added = match (algorithm.as_deref(), secret, file) {
            (Some("HS256"), Some(secret), None) => {
                has_secrets = true;
                jwt.add_secret(Some(&id.of), secret.as_bytes())
            }
            (Some("HS256"), ..) => return Err(bad(format!("{named}: HS256 has a secret, and no public key"))),
            (Some(algorithm), None, Some(file)) => {
                let pem = std::fs::read(&file).map_err(|error| bad(format!("{named}: {file}: {error}")))?;
                jwt.add_public_key(Some(&id.of), algorithm, &pem)
            }
            (Some(algorithm), ..) => return Err(bad(format!("{named}: {algorithm} has a public_key, a file of PEM"))),
            (None, ..) => return Err(bad(format!("{named} has no algorithm: HS256, RS256, ES256, EdDSA"))),
        };
        added.map_err(|error| bad(format!("{named}: {}", error.message())))?;
    }
    Ok(has_secrets)
}

/// A file with a JSON Web Key Set. Others may read it only where all of it is public.
pub fn read_key_set(jwt: &mut Jwt, file: &str) -> Result<(), String> {
    let path = Path::new(file);
    let json = std::fs::read_to_string(path).map_err(|error| format!("{file}: {error}"))?;
    let told = |error: cairndb::Error| format!("{file}: {}", error.message());
    let mut alone = Jwt::default();
    alone.add_key_set(&json).map_err(told)?;
    if alone.has_secret() {
        check_private(path).map_err(|failure| failure.to_string())?;
    }
    jwt.add_key_set(&json).map_err(told)
}
