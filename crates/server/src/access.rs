//! Who may come in from where, and how he shows who he is.
//!
//! - The first rule that fits decides; who fits none stays out. Without rules there are those of [`Options`]: the owner over the Unix
//!   socket, others with a password.
//! - Nothing is looked at but what somebody says of himself and where he comes from: it tells nothing of what there is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use cairn_wire::{Login, Verifier};
use cairndb::{Error, SqlState};

use crate::options::Options;
use crate::throttle::Origin;

/// A user who may come in with a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// What is kept of the password.
    pub verifier: Verifier,
    /// It may only read, whatever it sets.
    pub reads_only: bool,
}

impl From<Verifier> for User {
    fn from(verifier: Verifier) -> User {
        User { verifier, reads_only: false }
    }
}

/// A rule: who fits all of it comes in by its method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Where from.
    pub from: Network,
    /// By these names; none: by any.
    pub users: Vec<String>,
    /// To these databases; none: to any.
    pub databases: Vec<String>,
    /// Over TLS, or without it; `None`: either.
    pub tls: Option<bool>,
    /// How.
    pub method: Method,
}

/// Where somebody comes from. Its text is `socket`, `all`, an address, or an address with `/` and how many of its bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// The Unix socket.
    Socket,
    /// Anywhere.
    All,
    /// Addresses whose first so many bits are these.
    Addresses(IpAddr, u8),
}

/// How somebody comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// With a password.
    Password,
    /// By being the user who owns the database, over the Unix socket.
    Owner,
    /// By saying so.
    Trust,
    /// Not at all.
    Refuse,
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        match text {
            "socket" => return Ok(Network::Socket),
            "all" => return Ok(Network::All),
            _ => {}
        }
        let bad = || format!("\"{text}\" is neither socket nor all nor an address, as 10.0.0.0/8 or ::1");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(bad))?;
        let network = Network::Addresses(address, bits);
        match masked(address, bits) == address {
            true => Ok(network),
            false => {
                Err(format!("\"{text}\" has bits behind the first {bits}: write {}/{bits}", masked(address, bits)))
            }
        }
    }
}

/// An address with the bits behind the first so many taken out.
fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(of) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            Ipv4Addr::from_bits(of.to_bits() & mask).into()
        }
        IpAddr::V6(of) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            Ipv6Addr::from_bits(of.to_bits() & mask).into()
        }
    }
}

impl Network {
    fn has(self, origin: Origin) -> bool {
        match (self, origin) {
            (Network::All, _) | (Network::Socket, Origin::User(_)) => true,
            (Network::Addresses(network, bits), Origin::Address(address)) => {
                // One that came to a socket of both kinds is what it was.
                let address = address.to_canonical();
                address.is_ipv4() == network.is_ipv4() && masked(address, bits) == network
            }
            _ => false,
        }
    }

    /// Whether only this machine is in it.
    fn is_here(self) -> bool {
        match self {
            Network::Socket => true,
            Network::All => false,
            Network::Addresses(IpAddr::V4(address), bits) => address.is_loopback() && bits >= 8,
            Network::Addresses(IpAddr::V6(address), bits) => address.is_loopback() && bits == 128,
        }
    }
}

impl Access {
    fn fits(&self, login: &Login, origin: Origin, is_secured: bool) -> bool {
        let is_among = |name: &String, names: &[String]| names.is_empty() || names.contains(name);
        let fits = self.from.has(origin) && self.tls.is_none_or(|tls| tls == is_secured);
        fits && is_among(&login.user, &self.users) && is_among(&login.database, &self.databases)
    }
}

/// SQLSTATE 42501 for a rule that would let others in who show nothing.
pub(crate) fn check_rules(rules: &[Access]) -> Result<(), Error> {
    match rules.iter().find(|rule| rule.method == Method::Trust && !rule.from.is_here()) {
        None => Ok(()),
        Some(rule) => {
            let message = format!("a rule of access would let anybody in who comes from {}", shown(rule.from));
            Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).with_hint("Let them show a password."))
        }
    }
}

fn shown(network: Network) -> String {
    match network {
        Network::Socket => "the socket".to_owned(),
        Network::All => "anywhere".to_owned(),
        Network::Addresses(address, bits) => format!("{address}/{bits}"),
    }
}

