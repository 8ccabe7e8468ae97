//! Columns that are not there yet, or that no input has: what stands in an expression for a query's aggregate until its grouping
//! is known, for the row that RETURNING calls OLD.
//!
//! - As an [`Expr::Column`](crate::plan::Expr) it has a number like any other column; only this module makes such numbers and reads them.
//!   They begin far above all that a row can have.
//! - Kinds lie apart, and numbers within a kind side by side: a row's columns may be shifted as others are.

/// What a column stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandIn {
    /// What the query groups by, while others are put in their places.
    Group(usize),
    /// A call of an aggregate, until the query's grouping is known.
    Aggregate(usize),
    /// A GROUPING call, until then.
    Grouping(usize),
    /// A call of a window function, until the windows are known.
    Window(usize),
    /// A call of a function that returns rows, until it is joined.
    Rows(usize),
    /// In RETURNING, a column of the row as it was, or as it is now.
    Affected(Version, usize),
    /// Whether there is such a row: true, or NULL.
    Present(Version),
}

/// Which of the two that a change has of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Old,
    New,
}

/// The kind is above these bits, the number within.
const BITS: u32 = usize::BITS - 5;

impl StandIn {
    /// Its number as a column.
    pub(crate) const fn column(self) -> usize {
        let (kind, number) = match self {
            StandIn::Group(number) => (1, number),
            StandIn::Aggregate(number) => (2, number),
            StandIn::Grouping(number) => (3, number),
            StandIn::Window(number) => (4, number),
            StandIn::Rows(number) => (5, number),
            StandIn::Affected(Version::Old, number) => (6, number),
            StandIn::Affected(Version::New, number) => (7, number),
            StandIn::Present(Version::Old) => (8, 0),
            StandIn::Present(Version::New) => (9, 0),
        };
        kind << BITS | number
    }

    /// What a column of this number stands in for; `None`: it is one of the row's.
    #[inline]
    pub(crate) const fn of(column: usize) -> Option<StandIn> {
        let number = column & ((1 << BITS) - 1);
        match column >> BITS {
            1 => Some(StandIn::Group(number)),
            2 => Some(StandIn::Aggregate(number)),
            3 => Some(StandIn::Grouping(number)),
            4 => Some(StandIn::Window(number)),
            5 => Some(StandIn::Rows(number)),
            6 => Some(StandIn::Affected(Version::Old, number)),
            7 => Some(StandIn::Affected(Version::New, number)),
            8 => Some(StandIn::Present(Version::Old)),
            9 => Some(StandIn::Present(Version::New)),
            _ => None,
        }
    }

    pub(crate) fn is_aggregate(self) -> bool {
        matches!(self, StandIn::Aggregate(_))
    }

    pub(crate) fn is_grouping(self) -> bool {
        matches!(self, StandIn::Grouping(_))
    }

    pub(crate) fn is_window(self) -> bool {
        matches!(self, StandIn::Window(_))
    }

    pub(crate) fn is_rows(self) -> bool {
        matches!(self, StandIn::Rows(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_number_stands_for_is_told_from_it() {
        for number in [0, 1, 1 << 20] {
            let numbered = [
                StandIn::Group,
                StandIn::Aggregate,
                StandIn::Grouping,
                StandIn::Window,
                StandIn::Rows,
                |number| StandIn::Affected(Version::Old, number),
                |number| StandIn::Affected(Version::New, number),
            ];
            for stand_in in numbered.map(|of| of(number)) {
                assert_eq!(StandIn::of(stand_in.column()), Some(stand_in));
                assert_eq!(stand_in.column() + 1, StandIn::of(stand_in.column() + 1).unwrap().column());
            }
            assert_eq!(StandIn::of(number), None, "a row's own");
        }
        for version in [Version::Old, Version::New] {
            assert_eq!(StandIn::of(StandIn::Present(version).column()), Some(StandIn::Present(version)));
        }
        assert_eq!(StandIn::of(usize::MAX), None, "the hidden row number");
    }
}
