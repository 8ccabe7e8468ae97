//! Lists the modules whose functions make up the catalogue.

use super::catalogue::Catalogue;
use super::{arithmetic, comparison, temporal};

pub(super) fn register_all(catalogue: &mut Catalogue) {
    comparison::register(catalogue);
    arithmetic::register(catalogue);
    temporal::register(catalogue);
}
