//! What users' types are, kept for the life of the process and known by numbers: equal definitions have one number, and what it
//! stands for never moves, so that it is read without a lock.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::OnceLock;

use crate::sync::Mutex;
use crate::{Error, Result, SqlState};

/// Definitions (`K`) and what was made of them (`T`).
pub(super) struct Interner<K: 'static, T: 'static> {
    /// Of 64, 128, 256 and so on: what was handed out stays where it is.
    chunks: [OnceLock<Chunk<T>>; 26],
    /// The numbers that were given out.
    numbers: OnceLock<Mutex<HashMap<&'static K, u32>>>,
}

type Chunk<T> = Box<[OnceLock<&'static T>]>;

const FIRST_CHUNK: usize = 64;

fn place_of(number: usize) -> (usize, usize) {
    let chunk = (number / FIRST_CHUNK + 1).ilog2() as usize;
    (chunk, number + FIRST_CHUNK - (FIRST_CHUNK << chunk))
}

impl<K: Eq + Hash, T> Interner<K, T> {
    pub(super) const fn new() -> Interner<K, T> {
        Interner { chunks: [const { OnceLock::new() }; 26], numbers: OnceLock::new() }
    }

    /// The number of a definition: a new one, with what is made of it, where it was never seen before.
    pub(super) fn number_of(
        &self,
        definition: K,
        make: impl FnOnce(K, u32) -> T,
        definition_of: fn(&T) -> &K,
    ) -> Result<u32> {
        let mut numbers = self.numbers.get_or_init(Mutex::default).lock();
        if let Some(&number) = numbers.get(&definition) {
            return Ok(number);
        }
        let number = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let (chunk, at) = place_of(number as usize);
        let places = self.chunks.get(chunk).ok_or_else(too_many)?;
        let places = places.get_or_init(|| (0..FIRST_CHUNK << chunk).map(|_| OnceLock::new()).collect());
        let place = places.get(at).ok_or_else(too_many)?;
        let made: &'static T = Box::leak(Box::new(make(definition, number)));
        place.get_or_init(|| made);
        numbers.insert(definition_of(made), number);
        Ok(number)
    }

    /// What this number stands for, if it was given out.
    pub(super) fn get(&self, number: u32) -> Option<&'static T> {
        let (chunk, at) = place_of(number as usize);
        self.chunks.get(chunk)?.get()?.get(at)?.get().copied()
    }
}

fn too_many() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many definitions of types in one process")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_place_of_its_own() {
        let mut last = (0, usize::MAX);
        for number in 0..10_000 {
            let (chunk, at) = place_of(number);
            assert!(at < FIRST_CHUNK << chunk);
            assert!((chunk, at) == (last.0, last.1.wrapping_add(1)) || (chunk, at) == (last.0 + 1, 0));
            last = (chunk, at);
        }
    }

    #[test]
    fn equal_definitions_have_one_number() {
        static TEXTS: Interner<String, String> = Interner::new();
        let number = |text: &str| TEXTS.number_of(text.to_owned(), |text, _| text, |text| text).unwrap();
        let numbers: Vec<u32> = (0..200).map(|at| number(&at.to_string())).collect();
        assert_eq!(numbers, (0..200).collect::<Vec<u32>>());
        assert_eq!(number("77"), 77);
        assert_eq!(TEXTS.get(77).map(String::as_str), Some("77"));
        assert_eq!(TEXTS.get(200), None);
    }
}
