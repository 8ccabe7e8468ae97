//! Which collations there are: texts are compared by their bytes, and COLLATE may say so.

/// Whether `COLLATE name` says what is done anyhow: the names by which PostgreSQL knows the order of bytes, and its
/// default. Any other is refused: the order would not be what was asked for.
pub(crate) fn is_known_collation(name: &[&str]) -> bool {
    let name = match name {
        ["pg_catalog", name] => name,
        [name] => name,
        _ => return false,
    };
    matches!(*name, "C" | "POSIX" | "ucs_basic" | "default")
}

/// What to do where a collation is refused.
pub(crate) const COLLATION_HINT: &str =
    "Texts are ordered by their bytes, which is COLLATE \"C\"; compare lower(x) where case should not count.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_order_of_bytes_are_known() {
        for known in [&["C"][..], &["POSIX"], &["pg_catalog", "default"], &["ucs_basic"]] {
            assert!(is_known_collation(known), "{known:?}");
        }
        for unknown in [&["c"][..], &["de_DE"], &["nocase"], &["public", "C"], &["a", "pg_catalog", "C"], &[]] {
            assert!(!is_known_collation(unknown), "{unknown:?}");
        }
    }
}
