//! What kinds of tokens there are: symbols, constants, and every keyword.

use super::keyword::{KEYWORDS, Keyword, KeywordClass};

/// A token's kind. Keywords come last, in the order of [`KEYWORDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
#[rustfmt::skip]
#[allow(missing_docs, reason = "a keyword's kind is called like the keyword")]
pub enum TokenKind {
    /// The text's end.
    Eof,
    /// A character that starts no token, or a token that is not right: see [`crate::token::Lexer::error`].
    Bad,
    /// A name that is not a keyword, quoted ones among them.
    Ident,
    /// A string constant in any of its forms.
    StringConst,
    /// `B'...'`
    BitConst,
    /// `X'...'`
    HexConst,
    /// An integer of at most 31 bits.
    IntegerConst,
    /// Any other number.
    NumberConst,
    /// `$1`, and where asked for `?` and `:name`.
    Param,
    /// An operator that is none of those below.
    Op,
    Comma, LeftParen, RightParen, LeftBracket, RightBracket, Dot, Semicolon, Colon,
    Plus, Minus, Star, Slash, Percent, Caret, Less, Greater, Equal,
    LessEqual, GreaterEqual, NotEqual, DoubleColon, DotDot, ColonEqual, EqualGreater,
    Abort, Absolute, Access, Action, Add, Admin, After, Aggregate, All, Also, Alter, Always, Analyse, Analyze, And,
    Any, Array, As, Asc, Asensitive, Assertion, Assignment, Asymmetric, At, Atomic, Attach, Attribute,
    Authorization, Backward, Before, Begin, Between, Bigint, Binary, Bit, Boolean, Both, Breadth, By, Cache, Call,
    Called, Cascade, Cascaded, Case, Cast, Catalog, Chain, Char, Character, Characteristics, Check, Checkpoint,
    Class, Close, Cluster, Coalesce, Collate, Collation, Column, Columns, Comment, Comments, Commit, Committed,
    Compression, Concurrently, Configuration, Conflict, Connection, Constraint, Constraints, Content, Continue,
    Conversion, Copy, Cost, Create, Cross, Csv, Cube, Current, CurrentCatalog, CurrentDate, CurrentRole,
    CurrentSchema, CurrentTime, CurrentTimestamp, CurrentUser, Cursor, Cycle, Data, Database, Day, Deallocate, Dec,
    Decimal, Declare, Default, Defaults, Deferrable, Deferred, Definer, Delete, Delimiter, Delimiters, Depends,
    Depth, Desc, Detach, Dictionary, Disable, Discard, Distinct, Do, Document, Domain, Double, Drop, Each, Else,
    Enable, Encoding, Encrypted, End, Enum, Escape, Event, Except, Exclude, Excluding, Exclusive, Execute, Exists,
    Explain, Expression, Extension, External, Extract, False, Family, Fetch, Filter, Finalize, First, Float,
    Following, For, Force, Foreign, Forward, Freeze, From, Full, Function, Functions, Generated, Global, Grant,
    Granted, Greatest, Group, Grouping, Groups, Handler, Having, Header, Hold, Hour, Identity, If, Ilike,
    Immediate, Immutable, Implicit, Import, In, Include, Including, Increment, Index, Indexes, Inherit, Inherits,
    Initially, Inline, Inner, Inout, Input, Insensitive, Insert, Instead, Int, Integer, Intersect, Interval, Into,
    Invoker, Is, Isnull, Isolation, Join, Key, Label, Language, Large, Last, Lateral, Leading, Leakproof, Least,
    Left, Level, Like, Limit, Listen, Load, Local, Localtime, Localtimestamp, Location, Lock, Locked, Logged,
    Mapping, Match, Matched, Materialized, Maxvalue, Merge, Method, Minute, Minvalue, Mode, Month, Move, Name,
    Names, National, Natural, Nchar, New, Next, Nfc, Nfd, Nfkc, Nfkd, No, None, Normalize, Normalized, Not,
    Nothing, Notify, Notnull, Nowait, Null, Nullif, Nulls, Numeric, Object, Of, Off, Offset, Oids, Old, On, Only,
    Operator, Option, Options, Or, Order, Ordinality, Others, Out, Outer, Over, Overlaps, Overlay, Overriding,
    Owned, Owner, Parallel, Parameter, Parser, Partial, Partition, Passing, Password, Placing, Plans, Policy,
    Position, Preceding, Precision, Prepare, Prepared, Preserve, Primary, Prior, Privileges, Procedural, Procedure,
    Procedures, Program, Publication, Quote, Range, Read, Real, Reassign, Recheck, Recursive, Ref, References,
    Referencing, Refresh, Reindex, Relative, Release, Rename, Repeatable, Replace, Replica, Reset, Restart,
    Restrict, Return, Returning, Returns, Revoke, Right, Role, Rollback, Rollup, Routine, Routines, Row, Rows,
    Rule, Savepoint, Schema, Schemas, Scroll, Search, Second, Security, Select, Sequence, Sequences, Serializable,
    Server, Session, SessionUser, Set, Setof, Sets, Share, Show, Similar, Simple, Skip, Smallint, Snapshot, Some,
    Sql, Stable, Standalone, Start, Statement, Statistics, Stdin, Stdout, Storage, Stored, Strict, Strip,
    Subscription, Substring, Support, Symmetric, Sysid, System, Table, Tables, Tablesample, Tablespace, Temp,
    Template, Temporary, Text, Then, Ties, Time, Timestamp, To, Trailing, Transaction, Transform, Treat, Trigger,
    Trim, True, Truncate, Trusted, Type, Types, Uescape, Unbounded, Uncommitted, Unencrypted, Union, Unique,
    Unknown, Unlisten, Unlogged, Until, Update, User, Using, Vacuum, Valid, Validate, Validator, Value, Values,
    Varchar, Variadic, Varying, Verbose, Version, View, Views, Volatile, When, Where, Whitespace, Window, With,
    Within, Without, Work, Wrapper, Write, Xml, Xmlattributes, Xmlconcat, Xmlelement, Xmlexists, Xmlforest,
    Xmlnamespaces, Xmlparse, Xmlpi, Xmlroot, Xmlserialize, Xmltable, Year, Yes, Zone,
}

