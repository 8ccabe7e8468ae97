//! Transactions of a few operations, their conflicts and turns: what adversarial reading found.

use std::ops::Bound::{Excluded, Included, Unbounded};
use std::time::{Duration, Instant};

use cairn_storage::{Acknowledge, Error, Losses, Options, Store, Transaction, TreeId, WriteError};

const T: TreeId = TreeId::CATALOG;

fn filled() -> Store {
    let store = Store::open_in_memory(Options::default()).unwrap();
    let fill = store.begin().unwrap();
    for key in b'a'..=b'z' {
        fill.put(T, &[key], b"before").unwrap();
    }
    fill.commit(None).unwrap();
    store
}

/// A range with nothing in it took the place of the last range's end: what was read before it was not compared.
#[test]
fn an_inverted_range_hides_no_other_range() {
    for (lower, upper) in [(Included(&b"x"[..]), Excluded(&b"b"[..])), (Included(b"x"), Included(b"a"))] {
        for writes in [1u32, 100] {
            let store = filled();
            let reading = store.begin().unwrap();
            let mut cursor = reading.reader().cursor(T, Included(b"a"), Included(b"m")).unwrap();
            while cursor.next().unwrap().is_some() {}
            drop(cursor);
            let mut cursor = reading.reader().cursor(T, lower, upper).unwrap();
            assert!(cursor.next().unwrap().is_none());
            drop(cursor);
            for i in 0..writes {
                reading.put(T, &[b"out", &i.to_be_bytes()[..]].concat(), b"rests on what was read").unwrap();
            }
            let other = store.begin().unwrap();
            other.put(T, b"k", b"after").unwrap();
            other.commit(None).unwrap();
            assert!(matches!(reading.commit(None), Err(Error::Conflict)), "{lower:?} {upper:?} {writes}");
        }
    }
}

/// As above: a cursor that was opened and never moved.
#[test]
fn a_cursor_that_read_nothing_hides_no_other_range() {
    let store = filled();
    let reading = store.begin().unwrap();
    let mut cursor = reading.reader().cursor(T, Included(b"a"), Included(b"m")).unwrap();
    while cursor.next().unwrap().is_some() {}
    drop(cursor);
    drop(reading.reader().cursor(T, Included(b"x"), Unbounded).unwrap());
    reading.put(T, b"out", b"rests on what was read").unwrap();
    let other = store.begin().unwrap();
    other.put(T, b"k", b"after").unwrap();
    other.commit(None).unwrap();
    assert!(matches!(reading.commit(None), Err(Error::Conflict)));
}

/// Two transactions with as many writes on the same state had the same stamp.
#[test]
fn equal_tree_stamps_mean_equal_content() {
    let store = filled();
    let (a, b) = (store.begin().unwrap(), store.begin().unwrap());
    a.put(T, b"k", b"one").unwrap();
    b.put(T, b"k", b"two").unwrap();
    assert_ne!(a.reader().tree_stamp(T).unwrap(), b.reader().tree_stamp(T).unwrap());
}

/// Commits `write` with so large a segment of the log, and finds what it wrote in a copy that nobody closed.
fn survives(name: &str, segment: usize, write: impl Fn(&Transaction)) {
    let base = std::env::temp_dir().join(format!("cairn-{name}-{}", std::process::id()));
    let (first, second) = (base.join("first"), base.join("second"));
    for directory in [&first, &second] {
        std::fs::create_dir_all(directory).unwrap();
    }
    let mut options = Options::default();
    options.log_segment_bytes = segment;
    let store = Store::open(first.join("db"), options.clone()).unwrap();
    for value in 0..5u8 {
        let transaction = store.begin().unwrap();
        write(&transaction);
        transaction.put(T, b"last", &[value]).unwrap();
        transaction.commit(None).unwrap();
    }
    for file in std::fs::read_dir(&first).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), second.join(file.file_name())).unwrap();
    }
    let copy = Store::open(second.join("db"), options).unwrap();
    assert_eq!(copy.snapshot().unwrap().reader().get(T, b"last").unwrap(), Some(vec![4]));
    drop((copy, store));
    std::fs::remove_dir_all(&base).unwrap();
}

