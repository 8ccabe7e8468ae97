//! Views through which rows are changed: those that show rows of one table, and columns of it under names of their own.
//!
//! A statement on such a view is one on the table. Names mean what they mean in the view, what the view computes can be read and
//! not be given, and of the rows only the view's are there.
//!
//! Where a view has an INSTEAD OF trigger for what a statement does, the statement ends at that view: in place of the table stands
//! what the trigger sees of the view ([`view_face`]), whatever the view is made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairn_parser::{self as ast, Id, Name, Query, QueryBody, SelectQuantifier, TableRef};

use crate::bind::ParameterTypes;
use crate::bind::binder::Binder;
use crate::bind::context::{Clause, Context};
use crate::bind::definitions::definition::{definition_fields, known_columns};
use crate::bind::relations::from::named_as_view;
use crate::bind::relations::scope::{Env, Named, Relation, Scope};
use crate::catalog::{self, Catalog, CheckOption, Column, Reference, Table, TriggerEvent, View};
use crate::plan::{Expr, LogicalPlan, ViewCheck, walk};
use crate::sql::name_text;
use crate::{Error, Result, SqlState};

/// The table that a statement changes, and how the statement sees it.
pub(super) struct TargetTable {
    /// Whose rows are changed.
    pub(in crate::bind) table: Arc<Table>,
    /// The same with the names that the statement has for it and its columns.
    pub(in crate::bind) seen: Arc<Table>,
    /// `None`: as it is.
    pub(in crate::bind) face: Option<Face>,
}

/// What a view shows of a table. Expressions are over the table's columns.
#[derive(Default)]
pub(super) struct Face {
    pub(in crate::bind) columns: Vec<Named>,
    /// Which rows it shows, the innermost view's condition first.
    pub(in crate::bind) shown: Vec<ViewCheck>,
    /// What rows that are given to it must satisfy, the innermost view's first.
    pub(in crate::bind) checks: Vec<ViewCheck>,
    /// What columns of the table have for a default, where a view says so: the outermost one.
    defaults: BTreeMap<usize, catalog::Definition>,
    /// A view's column that can be read only and has a default, so that every row would have a value for it: the view, the column.
    pub(super) not_given: Option<(String, String)>,
}

/// What is done to rows of a view.
#[derive(Clone, Copy)]
pub(super) struct Purpose {
    pub(super) event: TriggerEvent,
    /// INSTEAD OF triggers are asked first.
    pub(super) by_triggers: bool,
    /// Of a view that this one is made of, WITH CASCADED CHECK OPTION, or of one on the way to it.
    is_checked: bool,
}

impl Purpose {
    pub(in crate::bind) fn new(event: TriggerEvent) -> Purpose {
        Purpose { event, by_triggers: true, is_checked: false }
    }
}

