//! Why something is missing, and losses that are next to each other as one.

use std::fmt;

use super::report::{Loss, Lost};

/// Runs of pages that a reason names; of more it says how many pages they are, and between which.
const RUNS_NAMED: usize = 3;

/// What is wrong with a page, or with something that is in no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The page.
    pub page: Option<u32>,
    /// What is said of it: "is damaged".
    pub what: String,
}

impl Fault {
    /// What is wrong with a page.
    pub(super) fn of(page: u32, what: impl Into<String>) -> Fault {
        Fault { page: Some(page), what: what.into() }
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Fault {
        Fault { page: None, what }
    }
}

impl From<&str> for Fault {
    fn from(what: &str) -> Fault {
        Fault::from(what.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.page {
            Some(page) => write!(f, "page {page} {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Why something is missing: "pages 12 to 40 lie behind the file's end".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons(Vec<Fault>);

impl From<Fault> for Reasons {
    fn from(fault: Fault) -> Reasons {
        Reasons(vec![fault])
    }
}

impl Reasons {
    /// Adds those of another loss.
    pub fn add(&mut self, other: Reasons) {
        self.0.extend(other.0);
    }

    /// The pages of which one thing is said.
    fn pages(&self, what: &str) -> Vec<u32> {
        let mut pages: Vec<u32> =
            self.0.iter().filter(|fault| fault.what == what).filter_map(|fault| fault.page).collect();
        pages.sort_unstable();
        pages.dedup();
        pages
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said: Vec<&str> = Vec::new();
        for fault in &self.0 {
            if said.contains(&fault.what.as_str()) {
                continue;
            }
            if !said.is_empty() {
                f.write_str("; ")?;
            }
            said.push(&fault.what);
            match self.pages(&fault.what).as_slice() {
                [] => f.write_str(&fault.what)?,
                [page] => write!(f, "page {page} {}", fault.what)?,
                pages => write!(f, "{} {}", named(pages), of_several(&fault.what))?,
            }
        }
        Ok(())
    }
}

/// Names several pages, ascending.
fn named(pages: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &page in pages {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == page => *last = page,
            _ => runs.push((page, page)),
        }
    }
    if runs.len() > RUNS_NAMED {
        return format!("{} pages from {} to {}", pages.len(), pages[0], pages[pages.len() - 1]);
    }
    let run = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    };
    format!("pages {}", runs.iter().map(run).collect::<Vec<_>>().join(", "))
}

/// What is said of one page, said of several.
fn of_several(what: &str) -> String {
    let verbs = [("is ", "are "), ("was ", "were "), ("lies ", "lie ")];
    let of = |(one, several): (&str, &str)| what.strip_prefix(one).map(|rest| format!("{several}{rest}"));
    verbs.into_iter().find_map(of).unwrap_or_else(|| what.to_string())
}

/// Makes one of losses whose ranges follow each other; those of single entries stay as they are, behind the others.
pub(super) fn join(losses: Vec<Loss>) -> Vec<Loss> {
    let (mut ranges, entries): (Vec<Loss>, Vec<Loss>) = losses.into_iter().partition(|loss| loss.range().is_some());
    ranges.sort_by(|one, other| {
        (one.tree, one.range().map(|range| range.0)).cmp(&(other.tree, other.range().map(|range| range.0)))
    });
    let mut joined: Vec<Loss> = Vec::new();
    for loss in ranges {
        match joined.last_mut().filter(|last| last.meets(&loss)) {
            Some(last) => last.extend(loss),
            None => joined.push(loss),
        }
    }
    joined.extend(entries);
    joined
}

impl Loss {
    fn range(&self) -> Option<(&[u8], Option<&[u8]>)> {
        match &self.what {
            Lost::Range { from, to } | Lost::Part { from, to } => Some((from, to.as_deref())),
            Lost::Entry(_) => None,
        }
    }

    /// Whether the other begins where this ends.
    fn meets(&self, other: &Loss) -> bool {
        let end = self.range().and_then(|(_, to)| to);
        self.tree == other.tree && end.is_some() && end == other.range().map(|(from, _)| from)
    }

    fn extend(&mut self, next: Loss) {
        let is_part = [&self.what, &next.what].iter().any(|what| matches!(what, Lost::Part { .. }));
        self.why.add(next.why);
        let (Lost::Range { from, .. } | Lost::Part { from, .. }) = &mut self.what else { return };
        let (Lost::Range { to, .. } | Lost::Part { to, .. }) = next.what else { return };
        let from = std::mem::take(from);
        self.what = if is_part { Lost::Part { from, to } } else { Lost::Range { from, to } };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TreeId;

    #[test]
    fn a_reason_is_said_once_of_all_its_pages() {
        let mut reasons = Reasons::from(Fault::of(7, "is damaged"));
        assert_eq!(reasons.to_string(), "page 7 is damaged");
        [8, 9, 12].into_iter().for_each(|page| reasons.add(Fault::of(page, "is damaged").into()));
        (40..60).for_each(|page| reasons.add(Fault::of(page, "lies behind the file's end").into()));
        let said = "pages 7 to 9, 12 are damaged; pages 40 to 59 lie behind the file's end";
        assert_eq!(reasons.to_string(), said);
        [20, 30].into_iter().for_each(|page| reasons.add(Fault::of(page, "is damaged").into()));
        assert!(reasons.to_string().starts_with("6 pages from 7 to 30 are damaged; "), "{reasons}");
    }

    #[test]
    fn losses_that_follow_each_other_are_one() {
        let loss = |tree: u32, from: u8, to: Option<u8>, is_part: bool| {
            let (from, to) = (vec![from], to.map(|to| vec![to]));
            let what = if is_part { Lost::Part { from, to } } else { Lost::Range { from, to } };
            Loss { tree: TreeId(tree), what, why: Fault::of(3, "is damaged").into() }
        };
        let single = Loss { what: Lost::Entry(vec![9]), ..loss(1, 0, None, false) };
        let losses =
            vec![loss(1, 2, Some(3), false), single.clone(), loss(2, 3, None, true), loss(1, 1, Some(2), false)];
        let joined = join(losses);
        assert_eq!(joined.len(), 3);
        assert_eq!(joined[0].what, Lost::Range { from: vec![1], to: Some(vec![3]) });
        assert_eq!((joined[1].tree, &joined[2]), (TreeId(2), &single), "of another tree");
        let joined = join(vec![loss(1, 1, Some(2), true), loss(1, 2, None, false)]);
        assert_eq!(joined[0].what, Lost::Part { from: vec![1], to: None });
    }
}
