//! Lists the modules whose functions make up the catalogue.

use super::catalogue::Catalogue;
use super::{
    arithmetic, arrays, bits, clock, comparison, digest, encoding, enums, extract, formatting, json, like, math,
    overlaps, quoting, random, regex, series, special, strings, system, temporal,
};

/// Functions that PostgreSQL has as STABLE though nothing that they depend on ever changes here (locales, encodings, an enum's labels
/// within a plan): they are folded, and nothing that is stored may rest on them.
pub(super) const STABLE_IN_NAME: &[&str] = &[
    "convert_from",
    "convert_to",
    "enum_first",
    "enum_last",
    "enum_range",
    "format",
    "pg_column_size",
    "to_char",
    "to_date",
    "to_number",
];

pub(super) fn register_all(catalogue: &mut Catalogue) {
    comparison::register(catalogue);
    arithmetic::register(catalogue);
    temporal::register(catalogue);
    strings::register(catalogue);
    like::register(catalogue);
    regex::register(catalogue);
    quoting::register(catalogue);
    encoding::register(catalogue);
    bits::register(catalogue);
    digest::register(catalogue);
    math::register(catalogue);
    random::register(catalogue);
    extract::register(catalogue);
    clock::register(catalogue);
    overlaps::register(catalogue);
    formatting::register(catalogue);
    system::register(catalogue);
    arrays::register(catalogue);
    enums::register(catalogue);
    json::register(catalogue);
    series::register(catalogue);
    special::register(catalogue);
}
