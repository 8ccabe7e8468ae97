//! `json_agg`, `json_object_agg` and their like that give `jsonb`.
//!
//! What is fed is written at once: an accumulator is the answer so far without its end. Times with a zone look as the session's
//! zone says and oids have names in the catalog, which accumulators do not know: binding has them written first.

use super::catalogue::AggregateCatalogue;
use crate::functions::json::{made, push_key, push_value, write_key, write_value};
use crate::functions::support::{check_length, wrong_arguments};
use crate::functions::{ANY, Accumulator, AggregateKind, Volatility};
use crate::types::{DataType, EvalContext, JsonBuilder, Value};
use crate::{Error, Result, SqlState};

static ONE: [DataType; 1] = [ANY];
static TWO: [DataType; 2] = [ANY, ANY];

pub(super) fn register(catalogue: &mut AggregateCatalogue) {
    let kind = AggregateKind::Other;
    catalogue.add("json_agg", &ONE, DataType::Json, kind, || Box::new(Text::default())).volatility = Volatility::Stable;
    catalogue.add("json_object_agg", &TWO, DataType::Json, kind, || Box::new(Text::default())).volatility =
        Volatility::Stable;
    catalogue.add("jsonb_agg", &ONE, DataType::Jsonb, kind, || Box::new(Binary::default())).volatility =
        Volatility::Stable;
    // (That PostgreSQL has it as immutable, where its like are none, is so.)
    catalogue.add("jsonb_object_agg", &TWO, DataType::Jsonb, kind, || Box::new(Binary::default()));
}

fn null_key() -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, "field name must not be null")
}

/// JSON text, blanks as PostgreSQL has them.
#[derive(Clone, Default)]
struct Text {
    text: String,
    is_object: bool,
}

impl Accumulator for Text {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let (context, first) = (EvalContext::default(), self.text.is_empty());
        match args {
            [value] => {
                self.text.push_str(if first { "[" } else { ", " });
                if !first && matches!(value, Value::Array(_) | Value::Composite(_)) {
                    self.text.push_str("\n ");
                }
                write_value(value, &context, &mut self.text);
            }
            [Value::Null, _] => return Err(null_key()),
            [key, value] => {
                self.is_object = true;
                self.text.push_str(if first { "{ " } else { ", " });
                write_key(key, &context, &mut self.text)?;
                self.text.push_str(" : ");
                write_value(value, &context, &mut self.text);
            }
            _ => return Err(wrong_arguments(args)),
        }
        check_length(self.text.len())
    }

    fn finish(&mut self) -> Result<Value> {
        let mut text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return Ok(Value::Null);
        }
        text.push_str(if self.is_object { " }" } else { "]" });
        made(text)
    }

    fn answer(&mut self) -> Result<Value> {
        self.clone().finish()
    }
}

#[derive(Clone, Default)]
struct Binary(JsonBuilder);

impl Accumulator for Binary {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let (context, first) = (EvalContext::default(), self.0.is_empty());
        match args {
            [value] => {
                if first {
                    self.0.begin_array()?;
                }
                push_value(value, &context, &mut self.0)?;
            }
            [Value::Null, _] => return Err(null_key()),
            [key, value] => {
                if first {
                    self.0.begin_object()?;
                }
                push_key(key, &context, &mut self.0)?;
                push_value(value, &context, &mut self.0)?;
            }
            _ => return Err(wrong_arguments(args)),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value> {
        let mut builder = std::mem::take(&mut self.0);
        if builder.is_empty() {
            return Ok(Value::Null);
        }
        builder.end()?;
        builder.finish().map(Value::Jsonb)
    }

    fn answer(&mut self) -> Result<Value> {
        self.clone().finish()
    }
}
