//! Simple queries: one text of several statements.

use cairndb::{ClientCopy, Notice, Result, SqlState, split_script};

use crate::block::{Before, Control, before};
use crate::conversation::{Asked, Conversation};
use crate::input::{Body, Frame};
use crate::request::{Query, Request};

/// A text, and how far it was run.
pub(crate) struct Script {
    text: String,
    /// The next statement.
    next: Option<Piece>,
    /// Of the statement that runs.
    characters_before: usize,
    /// There is one statement in all.
    is_one: bool,
    /// Said once the implicit transaction is committed.
    held: Option<String>,
}

/// A statement in a script.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    characters_before: usize,
}

impl Script {
    fn new(text: String) -> Script {
        let mut script = Script { text, next: None, characters_before: 0, is_one: true, held: None };
        script.next = script.piece_behind(0, 0);
        script.is_one = script.next.is_none_or(|first| script.behind(first).is_none());
        script
    }

    fn piece_behind(&self, start: usize, characters: usize) -> Option<Piece> {
        let found = split_script(self.text.get(start..)?).next()?;
        let start = start + found.start;
        let characters_before = characters + found.characters_before;
        Some(Piece { start, end: start + found.text.len(), characters_before })
    }

    fn behind(&self, piece: Piece) -> Option<Piece> {
        let characters = self.text[piece.start..piece.end].chars().count();
        self.piece_behind(piece.end, piece.characters_before + characters)
    }

    fn text(&self, piece: Piece) -> &str {
        &self.text[piece.start..piece.end]
    }

    /// The next statement begins.
    fn advance(&mut self, piece: Piece) {
        self.characters_before = piece.characters_before;
        self.next = if self.is_one { None } else { self.behind(piece) };
    }

    /// Every statement, as far as it can be told without a look at the database: a text with one that is none is not begun.
    fn check(&self) -> Result<()> {
        if self.is_one {
            return Ok(());
        }
        split_script(&self.text).try_for_each(|statement| statement.parse().map(drop))
    }

    pub(crate) fn characters_before(&self) -> usize {
        self.characters_before
    }

    /// Whether the statement that runs is the last.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next.is_none()
    }

    pub(crate) fn hold(&mut self, tag: &str) {
        self.held = Some(tag.to_owned());
    }

    pub(crate) fn into_held(self) -> Option<String> {
        self.held
    }
}

impl Conversation {
    /// The message Query.
    pub(crate) fn query(&mut self, frame: &Frame) -> Result<Option<Request>> {
        let mut body = Body(self.input.body(frame));
        let text = body.text()?.to_owned();
        body.end()?;
        // What has no name is gone behind a simple query.
        if let Some((statement, of)) = self.statements.remove("") {
            self.statement_bytes -= of.text_bytes;
            self.told.push_back(Request::CloseStatement(statement));
        }
        let script = Script::new(text);
        script.check()?;
        if script.next.is_none() {
            self.output.empty(b'I');
        }
        self.script = Some(script);
        Ok(None)
    }

    /// The next statement of the script, or its end.
    pub(crate) fn script_step(&mut self) -> Option<Request> {
        let script = self.script.as_mut()?;
        let Some(piece) = script.next else { return self.end_of_script() };
        let text = script.text(piece);
        let control = match Control::of(text) {
            // In a text of several it is in their transaction.
            Control::Declare if !script.is_one => Control::Other,
            control => control,
        };
        let is_idle = self.status == crate::Status::Idle;
        match before(&control, self.implicit, script.is_one, is_idle) {
            Before::Begin => return Some(self.ask(Asked::Begin, Request::Begin)),
            Before::Nothing => {}
            Before::EndImplicit => {
                self.implicit = false;
                self.output.notice(&no_transaction());
            }
            Before::Adopt(modes) => {
                script.advance(piece);
                return self.adopt(modes);
            }
            Before::Refuse(error) => {
                script.advance(piece);
                self.say_error(&error);
                return None;
            }
        }
        // One that is alone is given with all that is around it: so are places in its errors.
        let text = if script.is_one { std::mem::take(&mut script.text) } else { text.to_owned() };
        script.advance(if script.is_one { Piece { characters_before: 0, ..piece } } else { piece });
        self.ends_portals = control.ends_portals();
        if self.status != crate::Status::Failed
            && let Some(portal) = self.forget_portal("")
        {
            self.told.push_back(Request::ClosePortal(portal));
        }
        let query = Query { copies: copies(&text), text };
        Some(self.ask(Asked::Query, Request::Query(query)))
    }

    fn end_of_script(&mut self) -> Option<Request> {
        self.is_ready_due = true;
        if self.implicit {
            return Some(self.ask(Asked::Commit, Request::Commit));
        }
        self.script = None;
        None
    }

    /// The implicit transaction becomes the client's.
    pub(crate) fn adopt(&mut self, modes: String) -> Option<Request> {
        if !modes.is_empty() {
            return Some(self.ask(Asked::Modes, Request::SetModes(modes)));
        }
        self.implicit = false;
        self.complete("BEGIN");
        None
    }
}

/// Which way data of the client's goes.
pub(crate) fn copies(text: &str) -> Option<ClientCopy> {
    ClientCopy::of(text)
}

/// What PostgreSQL says where COMMIT or ROLLBACK ends an implicit transaction.
pub(crate) fn no_transaction() -> Notice {
    Notice {
        severity: "WARNING",
        code: SqlState::NO_ACTIVE_SQL_TRANSACTION,
        message: "there is no transaction in progress".to_owned(),
        detail: None,
    }
}
