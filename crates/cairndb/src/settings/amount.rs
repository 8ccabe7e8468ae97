//! Numbers with units: memory and time, as PostgreSQL reads and shows them.

use std::time::Duration;

const KB: u64 = 1024;
const MEMORY: [(&str, f64); 5] =
    [("B", 1.0), ("kB", 1024.0), ("MB", 1_048_576.0), ("GB", 1_073_741_824.0), ("TB", 1_099_511_627_776.0)];
const TIME: [(&str, f64); 6] = [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("min", 6e7), ("h", 3.6e9), ("d", 8.64e10)];

/// What a number without a unit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Pieces of so many kilobytes.
    Memory {
        kilobytes: u64,
    },
    Milliseconds,
}

impl Unit {
    pub(super) fn of(text: &str) -> Option<Unit> {
        match text {
            "ms" => Some(Unit::Milliseconds),
            _ => {
                let pieces = text.strip_suffix("kB")?;
                let kilobytes = if pieces.is_empty() { 1 } else { pieces.parse().ok()? };
                Some(Unit::Memory { kilobytes })
            }
        }
    }

    /// How many bytes, or microseconds, it is.
    pub(super) fn size(self) -> f64 {
        match self {
            Unit::Memory { kilobytes } => (kilobytes * KB) as f64,
            Unit::Milliseconds => 1e3,
        }
    }

    pub(super) fn hint(self) -> &'static str {
        match self {
            Unit::Memory { .. } => "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
            Unit::Milliseconds => {
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\"."
            }
        }
    }

    /// Bytes, or microseconds, of a number with or without its unit.
    pub(super) fn read(self, value: &str) -> Option<f64> {
        let text = value.trim();
        let end = text.find(|ch: char| !(ch.is_ascii_digit() || "+-.".contains(ch))).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let units: &[(&str, f64)] = if self == Unit::Milliseconds { &TIME } else { &MEMORY };
        let size = match unit.trim() {
            "" => Some(self.size()),
            unit => units.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size),
        };
        Some(number.parse::<f64>().ok()? * size?)
    }
}

/// In the largest unit that gives a whole number, as PostgreSQL shows it.
pub(crate) fn show_bytes(bytes: u64) -> String {
    let units = [("TB", KB << 30), ("GB", KB << 20), ("MB", KB << 10), ("kB", KB)];
    match units.into_iter().find(|(_, size)| bytes >= *size && bytes.is_multiple_of(*size)) {
        Some((unit, size)) => format!("{}{unit}", bytes / size),
        None => format!("{bytes}B"),
    }
}

/// In the largest unit that gives a whole number.
pub(crate) fn show_duration(limit: &Duration) -> String {
    match (limit.as_micros(), limit.as_millis()) {
        (_, millis) if millis > 0 && millis % 60_000 == 0 => format!("{}min", millis / 60_000),
        (_, millis) if millis > 0 && millis % 1000 == 0 => format!("{}s", millis / 1000),
        (micros, millis) if micros == millis * 1000 => format!("{millis}ms"),
        (micros, _) => format!("{micros}us"),
    }
}
