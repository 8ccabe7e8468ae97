//! Which semicolons stand within a body in SQL, and end no statement: `CREATE FUNCTION .. BEGIN ATOMIC ..; ..; END`.
//!
//! Told by the words, as psql does, for who cuts a script without parsing it: behind BEGIN ATOMIC of a CREATE FUNCTION or PROCEDURE, up
//! to the END that is none of a CASE within it.

use super::kind::TokenKind as T;

/// Shown a statement's tokens one by one; one that begins is a new one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutineBody {
    head: Head,
    /// Where BEGIN came last: the body begins with ATOMIC.
    begun: bool,
    /// How many END are to come.
    open: u32,
}

/// What the statement begins with, as far as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Head {
    #[default]
    Nothing,
    Create,
    Or,
    Routine,
    Other,
}

impl RoutineBody {
    /// The statement's next token.
    pub fn see(&mut self, token: T) {
        match (self.head, token) {
            (Head::Other, _) => return,
            (Head::Nothing, T::Create) | (Head::Or, T::Replace) => self.head = Head::Create,
            (Head::Create, T::Or) => self.head = Head::Or,
            (Head::Create, T::Function | T::Procedure) => self.head = Head::Routine,
            (Head::Routine, T::Atomic) if self.open == 0 && self.begun => self.open = 1,
            (Head::Routine, T::Case) if self.open > 0 => self.open += 1,
            (Head::Routine, T::End) => self.open = self.open.saturating_sub(1),
            (Head::Routine, _) => {}
            _ => self.head = Head::Other,
        }
        self.begun = token == T::Begin;
    }

    /// The statement is none with a body.
    pub fn pass(&mut self) {
        self.head = Head::Other;
    }

    /// Whether a semicolon here ends no statement.
    pub fn is_open(&self) -> bool {
        self.open > 0
    }

    /// Whether what comes may matter.
    pub fn may_open(&self) -> bool {
        self.head != Head::Other
    }
}
