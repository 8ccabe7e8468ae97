//! Many cases, their differences grouped.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::{Case, Dialect, Difference, Fresh, Rules, Step, run_case, shrink};
use crate::engine::Failure;

/// What became of many cases.
#[derive(Default)]
pub struct Totals {
    /// Cases run.
    pub cases: usize,
    /// Statements whose answers were compared.
    pub compared: usize,
    /// Statements that the reference accepted.
    pub accepted: usize,
    /// Statements where one side alone raised a data exception that plans may or may not reach.
    pub undecided: usize,
    /// Why the reference refused statements, and how often.
    pub refused: BTreeMap<String, usize>,
    /// Differences by category, each with the case it occurred in.
    pub differences: BTreeMap<String, Vec<(Case, Difference)>>,
}

/// Runs the cases of these seeds on both engines.
pub fn compare_seeds(
    seeds: Range<u64>,
    dialect: Dialect,
    rules: Rules,
    reference: &Fresh<'_>,
    ours: &Fresh<'_>,
) -> Result<Totals, Failure> {
    let mut totals = Totals::default();
    for seed in seeds {
        let case = Case::generate(seed, dialect);
        let report = run_case(&case, rules, reference()?.as_ref(), ours()?.as_ref())?;
        totals.cases += 1;
        totals.compared += report.compared;
        totals.accepted += report.accepted;
        totals.undecided += report.undecided;
        for (reason, count) in report.refused {
            *totals.refused.entry(reason).or_default() += count;
        }
        for difference in report.differences {
            let found = totals.differences.entry(difference.category.clone()).or_default();
            found.push((case.clone(), difference));
        }
    }
    Ok(totals)
}

impl Totals {
    /// How many statements differed.
    pub fn different(&self) -> usize {
        self.differences.values().map(Vec::len).sum()
    }

    /// Each category with one example; the first `shrunk` of them reduced to the statements that matter.
    pub fn explain(&self, shrunk: usize, rules: Rules, reference: &Fresh<'_>, ours: &Fresh<'_>) -> String {
        let mut categories: Vec<_> = self.differences.iter().collect();
        categories.sort_by_key(|(_, found)| std::cmp::Reverse(found.len()));
        let mut text = String::new();
        for (rank, (category, found)) in categories.into_iter().enumerate() {
            let Some((case, difference)) = found.first() else { continue };
            text += &format!("\n== {} x {category} (seed {}, step {})\n", found.len(), case.seed, difference.step);
            let statements = match case.steps.get(difference.step) {
                _ if rank < shrunk => shrink(case, difference, rules, reference, ours),
                step => step.map(Step::shown).into_iter().collect(),
            };
            text += &statements.iter().map(|sql| format!("{sql}\n")).collect::<String>();
            text += &format!("-- reference\n{}\n-- ours\n{}\n", difference.reference, difference.ours);
        }
        text
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { cases, compared, accepted, undecided, .. } = self;
        let different = self.different();
        write!(
            f,
            "{cases} cases: {compared} statements compared ({accepted} accepted by the reference), {different} differ, {undecided} undecided"
        )
    }
}
