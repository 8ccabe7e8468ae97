//! A small chart of lines, one per engine, in a frame with ticks and a legend.

use super::scale::{Kind, Scale, quantity};
use super::style::class_of;
use super::svg::{Anchor, Svg, escaped};

const WIDTH: f64 = 500.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;

/// One axis.
#[derive(Debug, Clone)]
pub struct Axis {
    pub label: String,
    pub unit: String,
    pub kind: Kind,
}

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    pub engine: String,
    /// Drawn with dashes, for a second line of an engine.
    pub dashed: bool,
    /// With a dot at each point: measured one by one rather than a course.
    pub dots: bool,
    pub points: Vec<(f64, f64)>,
}

/// A chart.
#[derive(Debug, Clone)]
pub struct Plot {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
}

impl Plot {
    /// A figure; `None` if there is nothing to see.
    pub fn figure(&self) -> Option<String> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Scale::around(self.x.kind, points().map(|point| point.0))?;
        let y = Scale::around(self.y.kind, points().map(|point| point.1))?;
        let mut svg = Svg::new(WIDTH, HEIGHT);
        self.frame(&mut svg, &x, &y);
        for line in &self.lines {
            line.draw(&mut svg, |point| (x_at(&x, point.0), y_at(&y, point.1)), self);
        }
        let (title, legend) = (escaped(&self.title), self.legend());
        Some(format!("<figure><h3>{title}</h3>{legend}{}</figure>\n", svg.element(&self.title)))
    }

    fn frame(&self, svg: &mut Svg, x: &Scale, y: &Scale) {
        let bottom = HEIGHT - BOTTOM;
        for tick in y.ticks() {
            let at = y_at(y, tick);
            svg.line((LEFT, at), (WIDTH - RIGHT, at), "rule");
            svg.text((LEFT - 6.0, at + 4.0), Anchor::End, "soft", &self.y.tick(tick));
        }
        for tick in x.ticks() {
            let at = x_at(x, tick);
            svg.line((at, bottom), (at, bottom + 4.0), "rule");
            // The last one would reach over the edge.
            let anchor = if at > WIDTH - 2.0 * RIGHT { Anchor::End } else { Anchor::Middle };
            svg.text((at, bottom + 17.0), anchor, "soft", &self.x.tick(tick));
        }
        svg.text(((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6.0), Anchor::Middle, "soft", &self.x.label);
    }

    fn legend(&self) -> String {
        let mut seen: Vec<&str> = Vec::new();
        let mut out = format!("<div class='legend'><span>{}</span>", escaped(&self.y.label));
        for line in self.lines.iter().filter(|line| !line.points.is_empty()) {
            if !seen.contains(&line.engine.as_str()) {
                seen.push(&line.engine);
                let (class, engine) = (class_of(&line.engine), escaped(&line.engine));
                out += &format!("<span><i class='key {class}'></i>{engine}</span>");
            }
        }
        out + "</div>"
    }
}

impl Axis {
    pub fn new(label: impl Into<String>, unit: impl Into<String>, kind: Kind) -> Axis {
        Axis { label: label.into(), unit: unit.into(), kind }
    }

    fn tick(&self, value: f64) -> String {
        match self.kind {
            Kind::Nines => format!("{} %", (value * 1e8).round() / 1e6),
            _ => quantity(value, &self.unit),
        }
    }
}

impl Line {
    fn draw(&self, svg: &mut Svg, place: impl Fn((f64, f64)) -> (f64, f64), plot: &Plot) {
        let shown = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite() && point.1 > 0.0;
        let points: Vec<&(f64, f64)> = self.points.iter().filter(shown).collect();
        let places: Vec<(f64, f64)> = points.iter().map(|point| place(**point)).collect();
        let class = class_of(&self.engine);
        let variant = if self.dashed { " variant" } else { "" };
        svg.path(&places, &format!("{class}{variant}"), &self.engine);
        if self.dots {
            for (point, at) in points.iter().zip(&places) {
                let (x, y) = (plot.x.tick(point.0), plot.y.tick(point.1));
                svg.dot(*at, 3.5, &class, &format!("{}: {x} {}, {y} {}", self.engine, plot.x.label, plot.y.label));
            }
        }
    }
}

fn x_at(scale: &Scale, value: f64) -> f64 {
    LEFT + scale.place(value) * (WIDTH - LEFT - RIGHT)
}

fn y_at(scale: &Scale, value: f64) -> f64 {
    HEIGHT - BOTTOM - scale.place(value) * (HEIGHT - TOP - BOTTOM)
}
