//! Bits that flip while the database is closed, or after a crash: tried on copies of the disk, so that the run goes on
//! with the undamaged one.
//!
//! A damaged copy must give what the undamaged one gives, or an error that names damage. Of the log, a flipped bit may
//! also take the last batch, which can not be told from one that was never acknowledged (`docs/guarantees.md`): then the
//! state must be that before it.

use std::cell::RefCell;
use std::ops::AddAssign;
use std::path::Path;
use std::rc::Rc;

use cairn_storage::io::{DiskImage, SimDisk};
use cairn_storage::{Error, Result, Store};

use crate::check::check;
use crate::history::Txn;
use crate::machine::{self, SyncFailed};
use crate::random::Random;
use crate::rows::Shared;
use crate::run::{DATABASE, LOG, look};
use crate::scheduler;
use crate::shape::Shape;

/// What came of flipped bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flips {
    /// All.
    pub tried: u64,
    /// Everything could be read and was right.
    pub harmless: u64,
    /// An error named the damage.
    pub named: u64,
    /// The last batch was gone.
    pub torn: u64,
}

impl AddAssign for Flips {
    fn add_assign(&mut self, other: Flips) {
        self.tried += other.tried;
        self.harmless += other.harmless;
        self.named += other.named;
        self.torn += other.torn;
    }
}

/// Flips some bits of the disk, one at a time.
pub(crate) fn try_some(disk: &SimDisk, shape: &Shape, history: &Shared, random: &mut Random) -> Flips {
    let (image, mut flips) = (image_of(disk), Flips::default());
    if image.bytes(Path::new(DATABASE)).is_none() {
        return flips;
    }
    let fail = |what: String| -> ! { scheduler::current().fail(what) };
    let whole = match Copy::of(&image, shape, history, random) {
        Ok(copy) => copy.digest,
        Err(error) => fail(format!("a copy does not open: {error}")),
    };
    for _ in 0..3 {
        let name = random.pick(&[DATABASE, LOG]);
        let Some(bytes) = image.bytes(Path::new(name)).filter(|bytes| !bytes.is_empty()) else { continue };
        let bit = random.below(8 * bytes.len() as u64);
        let mut damaged = image.clone();
        damaged.flip_bit(Path::new(name), bit);
        flips.tried += 1;
        match Copy::of(&damaged, shape, history, random) {
            Ok(copy) if copy.digest == whole => flips.harmless += 1,
            Ok(copy) => match copy.lacks_one_batch() {
                Ok(()) if name == LOG => flips.torn += 1,
                why => fail(format!("bit {bit} of {name} flipped, and the answer is wrong: {why:?}")),
            },
            Err(error) if is_damage(&error) => flips.named += 1,
            Err(error) => fail(format!("bit {bit} of {name} flipped: {error} ({error:?})")),
        }
    }
    flips
}

/// The files as a reader sees them now.
fn image_of(disk: &SimDisk) -> DiskImage {
    let mut image = DiskImage::new();
    for path in disk.paths() {
        image.insert(&path, &disk.snapshot(&path).unwrap_or_default());
    }
    image
}

/// What a copy of the disk held.
struct Copy {
    digest: u64,
    /// The run's history, with the reading of the copy.
    history: Shared,
    reading: Txn,
}

impl Copy {
    fn of(image: &DiskImage, shape: &Shape, history: &Shared, random: &mut Random) -> Result<Copy> {
        let disk = SimDisk::from_image(image, random.number());
        disk.set_best_sync_method(shape.method);
        let env = machine::environment(&disk, &SyncFailed::default());
        let store = Store::open_with(Path::new(DATABASE), shape.options(), env)?;
        let history: Shared = Rc::new(RefCell::new(history.borrow().clone()));
        let (reading, digest) = look(&history, &store, shape.keys)?;
        store.verify()?;
        store.close()?;
        Ok(Copy { digest, history, reading })
    }

    /// Whether it is what there was before the last batch.
    fn lacks_one_batch(self) -> std::result::Result<(), String> {
        let mut history = self.history.borrow_mut();
        history.txns[self.reading].damaged = true;
        check(&history)
    }
}

/// Whether the error tells of bytes that are not what was written.
fn is_damage(error: &Error) -> bool {
    use Error::{Corrupt, ForeignLog, MissingLog, NewerFormat, NotADatabase};
    matches!(error, Corrupt { .. } | ForeignLog { .. } | MissingLog { .. } | NewerFormat { .. } | NotADatabase { .. })
}
