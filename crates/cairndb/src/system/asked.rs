//! Relations whose rows are made when the statement runs: settings, locks, the session, what the database counted.
//!
//! They are views over functions in PostgreSQL too, whose names the plan says: each is an entry as other functions are, but no name calls it.

use std::sync::{Arc, LazyLock};

use super::reg::{OWNER, OWNER_OID};
use crate::functions::{Function, SetRows, database_oid};
use crate::settings::listed;
use crate::types::datetime::{MICROS_PER_SECOND, Zone, listed_abbreviations};
use crate::types::{Advisory, Array, DataType, EvalContext, Interval};
use crate::{Result, Value};

/// A function that gives a relation's rows.
pub(crate) type Answers = LazyLock<Arc<Function>>;

// (What changes without a commit is unseen; the session's settings and the names of zones are none of that.)
pub(super) static SETTINGS_SHOWN: Answers =
    LazyLock::new(|| Function::of_relation("pg_show_all_settings", false, settings));
pub(super) static LOCKS: Answers = LazyLock::new(|| Function::of_relation("pg_lock_status", true, locks));
pub(super) static BUILDS: Answers = LazyLock::new(|| Function::of_relation("pg_stat_get_progress_info", true, builds));
pub(super) static CURSORS: Answers = LazyLock::new(|| Function::of_relation("pg_cursor", true, cursors));
pub(super) static PREPARED: Answers = LazyLock::new(|| Function::of_relation("pg_prepared_statement", true, prepared));
pub(super) static ZONES: Answers = LazyLock::new(|| Function::of_relation("pg_timezone_names", false, zones));
pub(super) static ABBREVIATIONS: Answers =
    LazyLock::new(|| Function::of_relation("pg_timezone_abbrevs", false, abbreviations));

pub(super) static ROLES: Answers = LazyLock::new(|| Function::of_relation("pg_roles", false, roles));
pub(super) static USERS: Answers = LazyLock::new(|| Function::of_relation("pg_user", false, users));

/// The oid by which a user is known: the same for the same name, whichever database says it.
pub(super) fn user_oid(name: &str) -> i64 {
    if name == OWNER { OWNER_OID } else { database_oid(name) }
}

/// Who owns everything, and as whom the session has come in, if that is another.
fn known_users(context: &EvalContext) -> impl Iterator<Item = &str> {
    std::iter::once(OWNER).chain(context.user().filter(|user| *user != OWNER))
}

fn roles(_: &Function, _: &[Value], context: &EvalContext) -> Result<SetRows> {
    let mut values = Vec::new();
    for name in known_users(context) {
        values.push(Value::text(name));
        values.extend([const { Value::Boolean(true) }; 6]);
        values.extend([Value::Integer(-1), Value::text("********"), Value::Null, Value::Boolean(true), Value::Null]);
        values.push(Value::BigInt(user_oid(name)));
    }
    Ok(SetRows::of(13, values))
}

fn users(_: &Function, _: &[Value], context: &EvalContext) -> Result<SetRows> {
    let mut values = Vec::new();
    for name in known_users(context) {
        values.extend([Value::text(name), Value::BigInt(user_oid(name))]);
        values.extend([const { Value::Boolean(true) }; 4]);
        values.extend([Value::text("********"), Value::Null, Value::Null]);
    }
    Ok(SetRows::of(9, values))
}

fn settings(_: &Function, _: &[Value], context: &EvalContext) -> Result<SetRows> {
    let known = |text: &str| if text.is_empty() { Value::Null } else { Value::text(text) };
    let mut values = Vec::new();
    for of in listed() {
        let name = of.name.to_ascii_lowercase();
        let Some(shown) = context.settings.as_ref().and_then(|settings| settings.shown(&name)) else { continue };
        let first = context.channels.as_ref().and_then(|session| session.first_setting(&name));
        let first = first.unwrap_or_else(|| shown.clone());
        let words = of.words.iter().map(|word| Value::text(*word)).collect();
        values.extend([
            Value::text(of.name),
            Value::text(of.counted(&shown)),
            known(of.unit),
            Value::text(of.category),
        ]);
        values.extend([Value::text(of.description), known(of.more)]);
        values
            .extend([of.context, of.kind.name(), if shown == first { "default" } else { "session" }].map(Value::text));
        values.extend([known(of.least), known(of.most)]);
        values.push(if of.words.is_empty() { Value::Null } else { Array::new(DataType::Text, words).into() });
        values.extend([Value::text(of.default), Value::text(of.counted(&first)), Value::Null, Value::Null]);
        values.push(Value::Boolean(false));
    }
    Ok(SetRows::of(17, values))
}

/// The session's number, which is the process's where no server has given it another.
pub(super) fn process(context: &EvalContext) -> Value {
    Value::Integer(context.process())
}

