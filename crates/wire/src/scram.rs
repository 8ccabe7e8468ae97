//! SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's half, and the verifiers that are kept of passwords.
//!
//! SCRAM-SHA-256-PLUS binds it to the TLS below: both show that they see the same certificate (`tls-server-end-point`, RFC 5929), so that who
//! stands between them with another is found out.
//!
//! - A password is in no verifier: who reads one can not log in by it.
//! - Who is unknown gets the same messages as who is known, with a salt that is the same each time, and fails at the end.
//! - A client that could have bound itself and was made to believe that the server could not is refused.
//! - Proofs are compared in the same time wherever they differ.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cairndb::{Error, Result, SqlState};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::error::violation;

/// The mechanism's name.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";
/// Of the one that is bound to TLS.
pub(crate) const BOUND_MECHANISM: &str = "SCRAM-SHA-256-PLUS";
/// What it is bound by.
const BINDING: &str = "tls-server-end-point";
/// PostgreSQL's.
const ITERATIONS: u32 = 4096;
/// Of a verifier that somebody made elsewhere: a client would compute so many, each time.
const ITERATIONS_MAX: u32 = 1_000_000;
const SALT_BYTES: usize = 16;

type Hash = [u8; 32];

/// What is kept of a password: `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey`, as PostgreSQL has it.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: u32,
    salt: Vec<u8>,
    stored_key: Hash,
    server_key: Hash,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier")
    }
}

impl std::fmt::Display for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [salt, stored, server] = [&self.salt[..], &self.stored_key, &self.server_key].map(|of| STANDARD.encode(of));
        write!(f, "{MECHANISM}${}:{salt}${stored}:{server}", self.iterations)
    }
}

impl Verifier {
    /// Of a password, with a salt of random bytes.
    ///
    /// ```
    /// let verifier = cairn_wire::Verifier::of_password("secret", &[7; 16]);
    /// assert_eq!(cairn_wire::Verifier::parse(&verifier.to_string()).unwrap(), verifier);
    /// ```
    pub fn of_password(password: &str, salt: &[u8; SALT_BYTES]) -> Verifier {
        // What has no form that is prepared is taken as it is, as PostgreSQL does.
        let prepared = stringprep::saslprep(password).unwrap_or(password.into());
        let mut salted = Hash::default();
        pbkdf2::pbkdf2_hmac::<Sha256>(prepared.as_bytes(), salt, ITERATIONS, &mut salted);
        let stored_key = Sha256::digest(mac(&salted, b"Client Key")).into();
        let server_key = mac(&salted, b"Server Key");
        Verifier { iterations: ITERATIONS, salt: salt.to_vec(), stored_key, server_key }
    }

    /// Of a password, with a salt of the system's randomness.
    ///
    /// # Errors
    ///
    /// 58030 where the system has none to give.
    pub fn with_new_salt(password: &str) -> Result<Verifier> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt)
            .map_err(|error| Error::new(SqlState::IO_ERROR, format!("could not get random bytes: {error}")))?;
        Ok(Verifier::of_password(password, &salt))
    }

    /// From its text. SQLSTATE 22023 where it is none.
    pub fn parse(text: &str) -> Result<Verifier> {
        let bad = || Error::new(SqlState::INVALID_PARAMETER_VALUE, "the text is no SCRAM-SHA-256 verifier");
        let bytes = |text: &str| STANDARD.decode(text).map_err(|_| bad());
        let key = |text: &str| Hash::try_from(&bytes(text)?[..]).map_err(|_| bad());
        let mut parts = text.split('$');
        let (Some(MECHANISM), Some(how), Some(keys), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad());
        };
        let (iterations, salt) = how.split_once(':').ok_or_else(bad)?;
        let (stored, server) = keys.split_once(':').ok_or_else(bad)?;
        let iterations =
            iterations.parse().ok().filter(|count| (1..=ITERATIONS_MAX).contains(count)).ok_or_else(bad)?;
        Ok(Verifier { iterations, salt: bytes(salt)?, stored_key: key(stored)?, server_key: key(server)? })
    }

    /// Of nobody: no password fits, and its salt depends on the name and the server's secret only.
    fn of_nobody(user: &str, secret: &[u8; 32]) -> Verifier {
        let salt = mac(secret, user.as_bytes())[..SALT_BYTES].to_vec();
        Verifier { iterations: ITERATIONS, salt, stored_key: Hash::default(), server_key: Hash::default() }
    }
}

fn mac(key: &[u8], data: &[u8]) -> Hash {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Hash::default() };
    mac.update(data);
    mac.finalize().into_bytes().into()
}

