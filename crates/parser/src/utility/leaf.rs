//! What the grammar of the utility commands leaves to the parser's functions: names, constants, expressions, types, queries.

use crate::error::Result;
use crate::parse::Parser;
use crate::syntax::{Expr, Part, Statement};
use crate::token::{KeywordClass, TokenKind as T};
use crate::tree::Id;

/// The stack of a statement in a function's body: what is read by rules takes more than an expression.
const STACK_BYTES: usize = 1 << 20;

/// A part of a command that is read by a function of the parser. PostgreSQL's names for them stand behind each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// `ColId`
    Name,
    /// `ColLabel`
    Label,
    /// `NonReservedWord`
    Word,
    /// `type_function_name`
    FunctionWord,
    /// `IDENT`: a name that is no keyword.
    Ident,
    /// `VIRTUAL`, which is a keyword from PostgreSQL 18 on.
    Virtual,
    /// `reserved_keyword`
    Reserved,
    /// `func_name`
    FunctionName,
    /// A function's name without arguments, in `function_with_argtypes`.
    FunctionReference,
    /// `Sconst`
    String,
    /// `Sconst` that is not written with `U&`.
    PlainString,
    /// `Iconst`
    Integer,
    /// `FCONST | Iconst`
    UnsignedNumber,
    /// `all_Op`
    Operator,
    /// `qual_all_Op`
    QualifiedOperator,
    /// `a_expr`
    Expr,
    /// `b_expr`
    RestrictedExpr,
    /// `func_expr_windowless`
    FunctionCall,
    /// `func_application`
    PlainCall,
    /// `Typename`
    Type,
    /// `SimpleTypename`
    SimpleType,
    /// `func_type`
    FunctionType,
    /// `qualified_name`
    TableName,
    /// `relation_expr`
    Relation,
    /// `from_list`
    FromList,
    /// `SelectStmt`
    Query,
    /// `PreparableStmt`
    DataStatement,
    /// `stmt`
    Statement,
}

const LEAVES: &[(&str, Leaf)] = &[
    ("name", Leaf::Name),
    ("label", Leaf::Label),
    ("word", Leaf::Word),
    ("function_word", Leaf::FunctionWord),
    ("ident", Leaf::Ident),
    ("virtual", Leaf::Virtual),
    ("reserved", Leaf::Reserved),
    ("function_name", Leaf::FunctionName),
    ("function_reference", Leaf::FunctionReference),
    ("string", Leaf::String),
    ("plain_string", Leaf::PlainString),
    ("integer", Leaf::Integer),
    ("unsigned_number", Leaf::UnsignedNumber),
    ("operator", Leaf::Operator),
    ("qualified_operator", Leaf::QualifiedOperator),
    ("expr", Leaf::Expr),
    ("b_expr", Leaf::RestrictedExpr),
    ("func_expr", Leaf::FunctionCall),
    ("func_application", Leaf::PlainCall),
    ("type", Leaf::Type),
    ("simple_type", Leaf::SimpleType),
    ("func_type", Leaf::FunctionType),
    ("table_name", Leaf::TableName),
    ("relation", Leaf::Relation),
    ("from_list", Leaf::FromList),
    ("query", Leaf::Query),
    ("data_statement", Leaf::DataStatement),
    ("statement", Leaf::Statement),
];

impl Leaf {
    /// The leaf that the grammar calls so.
    pub(crate) fn named(name: &str) -> Option<Leaf> {
        LEAVES.iter().find(|(known, _)| *known == name).map(|(_, leaf)| *leaf)
    }
}

