//! Lists the modules whose functions make up the catalogue.

use super::catalogue::Catalogue;
use super::{
    arithmetic, arrays, bits, clock, comparison, digest, encoding, enums, extract, formatting, json, like, math,
    overlaps, quoting, random, regex, series, special, strings, system, temporal,
};

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
