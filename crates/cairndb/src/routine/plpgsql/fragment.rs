//! Pieces of SQL in a body: parsed once, bound when they first run, and again where what they rest on is another.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use super::frame::Frame;
use super::scope::{InSight, Scopes, Source, Tables};
use super::tree::Kind;
use crate::Result;
use crate::bind::{Conflict, Variables};
use crate::exec::{self, ExecContext};
use crate::plan::{EvalEnv, Expr, PhysicalNode, SequenceOp, eval, walk};
use crate::prepared::Prepared;
use crate::routine::StatementHost;
use crate::sql::{ParsedStatement, parse_one};
use crate::sync::Mutex;
use crate::types::{DataType, EvalContext, Shape, ValueRef};
use crate::{Error, SqlState, Value};

/// A statement of SQL, or an expression as `SELECT expression`.
#[derive(Debug)]
pub(crate) struct Fragment {
    pub(super) parsed: Arc<ParsedStatement>,
    /// As it is written in the body.
    pub(super) text: String,
    scope: usize,
    names: Arc<OnceLock<Names>>,
    is_call: bool,
    bound: Mutex<Option<Arc<Bound>>>,
}

/// What the fragments of a body share, once it was read to its end.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) scopes: Arc<Scopes>,
    pub(super) variables: Arc<Vec<(String, Kind)>>,
    pub(super) conflict: Conflict,
}

/// A fragment whose names have a meaning.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) prepared: Arc<Prepared>,
    /// All that it is, where it is an expression without a query in it.
    pub(super) simple: Option<Expr>,
    pub(super) sources: Vec<Source>,
    /// The rows among the sources, and the shapes that they had.
    shapes: Vec<(usize, Arc<Shape>)>,
    /// The tables of a trigger that were in sight.
    tables: Option<Arc<Tables>>,
    /// The schema for which it was found to be right.
    seen: AtomicU64,
}

impl Fragment {
    pub(super) fn statement(text: &str, scope: usize, names: &Arc<OnceLock<Names>>) -> Result<Fragment> {
        let parsed = Arc::new(parse_one(text)?);
        let bound = Mutex::default();
        Ok(Fragment { parsed, text: text.to_owned(), scope, names: names.clone(), is_call: false, bound })
    }

    pub(super) fn expression(text: &str, scope: usize, names: &Arc<OnceLock<Names>>) -> Result<Fragment> {
        let mut fragment = Fragment::statement(&format!("SELECT {text}"), scope, names)?;
        text.trim().clone_into(&mut fragment.text);
        Ok(fragment)
    }

    /// The query that CALL of a procedure is.
    pub(super) fn call(text: &str, scope: usize, names: &Arc<OnceLock<Names>>) -> Result<Fragment> {
        Ok(Fragment { is_call: true, ..Fragment::statement(text, scope, names)? })
    }

    /// What it means now.
    pub(super) fn bound(&self, frame: &Frame, host: &dyn StatementHost) -> Result<Arc<Bound>> {
        let mut known = self.bound.lock();
        if let Some(bound) = &*known
            && bound.shapes.iter().all(|(variable, shape)| frame.has_shape(*variable, shape))
            && frame.has_tables(bound.tables.as_ref())
            && (bound.seen.load(Relaxed) == host.seen() || host.is_current(&bound.prepared))
        {
            bound.seen.store(host.seen(), Relaxed);
            return Ok(bound.clone());
        }
        let seen = AtomicU64::new(host.seen());
        let names = self.names.get().ok_or_else(|| Error::internal("a body that was not read to its end"))?;
        let shapes = frame.shapes();
        let in_sight = Arc::new(InSight {
            scopes: names.scopes.clone(),
            scope: self.scope,
            variables: names.variables.clone(),
            shapes: shapes.clone(),
            tables: frame.tables.clone(),
            is_call: self.is_call,
            conflict: names.conflict,
            sources: Mutex::default(),
        });
        let variables: Arc<dyn Variables> = in_sight.clone();
        let prepared = host.prepare(&self.parsed, &variables)?;
        let simple = simple(&prepared)?;
        let sources = in_sight.take_sources();
        let mut rested: Vec<(usize, Arc<Shape>)> = Vec::new();
        for source in sources.iter().filter(|source| source.field.is_some()) {
            if rested.iter().all(|(variable, _)| *variable != source.variable) {
                rested.extend(shapes[source.variable].clone().map(|shape| (source.variable, shape)));
            }
        }
        let bound = Arc::new(Bound { prepared, simple, sources, shapes: rested, tables: frame.tables.clone(), seen });
        *known = Some(bound.clone());
        Ok(bound)
    }

