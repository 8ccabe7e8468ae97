//! The table of settings.

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::amount::Unit;

/// A line a setting, of columns whose names are the first line.
const TABLE: &str = include_str!("settings.tsv");
const COLUMNS: usize = 15;

static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    TABLE
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').collect::<Vec<_>>().try_into().ok())
        .map(Setting::of)
        .collect()
});

/// A setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// As it is shown.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// As `pg_settings` says it; empty: none.
    pub(crate) unit: &'static str,
    pub(super) counts: Option<Unit>,
    /// Its value where nobody says one, as `pg_settings` says it; empty where it is the database's.
    pub(crate) default: &'static str,
    /// Empty: there is none.
    pub(crate) least: &'static str,
    pub(crate) most: &'static str,
    /// The words that it takes, those of them that are listed.
    pub(crate) words: Vec<&'static str>,
    /// Words that it takes for others.
    pub(super) synonyms: Vec<(&'static str, &'static str)>,
    /// The values that mean what is done here, where others that PostgreSQL takes would mean something else.
    pub(super) taken: Option<Vec<&'static str>>,
    pub(crate) ceiling: Ceiling,
    pub(crate) context: &'static str,
    pub(crate) category: &'static str,
    pub(crate) description: &'static str,
    pub(crate) more: &'static str,
    /// What is said to who sets it to what is not taken.
    pub(super) hint: &'static str,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Boolean,
    Integer,
    Real,
    Word,
    Text,
}

/// How a value is judged where statements come from others (`session/ceilings.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ceiling {
    /// It takes nothing and weakens nothing, whatever it is.
    Free,
    /// It is kept as it was said.
    Text,
    /// There may be a value that it does not go beyond.
    Most,
    /// What commits promise.
    Promise,
    /// Whether a session may write.
    Reading,
    /// Nobody but the program changes it.
    Default,
}

impl Setting {
    fn of(columns: [&'static str; COLUMNS]) -> Setting {
        let [name, kind, unit, default, least, most, words, synonyms, taken, ceiling, about @ ..] = columns;
        let [context, category, description, more, hint] = about;
        let list = |text: &'static str| text.split(',').filter(|one| !one.is_empty()).collect::<Vec<_>>();
        Setting {
            name,
            kind: Kind::of(kind),
            unit,
            counts: Unit::of(unit),
            default,
            least,
            most,
            words: list(words),
            synonyms: list(synonyms).iter().filter_map(|one| one.split_once('=')).collect(),
            taken: (!taken.is_empty()).then(|| taken.split(',').collect()),
            ceiling: Ceiling::of(ceiling),
            context,
            category,
            description,
            more,
            hint,
        }
    }

    /// Whether somebody may change it.
    pub(crate) fn is_changeable(&self) -> bool {
        self.context != "internal"
    }
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Boolean, Kind::Integer, Kind::Real, Kind::Word, Kind::Text];

    fn of(text: &str) -> Kind {
        Kind::ALL.into_iter().find(|kind| kind.name() == text).unwrap_or(Kind::Text)
    }

    /// `pg_settings.vartype`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "bool",
            Kind::Integer => "integer",
            Kind::Real => "real",
            Kind::Word => "enum",
            Kind::Text => "string",
        }
    }
}

impl Ceiling {
    const NAMES: [(&str, Ceiling); 6] = [
        ("free", Ceiling::Free),
        ("text", Ceiling::Text),
        ("most", Ceiling::Most),
        ("promise", Ceiling::Promise),
        ("reading", Ceiling::Reading),
        ("default", Ceiling::Default),
    ];

    fn of(text: &str) -> Ceiling {
        Ceiling::NAMES.into_iter().find(|(name, _)| *name == text).map_or(Ceiling::Default, |(_, ceiling)| ceiling)
    }
}

/// All of them, by name.
pub(crate) fn listed() -> &'static [Setting] {
    &SETTINGS
}

/// The setting of a name, which is in lower case.
pub(crate) fn setting(name: &str) -> Option<&'static Setting> {
    let at = SETTINGS.binary_search_by(|of| by_name(of.name, name)).ok()?;
    SETTINGS.get(at)
}

fn by_name(one: &str, other: &str) -> Ordering {
    let lower = |letter: u8| letter.to_ascii_lowercase();
    one.bytes().map(lower).cmp(other.bytes().map(lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_whole_and_each_setting_is_found() {
        for line in TABLE.lines() {
            assert_eq!(line.split('\t').count(), COLUMNS, "{line}");
        }
        assert_eq!(TABLE.lines().count(), listed().len() + 1);
        for (line, of) in TABLE.lines().skip(1).zip(listed()) {
            let columns: Vec<&str> = line.split('\t').collect();
            assert_eq!(columns[1], of.kind.name(), "{}", of.name);
            assert!(
                Ceiling::NAMES.iter().any(|(name, _)| *name == columns[9]),
                "{}: who may set it is not said",
                of.name
            );
            assert_eq!(of.unit.is_empty(), of.counts.is_none(), "{}: a unit nobody knows", of.name);
            assert_eq!(setting(&of.name.to_ascii_lowercase()).map(|found| found.name), Some(of.name), "out of order");
        }
    }

    #[test]
    fn every_default_is_taken() {
        for of in listed().iter().filter(|of| of.is_changeable() && !of.default.is_empty()) {
            let checked = of.check(of.default).unwrap_or_else(|error| panic!("{}: {error}", of.name));
            assert_eq!(checked.counted(of), of.default, "{}", of.name);
        }
    }
}
