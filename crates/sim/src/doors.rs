//! What happens at the doors: single calls that fail while the database is opened or closed, and files that are not those
//! that were opened: another opener, links, a lock that somebody took away, a folder that was moved while another database came
//! into its place.
//!
//! Of a failed opening the same files must be as good as before: they are opened again, without the fault. Whoever closes
//! must leave alone what others have under its names by then.

use std::ops::AddAssign;
use std::path::Path;

use cairn_storage::io::{DiskImage, FileSystem, SimDisk};
use cairn_storage::{Error, Result, Store, TreeId};

use crate::machine::{self, SyncFailed};
use crate::random::Random;
use crate::rows::is_expected;
use crate::run::{DATABASE, LOG};
use crate::scheduler;
use crate::shape::{Shape, is_tried};

/// Where the database goes when it is moved.
const AWAY: [&str; 2] = ["away", "away-log"];
/// Its second name.
const LINKS: [&str; 2] = ["link", "link-log"];
/// Calls of an opening or closing among which the one that fails is drawn.
const CALLS: u64 = 60;
/// Commits of the database that came into its place.
const COMMITS: u32 = 5;

/// What was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doors {
    /// Openings during which a call failed.
    pub openings: u64,
    /// Those of them that failed.
    pub refused: u64,
    /// Those of them whose background it was, which failed.
    pub behind: u64,
    /// Closings during which a call failed.
    pub closings: u64,
    /// Others that tried to open the database beside its owner.
    pub others: u64,
    /// Closings after the files were moved, and others had their names.
    pub moved: u64,
}

impl AddAssign for Doors {
    fn add_assign(&mut self, other: Doors) {
        self.openings += other.openings;
        self.refused += other.refused;
        self.behind += other.behind;
        self.closings += other.closings;
        self.others += other.others;
        self.moved += other.moved;
    }
}

fn fail(what: String) -> ! {
    scheduler::current().fail(what)
}

/// Draws what goes wrong at the doors of a run.
#[derive(Debug)]
pub(crate) struct Doorman {
    random: Random,
    /// Whether calls fail, and whether files are moved, in this run.
    calls: bool,
    moves: bool,
}

impl Doorman {
    /// A stream of its own: what is drawn for the rest does not depend on it.
    pub(crate) fn of(seed: u64) -> Doorman {
        let mut random = Random::new(seed ^ 0xd005_0000);
        let (calls, moves) = (random.one_in(2) && is_tried("calls"), random.one_in(2) && is_tried("moves"));
        Doorman { random, calls, moves }
    }

    /// Lets one of the next calls fail, now and then. Returns how many had failed so before.
    pub(crate) fn arm(&mut self, disk: &SimDisk) -> u64 {
        if self.calls && self.random.one_in(2) {
            disk.fail_call(1 + self.random.below(CALLS));
        }
        disk.fault_counts().calls
    }

    /// How often calls that name files fail while the database is in use, of a million.
    pub(crate) fn names_ppm(&mut self) -> u32 {
        if self.calls { self.random.pick(&[0, 0, 2_000, 20_000]) } else { 0 }
    }

    /// Ends what `arm` began, behind an opening; whether a call has failed.
    pub(crate) fn opened<T>(&mut self, disk: &SimDisk, before: u64, opened: &Result<T>, doors: &mut Doors) -> bool {
        let has_failed = self.ended(disk, before);
        doors.openings += u64::from(has_failed);
        if let (true, Err(error)) = (has_failed && !disk.has_crashed(), opened) {
            // That it is the disk is told, and not that the files are damaged, or foreign.
            if !matches!(error, Error::Io { .. } | Error::CannotOpen { .. }) {
                fail(format!(
                    "a call failed while the database was opened, and it was told of as: {error} ({error:?})"
                ));
            }
            doors.refused += 1;
        }
        has_failed
    }

    /// Ends what `arm` began; whether a call has failed.
    pub(crate) fn ended(&mut self, disk: &SimDisk, before: u64) -> bool {
        let has_failed = disk.fault_counts().calls > before;
        disk.clear_faults();
        has_failed
    }

