//! What needs another stands behind it.

use std::collections::{BTreeMap, BTreeSet};

/// The keys in an order in which each stands behind those that it needs, otherwise in their own. Who need each other stay
/// as they are.
pub(super) fn in_order<K: Ord + Clone>(needs: &BTreeMap<K, BTreeSet<K>>) -> Vec<K> {
    let mut placed = BTreeSet::new();
    let mut order = Vec::with_capacity(needs.len());
    while order.len() < needs.len() {
        let waiting = || needs.iter().filter(|(key, _)| !placed.contains(*key));
        let is_ready = |of: &BTreeSet<K>, key: &K| {
            of.iter().all(|need| need == key || placed.contains(need) || !needs.contains_key(need))
        };
        let ready: Vec<K> = waiting().filter(|(key, of)| is_ready(of, key)).map(|(key, _)| key.clone()).collect();
        let next = if ready.is_empty() { waiting().map(|(key, _)| key.clone()).take(1).collect() } else { ready };
        placed.extend(next.iter().cloned());
        order.extend(next);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_comes_first() {
        let needs = |pairs: &[(&str, &[&str])]| {
            let set = |of: &[&str]| of.iter().map(|need| need.to_string()).collect::<BTreeSet<_>>();
            pairs.iter().map(|(key, of)| (key.to_string(), set(of))).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(in_order(&needs(&[("a", &["c"]), ("b", &[]), ("c", &["b", "x"])])), ["b", "c", "a"]);
        assert_eq!(in_order(&needs(&[("a", &["b"]), ("b", &["a"]), ("c", &["c"])])), ["c", "a", "b"]);
    }
}
