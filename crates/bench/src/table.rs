//! The report as an aligned table.

use crate::report::{Better, Group, Measure, Report, Series};
use crate::statistics::{ROUNDS_TO_CLAIM, Ratio};

const HEAD: [&str; 11] =
    ["measure", "engine", "median", "min", "max", "unit", "x sqlite", "95 %", "that is", "x floor", "95 %"];

/// The tables of one workload, one per medium.
pub fn render(report: &Report, workload: &str) -> String {
    report.groups().iter().filter(|group| group.workload == workload).map(render_group).collect()
}

/// All tables of a report.
pub fn render_all(report: &Report) -> String {
    report.groups().iter().map(render_group).collect()
}

fn render_group(group: &Group<'_>) -> String {
    let mut lines = vec![HEAD.map(str::to_string).to_vec()];
    for measure in &group.measures {
        lines.extend(measure.series.iter().map(|series| line(measure, series)));
    }
    format!("\n{} on {}\n{}", group.workload, group.medium, align(&lines, &[0, 1, 5, 7, 8, 10]))
}

fn line(measure: &Measure<'_>, series: &Series) -> Vec<String> {
    let unit = match series.better {
        Better::Lower => series.unit.clone(),
        Better::Higher => format!("{} (more is better)", series.unit),
    };
    let sqlite = measure.ratio(series, "sqlite");
    let floor = measure.ratio(series, "floor");
    let word = sqlite.map_or("", |ratio| ratio.verdict(series.better, ROUNDS_TO_CLAIM).word(&series.unit));
    vec![
        series.measure.clone(),
        series.engine().to_string(),
        shown(series.median()),
        shown(series.min()),
        shown(series.max()),
        unit,
        sqlite.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median)),
        interval(sqlite),
        word.to_string(),
        floor.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median)),
        interval(floor),
    ]
}

fn interval(ratio: Option<Ratio>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{:.2} to {:.2}", ratio.low, ratio.high))
}

/// As many digits as say something.
pub fn shown(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The columns of these numbers to the left, all others to the right.
pub fn align(lines: &[Vec<String>], left: &[usize]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
            if left.contains(&at) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Place;

    #[test]
    fn a_table_says_faster_only_of_enough_rounds_that_agree() {
        let mut report = Report::default();
        for (workload, rounds) in [("many", 5), ("few", 2)] {
            let place = Place { workload, medium: "disk" };
            for round in 0..rounds {
                let weather = 1.0 + f64::from(round);
                report.add(place, "cairndb", "commit p50", "us", 50.0 * weather);
                report.add(place, "sqlite", "commit p50", "us", 100.0 * weather);
                report.add(place, "redb", "commit p50", "us", 100.0 * weather + f64::from(round % 2) - 0.5);
                report.add(place, "floor", "commit p50", "us", 40.0 * weather);
            }
        }
        let many = render(&report, "many");
        let words = |text: &str, engine: &str| {
            let line = text.lines().find(|line| line.contains(engine)).unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let ours = "commit p50 cairndb 150.0 50.00 250.0 us 0.50 0.50 to 0.50 faster 1.25 1.25 to 1.25";
        assert_eq!(words(&many, "cairndb"), ours);
        assert!(words(&many, "redb").contains("no difference shown"), "{many}");
        let few = render(&report, "few");
        assert!(words(&few, "cairndb").contains("too few rounds") && !few.contains("faster"), "{few}");
    }
}
