//! The series of a report in the order in which they are shown: place by place, measure by measure.

use super::{Better, Report, Series};
use crate::statistics::Ratio;

/// One workload on one medium.
#[derive(Debug)]
pub struct Group<'r> {
    pub workload: &'r str,
    pub medium: &'r str,
    pub measures: Vec<Measure<'r>>,
}

/// One measure of all engines.
#[derive(Debug, Clone)]
pub struct Measure<'r> {
    pub name: &'r str,
    pub unit: &'r str,
    pub better: Better,
    pub series: Vec<&'r Series>,
}

impl Report {
    /// Every place where something was measured, in the order of the run.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for series in self.series() {
            let (workload, medium) = (series.subject.workload.as_str(), series.subject.medium.as_str());
            match groups.iter_mut().find(|group| group.workload == workload && group.medium == medium) {
                Some(group) => group.take(series),
                None => {
                    let mut group = Group { workload, medium, measures: Vec::new() };
                    group.take(series);
                    groups.push(group);
                }
            }
        }
        groups
    }
}

impl<'r> Group<'r> {
    fn take(&mut self, series: &'r Series) {
        match self.measures.iter_mut().find(|measure| measure.name == series.measure) {
            Some(measure) => measure.series.push(series),
            None => self.measures.push(Measure {
                name: &series.measure,
                unit: &series.unit,
                better: series.better,
                series: vec![series],
            }),
        }
    }
}

impl Measure<'_> {
    pub fn of(&self, engine: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.engine() == engine).copied()
    }

    /// One engine's ratio to another, for measures of which a ratio says something.
    pub fn ratio(&self, series: &Series, to: &str) -> Option<Ratio> {
        // How a floor or bare memory compares with an engine says nothing.
        let yardstick = |name: &str| name.starts_with("floor") || name == "memory";
        let says_something = self.unit != "x" && !yardstick(series.engine()) && to != series.engine();
        let other = self.of(to).filter(|_| says_something)?;
        Ratio::within_rounds(&series.rounds, &other.rounds)
    }

    /// Whether a series is of CairnDB itself, in whichever way it was used.
    pub fn is_ours(series: &Series) -> bool {
        series.engine().starts_with("cairndb")
    }
}
