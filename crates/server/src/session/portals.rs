//! Portals, which are cursors of the session where they have a name: both the protocol and SQL know them.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cairn_wire::{Bind, Execute, FindPortal};
use cairndb::{Error, PortalState, SqlState, command_tag};

use super::prepared::{Prepared, quoted};
use super::{Session, put, take};
use crate::activity::clock;
use crate::copy::copy;
use crate::line::Line;
use crate::results::{Broken, Came, give, go_on};
use crate::statements::rows_of;

/// What a statement gives with its parameters, as far as it was run.
pub(super) struct Portal<'c> {
    /// `None`: a cursor that SQL has made, or nothing to run.
    prepared: Option<Rc<Prepared<'c>>>,
    text: Arc<str>,
    state: State,
    /// How long it has been run so far.
    spent: Duration,
}

/// Where it is known how far a portal was run.
enum State {
    /// Here: it has no name.
    Own(PortalState),
    /// In the session, which shares it with SQL: its number there.
    Shared { name: String, serial: u64 },
}

impl<'c> Session<'c> {
    pub(super) fn bind(&mut self, line: &mut Line, bind: &Bind) {
        self.close_portal(bind.portal);
        match self.bound(bind) {
            Ok(portal) => {
                // Of FETCH they are those of a cursor that may have come since it was prepared.
                let late = portal.prepared.as_ref().filter(|of| !of.returns).and_then(|of| of.statement.as_ref());
                if let Some(Ok(Some(columns))) = late.map(|statement| statement.borrow().result()) {
                    line.conversation.returns(columns);
                }
                put(&mut self.portals, bind.portal, portal);
                line.conversation.bound();
            }
            Err(error) => self.fail(line, &error),
        }
    }

