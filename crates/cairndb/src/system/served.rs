//! Relations of what only a server knows: databases, sessions, statements. Where none is asked, they have what the session knows itself.
//!
//! Who asks is the argument of their functions, which binding gives: a client's own statement, or what a file has in store.

use std::sync::{Arc, LazyLock};

use super::asked::{Answers, of_database, process, user_oid};
use super::reg::{OWNER, OWNER_OID};
use crate::functions::{Function, SetRows, database_oid};
use crate::types::{Array, DataType, EvalContext, ServedDatabase, ServedSession, ServedStatement, Server};
use crate::{Result, Value};

pub(super) static DATABASES: Answers = LazyLock::new(|| Function::of_server("pg_database", databases));
pub(super) static SETTINGS: Answers = LazyLock::new(|| Function::of_server("pg_db_role_setting", settings));
pub(super) static ACTIVITY: Answers = LazyLock::new(|| Function::of_server("pg_stat_get_activity", activity));
pub(super) static COUNTED: Answers = LazyLock::new(|| Function::of_server("pg_stat_get_database", counted));
pub(super) static STATEMENTS: Answers = LazyLock::new(|| Function::of_server("pg_stat_statements", statements));

const UTF8: i32 = 6;
/// Of the tablespace that all is in.
const TABLESPACE: i64 = 1663;

/// The server, where a client asks it.
fn server<'c>(args: &[Value], context: &'c EvalContext) -> Option<&'c Arc<dyn Server>> {
    let is_clients = matches!(args, [Value::Boolean(true)]);
    context.channels.as_ref().filter(|_| is_clients)?.server()
}

fn number(number: u64) -> Value {
    Value::BigInt(number.cast_signed())
}

fn oid(database: &str) -> Value {
    Value::BigInt(database_oid(database))
}

fn databases(_: &Function, args: &[Value], context: &EvalContext) -> Result<SetRows> {
    let mut values = Vec::new();
    match server(args, context) {
        Some(server) => server.databases().iter().for_each(|of| database(&of.name, of.connections_max, &mut values)),
        None => database(&context.database_name()?, None, &mut values),
    }
    Ok(SetRows::of(16, values))
}

fn database(name: &str, connections_max: Option<usize>, values: &mut Vec<Value>) {
    let most = connections_max.and_then(|most| i32::try_from(most).ok()).unwrap_or(-1);
    values.extend([oid(name), Value::text(name), Value::BigInt(OWNER_OID), Value::Integer(UTF8), Value::text("c")]);
    values.extend([Value::Boolean(false), Value::Boolean(true), Value::Integer(most)]);
    values.extend([Value::BigInt(0), Value::BigInt(0), Value::BigInt(TABLESPACE)]);
    values.extend([Value::text("C"), Value::text("C"), Value::Null, Value::Null, Value::Null]);
}

/// What ALTER DATABASE .. SET has said.
fn settings(_: &Function, args: &[Value], context: &EvalContext) -> Result<SetRows> {
    let mut values = Vec::new();
    let databases = server(args, context).map(|server| server.databases()).unwrap_or_default();
    for of in databases.iter().filter(|of| !of.settings.is_empty()) {
        let said = of.settings.iter().map(|(name, value)| Value::text(format!("{name}={value}"))).collect();
        values.extend([oid(&of.name), Value::BigInt(0), Array::new(DataType::Text, said).into()]);
    }
    Ok(SetRows::of(3, values))
}

/// Without a server a session sees itself.
fn activity(_: &Function, args: &[Value], context: &EvalContext) -> Result<SetRows> {
    let mut values = Vec::new();
    match server(args, context) {
        Some(server) => server.sessions().into_iter().for_each(|of| session(of, &mut values)),
        None => itself(context, &mut values)?,
    }
    Ok(SetRows::of(22, values))
}