/// The table behind a view, and what the view shows of it; or why the view's rows can not be changed: which view it is, and
/// PostgreSQL's word for what it has.
pub(super) type Found = std::result::Result<(Arc<Table>, Face), (Arc<View>, &'static str)>;

const SINGLE: &str = "Views that do not select from a single table or view are not automatically updatable.";

impl TargetTable {
    /// A table without a view before it.
    pub(in crate::bind) fn plain(table: Arc<Table>) -> TargetTable {
        TargetTable { seen: table.clone(), table, face: None }
    }

    /// `table`: what is behind the view.
    pub(super) fn of_view(table: Arc<Table>, view: &View, face: Face) -> TargetTable {
        let mut seen = Table::clone(&table);
        (seen.name, seen.schema) = (view.name.clone(), view.schema);
        for (at, column) in seen.columns.iter_mut().enumerate() {
            // No name has such a character.
            column.name = face.name_of(at).map_or_else(|| format!("\0{at}"), str::to_owned);
            if let Some(default) = face.defaults.get(&at) {
                column.default = Some(default.clone());
            }
        }
        TargetTable { table, seen: Arc::new(seen), face: Some(face) }
    }

    /// What a name is of the table's row.
    pub(super) fn column_named(&self, name: &str) -> Option<Expr> {
        match &self.face {
            Some(face) => face.columns.iter().find(|(known, _)| known == name).map(|(_, expr)| expr.clone()),
            None => {
                let column = |index: usize| Expr::Column { index, data_type: self.table.columns[index].data_type };
                self.table.column_position(name).map(column)
            }
        }
    }

    /// What views ask of rows that they are given.
    pub(in crate::bind) fn checks(&self) -> Vec<ViewCheck> {
        self.face.as_ref().map_or_else(Vec::new, |face| face.checks.clone())
    }

    /// The positions that values without names of columns go to: of a view, up to the first column that can be read only.
    pub(in crate::bind) fn columns(&self) -> Vec<usize> {
        let Some(face) = &self.face else { return (0..self.table.columns.len()).collect() };
        let mut given = Vec::with_capacity(face.columns.len());
        for (_, expr) in &face.columns {
            match column_of(expr) {
                Some(column) if !given.contains(&column) => given.push(column),
                _ => break,
            }
        }
        given
    }

    /// The names that a statement has for the columns, at the beginning of a row that is `width` wide.
    pub(in crate::bind) fn scope(&self, alias: String, schema: Option<Arc<str>>, width: usize) -> Scope {
        match &self.face {
            None => Scope::of_table(alias, schema, &self.table, width),
            Some(face) => {
                let mut relation = Relation::new(alias, face.columns.clone());
                relation.schema = schema;
                Scope::of(relation, width)
            }
        }
    }
}

impl Face {
    /// All of a table, as it is.
    fn whole(table: &Table) -> Face {
        let column = |(index, column): (usize, &Column)| {
            (column.name.clone(), Expr::Column { index, data_type: column.data_type })
        };
        Face { columns: table.columns.iter().enumerate().map(column).collect(), ..Face::default() }
    }

    /// The rows that it shows; `None`: all.
    pub(super) fn filter(&self) -> Option<Expr> {
        let conditions = || self.shown.iter().map(|view| view.condition.clone());
        match self.shown.len() {
            0 | 1 => conditions().next(),
            _ => Some(Expr::And(conditions().collect())),
        }
    }

    /// What the view calls a column of the table that it shows as it is.
    fn name_of(&self, column: usize) -> Option<&str> {
        self.columns.iter().find(|(_, expr)| column_of(expr) == Some(column)).map(|(name, _)| name.as_str())
    }

    /// The columns that can be read only.
    pub(in crate::bind) fn computed(&self) -> impl Iterator<Item = &str> {
        let is_first =
            |at: usize, column: usize| self.columns[..at].iter().all(|(_, expr)| column_of(expr) != Some(column));
        let is_given = move |at: usize, expr: &Expr| column_of(expr).is_some_and(|column| is_first(at, column));
        let columns = self.columns.iter().enumerate();
        columns.filter(move |(at, (_, expr))| !is_given(*at, expr)).map(|(_, (name, _))| name.as_str())
    }
}

fn column_of(expr: &Expr) -> Option<usize> {
    if let Expr::Column { index, .. } = expr { Some(*index) } else { None }
}

impl Binder<'_> {
    /// The table whose rows a view shows, and how.
    pub(super) fn updatable(&mut self, view: &Arc<View>, purpose: Purpose) -> Result<Found> {
        if purpose.by_triggers && view.has_instead_of(purpose.event) {
            let face = view_face(view, self.catalog)?;
            let whole = Face::whole(&face);
            return Ok(Ok((face, whole)));
        }
        let parsed = crate::sql::parse_query(&view.query.text)?;
        self.enter_view(view)?;
        let bind = |binder: &mut Binder<'_>| binder.updatable_query(parsed.query, view, purpose);
        let found = self.isolated(&view.query, (&parsed.tree, parsed.depth), bind);
        self.views.pop();
        Ok(found?.map(|(table, mut face)| {
            face.columns.iter_mut().zip(&view.columns).for_each(|((known, _), name)| known.clone_from(name));
            for (place, default) in &view.defaults {
                match face.columns.get(*place) {
                    Some((_, Expr::Column { index, .. })) => drop(face.defaults.insert(*index, default.clone())),
                    Some((name, _)) => face.not_given = Some((view.name.clone(), name.clone())),
                    None => {}
                }
            }
            (table, face)
        }))
    }

    fn updatable_query(&mut self, query: Id<Query>, view: &Arc<View>, purpose: Purpose) -> Result<Found> {
        let tree = self.tree;
        let refused = |reason: &'static str| Ok(Err((view.clone(), reason)));
        if let Some(reason) = reason_in_syntax(tree, query) {
            return refused(reason);
        }
        let QueryBody::Select { targets, from, filter, .. } = tree.get(tree.get(query).body) else {
            return refused(SINGLE);
        };
        let Some(TableRef::Table { name, alias, .. }) = tree.nth(from, 0).map(|item| tree.get(item)) else {
            return refused(SINGLE);
        };
        let known = self.definition.and_then(|definition| definition.reference_at(tree.span(name).start)).cloned();
        let Some(reference) = known else { return refused(SINGLE) };
        let Some(relation) = self.catalog.relation_by_id(reference.object).cloned() else { return refused(SINGLE) };
        self.rests.borrow_mut().add(&relation);
        let cascades = purpose.is_checked || view.check == Some(CheckOption::Cascaded);
        let inner = Purpose { is_checked: cascades, ..purpose };
        let (table, mut inner) = match self.shown_of(&relation, &reference, inner)? {
            Some(Ok(shown)) => shown,
            Some(Err(inner)) => return Ok(Err(inner)),
            None => return refused(SINGLE),
        };
        // What it is made of, and that it can be bound.
        let stood = std::mem::replace(&mut self.stands, table.is_face().then(|| table.clone()));
        let plan = self.query(query, None);
        self.stands = stood;
        if let Some(reason) = reason_in_plan(&plan?) {
            return refused(reason);
        }
        let (called, columns) = self.named_columns(alias, name, std::mem::take(&mut inner.columns));
        let width = table.columns.len();
        let scope = Scope::of(Relation::new(called, columns), width);
        let env = Env { scope: &scope, outer: None, within: None };
        let own = filter.map(|condition| self.filter(condition, &env)).transpose()?;
        let outputs = self.outputs(targets, &mut Context::new(Some(&env), Clause::Select))?;
        let columns: Vec<Named> =
            outputs.into_iter().map(|output| Ok((output.name, self.known(output.expr)?))).collect::<Result<_>>()?;
        // Rows that get values need columns for them.
        if purpose.event != TriggerEvent::Delete && !columns.iter().any(|(_, expr)| column_of(expr).is_some()) {
            return refused("Views that have no updatable columns are not automatically updatable.");
        }
        let Face { mut shown, mut checks, defaults, not_given, .. } = inner;
        if let Some(condition) = own {
            let own = ViewCheck { view: view.name.clone(), condition };
            if cascades || view.check.is_some() {
                checks.push(own.clone());
            }
            shown.push(own);
        }
        Ok(Ok((table, Face { columns, shown, checks, defaults, not_given })))
    }

    /// What a relation shows of a table, under the names that a definition has for its columns; `None`: it is nothing of a table.
    fn shown_of(
        &mut self,
        relation: &catalog::Relation,
        reference: &Reference,
        purpose: Purpose,
    ) -> Result<Option<Found>> {
        Ok(match relation {
            catalog::Relation::Table(table) if !table.is_materialized() => {
                let columns = known_columns(reference, table);
                let columns = columns.into_iter().filter_map(|(name, expr)| Some((name, expr?))).collect();
                Some(Ok((table.clone(), Face { columns, ..Face::default() })))
            }
            catalog::Relation::View(view) => Some(self.updatable(view, purpose)?.map(|(table, mut face)| {
                face.columns.truncate(reference.columns.len());
                let names = face.columns.iter_mut().zip(&reference.columns);
                names.for_each(|((name, _), known)| name.clone_from(&known.name));
                (table, face)
            })),
            _ => None,
        })
    }

    /// The name of an item in FROM, and its columns under the names that its alias gives them.
    fn named_columns(
        &self,
        alias: Option<Id<ast::Alias>>,
        name: Id<ast::QualifiedName>,
        mut columns: Vec<Named>,
    ) -> (String, Vec<Named>) {
        let tree = self.tree;
        let text = |name: Id<Name>| name_text(tree, name).to_owned();
        let plain = tree.list(tree.get(name).parts).next_back().map(text).unwrap_or_default();
        let Some(ast::Alias { name, columns: names, .. }) = alias.map(|alias| tree.get(alias)) else {
            return (plain, columns);
        };
        columns.iter_mut().zip(tree.list(names)).for_each(|((known, _), name)| *known = text(name));
        (name.map_or(plain, text), columns)
    }
}

