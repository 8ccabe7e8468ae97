//! PL/pgSQL: a body is read once (`parse`) into a small tree (`tree`), the SQL in it as fragments that are bound by the one
//! binder when they first run, with the variables as parameters (`fragment`, `scope`), and run by walking the tree (`run`).
//! An expression without a query in it is evaluated as such; no statement is begun for it.

mod conditions;
mod convert;
mod fragment;
mod frame;
mod parse;
mod repeated;
mod run;
mod scope;
mod tree;

use std::cell::RefCell;
use std::sync::Arc;

use fragment::Names;
use parse::{Gives, Parser, Types};
pub(crate) use run::Room;
use run::{Returned, Run, shape_of};
use scope::{Tables, kinds_of};
use tree::{Body, Kind};

use super::domains::{Results, rules_of};
use super::sql_body::result_types;
use super::transactions::Control;
use crate::bind::{DomainRules, definition_fields, named_as_view};
use crate::bind::{RowsVariable, Variables};
use crate::catalog::{ObjectName, Relation, Returns, Routine};
use crate::error::Feature;
use crate::exec::ExecContext;
use crate::functions::{Firing, TriggerCall};
use crate::plan::Field;
use crate::routine::StatementHost;
use crate::sql::{parse_one, relation_name};
use crate::types::{Array, DataType, Dimension, Shape};
use crate::{Error, Result, SqlState, Value};

/// A body that was read.
#[derive(Debug)]
pub(crate) struct PlPgSql {
    body: Body,
    /// The variables of the parameters that go in, and of those that come out.
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    /// The variable FOUND.
    found: usize,
    /// Of a trigger's function.
    trigger: Option<TriggerVariables>,
    asked: Asked,
    results: Results,
}

/// What was asked of the catalog while the body was read, and what it said.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    types: Vec<(String, DataType)>,
    rows: Vec<(ObjectName, Option<Arc<Shape>>)>,
}

/// What a trigger's function sees.
#[derive(Debug)]
struct TriggerVariables {
    new: usize,
    old: usize,
    /// Of arrays: the statement's rows as they were and as they are.
    tables: [usize; 2],
    /// Those that begin with TG_, where the body has one of them.
    about: Option<[usize; 10]>,
}

const ABOUT: [&str; 10] = [
    "tg_name",
    "tg_when",
    "tg_level",
    "tg_op",
    "tg_relid",
    "tg_relname",
    "tg_table_name",
    "tg_table_schema",
    "tg_nargs",
    "tg_argv",
];

/// The values that EXECUTE is given by USING, then the tables of a trigger.
#[derive(Debug)]
struct Dynamic(Vec<DataType>, Option<Arc<Tables>>);

impl Variables for Dynamic {
    fn find(&self, name: &[&str]) -> Result<Option<(usize, DataType)>> {
        let [number] = name else { return Ok(None) };
        let number = number.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
        let at = number.and_then(|number| number.checked_sub(1));
        Ok(at.and_then(|at| Some((at, *self.0.get(at)?))))
    }

    fn rows(&self, name: &str) -> Option<RowsVariable> {
        let (at, tables) = (self.1.as_ref()?.named(name)?, self.1.as_ref()?);
        Some(tables.rows((self.0.len() + at, tables.data_type)))
    }
}

/// Types as the catalog has them now.
struct FromCatalog<'a>(&'a dyn StatementHost, RefCell<Asked>);

impl Types for FromCatalog<'_> {
    fn data_type(&self, text: &str) -> Result<(DataType, Option<Arc<DomainRules>>)> {
        let data_type = self.type_named(text)?;
        self.1.borrow_mut().types.push((text.to_owned(), data_type));
        let catalog = self.0.catalog();
        let named = relation_name(text).ok();
        let found = named.map(|name| catalog.user_type(name.schema.as_deref(), &name.name, |_, _| {})).transpose()?;
        let domain = found.flatten().filter(|of| of.domain().is_some());
        if domain.is_some() && matches!(data_type, DataType::Composite(_)) {
            return Err(Error::lacking(Feature::DomainsOfRows, "a variable of a domain over a composite type"));
        }
        let rules = domain.map(|of| DomainRules::of(of, 0, &catalog).map(Arc::new)).transpose()?;
        Ok((data_type, rules))
    }

    fn of_column(&self, table: &ObjectName, column: &str) -> Result<Option<Arc<DomainRules>>> {
        let catalog = self.0.catalog();
        let Some(Relation::Table(table)) = catalog.relation(table) else { return Ok(None) };
        let domain = table.columns.iter().find(|known| known.name == column).and_then(|column| column.domain);
        let domain = domain.and_then(|domain| catalog.type_by_id(domain));
        domain.map(|of| DomainRules::of(of, 0, &catalog).map(Arc::new)).transpose()
    }

    fn row(&self, name: &ObjectName) -> Result<Option<Arc<Shape>>> {
        let row = self.row_named(name)?;
        self.1.borrow_mut().rows.push((name.clone(), row.clone()));
        Ok(row)
    }
}

