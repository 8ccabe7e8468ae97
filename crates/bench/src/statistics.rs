//! How sure a ratio is.
//!
//! A ratio is taken within each round, where both sides met the same weather, and its median over the rounds is what is
//! said. Its interval is the percentile bootstrap's: the rounds are drawn again and again with replacement, and 95 % of
//! the medians so found lie inside. With five rounds that is the range of the five ratios, and the true median lies outside
//! of it in 6 of 100 cases; with fewer rounds no range could be that sure, so nothing is claimed.

use crate::keys::Keys;
use crate::report::Better;

/// Rounds below which no difference is claimed within one run.
pub const ROUNDS_TO_CLAIM: usize = 5;
/// Medians that are drawn for an interval.
const DRAWS: usize = 2000;
/// Left out at each end of what was drawn.
const TAIL: f64 = 0.025;

/// A ratio and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Rounds it rests on.
    pub rounds: usize,
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// What may be said of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Better,
    Worse,
    /// The interval holds 1.
    NoDifference,
    /// There are not enough rounds for an interval to claim anything.
    TooFewRounds,
}

impl Ratio {
    /// Of mine to theirs, round by round; `None` if no round has both.
    pub fn within_rounds(mine: &[f64], theirs: &[f64]) -> Option<Ratio> {
        let ratios = mine.iter().zip(theirs).map(|(mine, theirs)| mine / theirs);
        let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
        let mut draw = Draw::new();
        Ratio::of(median(&ratios), ratios.len(), || draw.median(&ratios))
    }

    /// Of the median of `new` to that of `old`, whose rounds are not pairs.
    pub fn between_runs(old: &[f64], new: &[f64]) -> Option<Ratio> {
        let mut draw = Draw::new();
        let rounds = old.len().min(new.len());
        Ratio::of(median(new) / median(old), rounds, || draw.median(new) / draw.median(old))
    }

    fn of(median: f64, rounds: usize, mut draw: impl FnMut() -> f64) -> Option<Ratio> {
        if rounds == 0 || !median.is_finite() {
            return None;
        }
        let mut drawn: Vec<f64> = (0..DRAWS).map(|_| draw()).filter(|drawn| drawn.is_finite()).collect();
        drawn.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| drawn.get((share * drawn.len() as f64) as usize).copied();
        Some(Ratio { rounds, median, low: at(TAIL)?, high: at(1.0 - TAIL)? })
    }

    /// What may be said with at least this many rounds.
    pub fn verdict(&self, better: Better, rounds_to_claim: usize) -> Verdict {
        let (below, above) = (self.high < 1.0, self.low > 1.0);
        match (self.rounds >= rounds_to_claim, below || above) {
            (false, _) => Verdict::TooFewRounds,
            (true, false) => Verdict::NoDifference,
            (true, true) if below == (better == Better::Lower) => Verdict::Better,
            (true, true) => Verdict::Worse,
        }
    }

    /// The same ratio seen from the good end: above 1 is better, whichever way the measure goes.
    pub fn gain(&self, better: Better) -> Ratio {
        match better {
            Better::Higher => *self,
            Better::Lower => {
                let Ratio { rounds, median, low, high } = *self;
                Ratio { rounds, median: 1.0 / median, low: 1.0 / high, high: 1.0 / low }
            }
        }
    }
}

impl Verdict {
    /// In the words of a measure of this unit.
    pub fn word(self, unit: &str) -> &'static str {
        let (better, worse) = match unit {
            "MB" | "MiB" | "bytes" => ("smaller", "larger"),
            "calls per commit" => ("fewer", "more"),
            _ => ("faster", "slower"),
        };
        match self {
            Verdict::Better => better,
            Verdict::Worse => worse,
            Verdict::NoDifference => "no difference shown",
            Verdict::TooFewRounds => "too few rounds",
        }
    }
}

/// NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    median_of(&mut values.to_vec())
}

