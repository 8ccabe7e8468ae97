//! What a body in PL/pgSQL consists of, once it was parsed.

use std::sync::Arc;

use super::fragment::Fragment;
use crate::bind::DomainRules;
use crate::routine::Ending;
use crate::types::{DataType, Shape};

/// A body: its variables, by number, and its statements.
#[derive(Debug)]
pub(crate) struct Body {
    pub(super) variables: Vec<Declared>,
    pub(super) cursors: Vec<BoundCursor>,
    pub(super) block: Block,
}

/// A variable that is a cursor over a query of its own.
#[derive(Debug)]
pub(super) struct BoundCursor {
    /// It holds the cursor's name.
    pub(super) variable: usize,
    pub(super) scroll: Option<bool>,
    /// Variables that the query sees.
    pub(super) arguments: Vec<usize>,
    pub(super) query: Query,
}

/// A variable.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Where it is declared; 0: it is not, by the body.
    pub(super) line: u32,
    pub(super) constant: bool,
    pub(super) not_null: bool,
    /// What its values must be.
    pub(super) domain: Option<Arc<DomainRules>>,
}

/// What a variable holds.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A value of this type.
    Value(DataType),
    /// A row; of this shape, or of whichever is assigned.
    Row(Option<Arc<Shape>>),
}

impl Kind {
    /// What a variable of this type holds.
    pub(super) fn of(data_type: DataType) -> Kind {
        match data_type {
            DataType::Composite(of) if of.attributes().is_empty() => Kind::Row(None),
            DataType::Composite(of) => Kind::Row(Some(Arc::new(Shape::of(of)))),
            data_type => Kind::Value(data_type),
        }
    }
}

/// A statement where it stands.
#[derive(Debug)]
pub(super) struct Step {
    /// The body's line that it begins in, from 1.
    pub(super) line: u32,
    pub(super) what: Statement,
}

/// BEGIN ... END.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) label: Option<String>,
    /// Variables that get their values when the block begins.
    pub(super) declares: Vec<(usize, Option<Fragment>)>,
    pub(super) statements: Vec<Step>,
    pub(super) handlers: Option<Handlers>,
}

/// EXCEPTION: what is done with errors.
#[derive(Debug)]
pub(super) struct Handlers {
    /// The variables SQLSTATE and SQLERRM.
    pub(super) state: usize,
    pub(super) message: usize,
    pub(super) all: Vec<(Vec<Condition>, Vec<Step>)>,
}

/// Which errors a handler is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Others,
    /// This code, or one of this class where it ends in `000`.
    Code(String),
}

/// A statement.
#[derive(Debug)]
pub(super) enum Statement {
    Block(Block),
    Assign(Place, Fragment),
    If(Vec<(Fragment, Vec<Step>)>, Vec<Step>),
    Case(Case),
    Loop(Loop),
    /// EXIT (true) or CONTINUE, of which loop, and when.
    Leave(bool, Option<String>, Option<Fragment>),
    Return(Option<Fragment>),
    /// RETURN of a variable that is a row.
    ReturnRow(usize),
    ReturnNext(Option<Fragment>),
    ReturnNextRow(usize),
    ReturnQuery(Query),
    /// A statement of SQL, and where its first row goes.
    Run(Query, Option<Into>),
    Perform(Fragment),
    Raise(Raise),
    Assert(Fragment, Option<Fragment>),
    Diagnostics(Vec<(Place, Item)>),
    Null,
    /// CALL, as a query of the procedure's row.
    Call(Fragment),
    /// COMMIT and ROLLBACK. The next transaction is like the last, whether AND CHAIN was said or not.
    End(Ending),
    /// OPEN of the cursor that a variable names.
    Open(usize, Opening),
    /// FETCH, and where the row goes; MOVE, where it goes nowhere.
    Fetch(usize, Way, Option<Into>),
    Close(usize),
}

impl Statement {
    /// As PostgreSQL calls it where it tells what failed.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Statement::Block(_) => "statement block",
            Statement::Assign(..) => "assignment",
            Statement::If(..) => "IF",
            Statement::Case(_) => "CASE",
            Statement::Loop(of) => match of.over {
                Over::Forever => "LOOP",
                Over::While(_) => "WHILE",
                Over::Range { .. } => "FOR with integer loop variable",
                Over::Query(_, Query::Plain(_)) => "FOR over SELECT rows",
                Over::Query(_, Query::Dynamic(..)) => "FOR over EXECUTE statement",
                Over::Cursor(..) => "FOR over cursor",
                Over::Array(..) => "FOREACH over array",
            },
            Statement::Leave(true, ..) => "EXIT",
            Statement::Leave(false, ..) => "CONTINUE",
            Statement::Return(_) | Statement::ReturnRow(_) => "RETURN",
            Statement::ReturnNext(_) | Statement::ReturnNextRow(_) => "RETURN NEXT",
            Statement::ReturnQuery(_) => "RETURN QUERY",
            Statement::Run(Query::Plain(_), _) => "SQL statement",
            Statement::Run(Query::Dynamic(..), _) => "EXECUTE",
            Statement::Perform(_) => "PERFORM",
            Statement::Raise(_) => "RAISE",
            Statement::Assert(..) => "ASSERT",
            Statement::Diagnostics(items) => match items.iter().any(|(_, item)| item.is_of_error()) {
                true => "GET STACKED DIAGNOSTICS",
                false => "GET DIAGNOSTICS",
            },
            Statement::Null => "NULL",
            Statement::Call(_) => "CALL",
            Statement::End(Ending::Commit) => "COMMIT",
            Statement::End(Ending::Rollback) => "ROLLBACK",
            Statement::Open(..) => "OPEN",
            Statement::Fetch(_, _, Some(_)) => "FETCH",
            Statement::Fetch(_, _, None) => "MOVE",
            Statement::Close(_) => "CLOSE",
        }
    }
}

