//! What is promised of functions beside their answers, as PostgreSQL has it.

/// PostgreSQL's volatilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volatility {
    Immutable,
    Stable,
    Volatile,
}

impl Volatility {
    /// By what the catalog says.
    pub(crate) fn of_letter(letter: u8) -> Volatility {
        match letter {
            b'i' => Volatility::Immutable,
            b's' => Volatility::Stable,
            _ => Volatility::Volatile,
        }
    }

    /// As the catalog says it.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Volatility::Immutable => "i",
            Volatility::Stable => "s",
            Volatility::Volatile => "v",
        }
    }

    /// As SQL says it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Volatility::Immutable => "immutable",
            Volatility::Stable => "stable",
            Volatility::Volatile => "volatile",
        }
    }
}

/// Where a function may be called in a query that several processes work on. Nothing here does: the catalog tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parallel {
    /// Anywhere.
    Safe,
    /// In the process that has the session.
    Restricted,
    /// In no such query.
    Unsafe,
}

impl Parallel {
    /// By what the catalog says.
    pub(crate) fn of_letter(letter: u8) -> Parallel {
        match letter {
            b's' => Parallel::Safe,
            b'r' => Parallel::Restricted,
            _ => Parallel::Unsafe,
        }
    }

    /// As the catalog says it.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Parallel::Safe => "s",
            Parallel::Restricted => "r",
            Parallel::Unsafe => "u",
        }
    }
}