/// What INSTEAD OF triggers of a view see of it.
pub(crate) fn view_face(view: &View, catalog: &Catalog) -> Result<Arc<Table>> {
    let fields = named_as_view(view, definition_fields(&view.query, catalog)?)?;
    Ok(Arc::new(Table::face_of(view, fields.iter().map(|field| field.data_type))))
}

/// Of each column of a view whether it can be given values; `None`: rows of the view can not be changed. Triggers do not count.
pub(in crate::bind) fn updatable_columns(view: &Arc<View>, catalog: &Catalog) -> Option<Vec<bool>> {
    let purpose = Purpose { by_triggers: false, ..Purpose::new(TriggerEvent::Update) };
    let (_, face) = found(view, purpose, catalog).ok()?.ok()?;
    let computed: Vec<&str> = face.computed().collect();
    Some(face.columns.iter().map(|(name, _)| !computed.contains(&name.as_str())).collect())
}

/// Whether rows of a view can be deleted, which asks for no columns. Triggers do not count.
pub(in crate::bind) fn is_deletable(view: &Arc<View>, catalog: &Catalog) -> bool {
    let purpose = Purpose { by_triggers: false, ..Purpose::new(TriggerEvent::Delete) };
    matches!(found(view, purpose, catalog), Ok(Ok(_)))
}

