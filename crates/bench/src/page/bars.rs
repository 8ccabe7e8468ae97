//! How many times better than SQLite: a bar per measure, with its interval, and the other engines as dots.
//!
//! The scale counts factors, so that twice as slow reaches as far to the left as twice as fast to the right.

use super::scale::{Kind, Scale, short};
use super::style::{class_of, of_picture};
use super::svg::{Anchor, Svg};
use crate::report::{Group, Measure, Report};
use crate::statistics::{ROUNDS_TO_CLAIM, Ratio, Verdict};
use crate::table;

const WIDTH: f64 = 1000.0;
const LABELS: f64 = 330.0;
const WORDS: f64 = 170.0;
const ROW: f64 = 22.0;
const GROUP: f64 = 30.0;
/// Ticks above and below.
const AXIS: f64 = 26.0;

/// One engine's gain over SQLite in one measure.
#[derive(Debug, Clone)]
struct Gain {
    engine: String,
    ratio: Ratio,
    verdict: Verdict,
    unit: String,
    values: String,
}

/// A measure that CairnDB and SQLite both have.
#[derive(Debug, Clone)]
struct Row {
    place: String,
    measure: String,
    ours: Gain,
    others: Vec<Gain>,
}

/// The rows of the chart.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    rows: Vec<Row>,
}

impl Rows {
    pub fn of(report: &Report) -> Rows {
        let groups = report.groups();
        let rows = groups.iter().flat_map(|group| group.measures.iter().filter_map(move |measure| row(group, measure)));
        Rows { rows: rows.collect() }
    }

    /// Only the measures whose names hold one of these words; all of them if there is no word.
    pub fn only(mut self, words: &[String]) -> Rows {
        let named =
            |row: &Row| words.iter().any(|word| format!("{} {}", row.place, row.measure).contains(word.as_str()));
        self.rows.retain(|row| words.is_empty() || named(row));
        self
    }

    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.ours.verdict == verdict).count()
    }

    /// Where CairnDB loses, in words, the greatest loss first.
    pub fn losses(&self) -> Vec<String> {
        let mut lost: Vec<&Row> = self.rows.iter().filter(|row| row.ours.verdict == Verdict::Worse).collect();
        lost.sort_by(|a, b| a.ours.ratio.median.total_cmp(&b.ours.ratio.median));
        lost.into_iter().map(|row| format!("{}, {}: {}", row.place, row.measure, row.ours.words())).collect()
    }

    /// The engines that have dots.
    pub fn others(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for gain in self.rows.iter().flat_map(|row| &row.others) {
            if !names.contains(&gain.engine.as_str()) {
                names.push(&gain.engine);
            }
        }
        names
    }

    /// `None` where nothing is to be compared.
    pub fn chart(&self) -> Option<Svg> {
        self.draw(0.0)
    }

    fn draw(&self, top: f64) -> Option<Svg> {
        let gains = self.rows.iter().flat_map(|row| {
            let Ratio { low, high, .. } = row.ours.ratio;
            [low, high].into_iter().chain(row.others.iter().map(|gain| gain.ratio.median))
        });
        let scale = Scale::around(Kind::Log, gains.chain([0.5, 2.0]))?;
        let groups = self.rows.iter().enumerate().filter(|(at, row)| *at == 0 || self.rows[at - 1].place != row.place);
        let top = top + AXIS;
        let height = top + ROW * self.rows.len() as f64 + GROUP * groups.count() as f64 + AXIS;
        let mut svg = Svg::new(WIDTH, height);
        self.draw_ticks(&mut svg, &scale, (top, height - AXIS));
        let mut y = top;
        for (at, row) in self.rows.iter().enumerate() {
            if at == 0 || self.rows[at - 1].place != row.place {
                y += GROUP;
                svg.text((0.0, y - 8.0), Anchor::Start, "head", &row.place);
            }
            row.draw(&mut svg, &scale, y);
            y += ROW;
        }
        svg.line((x_of(&scale, 1.0), top), (x_of(&scale, 1.0), height - AXIS), "one");
        Some(svg)
    }

    fn draw_ticks(&self, svg: &mut Svg, scale: &Scale, (top, bottom): (f64, f64)) {
        for tick in scale.ticks() {
            let x = x_of(scale, tick);
            svg.line((x, top), (x, bottom), "rule");
            for y in [top - 7.0, bottom + 17.0] {
                svg.text((x, y), Anchor::Middle, "soft", &format!("{}\u{d7}", short(tick)));
            }
        }
        for y in [top - 7.0, bottom + 17.0] {
            svg.text((0.0, y), Anchor::Start, "soft", "\u{2190} SQLite better \u{b7} CairnDB better \u{2192}");
        }
    }
}