fn session(of: ServedSession, values: &mut Vec<Value>) {
    let moment = |at: Option<i64>| at.map_or(Value::Null, Value::TimestampTz);
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::text);
    values.extend([oid(&of.database), Value::text(of.database), Value::Integer(of.process), Value::Null]);
    values.extend([Value::BigInt(user_oid(&of.user)), Value::text(of.user), Value::text(of.application_name)]);
    let address = of.client.map_or(Value::Null, |client| Value::text(client.ip().to_canonical().to_string()));
    values.extend([address, Value::Null, Value::Integer(of.client.map_or(-1, |client| client.port().into()))]);
    values.extend([Some(of.begun), of.transaction_begun, of.statement_begun, Some(of.state_since)].map(moment));
    values.extend([text(of.waits_for.map(|(kind, _)| kind)), text(of.waits_for.map(|(_, name)| name))]);
    values.push(Value::text(of.state));
    values.extend([const { Value::Null }; 3]);
    values.push(Value::text(of.statement.as_deref().unwrap_or(HIDDEN)));
    values.push(Value::text("client backend"));
}

/// What PostgreSQL shows in place of what is not for who asks to see.
const HIDDEN: &str = "<insufficient privilege>";

fn itself(context: &EvalContext, values: &mut Vec<Value>) -> Result<()> {
    let name = context.settings.as_ref().and_then(|settings| settings.shown("application_name"));
    values.extend(of_database(context)?);
    let user = context.user().unwrap_or(OWNER);
    values.extend([process(context), Value::Null, Value::BigInt(user_oid(user)), Value::text(user)]);
    values.push(name.map_or(Value::Null, Value::from));
    values.extend([const { Value::Null }; 4]);
    values.extend([context.transaction_timestamp, context.statement_timestamp].map(Value::TimestampTz));
    values.push(Value::TimestampTz(context.statement_timestamp));
    values.extend([Value::Null, Value::Null, Value::text("active")]);
    values.extend([const { Value::Null }; 4]);
    values.push(Value::text("client backend"));
    Ok(())
}

/// What databases counted since they were opened.
fn counted(_: &Function, args: &[Value], context: &EvalContext) -> Result<SetRows> {
    let mut values = Vec::new();
    match server(args, context) {
        Some(server) => server.databases().iter().for_each(|of| counts(of, &mut values)),
        None => {
            let stats = context.channels.as_ref().map(|session| session.counted()).transpose()?;
            let name = context.database_name()?.to_string();
            let settings = Vec::new();
            counts(
                &ServedDatabase { name, connections_max: None, sessions: 0, bytes: 0, settings, stats },
                &mut values,
            );
            // Nobody knows of other connections.
            values[2] = Value::Null;
        }
    }
    Ok(SetRows::of(28, values))
}

fn counts(of: &ServedDatabase, values: &mut Vec<Value>) {
    let count =
        |count: fn(&cairn_storage::Stats) -> u64| of.stats.as_ref().map_or(Value::Null, |stats| number(count(stats)));
    values.extend([oid(&of.name), Value::text(&*of.name)]);
    values.push(Value::Integer(i32::try_from(of.sessions).unwrap_or(i32::MAX)));
    values.extend([count(|stats| stats.commits), Value::Null]);
    values.extend([count(|stats| stats.pages_read + stats.pages_read_ahead), count(|stats| stats.page_hits)]);
    values.extend([const { Value::Null }; 6]);
    values.extend([count(|stats| stats.spill_files), count(|stats| stats.spill_bytes_written)]);
    values.extend([const { Value::Null }; 13]);
}

/// The library counts none.
fn statements(_: &Function, args: &[Value], context: &EvalContext) -> Result<SetRows> {
    let mut values = Vec::new();
    if let Some(server) = server(args, context) {
        server.statements().into_iter().for_each(|of| statement(of, &mut values));
    }
    Ok(SetRows::of(45, values))
}

/// With whose it is and in which database behind PostgreSQL's columns, for there are no roles whose oids would say it.
fn statement(of: ServedStatement, values: &mut Vec<Value>) {
    let ms = |ns: u64| Value::Double(ns as f64 / 1e6);
    let text = of.text.as_deref().unwrap_or(HIDDEN);
    values.extend([Value::BigInt(user_oid(&of.user)), oid(&of.database), Value::Boolean(true), Value::BigInt(of.id)]);
    values.push(Value::text(text));
    values.extend([const { Value::Null }; 6]);
    values.push(number(of.calls));
    values.extend([of.total_ns, of.min_ns, of.max_ns].map(ms));
    values.extend([Value::Double(of.total_ns as f64 / 1e6 / of.calls.max(1) as f64), Value::Null, number(of.rows)]);
    values.extend([const { Value::Null }; 25]);
    values.extend([Value::text(of.user), Value::text(of.database)]);
}
