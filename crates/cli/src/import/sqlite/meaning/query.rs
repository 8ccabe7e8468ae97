//! Queries.

use turso_parser::ast::{
    CommonTableExpr, CompoundOperator, Distinctness, Expr, FrameBound, FrameClause, FrameExclude, FrameMode,
    FromClause, GroupBy, JoinConstraint, JoinOperator, JoinType, Limit, Materialized, NullsOrder, OneSelect, Over,
    ResultColumn, Select, SelectTable, SortOrder, SortedColumn, Window, With,
};

use super::expression::Translator;
use super::scope::{Column, Relation, Scope, Source, same};
use super::value::{Form, Found, Kind, Value, level};

/// A translated query, and the columns that it gives.
pub struct Query {
    pub text: String,
    pub columns: Vec<Column>,
}

impl Translator<'_> {
    pub fn query(&mut self, select: &Select) -> Found<Query> {
        let known = self.with.len();
        let with = select.with.as_ref().map(|with| self.with(with)).transpose();
        let query = with.and_then(|with| {
            let mut query = self.body(select)?;
            query.text.insert_str(0, &with.unwrap_or_default());
            Ok(query)
        });
        self.with.truncate(known);
        query
    }

    fn with(&mut self, with: &With) -> Found<String> {
        let mut parts = Vec::with_capacity(with.ctes.len());
        for cte in &with.ctes {
            parts.push(self.common_table(cte)?);
        }
        // SQLite lets any of them name itself.
        Ok(format!("WITH RECURSIVE {} ", parts.join(", ")))
    }

    fn common_table(&mut self, cte: &CommonTableExpr) -> Found<String> {
        let name = cte.tbl_name.as_str();
        let renamed = |mut columns: Vec<Column>| -> Found<Vec<Column>> {
            if !cte.columns.is_empty() && cte.columns.len() != columns.len() {
                return Err(format!("{name} has other columns than its list"));
            }
            for (column, new) in columns.iter_mut().zip(&cte.columns) {
                column.name = new.col_name.as_str().to_string();
            }
            Ok(columns)
        };
        let relation = |columns| Relation { name: name.to_string(), columns, row_id: None };
        // What it may find under its own name is what its first part gives.
        let first = Select {
            body: turso_parser::ast::SelectBody { select: cte.select.body.select.clone(), compounds: vec![] },
            with: cte.select.with.clone(),
            order_by: vec![],
            limit: None,
        };
        let columns = renamed(self.query(&first)?.columns)?;
        self.with.push(relation(columns));
        let query = self.query(&cte.select)?;
        self.with.pop();
        let columns = renamed(query.columns)?;
        let list: Vec<String> = columns.iter().map(|column| self.names.shown(&column.name)).collect();
        let materialized = match cte.materialized {
            Materialized::Any => "",
            Materialized::Yes => "MATERIALIZED ",
            Materialized::No => "NOT MATERIALIZED ",
        };
        self.with.push(relation(columns));
        Ok(format!("{} ({}) AS {materialized}({})", self.names.shown(name), list.join(", "), query.text))
    }

    fn body(&mut self, select: &Select) -> Found<Query> {
        let depth = self.scopes.len();
        let query = self.compound(select);
        self.scopes.truncate(depth);
        query
    }

    /// All operators bind alike there, from the left.
    fn compound(&mut self, select: &Select) -> Found<Query> {
        let is_compound = !select.body.compounds.is_empty();
        let mut query = self.one(&select.body.select)?;
        for (at, next) in select.body.compounds.iter().enumerate() {
            self.scopes.pop();
            let other = self.one(&next.select)?;
            let operator = match next.operator {
                CompoundOperator::Union => "UNION",
                CompoundOperator::UnionAll => "UNION ALL",
                CompoundOperator::Except => "EXCEPT",
                CompoundOperator::Intersect => "INTERSECT",
            };
            query.columns = united(query.columns, &other.columns)?;
            let left = if at == 0 { query.text } else { format!("({})", query.text) };
            query.text = format!("{left} {operator} {}", other.text);
        }
        let order = self.order_by(&select.order_by, &query, is_compound)?;
        query.text.push_str(&order);
        if let Some(limit) = &select.limit {
            let limit = self.limit(limit)?;
            query.text.push_str(&limit);
        }
        Ok(query)
    }

    /// One SELECT; its scope stays, for ORDER BY.
    fn one(&mut self, select: &OneSelect) -> Found<Query> {
        self.scopes.push(Scope::default());
        match select {
            OneSelect::Values(rows) => self.values(rows),
            OneSelect::Select { distinctness, columns, from, where_clause, group_by, window_clause } => {
                let from = from.as_ref().map(|from| self.from(from)).transpose()?;
                let (list, given) = self.result(columns)?;
                let condition = where_clause.as_ref().map(|condition| self.condition(condition)).transpose()?;
                self.scope().aliases = given.iter().map(|column| (column.name.clone(), column.kind)).collect();
                let group = group_by.as_ref().map(|group| self.group_by(group)).transpose()?.unwrap_or_default();
                let mut windows = Vec::with_capacity(window_clause.len());
                for window in window_clause {
                    windows.push(format!(
                        "{} AS {}",
                        self.names.shown(window.name.as_str()),
                        self.window(&window.window)?
                    ));
                }
                let distinct = if *distinctness == Some(Distinctness::Distinct) { "DISTINCT " } else { "" };
                let mut text = format!("SELECT {distinct}{}", list.join(", "));
                text.push_str(&from.map(|from| format!(" FROM {from}")).unwrap_or_default());
                text.push_str(&condition.map(|condition| format!(" WHERE {}", condition.text)).unwrap_or_default());
                text.push_str(&group);
                if !windows.is_empty() {
                    text.push_str(&format!(" WINDOW {}", windows.join(", ")));
                }
                Ok(Query { text, columns: given })
            }
        }
    }

    pub(super) fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn condition(&mut self, expression: &Expr) -> Found {
        self.expression(expression)?.condition()
    }

    fn values(&mut self, rows: &[impl AsRef<[Box<Expr>]>]) -> Found<Query> {
        let mut lines = Vec::with_capacity(rows.len());
        for row in rows {
            lines.push(self.expressions(row.as_ref())?);
        }
        let width = lines.first().map_or(0, Vec::len);
        let mut columns = Vec::with_capacity(width);
        for at in 0..width {
            let column: Vec<Value> = lines.iter().filter_map(|line| line.get(at).cloned()).collect();
            let (column, kind) = self.alike(column)?;
            for (line, value) in lines.iter_mut().zip(column) {
                line[at] = value;
            }
            columns.push(Column { name: format!("column{}", at + 1), kind, no_case: false });
        }
        let rows: Vec<String> = lines
            .iter()
            .map(|line| {
                let texts: Vec<&str> = line.iter().map(|value| value.text.as_str()).collect();
                format!("({})", texts.join(", "))
            })
            .collect();
        Ok(Query { text: format!("VALUES {}", rows.join(", ")), columns })
    }

    /// The list of SELECT, and what it gives.
    fn result(&mut self, list: &[ResultColumn]) -> Found<(Vec<String>, Vec<Column>)> {
        let (mut texts, mut columns) = (Vec::new(), Vec::new());
        for one in list {
            match one {
                ResultColumn::Star => {
                    texts.push("*".to_string());
                    columns.extend(self.scope().all(None)?);
                }
                ResultColumn::TableStar(table) => {
                    texts.push(format!("{}.*", self.names.shown(table.as_str())));
                    columns.extend(self.scope().all(Some(table.as_str()))?);
                }
                ResultColumn::Expr(expression, alias) => {
                    let value = self.expression(expression)?.plain();
                    let name = match (alias, expression.as_ref()) {
                        (Some(alias), _) => alias.name().as_str().to_string(),
                        (None, Expr::Id(name) | Expr::Name(name) | Expr::Qualified(_, name)) => {
                            name.as_str().to_string()
                        }
                        (None, other) => other.to_string(),
                    };
                    let has_name = alias.as_ref().is_some_and(|alias| alias.is_explicit());
                    texts.push(match has_name {
                        true => format!("{} AS {}", value.text, self.names.shown(&name)),
                        false => value.text.clone(),
                    });
                    let no_case = value.form == Form::Column { no_case: true };
                    columns.push(Column { name, kind: value.kind, no_case });
                }
            }
        }
        Ok((texts, columns))
    }

    fn from(&mut self, from: &FromClause) -> Found<String> {
        let mut text = self.table(&from.select)?;
        for join in &from.joins {
            let before = self.scope().sources.len();
            let table = self.table(&join.table)?;
            let kind = match join.operator {
                JoinOperator::Comma => JoinType::empty(),
                JoinOperator::TypedJoin(kind) => kind.unwrap_or(JoinType::empty()),
            };
            let natural = kind.contains(JoinType::NATURAL);
            let on = match &join.constraint {
                Some(JoinConstraint::On(condition)) => Some(format!(" ON {}", self.condition(condition)?.text)),
                Some(JoinConstraint::Using(columns)) => {
                    let shared: Vec<String> = columns.iter().map(|column| column.as_str().to_string()).collect();
                    let list: Vec<String> = shared.iter().map(|column| self.names.shown(column)).collect();
                    self.merge(before, &shared)?;
                    Some(format!(" USING ({})", list.join(", ")))
                }
                None if natural => {
                    let shared = self.shared(before);
                    self.merge(before, &shared)?;
                    Some(String::new())
                }
                None => None,
            };
            let word = match (kind.contains(JoinType::LEFT), kind.contains(JoinType::RIGHT)) {
                (true, true) => "FULL JOIN",
                (true, false) => "LEFT JOIN",
                (false, true) => "RIGHT JOIN",
                (false, false) if on.is_none() => "CROSS JOIN",
                (false, false) => "JOIN",
            };
            let (natural, on) = match on {
                None if word == "CROSS JOIN" => ("", String::new()),
                None => ("", " ON true".to_string()),
                Some(on) => (if natural { "NATURAL " } else { "" }, on),
            };
            text = format!("{text} {natural}{word} {table}{on}");
        }
        Ok(text)
    }

    /// The columns of the last relation that those before it have, too.
    fn shared(&mut self, before: usize) -> Vec<String> {
        let (known, added) = self.scope().sources.split_at(before);
        let is_known = |column: &&Column| known.iter().any(|source| source.relation.column(&column.name).is_some());
        let columns = added.iter().flat_map(|source| &source.relation.columns);
        columns.filter(is_known).map(|column| column.name.clone()).collect()
    }

    /// Columns by which relations are joined are there once; their kinds have to be the same.
    fn merge(&mut self, before: usize, shared: &[String]) -> Found<()> {
        for name in shared {
            let kinds: Vec<Kind> = self
                .scope()
                .sources
                .iter()
                .filter_map(|source| source.relation.column(name))
                .map(|column| column.kind)
                .collect();
            if kinds.windows(2).any(|pair| pair[0] != pair[1]) {
                return Err(format!("USING ({name}) compares values of two kinds"));
            }
        }
        for source in &mut self.scope().sources[before..] {
            source.merged.extend(shared.iter().cloned());
        }
        Ok(())
    }

    fn table(&mut self, table: &SelectTable) -> Found<String> {
        match table {
            SelectTable::Table(name, alias, _) => {
                if name.db_name.as_ref().is_some_and(|schema| !same(schema.as_str(), "main")) {
                    return Err(format!("{} lies in another database", name.name.as_str()));
                }
                let relation = self.relation(name.name.as_str())?;
                let shown = self.names.shown(&relation.name);
                let given = alias.as_ref().map(|alias| alias.name().as_str().to_string());
                let text =
                    given.as_ref().map_or(shown.clone(), |alias| format!("{shown} AS {}", self.names.shown(alias)));
                self.add(given.unwrap_or_else(|| relation.name.clone()), relation);
                Ok(text)
            }
            SelectTable::Select(select, alias) => {
                // What stands beside it in FROM is not seen in it.
                let beside = std::mem::take(&mut self.scope().sources);
                let query = self.query(select);
                self.scope().sources = beside;
                let query = query?;
                let alias = alias.as_ref().map_or("subquery".to_string(), |alias| alias.name().as_str().to_string());
                let list: Vec<String> = query.columns.iter().map(|column| self.names.shown(&column.name)).collect();
                let text = format!("({}) AS {} ({})", query.text, self.names.shown(&alias), list.join(", "));
                self.add(alias, Relation { name: String::new(), columns: query.columns, row_id: None });
                Ok(text)
            }
            SelectTable::Sub(from, None) => Ok(format!("({})", self.from(from)?)),
            SelectTable::Sub(_, Some(_)) => Err("a join with a name has no translation".to_string()),
            SelectTable::TableCall(name, ..) => {
                Err(format!("table function {} has no translation", name.name.as_str()))
            }
        }
    }

    fn add(&mut self, alias: String, relation: Relation) {
        self.scope().sources.push(Source { alias, relation, merged: Vec::new() });
    }

    fn relation(&self, name: &str) -> Found<Relation> {
        let known = self.with.iter().rev().chain(self.relations);
        let found = known.into_iter().find(|relation| same(&relation.name, name));
        found.cloned().ok_or_else(|| format!("relation {name} is not there"))
    }

    fn group_by(&mut self, group: &GroupBy) -> Found<String> {
        let mut terms = Vec::with_capacity(group.exprs.len());
        for expression in &group.exprs {
            if let Expr::Id(name) | Expr::Name(name) = expression.as_ref() {
                self.is_one_thing(name.as_str())?;
            }
            terms.push(self.expression(expression)?.text);
        }
        let having = group.having.as_ref().map(|having| self.condition(having)).transpose()?;
        let by = if terms.is_empty() { String::new() } else { format!(" GROUP BY {}", terms.join(", ")) };
        Ok(by + &having.map(|having| format!(" HAVING {}", having.text)).unwrap_or_default())
    }

    /// A column of the result with the name of one that is read: SQLite groups by the former.
    fn is_one_thing(&mut self, name: &str) -> Found<()> {
        let names = self.names;
        let scope = self.scope();
        let both = scope
            .alias(name, names)
            .is_some_and(|alias| scope.column(None, name, names).is_some_and(|column| column.kind != alias.kind));
        if both { Err(format!("{name} is a column of the result and another one of a table")) } else { Ok(()) }
    }

    fn order_by(&mut self, terms: &[SortedColumn], query: &Query, is_compound: bool) -> Found<String> {
        if terms.is_empty() {
            return Ok(String::new());
        }
        if is_compound {
            // Only the result's columns are seen.
            let aliases = query.columns.iter().map(|column| (column.name.clone(), column.kind)).collect();
            *self.scope() = Scope { sources: Vec::new(), aliases };
        }
        Ok(format!(" ORDER BY {}", self.sorted(terms)?))
    }

    /// NULL is the least of all values there.
    fn sorted(&mut self, terms: &[SortedColumn]) -> Found<String> {
        let mut texts = Vec::with_capacity(terms.len());
        for term in terms {
            let value = self.expression(&term.expr)?;
            if matches!(value.kind, Kind::Json | Kind::Jsonb | Kind::Uuid) {
                return Err(format!("{} is sorted by", value.kind.name()));
            }
            if value.form == (Form::Column { no_case: true }) {
                self.change("sorts by characters, without COLLATE NOCASE");
            }
            let descending = term.order == Some(SortOrder::Desc);
            let first = match term.nulls {
                Some(NullsOrder::First) => true,
                Some(NullsOrder::Last) => false,
                None => !descending,
            };
            let order = if descending { " DESC" } else { "" };
            texts.push(format!("{}{order} NULLS {}", value.text, if first { "FIRST" } else { "LAST" }));
        }
        Ok(texts.join(", "))
    }

    fn limit(&mut self, limit: &Limit) -> Found<String> {
        let mut number = |expression: &Expr| match self.expression(expression)?.form {
            Form::Number(number) => Ok(number),
            _ => Err("LIMIT is no constant".to_string()),
        };
        let count = number(&limit.expr)?;
        let offset = limit.offset.as_ref().map(|offset| number(offset)).transpose()?.unwrap_or(0.0);
        let count = if count >= 0.0 { format!(" LIMIT {count}") } else { String::new() };
        Ok(if offset > 0.0 { format!("{count} OFFSET {offset}") } else { count })
    }

    pub(super) fn over(&mut self, over: &Over) -> Found<String> {
        match over {
            Over::Name(name) => Ok(self.names.shown(name.as_str())),
            Over::Window(window) => self.window(window),
        }
    }

    fn window(&mut self, window: &Window) -> Found<String> {
        let mut parts = Vec::new();
        parts.extend(window.base.as_ref().map(|base| self.names.shown(base.as_str())));
        if !window.partition_by.is_empty() {
            let by: Vec<String> = self.expressions(&window.partition_by)?.into_iter().map(|value| value.text).collect();
            parts.push(format!("PARTITION BY {}", by.join(", ")));
        }
        if !window.order_by.is_empty() {
            parts.push(format!("ORDER BY {}", self.sorted(&window.order_by)?));
        }
        if let Some(frame) = &window.frame_clause {
            parts.push(self.frame(frame)?);
        }
        Ok(format!("({})", parts.join(" ")))
    }

    fn frame(&mut self, frame: &FrameClause) -> Found<String> {
        let mode = match frame.mode {
            FrameMode::Groups => "GROUPS",
            FrameMode::Range => "RANGE",
            FrameMode::Rows => "ROWS",
        };
        let start = self.bound(&frame.start)?;
        let bounds = match &frame.end {
            Some(end) => format!("BETWEEN {start} AND {}", self.bound(end)?),
            None => start,
        };
        let exclude = match frame.exclude {
            None => "",
            Some(FrameExclude::NoOthers) => " EXCLUDE NO OTHERS",
            Some(FrameExclude::CurrentRow) => " EXCLUDE CURRENT ROW",
            Some(FrameExclude::Group) => " EXCLUDE GROUP",
            Some(FrameExclude::Ties) => " EXCLUDE TIES",
        };
        Ok(format!("{mode} {bounds}{exclude}"))
    }

    fn bound(&mut self, bound: &FrameBound) -> Found<String> {
        Ok(match bound {
            FrameBound::CurrentRow => "CURRENT ROW".to_string(),
            FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_string(),
            FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_string(),
            FrameBound::Preceding(rows) => format!("{} PRECEDING", self.expression(rows)?.as_number()?.text),
            FrameBound::Following(rows) => format!("{} FOLLOWING", self.expression(rows)?.as_number()?.text),
        })
    }

    pub(super) fn in_query(&mut self, left: &Expr, not: bool, query: &Select) -> Found {
        let value = self.expression(left)?;
        let query = self.query(query)?;
        let [column] = query.columns.as_slice() else {
            return Err("IN a query of several columns has no translation".to_string());
        };
        let like = Value::atom("column", column.kind);
        let (same_value, same_column) = self.comparable(value.clone(), like)?;
        if same_value.text != value.text || same_column.text != "column" {
            return Err("IN a query of values of another kind".to_string());
        }
        let not = if not { "NOT " } else { "" };
        let text = format!("{} {not}IN ({})", value.left(level::COMPARISON + 1), query.text);
        Ok(Value::of(text, Kind::Boolean, level::COMPARISON))
    }

    /// A query for one value: the first, if there are more.
    pub(super) fn scalar_query(&mut self, select: &Select) -> Found {
        let query = self.query(select)?;
        let [column] = query.columns.as_slice() else {
            return Err("a query of several columns as a value has no translation".to_string());
        };
        let limit = if select.limit.is_some() || is_one_row(select) { "" } else { " LIMIT 1" };
        Ok(Value::atom(format!("({}{limit})", query.text), column.kind))
    }
}

