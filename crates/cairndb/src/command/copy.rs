//! COPY, with its options as PostgreSQL checks them.

use cairn_parser::{Id, Statement, TokenKind};

use super::clause::Clause;
use crate::catalog::ObjectName;
use crate::copy::{Format, Header};
use crate::types::Encoding;
use crate::{Error, Result, SqlState};

/// COPY.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) what: Copied,
    pub(crate) endpoint: Endpoint,
    /// In binary, of which there is one form only; otherwise as `format` says.
    pub(crate) is_binary: bool,
    pub(crate) format: Format,
    /// Of text and CSV.
    pub(crate) encoding: Encoding,
    pub(crate) force_quote: Forced,
    pub(crate) force_not_null: Vec<String>,
    pub(crate) force_null: Vec<String>,
    /// WHERE, over the columns of the table.
    pub(crate) filter: Option<String>,
    /// FREEZE: of a table that nobody else has seen.
    pub(crate) freezes: bool,
}

/// What is copied, and which way.
#[derive(Debug)]
pub(crate) enum Copied {
    Into { table: ObjectName, columns: Vec<String> },
    From { table: ObjectName, columns: Vec<String> },
    Query(Id<Statement>),
}

/// Where the other end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// STDIN, STDOUT.
    Client,
    File,
    Program,
}

/// FORCE_QUOTE.
#[derive(Debug, Default)]
pub(crate) enum Forced {
    #[default]
    None,
    All,
    Columns(Vec<String>),
}

/// What an option is given.
enum Given<'p> {
    Nothing,
    Star,
    Text(String),
    Names(Vec<String>),
    /// The word stands in the old form, which says what it says by itself.
    Old(Clause<'p>),
}

/// The options as they are said.
#[derive(Default)]
struct Options {
    form: Option<Form>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<Header>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Option<Forced>,
    force_not_null: Option<Vec<String>>,
    force_null: Option<Vec<String>>,
    encoding: Option<Encoding>,
    freezes: Option<bool>,
}

/// FORMAT.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Csv,
    Binary,
}

impl Copy {
    pub(super) fn of(command: Clause<'_>) -> Result<Copy> {
        let file = command.part("copy_file").ok_or_else(|| Error::internal("COPY to nowhere"))?;
        let endpoint = match () {
            () if file.has(TokenKind::Program) => Endpoint::Program,
            () if file.constant_text().is_some() => Endpoint::File,
            () => Endpoint::Client,
        };
        let query = command.part("data_statement").and_then(Clause::statement).or_else(|| command.statement());
        let is_from = command.has(TokenKind::From);
        let what = match query {
            Some(query) => Copied::Query(query),
            None => {
                let (table, columns) = (command.relation()?, command.names_in("columns"));
                if is_from { Copied::Into { table, columns } } else { Copied::From { table, columns } }
            }
        };
        let mut options = Options::default();
        if command.has(TokenKind::Binary) {
            options.form = Some(Form::Binary);
        }
        if command.has(TokenKind::Delimiters) {
            options.delimiter = command.constant_text();
        }
        let said = command.part("copy_options");
        for option in said.into_iter().flat_map(|said| said.parts("copy_option")) {
            let given = match () {
                () if option.has(TokenKind::Star) => Given::Star,
                () if option.has(TokenKind::LeftParen) => {
                    Given::Names(option.parts("option_word").map(Clause::value_text).collect())
                }
                () => match option.part("option_word").or_else(|| option.part("number")) {
                    Some(value) => Given::Text(value.value_text()),
                    None => Given::Nothing,
                },
            };
            options.set(option, &option.name()?, given)?;
        }
        for option in said.into_iter().flat_map(|said| said.parts("copy_old_option")) {
            options.set(option, old_name(option)?, Given::Old(option))?;
        }
        let filter = command.part("copy_where").map(Clause::expr).transpose()?;
        options.checked(what, is_from, endpoint, filter.map(|filter| command.tree().print(filter)))
    }
}