/// The session's database: its oid and its name.
pub(super) fn of_database(context: &EvalContext) -> Result<[Value; 2]> {
    let name = context.database_name()?;
    Ok([Value::BigInt(database_oid(&name)), Value::text(&*name)])
}

/// Advisory locks; there are no others.
fn locks(_: &Function, _: &[Value], context: &EvalContext) -> Result<SetRows> {
    let mut values = Vec::new();
    let [database, _] = of_database(context)?;
    for (number, shared, granted) in context.channels.iter().flat_map(|session| session.locked()) {
        let halves = |whole: i64| [whole.cast_unsigned() >> 32, whole.cast_unsigned() & u64::from(u32::MAX)];
        let ([class, object], kind) = match number {
            Advisory::One(number) => (halves(number), 1),
            Advisory::Two(first, second) => ([first, second].map(|part| u64::from(part.cast_unsigned())), 2),
        };
        let oid = |number: u64| Value::BigInt(number.cast_signed());
        values.extend([Value::text("advisory"), database.clone()]);
        values.extend([const { Value::Null }; 5]);
        values.extend([oid(class), oid(object), Value::SmallInt(kind), Value::Null, process(context)]);
        values.push(Value::text(if shared { "ShareLock" } else { "ExclusiveLock" }));
        values.extend([Value::Boolean(granted), Value::Boolean(false), Value::Null]);
    }
    Ok(SetRows::of(16, values))
}

/// Builds of indexes, of whatever session.
fn builds(_: &Function, _: &[Value], context: &EvalContext) -> Result<SetRows> {
    let builds = context.channels.as_ref().map(|session| session.builds()).transpose()?;
    let number = |number: u64| Value::BigInt(number.cast_signed());
    let mut values = Vec::new();
    for of in builds.iter().flat_map(|builds| builds.listed()) {
        values.push(process(context));
        values.extend(of_database(context)?);
        values.extend([of.built.table, of.built.index].map(Value::BigInt));
        values.extend([of.built.command, of.phase].map(Value::text));
        values.extend([const { Value::Null }; 5]);
        values.extend([of.total, of.done].map(number));
        values.extend([const { Value::Null }; 2]);
    }
    Ok(SetRows::of(16, values))
}

/// The session's.
fn cursors(_: &Function, _: &[Value], context: &EvalContext) -> Result<SetRows> {
    let names = context.names.as_ref().and_then(|names| names.upgrade());
    let mut values = Vec::new();
    for of in names.map(|names| names.cursors()).transpose()?.into_iter().flatten() {
        values.extend([of.name, of.statement].map(Value::text));
        values.extend([of.hold, false, of.scroll].map(Value::Boolean));
        values.push(Value::TimestampTz(of.made));
    }
    Ok(SetRows::of(6, values))
}

/// What PREPARE made in the session. Plans are the same whatever is given for parameters.
fn prepared(_: &Function, _: &[Value], context: &EvalContext) -> Result<SetRows> {
    let names = context.names.as_ref().and_then(|names| names.upgrade());
    let mut values = Vec::new();
    for of in names.map(|names| names.prepared()).into_iter().flatten() {
        let parameters = of.parameters.iter().map(|data_type| Value::text(data_type.type_name())).collect();
        values.extend([of.name, of.statement].map(Value::text));
        values.extend([
            Value::TimestampTz(of.made),
            Array::new(DataType::Text, parameters).into(),
            Value::Boolean(of.is_of_sql),
        ]);
        values.extend([Value::BigInt(of.executions.cast_signed()), Value::BigInt(0)]);
    }
    Ok(SetRows::of(7, values))
}

fn zones(_: &Function, _: &[Value], context: &EvalContext) -> Result<SetRows> {
    let now = context.transaction_timestamp;
    let mut values = Vec::new();
    for name in Zone::names() {
        let Some(zone) = Zone::find(&name) else { continue };
        values.extend([Value::text(&*name), Value::text(zone.abbreviation_at(now))]);
        values.extend([east(zone.offset_at(now)), Value::Boolean(zone.is_summer_at(now))]);
    }
    Ok(SetRows::of(4, values))
}

fn abbreviations(_: &Function, _: &[Value], context: &EvalContext) -> Result<SetRows> {
    let mut values = Vec::new();
    for (name, zone, is_summer) in listed_abbreviations() {
        let offset = east(zone.offset_at(context.transaction_timestamp));
        values.extend([Value::text(name), offset, Value::Boolean(is_summer)]);
    }
    Ok(SetRows::of(3, values))
}

/// Seconds east of Greenwich.
fn east(seconds: i32) -> Value {
    Value::Interval(Interval { months: 0, days: 0, micros: i64::from(seconds) * MICROS_PER_SECOND })
}
