//! Functions that ask the catalog, and what they answer: a line each, of which `entries` are made. They are bound with the catalog of
//! their statement, as system relations' rows are made of it.

use std::sync::Arc;

use cairn_parser::token::quoted;

use super::asked::user_oid;
use super::describe::{self, Telling, index_by_oid, relation_by_oid};
use super::pg_catalog::built_in;
use super::reg::{self, namespace_name};
use super::relation::object;
use super::{BoundViews, ExpressionOver, key_columns, names, oid_of};
use crate::catalog::{Catalog, Commentable, ObjectId, Relation, Routine, TriggerEvent, Triggered, View};
use crate::functions::{Declared, Parallel, Parameter, Volatility, database_oid};
use crate::sql::relation_name;
use crate::types::{Array, DataType, EvalContext, Reg, Server, SessionServices, Value};
use crate::{Error, Result, SqlState};

/// What a function takes as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// An oid.
    Oid,
    /// An oid, or a relation's name.
    Class,
    Text,
    Integer,
    BigInt,
    Boolean,
    Any,
}

/// A function of the system's.
#[derive(Debug)]
pub(crate) struct SystemFunction {
    pub(super) name: &'static str,
    pub(super) takes: &'static [Takes],
    /// How many arguments have to be there.
    pub(super) least: usize,
    pub(super) returns: DataType,
    /// NULL in, NULL out.
    pub(super) strict: bool,
    pub(super) volatility: Volatility,
    pub(super) parallel: Parallel,
    /// What its arguments are called, where they have names.
    pub(super) parameters: &'static [Parameter],
    pub(super) eval: Eval,
}

impl Takes {
    /// As an entry declares it, where PostgreSQL's has none of our types.
    pub(super) fn declared(self) -> Declared {
        Declared::Type(match self {
            Takes::Any => return Declared::Any,
            Takes::Oid | Takes::Class => DataType::Oid,
            Takes::Text => DataType::Text,
            Takes::Integer => DataType::Integer,
            Takes::BigInt => DataType::BigInt,
            Takes::Boolean => DataType::Boolean,
        })
    }
}

/// What a function of the system's is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Eval {
    /// The catalog says it, always the same.
    Catalog(fn(&Catalog, &[Value]) -> Result<Value>),
    /// The catalog says it, and what views' queries mean under it.
    Views(fn(&Catalog, &[Value], &dyn BoundViews) -> Result<Value>),
    /// The database is looked at, as it is by then.
    Database(fn(&Catalog, &[Value], &dyn SessionServices) -> Result<Value>),
    /// The server is asked, where there is one, and a client asks.
    Server(fn(&[Value], &Asking<'_>) -> Result<Value>),
}

/// Who asks the server: a statement of a session's.
pub(crate) struct Asking<'a> {
    pub(super) session: &'a dyn SessionServices,
    /// It is what a client says itself.
    pub(super) is_clients: bool,
}

impl<'a> Asking<'a> {
    /// `None`: there is no server, or it does not answer here.
    fn server(&self) -> Option<&'a dyn Server> {
        self.session.server().filter(|_| self.is_clients).map(|server| &**server)
    }

    /// SQLSTATE 0A000 where who asks is no client: what a file has in store does nothing to others' sessions.
    fn acting(&self, name: &str) -> Result<Option<&'a dyn Server>> {
        match self.server() {
            None if self.session.server().is_some() => {
                let message = format!("{name}() in a view, a function or a default is not supported");
                let hint = "Call it in a statement of its own.";
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(hint))
            }
            server => Ok(server),
        }
    }

    /// False, with a word to the client.
    fn no_backend(&self, process: i32) -> bool {
        self.session.warn(format!("PID {process} is not a PostgreSQL backend process"));
        false
    }
}

const fn of(
    name: &'static str,
    takes: &'static [Takes],
    least: usize,
    returns: DataType,
    eval: fn(&Catalog, &[Value]) -> Result<Value>,
) -> SystemFunction {
    SystemFunction { least, ..stable(name, takes, returns, Eval::Catalog(eval)) }
}

