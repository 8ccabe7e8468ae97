//! JSON Web Tokens (RFC 7519): who asks as somebody else says, whose key the configuration has.
//!
//! - A key is for one algorithm, whatever a token says of itself: a signature is looked at by keys of the algorithm that the token names, and the
//!   names that are known are HS256, RS256, ES256 and EdDSA. `none` is none of them, and no secret is ever a public key.
//! - A token ends (`exp`), is not early (`nbf`), and is for this server (`aud`, `iss`), as far as the configuration says so: one that has an
//!   audience is refused where none is configured.
//! - A token that was found good is kept, by the digest of its text, until it ends. What is kept belongs to the keys: a configuration that is read again
//!   has new ones, and nothing that was good by the old ones.
//! - What it may is said by rules alone ([`crate::principal`]).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use cairndb::{Error, Jsonb, SqlState};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// The longest token.
const TOKEN_BYTES_MAX: usize = 8 << 10;
/// The longest claims, as JSON.
const CLAIMS_BYTES_MAX: usize = 4 << 10;
/// What is kept of tokens, at most; then all of it is forgotten, and looked at again as it comes.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// A secret of fewer bytes than HS256 gives can be guessed.
const SECRET_BYTES_MIN: usize = 32;
/// An RSA key of 2048 bits.
const RSA_BYTES_MIN: usize = 256;
/// More keys are a mistake, and each is tried for a token that names none.
const KEYS_MAX: usize = 64;

/// Whose JSON Web Tokens a server believes.
///
/// ```
/// let mut jwt = cairn_http::Jwt::default();
/// jwt.add_secret(None, b"a secret of 32 bytes or more than that")?;
/// assert!(jwt.add_secret(None, b"short").is_err());
/// jwt.issuers = vec!["https://id.example".to_owned()];
/// let options = cairn_http::Options { jwt: Some(jwt.into()), ..Default::default() };
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Jwt {
    keys: Vec<Key>,
    /// A token has to be for one of these (`aud`); none: for nobody who is named.
    pub audience: Vec<String>,
    /// A token has to be of one of these (`iss`); none: whoever signs it.
    pub issuers: Vec<String>,
    /// By how much clocks may differ.
    pub leeway: Duration,
    /// In these databases only; none: in all.
    pub databases: Vec<String>,
    known: Mutex<Known>,
}

struct Key {
    /// `kid`
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

/// Tokens that were found good, by their digests.
#[derive(Default)]
struct Known {
    tokens: HashMap<[u8; 32], Arc<Claims>>,
    bytes: usize,
}

/// What a token says that was found good.
pub(crate) struct Claims {
    /// All of it.
    pub(crate) claims: Jsonb,
    /// From then on it says nothing.
    pub(crate) expires: SystemTime,
    /// Whom it is about (`sub`).
    pub(crate) name: String,
    /// In these databases, if any is named.
    pub(crate) databases: Vec<String>,
    token: String,
}

/// What is looked at here, too.
#[derive(Deserialize)]
struct Registered {
    exp: f64,
    #[serde(default)]
    sub: serde_json::Value,
}

impl Default for Jwt {
    fn default() -> Jwt {
        let (audience, issuers, databases) = (Vec::new(), Vec::new(), Vec::new());
        Jwt { keys: Vec::new(), audience, issuers, leeway: Duration::from_secs(10), databases, known: Mutex::default() }
    }
}

/// Keys are not shown.
impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jwt")
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

impl Jwt {
    /// By how much clocks may differ at most.
    pub const LEEWAY_MAX: Duration = Duration::from_secs(300);

    /// Whether what it believes by has to be kept to oneself.
    pub fn has_secret(&self) -> bool {
        self.keys.iter().any(|key| key.algorithm == Algorithm::HS256)
    }

