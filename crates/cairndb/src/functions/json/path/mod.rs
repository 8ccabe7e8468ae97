//! `jsonb_path_exists`, `jsonb_path_query` and their like; `@?`, `@@`.

mod compare;
mod run;

use std::borrow::Cow;

use super::{BOOLEAN, JSONB};
use crate::functions::catalogue::{Catalogue, Eval};
use crate::functions::support::wrong_arguments;
use crate::types::{DataType, EvalContext, Json, JsonBuilder, JsonPath, Jsonb, Value};
use crate::{Error, Result, SqlState};

use run::Run;

static ARGS: [DataType; 4] = [JSONB, DataType::JsonPath, JSONB, BOOLEAN];

pub(super) fn register(catalogue: &mut Catalogue) {
    let functions: [(&str, DataType, Eval); 4] = [
        ("jsonb_path_exists", BOOLEAN, |args, eval| exists(&Call::of(args, eval)?)),
        ("jsonb_path_match", BOOLEAN, |args, eval| holds(&Call::of(args, eval)?)),
        ("jsonb_path_query_array", JSONB, |args, eval| query_array(&Call::of(args, eval)?)),
        ("jsonb_path_query_first", JSONB, |args, eval| query_first(&Call::of(args, eval)?)),
    ];
    for (name, returns, eval) in functions {
        for count in 2..=ARGS.len() {
            catalogue.add(name, &ARGS[..count], returns, eval);
        }
    }
    catalogue.add("@?", &ARGS[..2], BOOLEAN, |args, eval| exists(&Call::of_operator(args, eval)?));
    catalogue.add("@@", &ARGS[..2], BOOLEAN, |args, eval| holds(&Call::of_operator(args, eval)?));
}

/// What a path is asked about.
struct Call<'a> {
    document: &'a Jsonb,
    path: &'a JsonPath,
    variables: Cow<'a, Jsonb>,
    /// Errors about what is in the document are no errors, but no answer.
    silent: bool,
    eval: &'a EvalContext,
}

impl<'a> Call<'a> {
    fn of(args: &'a [Value], eval: &'a EvalContext) -> Result<Call<'a>> {
        let (document, path, rest) = match args {
            [Value::Jsonb(document), Value::JsonPath(path), rest @ ..] => (document, path, rest),
            _ => return Err(wrong_arguments(args)),
        };
        let (variables, silent) = match rest {
            [] => {
                let mut none = JsonBuilder::default();
                none.begin_object()?;
                none.end()?;
                (Cow::Owned(none.finish()?), false)
            }
            [Value::Jsonb(variables)] => (Cow::Borrowed(variables), false),
            [Value::Jsonb(variables), Value::Boolean(silent)] => (Cow::Borrowed(variables), *silent),
            _ => return Err(wrong_arguments(args)),
        };
        if !matches!(variables.root().read()?, Json::Object(_)) {
            let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, "\"vars\" argument is not an object");
            let detail = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
            return Err(error.with_detail(detail));
        }
        Ok(Call { document, path, variables, silent, eval })
    }

    /// Of an operator: silent, and each variable is null.
    fn of_operator(args: &'a [Value], eval: &'a EvalContext) -> Result<Call<'a>> {
        let mut null = JsonBuilder::default();
        null.null();
        Ok(Call { silent: true, variables: Cow::Owned(null.finish()?), ..Call::of(args, eval)? })
    }

    fn run(&self) -> Run<'_> {
        Run::new(self.document, self.path, &self.variables, self.eval)
    }

    /// What the path finds; up to an error that is passed over.
    fn items(&self) -> Result<Vec<Jsonb>> {
        self.run().items(self.silent)
    }

    fn answer<'c, T>(&'c self, run: impl FnOnce(Run<'c>) -> Result<T>) -> Result<Option<T>> {
        match run(self.run()) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if self.silent && is_about_data(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// PostgreSQL's errors that `silent` passes over.
fn is_about_data(error: &Error) -> bool {
    let code = error.sqlstate().0;
    code.starts_with("2203") || matches!(error.sqlstate(), SqlState::DIVISION_BY_ZERO)
}

fn exists(call: &Call<'_>) -> Result<Value> {
    let found = call.answer(Run::any)?;
    Ok(found.map_or(Value::Null, Value::Boolean))
}

fn holds(call: &Call<'_>) -> Result<Value> {
    let items = call.items()?;
    if let [only] = items.as_slice() {
        match only.root().read()? {
            Json::Boolean(value) => return Ok(Value::Boolean(value)),
            Json::Null => return Ok(Value::Null),
            _ => {}
        }
    }
    match call.silent {
        true => Ok(Value::Null),
        false => Err(Error::new(SqlState("22038"), "single boolean result is expected")),
    }
}

fn query_array(call: &Call<'_>) -> Result<Value> {
    let mut out = JsonBuilder::default();
    out.begin_array()?;
    call.items()?.iter().try_for_each(|item| out.node(item.root()))?;
    out.end()?;
    out.finish().map(Value::Jsonb)
}

fn query_first(call: &Call<'_>) -> Result<Value> {
    Ok(call.items()?.into_iter().next().map_or(Value::Null, Value::Jsonb))
}

/// The rows of `jsonb_path_query`.
pub(super) fn query(args: &[Value], eval: &EvalContext) -> Result<Vec<Value>> {
    if args.iter().any(Value::is_null) {
        return Ok(vec![]);
    }
    Ok(Call::of(args, eval)?.items()?.into_iter().map(Value::Jsonb).collect())
}
