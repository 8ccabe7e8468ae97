//! What a session may ask of the database itself.

use super::ANY;
use super::catalogue::Catalogue;
use super::support::{call, wrong_arguments};
use crate::types::{DataType, EvalContext, Value, ValueRef};
use crate::{Error, Result, SqlState};

const TEXT: DataType = DataType::Text;

pub(super) fn register(catalogue: &mut Catalogue) {
    catalogue
        .add("version", &[], TEXT, |_, _| {
            Ok(Value::from(format!("CairnDB {} (PostgreSQL 15 dialect)", env!("CARGO_PKG_VERSION"))))
        })
        .stable();
    catalogue.add("current_setting", &[TEXT], TEXT, call!((Text name), context setting(name, context))).stable();
    for name in ["current_database", "current_catalog"] {
        catalogue.add(name, &[], TEXT, |_, _| Ok(Value::text("cairndb"))).stable();
    }
    for name in ["current_user", "session_user", "user", "current_role"] {
        catalogue.add(name, &[], TEXT, |_, _| Ok(Value::text("cairndb"))).stable();
    }
    catalogue.add("pg_trigger_depth", &[], DataType::Integer, trigger_depth).stable();
    // Binding knows the static type and answers itself; this is for what it leaves.
    catalogue.add("pg_typeof", &[ANY], TEXT, type_of).called_on_null().stable();
}

fn trigger_depth(_: &[Value], context: &EvalContext) -> Result<Value> {
    let depth = context.caller().map_or(0, |caller| caller.trigger_depth());
    Ok(Value::Integer(i32::try_from(depth).unwrap_or(i32::MAX)))
}

fn setting(name: &str, context: &EvalContext) -> Result<Value> {
    let value = match name.to_ascii_lowercase().as_str() {
        "timezone" => &*context.time_zone,
        "server_version" => "15.0",
        "server_version_num" => "150000",
        "server_encoding" | "client_encoding" => "UTF8",
        "datestyle" => "ISO, MDY",
        "intervalstyle" => "postgres",
        "bytea_output" => "hex",
        "standard_conforming_strings" => "on",
        "transaction_isolation" | "default_transaction_isolation" => "serializable",
        _ => {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
    };
    Ok(Value::text(value))
}

fn type_of(args: &[Value], _: &EvalContext) -> Result<Value> {
    let [value] = args else { return Err(wrong_arguments(args)) };
    let data_type = ValueRef::from(value).data_type().unwrap_or(DataType::Unknown);
    Ok(Value::text(data_type.type_name()))
}