    /// Believes who has this secret, by HS256. `id`: what tokens say that they are signed with (`kid`); `None`: whatever they say.
    ///
    /// # Errors
    ///
    /// 22023 where it is shorter than 32 bytes.
    pub fn add_secret(&mut self, id: Option<&str>, secret: &[u8]) -> Result<(), Error> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(wrong(format!("a secret for HS256 has at least {SECRET_BYTES_MIN} bytes")));
        }
        let key = DecodingKey::from_secret(secret).map_err(|_| wrong("the secret is none"))?;
        self.add(id.map(str::to_owned), Algorithm::HS256, key)
    }

    /// Believes who has the key to this public one (PEM), by RS256, ES256 or EdDSA.
    ///
    /// # Errors
    ///
    /// 22023 where it is no key for the algorithm, RSA's is shorter than 2048 bits, or the algorithm is another.
    pub fn add_public_key(&mut self, id: Option<&str>, algorithm: &str, pem: &[u8]) -> Result<(), Error> {
        let (algorithm, key) = match algorithm {
            "RS256" => (Algorithm::RS256, DecodingKey::from_rsa_pem(pem)),
            "ES256" => (Algorithm::ES256, DecodingKey::from_ec_pem(pem)),
            "EdDSA" => (Algorithm::EdDSA, DecodingKey::from_ed_pem(pem)),
            other => {
                let message = format!("\"{other}\" is no algorithm of a public key");
                return Err(wrong(message).with_hint("There are RS256, ES256 and EdDSA; HS256 has a secret."));
            }
        };
        let key = key.map_err(|_| wrong(format!("it is no public key in PEM for {algorithm:?}")))?;
        self.add(id.map(str::to_owned), algorithm, key)
    }

    /// Believes who has the keys to those of a JSON Web Key Set (RFC 7517). Keys in it that are for something else are left out.
    ///
    /// # Errors
    ///
    /// 22023 where it is no such set, has no key that is of use, or one that is not sound.
    pub fn add_key_set(&mut self, json: &str) -> Result<(), Error> {
        let set: JwkSet = serde_json::from_str(json).map_err(|error| wrong(format!("it is no JWKS: {error}")))?;
        let before = self.keys.len();
        for jwk in &set.keys {
            let Some(algorithm) = algorithm_of(jwk) else { continue };
            let key = DecodingKey::from_jwk(jwk).map_err(|_| wrong(format!("{} is no key", name_of(jwk))))?;
            if let DecodingKeyKind::SecretOrDer(secret) = key.kind()
                && algorithm == Algorithm::HS256
                && secret.len() < SECRET_BYTES_MIN
            {
                return Err(wrong(format!("{} has fewer than {SECRET_BYTES_MIN} bytes", name_of(jwk))));
            }
            self.add(jwk.common.key_id.clone(), algorithm, key)?;
        }
        match self.keys.len() > before {
            true => Ok(()),
            false => Err(wrong("the JWKS has no key for HS256, RS256, ES256 or EdDSA")),
        }
    }

    fn add(&mut self, id: Option<String>, algorithm: Algorithm, key: DecodingKey) -> Result<(), Error> {
        let bytes = match key.kind() {
            DecodingKeyKind::SecretOrDer(bytes) => bytes.len(),
            DecodingKeyKind::RsaModulusExponent { n, .. } => n.iter().skip_while(|byte| **byte == 0).count(),
        };
        if algorithm == Algorithm::RS256 && bytes < RSA_BYTES_MIN {
            return Err(wrong("a key for RS256 has at least 2048 bits"));
        }
        if self.keys.len() == KEYS_MAX {
            return Err(wrong(format!("there are more than {KEYS_MAX} keys")));
        }
        // A key that is none is told before somebody comes with a token.
        let tried = jsonwebtoken::crypto::verify("AA", b"", &key, algorithm);
        tried.map_err(|_| wrong(format!("it is no key for {algorithm:?}")))?;
        self.keys.push(Key { id, algorithm, key });
        Ok(())
    }

    /// Whether somebody could show something that is believed.
    ///
    /// # Errors
    ///
    /// 22023 where there is no key.
    pub fn check(&self) -> Result<(), Error> {
        match self.keys.is_empty() {
            true => Err(wrong("there is no key to know JSON Web Tokens by").with_hint("Say jwt.keys or jwt.jwks.")),
            false => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a token says, if it is good now; else why not.
    pub(crate) fn claims(&self, token: &str) -> Result<Arc<Claims>, &'static str> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err("the token is too long");
        }
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.lock().tokens.get(&digest) {
            return if known.has_expired() { Err(EXPIRED) } else { Ok(known.clone()) };
        }
        let claims = Arc::new(self.verified(token)?);
        self.lock().keep(digest, claims.clone());
        Ok(claims)
    }

    /// The same, of who has shown it before, maybe to other keys.
    pub(crate) fn is_still(&self, claims: &Claims) -> bool {
        self.claims(&claims.token).is_ok_and(|now| now.databases == claims.databases)
    }

    fn verified(&self, token: &str) -> Result<Claims, &'static str> {
        const NONE: &str = "the token is none that is believed here";
        let payload = token.split('.').nth(1).ok_or(NONE)?;
        if payload.len() > CLAIMS_BYTES_MAX / 3 * 4 + 4 {
            return Err("the token says too much");
        }
        let header = decode_header(token).map_err(|_| NONE)?;
        let fits = |key: &&Key| {
            let is_named = key.id.is_none() || header.kid.is_none() || key.id == header.kid;
            key.algorithm == header.alg && is_named
        };
        let mut why = NONE;
        for key in self.keys.iter().filter(fits) {
            match decode::<Box<RawValue>>(token, &key.key, &self.validation(key.algorithm)) {
                Ok(good) => return self.read(token, good.claims.get()).ok_or(NONE),
                Err(error) => why = why_not(&error).unwrap_or(why),
            }
        }
        Err(why)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        let mut needed = vec!["exp"];
        if !self.audience.is_empty() {
            validation.set_audience(&self.audience);
            needed.push("aud");
        }
        if !self.issuers.is_empty() {
            validation.set_issuer(&self.issuers);
            needed.push("iss");
        }
        validation.set_required_spec_claims(&needed);
        validation.leeway = self.leeway.as_secs();
        validation.validate_nbf = true;
        validation
    }

    fn read(&self, token: &str, text: &str) -> Option<Claims> {
        let Registered { exp, sub } = serde_json::from_str(text).ok()?;
        let lasts = Duration::try_from_secs_f64(exp).ok()?.checked_add(self.leeway)?;
        let claims = Claims {
            claims: text.parse().ok()?,
            expires: SystemTime::UNIX_EPOCH.checked_add(lasts)?,
            name: sub.as_str().unwrap_or("jwt").chars().take(64).collect(),
            databases: self.databases.clone(),
            token: token.to_owned(),
        };
        (!claims.has_expired()).then_some(claims)
    }
}