    /// The value of an expression, and its type.
    pub(super) fn value(
        &self,
        frame: &Frame,
        host: &dyn StatementHost,
        context: &ExecContext,
    ) -> Result<(Value, DataType)> {
        let bound = self.bound(frame, host)?;
        if let Some(expr) = &bound.simple {
            let nothing: &[Value] = &[];
            let around = Locals { frame, sources: &bound.sources, context };
            return Ok((eval(expr, &nothing, around)?.into_value(), expr.data_type()));
        }
        let context = ExecContext { parameters: frame.parameters(&bound.sources)?.into(), ..context.clone() };
        let mut ran = host.run_prepared(&bound.prepared, &context, Some(2))?;
        if ran.fields.len() != 1 {
            let message = format!("query \"SELECT {}\" returned {} columns", self.text, ran.fields.len());
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        if ran.rows.len() > 1 {
            let message = "query returned more than one row";
            return Err(Error::new(SqlState::CARDINALITY_VIOLATION, message));
        }
        let value = ran.rows.pop().and_then(|mut row| row.pop()).unwrap_or(Value::Null);
        Ok((value, ran.fields[0].data_type))
    }

    /// Whether a condition holds.
    pub(super) fn is_true(&self, frame: &Frame, host: &dyn StatementHost, context: &ExecContext) -> Result<bool> {
        let (value, data_type) = self.value(frame, host, context)?;
        if let Value::Boolean(value) = value {
            return Ok(value);
        }
        if value.is_null() {
            return Ok(false);
        }
        let cast = crate::types::cast_assign(&value, data_type, DataType::Boolean, &context.eval)?;
        Ok(cast == Value::Boolean(true))
    }
}

/// The expression that a plan computes once, of nothing but parameters.
fn simple(prepared: &Prepared) -> Result<Option<Expr>> {
    if prepared.writes() {
        return Ok(None);
    }
    let Some(plan) = prepared.plan()? else { return Ok(None) };
    let one_row =
        |node: &PhysicalNode| matches!(node, PhysicalNode::Values { rows } if rows.len() == 1 && rows[0].is_empty());
    let expr = match &plan.node {
        PhysicalNode::Project { input, exprs, .. } if one_row(&input.node) => exprs,
        PhysicalNode::Values { rows } if rows.len() == 1 => &rows[0],
        _ => return Ok(None),
    };
    let [expr] = expr.as_slice() else { return Ok(None) };
    let mut is_simple = true;
    walk::walk(expr, 0, &mut |expr, _| {
        is_simple &= !matches!(expr, Expr::Subquery(_) | Expr::Subplan(_) | Expr::Outer { .. } | Expr::Column { .. });
    });
    Ok(is_simple.then(|| expr.clone()))
}

/// Variables as the parameters of an expression.
#[derive(Clone, Copy)]
struct Locals<'a> {
    frame: &'a Frame,
    sources: &'a [Source],
    context: &'a ExecContext,
}

impl<'a> EvalEnv<'a> for Locals<'a> {
    type Miss = Error;

    fn parameter(self, index: usize, _: DataType) -> Result<ValueRef<'a>> {
        let source = self.sources.get(index).ok_or_else(|| Error::internal("no such variable"))?;
        self.frame.get(source).map(ValueRef::from)
    }

    fn eval(self) -> &'a EvalContext {
        &self.context.eval
    }

    fn sequence(self, op: SequenceOp, name: &Value, value: Option<&Value>) -> Result<Value> {
        exec::sequence(op, name, value, self.context)
    }

    fn missed(error: Error) -> Error {
        error
    }
}
