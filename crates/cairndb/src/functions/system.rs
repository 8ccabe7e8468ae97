//! What a session may ask of the database itself.

use std::sync::Arc;
use std::time::Duration;

use cairn_parser::token::{KEYWORDS, Keyword, KeywordClass};

use super::catalogue::Catalogue;
use super::support::{call, wrong_arguments};
use super::{ANY, Declared, Function, SetRows};
use crate::types::fnv;
use crate::types::row::encode_value_raw;
use crate::types::{
    Advisory, Array, DataType, EvalContext, LockScope, Reg, SessionServices, SettingChange, Value, ValueRef,
};
use crate::{Error, Result, SqlState};

/// What a database is called that has no other name; its file says which it is.
pub(crate) const DATABASE_NAME: &str = "cairndb";

/// PostgreSQL's first oid of what users make.
const FIRST_OID: u64 = 16384;

/// A database's oid: the same for the same name, whoever is asked, since clients compare what several databases tell.
pub(crate) fn database_oid(name: &str) -> i64 {
    if name == DATABASE_NAME {
        return 1;
    }
    let hash = fnv::hash(fnv::START, name.as_bytes());
    (FIRST_OID + hash % (i32::MAX as u64 - FIRST_OID)).cast_signed()
}

const TEXT: DataType = DataType::Text;
/// The one role there is.
const OWNER: &str = "cairndb";

pub(super) fn register(catalogue: &mut Catalogue) {
    catalogue
        .add("version", &[], TEXT, |_, _| {
            Ok(Value::from(format!("CairnDB {} (PostgreSQL 15 dialect)", env!("CARGO_PKG_VERSION"))))
        })
        .bounded()
        .stable();
    catalogue.add("current_setting", &[TEXT], TEXT, call!((Text name), context setting(name, false, context))).stable();
    catalogue
        .add(
            "current_setting",
            &[TEXT, DataType::Boolean],
            TEXT,
            call!((Text name, Boolean missing_ok), context {
                setting(name, *missing_ok, context)
            }),
        )
        .stable();
    catalogue
        .add("set_config", &[TEXT, TEXT, DataType::Boolean], TEXT, set_config)
        .volatile()
        .acting()
        .called_on_null()
        .parallel_unsafe();
    let database = |_: &[Value], context: &EvalContext| context.database_name().map(|name| Value::text(&*name));
    catalogue.add("current_database", &[], DataType::Name, database).bounded().stable();
    catalogue.add("current_catalog", &[], DataType::Name, database).bounded().stable().syntax();
    for (name, is_syntax) in [("current_user", false), ("session_user", false), ("user", true), ("current_role", true)]
    {
        let user = |_: &[Value], context: &EvalContext| Ok(Value::text(context.user().unwrap_or(OWNER)));
        catalogue.add(name, &[], DataType::Name, user).bounded().stable().syntax = is_syntax;
    }
    catalogue.add("pg_notify", &[TEXT, TEXT], DataType::Void, notify).acting().called_on_null().restricted();
    let (kind, owner) = (Declared::Type(DataType::InternalChar), Declared::Type(DataType::Oid));
    let privileges = Declared::Type(TEXT.array().unwrap_or(TEXT));
    catalogue.add_polymorphic("acldefault", &[kind, owner], privileges, default_privileges);
    add_locks(catalogue);
    add_rows(catalogue);
    add_numbers(catalogue);
    catalogue.add("pg_sleep", &[DataType::Double], DataType::Void, sleep).volatile().waiting();
    catalogue.add("pg_column_size", &[ANY], DataType::Integer, column_size).stable_in_name();
    let process = |_: &[Value], context: &EvalContext| Ok(Value::Integer(context.process()));
    catalogue.add("pg_backend_pid", &[], DataType::Integer, process).bounded().stable().restricted();
    catalogue.add("pg_client_encoding", &[], DataType::Name, |_, _| Ok(Value::text("UTF8"))).bounded().stable();
    catalogue
        .add("num_nulls", &[ANY], DataType::Integer, |args, _| count(args, true))
        .bounded()
        .variadic()
        .called_on_null();
    catalogue
        .add("num_nonnulls", &[ANY], DataType::Integer, |args, _| count(args, false))
        .bounded()
        .variadic()
        .called_on_null();
    catalogue.add("pg_trigger_depth", &[], DataType::Integer, trigger_depth).stable().restricted();
}