fn median_of(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[half],
        _ => (values[half - 1] + values[half]) / 2.0,
    }
}

/// Draws with replacement, the same each time, so that a report that is drawn again says the same.
struct Draw {
    keys: Keys,
    drawn: Vec<f64>,
}

impl Draw {
    fn new() -> Draw {
        Draw { keys: Keys::new(0x0b00_757a), drawn: Vec::new() }
    }

    /// The median of as many draws as there are values.
    fn median(&mut self, values: &[f64]) -> f64 {
        self.drawn.clear();
        for _ in values {
            self.drawn.push(values[self.keys.below(values.len() as i64) as usize]);
        }
        median_of(&mut self.drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around `center`, off by at most this share, as a machine's noise would have them.
    fn noisy(keys: &mut Keys, center: f64, share: f64, rounds: usize) -> Vec<f64> {
        (0..rounds).map(|_| center * (1.0 + share * (keys.below(2001) as f64 / 1000.0 - 1.0))).collect()
    }

    #[test]
    fn a_difference_is_claimed_only_where_the_interval_excludes_one() {
        let ratio = Ratio::within_rounds(&[2.0, 2.2, 1.8, 2.1, 1.9], &[4.0; 5]).unwrap();
        assert_eq!((ratio.median, ratio.low, ratio.high, ratio.rounds), (0.5, 0.45, 0.55, 5));
        assert_eq!(ratio.verdict(Better::Lower, 5), Verdict::Better);
        assert_eq!(ratio.verdict(Better::Higher, 5), Verdict::Worse);
        assert_eq!(ratio.verdict(Better::Lower, 6), Verdict::TooFewRounds);
        let mixed = Ratio::within_rounds(&[3.0, 3.2, 4.1, 3.1, 2.9], &[4.0; 5]).unwrap();
        assert_eq!(mixed.verdict(Better::Lower, 5), Verdict::NoDifference);
    }

    #[test]
    fn weather_that_both_sides_met_does_not_widen_the_interval() {
        let weather = [1.0, 5.0, 2.0, 9.0, 3.0];
        let mine: Vec<f64> = weather.iter().map(|w| w * 0.9).collect();
        let ratio = Ratio::within_rounds(&mine, &weather).unwrap();
        assert!(ratio.high - ratio.low < 1e-9 && (ratio.median - 0.9).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn one_frozen_round_does_not_make_a_difference() {
        let ratio = Ratio::within_rounds(&[1.0, 1.01, 900.0, 0.99, 1.0], &[1.0; 5]).unwrap();
        assert_eq!((ratio.median, ratio.verdict(Better::Lower, 5)), (1.0, Verdict::NoDifference));
    }

    #[test]
    fn the_interval_holds_the_truth_about_as_often_as_it_says() {
        let mut keys = Keys::new(7);
        let mut held = 0;
        for _ in 0..1000 {
            let ratio = Ratio::within_rounds(&noisy(&mut keys, 1.5, 0.2, 9), &[1.0; 9]).unwrap();
            held += i32::from(ratio.low <= 1.5 && 1.5 <= ratio.high);
        }
        assert!((915..=985).contains(&held), "{held} of 1000");
    }

    #[test]
    fn a_gain_is_above_one_whichever_way_the_measure_goes() {
        let ratio = Ratio { rounds: 5, median: 0.5, low: 0.4, high: 0.8 };
        assert_eq!(ratio.gain(Better::Lower), Ratio { rounds: 5, median: 2.0, low: 1.25, high: 2.5 });
        assert_eq!(ratio.gain(Better::Higher), ratio);
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(Ratio::within_rounds(&[], &[1.0]), None);
        assert_eq!(Ratio::within_rounds(&[1.0], &[0.0]), None);
        assert_eq!(Ratio::between_runs(&[1.0], &[]), None);
        assert!(median(&[]).is_nan());
    }
}