/// The chart as a picture of its own: the machine above, the engines' dots explained below.
pub fn picture(report: &Report, rows: &Rows) -> Option<String> {
    let mut svg = rows.draw(64.0)?;
    svg.text((0.0, 20.0), Anchor::Start, "title", "CairnDB against SQLite, same durability, one run");
    svg.text((0.0, 40.0), Anchor::Start, "soft", &report.run().machine.to_string());
    svg.text((0.0, 58.0), Anchor::Start, "soft", "Bars: median of paired rounds; whiskers: 95 % interval.");
    let mut x = 355.0;
    for engine in rows.others() {
        svg.dot((x, 54.0), 4.5, &class_of(engine), engine);
        svg.text((x + 9.0, 58.0), Anchor::Start, "soft", engine);
        x += 28.0 + 6.6 * engine.chars().count() as f64;
    }
    Some(svg.file(&of_picture()))
}

fn row(group: &Group<'_>, measure: &Measure<'_>) -> Option<Row> {
    let gain = |engine: &str| {
        let series = measure.of(engine)?;
        let ratio = measure.ratio(series, "sqlite")?;
        let sqlite = measure.of("sqlite")?;
        let values = format!(
            "{engine} {} {unit}, SQLite {} {unit}",
            table::shown(series.median()),
            table::shown(sqlite.median()),
            unit = series.unit
        );
        let verdict = ratio.verdict(series.better, ROUNDS_TO_CLAIM);
        let unit = series.unit.clone();
        Some(Gain { engine: engine.to_string(), ratio: ratio.gain(series.better), verdict, unit, values })
    };
    let names = measure.series.iter().map(|series| series.engine());
    let others = names.filter(|name| !name.starts_with("cairndb") && !name.contains("floor")).filter_map(gain);
    Some(Row {
        place: format!("{} on {}", group.workload, group.medium),
        measure: measure.name.to_string(),
        ours: gain("cairndb")?,
        others: others.collect(),
    })
}

impl Row {
    fn draw(&self, svg: &mut Svg, scale: &Scale, y: f64) {
        let middle = y + ROW / 2.0;
        let title = format!("{}: {}", self.ours.values, self.ours.words());
        svg.text((14.0, middle + 4.0), Anchor::Start, "", &self.measure);
        let (one, end) = (x_of(scale, 1.0), x_of(scale, self.ours.ratio.median));
        svg.rect((one.min(end), y + 4.0), ((end - one).abs().max(1.5), ROW - 8.0), self.ours.class(), &title);
        svg.line((x_of(scale, self.ours.ratio.low), middle), (x_of(scale, self.ours.ratio.high), middle), "whisker");
        for gain in &self.others {
            let title = format!("{}: {}", gain.values, gain.words());
            svg.dot((x_of(scale, gain.ratio.median), middle), 4.5, &class_of(&gain.engine), &title);
        }
        svg.text((WIDTH, middle + 4.0), Anchor::End, self.ours.class(), &self.ours.words());
    }
}

impl Gain {
    /// `3.1 x faster`, `1.2 x slower`, or that nothing was shown.
    fn words(&self) -> String {
        let (gain, word) = (self.ratio.median, self.verdict.word(&self.unit));
        match self.verdict {
            Verdict::Better => format!("{}\u{d7} {word}", short(gain)),
            Verdict::Worse => format!("{}\u{d7} {word}", short(1.0 / gain)),
            Verdict::NoDifference => word.to_string(),
            Verdict::TooFewRounds => format!("({}\u{d7}: {word})", short(gain)),
        }
    }

    fn class(&self) -> &'static str {
        match self.verdict {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoDifference => "even",
            Verdict::TooFewRounds => "unsure",
        }
    }
}

fn x_of(scale: &Scale, gain: f64) -> f64 {
    LABELS + scale.place(gain) * (WIDTH - LABELS - WORDS - 20.0)
}