/// PostgreSQL's `pg_current_xact_id` gives an `xid8`, which is no type here.
fn add_numbers(catalogue: &mut Catalogue) {
    for (name, assign) in [
        ("pg_current_xact_id", true),
        ("txid_current", true),
        ("pg_current_xact_id_if_assigned", false),
        ("txid_current_if_assigned", false),
    ] {
        let number: fn(&[Value], &EvalContext) -> Result<Value> = match assign {
            true => |_, context| numbered(context, true),
            false => |_, context| numbered(context, false),
        };
        catalogue.add(name, &[], DataType::BigInt, number).stable().parallel_unsafe();
    }
}

fn numbered(context: &EvalContext, assign: bool) -> Result<Value> {
    Ok(context.transaction_number(assign)?.map_or(Value::Null, Value::BigInt))
}

fn add_rows(catalogue: &mut Catalogue) {
    let type_of = Declared::Type;
    let channels = catalogue.add_rows("pg_listening_channels", &[], &[("", type_of(TEXT))], |_, _, context| {
        let channels = context.channels.as_ref().map_or_else(Vec::new, |channels| channels.listening());
        Ok(SetRows::of(1, channels.iter().map(|channel| Value::text(&**channel)).collect()))
    });
    channels.stable().unseen().restricted();
    let (text, class) = (type_of(TEXT), type_of(DataType::InternalChar));
    let columns = [
        ("word", text),
        ("catcode", class),
        ("barelabel", type_of(DataType::Boolean)),
        ("catdesc", text),
        ("baredesc", text),
    ];
    catalogue.add_rows("pg_get_keywords", &[], &columns, |_, _, _| Ok(keywords())).stable();
    let options = type_of(TEXT.array().unwrap_or(TEXT));
    let (name, value) = (("option_name", type_of(TEXT)), ("option_value", type_of(TEXT)));
    let to_table = catalogue.add_rows("pg_options_to_table", &[options], &[name, value], |_, args, _| options_of(args));
    to_table.parameters(&[("options_array", None)]).stable();
    // No table has partitions.
    let relation = type_of(DataType::Reg(Reg::Class));
    let ancestors = [("relid", relation)];
    let none = |_: &Function, _: &[Value], _: &EvalContext| Ok(SetRows::none());
    let ancestors = catalogue.add_rows("pg_partition_ancestors", &[relation], &ancestors, none);
    ancestors.parameters(&[("partitionid", None)]).volatile();
    let (is_leaf, level) = (type_of(DataType::Boolean), type_of(DataType::Integer));
    let columns = [("relid", relation), ("parentrelid", relation), ("isleaf", is_leaf), ("level", level)];
    catalogue.add_rows("pg_partition_tree", &[relation], &columns, none).parameters(&[("rootrelid", None)]).volatile();
}

/// What the grammar keeps words for, as PostgreSQL's does.
fn keywords() -> SetRows {
    let each = |keyword: &Keyword| {
        let (class, description) = match keyword.class {
            KeywordClass::Unreserved => ("U", "unreserved"),
            KeywordClass::ColumnName => ("C", "unreserved (cannot be function or type name)"),
            KeywordClass::TypeFunctionName => ("T", "reserved (can be function or type name)"),
            KeywordClass::Reserved => ("R", "reserved"),
        };
        let bare = if keyword.bare_label { "can be bare label" } else { "requires AS" };
        let label = Value::Boolean(keyword.bare_label);
        [Value::text(keyword.name), Value::text(class), label, Value::text(description), Value::text(bare)]
    };
    SetRows::of(5, KEYWORDS.iter().flat_map(each).collect())
}

