//! RAISE, ASSERT, GET DIAGNOSTICS.

use super::{Run, error};
use crate::notice::Notice;
use crate::routine::plpgsql::convert::shown;
use crate::routine::plpgsql::fragment::Fragment;
use crate::routine::plpgsql::tree::{Item, Level, Place, Raise, RaiseOption};
use crate::types::DataType;
use crate::{Error, Result, SqlState, Value};

impl Run<'_> {
    pub(super) fn raise(&mut self, raise: &Raise) -> Result<()> {
        let Some(level) = raise.level else {
            let again = self.handled.last().cloned();
            self.again = again.is_some();
            let outside = "RAISE without parameters cannot be used outside an exception handler";
            return Err(again.unwrap_or_else(|| error("0Z002", outside)));
        };
        let mut message = match &raise.format {
            Some((format, args)) => Some(self.formatted(format, args)?),
            None => None,
        };
        let (mut code, mut about) = (raise.code.clone(), Vec::new());
        for (option, value) in &raise.options {
            let (value, _) = self.value(value)?;
            if value.is_null() {
                return Err(error("22004", "RAISE statement option cannot be null"));
            }
            let text = shown(&value, &self.context.eval);
            match option {
                RaiseOption::Code => code = Some(code_or_condition(&text)?),
                RaiseOption::Message if message.is_some() => {
                    return Err(error("42601", "RAISE option already specified: MESSAGE"));
                }
                RaiseOption::Message => message = Some(text),
                option if about.iter().any(|(known, _)| known == option) => {
                    return Err(error("42601", format!("RAISE option already specified: {}", option.name())));
                }
                option => about.push((*option, text)),
            }
        }
        let is_error = level == Level::Exception;
        let default = if is_error { "P0001" } else { "00000" };
        let message = message.or_else(|| raise.condition.clone()).or_else(|| code.clone());
        let message = message.unwrap_or_else(|| "unhandled exception".to_owned());
        let code = SqlState::interned(code.as_deref().unwrap_or(default));
        if !is_error {
            let severity = match level {
                Level::Warning => "WARNING",
                Level::Info => "INFO",
                Level::Notice => "NOTICE",
                // Nobody is told of those unless he asks.
                Level::Debug => "DEBUG",
                Level::Log | Level::Exception => "LOG",
            };
            let detail = about.into_iter().find(|(option, _)| *option == RaiseOption::Detail).map(|(_, text)| text);
            self.runner.notice(Notice { severity, code, message, detail });
            return Ok(());
        }
        let with = |raised: Error, (option, text): (RaiseOption, String)| match option {
            RaiseOption::Code | RaiseOption::Message => raised,
            RaiseOption::Detail => raised.with_detail(text),
            RaiseOption::Hint => raised.with_hint(text),
            RaiseOption::Constraint => raised.with_constraint(text),
            RaiseOption::Schema => raised.with_schema(text),
            RaiseOption::Table => raised.with_table(text),
            RaiseOption::Column => raised.with_column(text),
            RaiseOption::DataType => raised.with_data_type(text),
        };
        Err(about.into_iter().fold(Error::new(code, message), with))
    }

    pub(super) fn formatted(&self, format: &str, args: &[Fragment]) -> Result<String> {
        let (mut text, mut args, mut rest) = (String::new(), args.iter(), format);
        while let Some(at) = rest.find('%') {
            text.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix('%') {
                text.push('%');
                rest = behind;
                continue;
            }
            let Some(argument) = args.next() else { return Err(Error::internal("RAISE lacks a value")) };
            let (value, _) = self.value(argument)?;
            match value.is_null() {
                true => text.push_str("<NULL>"),
                false => text.push_str(&shown(&value, &self.context.eval)),
            }
        }
        text.push_str(rest);
        Ok(text)
    }

    pub(super) fn assert(&self, condition: &Fragment, message: Option<&Fragment>) -> Result<()> {
        let (value, _) = self.value(condition)?;
        if value == Value::Boolean(true) {
            return Ok(());
        }
        let said = match message {
            Some(message) => {
                let (value, _) = self.value(message)?;
                if value.is_null() { None } else { Some(shown(&value, &self.context.eval)) }
            }
            None => None,
        };
        Err(error("P0004", said.unwrap_or_else(|| "assertion failed".to_owned())))
    }

    pub(super) fn diagnostics(&mut self, items: &[(Place, Item)]) -> Result<()> {
        for (place, item) in items {
            if let (Item::RowCount, count) = (item, self.row_count) {
                self.assign(place, Value::BigInt(count.cast_signed()), DataType::BigInt)?;
                continue;
            }
            if *item == Item::Context {
                let here = self.place(Some((self.line, "GET DIAGNOSTICS")));
                self.assign(place, Value::text(here), DataType::Text)?;
                continue;
            }
            let outside = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            let handled = self.handled.last().ok_or_else(|| error("0Z002", outside))?;
            let text = match item {
                Item::ReturnedState => handled.sqlstate().0,
                Item::MessageText => handled.message(),
                Item::Detail => handled.detail().unwrap_or_default(),
                Item::Hint => handled.hint().unwrap_or_default(),
                Item::Schema => handled.schema().unwrap_or_default(),
                Item::Table => handled.table().unwrap_or_default(),
                Item::Column => handled.column().unwrap_or_default(),
                Item::DataType => handled.data_type().unwrap_or_default(),
                Item::ErrorContext => handled.context().unwrap_or_default(),
                _ => handled.constraint().unwrap_or_default(),
            };
            let text = Value::text(text);
            self.assign(place, text, DataType::Text)?;
        }
        Ok(())
    }
}

fn code_or_condition(text: &str) -> Result<String> {
    let is_code = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    match crate::routine::plpgsql::conditions::code_of(text) {
        _ if is_code => Ok(text.to_owned()),
        Some(code) => Ok(code.to_owned()),
        None => Err(error("42704", format!("unrecognized exception condition \"{text}\""))),
    }
}
