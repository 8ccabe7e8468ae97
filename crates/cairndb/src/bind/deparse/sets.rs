//! WITH, VALUES, UNION and its like.

use cairn_parser::token::quoted;
use cairn_parser::{self as ast, Id, LimitForm, List, Query, QueryBody, Row, SetOperation, With};

use super::query::Shown;
use super::text::{Deparser, INDENT};
use crate::bind::queries::output_name::output_name;
use crate::sql::name_text;
use crate::types::{DataType, common_type};

impl Deparser<'_> {
    pub(super) fn with(&mut self, with: With) -> Option<()> {
        let tree = self.tree;
        // They do not see what stands in FROM.
        self.levels.last_mut()?.is_hidden = true;
        self.indent += INDENT;
        self.say(if with.recursive { " WITH RECURSIVE " } else { " WITH " });
        let names = tree.list(with.ctes).map(|cte| name_text(tree, tree.get(cte).name).to_owned());
        self.ctes.extend(names);
        for (at, cte) in tree.list(with.ctes).enumerate() {
            let cte = tree.get(cte);
            let ast::Statement::Query { query } = tree.get(cte.statement) else { return None };
            self.say(if at > 0 { ", " } else { "" });
            self.say(&quoted(name_text(tree, cte.name)));
            if !cte.columns.is_empty() {
                let names: Vec<String> = tree.list(cte.columns).map(|name| quoted(name_text(tree, name))).collect();
                self.say(&format!("({})", names.join(", ")));
            }
            self.say(match cte.materialized {
                None => " AS (",
                Some(ast::Materialized::Yes) => " AS MATERIALIZED (",
                Some(ast::Materialized::No) => " AS NOT MATERIALIZED (",
            });
            self.keyword("", 0, 0, 0);
            self.query(query, None, true)?;
            self.keyword("", 0, 0, 0);
            self.say(")");
            for clause in
                [cte.search.map(|it| tree.print(it)), cte.cycle.map(|it| tree.print(it))].into_iter().flatten()
            {
                self.say(&format!(" {clause}"));
            }
        }
        self.indent -= INDENT;
        self.keyword("", 0, 0, 0);
        self.levels.last_mut()?.is_hidden = false;
        Some(())
    }

    pub(super) fn values(&mut self, rows: List<Row>, types: Option<&[DataType]>) -> Option<()> {
        let tree = self.tree;
        let mut built = Vec::new();
        for row in tree.list(rows) {
            let values = tree.list(tree.get(row).values).map(|value| self.build(value));
            built.push(values.collect::<Option<Vec<_>>>()?);
        }
        let width = built.first().map_or(0, Vec::len);
        let common = |at: usize| match types.and_then(|types| types.get(at)) {
            Some(known) => Some(*known),
            None => {
                let types: Vec<DataType> = built.iter().filter_map(|row| Some(row.get(at)?.data_type)).collect();
                common_type(&types).ok()
            }
        };
        let common = (0..width).map(common).collect::<Option<Vec<_>>>()?;
        self.say("VALUES ");
        for (at, row) in built.into_iter().enumerate() {
            self.say(if at > 0 { ", (" } else { "(" });
            for (at, (value, to)) in row.into_iter().zip(&common).enumerate() {
                self.say(if at > 0 { "," } else { "" });
                let value = self.taken_as(value, *to);
                self.node(&value.node, false)?;
            }
            self.say(")");
        }
        Some(())
    }

    pub(super) fn set_operation(&mut self, body: QueryBody, shown: Shown<'_>) -> Option<()> {
        let QueryBody::SetOperation { operation, all, left, right } = body else { return None };
        let nested = |query: Id<Query>| {
            let inner = self.tree.get(self.tree.get(query).body);
            match inner {
                QueryBody::SetOperation { operation, all, .. } if self.is_bare(query) => Some((operation, all)),
                _ => None,
            }
        };
        let (lefts, rights) = (nested(left), nested(right));
        let parenthesis = lefts.is_some_and(|inner| inner != (operation, all));
        if parenthesis {
            self.say("(");
            self.keyword("", INDENT, 0, 0);
        }
        self.set_side(left, shown)?;
        match parenthesis {
            true => self.keyword(") ", -INDENT, 0, 0),
            false => self.keyword("", 0, 0, 0),
        }
        self.say(match operation {
            SetOperation::Union => "UNION ",
            SetOperation::Intersect => "INTERSECT ",
            SetOperation::Except => "EXCEPT ",
        });
        self.say(if all { "ALL " } else { "" });
        let moved = if rights.is_some() { INDENT } else { 0 };
        self.say(if rights.is_some() { "(" } else { "" });
        self.keyword("", moved, 0, 0);
        self.set_side(right, Shown { is_visible: false, ..shown })?;
        self.indent -= moved;
        if rights.is_some() {
            self.keyword(")", 0, 0, 0);
        }
        Some(())
    }

    /// Nothing stands around its SELECT.
    fn is_bare(&self, query: Id<Query>) -> bool {
        let Query { with, order_by, limit, limit_form, offset, locking, .. } = self.tree.get(query);
        let counts = limit.is_some() || limit_form != LimitForm::Plain || offset.is_some();
        with.is_none() && order_by.is_empty() && locking.is_empty() && !counts
    }

    fn set_side(&mut self, query: Id<Query>, shown: Shown<'_>) -> Option<()> {
        let body = self.tree.get(self.tree.get(query).body);
        match (body, self.is_bare(query)) {
            (QueryBody::SetOperation { .. }, true) => self.set_operation(body, shown),
            (_, true) => self.shown_query(query, shown),
            (_, false) => {
                self.say("(");
                self.shown_query(query, shown)?;
                self.say(")");
                Some(())
            }
        }
    }

    /// The first of the sides.
    fn first_side(&self, body: Id<QueryBody>) -> Id<QueryBody> {
        let mut body = body;
        while let QueryBody::SetOperation { left, .. } = self.tree.get(body) {
            body = self.tree.get(left).body;
        }
        body
    }

    /// What the columns are called.
    pub(super) fn set_names(&self, body: Id<QueryBody>) -> Option<Vec<String>> {
        let tree = self.tree;
        match tree.get(self.first_side(body)) {
            QueryBody::Select { targets, .. } => {
                let name = |target| {
                    let ast::Target { expr, alias } = tree.get(target);
                    alias.map_or_else(|| output_name(tree, expr), |alias| name_text(tree, alias).to_owned())
                };
                Some(tree.list(targets).map(name).collect())
            }
            QueryBody::Values { rows } => {
                let width = tree.len(tree.get(tree.nth(rows, 0)?).values);
                Some((1..=width).map(|number| format!("column{number}")).collect())
            }
            _ => None,
        }
    }

    /// The types on which the sides agree.
    pub(super) fn set_types(&self, body: QueryBody) -> Option<Vec<DataType>> {
        let mut sides = Vec::new();
        self.side_types(body, &mut sides)?;
        let width = sides.first()?.len();
        let column = |at: usize| {
            let types: Vec<DataType> = sides.iter().filter_map(|side| side.get(at).copied()).collect();
            common_type(&types).ok()
        };
        (0..width).map(column).collect()
    }

    fn side_types(&self, body: QueryBody, sides: &mut Vec<Vec<DataType>>) -> Option<()> {
        let tree = self.tree;
        let own = |expr| self.facts.types.get(&expr).copied().unwrap_or(DataType::Unknown);
        match body {
            QueryBody::SetOperation { left, right, .. } => {
                self.side_types(tree.get(tree.get(left).body), sides)?;
                self.side_types(tree.get(tree.get(right).body), sides)
            }
            QueryBody::Select { targets, .. } => {
                sides.push(tree.list(targets).map(|target| own(tree.get(target).expr)).collect());
                Some(())
            }
            QueryBody::Values { rows } => {
                let each = tree.list(rows).map(|row| tree.list(tree.get(row).values).map(own).collect());
                sides.extend(each.collect::<Vec<_>>());
                Some(())
            }
            QueryBody::Table { .. } => None,
        }
    }
}