/// The list had room for any number of them, and a record for none.
#[test]
fn any_number_of_writes_of_the_empty_key() {
    survives("empty", 64 << 10, |transaction| {
        for _ in 0..50_000 {
            transaction.put(T, b"", b"").unwrap();
        }
    });
}

/// As above, of a short key: more than a segment of the log holds.
#[test]
fn many_writes_of_one_key_with_a_small_log() {
    survives("short", 16 << 10, |transaction| {
        for _ in 0..5000 {
            transaction.put(T, b"k", b"").unwrap();
        }
    });
}

/// A loser whose next try gets a turn.
fn loser(store: &Store) -> Losses {
    slow_loser(store, Duration::ZERO)
}

/// As `loser`; one of the tries takes so long, and the turn twice as long.
fn slow_loser(store: &Store, longest: Duration) -> Losses {
    let mut lost = Losses::default();
    while lost.times() < 8 {
        let reading = store.begin_after(&lost).unwrap();
        std::thread::sleep(if lost.times() == 1 { longest } else { Duration::ZERO });
        let _ = reading.reader().get(T, b"k").unwrap();
        reading.put(T, b"out", b"rests on what was read").unwrap();
        let other = store.begin().unwrap();
        other.put(T, b"k", &lost.times().to_be_bytes()).unwrap();
        other.commit(None).unwrap();
        assert!(matches!(reading.commit_or_note(None, &mut lost, &|| false), Err(Error::Conflict)));
    }
    lost
}

/// Everybody waited for as long as the turn lasts, whatever their callers' patience.
#[test]
fn who_does_not_wait_for_a_turn_is_told_and_changes_nothing() {
    let store = filled();
    let owner = store.begin_after(&slow_loser(&store, Duration::from_millis(500))).unwrap();
    let before = owner.reader().get(T, b"k").unwrap();
    let mut session = store.session().unwrap();
    let written =
        session.write_unless::<_, ()>(Acknowledge::Now(None), &|| true, |writer| Ok(writer.put(T, b"k", b"")?));
    assert!(matches!(written, Err(WriteError::Storage(Error::GivenUp))));
    // In a list of its own, and in pages of its own.
    for others in [0u32, 2000] {
        let transaction = store.begin().unwrap();
        transaction.put(T, b"k", b"").unwrap();
        (0..others).for_each(|other| transaction.put(T, &other.to_be_bytes(), &[7; 50]).unwrap());
        let done = transaction.commit_or_note(None, &mut Losses::default(), &|| true);
        assert!(matches!(done, Err(Error::GivenUp)), "{done:?}");
    }
    assert_eq!(store.snapshot().unwrap().reader().get(T, b"k").unwrap(), before);
    owner.put(T, b"out", b"rests on what was read").unwrap();
    owner.commit(None).unwrap();
    drop(session.write::<_, ()>(Acknowledge::Now(None), |writer| Ok(writer.put(T, b"k", b"later")?)).unwrap());
}

/// An idle owner kept everybody else from a turn for many times as long as it was idle, and they waited for it.
#[test]
fn who_is_idle_in_a_turn_lengthens_no_pause() {
    let store = filled();
    let (first, second) = (loser(&store), loser(&store));
    let idle = store.begin_after(&first).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    drop(idle);
    let asked = Instant::now();
    drop(store.begin_after(&second).unwrap());
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
}

/// There was no pause after a turn whose time was over before its owner was through.
#[test]
fn a_turn_that_expired_has_its_pause() {
    let store = filled();
    let (first, second) = (loser(&store), loser(&store));
    let slow = store.begin_after(&first).unwrap();
    // Longer than 100 ms and twice what a try took.
    std::thread::sleep(Duration::from_millis(150));
    let asked = Instant::now();
    let next = store.begin_after(&second).unwrap();
    assert!(asked.elapsed() > Duration::from_millis(250), "{:?}", asked.elapsed());
    drop((slow, next));
}
