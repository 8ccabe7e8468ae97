//! Errors: EXCEPTION, RAISE, GET DIAGNOSTICS.

use cairn_parser::TokenKind;

use super::Parser;
use crate::routine::plpgsql::conditions::code_of;
use crate::routine::plpgsql::tree::{Condition, Handlers, Item, Kind, Level, Raise, RaiseOption, Statement};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Parser<'_> {
    pub(super) fn handlers(&mut self) -> Result<Handlers> {
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

    pub(super) fn diagnostics(&mut self) -> Result<Statement> {
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

    pub(super) fn raise(&mut self) -> Result<Statement> {
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
