//! Finds the few statements that still make a statement differ.

use super::{Case, Difference, Rules, Step, run_case};
use crate::engine::{Engine, Failure};

/// Makes an empty database.
pub type Fresh<'a> = dyn Fn() -> Result<Box<dyn Engine + 'a>, Failure> + 'a;

/// The shortest list found that ends with the differing statement and still differs in the same way.
pub fn shrink(
    case: &Case,
    difference: &Difference,
    rules: Rules,
    reference: &Fresh<'_>,
    ours: &Fresh<'_>,
) -> Vec<String> {
    let mut steps: Vec<Step> = case.steps.iter().take(difference.step + 1).cloned().collect();
    let last = steps.len().saturating_sub(1);
    let needed = |step: &Step| step.changes;
    let mut kept: Vec<Step> = steps.drain(..last).filter(needed).collect();
    let last: Vec<Step> = case.steps.get(difference.step).cloned().into_iter().collect();
    let still = |kept: &[Step]| {
        let steps: Vec<Step> = kept.iter().chain(&last).cloned().collect();
        differs(&Case { seed: case.seed, steps }, &difference.category, rules, reference, ours)
    };
    let mut size = kept.len().div_ceil(2).max(1);
    while !kept.is_empty() {
        kept = without_chunks(kept, size, &still);
        if size == 1 {
            break;
        }
        size = size.div_ceil(2);
    }
    kept.into_iter().chain(last).map(|step| step.shown()).collect()
}

/// Drops every chunk of this size that is not needed, from the end.
fn without_chunks(mut kept: Vec<Step>, size: usize, still: &dyn Fn(&[Step]) -> bool) -> Vec<Step> {
    let mut end = kept.len();
    while end > 0 {
        let start = end.saturating_sub(size);
        let mut shorter = kept.clone();
        shorter.drain(start..end);
        if still(&shorter) {
            kept = shorter;
        }
        end = start;
    }
    kept
}

fn differs(case: &Case, category: &str, rules: Rules, reference: &Fresh<'_>, ours: &Fresh<'_>) -> bool {
    let (Ok(reference), Ok(ours)) = (reference(), ours()) else { return false };
    let Ok(report) = run_case(case, rules, reference.as_ref(), ours.as_ref()) else { return false };
    let last = case.steps.len().saturating_sub(1);
    report.differences.iter().any(|difference| difference.step == last && difference.category == category)
}
