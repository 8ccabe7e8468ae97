//! Parameters by name: the statement's text gets their numbers.

use std::borrow::Cow;

use cairn_parser::TokenKind;
use cairn_parser::token::{Lexer, Placeholders, fold_identifier};

use super::{Params, ToValue};
use crate::types::ValueRef;
use crate::{Error, Result, SqlState};

/// From [`params!`](crate::params) with names.
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
    let mut lexer = Lexer::new(sql, 0, Placeholders { question_marks: false, names: true });
    let (mut text, mut done, mut used) = (String::with_capacity(sql.len()), 0, vec![false; names.len()]);
    loop {
        let token = lexer.next_token();
        let (start, end) = (token.start as usize, token.end as usize);
        match token.kind {
            TokenKind::Eof | TokenKind::Bad => break,
            TokenKind::Param => {}
            _ => continue,
        }
        let Some(name) = sql.get(start..end).and_then(|written| written.strip_prefix(':')) else { continue };
        let folded = fold_identifier(name);
        let Some(at) = names.iter().position(|known| fold_identifier(known) == folded) else {
            let message = format!("there is no parameter :{name}");
            let hint = format!("The parameters are :{}. (A slice needs a blank behind its colon.)", names.join(", :"));
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, message)
                .with_hint(hint)
                .at(sql[..start].chars().count() + 1));
        };
        used[at] = true;
        text.push_str(&sql[done..start]);
        let begin = text.len();
        text.push_str(&format!("${}", at + 1));
        text.extend(std::iter::repeat_n(' ', (end - start).saturating_sub(text.len() - begin)));
        done = end;
    }
    match used.iter().position(|used| !used) {
        Some(at) => {
            let message = format!("the statement has no parameter :{}", names[at]);
            Err(Error::new(SqlState::UNDEFINED_PARAMETER, message))
        }
        None => Ok(Cow::Owned(text + &sql[done..])),
    }
}

/// SQLSTATE 0A000 for names where the text was taken before they were known.
#[inline]
pub fn refuse_names(params: &(impl Params + ?Sized)) -> Result<()> {
    if params.names().is_some() { Err(refused()) } else { Ok(()) }
}

#[cold]
fn refused() -> Error {
    Error::unsupported("names of parameters for a prepared statement")
        .with_hint("Write $1, $2, and give them in this order, or run the text with its names by the connection.")
}
