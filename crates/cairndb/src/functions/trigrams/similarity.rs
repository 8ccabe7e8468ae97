//! How alike two texts are: the share of their trigrams that both have.
//!
//! Of a text and the part of another that is most like it, the part is looked for as PostgreSQL looks for it: its end goes through
//! the trigrams, and its beginning follows where that makes it more alike. That finds what PostgreSQL finds, which need not be the best.

use super::trigram::{Trigram, Trigrams, Written};
use crate::Result;
use crate::types::EvalContext;

/// Trigrams that are gone through between two questions whether to go on.
const AT_ONCE: usize = 1 << 16;

/// Which parts of a text count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// From any trigram to any other.
    Any,
    /// Whole words.
    Words,
}

pub(super) fn similarity(a: &str, b: &str) -> f32 {
    let (a, b) = (Trigrams::of(a), Trigrams::of(b));
    match (a.len(), b.len()) {
        (0, _) | (_, 0) => 0.0,
        (first, second) => share(a.common(&b), first, second),
    }
}

/// Of so many, and so many others.
fn share(common: usize, first: usize, second: usize) -> f32 {
    // (Nothing of nothing is none.)
    let all = (first + second).saturating_sub(common);
    common as f32 / all as f32
}

/// The likeness of a text and a part of another; as soon as it is `enough`, no more is looked for. That takes as long as the text times
/// its longest part, so it is asked now and then whether to go on.
pub(super) fn word_similarity(
    (word, text): (&str, &str),
    extent: Extent,
    enough: Option<f64>,
    context: &EvalContext,
) -> Result<f32> {
    let (word, text) = (Trigrams::of(word), Written::of(text));
    Search::new(&word, &text, extent, enough).run(context)
}

/// The search for the part. Trigrams of the text are numbers here, the same for the same one.
struct Search<'a> {
    text: &'a Written,
    extent: Extent,
    enough: Option<f64>,
    /// How many trigrams the word has.
    word: usize,
    /// For each of the text's trigrams its number.
    numbers: Vec<usize>,
    /// By number: whether the word has it.
    is_found: Vec<bool>,
    /// By number: where it stands last in the part.
    last: Vec<Option<usize>>,
    part: Part,
}

/// The part so far.
#[derive(Clone, Copy)]
struct Part {
    /// Where it begins.
    lower: Option<usize>,
    /// How many different trigrams it has, and how many of them the word has.
    trigrams: usize,
    common: usize,
}

impl<'a> Search<'a> {
    fn new(word: &Trigrams, text: &'a Written, extent: Extent, enough: Option<f64>) -> Search<'a> {
        let mut known: Vec<Trigram> = text.trigrams.clone();
        known.sort_unstable();
        known.dedup();
        let number = |trigram: &Trigram| known.binary_search(trigram).unwrap_or_default();
        let lower = (extent == Extent::Words).then_some(0);
        Search {
            text,
            extent,
            enough,
            word: word.len(),
            numbers: text.trigrams.iter().map(number).collect(),
            is_found: known.iter().map(|trigram| word.has(trigram)).collect(),
            last: vec![None; known.len()],
            part: Part { lower, trigrams: 0, common: 0 },
        }
    }

    fn run(mut self, context: &EvalContext) -> Result<f32> {
        let (mut most, mut passed) = (0.0f32, 0);
        for at in 0..self.numbers.len() {
            self.take(at);
            let number = self.numbers[at];
            let may_end = if self.extent == Extent::Words { self.text.ends[at] } else { self.is_found[number] };
            if !may_end {
                continue;
            }
            let lower = *self.part.lower.get_or_insert(at);
            most = most.max(self.end_at(lower, at));
            passed += at - lower;
            if passed > AT_ONCE {
                context.check()?;
                passed = 0;
            }
            if self.is_enough(most) {
                break;
            }
        }
        Ok(most)
    }

    fn is_enough(&self, likeness: f32) -> bool {
        self.enough.is_some_and(|enough| f64::from(likeness) >= enough)
    }

    fn likeness(&self, part: Part) -> f32 {
        share(part.common, self.word, part.trigrams)
    }

    /// The part has one more.
    fn take(&mut self, at: usize) {
        let number = self.numbers[at];
        if self.part.lower.is_none() && !self.is_found[number] {
            return;
        }
        if self.last[number].replace(at).is_none() {
            self.part.trigrams += 1;
            self.part.common += usize::from(self.is_found[number]);
        }
    }

    /// The likeness of the part that ends there, from where that is most.
    fn end_at(&mut self, from: usize, at: usize) -> f32 {
        let mut most = self.likeness(self.part);
        let mut shorter = self.part;
        for lower in from..=at {
            if self.extent == Extent::Any || self.text.begins[lower] {
                let likeness = self.likeness(shorter);
                if likeness > most {
                    most = likeness;
                    self.part = Part { lower: Some(lower), ..shorter };
                }
                if self.is_enough(most) {
                    break;
                }
            }
            let number = self.numbers[lower];
            if self.last[number] == Some(lower) {
                shorter.trigrams -= 1;
                shorter.common -= usize::from(self.is_found[number]);
            }
        }
        for left in from..self.part.lower.unwrap_or(from) {
            let number = self.numbers[left];
            if self.last[number] == Some(left) {
                self.last[number] = None;
            }
        }
        most
    }
}