/// What the server has for a conversation that somebody authenticates in.
#[derive(Clone, Debug)]
pub struct Challenge {
    /// `None`: nobody of this name is known.
    pub verifier: Option<Verifier>,
    /// Random bytes, of this conversation only.
    pub nonce: [u8; 18],
    /// The server's, the same for all: of it the salts of those are made whom nobody knows.
    pub secret: [u8; 32],
    /// What binds it to the TLS that is spoken, by `tls-server-end-point`: the hash of the server's certificate. `None`: nothing does.
    pub binding: Option<Vec<u8>>,
}

/// An authentication that has begun.
pub(crate) struct Exchange {
    verifier: Verifier,
    is_known: bool,
    nonce: String,
    /// It is SCRAM-SHA-256-PLUS.
    is_bound: bool,
    /// What the client is to repeat at the end: `n,,` or `y,,`, or `p=..,,` and what binds.
    header: Vec<u8>,
    /// What both have said so far.
    messages: String,
}

impl Exchange {
    /// The client's first message; what to answer.
    pub(crate) fn begin(
        user: &str,
        challenge: &Challenge,
        is_bound: bool,
        message: &str,
    ) -> Result<(Exchange, String)> {
        let malformed = || violation("malformed SCRAM message");
        let (flag, rest) = message.split_once(',').ok_or_else(malformed)?;
        let binding = challenge.binding.as_deref();
        check_flag(flag, is_bound, binding.is_some())?;
        let mut header = format!("{flag},,").into_bytes();
        header.extend(binding.filter(|_| is_bound).unwrap_or_default());
        let (identity, bare) = rest.split_once(',').ok_or_else(malformed)?;
        if !identity.is_empty() {
            return Err(Error::unsupported("an authorization identity of SCRAM"));
        }
        let mut attributes = bare.split(',');
        match attributes.next() {
            Some(name) if name.starts_with("n=") => {}
            Some(extension) if extension.starts_with("m=") => {
                return Err(Error::unsupported("a SCRAM extension that is mandatory"));
            }
            _ => return Err(malformed()),
        }
        let theirs = attributes.next().and_then(|nonce| nonce.strip_prefix("r=")).ok_or_else(malformed)?;
        if theirs.is_empty() || !theirs.bytes().all(|byte| matches!(byte, 0x21..=0x7E)) {
            return Err(malformed());
        }
        let nonce = format!("{theirs}{}", STANDARD.encode(challenge.nonce));
        let is_known = challenge.verifier.is_some();
        let verifier = challenge.verifier.clone().unwrap_or_else(|| Verifier::of_nobody(user, &challenge.secret));
        let answer = format!("r={nonce},s={},i={}", STANDARD.encode(&verifier.salt), verifier.iterations);
        let messages = format!("{bare},{answer}");
        Ok((Exchange { verifier, is_known, nonce, is_bound, header, messages }, answer))
    }

    /// The client's last message; what to answer, if it has shown that it knows the password.
    pub(crate) fn end(self, message: &str) -> Result<Option<String>> {
        let malformed = || violation("malformed SCRAM message");
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or_else(malformed)?;
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|binding| binding.strip_prefix("c=")).ok_or_else(malformed)?;
        let nonce = attributes.next().and_then(|nonce| nonce.strip_prefix("r=")).ok_or_else(malformed)?;
        if binding != STANDARD.encode(&self.header) {
            return Err(match self.is_bound {
                true => refused("SCRAM channel binding check failed"),
                false => violation("unexpected SCRAM channel-binding attribute in client-final-message"),
            });
        }
        if nonce != self.nonce {
            return Err(malformed().with_detail("Nonce does not match."));
        }
        let proof =
            STANDARD.decode(proof).ok().and_then(|proof| Hash::try_from(&proof[..]).ok()).ok_or_else(malformed)?;
        let messages = format!("{},{without_proof}", self.messages);
        let signature = mac(&self.verifier.stored_key, messages.as_bytes());
        let client_key: Hash = std::array::from_fn(|at| proof[at] ^ signature[at]);
        let is_right = is_same(&Sha256::digest(client_key).into(), &self.verifier.stored_key);
        let server = mac(&self.verifier.server_key, messages.as_bytes());
        Ok((is_right & self.is_known).then(|| format!("v={}", STANDARD.encode(server))))
    }
}

/// What a client says of channel binding, beside the mechanism that it took.
fn check_flag(flag: &str, is_bound: bool, is_offered: bool) -> Result<()> {
    let malformed = |detail: &str| Err(violation("malformed SCRAM message").with_detail(detail));
    match (flag, flag.strip_prefix("p=")) {
        ("n", _) | ("y", _) if is_bound => malformed(
            "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data.",
        ),
        ("y", _) if is_offered => Err(refused("SCRAM channel binding negotiation error").with_detail(
            "The client supports SCRAM channel binding but thinks the server does not.  However, this server does support channel binding.",
        )),
        ("n", _) | ("y", _) => Ok(()),
        (_, Some(_)) if !is_bound => malformed(
            "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data.",
        ),
        (_, Some(BINDING)) => Ok(()),
        (_, Some(other)) => Err(violation(format!("unsupported SCRAM channel-binding type \"{other}\""))),
        _ => Err(violation("malformed SCRAM message")),
    }
}

