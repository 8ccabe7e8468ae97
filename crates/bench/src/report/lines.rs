//! A report as JSON lines: one record per line, each with its kind under `record`; the run comes first.

use serde::{Deserialize, Serialize};

use super::{Counters, CourseRecord, Curve, EngineRecord, HistogramRecord, Report, Run, Series};
use crate::{Error, Result};

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "lowercase")]
enum Record {
    Run(Run),
    Engine(EngineRecord),
    Series(Series),
    Histogram(HistogramRecord),
    Course(CourseRecord),
    Curve(Curve),
    Counters(Counters),
}

impl Report {
    /// All lines, each ended.
    pub fn to_lines(&self) -> Result<String> {
        let mut out = String::new();
        for record in self.records() {
            out.push_str(&serde_json::to_string(&record)?);
            out.push('\n');
        }
        Ok(out)
    }

    /// From the lines that [`to_lines`](Report::to_lines) made; an error names the line.
    pub fn parse(text: &str) -> Result<Report> {
        let mut report = Report::default();
        let mut runs = 0;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let record = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1))?;
            runs += usize::from(matches!(record, Record::Run(_)));
            report.take(record);
        }
        if runs == 1 { Ok(report) } else { Err(Error::from(format!("{runs} runs in one file, not 1"))) }
    }

    fn records(&self) -> impl Iterator<Item = Record> {
        let run = std::iter::once(Record::Run(self.run.clone()));
        run.chain(self.engines.iter().cloned().map(Record::Engine))
            .chain(self.series.iter().cloned().map(Record::Series))
            .chain(self.histograms.iter().cloned().map(Record::Histogram))
            .chain(self.courses.iter().cloned().map(Record::Course))
            .chain(self.curves.iter().cloned().map(Record::Curve))
            .chain(self.counters.iter().cloned().map(Record::Counters))
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Run(run) => self.run = run,
            Record::Engine(engine) => self.engines.push(engine),
            Record::Series(series) => self.series.push(series),
            Record::Histogram(histogram) => self.histograms.push(histogram),
            Record::Course(course) => self.courses.push(course),
            Record::Curve(curve) => self.curves.push(curve),
            Record::Counters(counters) => self.counters.push(counters),
        }
    }
}

/// Lists of numbers of which some may be no number (the mean of nothing): JSON knows only `null` for those.
pub mod numbers {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(|value| value.is_finite().then_some(*value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let values: Vec<Option<f64>> = Vec::deserialize(from)?;
        Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::latency::{Course, Latencies};
    use crate::report::{Axes, Place};

    fn report() -> Report {
        let mut report = Report::new(Run::here(vec!["commit".to_string()]));
        let place = Place { workload: "commit", medium: "disk" };
        let mut latencies = Latencies::new().unwrap();
        let mut course = Course::new(Duration::from_millis(100));
        for at in 1..1000 {
            latencies.add(Duration::from_nanos(at * 311));
            course.add(Duration::from_millis(at), Duration::from_micros(at));
        }
        report.setting("sqlite", "with \"quotes\" and \\ and\nlines".to_string());
        report.add(place, "cairndb", "rate", "commits/s", 0.1 + 0.2);
        report.add_latencies(place, "cairndb", "commit", &latencies, &[0.5, 0.999]).unwrap();
        report.add_course(place, "cairndb", "commit", &course);
        report.add_load(place, "cairndb", "vote", (1e5, "votes/s"), &latencies);
        report.add_point(place, "sqlite", "by workers", Axes { x: "workers", y: "ops/s" }, (4.0, 2.5e4));
        report.add_counters(place, "cairndb", "commit", [("syncs", 7.0), ("commits", 7.0)]);
        report
    }

    #[test]
    fn a_report_survives_writing_and_reading() {
        let report = report();
        let text = report.to_lines().unwrap();
        assert_eq!(Report::parse(&text).unwrap(), report);
        // Every kind of record is there, on a line of its own.
        assert_eq!(text.lines().count(), 1 + 1 + 3 + 1 + 1 + 4 + 1);
    }

    #[test]
    fn what_is_no_number_is_null_and_comes_back_as_no_number() {
        let mut report = report();
        report.add(Place { workload: "commit", medium: "disk" }, "redb", "rate", "commits/s", f64::INFINITY);
        let text = report.to_lines().unwrap();
        assert!(text.contains("\"rounds\":[null]"), "{text}");
        assert!(Report::parse(&text).unwrap().series().last().unwrap().rounds[0].is_nan());
    }

    #[test]
    fn what_is_not_a_report_is_refused_with_its_line() {
        let good = report().to_lines().unwrap();
        let error = Report::parse(&format!("{good}{{\"record\":\"walk\"}}\n")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("line {}:", good.lines().count() + 1)), "{error}");
        assert!(Report::parse("").is_err() && Report::parse(&good.repeat(2)).is_err());
    }
}
