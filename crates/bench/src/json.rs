//! The report as JSON lines: the machine, the settings, then a line per series and per detail.

use crate::report::{Better, Place, Report};

/// All lines, each ended.
pub fn lines(report: &Report) -> String {
    let mut out = format!("{{\"machine\":{}}}\n", quoted(report.machine()));
    for (engine, setting) in report.settings() {
        out.push_str(&format!("{{\"engine\":{},\"setting\":{}}}\n", quoted(engine), quoted(setting)));
    }
    for series in report.series() {
        out.push_str(&format!(
            "{{{},\"measure\":{},\"unit\":{},\"better\":{},\"median\":{},\"rounds\":{}}}\n",
            head(series.place, series.engine),
            quoted(&series.measure),
            quoted(series.unit),
            quoted(if series.better == Better::Lower { "lower" } else { "higher" }),
            number(series.median()),
            numbers(&series.rounds),
        ));
    }
    for detail in report.details() {
        let head = head(detail.place, detail.engine);
        out.push_str(&format!(
            "{{{head},\"detail\":{},\"values\":{}}}\n",
            quoted(&detail.name),
            numbers(&detail.values)
        ));
    }
    out
}

fn head(place: Place, engine: &str) -> String {
    format!("\"workload\":{},\"medium\":{},\"engine\":{}", quoted(place.workload), quoted(place.medium), quoted(engine))
}

fn numbers(values: &[f64]) -> String {
    format!("[{}]", values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(","))
}

/// JSON knows no infinity.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { "null".to_string() }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_numbers_are_json() {
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
        assert_eq!(numbers(&[1.5, f64::NAN]), "[1.5,null]");
    }
}
