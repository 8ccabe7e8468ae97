//! Bits that flip while the database is closed, or after a crash: tried on copies of the disk, so that the run goes on
//! with the undamaged one.
//!
//! A damaged copy must give what the undamaged one gives, or an error that names damage. Of the log, a flipped bit may
//! also take the last batch, which can not be told from one that was never acknowledged (`docs/guarantees.md`): then the
//! state must be that before it. What is salvaged of the undamaged copy must be what it holds.

use std::cell::RefCell;
use std::ops::AddAssign;
use std::path::Path;
use std::rc::Rc;

use cairn_storage::io::{DiskImage, SimDisk};
use cairn_storage::{Error, Result, Store, salvage_with};

use crate::check::check;
use crate::history::Transaction;
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
    /// The same files were opened again, after the bit had flipped back.
    pub put_right: u64,
    /// The last batch was gone.
    pub torn: u64,
}

impl AddAssign for Flips {
    fn add_assign(&mut self, other: Flips) {
        self.tried += other.tried;
        self.harmless += other.harmless;
        self.named += other.named;
        self.put_right += other.put_right;
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
    match salvaged(&image, shape, history, random) {
        Ok(digest) if digest == whole => {}
        other => fail(format!("what was salvaged of an undamaged copy is not what it holds: {other:?}")),
    }
    for _ in 0..5 {
        let name = random.pick(&[DATABASE, LOG]);
        let Some(bytes) = image.bytes(Path::new(name)).filter(|bytes| !bytes.is_empty()) else { continue };
        // Now and then one of the meta pages: there are few of them.
        let pages = if name == DATABASE && random.one_in(3) { 2 * shape.page_size } else { bytes.len() };
        let Some(bit) = used_bit(&bytes[..pages.min(bytes.len())], random) else { continue };
        let mut damaged = image.clone();
        damaged.flip_bit(Path::new(name), bit);
        flips.tried += 1;
        match Copy::of(&damaged, shape, history, random) {
            Ok(copy) if copy.digest == whole => flips.harmless += 1,
            Ok(copy) => match copy.lacks_one_batch(history) {
                Ok(()) if name == LOG => flips.torn += 1,
                why => fail(format!("bit {bit} of {name} flipped, and the answer is wrong: {why:?}")),
            },
            Err(error) if is_damage(&error) => {
                flips.named += 1;
                flips.put_right += u64::from(put_right(&damaged, (name, bit), whole, (shape, history, random)));
            }
            Err(error) => fail(format!("bit {bit} of {name} flipped: {error} ({error:?})")),
        }
    }
    flips
}

/// Opens files with a damaged bit, which is refused, and the same files again after it has flipped back. False: the damage is
/// not in the way of the opening.
fn put_right(
    damaged: &DiskImage,
    (name, bit): (&str, u64),
    whole: u64,
    (shape, history, random): (&Shape, &Shared, &mut Random),
) -> bool {
    let disk = SimDisk::from_image(damaged, random.number());
    disk.set_best_sync_method(shape.method);
    let env = machine::environment(&disk, &SyncFailed::default());
    if Store::open_with(Path::new(DATABASE), shape.options(), env).is_ok() {
        return false;
    }
    disk.flip_bit(Path::new(name), bit);
    match Copy::on(&disk, shape, history) {
        Ok(copy) if copy.digest == whole => true,
        Ok(_) => {
            scheduler::current().fail(format!("bit {bit} of {name} flipped and flipped back, and the answer is wrong"))
        }
        Err(error) => scheduler::current().fail(format!("bit {bit} of {name} flipped and flipped back: {error}")),
    }
}

/// What a salvage makes of an undamaged copy: all there is, but for what is derived.
fn salvaged(image: &DiskImage, shape: &Shape, history: &Shared, random: &mut Random) -> Result<u64> {
    let disk = SimDisk::from_image(image, random.number());
    let env = machine::environment(&disk, &SyncFailed::default());
    salvage_with(DATABASE, "salvaged", shape.options(), env.clone(), &mut |_, _| ())?;
    let store = Store::open_with("salvaged", shape.options(), env)?;
    let seen: Shared = Rc::new(RefCell::new(history.borrow().for_reading()));
    seen.borrow_mut().is_salvaged = true;
    let (_, digest) = look(&seen, &store, shape.keys)?;
    store.verify()?;
    store.close()?;
    Ok(digest)
}

/// A bit of a sector that holds something: most of a log is zeroes that nobody reads.
fn used_bit(bytes: &[u8], random: &mut Random) -> Option<u64> {
    const SECTOR: usize = 512;
    let used = |at: &usize| bytes[*at..].iter().take(SECTOR).any(|&byte| byte != 0);
    let sectors: Vec<usize> = (0..bytes.len()).step_by(SECTOR).filter(used).collect();
    let start = (!sectors.is_empty()).then(|| random.pick(&sectors))?;
    Some(8 * start as u64 + random.below(8 * SECTOR.min(bytes.len() - start) as u64))
}

/// The files as a reader sees them now.
pub(crate) fn image_of(disk: &SimDisk) -> DiskImage {
    let mut image = DiskImage::new();
    for path in disk.paths() {
        image.insert(&path, &disk.snapshot(&path).unwrap_or_default());
    }
    image
}

/// What a copy of the disk held.
pub(crate) struct Copy {
    pub(crate) digest: u64,
    /// What its reader saw.
    reading: Transaction,
}

impl Copy {
    fn of(image: &DiskImage, shape: &Shape, history: &Shared, random: &mut Random) -> Result<Copy> {
        let disk = SimDisk::from_image(image, random.number());
        disk.set_best_sync_method(shape.method);
        Copy::on(&disk, shape, history)
    }

    fn on(disk: &SimDisk, shape: &Shape, history: &Shared) -> Result<Copy> {
        let env = machine::environment(disk, &SyncFailed::default());
        Copy::in_store(Store::open_with(Path::new(DATABASE), shape.options(), env)?, shape, history)
    }

    /// Of what was opened, which is closed.
    pub(crate) fn in_store(store: Store, shape: &Shape, history: &Shared) -> Result<Copy> {
        let seen: Shared = Rc::new(RefCell::new(history.borrow().for_reading()));
        let (reading, digest) = look(&seen, &store, shape.keys)?;
        store.verify()?;
        store.close()?;
        let reading = seen.borrow_mut().txns.swap_remove(reading);
        Ok(Copy { digest, reading })
    }

    /// Whether it is what there was before the last batch.
    fn lacks_one_batch(self, history: &Shared) -> std::result::Result<(), String> {
        let mut history = history.borrow().clone();
        history.txns.push(Transaction { damaged: true, ..self.reading });
        check(&history)
    }
}

/// Whether the error tells of bytes that are not what was written.
fn is_damage(error: &Error) -> bool {
    use Error::{Corrupt, ForeignLog, MissingLog, NewerFormat, NotADatabase};
    matches!(error, Corrupt { .. } | ForeignLog { .. } | MissingLog { .. } | NewerFormat { .. } | NotADatabase { .. })
}