impl FromCatalog<'_> {
    fn type_named(&self, text: &str) -> Result<DataType> {
        let parsed = Arc::new(parse_one(&format!("SELECT CAST(NULL AS {text})"))?);
        let none: Arc<dyn Variables> = Arc::new(Dynamic(vec![], None));
        let fields = self.0.prepare(&parsed, &none)?.fields().to_vec();
        fields.first().map(|field| field.data_type).ok_or_else(|| Error::internal("a type without a column"))
    }

    fn row_named(&self, name: &ObjectName) -> Result<Option<Arc<Shape>>> {
        let catalog = self.0.catalog();
        let fields: Vec<Field> = match catalog.relation(name) {
            Some(Relation::Table(table)) => {
                let field =
                    |column: &crate::catalog::Column| Field { name: column.name.clone(), data_type: column.data_type };
                table.columns.iter().map(field).collect()
            }
            Some(Relation::View(view)) => named_as_view(view, definition_fields(&view.query, &catalog)?)?,
            _ => return Ok(None),
        };
        Ok(Some(shape_of(&fields)))
    }
}

/// TG_ARGV: its first subscript is 0.
fn arguments(args: Vec<Value>) -> Result<Value> {
    let dimensions = [Dimension { lower: 0, length: args.len() }];
    Ok(match args.is_empty() {
        true => Array::empty(DataType::Text).into(),
        false => Array::with_dimensions(DataType::Text, &dimensions, args)?.into(),
    })
}

impl PlPgSql {
    pub(crate) fn new(routine: &Routine, host: &dyn StatementHost) -> Result<PlPgSql> {
        let types = FromCatalog(host, RefCell::default());
        let mut parser = Parser::new(&routine.body, &types)?;
        parser.gives = Gives::of(routine);
        parser.scopes.0[0].label = Some(routine.name.clone());
        let found = parser.add("found", Kind::Value(DataType::Boolean));
        let (mut inputs, mut outputs) = (vec![], vec![]);
        for (at, parameter) in (1..).zip(&routine.parameters) {
            let name = parameter.name.clone().unwrap_or_default();
            let variable = parser.add(&name, Kind::of(parameter.data_type));
            let domain = parameter.domain.as_ref();
            let rules = domain.map(|of| rules_of(of, 0, &host.catalog()).map(Arc::new)).transpose()?;
            parser.variables[variable].domain = rules;
            // What only goes out is counted too.
            parser.name(&format!("${at}"), variable);
            if parameter.mode.is_in() {
                inputs.push(variable);
            }
            if parameter.mode.is_out() {
                outputs.push(variable);
            }
        }
        match routine.returns {
            Returns::Any(_) => drop(parser.add("$0", Kind::Value(DataType::Unknown))),
            Returns::Type(data_type) if routine.is_polymorphic() => drop(parser.add("$0", Kind::of(data_type))),
            _ => {}
        }
        let trigger = (routine.returns == Returns::Trigger).then(|| {
            let (new, old) = (parser.add("new", Kind::Row(None)), parser.add("old", Kind::Row(None)));
            let about = routine.body.to_ascii_lowercase().contains("tg_");
            let data_type = |name: &str| match name {
                "tg_relid" => DataType::Oid,
                "tg_nargs" => DataType::Integer,
                "tg_argv" => DataType::Text.array().unwrap_or(DataType::Text),
                "tg_name" | "tg_relname" | "tg_table_name" | "tg_table_schema" => DataType::Name,
                _ => DataType::Text,
            };
            let about = about.then(|| ABOUT.map(|name| parser.add(name, Kind::Value(data_type(name)))));
            // Nobody can say their names.
            let tables = [0, 1].map(|_| parser.add("", Kind::Value(DataType::Unknown)));
            TriggerVariables { new, old, tables, about }
        });
        let block = parser.body()?;
        let Parser { scopes, variables, names, cursors, conflict, .. } = parser;
        let kinds = Arc::new(kinds_of(&variables));
        let _ = names.set(Names { scopes: Arc::new(scopes), variables: kinds, conflict });
        let (asked, results) = (types.1.take(), Results::of(routine, &host.catalog())?);
        Ok(PlPgSql { body: Body { variables, cursors, block }, inputs, outputs, found, trigger, asked, results })
    }

