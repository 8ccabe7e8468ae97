//! Reads a body: PL/pgSQL's own words here, everything else as pieces of SQL (`Fragment`), which end where PL/pgSQL's
//! words say.

mod cursor;
mod errors;
mod types;

use std::sync::{Arc, OnceLock};

use cairn_parser::token::{Lexer, Placeholders, cut_identifier, fold_identifier};
use cairn_parser::{Expr, Token, TokenKind};

use super::fragment::{Fragment, Names};
use super::scope::{Scope, Scopes};
use super::tree::{
    Block, BoundCursor, Case, Declared, Indirection, Into, Kind, Loop, Over, Place, Query, Statement, Step,
};
use crate::bind::Conflict;
use crate::catalog::{Returns, Routine, RoutineKind};
use crate::routine::Ending;
use crate::sql::parse_expression;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

pub(super) use types::Types;

/// Statements within statements.
const DEPTH_MAX: usize = 100;

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    types: &'a dyn Types,
    pub(super) scopes: Scopes,
    pub(super) scope: usize,
    pub(super) variables: Vec<Declared>,
    pub(super) cursors: Vec<BoundCursor>,
    pub(super) names: Arc<OnceLock<Names>>,
    pub(super) conflict: Conflict,
    pub(super) gives: Gives,
    depth: usize,
}

/// What stands behind RETURN.
#[derive(Clone, Debug)]
pub(super) enum Gives {
    Value,
    /// Nothing; what is wrong where something does.
    Nothing(Error),
}

impl Gives {
    pub(super) fn of(routine: &Routine) -> Gives {
        let refused =
            |of: &str| Error::new(SqlState::DATATYPE_MISMATCH, format!("RETURN cannot have a parameter in {of}"));
        Gives::Nothing(match (routine.kind, routine.returns) {
            _ if routine.set => refused("function returning set").with_hint("Use RETURN NEXT or RETURN QUERY."),
            (RoutineKind::Procedure, Returns::Void) => {
                Error::new(SqlState::SYNTAX_ERROR, "RETURN cannot have a parameter in a procedure")
            }
            (_, Returns::Void) => refused("function returning void"),
            _ if routine.outputs().next().is_some() => refused("function with OUT parameters"),
            _ => return Gives::Value,
        })
    }
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, types: &'a dyn Types) -> Result<Parser<'a>> {
        let mut lexer = Lexer::new(text, 0, Placeholders::default());
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token();
            if token.kind == TokenKind::Bad {
                let message = match lexer.error() {
                    Some(error) => error.message.clone(),
                    None => format!("syntax error at or near \"{}\"", written(text, token)),
                };
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            tokens.push(token);
            if token.kind == TokenKind::Eof {
                break;
            }
        }
        let scopes = Scopes(vec![Scope::default()]);
        let (variables, cursors, names) = (Vec::new(), Vec::new(), Arc::default());
        Ok(Parser {
            text,
            tokens,
            at: 0,
            types,
            scopes,
            scope: 0,
            variables,
            cursors,
            names,
            conflict: Conflict::default(),
            gives: Gives::Value,
            depth: 0,
        })
    }

    /// A variable that is in sight from here on.
    pub(super) fn add(&mut self, name: &str, kind: Kind) -> usize {
        let (line, constant, not_null, domain) = (0, false, false, None);
        self.variables.push(Declared { name: name.to_owned(), kind, line, constant, not_null, domain });
        let variable = self.variables.len() - 1;
        self.name(name, variable);
        variable
    }

    /// Another name for a variable.
    pub(super) fn name(&mut self, name: &str, variable: usize) {
        self.scopes.0[self.scope].names.push((name.to_owned(), variable));
    }

    pub(super) fn enter(&mut self, label: Option<String>) -> usize {
        let before = self.scope;
        self.scopes.0.push(Scope { parent: Some(before), label, names: vec![] });
        self.scope = self.scopes.0.len() - 1;
        before
    }

    /// The whole body.
    pub(super) fn body(&mut self) -> Result<Block> {
        self.options()?;
        let label = self.label()?;
        let block = self.block(label)?;
        self.eat(";");
        match self.token().kind {
            TokenKind::Eof => Ok(block),
            _ => Err(self.unexpected()),
        }
    }

