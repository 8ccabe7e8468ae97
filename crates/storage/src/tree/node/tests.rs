use super::change::insert_at;
use super::layout::{GARBAGE, PREFIX, SUFFIX, VARIABLE, body_start};
use super::*;
use crate::bytes::{get_u16, put_u16};
use crate::page::PageRef;
use crate::page::layout::{self, Kind};

#[test]
fn closing_gaps_keeps_the_entries_and_makes_their_room_one() {
    // Keys of one length, and of two.
    for rest in [&b""[..], b"x"] {
        let key = |i: usize| [&[7, i as u8][..], if i.is_multiple_of(2) { rest } else { &[] }].concat();
        let value = |i: usize| vec![i as u8; 40];
        let mut page = vec![0; 512];
        layout::format(&mut page, Kind::Leaf, 0, 2, PageRef { id: 3, birth: 4 });
        init_body(&mut page);
        insert_at(&mut page, 0, &key(0), Payload::Value(Cell::Inline(&value(0))));
        let count = (1..).find(|&i| !insert_in_place(&mut page, i, &key(i), Payload::Value(Cell::Inline(&value(i)))));
        let (count, copy) = (count.unwrap(), page.clone());
        Entries { node: Node::new(&copy), at: usize::MAX, new: None, tail: None }.build(&mut page, 0, count);
        (0..count).rev().step_by(2).for_each(|i| remove(&mut page, i));
        let entries = |page: &[u8]| -> Vec<(Vec<u8>, Vec<u8>)> {
            let node = Node::new(page);
            let entry = |i| ([node.prefix(), node.suffix(i)].concat(), node.cell(i).0.bytes().to_vec());
            (0..node.count()).map(entry).collect()
        };
        let (left, copy, long) = (entries(&page), page.clone(), [1; 90]);
        assert!(left.len() >= 3 && Node::new(&page).has_garbage());
        let at = left.len();
        let new = Payload::Value(Cell::Inline(&long));
        assert!(!insert_in_place(&mut page, at, &key(99), new) && Node::new(&page).has_room_in_gaps(&key(99), new));
        close_gaps(&mut page, &copy);
        assert!(Node::is_valid(&page) && !Node::new(&page).has_garbage());
        assert_eq!(entries(&page), left);
        assert!(insert_in_place(&mut page, at, &key(99), new));
        let too_long = [1; 400];
        assert!(!Node::new(&page).has_room_in_gaps(&key(101), Payload::Value(Cell::Inline(&too_long))));
    }
}

fn leaf(bytes: usize) -> Vec<u8> {
    let mut page = vec![0; bytes];
    layout::format(&mut page, Kind::Leaf, 0, 2, PageRef { id: 3, birth: 4 });
    init_body(&mut page);
    page
}

const VALUE: Payload<'static> = Payload::Value(Cell::Inline(b"value"));

/// Heads that all entries share, that a few share, that say it all, and keys that end within their head.
/// Keys of one length and of two, with and without a prefix, and what ends a run: a key that is not behind the one before, is
/// of another form, or has no room.
#[test]
fn a_run_is_appended_as_its_entries_one_by_one_would_be() {
    let value = [7; 20];
    let key = |first: u8, i: u8| vec![first, first, i / 16, i];
    let ascending = |count: u8| (0..count).map(|i| key(9, i)).collect::<Vec<_>>();
    let mut shorter = ascending(9);
    shorter.push(vec![9, 10]);
    let again = [ascending(9), ascending(12).split_off(8)].concat();
    let of_another_prefix = [ascending(9), vec![key(10, 1)]].concat();
    for keys in [ascending(3), ascending(99), shorter, again, of_another_prefix] {
        for form in [(0, VARIABLE), (2, 2), (0, 4)] {
            let (mut one_by_one, mut run) = (leaf(512), leaf(512));
            let payload = Payload::Value(Cell::Inline(&value));
            for page in [&mut one_by_one, &mut run] {
                let (start, (prefix, suffix)) = (body_start(false), form);
                page[start..start + prefix].copy_from_slice(&keys[0][..prefix]);
                put_u16(page, PREFIX, prefix as u16);
                put_u16(page, SUFFIX, suffix);
                insert_at(page, 0, &keys[0], payload);
            }
            let fits = |key: &&Vec<u8>| {
                let fits = Node::new(&one_by_one).has_room_behind(key, payload);
                if fits {
                    append_in_place(&mut one_by_one, key, payload);
                }
                fits
            };
            let count = keys[1..].iter().take_while(fits).count();
            let entries = keys[1..].iter().map(|key| (&key[..], &value[..]));
            assert_eq!(append_run(&mut run, entries), count, "{keys:?} {form:?}");
            assert_eq!(run, one_by_one, "{keys:?} {form:?}");
        }
    }
    assert_eq!(append_run(&mut leaf(512), [(&b"a"[..], &b"b"[..])].into_iter()), 0, "an empty page has no form");
}

