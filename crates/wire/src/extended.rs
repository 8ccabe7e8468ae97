//! Extended queries: statements and portals that have names, and are executed part by part.

use std::sync::Arc;

use cairndb::{ClientCopy, ColumnOrigin, DataType, Error, Field, Result, SqlState, split_script};

use crate::Parameters;
use crate::block::{Before, Control, before};
use crate::conversation::{Asked, Conversation};
use crate::error::{no_portal, no_statement, violation};
use crate::input::{Body, Frame};
use crate::output::Formats;
use crate::parameters::{read_formats, result_formats};
use crate::request::{Bind, Execute, Find, FindPortal, Prepare, Request, Status};
use crate::script::{copies, no_transaction};

/// A result's columns, and the tables' columns that they show, as far as these are known.
#[derive(Debug)]
pub(crate) struct Columns {
    fields: Vec<Field>,
    origins: Vec<Option<ColumnOrigin>>,
}

/// A prepared statement, as the protocol knows it.
pub(crate) struct Statement {
    pub(crate) text_bytes: usize,
    parameters: Vec<DataType>,
    columns: Option<Arc<Columns>>,
    control: Control,
    copies: Option<ClientCopy>,
    /// There is nothing to run.
    is_empty: bool,
}

/// A portal, as the protocol knows it.
#[derive(Clone, Debug)]
pub(crate) struct Portal {
    /// `None`: it returns no rows, as far as was known when it was prepared.
    pub(crate) columns: Option<Arc<Columns>>,
    pub(crate) formats: Formats,
    control: Control,
    copies: Option<ClientCopy>,
    is_empty: bool,
    /// It is a cursor that SQL has made.
    pub(crate) is_of_sql: bool,
    /// What was said of it.
    bytes: usize,
}

impl Portal {
    /// A cursor that SQL has made: of its columns nothing is kept, for SQL may make another of its name.
    fn of_sql() -> Portal {
        let (columns, formats, copies) = (None, Formats::Text, None);
        Portal { columns, formats, control: Control::Other, copies, is_empty: false, is_of_sql: true, bytes: 0 }
    }

    /// Its transaction has failed: whatever it was a portal of, it ends no transaction any more.
    pub(crate) fn fail(&mut self) {
        self.control = Control::Other;
    }
}

impl Conversation {
    /// The message Parse.
    pub(crate) fn parse(&mut self, frame: &Frame) -> Result<Option<Request>> {
        let mut body = Body(self.input.body(frame));
        let (name, text) = (body.text()?.to_owned(), body.text()?.to_owned());
        let count = body.count()?;
        let mut types = Vec::new();
        for _ in 0..count {
            types.push(body.int32()?.cast_unsigned());
        }
        body.end()?;
        self.refuse_statement(&name, text.len())?;
        let control = Control::of(&text);
        // What is no statement is told as that in a failed transaction, too.
        let first = split_script(&text).next();
        if let (Some(first), Err(aborted)) = (first, self.check_failed(&control)) {
            return Err(first.parse().err().unwrap_or(aborted));
        }
        if first.is_none() {
            let (text_bytes, parameters) = (text.len(), Vec::new());
            let none = Statement { text_bytes, parameters, columns: None, control, copies: None, is_empty: true };
            self.keep_statement(name, none);
            return Ok(None);
        }
        let (text_bytes, copies) = (text.len(), copies(&text));
        let prepare = Prepare { statement: self.statements.next_number(), name: name.clone(), text, types };
        Ok(Some(self.ask(Asked::Prepare { name, text_bytes, control, copies }, Request::Prepare(prepare))))
    }