/// How somebody comes in; SQLSTATE 28000 for who can not. `is_secured`: by TLS.
pub(crate) fn method(options: &Options, login: &Login, origin: Origin, is_secured: bool) -> Result<Method, Error> {
    let is_owner = matches!(origin, Origin::User(user) if user.is_some() && user == options.owner);
    let refused = |message: String, hint: &str| {
        Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message).with_hint(hint.to_owned()))
    };
    if !is_secured && !options.is_insecure && origin.is_elsewhere() {
        return refused(
            "who comes from another machine comes in over TLS only".to_owned(),
            "Connect with sslmode=require.",
        );
    }
    let user = &login.user;
    let not_owner = format!("peer authentication failed for user \"{user}\"");
    if !options.access.is_empty() {
        let rule = options.access.iter().find(|rule| rule.fits(login, origin, is_secured));
        return match rule.map_or(Method::Refuse, |rule| rule.method) {
            Method::Owner if !is_owner => refused(not_owner, "Only the user who owns the database comes in this way."),
            Method::Refuse => {
                let message = format!("no rule of access lets user \"{user}\" in to database \"{}\"", login.database);
                refused(message, "Who comes in from where is said in the server's configuration (access).")
            }
            method => Ok(method),
        };
    }
    match origin {
        _ if options.trusts_all => Ok(Method::Trust),
        _ if is_owner => Ok(Method::Owner),
        _ if !options.users.is_empty() => Ok(Method::Password),
        Origin::User(_) => refused(
            not_owner,
            "Only the user who owns the database comes in without a password, and no passwords are set.",
        ),
        Origin::Address(_) => {
            let hint =
                "Connect over the Unix socket as the user who owns the database, or start the server with passwords.";
            refused(format!("no password is set for user \"{user}\""), hint)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str) -> Origin {
        Origin::Address(text.parse().unwrap())
    }

    #[test]
    fn networks_have_the_addresses_that_begin_as_they_do() {
        let network = |text: &str| text.parse::<Network>().unwrap();
        for (of, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.1"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("0.0.0.0/0", "8.8.8.8", "::1"),
            ("2001:db8::/32", "2001:db8:1::7", "2001:db9::"),
            ("10.0.0.0/8", "::ffff:10.1.1.1", "::ffff:11.1.1.1"),
        ] {
            assert!(network(of).has(from(inside)) && !network(of).has(from(outside)), "{of}");
            assert!(!network(of).has(Origin::User(None)));
        }
        assert!(network("socket").has(Origin::User(None)) && network("all").has(from("::1")));
        for text in ["", "10.0.0.0/33", "10.0.0.1/8", "host", "::1/129", "10.0.0.0/-1"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides_and_without_one_nobody_comes_in() {
        let rule = |from: &str, users: &[&str], method| Access {
            from: from.parse().unwrap(),
            users: users.iter().map(|user| (*user).to_owned()).collect(),
            databases: vec!["shop".to_owned()],
            tls: None,
            method,
        };
        let access = vec![
            rule("socket", &[], Method::Owner),
            rule("10.0.0.0/8", &["bad"], Method::Refuse),
            rule("10.0.0.0/8", &[], Method::Password),
        ];
        let options = Options { access, owner: Some(7), ..Options::default() };
        let asked = |user: &str, database: &str, origin| {
            let login = Login { user: user.to_owned(), database: database.to_owned(), settings: Vec::new() };
            method(&options, &login, origin, true).ok()
        };
        assert_eq!(asked("me", "shop", Origin::User(Some(7))), Some(Method::Owner));
        assert_eq!(asked("me", "shop", Origin::User(Some(8))), None);
        assert_eq!(asked("me", "shop", from("10.1.1.1")), Some(Method::Password));
        assert_eq!(asked("bad", "shop", from("10.1.1.1")), None);
        assert_eq!(asked("me", "other", from("10.1.1.1")), None);
        assert_eq!(asked("me", "shop", from("11.1.1.1")), None);
        let login = Login { user: "me".to_owned(), database: "shop".to_owned(), settings: Vec::new() };
        assert!(method(&options, &login, from("10.1.1.1"), false).is_err(), "not without TLS");
        assert!(check_rules(&options.access).is_ok());
        assert!(check_rules(&[rule("all", &[], Method::Trust)]).is_err());
        assert!(check_rules(&[rule("127.0.0.0/8", &[], Method::Trust)]).is_ok());
    }

    #[test]
    fn a_rule_may_ask_for_tls_or_for_none() {
        let rule = |tls, method| Access { from: Network::All, users: Vec::new(), databases: Vec::new(), tls, method };
        let access = vec![rule(Some(true), Method::Password), rule(Some(false), Method::Refuse)];
        let options = Options { access, ..Options::default() };
        let login = Login::default();
        let asked = |is_secured| method(&options, &login, from("127.0.0.1"), is_secured).ok();
        assert_eq!((asked(true), asked(false)), (Some(Method::Password), None));
    }
}