/// The first keyword's number.
const KEYWORDS_START: u16 = TokenKind::Abort as u16;

impl TokenKind {
    /// What is known of the keyword, if it is one.
    pub fn keyword(self) -> Option<&'static Keyword> {
        KEYWORDS.get(usize::from((self as u16).checked_sub(KEYWORDS_START)?))
    }

    /// The keyword's class, if it is one.
    pub fn class(self) -> Option<KeywordClass> {
        self.keyword().map(|keyword| keyword.class)
    }

    /// Whether it may be a column's or table's name.
    pub fn is_column_name(self) -> bool {
        matches!(self.class(), Some(KeywordClass::Unreserved | KeywordClass::ColumnName)) || self == TokenKind::Ident
    }

    /// Whether it may be a function's or type's name.
    pub fn is_function_name(self) -> bool {
        let class = self.class();
        matches!(class, Some(KeywordClass::Unreserved | KeywordClass::TypeFunctionName)) || self == TokenKind::Ident
    }

    /// Whether it may be any name that is not a reserved word.
    pub fn is_unreserved_word(self) -> bool {
        self == TokenKind::Ident || self.class().is_some_and(|class| class != KeywordClass::Reserved)
    }

    /// Whether it may be a label behind AS or a dot: any word.
    pub fn is_label(self) -> bool {
        self == TokenKind::Ident || self.keyword().is_some()
    }

    /// Whether it may be an output column's name without AS.
    pub fn is_bare_label(self) -> bool {
        self == TokenKind::Ident || self.keyword().is_some_and(|keyword| keyword.bare_label)
    }
}
