//! SEARCH and CYCLE of a recursive query: columns behind its own that tell each row's place in the search, whether it closes
//! a cycle, and the way to it.
//!
//! Both terms get them from what they give otherwise: the first term begins them, the recursive term goes on from those of
//! the row that it reads, which its SELECT hands on (`carried`). A row that closes a cycle is read no more.

use cairn_parser::{Cte, CycleClause, Id, List, Name, QueryBody, SearchClause, Span};

use super::scope::Scope;
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::{Clause, Context};
use crate::bind::expressions::coerce::boolean;
use crate::bind::expressions::composite::{attribute_at, row_value};
use crate::bind::queries::select::Output;
use crate::plan::{Expr, Field, LogicalPlan};
use crate::sql::name_text;
use crate::types::{CompositeType, DataType};
use crate::{Error, Result, SqlState, Value};

/// What the clauses of a recursive query ask for.
pub(super) struct Marks {
    search: Option<Search>,
    cycle: Option<Cycle>,
    /// The query's own columns.
    own: Vec<Field>,
}

struct Search {
    breadth_first: bool,
    columns: Vec<usize>,
    sequence: String,
}

struct Cycle {
    columns: Vec<usize>,
    mark: String,
    path: String,
    value: Expr,
    default: Expr,
}

/// What the SELECT that is the recursive term adds to what it selects.
pub(in crate::bind) struct Carried {
    body: Id<QueryBody>,
    /// The recursive query.
    name: String,
    /// Its columns, and how many of them are its own.
    fields: Vec<Field>,
    own: usize,
    /// The mark's column, and what it says of rows that are read no more.
    stop: Option<(usize, Expr)>,
}

impl Marks {
    /// The columns that stand behind the query's own.
    fn added(&self) -> Result<Vec<Field>> {
        let mut fields = vec![];
        if let Some(search) = &self.search {
            let data_type = if search.breadth_first {
                DataType::Composite(self.level(search)?)
            } else {
                self.way(&search.columns)?
            };
            fields.push(Field { name: search.sequence.clone(), data_type });
        }
        if let Some(cycle) = &self.cycle {
            fields.push(Field { name: cycle.mark.clone(), data_type: cycle.value.data_type() });
            fields.push(Field { name: cycle.path.clone(), data_type: self.way(&cycle.columns)? });
        }
        Ok(fields)
    }

    /// All columns.
    pub(in crate::bind) fn fields(&self) -> Result<Vec<Field>> {
        Ok(self.own.iter().cloned().chain(self.added()?).collect())
    }

    fn types(&self, columns: &[usize]) -> impl Iterator<Item = DataType> {
        columns.iter().map(|at| self.own[*at].data_type)
    }

    /// The row of some columns.
    fn row_type(&self, columns: &[usize]) -> Result<CompositeType> {
        CompositeType::record(numbered(self.types(columns)))
    }

    /// How deep a row lies, and the columns.
    fn level(&self, search: &Search) -> Result<CompositeType> {
        CompositeType::record(numbered([DataType::BigInt].into_iter().chain(self.types(&search.columns))))
    }

    /// Rows of columns, from the first term's on.
    fn way(&self, columns: &[usize]) -> Result<DataType> {
        let row = DataType::Composite(self.row_type(columns)?);
        row.array().ok_or_else(|| Error::internal("rows without arrays"))
    }

    fn own_columns(&self) -> Vec<Expr> {
        let column = |(index, field): (usize, &Field)| Expr::Column { index, data_type: field.data_type };
        self.own.iter().enumerate().map(column).collect()
    }

    fn row(&self, columns: &[usize]) -> Result<Expr> {
        let own = self.own_columns();
        Ok(row_value(self.row_type(columns)?, columns.iter().map(|at| own[*at].clone()).collect()))
    }

    fn level_row(&self, search: &Search, depth: Expr) -> Result<Expr> {
        let own = self.own_columns();
        let values = [depth].into_iter().chain(search.columns.iter().map(|at| own[*at].clone()));
        Ok(row_value(self.level(search)?, values.collect()))
    }
}

fn numbered(types: impl IntoIterator<Item = DataType>) -> impl Iterator<Item = (String, DataType)> {
    types.into_iter().enumerate().map(|(at, data_type)| (format!("f{}", at + 1), data_type))
}

fn bigint(value: i64) -> Expr {
    Expr::Literal { value: Value::BigInt(value), data_type: DataType::BigInt }
}