/// All that it takes has to be there.
const fn stable(name: &'static str, takes: &'static [Takes], returns: DataType, eval: Eval) -> SystemFunction {
    let (least, volatility, parallel) = (takes.len(), Volatility::Stable, Parallel::Safe);
    SystemFunction { name, takes, least, returns, strict: true, volatility, parallel, parameters: &[], eval }
}

/// Who owns everything, or as whom the session has come in.
fn user_of_oid(_: &Catalog, args: &[Value], session: &dyn SessionServices) -> Result<Value> {
    let oid = oid(args);
    let came_in = session.server().map(|server| server.user()).filter(|user| user_oid(user) == oid);
    let known = if oid == reg::OWNER_OID { Some(reg::OWNER) } else { came_in };
    Ok(known.map_or_else(|| Value::text(format!("unknown (OID={oid})")), Value::text))
}

const fn of_views(
    name: &'static str,
    takes: &'static [Takes],
    returns: DataType,
    eval: fn(&Catalog, &[Value], &dyn BoundViews) -> Result<Value>,
) -> SystemFunction {
    stable(name, takes, returns, Eval::Views(eval))
}

const fn size(
    name: &'static str,
    takes: &'static [Takes],
    eval: fn(&Catalog, &[Value], &dyn SessionServices) -> Result<Value>,
) -> SystemFunction {
    let of = stable(name, takes, DataType::BigInt, Eval::Database(eval)).is(Volatility::Volatile);
    SystemFunction { least: 1, ..of }
}