#[test]
fn a_search_finds_every_key_and_where_others_belong() {
    let mut keys: Vec<Vec<u8>> = (0..40u8).map(|i| vec![7, 7, 7, i / 8, i]).collect();
    keys.extend((0..9u8).flat_map(|i| [vec![8, i], vec![8, i, 0], vec![8, i, 0, 0]]));
    keys.extend([vec![8], vec![7], vec![0xff, 0xff], vec![0xff, 0xff, 1], vec![0xff, 0xff, 0xff]]);
    keys.sort();
    for every in [1, 2, 3] {
        let mut page = leaf(4096);
        let held: Vec<&[u8]> = keys.iter().step_by(every).map(Vec::as_slice).collect();
        held.iter().enumerate().for_each(|(at, key)| insert_at(&mut page, at, key, VALUE));
        assert!(Node::is_valid(&page));
        for key in &keys {
            let place = held.binary_search(&key.as_slice());
            assert_eq!(Node::new(&page).search(key), (place.unwrap_or_else(|at| at), place.is_ok()), "{key:?}");
        }
    }
}

/// A page's form went from leaf to leaf, so that what the first keys of a tree did not share, none did.
#[test]
fn a_leaf_begun_behind_another_has_the_form_that_this_ones_keys_could_have() {
    let form = |keys: &[&[u8]], next: &[u8]| {
        let (mut left, mut right) = (leaf(512), leaf(512));
        keys.iter().enumerate().for_each(|(at, key)| insert_at(&mut left, at, key, VALUE));
        begin_like(&mut right, Node::new(&left), next, VALUE);
        let node = Node::new(&right);
        assert!(Node::is_valid(&right) && node.search(next) == (0, true));
        (node.prefix().to_vec(), node.suffix)
    };
    assert_eq!(form(&[&[1, 2, 3], &[1, 2, 9]], &[1, 2, 10]), (vec![1, 2], 1));
    assert_eq!(form(&[&[1, 2], &[1, 2, 9]], &[1, 2, 10]), (vec![1, 2], VARIABLE));
    assert_eq!(form(&[&[1, 2, 3], &[1, 3, 9]], &[1, 4, 0]), (vec![1], 2));
    // As many keys again reach beyond what these share.
    assert_eq!(form(&[&[1, 2, 200], &[1, 2, 220]], &[1, 2, 240]), (vec![1], 2));
    assert_eq!(form(&[&[200], &[220]], &[240]), (vec![], 1));
}

/// A forged page with more garbage than bytes behind its heap's start made the arithmetic of the next change overflow.
#[test]
fn more_garbage_than_there_can_be_is_damage() {
    let mut page = vec![0; 512];
    layout::format(&mut page, Kind::Leaf, 0, 2, PageRef { id: 3, birth: 4 });
    init_body(&mut page);
    insert_at(&mut page, 0, b"key", Payload::Value(Cell::Inline(b"value")));
    insert_at(&mut page, 1, b"other", Payload::Value(Cell::Inline(b"value")));
    remove(&mut page, 0);
    assert!(Node::is_valid(&page));
    let garbage = get_u16(&page, GARBAGE) + 1;
    put_u16(&mut page, GARBAGE, garbage);
    assert!(!Node::is_valid(&page));
}
