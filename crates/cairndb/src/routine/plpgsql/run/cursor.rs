//! OPEN, FETCH, MOVE, CLOSE, and FOR over a cursor.

use super::{Flow, Run, error, shape_of};
use crate::command::Direction;
use crate::plan::Field;
use crate::routine::plpgsql::PlPgSql;
use crate::routine::plpgsql::convert::{converted, shown};
use crate::routine::plpgsql::fragment::Fragment;
use crate::routine::plpgsql::tree::{BoundCursor, Count, Into, Loop, Opening, Place, Query, Way, WayKind};
use crate::types::DataType;
use crate::{Error, Result, Value};

impl PlPgSql {
    fn bound_cursor(&self, variable: usize) -> Result<&BoundCursor> {
        let found = self.body.cursors.iter().find(|bound| bound.variable == variable);
        found.ok_or_else(|| Error::internal("a cursor without a query"))
    }
}

impl<'a> Run<'a> {
    pub(super) fn open_cursor(&mut self, variable: usize, opening: &Opening) -> Result<()> {
        match opening {
            Opening::Bound(args) => {
                let code: &'a PlPgSql = self.code;
                self.open_bound(code.bound_cursor(variable)?, args)
            }
            Opening::Query(scroll, query) => self.open_query(variable, query, *scroll),
        }
    }

    fn open_bound(&mut self, bound: &BoundCursor, args: &[(usize, Fragment)]) -> Result<()> {
        for (argument, value) in args {
            let (value, data_type) = self.value(value)?;
            self.assign(&Place::Variable(*argument), value, data_type)?;
        }
        self.open_query(bound.variable, &bound.query, bound.scroll)
    }

    fn open_query(&mut self, variable: usize, query: &Query, scroll: Option<bool>) -> Result<()> {
        let name = match self.frame.value(variable) {
            Value::Null => {
                let declared = &self.code.body.variables[variable];
                if declared.constant {
                    return Err(error("22005", format!("variable \"{}\" is declared CONSTANT", declared.name)));
                }
                None
            }
            name => Some(shown(name, &self.context.eval)),
        };
        let (prepared, context) = self.ready_query(query)?;
        let opened = self.host.open_cursor(name, &prepared, &context, self.routine, scroll);
        self.statement = Some(context);
        self.frame.set(variable, Value::text(opened?.as_str()));
        Ok(())
    }

    /// SQLSTATE 22004 where no cursor was opened.
    fn portal(&self, variable: usize) -> Result<String> {
        match self.frame.value(variable) {
            Value::Null => {
                let name = &self.code.body.variables[variable].name;
                Err(error("22004", format!("cursor variable \"{name}\" is null")))
            }
            name => Ok(shown(name, &self.context.eval)),
        }
    }

    /// FETCH; MOVE, where nothing is to get the row.
    pub(super) fn fetch(&mut self, variable: usize, way: &Way, into: Option<&Into>) -> Result<()> {
        let direction = self.direction(way)?;
        let portal = self.portal(variable)?;
        let (fields, rows, count) = self.host.fetch_cursor(&portal, direction)?;
        if let Some(into) = into {
            self.put(into, rows.into_iter().next(), &shape_of(&fields))?;
        }
        self.found(count);
        Ok(())
    }

    fn direction(&self, way: &Way) -> Result<Direction> {
        let count = match &way.count {
            Count::All => None,
            Count::Number(count) => Some(*count),
            Count::Given(fragment) => {
                let (value, data_type) = self.value(fragment)?;
                match converted(value, data_type, DataType::BigInt, &self.context.eval)? {
                    Value::BigInt(count) => Some(count),
                    _ => return Err(error("22004", "relative or absolute cursor position is null")),
                }
            }
        };
        Ok(match (way.kind, count) {
            (WayKind::Forward, Some(back @ ..=-1)) => Direction::Backward(Some(back.unsigned_abs())),
            (WayKind::Backward, Some(on @ ..=-1)) => Direction::Forward(Some(on.unsigned_abs())),
            (WayKind::Forward, count) => Direction::Forward(count.map(i64::unsigned_abs)),
            (WayKind::Backward, count) => Direction::Backward(count.map(i64::unsigned_abs)),
            (WayKind::Absolute, count) => Direction::Absolute(count.unwrap_or(0)),
            (WayKind::Relative, count) => Direction::Relative(count.unwrap_or(0)),
        })
    }

    pub(super) fn close_cursor(&mut self, variable: usize) -> Result<()> {
        let portal = self.portal(variable)?;
        self.host.close_cursor(&portal)
    }

    /// FOR over a bound cursor: opened before, closed behind it.
    pub(super) fn over_cursor(
        &mut self,
        repeated: &Loop,
        (row, variable): (usize, usize),
        args: &[(usize, Fragment)],
    ) -> Result<Flow> {
        let code: &'a PlPgSql = self.code;
        let before = self.frame.value(variable).clone();
        self.open_bound(code.bound_cursor(variable)?, args)?;
        let portal = self.portal(variable)?;
        if self.control.is_some() {
            self.host.pin_cursor(&portal)?;
        }
        let mut found = false;
        let over = loop {
            let (fields, mut rows, _): (Vec<Field>, _, _) =
                self.host.fetch_cursor(&portal, Direction::Forward(Some(1)))?;
            let Some(values) = rows.pop() else {
                if !found {
                    self.put_row(row, Some(vec![Value::Null; fields.len()]), &shape_of(&fields))?;
                }
                break None;
            };
            found = true;
            self.put_row(row, Some(values), &shape_of(&fields))?;
            if let Some(flow) = self.round(repeated)? {
                break Some(flow);
            }
        };
        self.host.close_cursor(&portal)?;
        self.frame.set(variable, before);
        self.frame.set(self.code.found, Value::Boolean(found));
        Ok(over.unwrap_or(Flow::Next))
    }
}
