//! Lists the modules whose functions make up the catalogue.

use super::catalogue::Catalogue;

pub(super) fn register_all(_catalogue: &mut Catalogue) {}