const EXPIRED: &str = "the token has expired";

/// What may be told of why a token is not believed: nothing of a signature.
fn why_not(error: &jsonwebtoken::errors::Error) -> Option<&'static str> {
    use jsonwebtoken::errors::ErrorKind as Kind;
    match error.kind() {
        Kind::ExpiredSignature => Some(EXPIRED),
        Kind::ImmatureSignature => Some("the token is not valid yet"),
        Kind::InvalidAudience => Some("the token is for somebody else (aud)"),
        Kind::InvalidIssuer => Some("the token is of somebody else (iss)"),
        Kind::MissingRequiredClaim(_) => Some("the token does not say what it has to (exp, aud, iss)"),
        _ => None,
    }
}

/// For which algorithm a key of a set is; `None`: for something else than what is looked at here.
fn algorithm_of(jwk: &Jwk) -> Option<Algorithm> {
    if jwk.common.public_key_use.as_ref().is_some_and(|of| *of != PublicKeyUse::Signature) {
        return None;
    }
    let (algorithm, named) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(of) if of.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(of) if of.curve == EllipticCurve::Ed25519 => {
            (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
        }
        AlgorithmParameters::OctetKey(_) => (Algorithm::HS256, KeyAlgorithm::HS256),
        _ => return None,
    };
    jwk.common.key_algorithm.is_none_or(|said| said == named).then_some(algorithm)
}

fn name_of(jwk: &Jwk) -> String {
    jwk.common.key_id.as_ref().map_or_else(|| "a key of the JWKS".to_owned(), |id| format!("key \"{id}\" of the JWKS"))
}

impl Claims {
    fn has_expired(&self) -> bool {
        SystemTime::now() >= self.expires
    }
}

impl Known {
    fn keep(&mut self, digest: [u8; 32], claims: Arc<Claims>) {
        // Its text, its claims as they are kept, and what a map takes for it.
        let bytes = 2 * claims.token.len() + 256;
        if self.bytes + bytes > KEPT_BYTES_MAX {
            *self = Known::default();
        }
        if self.tokens.insert(digest, claims).is_none() {
            self.bytes += bytes;
        }
    }
}