impl Parser<'_> {
    /// Reads a leaf and keeps it as a part.
    pub(super) fn leaf(&mut self, leaf: Leaf) -> Result<Id<Part>> {
        let start = self.start();
        let part = match leaf {
            Leaf::Name => Part::Name { name: self.name()? },
            Leaf::Label => Part::Label { name: self.label()? },
            Leaf::Word => Part::Label { name: self.unreserved_word()? },
            Leaf::FunctionWord => Part::FunctionWord { name: self.type_function_name()? },
            Leaf::Ident => Part::Ident { name: self.identifier()? },
            Leaf::Virtual => Part::Ident { name: self.spelled("virtual")? },
            Leaf::Reserved => Part::Keyword { kind: self.reserved_word()? },
            Leaf::FunctionName => Part::Names { names: self.function_name()? },
            Leaf::FunctionReference => self.function_reference()?,
            Leaf::String => Part::Expr { expr: self.string()? },
            Leaf::PlainString => Part::Expr { expr: self.plain_string()? },
            Leaf::Integer => Part::Expr { expr: self.integer()? },
            Leaf::UnsignedNumber => Part::Expr { expr: self.unsigned_number()? },
            Leaf::Operator => Part::Operator { operator: self.operator_token()? },
            Leaf::QualifiedOperator => Part::Operator { operator: self.qualified_operator()? },
            Leaf::Expr => Part::Expr { expr: self.expr()? },
            Leaf::RestrictedExpr => Part::RestrictedExpr { expr: self.restricted_expr()? },
            Leaf::FunctionCall => Part::Call { expr: self.called_function()? },
            Leaf::PlainCall => Part::Expr { expr: self.plain_call()? },
            Leaf::Type => Part::Type { data_type: self.type_name()? },
            Leaf::SimpleType => Part::Type { data_type: self.simple_type_name()? },
            Leaf::FunctionType => Part::Type { data_type: self.function_type()? },
            Leaf::TableName => Part::Table { name: self.qualified_name()? },
            Leaf::Relation => Part::Relation { relation: self.relation()? },
            Leaf::FromList => Part::From { tables: self.comma_list(Self::table_ref)? },
            Leaf::Query => Part::Statement { statement: self.query_statement()? },
            Leaf::DataStatement => Part::Statement { statement: self.preparable_statement()? },
            Leaf::Statement => Part::Statement { statement: self.inner_statement()? },
        };
        self.node(start, part)
    }

    fn identifier(&mut self) -> Result<Id<crate::syntax::Name>> {
        if self.at(T::Ident) { self.name() } else { Err(self.unexpected()) }
    }

    fn spelled(&mut self, word: &str) -> Result<Id<crate::syntax::Name>> {
        if self.written_token().eq_ignore_ascii_case(word) { self.identifier() } else { Err(self.unexpected()) }
    }

    fn reserved_word(&mut self) -> Result<u32> {
        match self.kind().class() {
            Some(KeywordClass::Reserved) => Ok(self.advance().kind as u32),
            _ => Err(self.unexpected()),
        }
    }

    fn plain_string(&mut self) -> Result<Id<Expr>> {
        let unicode = self.written_token().starts_with(['u', 'U']);
        if unicode { Err(self.unexpected()) } else { self.string() }
    }

    fn unsigned_number(&mut self) -> Result<Id<Expr>> {
        if matches!(self.kind(), T::IntegerConst | T::NumberConst) { self.constant() } else { Err(self.unexpected()) }
    }

    /// A name that only functions have stands alone; any other may have parts.
    fn function_reference(&mut self) -> Result<Part> {
        let mark = self.mark();
        if matches!(self.peek(), T::Dot | T::LeftBracket) && self.kind().is_column_name() {
            return Ok(Part::Names { names: self.function_name()? });
        }
        let alone = self.kind().class() == Some(KeywordClass::TypeFunctionName);
        let name = if alone { self.type_function_name()? } else { self.name()? };
        self.push(name);
        Ok(Part::Names { names: self.list_since(mark) })
    }

    /// A call, which begins with a word.
    fn called_function(&mut self) -> Result<Id<Expr>> {
        if self.kind().is_label() { self.windowless_function() } else { Err(self.unexpected()) }
    }

    /// A call without the functions that have a syntax of their own.
    fn plain_call(&mut self) -> Result<Id<Expr>> {
        let qualified = matches!(self.peek(), T::Dot | T::LeftBracket);
        if self.kind().is_column_name() && qualified {
            let start = self.start();
            let name = self.function_name()?;
            return self.windowless_call(start, name);
        }
        let may_be_called = self.kind().is_function_name();
        if self.kind().is_column_name() && !may_be_called {
            self.advance();
        }
        if !may_be_called {
            return Err(self.unexpected());
        }
        self.windowless_function()
    }

    /// A statement of a function's body. Reading by rules takes much of the stack, so what is read so gets another.
    fn inner_statement(&mut self) -> Result<Id<Statement>> {
        match self.at_row_statement() {
            true => self.enter(Self::statement),
            false => self.enter(|parser| parser.on_another_stack(STACK_BYTES, Self::statement)),
        }
    }

    fn query_statement(&mut self) -> Result<Id<Statement>> {
        let start = self.start();
        let query = self.query()?;
        self.node(start, Statement::Query { query })
    }
}
