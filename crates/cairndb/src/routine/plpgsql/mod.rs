//! PL/pgSQL: a body is read once (`parse`) into a small tree (`tree`), the SQL in it as fragments that are bound by the one
//! binder when they first run, with the variables as parameters (`fragment`, `scope`), and run by walking the tree (`run`).
//! An expression without a query in it is evaluated as such; no statement is begun for it.

mod conditions;
mod convert;
mod fragment;
mod frame;
mod parse;
mod run;
mod scope;
mod tree;

use std::sync::Arc;

use fragment::Names;
use parse::{Parser, Types};
use run::{Returned, Run, shape_of};
use scope::kinds_of;
use tree::{Body, Kind, Shape};

use super::Variables;
use super::sql_body::result_types;
use crate::api::Runner;
use crate::bind::{definition_fields, named_as_view};
use crate::catalog::{Relation, Returns, Routine};
use crate::exec::ExecContext;
use crate::plan::Field;
use crate::sql::{parse_one, relation_name};
use crate::types::DataType;
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
}

/// The values that EXECUTE is given by USING.
#[derive(Debug)]
struct Dynamic(Vec<DataType>);

impl Variables for Dynamic {
    fn find(&self, name: &[&str]) -> Result<Option<(usize, DataType)>> {
        let [number] = name else { return Ok(None) };
        let number = number.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
        let at = number.and_then(|number| number.checked_sub(1));
        Ok(at.and_then(|at| Some((at, *self.0.get(at)?))))
    }

    fn columns_first(&self) -> bool {
        true
    }
}

/// Types as the catalog has them now.
struct FromCatalog<'a>(&'a Runner);

impl Types for FromCatalog<'_> {
    fn data_type(&self, text: &str) -> Result<DataType> {
        let parsed = Arc::new(parse_one(&format!("SELECT CAST(NULL AS {text})"))?);
        let none: Arc<dyn Variables> = Arc::new(Dynamic(vec![]));
        let fields = self.0.prepare(&parsed, &none)?.fields().to_vec();
        fields.first().map(|field| field.data_type).ok_or_else(|| Error::internal("a type without a column"))
    }

    fn row(&self, name: &str) -> Result<Option<Arc<Shape>>> {
        let Ok(name) = relation_name(name) else { return Ok(None) };
        let catalog = self.0.catalog();
        let fields: Vec<Field> = match catalog.relation(&name) {
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

impl PlPgSql {
    pub(crate) fn new(routine: &Routine, runner: &Runner) -> Result<PlPgSql> {
        let types = FromCatalog(runner);
        let mut parser = Parser::new(&routine.body, &types)?;
        parser.scopes.0[0].label = Some(routine.name.clone());
        let found = parser.add("found", Kind::Value(DataType::Boolean));
        let (mut inputs, mut outputs) = (vec![], vec![]);
        for parameter in &routine.parameters {
            let name = parameter.name.clone().unwrap_or_default();
            let variable = parser.add(&name, Kind::Value(parameter.data_type));
            if parameter.mode.is_in() {
                inputs.push(variable);
                parser.name(&format!("${}", inputs.len()), variable);
            }
            if parameter.mode.is_out() {
                outputs.push(variable);
            }
        }
        let block = parser.body()?;
        let Parser { scopes, variables, names, .. } = parser;
        let kinds = Arc::new(kinds_of(&variables));
        let _ = names.set(Names { scopes: Arc::new(scopes), variables: kinds });
        Ok(PlPgSql { body: Body { variables, block }, inputs, outputs, found })
    }

    /// Calls it; the rows that it gives.
    pub(crate) fn call(
        &self,
        routine: &Routine,
        runner: &Runner,
        context: &ExecContext,
        args: &[Value],
    ) -> Result<Vec<Vec<Value>>> {
        let types = result_types(routine, runner)?;
        let width = types.len();
        let mut run = Run::new(self, routine, (runner, context), types);
        run.frame.set(self.found, Value::Boolean(false));
        for (variable, value) in self.inputs.iter().zip(args) {
            run.frame.set(*variable, value.clone());
        }
        let is_ended = run.body()?;
        if routine.set {
            return Ok(run.rows);
        }
        if !self.outputs.is_empty() {
            return Ok(vec![self.outputs.iter().map(|output| run.frame.value(*output).clone()).collect()]);
        }
        if routine.returns == Returns::Void {
            return Ok(vec![]);
        }
        if !is_ended {
            let message = "control reached end of function without RETURN";
            return Err(Error::new(SqlState("2F005"), message));
        }
        Ok(match run.take_returned() {
            Returned::Nothing | Returned::Row(None) => vec![vec![Value::Null; width]],
            Returned::Value(value) => vec![vec![value]],
            Returned::Row(Some(row)) => vec![row],
        })
    }
}