    /// Its variables or what it gives are of domains.
    pub(crate) fn has_domains(&self) -> bool {
        !self.results.is_empty() || self.body.variables.iter().any(|variable| variable.domain.is_some())
    }

    /// Whether the types and rows that it speaks of are what they were when it was read.
    pub(crate) fn is_current(&self, host: &dyn StatementHost) -> bool {
        let now = FromCatalog(host, RefCell::default());
        let Asked { types, rows } = &self.asked;
        types.iter().all(|(text, was)| now.type_named(text).is_ok_and(|is| is == *was))
            && rows.iter().all(|(name, was)| now.row_named(name).is_ok_and(|is| is == *was))
    }

    /// Runs it as a trigger's function; the row that it returns.
    pub(crate) fn fire(
        &self,
        host: &dyn StatementHost,
        context: &ExecContext,
        call: &TriggerCall,
        firing: Firing,
        room: &mut Room,
    ) -> Result<Option<Vec<Value>>> {
        let mut run = Run::new(self, &call.routine, (host, context), vec![], std::mem::take(room));
        self.enter(&mut run, call, firing)?;
        if !run.body()? {
            let message = "control reached end of trigger procedure without RETURN";
            return Err(Error::new(SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT, message));
        }
        let returned = run.take_returned();
        *room = run.into_room();
        Ok(match returned {
            Returned::Row(row) => row,
            _ => None,
        })
    }

    /// Gives the variables of a trigger's function what it is told of.
    fn enter(&self, run: &mut Run<'_>, call: &TriggerCall, firing: Firing) -> Result<()> {
        let Some(variables) = &self.trigger else {
            return Err(Error::internal("a function of a trigger that is none"));
        };
        run.shape = Some(call.shape.clone());
        run.frame.set(self.found, Value::Boolean(false));
        for (variable, row) in [(variables.new, firing.new), (variables.old, firing.old)] {
            let slot = run.frame.row_mut(variable)?;
            slot.is_null = row.is_none();
            match row {
                Some(row) => slot.values = row,
                None => slot.values.resize(call.shape.0.len(), Value::Null),
            }
            slot.shape = Some(call.shape.clone());
        }
        if call.sees_tables() {
            let tables = variables.tables.into_iter().zip(firing.tables);
            tables.for_each(|(variable, rows)| run.frame.set(variable, rows.unwrap_or(Value::Null)));
            run.frame.tables = Some(Arc::new(Tables::of(call, variables.tables)?));
        }
        if let Some(about) = variables.about {
            let args: Vec<Value> = call.args.iter().map(|arg| Value::text(arg.as_str())).collect();
            let table = || Value::text(call.table_name.as_str());
            let values = [
                Value::text(call.name.as_str()),
                Value::text(call.timing),
                Value::text(if call.per_row { "ROW" } else { "STATEMENT" }),
                Value::text(firing.event.name()),
                Value::BigInt(crate::system::oid_of(call.table)),
                table(),
                table(),
                Value::text(call.schema.as_str()),
                Value::Integer(i32::try_from(args.len()).unwrap_or(i32::MAX)),
                arguments(args)?,
            ];
            about.into_iter().zip(values).for_each(|(variable, value)| run.frame.set(variable, value));
        }
        Ok(())
    }

    /// Calls it; the rows that it gives.
    pub(crate) fn call(
        &self,
        routine: &Routine,
        (host, context): (&dyn StatementHost, &ExecContext),
        args: &[Value],
        control: Option<Control<'_>>,
    ) -> Result<Vec<Vec<Value>>> {
        let types = result_types(routine, host)?;
        let mut run = Run::new(self, routine, (host, context), types, Room::default());
        run.control = control;
        run.frame.set(self.found, Value::Boolean(false));
        for (variable, value) in self.inputs.iter().zip(args) {
            run.frame.set_whole(*variable, value);
        }
        let is_ended = run.body()?;
        if routine.set {
            return Ok(run.rows);
        }
        if !self.outputs.is_empty() {
            let row = self.outputs.iter().map(|output| run.frame.whole(*output)).collect::<Result<_>>()?;
            return Ok(vec![row]);
        }
        if routine.returns == Returns::Void {
            return Ok(vec![]);
        }
        if !is_ended {
            let message = "control reached end of function without RETURN";
            return Err(Error::new(SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT, message));
        }
        let row = match run.take_returned() {
            Returned::Nothing | Returned::Row(None) => return Ok(vec![]),
            Returned::Value(value) => vec![value],
            Returned::Row(Some(row)) => row,
        };
        if !self.results.is_empty() {
            let place = "while casting return value to function's return type";
            let checked = self.results.check(&row, &run.context.eval);
            checked.map_err(|error| error.called_from(&run.place(Some((0, place)))))?;
        }
        Ok(vec![row])
    }
}