const fn served(
    name: &'static str,
    takes: &'static [Takes],
    least: usize,
    returns: DataType,
    eval: fn(&[Value], &Asking<'_>) -> Result<Value>,
) -> SystemFunction {
    SystemFunction { least, ..stable(name, takes, returns, Eval::Server(eval)).is(Volatility::Volatile) }
}

const fn to_reg(name: &'static str, reg: Reg, eval: fn(&Catalog, &[Value]) -> Result<Value>) -> SystemFunction {
    of(name, &[Takes::Text], 1, DataType::Reg(reg), eval)
}

impl SystemFunction {
    const fn called_on_null(self) -> SystemFunction {
        SystemFunction { strict: false, ..self }
    }

    const fn named(self, parameters: &'static [Parameter]) -> SystemFunction {
        SystemFunction { parameters, ..self }
    }

    /// That many of its arguments have to be given.
    const fn from(self, least: usize) -> SystemFunction {
        SystemFunction { least, ..self }
    }

    const fn is(self, volatility: Volatility) -> SystemFunction {
        SystemFunction { volatility, ..self }
    }

    const fn restricted(self) -> SystemFunction {
        SystemFunction { parallel: Parallel::Restricted, ..self }
    }
}

const NAMES: DataType = DataType::Array(crate::types::ElementType::NAME);

pub(super) static FUNCTIONS: &[SystemFunction] = {
    use DataType::{Boolean, Integer as Int, Text as Texted};
    use Takes::{Any, BigInt as Size, Boolean as Flag, Class, Integer, Oid, Text};
    &[
        of("format_type", &[Oid, Integer], 2, Texted, format_type).called_on_null(),
        of_views("pg_get_viewdef", &[Class, Any], Texted, viewdef).from(1).restricted(),
        of_views("pg_get_indexdef", &[Oid, Integer, Flag], Texted, indexdef).from(1),
        of_views("pg_get_constraintdef", &[Oid, Flag], Texted, |catalog, args, bound| {
            Ok(some(describe::constraint(Telling::new(catalog, bound).pretty(is_true(args, 1)), oid(args))))
        })
        .from(1),
        of_views("pg_get_expr", &[Text, Oid, Flag], Texted, expression).from(2),
        of_views("pg_get_triggerdef", &[Oid, Flag], Texted, triggerdef).from(1),
        of_views("pg_get_functiondef", &[Oid], Texted, |catalog, args, bound| {
            Ok(some(routine(catalog, args).map(|of| describe::routine(Telling::new(catalog, bound), of))))
        }),
        of_views("pg_get_function_arguments", &[Oid], Texted, |catalog, args, bound| {
            let told = Telling::new(catalog, bound);
            let shown = routine(catalog, args).map(|of| describe::arguments(told, of, true));
            Ok(some(shown.or_else(|| built_in_arguments(catalog, args))))
        }),
        of_views("pg_get_function_identity_arguments", &[Oid], Texted, |catalog, args, bound| {
            let told = Telling::new(catalog, bound);
            let shown = routine(catalog, args).map(|of| describe::arguments(told, of, false));
            Ok(some(shown.or_else(|| built_in_arguments(catalog, args))))
        }),
        of("pg_get_function_result", &[Oid], 1, Texted, |catalog, args| {
            let shown = routine(catalog, args).and_then(|of| describe::result(catalog, of));
            Ok(some(shown.or_else(|| built_in_result(catalog, args))))
        }),
        of("pg_get_function_sqlbody", &[Oid], 1, Texted, |_, _| Ok(Value::Null)),
        of_views("pg_get_ruledef", &[Oid, Flag], Texted, ruledef).from(1),
        of("pg_get_partkeydef", &[Oid], 1, Texted, |_, _| Ok(Value::Null)),
        of("pg_get_partition_constraintdef", &[Oid], 1, Texted, |_, _| Ok(Value::Null)),
        of("pg_get_statisticsobjdef_columns", &[Oid], 1, Texted, |_, _| Ok(Value::Null)),
        of("pg_get_serial_sequence", &[Text, Text], 2, Texted, serial_sequence),
        stable("pg_get_userbyid", &[Oid], DataType::Name, Eval::Database(user_of_oid)),
        of("obj_description", &[Oid, Text], 1, Texted, |catalog, args| {
            // A constraint shares its oid with its index.
            let is_constraint = matches!(args, [_, Value::Text(of)] if &**of == "pg_constraint");
            let of_index = is_constraint && index_by_oid(catalog, oid(args)).is_some();
            Ok(comment(catalog, oid(args), i64::from(of_index)))
        }),
        of("col_description", &[Oid, Integer], 2, Texted, |catalog, args| {
            Ok(comment(catalog, oid(args), number(args, 1)))
        }),
        of("shobj_description", &[Oid, Text], 2, Texted, |catalog, args| {
            let is_database = matches!(&args[1], Value::Text(of) if &**of == "pg_database");
            let is_it = oid(args) == database_oid(catalog.database_name());
            let text = catalog.comment(Commentable::DATABASE).filter(|_| is_database && is_it);
            Ok(some(text.map(str::to_owned)))
        }),
        of("pg_table_is_visible", &[Oid], 1, Boolean, |catalog, args| {
            let found = relation_by_oid(catalog, oid(args));
            Ok(match found {
                Some((schema, name, _)) => {
                    let first = catalog.searched().iter().find(|at| catalog.relation_in(**at, name).is_some());
                    Value::Boolean(first == Some(&schema))
                }
                None => super::listed::relation_of_oid(oid(args)).map_or(Value::Null, |_| Value::Boolean(true)),
            })
        }),
        of("pg_type_is_visible", &[Oid], 1, Boolean, |catalog, args| {
            let oid = oid(args);
            let of = catalog.types().find(|of| [of.id, of.array_id].map(oid_of).contains(&oid));
            Ok(match of {
                Some(of) => Value::Boolean(!catalog.shown_type(of).contains('.')),
                None => reg::type_name(catalog, oid, None).map_or(Value::Null, |_| Value::Boolean(true)),
            })
        }),
        of("pg_function_is_visible", &[Oid], 1, Boolean, |catalog, args| {
            let shown =
                routine(catalog, args).map(|of| !catalog.shown_routine(of).starts_with(&schema_prefix(catalog, of)));
            let shown = shown.or_else(|| built_in(oid(args)).map(|_| true));
            Ok(shown.map_or(Value::Null, Value::Boolean))
        }),
        of("pg_operator_is_visible", &[Oid], 1, Boolean, |_, _| Ok(Value::Boolean(true))),
        of("pg_opclass_is_visible", &[Oid], 1, Boolean, |_, _| Ok(Value::Boolean(true))),
        of("pg_collation_is_visible", &[Oid], 1, Boolean, |_, _| Ok(Value::Boolean(true))),
        of("pg_statistics_obj_is_visible", &[Oid], 1, Boolean, |_, _| Ok(Value::Boolean(true))),
        of("pg_relation_is_publishable", &[Class], 1, Boolean, |_, _| Ok(Value::Boolean(false))),
        of("pg_is_other_temp_schema", &[Oid], 1, Boolean, |_, _| Ok(Value::Boolean(false))),
        // Each listener has a queue of its own.
        of("pg_notification_queue_usage", &[], 0, DataType::Double, |_, _| Ok(Value::Double(0.0)))
            .is(Volatility::Volatile)
            .restricted(),
        of("inet_client_addr", &[], 0, DataType::Inet, |_, _| Ok(Value::Null)).called_on_null().restricted(),
        of("inet_client_port", &[], 0, Int, |_, _| Ok(Value::Null)).called_on_null().restricted(),
        of("inet_server_addr", &[], 0, DataType::Inet, |_, _| Ok(Value::Null)).called_on_null(),
        of("inet_server_port", &[], 0, Int, |_, _| Ok(Value::Null)).called_on_null(),
        of("pg_is_in_recovery", &[], 0, Boolean, |_, _| Ok(Value::Boolean(false))).is(Volatility::Volatile),
        of("pg_my_temp_schema", &[], 0, DataType::Oid, |catalog, _| {
            let temporary = catalog.searched().iter().find(|schema| schema.is_temporary());
            Ok(Value::BigInt(temporary.map_or(0, |id| oid_of(*id))))
        })
        .restricted(),
        of_views("pg_relation_is_updatable", &[Class, Flag], Int, |catalog, args, bound| {
            let events = match relation_by_oid(catalog, oid(args)) {
                Some((_, _, Relation::Table(table))) if !table.is_materialized() => 28,
                Some((_, _, Relation::View(view))) => view_events((catalog, bound), view, is_true(args, 1)),
                _ => 0,
            };
            Ok(Value::Integer(events))
        }),
        of_views("pg_column_is_updatable", &[Class, Integer, Flag], Boolean, |catalog, args, bound| {
            Ok(Value::Boolean(match relation_by_oid(catalog, oid(args)) {
                _ if number(args, 1) <= 0 => false,
                Some((_, _, Relation::Table(table))) => !table.is_materialized(),
                Some((_, _, Relation::View(view))) => {
                    is_column_updatable((catalog, bound), view, number(args, 1), is_true(args, 2))
                }
                _ => false,
            }))
        }),
        of("has_table_privilege", &[Any, Any, Any], 2, Boolean, allowed),
        of("has_any_column_privilege", &[Any, Any, Any], 2, Boolean, allowed),
        of("has_column_privilege", &[Any, Any, Any, Any], 3, Boolean, allowed),
        of("has_schema_privilege", &[Any, Any, Any], 2, Boolean, allowed),
        of("has_database_privilege", &[Any, Any, Any], 2, Boolean, allowed),
        of("has_sequence_privilege", &[Any, Any, Any], 2, Boolean, allowed),
        of("has_function_privilege", &[Any, Any, Any], 2, Boolean, allowed),
        of("has_type_privilege", &[Any, Any, Any], 2, Boolean, allowed),
        of("has_language_privilege", &[Any, Any, Any], 2, Boolean, allowed),
        of("has_tablespace_privilege", &[Any, Any, Any], 2, Boolean, allowed),
        of("pg_has_role", &[Any, Any, Any], 2, Boolean, allowed),
        of("row_security_active", &[Class], 1, Boolean, |_, _| Ok(Value::Boolean(false))),
        of("pg_encoding_to_char", &[Integer], 1, DataType::Name, |_, args| {
            Ok(Value::text(if number(args, 0) == 6 { "UTF8" } else { "" }))
        }),
        of("pg_char_to_encoding", &[Text], 1, Int, |_, args| {
            let is_utf8 = matches!(args, [Value::Text(name)] if name.eq_ignore_ascii_case("utf8"));
            Ok(Value::Integer(if is_utf8 { 6 } else { -1 }))
        }),
        of("pg_tablespace_location", &[Oid], 1, Texted, |_, _| Ok(Value::text(""))),
        of("getdatabaseencoding", &[], 0, DataType::Name, |_, _| Ok(Value::text("UTF8"))),
        of("pg_size_pretty", &[Size], 1, Texted, |_, args| Ok(Value::text(pretty_size(oid(args)))))
            .is(Volatility::Immutable),
        size("pg_relation_size", &[Class, Text], |catalog, args, database| match args.get(1) {
            Some(Value::Text(fork)) if &**fork != "main" => other_fork(fork),
            _ => bytes_of(catalog, args, database, Parts::Table),
        }),
        size("pg_table_size", &[Class], |catalog, args, database| bytes_of(catalog, args, database, Parts::Table)),
        size("pg_indexes_size", &[Class], |catalog, args, database| bytes_of(catalog, args, database, Parts::Indexes)),
        size("pg_total_relation_size", &[Class], |catalog, args, database| {
            bytes_of(catalog, args, database, Parts::All)
        }),
        served("pg_database_size", &[Any], 1, DataType::BigInt, database_size),
        served("pg_cancel_backend", &[Integer], 1, Boolean, |args, asking| {
            let server = asking.acting("pg_cancel_backend")?;
            let is_there = server.map_or(Ok(false), |server| server.cancel(process(args)))?;
            Ok(Value::Boolean(is_there || asking.no_backend(process(args))))
        }),
        served("pg_terminate_backend", &[Integer, Size], 1, Boolean, |args, asking| {
            let server = asking.acting("pg_terminate_backend")?;
            let wait_ms = u64::try_from(number(args, 1)).unwrap_or(0);
            let is_over = server.map_or(Ok(None), |server| server.terminate(process(args), wait_ms))?;
            Ok(Value::Boolean(match is_over {
                None => asking.no_backend(process(args)),
                Some(true) => true,
                Some(false) => {
                    let (process, unit) = (process(args), if wait_ms == 1 { "millisecond" } else { "milliseconds" });
                    let message = format!("backend with PID {process} did not terminate within {wait_ms} {unit}");
                    asking.session.warn(message);
                    false
                }
            }))
        })
        .named(&[("pid", None), ("timeout", Some("0"))]),
        served("pg_stat_statements_reset", &[], 0, DataType::Void, |_, asking| {
            let server = asking.acting("pg_stat_statements_reset")?;
            server.map_or(Ok(()), |server| server.forget_statements()).map(|()| Value::text(""))
        }),
        // There is one.
        size("pg_tablespace_size", &[Any], |_, _, database| bytes(database.database_bytes()?)),
        SystemFunction { parallel: Parallel::Unsafe, ..of("current_schemas", &[Flag], 1, NAMES, current_schemas) },
        to_reg("to_regclass", Reg::Class, |catalog, args| known(Reg::Class, catalog, args)),
        to_reg("to_regtype", Reg::Type, |catalog, args| known(Reg::Type, catalog, args)),
        to_reg("to_regproc", Reg::Proc, |catalog, args| known(Reg::Proc, catalog, args)),
        to_reg("to_regprocedure", Reg::Procedure, |catalog, args| known(Reg::Procedure, catalog, args)),
        to_reg("to_regnamespace", Reg::Namespace, |catalog, args| known(Reg::Namespace, catalog, args)),
        to_reg("to_regrole", Reg::Role, |catalog, args| known(Reg::Role, catalog, args)),
    ]
};

/// What of a relation is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Table,
    Indexes,
    All,
}

