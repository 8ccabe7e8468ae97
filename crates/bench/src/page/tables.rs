//! The tables of the page.

use super::svg::escaped;
use crate::report::{Better, Group, Measure, Report, Series};
use crate::statistics::{ROUNDS_TO_CLAIM, Ratio, Verdict};
use crate::table::shown;

const HEAD: [(&str, &str); 10] = [
    ("measure", "word"),
    ("engine", "word"),
    ("median", ""),
    ("min", ""),
    ("max", ""),
    ("unit", "word"),
    ("\u{d7} SQLite", ""),
    ("95 %", ""),
    ("that is", "word"),
    ("\u{d7} floor, 95 %", ""),
];

/// Every measure of every engine.
pub fn measures(report: &Report) -> String {
    report.groups().iter().map(group_table).collect()
}

fn group_table(group: &Group<'_>) -> String {
    let head: String = HEAD.iter().map(|(name, class)| format!("<th class='{class}'>{name}</th>")).collect();
    let rows = group
        .measures
        .iter()
        .flat_map(|measure| measure.series.iter().enumerate().map(move |(at, series)| row(measure, series, at == 0)));
    let (workload, medium) = (escaped(group.workload), escaped(group.medium));
    let rows: String = rows.collect();
    format!("<h3>{workload} on {medium}</h3><div class='scroll'><table><tr>{head}</tr>\n{rows}</table></div>\n")
}

fn row(measure: &Measure<'_>, series: &Series, first: bool) -> String {
    let sqlite = measure.ratio(series, "sqlite");
    let verdict = sqlite.map(|ratio| ratio.verdict(series.better, ROUNDS_TO_CLAIM));
    let class = match verdict {
        Some(Verdict::Better) => "word better",
        Some(Verdict::Worse) => "word worse",
        _ => "word",
    };
    let more = if series.better == Better::Higher { " (more is better)" } else { "" };
    let ours = if Measure::is_ours(series) { "ours" } else { "" };
    let cells = [
        ("word", escaped(&series.measure)),
        ("word", escaped(series.engine())),
        ("", shown(series.median())),
        ("", shown(series.min())),
        ("", shown(series.max())),
        ("word", escaped(&series.unit) + more),
        ("", sqlite.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median))),
        ("", sqlite.map_or_else(String::new, interval)),
        (class, verdict.map_or("", |verdict| verdict.word(&series.unit)).to_string()),
        ("", measure.ratio(series, "floor").map_or_else(String::new, |r| format!("{:.2} ({})", r.median, interval(r)))),
    ];
    let cells: String = cells.into_iter().map(|(class, text)| format!("<td class='{class}'>{text}</td>")).collect();
    format!("<tr class='{ours}{}'>{cells}</tr>\n", if first { " first" } else { "" })
}

fn interval(ratio: Ratio) -> String {
    format!("{:.2} to {:.2}", ratio.low, ratio.high)
}

/// What the engines themselves counted.
pub fn counters(report: &Report) -> String {
    let table = |counters: &crate::report::Counters| {
        let subject = &counters.subject;
        let title = format!("{}, {} on {}: {}", subject.engine, subject.workload, subject.medium, counters.what);
        let row = |(name, value): (&String, &f64)| {
            format!("<tr><td class='word'>{}</td><td>{}</td></tr>", escaped(name), shown(*value))
        };
        let rows: String = counters.names.iter().zip(&counters.values).map(row).collect();
        format!("<details><summary>{}</summary><table>{rows}</table></details>\n", escaped(&title))
    };
    report.counters().iter().map(table).collect()
}

/// How each engine was set.
pub fn settings(report: &Report) -> String {
    let row = |engine: &crate::report::EngineRecord| {
        let cells = [&engine.engine, &engine.version, &engine.setting];
        let cells: String = cells.map(|cell| format!("<td class='word'>{}</td>", escaped(cell))).concat();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = report.engines().iter().map(row).collect();
    format!(
        "<div class='scroll'><table><tr><th class='word'>engine</th><th class='word'>version</th>\
         <th class='word'>setting</th></tr>\n{rows}</table></div>\n"
    )
}
