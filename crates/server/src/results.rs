//! Results on their way to the client.

use std::io;
use std::time::Duration;

use cairndb::{Begun, Connection, Error, Executed, Form, PortalState, Timeslice, command_tag};

use crate::line::Line;

/// Rows that were made wait no longer for those that follow them.
const SLICE: Duration = Duration::from_millis(100);

/// Why a result was not given.
pub(crate) enum Broken {
    Failed(Error),
    Gone(io::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        Broken::Gone(error)
    }
}

impl From<Error> for Broken {
    fn from(error: Error) -> Broken {
        Broken::Failed(error)
    }
}

/// What a result came to: its tag, or nothing, where rows are left.
pub(crate) struct Came {
    pub(crate) tag: Option<String>,
    pub(crate) left: PortalState,
}

/// Gives a result that begins, at most so many of its rows (0: all).
pub(crate) fn give(
    line: &mut Line,
    connection: &Connection,
    mut executed: Executed,
    most: u32,
) -> Result<Came, Broken> {
    let (command, affected) = (executed.command(), executed.affected());
    tell_notices(line, connection);
    match executed.take_rows() {
        Some(rows) => {
            line.conversation.columns(rows.columns(), || rows.origins());
            go_on(line, connection, Box::new(Begun { command, affected: Some(affected), rows }), most)
        }
        None => {
            let tag = Some(command_tag(command, affected, None));
            Ok(Came { tag, left: PortalState::Over(None) })
        }
    }
}

/// Gives more of a result.
pub(crate) fn go_on(
    line: &mut Line,
    connection: &Connection,
    mut given: Box<Begun>,
    most: u32,
) -> Result<Came, Broken> {
    let context = || connection.text_context();
    let mut form = Form::new(&context);
    let mut count = 0;
    while most == 0 || count < u64::from(most) {
        match given.rows.next_within(SLICE)? {
            Timeslice::Row(row) => {
                line.conversation.row(&row, &mut form)?;
                count += 1;
                line.flush_much()?;
            }
            Timeslice::NotYet => line.flush()?,
            Timeslice::End => {
                tell_notices(line, connection);
                let tag = Some(command_tag(given.command, given.affected.unwrap_or(count), Some(count)));
                return Ok(Came { tag, left: PortalState::Over(Some(given.command)) });
            }
        }
    }
    tell_notices(line, connection);
    given.affected = None;
    Ok(Came { tag: None, left: PortalState::Begun(given) })
}

pub(crate) fn tell_notices(line: &mut Line, connection: &Connection) {
    for notice in connection.take_notices() {
        line.conversation.notice(&notice);
    }
}
