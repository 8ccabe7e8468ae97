//! Failed logins, counted by where they come from and by whom they name, and how long the next is kept waiting.
//!
//! - It is counted by what is *said*: a name that is unknown waits as long as one that is known, and so tells nothing.
//! - Who waits has a place in a queue: many who try at once come no faster than one.
//! - It takes the same memory however many names there are: places are found by a keyed hash. Two that share one wait for each other.
//! - A login that succeeds forgets what was counted by the name, not what was by the address: else one who knows one password may try all others.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PLACES: usize = 4_096;
/// So many failures cost nothing: who mistypes is not kept waiting.
const FREE: u32 = 5;
/// Between two tries after the first failure that costs; twice as much after each further one.
const FIRST: Duration = Duration::from_millis(100);
/// It is doubled at most so often: 6.4 s.
const DOUBLED_MAX: u32 = 6;
/// Who would wait longer is refused at once.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// After so long half of the failures are forgotten.
const HALF_LIFE: Duration = Duration::from_secs(60);

pub(crate) struct Throttle {
    secret: [u8; 32],
    places: Mutex<Box<[Place]>>,
}

#[derive(Clone, Default)]
struct Place {
    failures: u32,
    /// When the last one was.
    last: Option<Instant>,
    /// Before then nobody tries.
    next: Option<Instant>,
}

/// Where somebody comes from.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) enum Origin {
    Address(IpAddr),
    /// Over the Unix socket.
    User(Option<u32>),
}

impl Origin {
    /// Whether it may be another machine.
    pub(crate) fn is_elsewhere(self) -> bool {
        matches!(self, Origin::Address(address) if !address.to_canonical().is_loopback())
    }

    /// Of an IPv6 address the network: whoever has one has all of it.
    fn network(self) -> Origin {
        match self {
            Origin::Address(IpAddr::V6(address)) => {
                let network = address.to_bits() & !(u128::from(u64::MAX));
                Origin::Address(IpAddr::V6(network.into()))
            }
            other => other,
        }
    }
}

impl Throttle {
    pub(crate) fn new(secret: [u8; 32]) -> Throttle {
        Throttle { secret, places: Mutex::new(vec![Place::default(); PLACES].into_boxed_slice()) }
    }

    fn place_of(&self, key: impl Hash) -> usize {
        let mut hasher = DefaultHasher::new();
        (self.secret, key).hash(&mut hasher);
        (hasher.finish() % PLACES as u64) as usize
    }

    fn places_of(&self, origin: Origin, name: &str) -> [usize; 2] {
        [self.place_of(origin.network()), self.place_of(("name", name))]
    }

    fn change<R>(&self, change: impl FnOnce(&mut [Place]) -> R) -> R {
        change(&mut self.places.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long who tries now is to wait first; `None`: too long.
    pub(crate) fn enter(&self, origin: Origin, name: &str, now: Instant) -> Option<Duration> {
        let at = self.places_of(origin, name);
        self.change(|places| {
            let wait = at.map(|at| places[at].wait(now)).into_iter().max().unwrap_or_default();
            if wait > WAIT_MAX {
                return None;
            }
            at.iter().for_each(|at| places[*at].take(now + wait));
            Some(wait)
        })
    }

    pub(crate) fn failed(&self, origin: Origin, name: &str, now: Instant) {
        let at = self.places_of(origin, name);
        self.change(|places| at.iter().for_each(|at| places[*at].fail(now)));
    }

    pub(crate) fn succeeded(&self, origin: Origin, name: &str) {
        let [_, at] = self.places_of(origin, name);
        self.change(|places| places[at] = Place::default());
    }
}

impl Place {
    fn wait(&mut self, now: Instant) -> Duration {
        self.forget(now);
        let next = self.next.filter(|_| self.failures >= FREE);
        next.map_or(Duration::ZERO, |next| next.saturating_duration_since(now))
    }

    /// Somebody tries at that time; the next one does later.
    fn take(&mut self, at: Instant) {
        if let Some(more) = self.failures.checked_sub(FREE) {
            self.next = Some(at + FIRST * (1 << more.min(DOUBLED_MAX)));
        }
    }

    fn fail(&mut self, now: Instant) {
        self.forget(now);
        self.failures = self.failures.saturating_add(1);
        self.last = Some(now);
        // Who fails for the last time for nothing is followed by one who waits.
        if self.next.is_none() {
            self.take(now);
        }
    }

    fn forget(&mut self, now: Instant) {
        let Some(last) = self.last else { return };
        let halvings = now.saturating_duration_since(last).as_secs() / HALF_LIFE.as_secs();
        if halvings > 0 {
            self.failures = self.failures.checked_shr(halvings.min(32) as u32).unwrap_or(0);
            self.last = Some(now);
        }
        if self.failures < FREE {
            self.next = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Origin = Origin::Address(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    #[test]
    fn who_fails_often_waits_longer_and_longer_and_is_refused_in_the_end() {
        let (throttle, mut now) = (Throttle::new([7; 32]), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..20 {
            let Some(wait) = throttle.enter(HERE, "me", now) else { break };
            now += wait;
            throttle.failed(HERE, "me", now);
            waits.push(wait.as_millis());
        }
        assert_eq!(waits[..10], [0, 0, 0, 0, 0, 100, 100, 200, 400, 800]);
        assert!(waits.iter().all(|wait| *wait <= 6_400) && waits.len() == 20, "{waits:?}");
        // Many at once are no faster than one after the other.
        let together: Vec<_> = (0..10).map(|_| throttle.enter(HERE, "other", now)).collect();
        assert!(together.iter().filter(|wait| wait.is_some()).count() <= 2, "{together:?}");
        // Time heals.
        now += Duration::from_secs(300);
        assert_eq!(throttle.enter(HERE, "me", now), Some(Duration::ZERO));
    }

    #[test]
    fn who_gets_in_has_his_name_forgotten_and_not_his_address() {
        let (throttle, now) = (Throttle::new([7; 32]), Instant::now());
        (0..8).for_each(|_| throttle.failed(HERE, "known", now));
        let elsewhere = Origin::User(Some(7));
        assert!(throttle.enter(elsewhere, "known", now).unwrap() > Duration::ZERO);
        throttle.succeeded(HERE, "known");
        assert_eq!(throttle.enter(elsewhere, "known", now), Some(Duration::ZERO));
        assert!(throttle.enter(HERE, "another", now).unwrap() > Duration::ZERO);
    }

    #[test]
    fn a_network_of_ipv6_is_one_origin() {
        let of = |text: &str| format!("{:?}", Origin::Address(text.parse().unwrap()).network());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8::1"));
    }
}
