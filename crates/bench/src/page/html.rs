//! The page: what is said on top, then charts, then every number.

use super::bars::Rows;
use super::style::{class_of, of_page};
use super::svg::escaped;
use super::{charts, tables};
use crate::Result;
use crate::report::{Report, Run};
use crate::statistics::{ROUNDS_TO_CLAIM, Verdict};

/// The whole page.
pub fn page(report: &Report) -> Result<String> {
    let rows = Rows::of(report);
    let body = [
        head(report.run()),
        tally(&rows),
        losses(&rows),
        bars(&rows),
        grid(
            "Latency distributions",
            "All rounds together. Each step to the right is ten times rarer; both what is usual and what is worst are on \
             one line.",
            &charts::distributions(report)?,
        ),
        grid("Latency over time", "A stall would be a peak; a checkpoint, a row of them.", &charts::courses(report)),
        grid("Throughput against latency", "", &charts::curves(report)),
        section("Every measure", &tables::measures(report)),
        section("What the engines counted", &tables::counters(report)),
        section("How each was set", &tables::settings(report)),
    ];
    Ok(format!(
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>\n\
         <meta name='viewport' content='width=device-width, initial-scale=1'>\n<title>CairnDB measured</title>\n\
         <style>{}</style></head>\n<body>\n{}</body></html>\n",
        of_page(),
        body.concat()
    ))
}

fn head(run: &Run) -> String {
    let optimized = if run.optimized { "" } else { " <b class='worse'>built without optimizations</b>" };
    let load = run.load_average.map_or_else(String::new, |load| format!(", load average before: {load}"));
    format!(
        "<h1>CairnDB {} measured</h1>\n<p class='soft'>{}{load}.{optimized}</p>\n\
         <p class='soft'>Same durability for all, engines interleaved round by round; ratios are taken within rounds, and \
         \u{201c}faster\u{201d} is said only where the 95 % interval excludes 1, of at least {ROUNDS_TO_CLAIM} rounds.</p>\n",
        escaped(&run.cairndb),
        escaped(&run.machine.to_string()),
    )
}

fn tally(rows: &Rows) -> String {
    let boxes = [
        ("better", "better than SQLite", Verdict::Better),
        ("worse", "worse than SQLite", Verdict::Worse),
        ("", "no difference shown", Verdict::NoDifference),
        ("", "too few rounds to say", Verdict::TooFewRounds),
    ];
    let one = |(class, words, verdict)| format!("<div><b class='{class}'>{}</b>{words}</div>", rows.count(verdict));
    format!("<div class='tally'>{}</div>\n", boxes.map(one).concat())
}

fn losses(rows: &Rows) -> String {
    let losses = rows.losses();
    if losses.is_empty() {
        return String::new();
    }
    let items: String = losses.iter().map(|loss| format!("<li>{}</li>", escaped(loss))).collect();
    format!("<h2>Where CairnDB loses to SQLite</h2>\n<ul>{items}</ul>\n")
}

fn bars(rows: &Rows) -> String {
    let Some(chart) = rows.chart() else { return String::new() };
    let key = |class: &str, word: &str| format!("<span><i class='key {class}'></i>{}</span>", escaped(word));
    let dots: String = rows.others().into_iter().map(|engine| key(&class_of(engine), engine)).collect();
    let bars = key("better", "CairnDB better") + &key("worse", "CairnDB worse") + &key("even", "not told apart");
    section(
        "How many times better than SQLite",
        &format!(
            "<p class='soft'>Bars: CairnDB, the median of paired rounds, with its 95 % interval. Dots: the other engines.</p>\n\
             <div class='legend'>{bars}<span>\u{b7}</span>{dots}</div>\n<div class='scroll'><div class='wide'>{}</div></div>",
            chart.element("How many times better than SQLite, measure by measure")
        ),
    )
}

fn grid(title: &str, about: &str, figures: &[String]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    section(title, &format!("<p class='soft'>{about}</p>\n<div class='grid'>{}</div>", figures.concat()))
}

fn section(title: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("<h2>{title}</h2>\n{content}\n") }
}