/// `name=value` of each; without a value NULL.
fn options_of(args: &[Value]) -> Result<SetRows> {
    let [Value::Array(options)] = args else { return Err(wrong_arguments(args)) };
    let each = |option: &str| match option.split_once('=') {
        Some((name, value)) => [Value::text(name), Value::text(value)],
        None => [Value::text(option), Value::Null],
    };
    Ok(SetRows::of(2, options.values().iter().filter_map(Value::as_str).flat_map(each).collect()))
}

/// What may be done with an object of a kind by those to whom nobody granted or refused anything: everybody's, and its owner's.
fn default_privileges(_: &Function, args: &[Value], _: &EvalContext) -> Result<Value> {
    let [Value::Text(kind), Value::BigInt(_)] = args else { return Err(wrong_arguments(args)) };
    let (everybody, owner) = match &**kind {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "p" => ("", "sA"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        kind => {
            let message = format!("unrecognized object type abbreviation: {kind}");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    };
    let all = [("", everybody), (OWNER, owner)].into_iter().filter(|(_, may)| !may.is_empty());
    Ok(Array::new(TEXT, all.map(|(who, may)| Value::from(format!("{who}={may}/{OWNER}"))).collect()).into())
}

/// What gives no value gives an empty text.
fn notify(args: &[Value], context: &EvalContext) -> Result<Value> {
    let text = |value: &Value| if let Value::Text(text) = value { text.to_string() } else { String::new() };
    let [channel, payload] = args else { return Err(wrong_arguments(args)) };
    let channels = context.channels.as_ref().ok_or_else(|| Error::unsupported("pg_notify() in this place"))?;
    channels.notify(&text(channel), &text(payload)).map(|()| Value::text(""))
}

/// Gives an empty text.
fn sleep(args: &[Value], context: &EvalContext) -> Result<Value> {
    let [Value::Double(seconds)] = args else { return Err(wrong_arguments(args)) };
    let time = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    let session = context.channels.as_ref().ok_or_else(|| Error::unsupported("pg_sleep() in this place"))?;
    session.sleep(time).map(|()| Value::text(""))
}

/// Bytes of a value as rows have it.
fn column_size(args: &[Value], _: &EvalContext) -> Result<Value> {
    let [value] = args else { return Err(wrong_arguments(args)) };
    let mut bytes = Vec::new();
    encode_value_raw(ValueRef::from(value), &mut bytes);
    Ok(Value::Integer(i32::try_from(bytes.len()).unwrap_or(i32::MAX)))
}

/// `pg_advisory_lock` and its kin, each of a number of 64 bits and of two of 32. What gives no value gives an empty text.
fn add_locks(catalogue: &mut Catalogue) {
    const ONE: &[DataType] = &[DataType::BigInt];
    const TWO: &[DataType] = &[DataType::Integer, DataType::Integer];
    macro_rules! lock {
        ($name:literal, $shared:literal, $scope:ident, $waits:literal) => {
            for args in [ONE, TWO] {
                let returns = if $waits { DataType::Void } else { DataType::Boolean };
                let eval = |args: &[Value], context: &EvalContext| {
                    let got = sharing(context)?.lock(number(args)?, $shared, LockScope::$scope, $waits)?;
                    Ok(if $waits { Value::text("") } else { Value::Boolean(got) })
                };
                let added = catalogue.add($name, args, returns, eval);
                // What the transaction gives back at its end needs one.
                match LockScope::$scope {
                    LockScope::Transaction => added.acting(),
                    LockScope::Session => added.volatile(),
                }
                .waiting()
                .restricted();
            }
        };
    }
    lock!("pg_advisory_lock", false, Session, true);
    lock!("pg_advisory_lock_shared", true, Session, true);
    lock!("pg_try_advisory_lock", false, Session, false);
    lock!("pg_try_advisory_lock_shared", true, Session, false);
    lock!("pg_advisory_xact_lock", false, Transaction, true);
    lock!("pg_advisory_xact_lock_shared", true, Transaction, true);
    lock!("pg_try_advisory_xact_lock", false, Transaction, false);
    lock!("pg_try_advisory_xact_lock_shared", true, Transaction, false);
    macro_rules! unlock {
        ($name:literal, $shared:literal) => {
            for args in [ONE, TWO] {
                let eval = |args: &[Value], context: &EvalContext| {
                    let session = sharing(context)?;
                    let was_held = session.unlock(number(args)?, $shared);
                    if !was_held {
                        let kind = if $shared { "ShareLock" } else { "ExclusiveLock" };
                        session.warn(format!("you don't own a lock of type {kind}"));
                    }
                    Ok(Value::Boolean(was_held))
                };
                catalogue.add($name, args, DataType::Boolean, eval).volatile().restricted();
            }
        };
    }
    unlock!("pg_advisory_unlock", false);
    unlock!("pg_advisory_unlock_shared", true);
    let unlock_all = |_: &[Value], context: &EvalContext| {
        sharing(context)?.unlock_all();
        Ok(Value::text(""))
    };
    catalogue.add("pg_advisory_unlock_all", &[], DataType::Void, unlock_all).volatile().restricted();
}

fn number(args: &[Value]) -> Result<Advisory> {
    match args {
        [Value::BigInt(one)] => Ok(Advisory::One(*one)),
        [Value::Integer(first), Value::Integer(second)] => Ok(Advisory::Two(*first, *second)),
        _ => Err(wrong_arguments(args)),
    }
}

fn sharing(context: &EvalContext) -> Result<&Arc<dyn SessionServices>> {
    context.channels.as_ref().ok_or_else(|| Error::unsupported("an advisory lock in this place"))
}

fn trigger_depth(_: &[Value], context: &EvalContext) -> Result<Value> {
    let depth = context.caller().map_or(0, |caller| caller.trigger_depth());
    Ok(Value::Integer(i32::try_from(depth).unwrap_or(i32::MAX)))
}

/// The setting of a name; `None` where there is none and that may be.
fn setting(name: &str, missing_ok: bool, context: &EvalContext) -> Result<Value> {
    let name_lower = name.to_ascii_lowercase();
    let changed = context.channels.as_ref().and_then(|session| session.changed_setting(&name_lower));
    let shown = || context.settings.as_ref().and_then(|settings| settings.shown(&name_lower));
    match changed.or_else(shown) {
        Some(shown) => Ok(Value::from(shown)),
        None if missing_ok => Ok(Value::Null),
        None => {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
        }
    }
}

/// The setting's new value, which the session takes when the statement has come to its end. NULL: the one that it began with.
fn set_config(args: &[Value], context: &EvalContext) -> Result<Value> {
    let [name, value, local] = args else { return Err(wrong_arguments(args)) };
    let Value::Text(name) = name else {
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"));
    };
    let (Some(session), Some(settings)) = (&context.channels, &context.settings) else {
        return Err(Error::unsupported("set_config() in this place"));
    };
    let name = name.to_lowercase();
    let value = match value {
        Value::Text(value) => value.to_string(),
        _ => session.first_setting(&name).unwrap_or_default(),
    };
    let shown = settings.shown_with(&name, &value)?;
    let local = *local == Value::Boolean(true);
    session.change_setting(SettingChange { name, value, local, shown: shown.clone() });
    Ok(Value::from(shown))
}

/// How many arguments are NULL, or are not.
fn count(args: &[Value], nulls: bool) -> Result<Value> {
    let count = args.iter().filter(|arg| arg.is_null() == nulls).count();
    Ok(Value::Integer(i32::try_from(count).unwrap_or(i32::MAX)))
}