    fn bound(&self, bind: &Bind) -> Result<Portal<'c>, Error> {
        let Bind { name, statement, parameters, .. } = bind;
        if !name.is_empty() && self.connection.cursor_of(name).is_some() {
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists")));
        }
        let values = parameters.values(|| self.connection.text_context())?;
        let prepared = match statement {
            Some(number) => {
                let of = self.statements.get(*number).cloned().flatten();
                Some(of.ok_or_else(|| Error::internal("a portal of no statement"))?)
            }
            None => None,
        };
        let text = prepared.as_ref().map_or_else(|| "".into(), |of| of.text.clone());
        let state = match name.is_empty() {
            true => State::Own(PortalState::New(values)),
            false => {
                let statement = prepared.as_ref().and_then(|of| of.statement.as_ref()).map(RefCell::borrow);
                let serial = self.connection.open_portal(name, statement.as_deref(), &text, values)?;
                State::Shared { name: name.clone(), serial }
            }
        };
        Ok(Portal { prepared, text, state, spent: Duration::ZERO })
    }

    /// What DECLARE has made, for the protocol.
    pub(super) fn find_portal(&mut self, line: &mut Line, find: &FindPortal) {
        match self.connection.cursor_of(&find.name) {
            Some((serial, text)) => {
                let state = State::Shared { name: find.name.clone(), serial };
                let portal = Portal { prepared: None, text, state, spent: Duration::ZERO };
                put(&mut self.portals, find.portal, portal);
                line.conversation.found_portal();
            }
            None => {
                self.connection.fail_transaction();
                let message = format!("portal \"{}\" does not exist", find.name);
                self.fail(line, &Error::new(SqlState::INVALID_CURSOR_NAME, message));
            }
        }
    }

    /// Neither the protocol nor SQL knows it any more.
    pub(super) fn close_portal(&mut self, number: usize) {
        if let Some(Portal { state: State::Shared { name, serial }, .. }) = take(&mut self.portals, number)
            && self.connection.cursor_of(&name).is_some_and(|(known, _)| known == serial)
        {
            self.connection.close_portal(&name);
        }
    }

    pub(super) fn close_portals(&mut self) {
        if self.portals.iter().flatten().any(|portal| matches!(portal.state, State::Shared { .. })) {
            self.connection.close_portals();
        }
        self.portals.clear();
    }

    /// SQL has closed some of those that both know, by CLOSE, ROLLBACK TO or in a function.
    pub(super) fn forget_closed(&self, line: &mut Line) {
        line.conversation.keep_portals(|name, number| {
            let known = self.connection.cursor_of(name).map(|(serial, _)| serial);
            match self.portals.get(number).and_then(Option::as_ref).map(|portal| &portal.state) {
                Some(State::Shared { serial, .. }) => known == Some(*serial),
                _ => false,
            }
        });
    }

    pub(super) fn execute(&mut self, line: &mut Line, execute: &Execute) -> io::Result<()> {
        let Some(mut portal) = take(&mut self.portals, execute.portal) else {
            self.fail(line, &Error::internal("a portal that is not there"));
            return Ok(());
        };
        self.place.entry.activity.begin_prepared(&portal.text, clock());
        let begun = Instant::now();
        let ran = self.execute_portal(line, &mut portal, execute);
        portal.spent += self.ran(begun, &portal.text);
        let (spent, prepared) = (portal.spent, portal.prepared.clone());
        put(&mut self.portals, execute.portal, portal);
        match ran {
            Ok(Some(tag)) => {
                let counts = prepared.as_ref().and_then(|of| of.counts.as_ref());
                counts.iter().for_each(|counts| counts.add(spent, rows_of(&tag)));
                self.complete(line, &tag);
            }
            Ok(None) => {
                self.tell_status(line);
                line.conversation.suspended();
            }
            Err(Broken::Failed(error)) => self.fail(line, &error),
            Err(Broken::Gone(error)) => return Err(error),
        }
        Ok(())
    }

    /// The statement's tag; `None`: rows are left.
    fn execute_portal(
        &self,
        line: &mut Line,
        portal: &mut Portal<'c>,
        execute: &Execute,
    ) -> Result<Option<String>, Broken> {
        let cannot = PortalState::Over(None);
        let state = match &mut portal.state {
            State::Own(state) => std::mem::replace(state, cannot),
            State::Shared { name, .. } => match self.connection.take_portal(name)? {
                Some(state) => state,
                None => return self.execute_cursor(line, execute),
            },
        };
        let (ran, left) = match self.run_portal(line, portal.prepared.as_deref(), (state, execute)) {
            Ok(Came { tag, left }) => (Ok(tag), left),
            Err(broken) => (Err(broken), PortalState::Over(None)),
        };
        match &mut portal.state {
            State::Own(state) => *state = left,
            State::Shared { name, .. } => self.connection.give_portal_back(name, left),
        }
        ran
    }

    fn run_portal(
        &self,
        line: &mut Line,
        prepared: Option<&Prepared<'c>>,
        (state, execute): (PortalState, &Execute),
    ) -> Result<Came, Broken> {
        let done = |tag| Ok(Came { tag: Some(tag), left: PortalState::Over(None) });
        match (state, prepared) {
            (PortalState::New(_), Some(prepared)) if execute.copies.is_some() => {
                done(copy(line, self.connection, &prepared.text)?)
            }
            (PortalState::New(values), Some(prepared)) => match &prepared.statement {
                Some(statement) => {
                    let executed = statement.borrow_mut().perform(&values[..])?;
                    give(line, self.connection, executed, execute.rows_max)
                }
                None => done(self.perform(line, &prepared.text)?),
            },
            (PortalState::Begun(begun), _) => go_on(line, self.connection, begun, execute.rows_max),
            (PortalState::Over(Some(command)), _) => {
                let tag = Some(command_tag(command, 0, Some(0)));
                Ok(Came { tag, left: PortalState::Over(Some(command)) })
            }
            (PortalState::New(_), None) | (PortalState::Over(None), _) => {
                let message = format!("portal \"{}\" cannot be run", execute.name);
                Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).into())
            }
        }
    }

    /// Executes what DECLARE has made.
    fn execute_cursor(&self, line: &mut Line, execute: &Execute) -> Result<Option<String>, Broken> {
        let count = if execute.rows_max == 0 { "ALL".to_owned() } else { execute.rows_max.to_string() };
        let fetch = format!("FETCH {count} FROM {}", quoted(&execute.name));
        let executed = self.connection.perform(&fetch, ())?;
        let rows = executed.affected();
        give(line, self.connection, executed, 0)?;
        let are_left = execute.rows_max > 0 && rows == u64::from(execute.rows_max);
        Ok((!are_left).then(|| command_tag("SELECT", rows, Some(rows))))
    }
}