impl Binder<'_> {
    /// What the clauses of a query ask for; `None`: it has none. `own`: the query's columns.
    pub(super) fn marks(&mut self, cte: &Cte, own: &[Field]) -> Result<Option<Marks>> {
        if cte.search.is_none() && cte.cycle.is_none() {
            return Ok(None);
        }
        let search = cte.search.map(|clause| self.search(clause, own)).transpose()?;
        let cycle = cte.cycle.map(|clause| self.cycle(clause, own)).transpose()?;
        if let (Some(search), Some(cycle), Some(clause)) = (&search, &cycle, cte.search) {
            for (name, what) in [(&cycle.mark, "mark"), (&cycle.path, "path")] {
                if *name == search.sequence {
                    let message = format!("search sequence column name and cycle {what} column name are the same");
                    return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), self.tree.span(clause)));
                }
            }
        }
        Ok(Some(Marks { search, cycle, own: own.to_vec() }))
    }

    /// SQLSTATE 42601: the clauses stand behind a query that is not recursive.
    pub(super) fn refuse_marks(&self, cte: &Cte) -> Result<()> {
        if cte.search.is_none() && cte.cycle.is_none() {
            return Ok(());
        }
        Err(self.at(Error::new(SqlState::SYNTAX_ERROR, "WITH query is not recursive"), self.tree.span(cte.name)))
    }

    fn search(&self, clause: Id<SearchClause>, own: &[Field]) -> Result<Search> {
        let SearchClause { breadth_first, columns, sequence } = self.tree.get(clause);
        let span = self.tree.span(clause);
        let columns = self.marked_columns("search", columns, own, span)?;
        let sequence = self.mark_name("search sequence", sequence, own, span)?;
        Ok(Search { breadth_first, columns, sequence })
    }

    fn cycle(&mut self, clause: Id<CycleClause>, own: &[Field]) -> Result<Cycle> {
        let CycleClause { columns, mark, value, default, path } = self.tree.get(clause);
        let span = self.tree.span(clause);
        let (value, default) = match (value, default) {
            (Some(value), Some(default)) => {
                let mut context = Context::new(None, Clause::Select);
                let bound = [value, default].map(|expr| (self.expr(expr, &mut context), self.tree.span(expr)));
                let bound = bound.into_iter().map(|(expr, span)| Ok((expr?, span))).collect::<Result<Vec<_>>>()?;
                let (mut both, data_type) = self.unify("CYCLE", bound)?;
                self.check_equality(data_type, span)?;
                let default = both.pop().unwrap_or_else(|| boolean(false));
                (both.pop().unwrap_or_else(|| boolean(true)), default)
            }
            _ => (boolean(true), boolean(false)),
        };
        let columns = self.marked_columns("cycle", columns, own, span)?;
        let (mark, path) =
            (self.mark_name("cycle mark", mark, own, span)?, self.mark_name("cycle path", path, own, span)?);
        if mark == path {
            let message = "cycle mark column name and cycle path column name are the same";
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span));
        }
        Ok(Cycle { columns, mark, path, value, default })
    }

    fn marked_columns(&self, what: &str, names: List<Name>, own: &[Field], span: Span) -> Result<Vec<usize>> {
        let mut columns = vec![];
        for name in self.tree.list(names).map(|name| name_text(self.tree, name)) {
            let Some(at) = own.iter().position(|field| field.name == name) else {
                let message = format!("{what} column \"{name}\" not in WITH query column list");
                return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span));
            };
            if columns.contains(&at) {
                let message = format!("{what} column \"{name}\" specified more than once");
                return Err(self.at(Error::new(SqlState::DUPLICATE_COLUMN, message), span));
            }
            columns.push(at);
        }
        Ok(columns)
    }

    fn mark_name(&self, what: &str, name: Id<Name>, own: &[Field], span: Span) -> Result<String> {
        let name = name_text(self.tree, name);
        if own.iter().any(|field| field.name == name) {
            let message = format!("{what} column name \"{name}\" already used in WITH query column list");
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span));
        }
        Ok(name.to_owned())
    }

    /// The first term with the columns that it begins.
    pub(super) fn begun(&self, marks: &Marks, base: LogicalPlan) -> Result<LogicalPlan> {
        let mut exprs = marks.own_columns();
        if let Some(search) = &marks.search {
            exprs.push(match search.breadth_first {
                true => marks.level_row(search, bigint(0))?,
                false => self.one_row(marks, &search.columns)?,
            });
        }
        if let Some(cycle) = &marks.cycle {
            exprs.extend([cycle.default.clone(), self.one_row(marks, &cycle.columns)?]);
        }
        Ok(LogicalPlan::Project { input: Box::new(base), exprs, fields: marks.fields()? })
    }

    fn one_row(&self, marks: &Marks, columns: &[usize]) -> Result<Expr> {
        crate::bind::expressions::arrays::constructed(
            DataType::Composite(marks.row_type(columns)?),
            vec![marks.row(columns)?],
        )
    }

    /// What the recursive term's SELECT is to hand on.
    pub(super) fn carried(&self, marks: &Marks, name: &str, body: Id<QueryBody>) -> Result<Carried> {
        let own = marks.own.len();
        let stop = marks.cycle.as_ref().map(|cycle| (own + usize::from(marks.search.is_some()), cycle.value.clone()));
        Ok(Carried { body, name: name.to_owned(), fields: marks.fields()?, own, stop })
    }

    /// The recursive term, whose SELECT handed on what it read, with the columns as they go on.
    pub(super) fn continued(&mut self, marks: &Marks, step: LogicalPlan) -> Result<LogicalPlan> {
        let mut exprs = marks.own_columns();
        let mut carried = marks.added()?.into_iter().zip(marks.own.len()..);
        let mut next = || {
            let (field, index) = carried.next().ok_or_else(|| Error::internal("a mark that is not carried"))?;
            Ok::<_, Error>(Expr::Column { index, data_type: field.data_type })
        };
        if let Some(search) = &marks.search {
            let sequence = next()?;
            exprs.push(match search.breadth_first {
                true => {
                    let depth = attribute_at(sequence, marks.level(search)?, 0);
                    let depth = self.call("+", vec![(depth, NOWHERE), (bigint(1), NOWHERE)], NOWHERE)?;
                    marks.level_row(search, depth)?
                }
                false => self.longer(sequence, self.one_row(marks, &search.columns)?)?,
            });
        }
        if let Some(cycle) = &marks.cycle {
            let (_, path) = (next()?, next()?);
            let row = self.one_row(marks, &cycle.columns)?;
            let met = self.call("@>", vec![(path.clone(), NOWHERE), (row.clone(), NOWHERE)], NOWHERE)?;
            let data_type = cycle.value.data_type();
            let otherwise = Some(Box::new(cycle.default.clone()));
            exprs.push(Expr::Case { branches: vec![(met, cycle.value.clone())], otherwise, data_type });
            exprs.push(self.longer(path, row)?);
        }
        Ok(LogicalPlan::Project { input: Box::new(step), exprs, fields: marks.fields()? })
    }

    fn longer(&mut self, way: Expr, row: Expr) -> Result<Expr> {
        self.call("array_cat", vec![(way, NOWHERE), (row, NOWHERE)], NOWHERE)
    }

    /// Whether this is the SELECT that hands something on.
    pub(in crate::bind) fn take_carried(&mut self, body: Id<QueryBody>) -> Option<Carried> {
        self.carried.take_if(|carried| carried.body == body)
    }

    /// The columns that this SELECT hands on, and its rows without those that are read no more.
    pub(in crate::bind) fn hand_on(
        &mut self,
        carried: Carried,
        plan: LogicalPlan,
        scope: &Scope,
    ) -> Result<(LogicalPlan, Vec<Output>)> {
        let first = scope.relations.iter().find(|relation| relation.is_recursive).and_then(|relation| {
            match relation.columns().next()?.1.as_ref() {
                Expr::Column { index, .. } => Some(*index),
                _ => None,
            }
        });
        let Some(first) = first else {
            let message = format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{}\" must be at the top level \
                 of its right-hand SELECT",
                carried.name
            );
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        };
        let column = |at: usize| Expr::Column { index: first + at, data_type: carried.fields[at].data_type };
        let plan = match carried.stop {
            None => plan,
            Some((at, value)) => {
                let predicate = self.call("<>", vec![(column(at), NOWHERE), (value, NOWHERE)], NOWHERE)?;
                LogicalPlan::Filter { input: Box::new(plan), predicate }
            }
        };
        let output = |at: usize| Output { expr: column(at), name: carried.fields[at].name.clone(), span: NOWHERE };
        Ok((plan, (carried.own..carried.fields.len()).map(output).collect()))
    }
}
