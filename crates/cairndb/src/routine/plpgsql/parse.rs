//! Reads a body: PL/pgSQL's own words here, everything else as pieces of SQL (`Fragment`), which end where PL/pgSQL's
//! words say.

mod cursor;

use std::sync::{Arc, OnceLock};

use cairn_parser::token::{Lexer, Placeholders};
use cairn_parser::{Expr, Token, TokenKind};

use super::conditions::code_of;
use super::fragment::{Fragment, Names};
use super::scope::{Scope, Scopes};
use super::tree::{
    Block, BoundCursor, Case, Condition, Declared, Handlers, Indirection, Into, Item, Kind, Level, Loop, Over, Place,
    Query, Raise, RaiseOption, Shape, Statement, Step,
};
use crate::bind::DomainRules;
use crate::catalog::{Returns, Routine, RoutineKind};
use crate::routine::{Conflict, Ending};
use crate::sql::parse_expression;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// Statements within statements.
const DEPTH_MAX: usize = 100;

/// What types are called.
pub(super) trait Types {
    /// A type, and what its values must be, if it is a domain.
    fn data_type(&self, text: &str) -> Result<(DataType, Option<Arc<DomainRules>>)>;
    /// What the values of a table's column must be.
    fn of_column(&self, table: &str, column: &str) -> Result<Option<Arc<DomainRules>>>;
    /// The row of a table or view.
    fn row(&self, name: &str) -> Result<Option<Arc<Shape>>>;
}

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
            Some(quoted) => quoted.replace("\"\"", "\""),
            None if text.starts_with(|first: char| first.is_alphabetic() || first == '_') => text.to_ascii_lowercase(),
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

    /// What a variable holds, and what its values must be.
    fn kind(&mut self) -> Result<(Kind, Option<Arc<DomainRules>>)> {
        let text = self.text_until(&[";", ":=", "=", "default", "not", "collate"])?;
        if self.eat("collate") {
            self.identifier()?;
        }
        let squeezed: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let lower = squeezed.to_ascii_lowercase();
        if lower == "record" {
            return Ok((Kind::Row(None), None));
        }
        let unknown = |name: &str| {
            let message = format!("relation \"{name}\" does not exist");
            Error::new(SqlState::UNDEFINED_TABLE, message)
        };
        let without = |suffix: &str| {
            let at = lower.len().checked_sub(suffix.len())?;
            (lower.is_char_boundary(at) && lower[at..] == *suffix)
                .then(|| squeezed[..at].trim_end().trim_end_matches('%').trim_end())
        };
        if let Some(table) = without("%rowtype").or_else(|| without("% rowtype")) {
            let shape = self.types.row(table)?.ok_or_else(|| unknown(table))?;
            return Ok((Kind::Row(Some(shape)), None));
        }
        if let Some(of) = without("%type").or_else(|| without("% type")) {
            return self.type_of(of);
        }
        match self.types.data_type(&squeezed) {
            Ok((data_type, domain)) => Ok((Kind::of(data_type), domain)),
            Err(error) => match self.types.row(&squeezed) {
                Ok(Some(shape)) => Ok((Kind::Row(Some(shape)), None)),
                _ => Err(error),
            },
        }
    }

    /// `name%TYPE`
    fn type_of(&self, name: &str) -> Result<(Kind, Option<Arc<DomainRules>>)> {
        let plain = name.to_ascii_lowercase();
        if let Some(variable) = self.scopes.find(self.scope, None, &plain) {
            let declared = &self.variables[variable];
            return Ok((declared.kind.clone(), declared.domain.clone()));
        }
        let (table, column) = plain.rsplit_once('.').unwrap_or(("", &plain));
        let column = column.trim_matches('"');
        let missing = || {
            let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        };
        if table.is_empty() {
            let message = format!("invalid type name \"{name}%TYPE\"");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let (shape, domain) = match self.scopes.find(self.scope, None, table).map(|at| &self.variables[at].kind) {
            Some(Kind::Row(Some(shape))) => (Some(shape.clone()), None),
            _ => (self.types.row(table)?, self.types.of_column(table, column)?),
        };
        let none = || Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{table}\" does not exist"));
        let shape = shape.ok_or_else(none)?;
        let found = shape.0.iter().find(|(known, _)| known == column);
        found.map(|(_, data_type)| (Kind::Value(*data_type), domain)).ok_or_else(missing)
    }

    fn handlers(&mut self) -> Result<Handlers> {
        let outer = self.enter(None);
        let state = self.add("sqlstate", Kind::Value(DataType::Text));
        let message = self.add("sqlerrm", Kind::Value(DataType::Text));
        let mut all = Vec::new();
        while self.eat("when") {
            let mut conditions = Vec::new();
            loop {
                conditions.extend(self.conditions()?);
                if !self.eat("or") {
                    break;
                }
            }
            self.expect("then")?;
            all.push((conditions, self.statements(&["when", "end"])?));
        }
        self.scope = outer;
        if all.is_empty() { Err(self.unexpected()) } else { Ok(Handlers { state, message, all }) }
    }

    fn conditions(&mut self) -> Result<Vec<Condition>> {
        if self.eat("sqlstate") {
            return Ok(vec![Condition::Code(self.code()?)]);
        }
        let name = self.identifier()?;
        if name == "others" {
            return Ok(vec![Condition::Others]);
        }
        Ok(condition_codes(&name)?.into_iter().map(Condition::Code).collect())
    }

    /// `'22012'`
    fn code(&mut self) -> Result<String> {
        let code = self.string()?;
        let is_code = code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        if is_code { Ok(code) } else { Err(Error::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code")) }
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

    fn diagnostics(&mut self) -> Result<Statement> {
        self.advance();
        let stacked = self.eat("stacked");
        if !stacked {
            self.eat("current");
        }
        self.expect("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let place = self.known_place()?;
            if !self.eat(":=") {
                self.expect("=")?;
            }
            let name = self.identifier()?;
            let item = match (name.as_str(), stacked) {
                ("row_count", false) => Item::RowCount,
                ("returned_sqlstate", true) => Item::ReturnedState,
                ("message_text", true) => Item::MessageText,
                ("pg_exception_detail", true) => Item::Detail,
                ("pg_exception_hint", true) => Item::Hint,
                ("constraint_name", true) => Item::Constraint,
                ("schema_name", true) => Item::Schema,
                ("table_name", true) => Item::Table,
                ("column_name", true) => Item::Column,
                ("pg_datatype_name", true) => Item::DataType,
                ("pg_exception_context", true) => Item::ErrorContext,
                ("pg_context", false) => Item::Context,
                _ => return Err(Error::unsupported(format!("GET DIAGNOSTICS of {}", name.to_uppercase()))),
            };
            items.push((place, item));
            if !self.eat(",") {
                return Ok(Statement::Diagnostics(items));
            }
        }
    }

    fn raise(&mut self) -> Result<Statement> {
        self.advance();
        let level = match self.ahead(0).to_ascii_lowercase().as_str() {
            "debug" => Some(Level::Debug),
            "log" => Some(Level::Log),
            "info" => Some(Level::Info),
            "notice" => Some(Level::Notice),
            "warning" => Some(Level::Warning),
            "exception" => Some(Level::Exception),
            _ => None,
        };
        if level.is_some() {
            self.advance();
        }
        let mut raise = Raise {
            level: level.or(Some(Level::Exception)),
            code: None,
            condition: None,
            format: None,
            options: vec![],
        };
        if self.is(";") {
            return match level {
                None => Ok(Statement::Raise(Raise { level: None, ..raise })),
                Some(_) => Err(self.unexpected()),
            };
        }
        if self.token().kind == TokenKind::StringConst {
            let format = self.string()?;
            let args = if self.eat(",") { self.expressions(&["using", ";"])? } else { vec![] };
            let wanted = format.replace("%%", "").matches('%').count();
            let wrong = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message));
            match wanted {
                wanted if wanted < args.len() => return wrong("too many parameters specified for RAISE"),
                wanted if wanted > args.len() => return wrong("too few parameters specified for RAISE"),
                _ => raise.format = Some((format, args)),
            }
        } else if self.eat("sqlstate") {
            raise.code = Some(self.code()?);
            raise.condition.clone_from(&raise.code);
        } else if !self.is("using") {
            let name = self.identifier()?;
            raise.code = condition_codes(&name)?.into_iter().next();
            raise.condition = Some(name);
        }
        if self.eat("using") {
            loop {
                let name = self.identifier()?;
                let option = match name.as_str() {
                    "errcode" => RaiseOption::Code,
                    "message" => RaiseOption::Message,
                    "detail" => RaiseOption::Detail,
                    "hint" => RaiseOption::Hint,
                    "constraint" => RaiseOption::Constraint,
                    "column" => RaiseOption::Column,
                    "table" => RaiseOption::Table,
                    "datatype" => RaiseOption::DataType,
                    "schema" => RaiseOption::Schema,
                    _ => {
                        let message = format!("unrecognized RAISE statement option at or near \"{name}\"");
                        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                    }
                };
                if !self.eat("=") {
                    self.expect(":=")?;
                }
                raise.options.push((option, self.expression(&[",", ";"])?));
                if !self.eat(",") {
                    break;
                }
            }
        }
        Ok(Statement::Raise(raise))
    }
}

fn condition_codes(name: &str) -> Result<Vec<String>> {
    let code = code_of(name);
    let unknown = || Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{name}\""));
    code.map(|code| vec![code.to_owned()]).ok_or_else(unknown)
}

fn written(text: &str, token: Token) -> &str {
    text.get(token.start as usize..token.end as usize).unwrap_or("")
}