    /// `#variable_conflict use_column` and its like, in front of everything.
    fn options(&mut self) -> Result<()> {
        while self.eat("#") {
            match self.identifier()?.as_str() {
                "variable_conflict" => {
                    self.conflict = match self.ahead(0).to_ascii_lowercase().as_str() {
                        "error" => Conflict::Error,
                        "use_variable" => Conflict::Variable,
                        "use_column" => Conflict::Column,
                        _ => return Err(self.unexpected()),
                    };
                    self.advance();
                }
                name @ ("option" | "print_strict_params") => return Err(Error::unsupported(format!("#{name}"))),
                _ => return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"#\"")),
            }
        }
        Ok(())
    }

    fn token(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    /// Where the next token is, from 1.
    fn line(&self) -> u32 {
        let before = self.text.get(..self.token().start as usize).unwrap_or_default();
        u32::try_from(before.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX).saturating_add(1)
    }

    fn ahead(&self, by: usize) -> &'a str {
        written(self.text, self.tokens[(self.at + by).min(self.tokens.len() - 1)])
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, word: &str) -> bool {
        self.ahead(0).eq_ignore_ascii_case(word)
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.is(word) && self.token().kind != TokenKind::Eof;
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        if self.eat(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> Error {
        let message = match self.token().kind {
            TokenKind::Eof => "syntax error at end of input".to_owned(),
            _ => format!("syntax error at or near \"{}\"", self.ahead(0)),
        };
        Error::new(SqlState::SYNTAX_ERROR, message)
    }

    /// A name, folded unless it is quoted.
    fn identifier(&mut self) -> Result<String> {
        let token = self.token();
        let text = written(self.text, token);
        let name = match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(quoted) => cut_identifier(&quoted.replace("\"\"", "\"")).to_owned(),
            None if text.starts_with(|first: char| first.is_alphabetic() || first == '_') => fold_identifier(text),
            None => return Err(self.unexpected()),
        };
        self.advance();
        Ok(name)
    }

    /// `<<label>>`
    fn label(&mut self) -> Result<Option<String>> {
        if !self.eat("<<") {
            return Ok(None);
        }
        let label = self.identifier()?;
        self.expect(">>")?;
        Ok(Some(label))
    }

    /// The text up to one of these words, which is left, outside of all parentheses.
    fn text_until(&mut self, stops: &[&str]) -> Result<&'a str> {
        let (start, mut nested, mut cases) = (self.token().start, 0_usize, 0_usize);
        let mut end = start;
        loop {
            let token = self.token();
            let text = written(self.text, token);
            if token.kind == TokenKind::Eof {
                return Err(self.unexpected());
            }
            if nested == 0 && cases == 0 && stops.iter().any(|stop| text.eq_ignore_ascii_case(stop)) {
                break;
            }
            match text {
                "(" | "[" => nested += 1,
                ")" | "]" => nested = nested.checked_sub(1).ok_or_else(|| self.unexpected())?,
                ";" if nested > 0 => return Err(Error::new(SqlState::SYNTAX_ERROR, "mismatched parentheses")),
                ";" => return Err(self.unexpected()),
                word if word.eq_ignore_ascii_case("case") => cases += 1,
                word if word.eq_ignore_ascii_case("end") => cases = cases.saturating_sub(1),
                _ => {}
            }
            end = token.end;
            self.advance();
        }
        let text = self.text[start as usize..end as usize].trim();
        match text.is_empty() {
            true => Err(self.unexpected()),
            false => Ok(text),
        }
    }

    fn expression(&mut self, stops: &[&str]) -> Result<Fragment> {
        let text = self.text_until(stops)?;
        Fragment::expression(text, self.scope, &self.names)
    }

    /// Expressions between commas, up to one of these words.
    fn expressions(&mut self, stops: &[&str]) -> Result<Vec<Fragment>> {
        let with_comma: Vec<&str> = stops.iter().copied().chain([","]).collect();
        let mut all = vec![self.expression(&with_comma)?];
        while self.eat(",") {
            all.push(self.expression(&with_comma)?);
        }
        Ok(all)
    }

    fn block(&mut self, label: Option<String>) -> Result<Block> {
        let outer = self.enter(label.clone());
        let mut declares = Vec::new();
        while self.eat("declare") {
            while !self.is("begin") && !self.is("declare") {
                self.declaration(&mut declares)?;
            }
        }
        self.expect("begin")?;
        let statements = self.statements(&["end", "exception"])?;
        let handlers = if self.eat("exception") { Some(self.handlers()?) } else { None };
        self.expect("end")?;
        self.end_label(label.as_deref())?;
        self.scope = outer;
        Ok(Block { label, declares, statements, handlers })
    }

    /// The label that may stand behind END.
    fn end_label(&mut self, label: Option<&str>) -> Result<()> {
        if self.is(";") || self.token().kind == TokenKind::Eof {
            return Ok(());
        }
        let said = self.identifier()?;
        match label {
            Some(label) if label == said => Ok(()),
            Some(label) => {
                let message = format!("end label \"{said}\" differs from block's label \"{label}\"");
                Err(Error::new(SqlState::SYNTAX_ERROR, message))
            }
            None => {
                let message = format!("end label \"{said}\" specified for unlabeled block");
                Err(Error::new(SqlState::SYNTAX_ERROR, message))
            }
        }
    }

    fn declaration(&mut self, declares: &mut Vec<(usize, Option<Fragment>)>) -> Result<()> {
        let line = self.line();
        let name = self.identifier()?;
        if self.scopes.0[self.scope].names.iter().any(|(known, _)| *known == name) {
            return Err(Error::new(SqlState::SYNTAX_ERROR, format!("duplicate declaration at or near \"{name}\"")));
        }
        if self.eat("alias") {
            self.expect("for")?;
            let of = match self.token().kind {
                TokenKind::Param => written(self.text, self.advance()).to_owned(),
                _ => self.identifier()?,
            };
            let missing = || Error::new(SqlState::SYNTAX_ERROR, format!("variable \"{of}\" does not exist"));
            let variable = self.scopes.find(self.scope, None, &of).ok_or_else(missing)?;
            self.name(&name, variable);
            return self.expect(";");
        }
        if self.is("cursor") || self.is("no") || self.is("scroll") {
            return self.cursor_declaration(&name, declares);
        }
        let constant = self.eat("constant");
        let (kind, domain) = self.kind()?;
        let not_null = self.eat("not");
        if not_null {
            self.expect("null")?;
        }
        let is_default = self.eat("default") || self.eat(":=") || self.eat("=");
        // It is computed before the variable is there.
        let default = if is_default { Some(self.expression(&[";"])?) } else { None };
        if not_null && default.is_none() {
            let message = format!("variable \"{name}\" must have a default value, since it's declared NOT NULL");
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        }
        self.expect(";")?;
        let variable = self.add(&name, kind);
        let declared = &mut self.variables[variable];
        (declared.line, declared.constant, declared.not_null) = (line, constant, not_null);
        declared.domain = domain;
        declares.push((variable, default));
        Ok(())
    }

    fn string(&mut self) -> Result<String> {
        if self.token().kind != TokenKind::StringConst {
            return Err(self.unexpected());
        }
        let parsed = parse_expression(written(self.text, self.advance()))?;
        match parsed.tree.get(parsed.expr) {
            Expr::String { text } => Ok(parsed.tree.text(text).to_owned()),
            _ => Err(self.unexpected()),
        }
    }

    fn statements(&mut self, ends: &[&str]) -> Result<Vec<Step>> {
        let mut all = Vec::new();
        while !ends.iter().any(|end| self.is(end)) {
            if self.token().kind == TokenKind::Eof {
                return Err(self.unexpected());
            }
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                let error = Error::new(SqlState::STATEMENT_TOO_COMPLEX, "PL/pgSQL is nested too deeply");
                return Err(error.with_hint(format!("Statements may be nested {DEPTH_MAX} levels deep.")));
            }
            let line = self.line();
            all.push(Step { line, what: self.statement()? });
            self.depth -= 1;
        }
        Ok(all)
    }

    fn statement(&mut self) -> Result<Statement> {
        let label = self.label()?;
        if self.is("begin") || self.is("declare") {
            let block = self.block(label)?;
            self.expect(";")?;
            return Ok(Statement::Block(block));
        }
        if ["loop", "while", "for", "foreach"].iter().any(|word| self.is(word)) {
            return self.repeated(label).map(Statement::Loop);
        }
        if label.is_some() {
            return Err(self.unexpected());
        }
        if let Some(place) = self.assigned()? {
            let value = self.expression(&[";"])?;
            self.expect(";")?;
            return Ok(Statement::Assign(place, value));
        }
        let what = match self.ahead(0).to_ascii_lowercase().as_str() {
            "if" => return self.condition(),
            "case" => return self.case(),
            "null" if self.ahead(1) == ";" => {
                self.advance();
                Statement::Null
            }
            "exit" => self.leave(true)?,
            "continue" => self.leave(false)?,
            "return" => self.returned()?,
            "perform" => {
                self.advance();
                let text = self.text_until(&[";"])?;
                Statement::Perform(Fragment::statement(&format!("SELECT {text}"), self.scope, &self.names)?)
            }
            "raise" => self.raise()?,
            "assert" => {
                self.advance();
                let condition = self.expression(&[",", ";"])?;
                let message = if self.eat(",") { Some(self.expression(&[";"])?) } else { None };
                Statement::Assert(condition, message)
            }
            "execute" => {
                self.advance();
                let (query, into) = self.dynamic(&[";"])?;
                Statement::Run(query, into)
            }
            "get" => self.diagnostics()?,
            "call" => {
                self.advance();
                let text = self.text_until(&[";"])?;
                let text = format!("SELECT * FROM {text}");
                Statement::Call(Fragment::call(&text, self.scope, &self.names)?)
            }
            "open" => self.open()?,
            "fetch" => self.fetch()?,
            "move" => self.moved()?,
            "close" => self.close()?,
            "commit" => self.ending(Ending::Commit)?,
            "rollback" => self.ending(Ending::Rollback)?,
            _ => self.sql()?,
        };
        self.expect(";")?;
        Ok(what)
    }

    /// COMMIT and ROLLBACK, with AND CHAIN or without.
    fn ending(&mut self, ending: Ending) -> Result<Statement> {
        self.advance();
        if self.eat("and") {
            self.eat("no");
            self.expect("chain")?;
        }
        Ok(Statement::End(ending))
    }

    /// The place of an assignment, where one begins here.
    fn assigned(&mut self) -> Result<Option<Place>> {
        let start = self.at;
        let is_name = matches!(self.token().kind, TokenKind::Ident | TokenKind::Param) || self.token().kind.is_label();
        if !is_name || !matches!(self.ahead(1), ":=" | "=" | "." | "[") {
            return Ok(None);
        }
        if let Some(place) = self.place()? {
            let steps = self.steps()?;
            if self.eat(":=") || self.eat("=") {
                let whole = steps.is_empty();
                return Ok(Some(if whole { place } else { Place::Part(Box::new(place), steps) }));
            }
        }
        if self.eat(":=") {
            let name = written(self.text, self.tokens[start]);
            return Err(Error::new(SqlState::SYNTAX_ERROR, format!("\"{name}\" is not a known variable")));
        }
        self.at = start;
        Ok(None)
    }

    /// The way to a part of a place.
    fn steps(&mut self) -> Result<Vec<Indirection>> {
        let mut steps = Vec::new();
        loop {
            if self.eat("[") {
                steps.push(self.subscript()?);
            } else if self.eat(".") {
                steps.push(Indirection::Field(self.identifier()?));
            } else {
                return Ok(steps);
            }
        }
    }

    fn subscript(&mut self) -> Result<Indirection> {
        let lower = if self.is(":") { None } else { Some(self.expression(&[":", "]"])?) };
        let step = match (self.eat(":"), lower) {
            (false, Some(at)) => Indirection::Element(at),
            (_, lower) => Indirection::Slice([lower, if self.is("]") { None } else { Some(self.expression(&["]"])?) }]),
        };
        self.expect("]")?;
        Ok(step)
    }

    /// A variable or a field of one; `None`: no variable is called so.
    fn place(&mut self) -> Result<Option<Place>> {
        let name = match self.token().kind {
            TokenKind::Param => written(self.text, self.advance()).to_owned(),
            _ => self.identifier()?,
        };
        let mut variable = self.scopes.find(self.scope, None, &name);
        if self.ahead(0) == "." && variable.is_none_or(|found| matches!(self.variables[found].kind, Kind::Value(_))) {
            // A block's label before it.
            self.advance();
            let inner = self.identifier()?;
            variable = self.scopes.find(self.scope, Some(&name), &inner);
        }
        let Some(variable) = variable else { return Ok(None) };
        let declared = &self.variables[variable];
        if declared.constant {
            let message = format!("variable \"{}\" is declared CONSTANT", declared.name);
            return Err(Error::new(SqlState("22005"), message));
        }
        let is_row = matches!(declared.kind, Kind::Row(_));
        let mut place = Place::Variable(variable);
        if is_row && self.eat(".") {
            place = Place::Field(variable, self.identifier()?);
        }
        Ok(Some(place))
    }

    fn known_place(&mut self) -> Result<Place> {
        let name = self.ahead(0);
        let missing = Error::new(SqlState::SYNTAX_ERROR, format!("\"{name}\" is not a known variable"));
        self.place()?.ok_or(missing)
    }

    fn condition(&mut self) -> Result<Statement> {
        self.expect("if")?;
        let mut branches = Vec::new();
        loop {
            let condition = self.expression(&["then"])?;
            self.expect("then")?;
            branches.push((condition, self.statements(&["elsif", "elseif", "else", "end"])?));
            if !self.eat("elsif") && !self.eat("elseif") {
                break;
            }
        }
        let otherwise = if self.eat("else") { self.statements(&["end"])? } else { vec![] };
        self.expect("end")?;
        self.expect("if")?;
        self.expect(";")?;
        Ok(Statement::If(branches, otherwise))
    }

    fn case(&mut self) -> Result<Statement> {
        self.expect("case")?;
        let outer = self.enter(None);
        let operand = match self.is("when") {
            true => None,
            false => {
                let operand = self.expression(&["when"])?;
                Some((self.add("__case__", Kind::Row(None)), operand))
            }
        };
        let mut whens = Vec::new();
        while self.eat("when") {
            let text = self.text_until(&["then"])?;
            let text = match operand {
                Some(_) => format!("\"__case__\".value IN ({text})"),
                None => text.to_owned(),
            };
            let condition = Fragment::expression(&text, self.scope, &self.names)?;
            self.expect("then")?;
            whens.push((condition, self.statements(&["when", "else", "end"])?));
        }
        let otherwise = if self.eat("else") { Some(self.statements(&["end"])?) } else { None };
        self.scope = outer;
        self.expect("end")?;
        self.expect("case")?;
        self.expect(";")?;
        Ok(Statement::Case(Case { operand, whens, otherwise }))
    }

    fn repeated(&mut self, label: Option<String>) -> Result<Loop> {
        let outer = self.enter(label.clone());
        let over = match self.ahead(0).to_ascii_lowercase().as_str() {
            "loop" => Over::Forever,
            "while" => {
                self.advance();
                Over::While(self.expression(&["loop"])?)
            }
            "foreach" => {
                self.advance();
                let place = self.known_place()?;
                let mut slice = 0;
                if self.eat("slice") {
                    slice = self.ahead(0).parse().map_err(|_| self.unexpected())?;
                    self.advance();
                }
                self.expect("in")?;
                self.expect("array")?;
                Over::Array(place, slice, self.expression(&["loop"])?)
            }
            _ => self.for_over()?,
        };
        self.expect("loop")?;
        let statements = self.statements(&["end"])?;
        self.expect("end")?;
        self.expect("loop")?;
        self.end_label(label.as_deref())?;
        self.expect(";")?;
        self.scope = outer;
        Ok(Loop { label, over, statements })
    }

    fn for_over(&mut self) -> Result<Over> {
        self.expect("for")?;
        if self.is_range() {
            let name = self.identifier()?;
            self.expect("in")?;
            let reverse = self.eat("reverse");
            let from = self.expression(&[".."])?;
            self.expect("..")?;
            let to = self.expression(&["loop", "by"])?;
            let step = if self.eat("by") { Some(self.expression(&["loop"])?) } else { None };
            // Its bounds do not see it.
            let variable = self.add(&name, Kind::Value(DataType::Integer));
            return Ok(Over::Range { variable, from, to, step, reverse });
        }
        if let Some(over) = self.over_cursor()? {
            return Ok(over);
        }
        let places = self.places()?;
        let into = Into { places, strict: false };
        self.expect("in")?;
        if self.eat("execute") {
            let (query, _) = self.dynamic(&["loop"])?;
            return Ok(Over::Query(into, query));
        }
        let text = self.text_until(&["loop"])?;
        Ok(Over::Query(into, Query::Plain(Fragment::statement(text, self.scope, &self.names)?)))
    }

    /// Whether two dots stand before LOOP.
    fn is_range(&self) -> bool {
        let (mut at, mut nested) = (self.at, 0_i32);
        while let Some(token) = self.tokens.get(at) {
            match written(self.text, *token) {
                "(" | "[" => nested += 1,
                ")" | "]" => nested -= 1,
                ".." if nested == 0 => return true,
                ";" => return false,
                word if word.eq_ignore_ascii_case("loop") => return false,
                _ => {}
            }
            at += 1;
        }
        false
    }

    fn places(&mut self) -> Result<Vec<Place>> {
        let mut places = vec![self.known_place()?];
        while self.eat(",") {
            places.push(self.known_place()?);
        }
        Ok(places)
    }

    fn leave(&mut self, exit: bool) -> Result<Statement> {
        self.advance();
        let label = if self.is("when") || self.is(";") { None } else { Some(self.identifier()?) };
        if let Some(label) = &label
            && !self.scopes.has_label(self.scope, label)
        {
            let message =
                format!("there is no label \"{label}\" attached to any block or loop enclosing this statement");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let when = if self.eat("when") { Some(self.expression(&[";"])?) } else { None };
        Ok(Statement::Leave(exit, label, when))
    }

    fn returned(&mut self) -> Result<Statement> {
        self.advance();
        if self.eat("query") {
            if self.eat("execute") {
                return Ok(Statement::ReturnQuery(self.dynamic(&[";"])?.0));
            }
            let text = self.text_until(&[";"])?;
            return Ok(Statement::ReturnQuery(Query::Plain(Fragment::statement(text, self.scope, &self.names)?)));
        }
        let is_next = self.eat("next");
        match &self.gives {
            Gives::Value if !is_next && self.is(";") => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "missing expression at or near \";\""));
            }
            Gives::Nothing(error) if !is_next && !self.is(";") => return Err(error.clone()),
            Gives::Value | Gives::Nothing(_) => {}
        }
        if self.is(";") {
            return Ok(if is_next { Statement::ReturnNext(None) } else { Statement::Return(None) });
        }
        if self.ahead(1) == ";" && self.token().kind != TokenKind::StringConst {
            let start = self.at;
            let row = self.identifier().ok().and_then(|name| self.scopes.find(self.scope, None, &name));
            match row.filter(|row| matches!(self.variables[*row].kind, Kind::Row(_))) {
                Some(row) if is_next => return Ok(Statement::ReturnNextRow(row)),
                Some(row) => return Ok(Statement::ReturnRow(row)),
                None => self.at = start,
            }
        }
        let value = self.expression(&[";"])?;
        Ok(if is_next { Statement::ReturnNext(Some(value)) } else { Statement::Return(Some(value)) })
    }

    /// What stands behind EXECUTE.
    fn dynamic(&mut self, stops: &[&str]) -> Result<(Query, Option<Into>)> {
        let words: Vec<&str> = stops.iter().copied().chain(["into", "using"]).collect();
        let text = self.expression(&words)?;
        let (mut into, mut using) = (None, vec![]);
        loop {
            if self.eat("into") {
                into = Some(self.into()?);
            } else if self.eat("using") {
                using = self.expressions(&words)?;
            } else {
                return Ok((Query::Dynamic(text, using), into));
            }
        }
    }

    fn into(&mut self) -> Result<Into> {
        let strict = self.eat("strict");
        Ok(Into { places: self.places()?, strict })
    }

    /// A statement of SQL; INTO is taken out of it.
    fn sql(&mut self) -> Result<Statement> {
        let first = self.token();
        let (start, mut nested, mut into, mut taken) = (first.start as usize, 0_i32, None, None);
        let mut end = start;
        loop {
            let token = self.token();
            let text = written(self.text, token);
            match text {
                _ if token.kind == TokenKind::Eof => return Err(self.unexpected()),
                ";" if nested <= 0 => break,
                "(" | "[" => nested += 1,
                ")" | "]" => nested -= 1,
                word if word.eq_ignore_ascii_case("into") && nested == 0 => {
                    let before = written(self.text, self.tokens[self.at.saturating_sub(1)]);
                    let of_statement = ["insert", "merge"].iter().any(|word| before.eq_ignore_ascii_case(word));
                    if !of_statement {
                        if into.is_some() {
                            return Err(Error::new(SqlState::SYNTAX_ERROR, "INTO specified more than once"));
                        }
                        self.advance();
                        into = Some(self.into()?);
                        let last = self.tokens[self.at - 1].end;
                        (taken, end) = (Some((token.start as usize, last as usize)), last as usize);
                        continue;
                    }
                }
                _ => {}
            }
            end = token.end as usize;
            self.advance();
        }
        let mut text = self.text[start..end].to_owned();
        if let Some((from, to)) = taken {
            text.replace_range(from - start..to - start, " ");
        }
        let fragment = Fragment::statement(&text, self.scope, &self.names)?;
        Ok(Statement::Run(Query::Plain(fragment), into))
    }
}

fn written(text: &str, token: Token) -> &str {
    text.get(token.start as usize..token.end as usize).unwrap_or("")
}