/// Aggregates of all rows, which give one.
fn is_one_row(select: &Select) -> bool {
    let is_aggregate = |column: &ResultColumn| match column {
        ResultColumn::Expr(expression, _) => match expression.as_ref() {
            Expr::FunctionCallStar { .. } => true,
            Expr::FunctionCall { name, args, .. } => {
                args.len() == 1
                    && ["count", "sum", "avg", "total", "min", "max"].iter().any(|known| same(known, name.as_str()))
            }
            _ => false,
        },
        _ => false,
    };
    match &select.body.select {
        OneSelect::Select { columns, group_by: None, .. } => {
            select.body.compounds.is_empty() && columns.iter().all(is_aggregate)
        }
        _ => false,
    }
}

/// The columns of what is united: both sides' have to be of one kind.
fn united(columns: Vec<Column>, others: &[Column]) -> Found<Vec<Column>> {
    if columns.len() != others.len() {
        return Err("queries of different columns are united".to_string());
    }
    let both = columns.into_iter().zip(others).map(|(column, other)| {
        let kind = match (column.kind, other.kind) {
            (Kind::Null, kind) | (kind, Kind::Null) => kind,
            (one, kind) if one == kind => kind,
            (one, kind) if one.is_number() && kind.is_number() => {
                if one == Kind::Real || kind == Kind::Real {
                    Kind::Real
                } else {
                    Kind::Numeric
                }
            }
            (one, kind) => return Err(format!("{} is {} or {}", column.name, one.name(), kind.name())),
        };
        Ok(Column { kind, no_case: column.no_case, name: column.name })
    });
    both.collect()
}
