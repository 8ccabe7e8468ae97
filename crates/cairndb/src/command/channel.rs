//! LISTEN, UNLISTEN and NOTIFY.

use cairn_parser::TokenKind;

use super::clause::Clause;
use crate::{Error, Result};

/// A command about a channel.
#[derive(Debug)]
pub(crate) enum ChannelCommand {
    Listen(String),
    /// `None`: to none any more.
    Unlisten(Option<String>),
    Notify {
        channel: String,
        payload: String,
    },
}

impl ChannelCommand {
    pub(super) fn of(command: Clause<'_>) -> Result<ChannelCommand> {
        Ok(match command.rule() {
            "listen" => ChannelCommand::Listen(command.name()?),
            "unlisten" if command.has(TokenKind::Star) => ChannelCommand::Unlisten(None),
            "unlisten" => ChannelCommand::Unlisten(Some(command.name()?)),
            "notify" => {
                let payload = command.constant_text().unwrap_or_default();
                ChannelCommand::Notify { channel: command.name()?, payload }
            }
            other => return Err(Error::internal(format!("{other} is not about a channel"))),
        })
    }
}