/// SQLSTATE 28000.
fn refused(message: &str) -> Error {
    Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message)
}

/// In the same time wherever they differ.
fn is_same(one: &Hash, other: &Hash) -> bool {
    std::hint::black_box(one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn the_exchange_of_the_standard_comes_out_as_it_says() {
        let salt: [u8; 16] = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap().try_into().unwrap();
        let verifier = Verifier::of_password("pencil", &salt);
        let exchange = Exchange {
            verifier,
            is_known: true,
            nonce: "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0".to_owned(),
            is_bound: false,
            header: b"n,,".to_vec(),
            messages: "n=user,r=rOprNGfwEbeRWgbNEkqO,\
                r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
                .to_owned(),
        };
        let message = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        let answer = exchange.end(message).unwrap();
        assert_eq!(answer.as_deref(), Some("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
    }

    #[test]
    fn nobody_is_asked_as_somebody_is_and_with_the_same_salt_each_time() {
        let challenge = |nonce| Challenge { verifier: None, nonce: [nonce; 18], secret: [9; 32], binding: None };
        let salt = |nonce| {
            let (_, answer) = Exchange::begin("nobody", &challenge(nonce), false, "n,,n=,r=abc").unwrap();
            answer.split(',').nth(1).unwrap().to_owned()
        };
        assert_eq!(salt(1), salt(2));
        let (exchange, answer) = Exchange::begin("nobody", &challenge(1), false, "n,,n=,r=abc").unwrap();
        let nonce = answer.split(',').next().unwrap();
        let message = format!("c=biws,{nonce},p={}", STANDARD.encode([0; 32]));
        assert_eq!(exchange.end(&message).unwrap(), None);
    }

    /// A client that knows the password, and says so about binding and what binds it.
    fn bound(is_bound: bool, offered: Option<&[u8]>, flag: &str, shown: &[u8]) -> Result<Option<String>> {
        let verifier = Verifier::of_password("secret", &[7; 16]);
        let binding = offered.map(<[u8]>::to_vec);
        let challenge = Challenge { verifier: Some(verifier.clone()), nonce: [1; 18], secret: [9; 32], binding };
        let (exchange, answer) = Exchange::begin("me", &challenge, is_bound, &format!("{flag},,n=,r=abc"))?;
        let nonce = answer.split(',').next().unwrap();
        let header = [format!("{flag},,").as_bytes(), shown].concat();
        let without_proof = format!("c={},{nonce}", STANDARD.encode(header));
        let mut salted = Hash::default();
        pbkdf2::pbkdf2_hmac::<Sha256>(b"secret", &[7; 16], ITERATIONS, &mut salted);
        let key = mac(&salted, b"Client Key");
        let signature = mac(&verifier.stored_key, format!("n=,r=abc,{answer},{without_proof}").as_bytes());
        let proof: Hash = std::array::from_fn(|at| key[at] ^ signature[at]);
        exchange.end(&format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    #[test]
    fn who_binds_to_another_certificate_or_was_made_to_believe_that_there_is_no_binding_stays_out() {
        let (plus, ours, theirs) = ("p=tls-server-end-point", Some(&b"ours"[..]), b"theirs");
        assert!(bound(true, ours, plus, b"ours").unwrap().is_some());
        assert!(bound(false, ours, "n", b"").unwrap().is_some());
        assert!(bound(false, None, "y", b"").unwrap().is_some());
        for (is_bound, offered, flag, shown, expected) in [
            (true, ours, plus, &theirs[..], "SCRAM channel binding check failed"),
            (false, ours, "y", b"", "SCRAM channel binding negotiation error"),
            (true, ours, "n", b"", "malformed SCRAM message"),
            (false, ours, plus, b"ours", "malformed SCRAM message"),
            (true, ours, "p=tls-unique", b"ours", "unsupported SCRAM channel-binding type \"tls-unique\""),
            (false, None, "n", b"more", "unexpected SCRAM channel-binding attribute in client-final-message"),
            (false, None, "x", b"", "malformed SCRAM message"),
        ] {
            let refused = bound(is_bound, offered, flag, shown).unwrap_err();
            assert_eq!(refused.message(), expected, "{flag}");
        }
    }

    #[test]
    fn verifiers_that_are_none_are_refused() {
        for text in
            ["", "md5abc", "SCRAM-SHA-256$0:AA==$AA==:AA==", "SCRAM-SHA-256$4096:AA==$AA==:AA==", "SCRAM-SHA-256$1"]
        {
            assert!(Verifier::parse(text).is_err(), "{text}");
        }
    }
}
