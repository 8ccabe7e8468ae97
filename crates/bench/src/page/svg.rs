//! Just enough SVG: shapes that carry classes, and text that is escaped.

use std::fmt::Write;

/// Around a picture of its own.
const MARGIN: f64 = 14.0;

/// A drawing that grows.
#[derive(Debug)]
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Which point of a text is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub fn new(width: f64, height: f64) -> Svg {
        Svg { width, height, body: String::new() }
    }

    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str, title: &str) {
        let (width, title) = (width.max(0.0), escaped(title));
        self.push(format_args!(
            "<rect x='{x:.1}' y='{y:.1}' width='{width:.1}' height='{height:.1}' class='{class}'><title>{title}</title></rect>"
        ));
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.push(format_args!("<line x1='{x1:.1}' y1='{y1:.1}' x2='{x2:.1}' y2='{y2:.1}' class='{class}'/>"));
    }

    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.push(format_args!("<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}' class='{class}'>{text}</text>"));
    }

    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, class: &str, title: &str) {
        let title = escaped(title);
        self.push(format_args!(
            "<circle cx='{x:.1}' cy='{y:.1}' r='{radius}' class='{class}'><title>{title}</title></circle>"
        ));
    }

    /// A line through these points.
    pub fn path(&mut self, points: &[(f64, f64)], class: &str, title: &str) {
        let mut data = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            let _ = write!(data, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
        }
        let title = escaped(title);
        self.push(format_args!("<path d='{data}' class='{class}'><title>{title}</title></path>"));
    }

    /// As an element of a page; `label` is for readers who do not see it.
    pub fn element(&self, label: &str) -> String {
        let Svg { width, height, body } = self;
        format!("<svg viewBox='0 0 {width} {height}' role='img' aria-label='{}'>\n{body}</svg>\n", escaped(label))
    }

    /// As a file of its own, with its style.
    pub fn file(&self, style: &str) -> String {
        let (width, height) = (self.width + 2.0 * MARGIN, self.height + 2.0 * MARGIN);
        let body = &self.body;
        format!(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='-{MARGIN} -{MARGIN} {width} {height}' \
             width='{width}' height='{height}'>\n<style>{style}</style>\n\
             <rect x='-{MARGIN}' y='-{MARGIN}' width='{width}' height='{height}' class='surface'/>\n{body}</svg>\n"
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }
}

/// Text as it may stand between tags and in quoted attributes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_a_file_can_not_become_markup() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text((1.0, 2.0), Anchor::Start, "t", "<script>'\"&");
        assert!(svg.element("a'b").contains(">&lt;script&gt;&#39;&quot;&amp;</text>"));
        assert!(svg.element("a'b").contains("aria-label='a&#39;b'"));
    }
}