    /// Beside a database that nobody works with: others try to open it, or it is moved and closed where another one is by then.
    /// `None`: it is closed.
    pub(crate) fn beside(&mut self, disk: &SimDisk, shape: &Shape, store: Store, doors: &mut Doors) -> Option<Store> {
        if !self.moves || disk.has_crashed() || !self.random.one_in(3) {
            return Some(store);
        }
        disk.crash_at(u64::MAX);
        let mut place = Place { disk, shape, doors };
        place.others(DATABASE);
        match self.random.one_in(2) {
            true => {
                place.without_lock();
                Some(store)
            }
            false => {
                place.moved(store);
                None
            }
        }
    }
}

struct Place<'a> {
    disk: &'a SimDisk,
    shape: &'a Shape,
    doors: &'a mut Doors,
}

impl Place<'_> {
    fn open(&self, name: &str) -> Result<Store> {
        Store::open_with(name, self.shape.options(), machine::environment(self.disk, &SyncFailed::default()))
    }

    /// Somebody else who opens the database while it is open, whatever he calls it.
    fn others(&mut self, name: &str) {
        self.doors.others += 1;
        match self.open(name) {
            Err(Error::Busy { .. }) => {}
            Ok(_) => fail(format!("{name}: a second writer")),
            Err(error) => fail(format!("{name}: a second opener is told: {error}")),
        }
    }

    /// By another name, and after somebody has taken away what marks the lock.
    fn without_lock(&mut self) {
        for (name, link) in [DATABASE, LOG].iter().zip(LINKS) {
            self.disk.link(Path::new(name), Path::new(link));
        }
        self.others(LINKS[0]);
        LINKS.iter().for_each(|link| drop(self.disk.remove(Path::new(link))));
        self.disk.move_lock(Path::new(DATABASE), None);
        self.others(DATABASE);
    }

    fn remove(&self, name: &str) {
        if let Err(error) = self.disk.remove(Path::new(name)) {
            fail(format!("{name} is gone: {error}"));
        }
    }

    fn rename(&self, from: &str, to: &str) {
        let _ = self.disk.rename(Path::new(from), Path::new(to));
    }

    /// Closes the database after it was moved, and another had come into its place and was used.
    fn moved(&mut self, store: Store) {
        self.doors.moved += 1;
        for (name, away) in [DATABASE, LOG].iter().zip(AWAY) {
            self.rename(name, away);
        }
        self.disk.move_lock(Path::new(DATABASE), Some(Path::new(AWAY[0])));
        let second = self.open(DATABASE).unwrap_or_else(|error| fail(format!("nothing is there, and: {error}")));
        if let Err(error) = commit(&second) {
            fail(format!("the database that came into its place: {error}"));
        }
        match store.close() {
            Err(error) if !is_expected(&error) => fail(format!("closing where it was moved to: {error}")),
            _ => {}
        }
        self.others(DATABASE);
        if !self.disk.has_lock(Path::new(DATABASE)) {
            fail("the lock of another database is gone with the closing of one that was there before".to_owned());
        }
        self.look_at_killed();
        drop(second);
        self.remove(DATABASE);
        for (name, away) in [DATABASE, LOG].iter().zip(AWAY) {
            self.rename(away, name);
        }
        let _ = self.disk.sync_directory(Path::new(DATABASE));
    }

    /// What a kill would leave of the database that came into its place has all that was committed there.
    fn look_at_killed(&self) {
        let mut image = DiskImage::new();
        for name in [DATABASE, LOG] {
            match self.disk.snapshot(Path::new(name)) {
                Some(bytes) => image.insert(Path::new(name), &bytes),
                None => {
                    fail(format!("{name} of another database is gone with the closing of one that was there before"))
                }
            }
        }
        let disk = SimDisk::from_image(&image, 1);
        let copy = Place { disk: &disk, shape: self.shape, doors: &mut Doors::default() }.open(DATABASE);
        let found = copy.and_then(|copy| {
            let snapshot = copy.snapshot()?;
            let is_there =
                |key: u32| snapshot.reader().get(TreeId::CATALOG, &key.to_be_bytes()).map(|value| value.is_some());
            (0..COMMITS).try_fold(0, |found, key| Ok::<u32, Error>(found + u32::from(is_there(key)?)))
        });
        if !matches!(found, Ok(COMMITS)) {
            fail(format!("of another database's {COMMITS} commits there are: {found:?}"));
        }
    }
}

fn commit(store: &Store) -> Result<()> {
    (0..COMMITS).try_for_each(|key| {
        let transaction = store.begin()?;
        transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &[1; 20])?;
        transaction.commit(Some(cairn_storage::Durability::Full))
    })
}
