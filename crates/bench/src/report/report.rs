//! A run's report: what the workloads add to while they run.

use super::{Better, Counters, CourseRecord, Curve, EngineRecord, HistogramRecord, Run, Series, Subject};
use crate::latency::{Course, Latencies};
use crate::{Result, versions};

/// Where a value belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub workload: &'static str,
    /// `disk` or `tmpfs`.
    pub medium: &'static str,
}

/// The units of a curve's points.
#[derive(Debug, Clone, Copy)]
pub struct Axes {
    pub x: &'static str,
    pub y: &'static str,
}

/// All of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub(super) run: Run,
    pub(super) engines: Vec<EngineRecord>,
    pub(super) series: Vec<Series>,
    pub(super) histograms: Vec<HistogramRecord>,
    pub(super) courses: Vec<CourseRecord>,
    pub(super) curves: Vec<Curve>,
    pub(super) counters: Vec<Counters>,
}

impl Report {
    pub fn new(run: Run) -> Report {
        Report { run, ..Report::default() }
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn engines(&self) -> &[EngineRecord] {
        &self.engines
    }

    pub fn series(&self) -> &[Series] {
        &self.series
    }

    pub fn histograms(&self) -> &[HistogramRecord] {
        &self.histograms
    }

    pub fn courses(&self) -> &[CourseRecord] {
        &self.courses
    }

    pub fn curves(&self) -> &[Curve] {
        &self.curves
    }

    pub fn counters(&self) -> &[Counters] {
        &self.counters
    }
}

impl Report {
    /// Takes over a later run: of whatever both have, the later run's is kept.
    pub fn merge(&mut self, later: Report) {
        fn replace<T>(all: &mut Vec<T>, later: Vec<T>, same: impl Fn(&T, &T) -> bool) {
            all.retain(|old| !later.iter().any(|new| same(old, new)));
            all.extend(later);
        }
        self.run = later.run;
        replace(&mut self.engines, later.engines, |a, b| a == b);
        replace(&mut self.series, later.series, |a, b| a.subject == b.subject && a.measure == b.measure);
        replace(&mut self.histograms, later.histograms, |a, b| a.subject == b.subject && a.what == b.what);
        replace(&mut self.courses, later.courses, |a, b| a.subject == b.subject && a.what == b.what);
        replace(&mut self.curves, later.curves, |a, b| a.subject == b.subject && a.what == b.what);
        replace(&mut self.counters, later.counters, |a, b| a.subject == b.subject && a.what == b.what);
    }
}

/// What workloads add. Rounds are told apart by the order of the calls: one call per round for each measure.
impl Report {
    /// Notes how an engine, a floor or a medium is set; says whether that is new.
    pub fn setting(&mut self, engine: &str, setting: String) -> bool {
        let record = EngineRecord { engine: engine.to_string(), version: versions::of(engine), setting };
        let new = !self.engines.contains(&record);
        if new {
            self.engines.push(record);
        }
        new
    }

    /// Adds one round's value. Units that end in `/s`, and `x`, want to be high; all others low.
    pub fn add(&mut self, place: Place, engine: &str, measure: &str, unit: &str, value: f64) {
        let subject = subject(place, engine);
        match self.series.iter_mut().find(|series| series.subject == subject && series.measure == measure) {
            Some(series) => series.rounds.push(value),
            None => self.series.push(Series {
                subject,
                measure: measure.to_string(),
                unit: unit.to_string(),
                better: Better::of_unit(unit),
                rounds: vec![value],
            }),
        }
    }

    /// Adds one round's latencies: the whole histogram under `what`, and as measures of their own the percentiles at
    /// these shares, in microseconds (`what p95`).
    pub fn add_latencies(
        &mut self,
        place: Place,
        engine: &str,
        what: &str,
        of: &Latencies,
        shares: &[f64],
    ) -> Result<()> {
        for share in shares {
            self.add(place, engine, &format!("{what} p{}", percent(*share)), "us", of.quantile_us(*share));
        }
        self.add_histogram(place, engine, what, of)
    }