    /// SQLSTATE 53400 where there are too many.
    fn refuse_statement(&mut self, name: &str, bytes: usize) -> Result<()> {
        if name.is_empty()
            && let Some((_, of)) = self.statements.remove("")
        {
            self.statement_bytes -= of.text_bytes;
        }
        let are_many = self.statements.len() >= self.limits.statements;
        if are_many || self.statement_bytes + bytes > self.limits.statement_bytes {
            let message = format!("too many prepared statements: {} are there already", self.statements.len());
            let hint = "Close those that are not needed any more, or DISCARD ALL.";
            return Err(Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message).with_hint(hint));
        }
        Ok(())
    }

    /// It is there, but where there is another of this name (SQLSTATE 42P05): what is wrong with the statement is told before that.
    fn keep_statement(&mut self, name: String, statement: Statement) {
        if self.statements.find(&name).is_some() {
            self.told.push_back(Request::CloseStatement(self.statements.next_number()));
            let message = format!("prepared statement \"{name}\" already exists");
            return self.say_error(&Error::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message));
        }
        self.statement_bytes += statement.text_bytes;
        self.statements.insert(name, statement);
        self.output.empty(b'1');
    }

    /// The statement is prepared: the types of its parameters, and its result's columns, if it is one that has a result, with the
    /// tables' columns that they show, as far as these are known.
    pub fn prepared(
        &mut self,
        parameters: Vec<DataType>,
        columns: Option<Vec<Field>>,
        origins: Vec<Option<ColumnOrigin>>,
    ) {
        if let Asked::Prepare { name, text_bytes, control, copies } = std::mem::take(&mut self.asked) {
            let columns = columns.map(|fields| Arc::new(Columns { fields, origins }));
            let statement = Statement { text_bytes, parameters, columns, control, copies, is_empty: false };
            self.keep_statement(name, statement);
        }
    }

    /// Asks for a statement that this conversation has not made, and comes to the message once more. SQLSTATE 26000 where it has no name.
    fn find_statement(&mut self, frame: &Frame, name: String) -> Result<Option<Request>> {
        if name.is_empty() {
            return Err(no_statement(""));
        }
        self.input.put_back(frame);
        let find = Find { statement: self.statements.next_number(), name: name.clone() };
        Ok(Some(self.ask(Asked::Find(name), Request::FindStatement(find))))
    }

    /// The statement that was asked for: how long its text is, and as in [`prepared`](Conversation::prepared).
    pub fn found(
        &mut self,
        text_bytes: usize,
        parameters: Vec<DataType>,
        columns: Option<Vec<Field>>,
        origins: Vec<Option<ColumnOrigin>>,
    ) {
        if let Asked::Find(name) = std::mem::take(&mut self.asked) {
            let columns = columns.map(|fields| Arc::new(Columns { fields, origins }));
            let control = Control::Other;
            self.statement_bytes += text_bytes;
            let statement = Statement { text_bytes, parameters, columns, control, copies: None, is_empty: false };
            self.statements.insert(name, statement);
        }
    }

    /// The message Bind.
    pub(crate) fn bind(&mut self, frame: &Frame) -> Result<Option<Request>> {
        let mut body = Body(self.input.body(frame));
        let (name, named) = (body.text()?.to_owned(), body.text()?);
        let Some((number, statement)) = self.statements.find(named) else {
            let named = named.to_owned();
            return self.find_statement(frame, named);
        };
        let parameters = Parameters::read(&mut body, named, &statement.parameters)?;
        self.check_failed(&statement.control)?;
        let formats =
            result_formats(read_formats(&mut body)?, statement.columns.as_ref().map_or(0, |of| of.fields.len()))?;
        body.end()?;
        let portal = Portal {
            columns: statement.columns.clone(),
            formats,
            control: statement.control.clone(),
            copies: statement.copies,
            is_empty: statement.is_empty,
            is_of_sql: false,
            bytes: frame.body.len(),
        };
        let statement = (!statement.is_empty).then_some(number);
        self.refuse_portal(&name, portal.bytes)?;
        let bind = Bind { portal: self.portals.next_number(), name: name.clone(), statement, parameters };
        Ok(Some(self.ask(Asked::Bind { name, portal }, Request::Bind(bind))))
    }

    /// SQLSTATE 42P03 where there is one of this name, 53400 where there are too many.
    fn refuse_portal(&mut self, name: &str, bytes: usize) -> Result<()> {
        if name.is_empty() {
            self.forget_portal("");
        } else if self.portals.find(name).is_some() {
            let message = format!("cursor \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
        }
        self.check_portals(bytes)
    }

    /// SQLSTATE 53400 where there are too many.
    fn check_portals(&self, bytes: usize) -> Result<()> {
        if self.portals.len() >= self.limits.portals || self.portal_bytes + bytes > self.limits.portal_bytes {
            let message = format!("too many portals: {} are open already", self.portals.len());
            let hint = "Close those that are not needed any more, or end the transaction.";
            return Err(Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message).with_hint(hint));
        }
        Ok(())
    }

    /// The number that it had.
    pub(crate) fn forget_portal(&mut self, name: &str) -> Option<usize> {
        let (number, portal) = self.portals.remove(name)?;
        self.portal_bytes -= portal.bytes;
        Some(number)
    }

    fn keep_portal(&mut self, name: String, portal: Portal) {
        self.portal_bytes += portal.bytes;
        self.portals.insert(name, portal);
        self.output.empty(b'2');
    }

    /// Before [`bound`](Conversation::bound): the portal's rows have these columns, which were not known when its statement was prepared (FETCH from
    /// a cursor that was not there).
    pub fn returns(&mut self, fields: Vec<Field>) {
        if let Asked::Bind { portal, .. } = &mut self.asked {
            portal.columns = Some(Arc::new(Columns { fields, origins: Vec::new() }));
        }
    }

    /// The portal is there.
    pub fn bound(&mut self) {
        if let Asked::Bind { name, portal } = std::mem::take(&mut self.asked) {
            self.keep_portal(name, portal);
        }
    }

    /// Asks for a portal that this conversation has not made, before it comes to the message once more.
    ///
    /// Where there are many, those that were found so give way: they can be found again. SQLSTATE 53400.
    fn find_portal(&mut self, name: String) -> Result<Request> {
        if self.portals.len() >= self.limits.portals {
            let found = self.portals.remove_named(|_, _, portal| portal.is_of_sql);
            self.told.extend(found.into_iter().map(|(number, _)| Request::ClosePortal(number)));
            self.check_portals(0)?;
        }
        let find = FindPortal { portal: self.portals.next_number(), name: name.clone() };
        Ok(self.ask(Asked::FindPortal(name), Request::FindPortal(find)))
    }

    /// The portal that was asked for is a cursor that SQL has made.
    pub fn found_portal(&mut self) {
        if let Asked::FindPortal(name) = std::mem::take(&mut self.asked) {
            self.portals.insert(name, Portal::of_sql());
        }
    }

    /// Whether there are portals that have names.
    pub fn has_named_portals(&self) -> bool {
        self.portals.has_named()
    }

    /// SQL, which knows the portals' names, too, has closed some: those end that it does not know by name and number.
    pub fn keep_portals(&mut self, is_known: impl Fn(&str, usize) -> bool) {
        for (number, portal) in self.portals.remove_named(|name, number, _| !is_known(name, number)) {
            self.portal_bytes -= portal.bytes;
            self.told.push_back(Request::ClosePortal(number));
        }
    }

    /// The message Describe: nothing is run for it.
    pub(crate) fn describe(&mut self, frame: &Frame) -> Result<Option<Request>> {
        let mut body = Body(self.input.body(frame));
        let (kind, name) = (body.byte()?, body.text()?);
        body.end()?;
        let columns = match kind {
            b'P' if !name.is_empty() && self.portals.find(name).is_none() => {
                let name = name.to_owned();
                self.input.put_back(frame);
                return self.find_portal(name).map(Some);
            }
            b'S' => {
                let Some((_, statement)) = self.statements.find(name) else {
                    let name = name.to_owned();
                    return self.find_statement(frame, name);
                };
                if statement.columns.is_some() {
                    self.check_failed(&statement.control)?;
                }
                self.output.parameters(&statement.parameters);
                (&statement.columns, &Formats::Text)
            }
            b'P' => {
                let (_, portal) = self.portals.find(name).ok_or_else(|| no_portal(name))?;
                if portal.columns.is_some() || portal.is_of_sql {
                    self.check_failed(&portal.control)?;
                }
                if portal.is_of_sql {
                    let cursor = Request::DescribeCursor(name.to_owned());
                    return Ok(Some(self.ask(Asked::Cursor, cursor)));
                }
                (&portal.columns, &portal.formats)
            }
            other => return Err(violation(format!("invalid DESCRIBE message subtype {other}"))),
        };
        match columns {
            (Some(of), formats) => self.output.columns(&of.fields, &of.origins, formats),
            (None, _) => self.output.empty(b'n'),
        }
        Ok(None)
    }

    /// The columns of the cursor.
    pub fn described(&mut self, columns: &[Field]) {
        self.asked = Asked::Nothing;
        self.output.columns(columns, &[], &Formats::Text);
    }

    /// The message Close.
    pub(crate) fn close(&mut self, frame: &Frame) -> Result<Option<Request>> {
        let mut body = Body(self.input.body(frame));
        let (kind, name) = (body.byte()?, body.text()?.to_owned());
        body.end()?;
        match kind {
            b'S' => match self.statements.remove(&name) {
                Some((number, of)) => {
                    self.statement_bytes -= of.text_bytes;
                    self.told.push_back(Request::CloseStatement(number));
                }
                None if name.is_empty() => {}
                None => self.told.push_back(Request::ForgetStatement(name)),
            },
            b'P' => match self.forget_portal(&name) {
                Some(number) => self.told.push_back(Request::ClosePortal(number)),
                None if name.is_empty() => {}
                None => self.told.push_back(Request::ForgetPortal(name)),
            },
            other => return Err(violation(format!("invalid CLOSE message subtype {other}"))),
        }
        self.output.empty(b'3');
        Ok(None)
    }

    /// The message Execute, which is consumed once it is known what comes behind it.
    pub(crate) fn execute(&mut self, frame: &Frame) -> Result<Option<Request>> {
        let mut body = Body(self.input.body(frame));
        let (name, rows_max) = (body.text()?, body.int32()?);
        body.end()?;
        let Some((number, portal)) = self.portals.find(name) else {
            let name = name.to_owned();
            return if name.is_empty() { Err(no_portal("")) } else { self.find_portal(name).map(Some) };
        };
        if portal.is_empty {
            self.input.consume(frame);
            self.output.empty(b'I');
            return Ok(None);
        }
        self.check_failed(&portal.control)?;
        let is_idle = self.status == Status::Idle;
        let alone = match self.input.kind_behind(frame) {
            Some(kind) => kind == b'S',
            None if self.implicit || !is_idle || !portal.control.is_ordinary() => false,
            None => return Ok(Some(Request::Wait)),
        };
        let (copies, ends_portals) = (portal.copies, portal.control.ends_portals());
        match before(&portal.control, self.implicit, alone, is_idle) {
            // The message comes again then.
            Before::Begin => return Ok(Some(self.ask(Asked::Begin, Request::Begin))),
            Before::Nothing => {}
            Before::EndImplicit => {
                self.implicit = false;
                self.output.notice(&no_transaction());
            }
            Before::Adopt(modes) => {
                self.input.consume(frame);
                return Ok(self.adopt(modes));
            }
            Before::Refuse(error) => return Err(error),
        }
        let name = name.to_owned();
        self.input.consume(frame);
        self.ends_portals = ends_portals;
        let execute = Execute { portal: number, name, rows_max: u32::try_from(rows_max).unwrap_or(0), copies };
        Ok(Some(self.ask(Asked::Execute(number), Request::Execute(execute))))
    }

    /// The message Sync.
    pub(crate) fn sync(&mut self) -> Option<Request> {
        (self.skips, self.is_ready_due) = (false, true);
        if self.implicit {
            return Some(self.ask(Asked::Commit, Request::Commit));
        }
        None
    }

    /// SQL, which knows the statements' names, too, has forgotten some: those that it does not know end.
    pub fn keep_statements(&mut self, is_known: impl Fn(&str) -> bool) {
        // (What has nothing to run it was never told of.)
        self.forget_statements(|name, of| !of.is_empty && !is_known(name));
    }

    pub(crate) fn forget_statements(&mut self, is_one: impl Fn(&str, &Statement) -> bool) {
        for (number, of) in self.statements.remove_named(|name, _, of| is_one(name, of)) {
            self.statement_bytes -= of.text_bytes;
            self.told.push_back(Request::CloseStatement(number));
        }
    }

    /// Portals end with their transaction.
    pub(crate) fn drop_portals(&mut self) {
        if self.portals.len() > 0 {
            self.portals.clear();
            self.portal_bytes = 0;
            self.told.push_back(Request::ClosePortals);
        }
    }
}
