//! The charts of lines: latency distributions, latency over time, and curves.

use super::plot::{Axis, Line, Plot};
use super::scale::Kind;
use crate::Result;
use crate::latency::Latencies;
use crate::report::{CourseRecord, Curve, HistogramRecord, Report, Subject};
use crate::statistics::median;

/// How finely a distribution is drawn: points per further nine.
const POINTS_PER_NINE: u32 = 24;

/// Latency by percentile, all rounds together, an engine a line.
pub fn distributions(report: &Report) -> Result<Vec<String>> {
    let all = report.histograms();
    let mut figures = Vec::new();
    for first in firsts(all, |record| (&record.subject, &record.what)) {
        let here: Vec<&HistogramRecord> = all
            .iter()
            .filter(|record| same_chart((&first.subject, &first.what), (&record.subject, &record.what)))
            .collect();
        let lines = engines(here.iter().map(|record| &record.subject));
        let lines = lines.into_iter().map(|engine| {
            let points = percentiles(&merged(here.iter().filter(|record| record.subject.engine == engine))?);
            Ok(Line { engine: engine.to_string(), dashed: false, dots: false, points })
        });
        let plot = Plot {
            title: title(&first.subject, &first.what),
            x: Axis::new("share of all that took at most so long", "", Kind::Nines),
            y: Axis::new("latency, log scale", "us", Kind::Log),
            lines: lines.collect::<Result<_>>()?,
        };
        figures.extend(plot.figure());
    }
    Ok(figures)
}

/// Latency over time: of each engine's first round the longest and, dashed, the mean of each step of time.
pub fn courses(report: &Report) -> Vec<String> {
    let all = report.courses();
    let figure = |first: &CourseRecord| {
        let here =
            || all.iter().filter(|record| same_chart((&first.subject, &first.what), (&record.subject, &record.what)));
        let mut lines = Vec::new();
        for engine in engines(here().map(|record| &record.subject)) {
            let Some(course) = here().find(|record| record.subject.engine == engine) else { continue };
            let line = |values: &[f64], dashed: bool| {
                let points = values.iter().enumerate().map(|(at, us)| (at as f64 * course.step_seconds, *us)).collect();
                Line { engine: engine.to_string(), dashed, dots: false, points }
            };
            lines.extend([line(&course.max_us, false), line(&course.mean_us, true)]);
        }
        let plot = Plot {
            title: format!(
                "{}: longest (dashed: mean) per {} s",
                title(&first.subject, &first.what),
                first.step_seconds
            ),
            x: Axis::new("seconds", "s", Kind::Linear),
            y: Axis::new("latency, log scale", "us", Kind::Log),
            lines,
        };
        plot.figure()
    };
    firsts(all, |record| (&record.subject, &record.what)).into_iter().filter_map(figure).collect()
}

/// One measure as another rises; of several rounds at one place the median.
pub fn curves(report: &Report) -> Vec<String> {
    let all = report.curves();
    let figure = |first: &Curve| {
        let here =
            all.iter().filter(|record| same_chart((&first.subject, &first.what), (&record.subject, &record.what)));
        let line = |curve: &Curve| Line {
            engine: curve.subject.engine.clone(),
            dashed: false,
            dots: true,
            points: medians(&curve.x, &curve.y),
        };
        let y_kind = if first.y_unit == "us" { Kind::Log } else { Kind::Linear };
        let (low, high) = first.x.iter().fold((f64::MAX, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
        let x_kind = if low > 0.0 && high / low > 30.0 { Kind::Log } else { Kind::Linear };
        let plot = Plot {
            title: title(&first.subject, &first.what),
            x: Axis::new(first.x_unit.clone(), first.x_unit.clone(), x_kind),
            y: Axis::new(
                if y_kind == Kind::Log { "latency, log scale" } else { &first.y_unit },
                first.y_unit.clone(),
                y_kind,
            ),
            lines: here.map(line).collect(),
        };
        plot.figure()
    };
    firsts(all, |curve| (&curve.subject, &curve.what)).into_iter().filter_map(figure).collect()
}

/// The first record of each chart, in the order of the report.
fn firsts<T>(all: &[T], key: impl Fn(&T) -> (&Subject, &String)) -> Vec<&T> {
    let mut firsts: Vec<&T> = Vec::new();
    for record in all {
        if !firsts.iter().any(|first| same_chart(key(first), key(record))) {
            firsts.push(record);
        }
    }
    firsts
}

fn same_chart(a: (&Subject, &String), b: (&Subject, &String)) -> bool {
    a.1 == b.1 && a.0.workload == b.0.workload && a.0.medium == b.0.medium
}

fn title(subject: &Subject, what: &str) -> String {
    format!("{} on {}: {what}", subject.workload, subject.medium)
}

fn engines<'r>(subjects: impl Iterator<Item = &'r Subject>) -> Vec<&'r str> {
    let mut names: Vec<&str> = Vec::new();
    // Of the floors the one that CairnDB met; the others are in the tables.
    let beside = |name: &str| name.starts_with("quiet floor") || name.contains(" beside ");
    for subject in subjects.filter(|subject| !beside(&subject.engine)) {
        if !names.contains(&subject.engine.as_str()) {
            names.push(&subject.engine);
        }
    }
    names
}

fn merged<'r>(records: impl Iterator<Item = &'r &'r HistogramRecord>) -> Result<Latencies> {
    let mut all = Latencies::new()?;
    for record in records {
        all.merge(&Latencies::decoded(&record.histogram_ns, &record.worst_us)?)?;
    }
    Ok(all)
}

/// As far to the right as there are values to speak of: the share that one of them is.
fn percentiles(of: &Latencies) -> Vec<(f64, f64)> {
    let nines = (of.count().max(2) as f64).log10();
    let points = (nines * f64::from(POINTS_PER_NINE)) as u32;
    let share = |at: u32| 1.0 - 10f64.powf(-f64::from(at) / f64::from(POINTS_PER_NINE));
    (0..=points).map(share).map(|share| (share, of.quantile_us(share))).collect()
}

/// The points from left to right, of several with one `x` the median; `x` within 3 % is one.
fn medians(x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let together = points.chunk_by(|a, b| b.0 - a.0 <= 0.03 * a.0.abs());
    let middle = |chunk: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| median(&chunk.iter().map(of).collect::<Vec<_>>());
    together.map(|chunk| (middle(chunk, |point| point.0), middle(chunk, |point| point.1))).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rounds_at_one_place_are_one_point() {
        assert_eq!(medians(&[10.0, 20.0, 10.0, 10.1], &[1.0, 9.0, 3.0, 2.0]), [(10.0, 2.0), (20.0, 9.0)]);
    }

    #[test]
    fn a_distribution_ends_where_single_values_begin() {
        let mut latencies = Latencies::new().unwrap();
        (1..=1000).for_each(|us| latencies.add(Duration::from_micros(us)));
        let points = percentiles(&latencies);
        let (share, us) = *points.last().unwrap();
        assert!((share - 0.999).abs() < 1e-6 && (us - 999.0).abs() < 2.0, "{share} {us}");
        assert!(points.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }
}
