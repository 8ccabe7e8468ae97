//! "Perhaps you meant": nearest names by edit distance, as PostgreSQL suggests columns.

/// How far a suggestion may be.
const DISTANCE_MAX: usize = 3;

/// The candidates nearest to `name`, if near enough: at most half of it may differ.
pub(super) fn nearest<'n, T>(name: &str, candidates: impl Iterator<Item = (&'n str, T)>) -> Vec<T> {
    nearest_by(distance, name, candidates)
}

/// As [`nearest`], where two letters that changed places are one mistake of typing.
pub(super) fn nearest_typed<'n, T>(name: &str, candidates: impl Iterator<Item = (&'n str, T)>) -> Vec<T> {
    nearest_by(typing_distance, name, candidates)
}

fn nearest_by<'n, T>(
    distance: impl Fn(&str, &str) -> usize,
    name: &str,
    candidates: impl Iterator<Item = (&'n str, T)>,
) -> Vec<T> {
    let mut best = DISTANCE_MAX.min(name.chars().count() / 2) + 1;
    let mut found = vec![];
    for (candidate, what) in candidates {
        let distance = distance(name, candidate);
        if distance < best {
            best = distance;
            found.clear();
        }
        if distance == best && best <= DISTANCE_MAX && best <= name.chars().count() / 2 {
            found.push(what);
        }
    }
    found
}

/// Levenshtein's distance in characters; names are short.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, b) in right.iter().enumerate() {
            let (above, before) = (row.get(j + 1).copied().unwrap_or(0), row.get(j).copied().unwrap_or(0));
            let cost = diagonal + usize::from(a != *b);
            diagonal = above;
            if let Some(cell) = row.get_mut(j + 1) {
                *cell = cost.min(above + 1).min(before + 1);
            }
        }
    }
    row.last().copied().unwrap_or(0)
}

/// As [`distance`], with neighbours that changed places as one step (optimal string alignment).
fn typing_distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for i in 0..=left.len() {
        for j in 0..=right.len() {
            rows[i][j] = match (i, j) {
                (0, steps) | (steps, 0) => steps,
                (i, j) => {
                    let changed = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
                    let swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
                    let swap = if swapped { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                    changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(swap)
                }
            };
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["title", "artist_id", "track"];
        let of = |name: &str| nearest(name, names.iter().map(|n| (*n, *n)));
        assert_eq!(of("titel"), ["title"]);
        assert_eq!(of("artistid"), ["artist_id"]);
        assert_eq!(of("zzzzz"), Vec::<&str>::new());
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(typing_distance("kitten", "sitting"), 3);
        assert_eq!((distance("cuont", "count"), typing_distance("cuont", "count")), (2, 1));
        let functions = ["cot", "count", "cos"];
        assert_eq!(nearest_typed("cuont", functions.iter().map(|n| (*n, *n))), ["count"]);
    }
}
