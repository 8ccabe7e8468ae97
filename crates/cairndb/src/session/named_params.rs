//! Parameters by name: the statement's text gets their numbers.

use std::borrow::Cow;

use cairn_parser::TokenKind;
use cairn_parser::token::{Lexer, Placeholders, fold_identifier};

use super::{Params, ToValue};
use crate::types::ValueRef;
use crate::{Error, Result, SqlState};

/// From [`params!`](crate::params) with names.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let sum: i32 = conn.query_row_as("SELECT :a::int + :b", cairndb::params! { a: 40, b: 2 })?;
/// assert_eq!(sum, 42);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct NamedParams<'a, const N: usize> {
    names: [&'a str; N],
    values: [&'a dyn ToValue; N],
}

impl<'a, const N: usize> NamedParams<'a, N> {
    /// The values of these names, which are without their colon, as the statement has them: in lower case.
    pub fn new(names: [&'a str; N], values: [&'a dyn ToValue; N]) -> NamedParams<'a, N> {
        NamedParams { names, values }
    }
}

impl<const N: usize> Params for NamedParams<'_, N> {
    fn count(&self) -> usize {
        N
    }
    fn value(&self, index: usize) -> ValueRef<'_> {
        self.values.get(index).map_or(ValueRef::Null, |value| value.to_value())
    }
    fn names(&self) -> Option<&[&str]> {
        Some(&self.names)
    }
}

/// The text of a statement with numbers for names, where the parameters have such. What else is wrong with it is for the parser
/// to say; places in it stay what they are, but where a number is longer than the name was.
///
/// # Errors
///
/// SQLSTATE 42P02 where a name is none of the parameters', or a parameter's is not in the text.
pub fn text_for<'t>(sql: &'t str, params: &dyn Params) -> Result<Cow<'t, str>> {
    let Some(names) = params.names() else { return Ok(Cow::Borrowed(sql)) };
    let mut used = vec![false; names.len()];
    let text = with_numbers(sql, |name, start| {
        let Some(at) = place_of(names, name) else {
            let message = format!("there is no parameter :{name}");
            let hint = format!("The parameters are :{}. (A slice needs a blank behind its colon.)", names.join(", :"));
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, message)
                .with_hint(hint)
                .at(sql[..start].chars().count() + 1));
        };
        used[at] = true;
        Ok(at)
    })?;
    match used.iter().position(|used| !used) {
        Some(at) => Err(not_in_statement(names[at])),
        None => Ok(Cow::Owned(text)),
    }
}

fn place_of(names: &[impl AsRef<str>], name: &str) -> Option<usize> {
    let folded = fold_identifier(name);
    names.iter().position(|known| fold_identifier(known.as_ref()) == folded)
}

fn not_in_statement(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_PARAMETER, format!("the statement has no parameter :{name}"))
}

/// The text with a number for each name: `number` tells which from 0, of the name and its place.
fn with_numbers(sql: &str, mut number: impl FnMut(&str, usize) -> Result<usize>) -> Result<String> {
    let mut lexer = Lexer::new(sql, 0, Placeholders { question_marks: false, names: true });
    let (mut text, mut done) = (String::with_capacity(sql.len()), 0);
    loop {
        let token = lexer.next_token();
        let (start, end) = (token.start as usize, token.end as usize);
        match token.kind {
            TokenKind::Eof | TokenKind::Bad => break,
            TokenKind::Param => {}
            _ => continue,
        }
        let Some(name) = sql.get(start..end).and_then(|written| written.strip_prefix(':')) else { continue };
        let at = number(name, start)?;
        text.push_str(&sql[done..start]);
        let begin = text.len();
        text.push_str(&format!("${}", at + 1));
        text.extend(std::iter::repeat_n(' ', (end - start).saturating_sub(text.len() - begin)));
        done = end;
    }
    Ok(text + &sql[done..])
}

/// The text of a statement with numbers for names, and the names in their order; `None`: it has none.
pub(super) fn numbered(sql: &str) -> Option<(String, Vec<String>)> {
    if !sql.contains(':') {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    let text = with_numbers(sql, |name, _| {
        Ok(place_of(&names, name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        }))
    });
    text.ok().filter(|_| !names.is_empty()).map(|text| (text, names))
}

/// Parameters in the order of a prepared statement's names.
pub(crate) struct Ordered<'p> {
    params: &'p dyn Params,
    /// Where each is.
    places: Vec<usize>,
}

impl Params for Ordered<'_> {
    fn count(&self) -> usize {
        self.places.len()
    }
    fn value(&self, index: usize) -> ValueRef<'_> {
        self.places.get(index).map_or(ValueRef::Null, |place| self.params.value(*place))
    }
}

impl<'p> Ordered<'p> {
    /// SQLSTATE 42P02 where a statement's name is none of theirs, or one of theirs is not in it.
    pub(crate) fn new(params: &'p dyn Params, given: &[&str], wanted: &[String]) -> Result<Ordered<'p>> {
        let place = |name: &String| {
            place_of(given, name).ok_or_else(|| {
                let message = format!("there is no parameter :{name}");
                let hint = format!("The parameters are :{}.", given.join(", :"));
                Error::new(SqlState::UNDEFINED_PARAMETER, message).with_hint(hint)
            })
        };
        let places = wanted.iter().map(place).collect::<Result<Vec<usize>>>()?;
        match given.iter().find(|name| place_of(wanted, name).is_none()) {
            Some(name) => Err(not_in_statement(name)),
            None => Ok(Ordered { params, places }),
        }
    }
}

/// SQLSTATE 0A000 for names where the text was taken before they were known.
#[inline]
pub fn refuse_names(params: &(impl Params + ?Sized)) -> Result<()> {
    if params.names().is_some() { Err(refused()) } else { Ok(()) }
}

#[cold]
fn refused() -> Error {
    Error::unsupported("giving rows by parameters' names").with_hint("Give the values in their order, without names.")
}

/// Parameters, as many and of whatever types.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let (id, name) = (7, String::from("seven"));
/// let (n, text): (i32, String) = conn.query_row_as("SELECT $1::int, $2::text", cairndb::params![id, name])?;
/// assert_eq!((n, text), (id, name));
/// # Ok::<(), cairndb::Error>(())
/// ```
///
/// With names they are the statement's `:name`, as often as each stands there (a slice `a[1:n]` needs a blank behind its colon
/// then). Who runs a statement often should prepare it.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let twice: (i64,) = conn.query_row_as("SELECT :n::bigint + :n + :more", cairndb::params! { n: 20, more: 2 })?;
/// assert_eq!(twice, (42,));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[macro_export]
macro_rules! params {
    () => { () };
    ($($name:ident : $value:expr),+ $(,)?) => {
        $crate::NamedParams::new([$(stringify!($name)),+], [$(&$value as &dyn $crate::ToValue),+])
    };
    ($($value:expr),+ $(,)?) => { [$(&$value as &dyn $crate::ToValue),+] };
}
