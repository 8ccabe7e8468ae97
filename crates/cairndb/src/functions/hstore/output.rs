//! An hstore as a document.

use super::HSTORE;
use crate::Result;
use crate::functions::Declared;
use crate::functions::catalogue::Catalogue;
use crate::functions::support::wrong_arguments;
use crate::types::{DataType, EvalContext, Value, from_text, hstore_json};

pub(super) fn register(catalogue: &mut Catalogue) {
    let [json, jsonb] = [DataType::Json, DataType::Jsonb].map(Declared::Type);
    catalogue.add_names(&["hstore_to_json"], &[HSTORE], json, |_, args, context| {
        document(args, false, DataType::Json, context)
    });
    catalogue.add_names(&["hstore_to_jsonb"], &[HSTORE], jsonb, |_, args, context| {
        document(args, false, DataType::Jsonb, context)
    });
    catalogue.add_names(&["hstore_to_json_loose"], &[HSTORE], json, |_, args, context| {
        document(args, true, DataType::Json, context)
    });
    catalogue.add_names(&["hstore_to_jsonb_loose"], &[HSTORE], jsonb, |_, args, context| {
        document(args, true, DataType::Jsonb, context)
    });
}

fn document(args: &[Value], loose: bool, to: DataType, context: &EvalContext) -> Result<Value> {
    match args {
        [Value::Hstore(of)] => from_text(&hstore_json(of, loose), to, context),
        _ => Err(wrong_arguments(args)),
    }
}