impl Item {
    /// Whether it is asked of an error.
    fn is_of_error(self) -> bool {
        !matches!(self, Item::RowCount | Item::Context)
    }
}

/// What a cursor is opened for.
#[derive(Debug)]
pub(super) enum Opening {
    /// Its own query, with values of its arguments.
    Bound(Vec<(usize, Fragment)>),
    /// This query. SCROLL or NO SCROLL, if one was said.
    Query(Option<bool>, Query),
}

/// Where FETCH and MOVE go.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) kind: WayKind,
    pub(super) count: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayKind {
    Forward,
    Backward,
    Absolute,
    Relative,
}

#[derive(Debug)]
pub(super) enum Count {
    All,
    Number(i64),
    Given(Fragment),
}

/// CASE as a statement.
#[derive(Debug)]
pub(super) struct Case {
    /// A variable that is a row of one field, and what it is.
    pub(super) operand: Option<(usize, Fragment)>,
    pub(super) whens: Vec<(Fragment, Vec<Step>)>,
    pub(super) otherwise: Option<Vec<Step>>,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) label: Option<String>,
    pub(super) over: Over,
    pub(super) statements: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Over {
    Forever,
    While(Fragment),
    Range {
        variable: usize,
        from: Fragment,
        to: Fragment,
        step: Option<Fragment>,
        reverse: bool,
    },
    Query(Into, Query),
    /// Rows, one by one in the first variable, of the bound cursor that is the second.
    Cursor(usize, usize, Vec<(usize, Fragment)>),
    /// FOREACH, over so many dimensions at a time (0: over the elements).
    Array(Place, usize, Fragment),
}

/// Text of SQL, or an expression that gives one.
#[derive(Debug)]
pub(super) enum Query {
    Plain(Fragment),
    Dynamic(Fragment, Vec<Fragment>),
}

/// Where a row goes.
#[derive(Debug)]
pub(super) struct Into {
    pub(super) places: Vec<Place>,
    pub(super) strict: bool,
}

/// What is assigned.
#[derive(Debug)]
pub(super) enum Place {
    Variable(usize),
    Field(usize, String),
    /// A part of what a place holds, and the way to it; there is a step.
    Part(Box<Place>, Vec<Indirection>),
}

/// A step from a value to a part of it.
#[derive(Debug)]
pub(super) enum Indirection {
    Field(String),
    Element(Fragment),
    /// From one subscript to another, or to the end on a side.
    Slice([Option<Fragment>; 2]),
}

impl RaiseOption {
    /// As RAISE says it.
    pub(super) fn name(self) -> &'static str {
        match self {
            RaiseOption::Code => "ERRCODE",
            RaiseOption::Message => "MESSAGE",
            RaiseOption::Detail => "DETAIL",
            RaiseOption::Hint => "HINT",
            RaiseOption::Constraint => "CONSTRAINT",
            RaiseOption::Schema => "SCHEMA",
            RaiseOption::Table => "TABLE",
            RaiseOption::Column => "COLUMN",
            RaiseOption::DataType => "DATATYPE",
        }
    }
}

/// What GET DIAGNOSTICS asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    RowCount,
    ReturnedState,
    MessageText,
    Detail,
    Hint,
    Constraint,
    Schema,
    Table,
    Column,
    DataType,
    /// What was going on around the error.
    ErrorContext,
    Context,
}

#[derive(Debug)]
pub(super) struct Raise {
    /// `None`: the error that is being handled, again.
    pub(super) level: Option<Level>,
    pub(super) code: Option<String>,
    /// As it was said: the message, where there is no other.
    pub(super) condition: Option<String>,
    /// The format and what it is filled with.
    pub(super) format: Option<(String, Vec<Fragment>)>,
    pub(super) options: Vec<(RaiseOption, Fragment)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    Exception,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RaiseOption {
    Code,
    Message,
    Detail,
    Hint,
    Constraint,
    Schema,
    Table,
    Column,
    DataType,
}
