//! Lists the modules whose functions make up the catalogue.

use super::catalogue::Catalogue;
use super::{
    arithmetic, arrays, bits, citext, clock, comparison, crypt, digest, encoding, enums, extract, formatting, hstore,
    intarray, json, like, math, network, overlaps, quoting, random, regex, series, special, strings, system, tablefunc,
    temporal, trigrams, unaccent,
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
    network::register(catalogue);
    digest::register(catalogue);
    crypt::register(catalogue);
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
    citext::register(catalogue);
    hstore::register(catalogue);
    intarray::register(catalogue);
    tablefunc::register(catalogue);
    trigrams::register(catalogue);
    unaccent::register(catalogue);
    special::register(catalogue);
}
