//! The report as an aligned table.

use crate::report::{Better, Report, Series};

const HEAD: [&str; 8] = ["measure", "engine", "median", "min", "max", "unit", "x sqlite", "x floor"];

/// The tables of one workload, one per medium.
pub fn render(report: &Report, workload: &str) -> String {
    let here = report.series().iter().filter(|series| series.subject.workload == workload);
    let mut media: Vec<&str> = Vec::new();
    for series in here {
        if !media.contains(&series.subject.medium.as_str()) {
            media.push(&series.subject.medium);
        }
    }
    media.into_iter().map(|medium| render_place(report, workload, medium)).collect()
}

fn render_place(report: &Report, workload: &str, medium: &str) -> String {
    let is_here = |series: &&Series| series.subject.workload == workload && series.subject.medium == medium;
    let here: Vec<&Series> = report.series().iter().filter(is_here).collect();
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
    format!("\n{workload} on {medium}\n{}", align(&lines))
}

fn line(report: &Report, series: &Series) -> Vec<String> {
    let ratio = |engine: &str| match report.counterpart(series, engine) {
        Some(other) if other.engine() != series.engine() && series.unit != "x" => {
            format!("{:.2}", series.ratio_to(other))
        }
        _ => String::new(),
    };
    let unit = match series.better {
        Better::Lower => series.unit.clone(),
        Better::Higher => format!("{} (more is better)", series.unit),
    };
    vec![
        series.measure.clone(),
        series.engine().to_string(),
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