fn found(view: &Arc<View>, purpose: Purpose, catalog: &Catalog) -> Result<Found> {
    let (mut parameters, parsed) = (ParameterTypes::default(), crate::sql::parse_query("SELECT 1")?);
    Binder::new(catalog, &mut parameters, &parsed.tree, None, parsed.depth).updatable(view, purpose)
}

/// SQLSTATE 0A000 for a view WITH CHECK OPTION whose rows can not be changed.
pub(crate) fn refuse_unchecked(view: &Arc<View>, catalog: &Catalog) -> Result<()> {
    match found(view, Purpose::new(TriggerEvent::Update), catalog)? {
        Ok(_) => Ok(()),
        Err((of, reason)) if of.id == view.id => {
            let message = "WITH CHECK OPTION is supported only on automatically updatable views";
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(reason))
        }
        // What it is made of may become another.
        Err(_) => Ok(()),
    }
}

/// Rows that triggers of a view were given are looked at one by one, where nothing is read.
pub(super) fn refuse_subqueries(checks: &[ViewCheck]) -> Result<()> {
    for ViewCheck { view, condition } in checks {
        let mut reads = false;
        walk::walk(condition, 0, &mut |expr, _| reads |= matches!(expr, Expr::Subquery(_)));
        if reads {
            let error =
                Error::unsupported(format!("a subquery in the condition of the view \"{view}\" WITH CHECK OPTION"));
            return Err(
                error.with_hint("Leave WITH CHECK OPTION out, and let a trigger of the table look at its rows.")
            );
        }
    }
    Ok(())
}

/// What stands in a query that more than one row of a table may be behind.
fn reason_in_syntax(tree: &ast::Tree<'_>, query: Id<Query>) -> Option<&'static str> {
    let Query { with, body, limit, offset, .. } = tree.get(query);
    let body = tree.get(body);
    let found = match body {
        QueryBody::SetOperation { .. } => {
            [(true, "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable."); 3]
        }
        QueryBody::Select { quantifier, group_by, having, .. } => [
            (quantifier != SelectQuantifier::All, "Views containing DISTINCT are not automatically updatable."),
            (!group_by.is_empty(), "Views containing GROUP BY are not automatically updatable."),
            (having.is_some(), "Views containing HAVING are not automatically updatable."),
        ],
        _ => [(false, SINGLE); 3],
    };
    let item = match body {
        QueryBody::Select { from, .. } if tree.len(from) == 1 => tree.nth(from, 0).map(|item| tree.get(item)),
        _ => None,
    };
    let around = [
        (with.is_some(), "Views containing WITH are not automatically updatable."),
        (limit.is_some() || offset.is_some(), "Views containing LIMIT or OFFSET are not automatically updatable."),
        (
            matches!(item, Some(TableRef::Table { sample: Some(_), .. })),
            "Views containing TABLESAMPLE are not automatically updatable.",
        ),
        (!matches!(item, Some(TableRef::Table { .. })), SINGLE),
    ];
    found.into_iter().chain(around).find_map(|(is_there, reason)| is_there.then_some(reason))
}

/// What a query of one relation is made of that has no row of a table behind each of its own.
fn reason_in_plan(plan: &LogicalPlan) -> Option<&'static str> {
    let mut plan = plan;
    loop {
        plan = match plan {
            LogicalPlan::Filter { input, .. }
            | LogicalPlan::Sort { input, .. }
            | LogicalPlan::Project { input, .. } => input,
            LogicalPlan::Aggregate { .. } => {
                return Some("Views that return aggregate functions are not automatically updatable.");
            }
            LogicalPlan::Window { .. } => {
                return Some("Views that return window functions are not automatically updatable.");
            }
            LogicalPlan::Scan { .. } => return None,
            _ => return Some("Views that return set-returning functions are not automatically updatable."),
        };
    }
}
