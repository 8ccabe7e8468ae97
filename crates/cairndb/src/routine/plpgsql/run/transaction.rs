//! COMMIT, ROLLBACK, and CALL, behind which the transaction may be another one.

use std::sync::Arc;

use super::{Lent, Run, error, of_statement};
use crate::Result;
use crate::catalog::RoutineParameter;
use crate::plan::Expr;
use crate::routine::call::call_in;
use crate::routine::plpgsql::fragment::{Bound, Fragment};
use crate::routine::plpgsql::scope::Source;
use crate::routine::plpgsql::tree::{Kind, Place};
use crate::routine::transactions::{Control, Ending, Ground, Obstacle, no_control};
use crate::types::DataType;

impl Run<'_> {
    /// Does something behind an obstacle to the transaction's end, if there is one.
    pub(super) fn behind<T>(&mut self, obstacle: Option<Obstacle>, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.control;
        self.control = before.map(|control| obstacle.map_or(control, |obstacle| control.behind(obstacle)));
        let done = work(self);
        self.control = before.zip(self.control).map(|(before, now)| now.as_before(before));
        done
    }

    pub(super) fn end_transaction(&mut self, ending: Ending) -> Result<()> {
        self.context.check()?;
        let ground = self.control.as_mut().ok_or_else(no_control)?.end(ending)?;
        self.stand_on(ground)
    }

    /// Goes on from another transaction.
    fn stand_on(&mut self, ground: Ground) -> Result<()> {
        let context = ground.context(self.routine, self.context.parameters.clone())?;
        (self.context, self.host) = (Lent::Own(Arc::new(context)), Lent::Own(ground.host));
        self.statement = None;
        Ok(())
    }

    pub(super) fn call(&mut self, fragment: &Fragment) -> Result<()> {
        self.context.check()?;
        let bound = fragment.bound(&self.frame, &*self.host)?;
        let outputs = self.outputs_of(&bound)?;
        let context = self.with_parameters(&bound.sources)?;
        let control = self.control.and_then(Control::handed_on);
        let mut ran = self.host.call_procedure(&bound.prepared, &context, control).map_err(|error| {
            let call = fragment.text.trim().trim_start_matches("SELECT * FROM ");
            of_statement(error, &format!("CALL {call}"))
        })?;
        if let Some(ground) = self.control.as_mut().map(|control| control.follow()).transpose()?.flatten() {
            self.stand_on(ground)?;
        }
        let given = ran.rows.pop().unwrap_or_default();
        outputs.iter().zip(given).try_for_each(|((place, data_type), value)| self.assign(place, value, *data_type))
    }

    /// Where a call's results go, and their types.
    fn outputs_of(&self, bound: &Bound) -> Result<Vec<(Place, DataType)>> {
        let Some((routine, args)) = bound.prepared.plan()?.and_then(|plan| call_in(plan)) else { return Ok(vec![]) };
        let outputs = routine.inputs().zip(args).filter(|(input, _)| input.mode.is_out());
        let place = |(output, arg): (&RoutineParameter, &Expr)| {
            let is_same = |_: &Place| arg.data_type().base() == output.data_type.base();
            let place = self.place_of(arg, &bound.sources).filter(is_same).ok_or_else(|| {
                let name = output.name.as_deref().unwrap_or_default();
                let what = format!("procedure parameter \"{name}\" is an output parameter");
                error("42601", format!("{what} but corresponding argument is not writable"))
            })?;
            if let Place::Variable(variable) | Place::Field(variable, _) = &place
                && self.code.body.variables[*variable].constant
            {
                let name = &self.code.body.variables[*variable].name;
                return Err(error("22005", format!("variable \"{name}\" is declared CONSTANT")));
            }
            Ok((place, output.data_type))
        };
        outputs.map(place).collect()
    }

    /// The variable that an argument is; none where it is converted to another type, as in PostgreSQL.
    fn place_of(&self, arg: &Expr, sources: &[Source]) -> Option<Place> {
        let Expr::Parameter { index, .. } = arg else { return self.row_that_is(arg, sources).map(Place::Variable) };
        let source = sources.get(*index)?;
        match (&self.code.body.variables[source.variable].kind, source.field) {
            (Kind::Value(_), None) => Some(Place::Variable(source.variable)),
            (Kind::Row(_), Some(field)) => {
                let shape = self.frame.row(source.variable).ok()?.shape.as_ref()?;
                Some(Place::Field(source.variable, shape.0.get(field)?.0.clone()))
            }
            _ => None,
        }
    }

    /// The variable whose row, NULL where there is none, an argument is: see `Binder::variable_named`.
    fn row_that_is(&self, arg: &Expr, sources: &[Source]) -> Option<usize> {
        let Expr::Case { branches, otherwise: Some(row), .. } = arg else { return None };
        let [(Expr::IsNull(present), _)] = branches.as_slice() else { return None };
        let source = |expr: &Expr| match expr {
            Expr::Parameter { index, .. } => sources.get(*index),
            _ => None,
        };
        let variable = source(present).filter(|source| source.field.is_none())?.variable;
        let Expr::Call { args: fields, .. } = &**row else { return None };
        let mut fields = fields.iter().enumerate();
        let is_whole = fields.all(|(at, field)| source(field) == Some(&Source { variable, field: Some(at) }));
        (is_whole && matches!(self.code.body.variables[variable].kind, Kind::Row(_))).then_some(variable)
    }
}
