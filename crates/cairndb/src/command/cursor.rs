//! DECLARE, FETCH, MOVE and CLOSE.

use cairn_parser::{Id, Statement, TokenKind};

use super::clause::Clause;
use crate::{Error, Result, SqlState};

/// A command about a cursor.
#[derive(Debug)]
pub(crate) enum CursorCommand {
    Declare(DeclareCursor),
    /// `moves`: the rows are passed over.
    Fetch {
        name: String,
        direction: Direction,
        moves: bool,
    },
    /// `None`: ALL.
    Close(Option<String>),
}

/// DECLARE.
#[derive(Debug)]
pub(crate) struct DeclareCursor {
    pub(crate) name: String,
    /// SCROLL or NO SCROLL; `None`: neither.
    pub(crate) scroll: Option<bool>,
    /// WITH HOLD.
    pub(crate) hold: bool,
    pub(crate) query: Id<Statement>,
}

/// Which rows FETCH wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// So many of the next; `None`: all.
    Forward(Option<u64>),
    Backward(Option<u64>),
    /// The row of this number, from the end where it is negative.
    Absolute(i64),
    Relative(i64),
}

impl Direction {
    /// Whether it is the row that the cursor is on.
    pub(crate) fn stays(self) -> bool {
        matches!(self, Direction::Forward(Some(0)) | Direction::Backward(Some(0)) | Direction::Relative(0))
    }
}

impl CursorCommand {
    pub(super) fn of(command: Clause<'_>) -> Result<CursorCommand> {
        match command.rule() {
            "declare_cursor" => declare(command).map(CursorCommand::Declare),
            "fetch" | "move" => {
                let arguments = command.part("fetch_arguments").ok_or_else(|| Error::internal("FETCH of nothing"))?;
                let from = arguments.part("from_cursor").ok_or_else(|| Error::internal("FETCH from nothing"))?;
                let (name, direction) = (from.name()?, Direction::of(arguments)?);
                Ok(CursorCommand::Fetch { name, direction, moves: command.rule() == "move" })
            }
            "close" => Ok(CursorCommand::Close(command.names().next())),
            other => Err(Error::internal(format!("{other} is not about a cursor"))),
        }
    }
}

pub(super) fn declare(command: Clause<'_>) -> Result<DeclareCursor> {
    let (mut scroll, mut sensitive) = (None, None);
    for option in command.parts("cursor_option") {
        let (said, value) = match () {
            () if option.has(TokenKind::Scroll) => (&mut scroll, !option.has(TokenKind::No)),
            () if option.has(TokenKind::Binary) => return Err(option.unsupported("a BINARY cursor")),
            () if option.has(TokenKind::Asensitive) => (&mut sensitive, false),
            () if option.has(TokenKind::Insensitive) => (&mut sensitive, true),
            () => continue,
        };
        if said.replace(value).is_some_and(|before| before != value) {
            let what =
                if option.has(TokenKind::Scroll) { "SCROLL and NO SCROLL" } else { "INSENSITIVE and ASENSITIVE" };
            let message = format!("cannot specify both {what}");
            return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message));
        }
    }
    let query = command.statement().ok_or_else(|| Error::internal("DECLARE without a query"))?;
    let hold = command.has(TokenKind::Hold) && !command.has(TokenKind::Without);
    Ok(DeclareCursor { name: command.name()?, scroll, hold, query })
}

impl Direction {
    fn of(arguments: Clause<'_>) -> Result<Direction> {
        use TokenKind as T;
        let number = arguments.part("signed_integer").map(|number| signed(number)).transpose()?;
        let toward = |backward: bool, count: i64| match (backward, count < 0) {
            (false, false) | (true, true) => Direction::Forward(Some(count.unsigned_abs())),
            _ => Direction::Backward(Some(count.unsigned_abs())),
        };
        Ok(match number {
            Some(number) if arguments.has(T::Absolute) => Direction::Absolute(number),
            Some(number) if arguments.has(T::Relative) => Direction::Relative(number),
            Some(number) => toward(arguments.has(T::Backward), number),
            None if arguments.has(T::All) && arguments.has(T::Backward) => Direction::Backward(None),
            None if arguments.has(T::All) => Direction::Forward(None),
            None if arguments.has(T::Prior) => toward(true, 1),
            None if arguments.has(T::First) => Direction::Absolute(1),
            None if arguments.has(T::Last) => Direction::Absolute(-1),
            None => toward(arguments.has(T::Backward), 1),
        })
    }
}

fn signed(number: Clause<'_>) -> Result<i64> {
    let text = number.value_text();
    let text = text.strip_prefix('+').unwrap_or(&text);
    text.parse().map_err(|_| number.here(Error::new(SqlState::SYNTAX_ERROR, format!("invalid number \"{text}\""))))
}