/// How much room a relation takes. Of a table with a primary key that is the table itself, so its index takes none. NULL for
/// what is not there, and for what is temporary, which is in no file.
fn bytes_of(catalog: &Catalog, args: &[Value], database: &dyn SessionServices, parts: Parts) -> Result<Value> {
    let trees = match relation_by_oid(catalog, oid(args)).map(|(_, _, relation)| relation) {
        None => return Ok(Value::Null),
        Some(Relation::Table(table)) if table.is_temporary() => return Ok(Value::Null),
        Some(Relation::Index(table, _)) if table.is_temporary() => return Ok(Value::Null),
        Some(Relation::Table(table)) => {
            let indexes = table.indexes.iter().map(|index| index.tree).filter(|_| parts != Parts::Table);
            let itself = (parts != Parts::Indexes).then_some(table.tree);
            itself.into_iter().chain(indexes).collect()
        }
        Some(Relation::Index(table, index)) if parts != Parts::Indexes && !table.lies_by(index) => vec![index.tree],
        Some(_) => Vec::new(),
    };
    bytes(trees.into_iter().map(|tree| database.tree_bytes(tree)).sum::<Result<u64>>()?)
}

fn bytes(count: u64) -> Result<Value> {
    Ok(Value::BigInt(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// SQLSTATE 22023 for what is no fork of PostgreSQL's; there are no such files.
fn other_fork(fork: &str) -> Result<Value> {
    if matches!(fork, "fsm" | "vm" | "init") {
        return bytes(0);
    }
    let hint = "Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".";
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "invalid fork name").with_hint(hint))
}

/// By its name or its oid. SQLSTATE 3D000.
fn database_size(args: &[Value], asking: &Asking<'_>) -> Result<Value> {
    let own = asking.session.database_name()?;
    let is_it = |name: &str| match args {
        [Value::Text(asked)] => **asked == *name,
        _ => oid(args) == database_oid(name),
    };
    if is_it(&own) {
        return bytes(asking.session.database_bytes()?);
    }
    let others = asking.server().map(Server::databases).unwrap_or_default();
    match (others.iter().find(|of| is_it(&of.name)), args) {
        (Some(other), _) => bytes(other.bytes),
        (None, [Value::Text(name)]) => {
            Err(Error::new(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist")))
        }
        _ => Ok(Value::Null),
    }
}

/// The number of a session.
fn process(args: &[Value]) -> i32 {
    i32::try_from(oid(args)).unwrap_or(0)
}

/// There is one user, who may do everything.
fn allowed(_: &Catalog, _: &[Value]) -> Result<Value> {
    Ok(Value::Boolean(true))
}

fn oid(args: &[Value]) -> i64 {
    args.first().and_then(Value::as_i64).unwrap_or(0)
}

fn number(args: &[Value], at: usize) -> i64 {
    args.get(at).and_then(Value::as_i64).unwrap_or(0)
}

fn is_true(args: &[Value], at: usize) -> bool {
    matches!(args.get(at), Some(Value::Boolean(true)))
}

fn some(text: Option<String>) -> Value {
    text.map_or(Value::Null, Value::text)
}

/// Bytes in the largest unit of which there are ten or more, rounded half up.
fn pretty_size(bytes: i64) -> String {
    let (mut size, mut units) = (bytes, ["kB", "MB", "GB", "TB", "PB"].into_iter().peekable());
    if size.unsigned_abs() < 10 * 1024 {
        return format!("{size} bytes");
    }
    // From here on in halves of the unit.
    size /= 512;
    while let Some(unit) = units.next() {
        if size.unsigned_abs() < 20 * 1024 - 1 || units.peek().is_none() {
            return format!("{} {unit}", (size + size.signum()) / 2);
        }
        size /= 1024;
    }
    format!("{bytes} bytes")
}

/// The oid that a name means; NULL where there is no such thing.
fn known(reg: Reg, catalog: &Catalog, args: &[Value]) -> Result<Value> {
    let [Value::Text(text)] = args else { return Ok(Value::Null) };
    let mut context = EvalContext::default();
    context.know_oids(Arc::new(catalog.clone()));
    match context.read_oid(reg, text) {
        Ok(value) => Ok(Value::Reg(value)),
        Err(error) if error.sqlstate() == SqlState::INVALID_NAME => Err(error),
        Err(_) => Ok(Value::Null),
    }
}

fn format_type(catalog: &Catalog, args: &[Value]) -> Result<Value> {
    let [of, modifier] = args else { return Ok(Value::Null) };
    let Some(oid) = of.as_i64() else { return Ok(Value::Null) };
    if oid == 0 {
        return Ok(Value::text("-"));
    }
    let modifier = modifier.as_i64().and_then(|modifier| i32::try_from(modifier).ok());
    Ok(Value::text(reg::type_name(catalog, oid, modifier).unwrap_or_else(|| "???".to_owned())))
}

fn viewdef(catalog: &Catalog, args: &[Value], bound: &dyn BoundViews) -> Result<Value> {
    // A number is how long lines may be.
    let (is_pretty, wrap) = match args.get(1) {
        Some(Value::Boolean(is_pretty)) => (*is_pretty, 0),
        Some(_) => (true, usize::try_from(number(args, 1)).unwrap_or(usize::MAX)),
        None => (false, 0),
    };
    let told = Telling::new(catalog, bound).pretty(is_pretty);
    Ok(match relation_by_oid(catalog, oid(args)) {
        Some((_, _, Relation::View(view))) => Value::text(told.view(view, wrap)),
        Some((_, _, Relation::Table(table))) => some(table.materialized().map(|of| told.query(&of.query, table, wrap))),
        _ => Value::Null,
    })
}

/// The rule by which a view is read.
fn ruledef(catalog: &Catalog, args: &[Value], bound: &dyn BoundViews) -> Result<Value> {
    // It has the view's oid.
    let Some((_, _, Relation::View(view))) = relation_by_oid(catalog, oid(args)) else { return Ok(Value::Null) };
    let is_pretty = is_true(args, 1);
    let query = Telling::new(catalog, bound).pretty(is_pretty).view(view, 0);
    let name = match is_pretty {
        true => catalog.shown(view.schema, &view.name),
        false => format!("{}.{}", quoted(catalog.schema_name(view.schema).unwrap_or_default()), quoted(&view.name)),
    };
    Ok(Value::text(format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {query}")))
}

/// A default or a condition, which rows of the catalog have with all parentheses.
fn expression(catalog: &Catalog, args: &[Value], bound: &dyn BoundViews) -> Result<Value> {
    let Some(Value::Text(text)) = args.first() else { return Ok(Value::Null) };
    if !is_true(args, 2) {
        return Ok(Value::text(&**text));
    }
    let told = Telling::new(catalog, bound).pretty(true);
    let over = match relation_by_oid(catalog, number(args, 1)) {
        Some((_, _, Relation::Table(table))) => ExpressionOver::Table(table),
        _ => ExpressionOver::Nothing,
    };
    Ok(Value::text(told.condition_of_any(text, over)))
}

/// What can be done to a view's rows, as bits: UPDATE 4, INSERT 8, DELETE 16.
fn view_events((catalog, bound): (&Catalog, &dyn BoundViews), view: &Arc<View>, with_triggers: bool) -> i32 {
    let by_itself = match bound.updatable_columns(view, catalog) {
        Some(_) => 28,
        None if bound.is_deletable(view, catalog) => 16,
        None => 0,
    };
    let all = [(TriggerEvent::Update, 4), (TriggerEvent::Insert, 8), (TriggerEvent::Delete, 16)];
    let by_triggers = all.into_iter().filter(|(event, _)| with_triggers && view.has_instead_of(*event));
    by_triggers.fold(by_itself, |events, (_, event)| events | event)
}

/// Whether a view's column, by its number, can be given values, and rows of the view deleted.
fn is_column_updatable(
    (catalog, bound): (&Catalog, &dyn BoundViews),
    view: &Arc<View>,
    number: i64,
    with_triggers: bool,
) -> bool {
    let place = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let by_itself = bound.updatable_columns(view, catalog).is_some_and(|columns| columns.get(place) == Some(&true));
    let both = [TriggerEvent::Update, TriggerEvent::Delete];
    by_itself || with_triggers && both.into_iter().all(|event| view.has_instead_of(event))
}

fn indexdef(catalog: &Catalog, args: &[Value], bound: &dyn BoundViews) -> Result<Value> {
    let told = Telling::new(catalog, bound).pretty(is_true(args, 2));
    let Some((table, index)) = index_by_oid(catalog, oid(args)) else { return Ok(Value::Null) };
    Ok(match usize::try_from(number(args, 1)) {
        Ok(0) => Value::text(describe::index(told, table, index)),
        Ok(column) => {
            let included = names(table, &index.included);
            let all: Vec<String> = key_columns(told, table, index).into_iter().chain(included).collect();
            Value::text(all.get(column - 1).map_or("", String::as_str))
        }
        Err(_) => Value::text(""),
    })
}

fn triggerdef(catalog: &Catalog, args: &[Value], bound: &dyn BoundViews) -> Result<Value> {
    let told = Telling::new(catalog, bound).pretty(is_true(args, 1));
    let on = object(oid(args)).and_then(|id| Some((id, Triggered::of(catalog.relation_of(id)?.2)?)));
    let found = on.and_then(|(id, on)| Some((on, on.triggers().iter().find(|trigger| trigger.id == id)?)));
    Ok(some(found.map(|(on, trigger)| describe::trigger(told, on, trigger))))
}

fn routine<'c>(catalog: &'c Catalog, args: &[Value]) -> Option<&'c Routine> {
    let oid = oid(args);
    let mut all = catalog.routines().filter_map(|function| function.routine());
    all.find(|of| oid_of(of.id) == oid).map(|of| &**of)
}

fn built_in_arguments(catalog: &Catalog, args: &[Value]) -> Option<String> {
    let of = built_in(oid(args))?;
    let mut shown = reg::arguments_of(catalog, of, ", ");
    if of.variadic != 0 {
        let last = shown.rfind(", ").map_or(0, |comma| comma + 2);
        shown.insert_str(last, "VARIADIC ");
    }
    Some(shown)
}

fn built_in_result(catalog: &Catalog, args: &[Value]) -> Option<String> {
    let of = built_in(oid(args))?;
    let returns = reg::type_name(catalog, of.returns, None)?;
    Some(if of.promised().set { format!("SETOF {returns}") } else { returns })
}

fn schema_prefix(catalog: &Catalog, of: &Routine) -> String {
    format!("{}.", quoted(catalog.schema_name(of.schema).unwrap_or_default()))
}

fn serial_sequence(catalog: &Catalog, args: &[Value]) -> Result<Value> {
    let [Value::Text(table), Value::Text(column)] = args else { return Ok(Value::Null) };
    let name = relation_name(table)?;
    let Some(table) = catalog.relation(&name).ok_or_else(|| catalog.no_relation(&name))?.table() else {
        return Ok(Value::Null);
    };
    let Some(position) = table.columns.iter().position(|known| known.name == **column) else {
        return Err(crate::Error::undefined_column_of(column, &table.name));
    };
    let identity = table.columns[position].identity.map(|identity| identity.sequence);
    let owned = |sequence: &&std::sync::Arc<crate::catalog::Sequence>| {
        identity == Some(sequence.id) || sequence.owner == Some((table.id, position))
    };
    let sequence = catalog.sequences().find(owned);
    let shown = sequence.map(|sequence| {
        let schema = catalog.schema_name(sequence.schema).unwrap_or_default();
        format!("{}.{}", quoted(schema), quoted(&sequence.name))
    });
    Ok(some(shown))
}

/// The comment on what has an oid, or a part of it.
fn comment(catalog: &Catalog, oid: i64, part: i64) -> Value {
    let number = if oid == reg::PUBLIC_OID { Some(ObjectId::PUBLIC.0) } else { u32::try_from(oid - 16384).ok() };
    let (Some(id), Ok(part)) = (number, u32::try_from(part)) else { return Value::Null };
    catalog.comment(Commentable { id: ObjectId(id), part }).map_or(Value::Null, Value::text)
}

fn current_schemas(catalog: &Catalog, args: &[Value]) -> Result<Value> {
    let implicit = matches!(args, [Value::Boolean(true)]);
    let system = (implicit && !catalog.path().schemas.iter().any(|name| name == "pg_catalog")).then_some("pg_catalog");
    let searched = catalog.searched().iter().filter(|id| implicit || !id.is_temporary());
    let searched = searched.filter_map(|id| namespace_name(catalog, reg::schema_oid(*id)));
    Ok(Array::new(DataType::Name, system.into_iter().chain(searched).map(Value::text).collect()).into())
}
