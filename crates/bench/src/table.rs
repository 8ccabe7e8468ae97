//! The report as an aligned table.

use crate::report::{Better, Place, Report, Series};

const HEAD: [&str; 8] = ["measure", "engine", "median", "min", "max", "unit", "x sqlite", "x floor"];

/// The tables of one workload, one per medium.
pub fn render(report: &Report, workload: &str) -> String {
    let mut places: Vec<Place> = Vec::new();
    for series in report.series().iter().filter(|series| series.place.workload == workload) {
        if !places.contains(&series.place) {
            places.push(series.place);
        }
    }
    places.into_iter().map(|place| render_place(report, place)).collect()
}

fn render_place(report: &Report, place: Place) -> String {
    let here: Vec<&Series> = report.series().iter().filter(|series| series.place == place).collect();
    let mut measures: Vec<&str> = Vec::new();
    for series in &here {
        if !measures.contains(&series.measure.as_str()) {
            measures.push(&series.measure);
        }
    }
    let mut lines = vec![HEAD.map(str::to_string).to_vec()];
    for measure in measures {
        lines.extend(here.iter().filter(|series| series.measure == measure).map(|series| line(report, series)));
    }
    format!("\n{} on {}\n{}", place.workload, place.medium, align(&lines))
}

fn line(report: &Report, series: &Series) -> Vec<String> {
    let ratio = |engine: &str| match report.counterpart(series, engine) {
        Some(other) if other.engine != series.engine && series.unit != "x" => format!("{:.2}", series.ratio_to(other)),
        _ => String::new(),
    };
    let unit = match series.better {
        Better::Lower => series.unit.to_string(),
        Better::Higher => format!("{} (more is better)", series.unit),
    };
    vec![
        series.measure.clone(),
        series.engine.to_string(),
        shown(series.median()),
        shown(series.min()),
        shown(series.max()),
        unit,
        ratio("sqlite"),
        ratio("floor"),
    ]
}

/// As many digits as say something.
fn shown(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Words to the left, numbers to the right.
fn align(lines: &[Vec<String>]) -> String {
    let columns = HEAD.len();
    let width = |at: usize| lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match at {
            0 | 1 | 5 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
