//! Statements of SQL in a body.

use std::sync::Arc;

use super::{Opened, Ready, Run, error, of_statement, shape_of};
use crate::Result;
use crate::bind::Variables;
use crate::command;
use crate::exec::ExecContext;
use crate::routine::plpgsql::Dynamic;
use crate::routine::plpgsql::convert::shown;
use crate::routine::plpgsql::fragment::Fragment;
use crate::routine::plpgsql::scope::Source;
use crate::routine::plpgsql::tree::{Into, Query};
use crate::session::Ran;
use crate::sql::parse_one;

impl Run<'_> {
    pub(super) fn fragment(&mut self, fragment: &Fragment, limit: Option<usize>) -> Result<Ran> {
        let ready = self.ready(fragment)?;
        self.run_ready(ready, limit)
    }

    pub(super) fn run_ready(&mut self, (prepared, context): Ready, limit: Option<usize>) -> Result<Ran> {
        let ran = self.runner.run_prepared(&prepared, &context, limit);
        self.statement = Some(context);
        ran.map_err(|error| of_statement(error, prepared.parsed.text()))
    }

    pub(super) fn ready(&mut self, fragment: &Fragment) -> Result<Ready> {
        self.context.check()?;
        let bound = fragment.bound(&self.frame, &self.runner)?;
        Ok((bound.prepared.clone(), self.with_parameters(&bound.sources)?))
    }

    /// For a statement with these parameters.
    pub(super) fn with_parameters(&mut self, sources: &[Source]) -> Result<Box<ExecContext>> {
        let mut context = self.statement.take().unwrap_or_else(|| Box::new(ExecContext::clone(&self.context)));
        match Arc::get_mut(&mut context.parameters).filter(|known| known.len() == sources.len()) {
            Some(known) => {
                for (value, source) in known.iter_mut().zip(sources) {
                    value.clone_from(self.frame.get(source)?);
                }
            }
            None => context.parameters = self.frame.parameters(sources)?.into(),
        }
        Ok(context)
    }

    pub(super) fn query(&mut self, query: &Query, limit: Option<usize>) -> Result<Ran> {
        let ready = self.ready_query(query)?;
        self.run_ready(ready, limit)
    }

    /// The rows of a query, read as they are asked for where they may be many; whether the statement itself changes some.
    pub(super) fn open(&mut self, query: &Query) -> Result<(Opened, bool)> {
        let ready = self.ready_query(query)?;
        let (fields, changes) = (ready.0.fields().to_vec(), ready.0.changes());
        let opened = match (self.runner.stream(&ready.0, &ready.1, self.routine)?, self.control) {
            (Some(stream), Some(_)) => Opened::Held(self.runner.looped(stream), 0, fields),
            (Some(stream), None) => Opened::Stream { stream: Box::new(stream), batch: None, fields },
            // As a cursor's, its errors are the loop's.
            (None, _) => {
                let ran = self.runner.run_prepared(&ready.0, &ready.1, None);
                self.statement = Some(ready.1);
                match ran?.rows.into_few() {
                    Ok(few) => Opened::All(fields, few.into_iter()),
                    Err(rows) => Opened::Collected { rows: Box::new(rows), batch: None, fields },
                }
            }
        };
        Ok((opened, changes))
    }

    pub(super) fn ready_query(&mut self, query: &Query) -> Result<Ready> {
        let (text, using) = match query {
            Query::Plain(fragment) => return self.ready(fragment),
            Query::Dynamic(text, using) => (text, using),
        };
        let (text, _) = self.value(text)?;
        if text.is_null() {
            return Err(error("22004", "query string argument of EXECUTE is null"));
        }
        let text = shown(&text, &self.context.eval);
        let (mut values, mut types) = (Vec::new(), Vec::new());
        for argument in using {
            let (value, data_type) = self.value(argument)?;
            values.push(value);
            types.push(data_type);
        }
        self.context.check()?;
        let tables = self.frame.tables.clone();
        let rows = tables.iter().flat_map(|tables| tables.variables);
        values.extend(rows.map(|variable| self.frame.value(variable).clone()));
        let variables: Arc<dyn Variables> = Arc::new(Dynamic(types, tables));
        let parsed = Arc::new(parse_one(&text)?);
        if command::controls_transaction(&parsed) {
            return Err(error("0A000", "EXECUTE of transaction commands is not implemented"));
        }
        let prepared = self.runner.prepare(&parsed, &variables)?;
        Ok((prepared, Box::new(ExecContext { parameters: values.into(), ..ExecContext::clone(&self.context) })))
    }

    pub(super) fn run(&mut self, query: &Query, into: Option<&Into>) -> Result<()> {
        let is_dynamic = matches!(query, Query::Dynamic(..));
        // One more than is wanted tells whether there are more.
        let limit = into.map(|into| if into.strict { 2 } else { 1 });
        let ran = self.query(query, limit)?;
        // What was found is known to who catches that it was not one row.
        match is_dynamic {
            true => self.row_count = ran.affected,
            false if ran.counts => self.found(ran.affected),
            false => {}
        }
        match into {
            None if !ran.fields.is_empty() && !is_dynamic => {
                let error = error("42601", "query has no destination for result data");
                let hint = "If you want to discard the results of a SELECT, use PERFORM instead.";
                return Err(if ran.changes { error } else { error.with_hint(hint) });
            }
            None => {}
            Some(into) => {
                if ran.fields.is_empty() {
                    return Err(error("42601", "INTO used with a command that cannot return data"));
                }
                if ran.rows.len() > 1 && (into.strict || ran.changes) {
                    let hint = "Make sure the query returns a single row, or use LIMIT 1.";
                    return Err(error("P0003", "query returned more than one row").with_hint(hint));
                }
                if ran.rows.is_empty() && into.strict {
                    return Err(error("P0002", "query returned no rows"));
                }
                let shape = shape_of(&ran.fields);
                self.put(into, ran.rows.into_first()?, &shape)?;
            }
        }
        Ok(())
    }
}