    /// Adds one round's histogram alone, for what has no percentile of its own in the table.
    pub fn add_histogram(&mut self, place: Place, engine: &str, what: &str, of: &Latencies) -> Result<()> {
        self.histograms.push(HistogramRecord {
            subject: subject(place, engine),
            what: what.to_string(),
            count: of.count(),
            histogram_ns: of.encoded()?,
            worst_us: of.worst_us(),
        });
        Ok(())
    }

    /// Adds one round's latency over time.
    pub fn add_course(&mut self, place: Place, engine: &str, what: &str, course: &Course) {
        let steps = course.steps();
        self.courses.push(CourseRecord {
            subject: subject(place, engine),
            what: what.to_string(),
            step_seconds: course.step().as_secs_f64(),
            count: steps.iter().map(|step| step.count).collect(),
            mean_us: steps.iter().map(|step| step.sum_us / step.count as f64).collect(),
            max_us: steps.iter().map(|step| step.max_us).collect(),
        });
    }

    /// Adds a point of a curve, for instance the throughput that a number of workers reached.
    pub fn add_point(&mut self, place: Place, engine: &str, what: &str, axes: Axes, (x, y): (f64, f64)) {
        let subject = subject(place, engine);
        match self.curves.iter_mut().find(|curve| curve.subject == subject && curve.what == what) {
            Some(curve) => {
                curve.x.push(x);
                curve.y.push(y);
            }
            None => self.curves.push(Curve {
                subject,
                what: what.to_string(),
                x_unit: axes.x.to_string(),
                y_unit: axes.y.to_string(),
                x: vec![x],
                y: vec![y],
            }),
        }
    }

    /// Adds what an open-loop generator saw at one rate: the rate that was reached (in `unit`, for instance `votes/s`)
    /// and the latencies there, as points of the curves `what p50`, `what p99` and `what p99.9`.
    pub fn add_load(
        &mut self,
        place: Place,
        engine: &str,
        what: &str,
        (reached, unit): (f64, &'static str),
        of: &Latencies,
    ) {
        for share in [0.5, 0.99, 0.999] {
            let (name, point) = (format!("{what} p{}", percent(share)), (reached, of.quantile_us(share)));
            self.add_point(place, engine, &name, Axes { x: unit, y: "us" }, point);
        }
    }

    /// Adds what the engine counted during `what`.
    pub fn add_counters<'n>(
        &mut self,
        place: Place,
        engine: &str,
        what: &str,
        counted: impl IntoIterator<Item = (&'n str, f64)>,
    ) {
        let (names, values) = counted.into_iter().map(|(name, value)| (name.to_string(), value)).unzip();
        self.counters.push(Counters { subject: subject(place, engine), what: what.to_string(), names, values });
    }
}

fn subject(place: Place, engine: &str) -> Subject {
    let Place { workload, medium } = place;
    Subject { workload: workload.to_string(), medium: medium.to_string(), engine: engine.to_string() }
}

/// 0.999 is `99.9`: without the digits that only the binary fraction has.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_runs_the_laters_measures_are_kept() {
        let place = Place { workload: "w", medium: "disk" };
        let run = |measures: &[(&str, f64)]| {
            let mut report = Report::default();
            measures.iter().for_each(|(measure, value)| report.add(place, "cairndb", measure, "us", *value));
            report
        };
        let mut all = run(&[("a", 1.0), ("b", 2.0)]);
        all.merge(run(&[("b", 3.0), ("c", 4.0)]));
        let kept: Vec<_> = all.series().iter().map(|series| (series.measure.as_str(), series.rounds[0])).collect();
        assert_eq!(kept, [("a", 1.0), ("b", 3.0), ("c", 4.0)]);
    }

    #[test]
    fn percentiles_are_named_as_people_say_them() {
        let names: Vec<_> = [0.5, 0.95, 0.999, 0.9999].map(|share| format!("p{}", percent(share))).into();
        assert_eq!(names, ["p50", "p95", "p99.9", "p99.99"]);
    }
}