/// What the option is called in the form that has parentheses.
fn old_name(option: Clause<'_>) -> Result<&'static str> {
    use TokenKind as T;
    let names = [
        (T::Binary, "binary"),
        (T::Freeze, "freeze"),
        (T::Delimiter, "delimiter"),
        (T::Escape, "escape"),
        (T::Csv, "csv"),
        (T::Header, "header"),
        (T::Encoding, "encoding"),
    ];
    Ok(match () {
        () if option.has(T::Force) && option.has(T::Quote) => "force_quote",
        () if option.has(T::Force) && option.has(T::Not) => "force_not_null",
        () if option.has(T::Force) => "force_null",
        () if option.has(T::Quote) => "quote",
        () if option.has(T::Null) => "null",
        () => match names.iter().find(|(word, _)| option.has(*word)) {
            Some((_, name)) => name,
            None => return Err(Error::internal("an option of COPY without a name")),
        },
    })
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn unfit(message: impl Into<String>) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

impl Given<'_> {
    fn text(&self, name: &str) -> Result<String> {
        match self {
            Given::Text(text) => Ok(text.clone()),
            Given::Old(option) => option.constant_text().ok_or_else(|| Error::internal("an option without its value")),
            _ => Err(Error::new(SqlState::SYNTAX_ERROR, format!("{name} requires a parameter"))),
        }
    }

    fn names(&self, name: &str) -> Result<Vec<String>> {
        match self {
            Given::Names(names) => Ok(names.clone()),
            Given::Old(option) => Ok(option.names().collect()),
            _ => Err(invalid(format!("argument to option \"{name}\" must be a list of column names"))),
        }
    }

    fn switch(&self) -> Option<bool> {
        match self {
            Given::Nothing | Given::Old(_) => Some(true),
            Given::Text(text) => match text.to_ascii_lowercase().as_str() {
                "true" | "on" | "1" => Some(true),
                "false" | "off" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    fn header(&self) -> Result<Header> {
        match (self.switch(), self) {
            (Some(true), _) => Ok(Header::Yes),
            (Some(false), _) => Ok(Header::No),
            (None, Given::Text(text)) if text.eq_ignore_ascii_case("match") => Ok(Header::Match),
            _ => {
                let message = "header requires a Boolean value or \"match\"";
                Err(Error::new(SqlState::SYNTAX_ERROR, message))
            }
        }
    }
}

/// SQLSTATE 42601 where it was said before.
fn once<T>(slot: &mut Option<T>, value: T) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")),
    }
}

impl Options {
    fn set(&mut self, option: Clause<'_>, name: &str, given: Given<'_>) -> Result<()> {
        self.take(option, name, &given).map_err(|error| match error.sqlstate() {
            SqlState::SYNTAX_ERROR | SqlState::INVALID_PARAMETER_VALUE => option.here(error),
            _ => error,
        })
    }

    fn take(&mut self, option: Clause<'_>, name: &str, given: &Given<'_>) -> Result<()> {
        match name {
            "format" => match given.text(name)?.as_str() {
                "text" => once(&mut self.form, Form::Text),
                "csv" => once(&mut self.form, Form::Csv),
                "binary" => once(&mut self.form, Form::Binary),
                other => Err(invalid(format!("COPY format \"{other}\" not recognized"))),
            },
            "csv" if matches!(given, Given::Old(_)) => once(&mut self.form, Form::Csv),
            "binary" if matches!(given, Given::Old(_)) => once(&mut self.form, Form::Binary),
            "freeze" => match given.switch() {
                Some(freezes) => once(&mut self.freezes, freezes),
                None => Err(Error::new(SqlState::SYNTAX_ERROR, "freeze requires a Boolean value")),
            },
            "delimiter" => once(&mut self.delimiter, given.text(name)?),
            "null" => once(&mut self.null, given.text(name)?),
            "header" => once(&mut self.header, given.header()?),
            "quote" => once(&mut self.quote, given.text(name)?),
            "escape" => once(&mut self.escape, given.text(name)?),
            "force_quote" => {
                let is_star = |option: &Clause<'_>| option.has(TokenKind::Star);
                let forced = match given {
                    Given::Star => Forced::All,
                    Given::Old(option) if is_star(option) => Forced::All,
                    given => Forced::Columns(given.names(name)?),
                };
                once(&mut self.force_quote, forced)
            }
            "force_not_null" => once(&mut self.force_not_null, given.names(name)?),
            "force_null" => once(&mut self.force_null, given.names(name)?),
            "encoding" => {
                let none = || invalid(format!("argument to option \"{name}\" must be a valid encoding name"));
                let encoding = Encoding::of(&given.text(name)?).ok_or_else(none)?;
                encoding.decoder().map_err(|error| option.here(error))?;
                once(&mut self.encoding, encoding)
            }
            name => Err(Error::new(SqlState::SYNTAX_ERROR, format!("option \"{name}\" not recognized"))),
        }
    }

    /// In PostgreSQL's order of what is looked at.
    fn checked(self, what: Copied, is_from: bool, endpoint: Endpoint, filter: Option<String>) -> Result<Copy> {
        let (csv, is_binary) = (self.form == Some(Form::Csv), self.form == Some(Form::Binary));
        let not_binary = |said: bool, what: &str| match said && is_binary {
            true => Err(format!("cannot specify {what} in BINARY mode")),
            false => Ok(()),
        };
        let syntax = |message| Error::new(SqlState::SYNTAX_ERROR, message);
        not_binary(self.delimiter.is_some(), "DELIMITER").map_err(syntax)?;
        not_binary(self.null.is_some(), "NULL").map_err(syntax)?;
        let mut format = Format::new(csv);
        let one_byte = |text: &str, what: &str| match text.as_bytes() {
            [byte] => Ok(*byte),
            _ => Err(unfit(format!("COPY {what} must be a single one-byte character"))),
        };
        if let Some(delimiter) = &self.delimiter {
            format.delimiter = one_byte(delimiter, "delimiter")?;
        }
        if matches!(format.delimiter, b'\n' | b'\r') {
            return Err(invalid("COPY delimiter cannot be newline or carriage return"));
        }
        if let Some(null) = self.null {
            format.null = null;
        }
        if format.null.contains(['\n', '\r']) {
            return Err(invalid("COPY null representation cannot use newline or carriage return"));
        }
        if !csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&format.delimiter) {
            return Err(invalid(format!("COPY delimiter cannot be \"{}\"", char::from(format.delimiter))));
        }
        let encoding = self.encoding.unwrap_or(Encoding::UTF8);
        not_binary(encoding.decoder()?.is_some(), "ENCODING").map_err(unfit)?;
        not_binary(self.header.is_some_and(|header| header != Header::No), "HEADER").map_err(unfit)?;
        let only_csv = |said: bool, what: &str| match said && !csv {
            true => Err(unfit(format!("COPY {what} available only in CSV mode"))),
            false => Ok(()),
        };
        only_csv(self.quote.is_some(), "quote")?;
        if let Some(quote) = &self.quote {
            format.quote = one_byte(quote, "quote")?;
        }
        if csv && format.delimiter == format.quote {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        only_csv(self.escape.is_some(), "escape")?;
        format.escape = match &self.escape {
            Some(escape) => one_byte(escape, "escape")?,
            None => format.quote,
        };
        let only_when = |said: bool, holds: bool, what: &str, when: &str| match said && !holds {
            true => Err(unfit(format!("COPY {what} only available using COPY {when}"))),
            false => Ok(()),
        };
        only_csv(self.force_quote.is_some(), "force quote")?;
        only_when(self.force_quote.is_some(), !is_from, "force quote", "TO")?;
        only_csv(self.force_not_null.is_some(), "force not null")?;
        only_when(self.force_not_null.is_some(), is_from, "force not null", "FROM")?;
        only_csv(self.force_null.is_some(), "force null")?;
        only_when(self.force_null.is_some(), is_from, "force null", "FROM")?;
        if format.null.as_bytes().contains(&format.delimiter) {
            return Err(invalid("COPY delimiter must not appear in the NULL specification"));
        }
        if csv && format.null.as_bytes().contains(&format.quote) {
            return Err(invalid("CSV quote character must not appear in the NULL specification"));
        }
        format.header = self.header.unwrap_or_default();
        if format.header == Header::Match && !is_from {
            return Err(unfit("cannot use \"match\" with HEADER in COPY TO"));
        }
        Ok(Copy {
            what,
            endpoint,
            is_binary,
            format,
            encoding,
            force_quote: self.force_quote.unwrap_or_default(),
            force_not_null: self.force_not_null.unwrap_or_default(),
            force_null: self.force_null.unwrap_or_default(),
            filter,
            freezes: self.freezes.unwrap_or(false),
        })
    }
}
