//! Why a row program came to no end.

use cairn_storage::{Error as StorageError, WriteError};

use crate::Error;
use crate::exec::{NoAnswer, Stored};
use crate::plan::{Columns, Datum};

/// What keeps a row from being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// The value of the target's column of a domain at this position is none of the domain: NULL, or by a condition of it.
    Domain { domain: usize, condition: Option<usize> },
    /// NULL in a column that is not to be NULL.
    NotNull(usize),
    /// The condition of the table's CHECK at this position is false.
    Check(usize),
    /// The primary key is taken (`None`), or the key in the index at this position.
    Duplicate(Option<usize>),
    /// The row that the table's foreign key at this position refers to is not there.
    Missing(usize),
}

/// Why a row program came to no end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A parameter has to be converted first.
    Unfit,
    Violation(Violation),
    /// As the trees told it: the point path's writer has its own way with some.
    Storage(StorageError),
    Error(Error),
}

impl Stop {
    /// Out of a point write.
    pub(crate) fn in_write<E: From<Stop>>(self) -> WriteError<E> {
        match self {
            Stop::Storage(error) => WriteError::Storage(error),
            stop => WriteError::Caller(stop.into()),
        }
    }
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Stop {
        Stop::Violation(violation)
    }
}

impl From<StorageError> for Stop {
    fn from(error: StorageError) -> Stop {
        Stop::Storage(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

/// For what cannot violate anything.
impl From<Stop> for Error {
    fn from(stop: Stop) -> Error {
        match stop {
            Stop::Error(error) => error,
            Stop::Storage(error) => error.into(),
            Stop::Unfit => Error::internal("a parameter was not converted"),
            Stop::Violation(violation) => Error::internal(format!("{violation:?} without its row")),
        }
    }
}

impl From<Stop> for NoAnswer {
    fn from(stop: Stop) -> NoAnswer {
        NoAnswer::Failed(stop.into())
    }
}

impl Columns<Stop> for Stored<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        Ok(self.datum(index)?)
    }
}
