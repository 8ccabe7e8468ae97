//! The version of a catalog entry, its first byte: what a library must know to read it and to keep what it says.
//!
//! An entry has that of the newest thing in it, so that a library that knows nothing of that thing refuses this entry and goes on
//! with others. (Fields that may be skipped need none.) Which entries have what is a table beside what writes them.

use crate::types::DataType;

/// What an entry has that an earlier library does not know, in the order in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Version {
    /// Nothing. It counts changes of the bytes of rows and keys too, which can not be told by themselves: 1 had integers of fixed
    /// width in rows. 2 knew objects in definitions by their names alone, and 3 had no schemas (no library that was given away
    /// wrote it).
    Plain = 4,
    /// Rows that may have earlier layouts.
    Layouts = 5,
    /// Indexes over expressions, of some rows only, or with NULLS NOT DISTINCT.
    Expressions = 6,
    Generated = 7,
    /// Foreign keys that may be looked at later, or constraints that are not valid.
    Deferrals = 8,
    /// Types that users made.
    Types = 9,
    /// A sequence that was restarted with another value than its first.
    Restart = 10,
    Triggers = 11,
    /// Times or intervals that have modifiers.
    Digits = 12,
    Composites = 13,
    /// Inverted indexes.
    Inverted = 14,
    /// Triggers that see a statement's rows, wait for COMMIT, or run for replicas or always.
    TriggerKinds = 15,
    /// A materialized view: a table to who does not know of it.
    Query = 16,
    /// UNIQUE or a PRIMARY KEY that may wait: their indexes have other entries.
    LateKeys = 17,
    /// A view's triggers, or its CHECK OPTION.
    ViewRules = 18,
    /// A change feed.
    Feed = 19,
    /// A materialized view that is maintained, or a table whose rows' changes maintain one.
    Maintained = 20,
    /// Virtual columns, which are NULL in rows.
    Virtual = 21,
    /// A function's own search path.
    Path = 22,
    /// Types of PostgreSQL's catalog: `name`, `"char"`, `oid`.
    CatalogTypes = 23,
    /// Foreign keys that match fully, or set some of their columns only.
    KeyForms = 24,
    /// A view's columns that have defaults of their own.
    ViewDefaults = 25,
    /// Times with a time zone.
    ZonedTimes = 26,
    /// A function of pseudo-types, of tables' rows, or that returns any record.
    OpenTypes = 27,
    /// A function that takes or gives values of domains.
    Domains = 28,
    /// `regclass` and its kin, `int2vector` and `oidvector`.
    RegTypes = 29,
    /// A collection: whoever changes a row of it gives it a new version.
    Collection = 30,
    /// A collection's rules.
    Rules = 31,
    /// An extension that was made.
    Extensions = 32,
    /// Types of extensions.
    ExtensionTypes = 33,
    /// An aggregate.
    Aggregates = 34,
    /// The type of the extension `hstore`.
    Hstores = 35,
    /// Addresses of networks and of cards.
    Addresses = 36,
}

/// What an entry of `T` may have, and whether it does.
pub(super) type Features<T> = [(Version, fn(&T) -> bool)];

impl Version {
    /// The oldest that is read.
    pub(super) const OLDEST: u8 = 2;
    /// The newest that is written, and read.
    pub(super) const NEWEST: Version = Version::Addresses;

    /// The newest thing that is there.
    pub(super) fn of<T>(entry: &T, features: &Features<T>) -> Version {
        features.iter().filter(|(_, has)| has(entry)).map(|(version, _)| *version).max().unwrap_or(Version::Plain)
    }

    /// The newest of these types.
    pub(super) fn of_types(types: impl Iterator<Item = DataType>) -> Version {
        types.map(Self::of_type).max().unwrap_or(Version::Plain)
    }

    fn of_type(data_type: DataType) -> Version {
        let features: &Features<DataType> = &[
            (Version::Addresses, |of| of.is_address()),
            (Version::Hstores, |of| matches!(of.element().unwrap_or(*of), DataType::Hstore(_))),
            (Version::ExtensionTypes, |of| of.element().unwrap_or(*of).of_extension().is_some()),
            (Version::RegTypes, |of| of.is_reg() || of.is_vector()),
            (Version::ZonedTimes, |of| of.is_zoned_time()),
            (Version::CatalogTypes, |of| of.is_of_catalog()),
            (Version::Composites, |of| of.is_composite()),
            (Version::Digits, |of| of.has_limited_time()),
        ];
        Self::of(&data_type, features)
    }
}
