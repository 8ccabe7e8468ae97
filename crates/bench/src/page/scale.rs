//! From values to places along an axis, and where its ticks are.

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Linear,
    /// Equal factors are equally far apart.
    Log,
    /// Shares below 1, each further nine as far as the last: 90 %, 99 %, 99.9 %.
    Nines,
}

/// An axis from its lowest to its highest value.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
}

impl Scale {
    /// Holds all the values, and some room; `None` of nothing that it could show.
    pub fn around(kind: Kind, values: impl Iterator<Item = f64>) -> Option<Scale> {
        let shown = |value: &f64| value.is_finite() && (kind != Kind::Log || *value > 0.0);
        let (low, high) = values
            .filter(shown)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        let (low, high) = match kind {
            Kind::Linear => (low.min(0.0), high.max(1e-9) * 1.05),
            Kind::Log => (low / 1.25, high * 1.25),
            Kind::Nines => (low, high),
        };
        (low < high && high.is_finite()).then_some(Scale { kind, low, high })
    }

    /// 0 at the lowest value, 1 at the highest.
    pub fn place(&self, value: f64) -> f64 {
        let even = |value: f64| match self.kind {
            Kind::Linear => value,
            Kind::Log => value.ln(),
            Kind::Nines => -(1.0 - value).ln(),
        };
        (even(value) - even(self.low)) / (even(self.high) - even(self.low))
    }

    /// Round values inside.
    pub fn ticks(&self) -> Vec<f64> {
        let inside = |value: &f64| (self.low..=self.high).contains(value);
        match self.kind {
            Kind::Linear => self.even_steps(),
            Kind::Log => self.powers().into_iter().filter(inside).collect(),
            Kind::Nines => [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999].into_iter().filter(inside).collect(),
        }
    }

    fn even_steps(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|at| at as f64 * step).take_while(|value| *value <= self.high).collect()
    }

    /// Powers of ten, and what is between them where they are few.
    fn powers(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let between: &[f64] = match decades {
            ..0.7 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
            ..2.5 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let exponents = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        exponents.flat_map(|power| between.iter().map(move |times| times * 10f64.powi(power))).collect()
    }
}

/// A value with the unit that suits its size.
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "us" if value >= 1e6 => format!("{} s", short(value / 1e6)),
        "us" if value >= 1e3 => format!("{} ms", short(value / 1e3)),
        "us" => format!("{} \u{b5}s", short(value)),
        _ => short(value),
    }
}

/// Three digits at most.
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e9 => format!("{}G", short(value / 1e9)),
        v if v >= 1e6 => format!("{}M", short(value / 1e6)),
        v if v >= 1e3 => format!("{}k", short(value / 1e3)),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => trimmed(format!("{value:.1}")),
        v if v >= 1.0 || v == 0.0 => trimmed(format!("{value:.2}")),
        v if v >= 0.001 => trimmed(format!("{value:.3}")),
        // Never as nothing.
        v => format!("{value:.*}", (-v.log10()).ceil() as usize),
    }
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_even_in_what_the_scale_counts() {
        let log = Scale::around(Kind::Log, [12.5, 800.0].into_iter()).unwrap();
        assert!((log.place(100.0) - 0.5).abs() < 1e-9, "{}", log.place(100.0));
        let nines = Scale::around(Kind::Nines, [0.0, 0.9999].into_iter()).unwrap();
        assert!((nines.place(0.99) - 0.5).abs() < 1e-9);
        assert!(Scale::around(Kind::Log, [0.0, -1.0, f64::NAN].into_iter()).is_none());
        assert!(Scale::around(Kind::Linear, std::iter::empty()).is_none());
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let ticks = |kind, values: &[f64]| Scale::around(kind, values.iter().copied()).unwrap().ticks();
        assert_eq!(ticks(Kind::Linear, &[3.0, 9.0]), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(Kind::Log, &[2.0, 30.0]), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(ticks(Kind::Log, &[120.0, 210.0]), [100.0, 150.0, 200.0]);
        assert_eq!(ticks(Kind::Log, &[2.0, 30_000.0]), [10.0, 100.0, 1000.0, 10_000.0]);
    }

    #[test]
    fn quantities_are_short() {
        let shown = [(0.41, "us"), (43.0, "us"), (5310.0, "us"), (2.5e6, "us"), (552_000.0, "rows/s"), (0.0, "x")];
        let texts = shown.map(|(value, unit)| quantity(value, unit));
        assert_eq!(texts, ["0.41 \u{b5}s", "43 \u{b5}s", "5.31 ms", "2.5 s", "552k", "0"]);
    }
}
