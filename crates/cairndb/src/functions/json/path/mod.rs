//! `jsonb_path_exists`, `jsonb_path_query` and their like, with `_tz` and without; `@?`, `@@`.

mod compare;
mod fields;
mod layout;
mod moment;
mod run;
mod template;

use std::borrow::Cow;

use super::{BOOLEAN, JSONB};
use crate::functions::catalogue::{Catalogue, Eval, Parameter};
use crate::functions::support::wrong_arguments;
use crate::functions::{Declared, SetRows};
use crate::types::{DataType, EvalContext, Json, JsonBuilder, JsonPath, Jsonb, Value};
use crate::{Error, Result, SqlState};

use run::Run;

static PARAMETERS: [Parameter; 4] = [("target", None), ("path", None), ("vars", Some("{}")), ("silent", Some("false"))];
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
            catalogue.add(name, &ARGS[..count], returns, eval).parameters(parameters(count));
        }
    }
    let zoned: [(&str, DataType, Eval); 4] = [
        ("jsonb_path_exists_tz", BOOLEAN, |args, eval| exists(&Call::of(args, eval)?.zoned())),
        ("jsonb_path_match_tz", BOOLEAN, |args, eval| holds(&Call::of(args, eval)?.zoned())),
        ("jsonb_path_query_array_tz", JSONB, |args, eval| query_array(&Call::of(args, eval)?.zoned())),
        ("jsonb_path_query_first_tz", JSONB, |args, eval| query_first(&Call::of(args, eval)?.zoned())),
    ];
    for (name, returns, eval) in zoned {
        for count in 2..=ARGS.len() {
            catalogue.add(name, &ARGS[..count], returns, eval).parameters(parameters(count)).stable();
        }
    }
    let declared = ARGS.map(Declared::Type);
    for count in 2..=ARGS.len() {
        let (args, column) = (&declared[..count], [("", Declared::Type(JSONB))]);
        let zoneless =
            catalogue.add_rows("jsonb_path_query", args, &column, |_, args, eval| query(&Call::of(args, eval)?));
        zoneless.parameters(parameters(count));
        let zoned = catalogue
            .add_rows("jsonb_path_query_tz", args, &column, |_, args, eval| query(&Call::of(args, eval)?.zoned()));
        zoned.parameters(parameters(count)).stable();
    }
    catalogue.add("@?", &ARGS[..2], BOOLEAN, |args, eval| exists(&Call::of_operator(args, eval)?));
    catalogue.add("@@", &ARGS[..2], BOOLEAN, |args, eval| holds(&Call::of_operator(args, eval)?));
}

/// Those of an entry that takes so many.
fn parameters(count: usize) -> &'static [Parameter] {
    if count == PARAMETERS.len() { &PARAMETERS } else { &[] }
}

/// What a path is asked about.
struct Call<'a> {
    document: &'a Jsonb,
    path: &'a JsonPath,
    variables: Cow<'a, Jsonb>,
    /// Errors about what is in the document are no errors, but no answer.
    silent: bool,
    /// Times without a zone are compared with those that have one, in the session's.
    zoned: bool,
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
        Ok(Call { document, path, variables, silent, zoned: false, eval })
    }

    fn zoned(self) -> Call<'a> {
        Call { zoned: true, ..self }
    }

    /// Of an operator: silent, and given no variables, not even an object of none.
    fn of_operator(args: &'a [Value], eval: &'a EvalContext) -> Result<Call<'a>> {
        let mut null = JsonBuilder::default();
        null.null();
        Ok(Call { silent: true, variables: Cow::Owned(null.finish()?), ..Call::of(args, eval)? })
    }

    fn run(&self) -> Run<'_> {
        Run::new((self.document, self.path), &self.variables, self.zoned, self.eval)
    }

    /// What the path finds; up to an error that is passed over.
    fn items(&self) -> Result<Vec<Jsonb>> {
        self.run().items(self.silent)
    }
}

fn exists(call: &Call<'_>) -> Result<Value> {
    let run = call.run();
    match run.any() {
        Ok(found) => Ok(Value::Boolean(found)),
        Err(error) if call.silent && run.is_about_data(&error) => Ok(Value::Null),
        Err(error) => Err(error),
    }
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
        false => Err(Error::new(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, "single boolean result is expected")),
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

/// The rows of `jsonb_path_query` and `jsonb_path_query_tz`.
fn query(call: &Call<'_>) -> Result<SetRows> {
    Ok(SetRows::of(1, call.items()?.into_iter().map(Value::Jsonb).collect()))
}
