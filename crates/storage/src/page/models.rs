//! Slots, page table, states of frames and limbo under `loom`: every order in which a few threads' steps can be seen with
//! the memory orderings as they are, up to a number of preemptions.
//!
//! ```text
//! RUSTFLAGS="--cfg cairn_loom" cargo test --release --target-dir target/loom -p cairn-storage --lib models
//! ```
//! A frame's bytes stand for themselves in cells of loom's, which tell of a use that races with another.

use std::path::Path;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::frames::COOLING;
use super::slots::{Owner, PAGES_ONLY, Slots};
use super::{PageRef, Pages};
use crate::Error;
use crate::broken::{self, Broken};
use crate::io::{Create, FileSystem, MemFs, OpenHow};
use crate::stats::Counters;
use crate::sync::{AtomicU64, Ordering};

/// Runs the model; with `broken`, returns whether loom found what that breaks.
fn check(broken: Option<Broken>, model: impl Fn() + Send + Sync + 'static) -> bool {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        builder.check(move || {
            broken::choose(broken);
            model();
        });
    }));
    broken::choose(None);
    match (broken, found) {
        (None, Err(panic)) => std::panic::resume_unwind(panic),
        (_, found) => found.is_err(),
    }
}

/// Two frames, and ids 2 to 7.
fn pages() -> Pages {
    let options = crate::Options { cache_bytes: 1024, max_pages: 8, max_snapshots: 1, ..Default::default() };
    let how = OpenHow { create: Create::New, read_only: false, direct: false };
    let file = MemFs::default().open(Path::new("pages"), how).unwrap();
    Pages::new(file, &options, 512, Arc::new(Counters::default()), |_| true, 0).unwrap()
}

/// A page in frame 0 that is in the file, and may be evicted.
fn clean_page(pages: &Pages) -> PageRef {
    let page = pages.create(1, None).unwrap();
    pages.allow_eviction(&[page.id]);
    pages.write_out(&mut vec![page.id]).unwrap();
    page
}

fn reader_of_a_version(broken: Option<Broken>) -> bool {
    check(broken, || {
        let shared = Arc::new((Slots::new(1).unwrap(), AtomicU64::new(1), UnsafeCell::new(())));
        let publisher = shared.clone();
        let publisher = thread::spawn(move || {
            let (slots, published, page) = &*publisher;
            published.swap(2, Ordering::SeqCst);
            let mut held = Vec::new();
            slots.versions(&mut held);
            if !held.contains(&1) {
                // Whose page died with version 2 is used again.
                page.with_mut(|_| ());
            }
        });
        let (slots, published, page) = &*shared;
        let newest = || (published.load(Ordering::SeqCst), published.load(Ordering::SeqCst));
        let (id, version) = slots.enter(Owner::Statement, newest).unwrap();
        if version == 1 {
            page.with(|_| ());
        }
        slots.release(id);
        publisher.join().unwrap();
    })
}

#[test]
fn a_reader_keeps_the_pages_of_its_version() {
    assert!(!reader_of_a_version(None));
    assert!(reader_of_a_version(Some(Broken::NoRecheck)));
}

fn reader_of_a_frame(broken: Option<Broken>) -> bool {
    check(broken, || {
        let pages = pages();
        let page = clean_page(&pages);
        let shared = Arc::new((pages, [UnsafeCell::new(()), UnsafeCell::new(())]));
        let evictor = shared.clone();
        let evictor = thread::spawn(move || {
            let (pages, bytes) = &*evictor;
            pages.evict(1).unwrap();
            while let Some(frame) = pages.pop_frame() {
                bytes[frame.index() as usize].with_mut(|_| ());
                std::mem::forget(frame);
            }
        });
        let (pages, bytes) = &*shared;
        let id = pages.slots.claim(Owner::Statement, PAGES_ONLY).unwrap();
        let pin = pages.slots.pin(id).unwrap();
        let entry = pages.frames.entry(page.id).unwrap().load(Ordering::SeqCst) & !COOLING;
        if entry != 0 {
            bytes[pages.frames.memory.frame_of(entry) as usize].with(|_| ());
        }
        drop(pin);
        pages.slots.release(id);
        evictor.join().unwrap();
    })
}

#[test]
fn a_frame_is_not_used_again_under_who_looks_at_it() {
    assert!(!reader_of_a_frame(None));
    assert!(reader_of_a_frame(Some(Broken::FramesUnderReaders)));
    assert!(reader_of_a_frame(Some(Broken::PinUnfenced)));
}

fn owners_of_a_frame(broken: Option<Broken>) -> bool {
    check(broken, || {
        let pages = Arc::new(pages());
        let page = clean_page(&pages);
        let others = pages.clone();
        let other = thread::spawn(move || {
            others.evict(1).unwrap();
            let made: Vec<PageRef> = (0..2).filter_map(|birth| others.create(5 + birth, None).ok()).collect();
            assert!(made.iter().all(|&page| others.is_fixed(page)), "an unsealed page may be evicted");
            made
        });
        // As it is published.
        pages.allow_eviction(&[page.id]);
        let made = other.join().unwrap();
        assert!(made.iter().all(|&page| pages.is_fixed(page)), "an unsealed page may be evicted");
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
    })
}

#[test]
fn a_page_that_is_given_to_eviction_gives_no_others_frame() {
    assert!(!owners_of_a_frame(None));
    assert!(owners_of_a_frame(Some(Broken::AnothersFrame)));
}

#[test]
fn a_page_that_is_freed_evicted_and_written_leaves_one_frame_and_one_id() {
    check(None, || {
        let pages = Arc::new(pages());
        let page = pages.create(1, None).unwrap();
        pages.allow_eviction(&[page.id]);
        let (writer, evictor) = (pages.clone(), pages.clone());
        let writer = thread::spawn(move || writer.write_out(&mut vec![page.id]).unwrap());
        let evictor = thread::spawn(move || drop(evictor.evict(1)));
        pages.free_private(&[page.id]);
        writer.join().unwrap();
        evictor.join().unwrap();
        assert!(pages.is_free(page.id) && pages.frames.find(page.id).is_none());
        pages.evict(1).unwrap();
        assert_eq!(pages.frames_free(), 2);
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
    });
}

#[test]
fn a_page_that_is_loaded_while_its_id_becomes_anothers_leaves_that_alone() {
    check(None, || {
        let pages = Arc::new(pages());
        let old = clean_page(&pages);
        pages.evict(1).unwrap();
        let late = pages.clone();
        let late = thread::spawn(move || {
            assert!(matches!(late.load(old), Ok(()) | Err(Error::Corrupt { .. } | Error::CacheFull)));
        });
        pages.free_private(&[old.id]);
        let new = pages.create(2, None);
        late.join().unwrap();
        if let Ok(new) = new {
            assert!(pages.is_fixed(new));
        }
        assert_eq!(pages.broken_frames(true), Vec::<String>::new());
    });
}
