//! FROM: tables, views, WITH queries, subqueries, functions; and how items combine.
//!
//! An item that may look at what stands left of it (LATERAL, a function) is bound one level further in, its `Outer` level
//! 1 being the left row. Where it turns out not to look, the level is taken out again and the join is an ordinary one.

use std::sync::Arc;

use cairn_parser::{self as ast, FunctionItem, Id, List, Name, QualifiedName, Query, Span, TableRef};

use super::binder::{Binder, Confine, NOWHERE};
use super::coerce::text;
use super::context::{Clause, Context};
use super::definition::{is_unchanged, known_columns, known_relation};
use super::named_arguments::Arguments;
use super::nearest::nearest;
use super::routine::{Meant, Named, no_such};
use super::rows_from::RowsCall;
use super::scope::{Env, Relation, Scope};
use super::variables::RowsVariable;
use crate::catalog::{self, ObjectId, ObjectName, Reference, RelationKind, Returns, Routine, RoutineKind, Table, View};
use crate::functions::Function;
use crate::functions::arrays::{
    EXPANDED_ARRAY, EXPANDED_COLUMNS, EXPANDED_NAME, LISTENING_CHANNELS, ROWS_OF_ARRAY, STRING_TO_TABLE,
    is_about_partitions, is_set_function,
};
use crate::functions::json::{JsonRows, Populate, populated};
use crate::functions::regex;
use crate::plan::{Expr, Field, JoinKind, LogicalPlan, SequenceOp, walk};
use crate::sql::{dotted, list_span, name_text, object_name};
use crate::system::{self, Made, SystemRelation};
use crate::types::{CastContext, CompositeType, DataType};
use crate::{Error, Result, SqlState};

/// Views within views.
const VIEW_DEPTH_MAX: usize = 32;

/// A FROM item and its names. `lateral`: `Outer { level: 1 }` in the plan is the row to the left.
pub(super) struct Item {
    pub(super) plan: LogicalPlan,
    pub(super) scope: Scope,
    pub(super) lateral: bool,
}

/// What stands left of an item: the items before it, joined.
pub(super) type Side = (LogicalPlan, Scope);

/// The name that an item of FROM or a WITH query is given, and names for its columns.
#[derive(Clone, Copy)]
pub(super) struct Naming {
    pub(super) name: Id<Name>,
    pub(super) columns: List<Name>,
}

impl Item {
    fn plain((plan, scope): Side) -> Item {
        Item { plan, scope, lateral: false }
    }
}

/// One row without columns: what a SELECT without FROM reads.
pub(super) fn one_row() -> LogicalPlan {
    LogicalPlan::Values { rows: vec![vec![]], fields: vec![] }
}

/// The columns of a view's query under the names that they have in the view. A query that has lost some is refused.
pub(crate) fn named_as_view(view: &View, mut fields: Vec<Field>) -> Result<Vec<Field>> {
    if fields.len() < view.columns.len() {
        let message = format!("the query of view \"{}\" does not give all its columns any more", view.name);
        let error = Error::new(SqlState::INVALID_OBJECT_DEFINITION, message);
        return Err(error.with_hint("Drop the view and create it anew."));
    }
    for (field, name) in fields.iter_mut().zip(&view.columns) {
        field.name.clone_from(name);
    }
    Ok(fields)
}

impl<'a> Binder<'a> {
    /// The whole clause, items joined from left to right.
    pub(super) fn all_items(&mut self, items: List<TableRef>, outer: Option<&Env>) -> Result<Side> {
        let tree = self.tree;
        let mut joined: Option<Side> = None;
        for item in tree.list(items) {
            joined = Some(self.add_item(joined, item, outer)?);
        }
        Ok(joined.unwrap_or_else(|| (one_row(), Scope::default())))
    }

    /// Joins one more item of the list.
    pub(super) fn add_item(&mut self, left: Option<Side>, item: Id<TableRef>, outer: Option<&Env>) -> Result<Side> {
        let right = self.item(item, left.as_ref().map(|(_, scope)| scope), outer)?;
        match left {
            None => Ok((right.plan, right.scope)),
            Some(left) => self.cross(left, right, self.tree.span(item)),
        }
    }

    fn cross(&mut self, (left, left_scope): Side, right: Item, span: Span) -> Result<Side> {
        let scope = left_scope.joined(right.scope).map_err(|error| self.at(error, span))?;
        let (left, right_plan) = (Box::new(left), Box::new(right.plan));
        let plan =
            LogicalPlan::Join { kind: JoinKind::Inner, left, right: right_plan, on: None, lateral: right.lateral };
        Ok((plan, scope))
    }

    /// One item, its names given by its alias. Of joined ones only the first may look at `left`.
    pub(super) fn item(&mut self, item: Id<TableRef>, left: Option<&Scope>, outer: Option<&Env>) -> Result<Item> {
        let tree = self.tree;
        match tree.get(item) {
            TableRef::Join { alias, .. } => {
                let joined = self.joined(item, left, outer)?;
                match alias.and_then(|alias| self.naming(alias)) {
                    None => Ok(joined),
                    Some(naming) => self.aliased_join(joined, naming),
                }
            }
            TableRef::Table { name, alias, sample: Some(sample), .. } => {
                self.charge_relation()?;
                self.sample((name, alias.and_then(|alias| self.naming(alias))), sample, outer)
            }
            TableRef::Table { name, alias, .. } => {
                self.charge_relation()?;
                self.named(name, alias.and_then(|alias| self.naming(alias)))
            }
            TableRef::Function { .. } => {
                self.charge_relation()?;
                self.table_function(item, left, outer)
            }
            TableRef::Subquery { query, lateral, alias } => {
                self.charge_relation()?;
                self.derived(lateral, query, alias.and_then(|alias| self.naming(alias)), left, outer)
            }
            TableRef::Xml { .. } => Err(self.at(Error::unsupported("XMLTABLE"), tree.span(item))),
        }
    }

    /// A name for the item; an alias of nothing but column definitions has none.
    fn naming(&self, alias: Id<ast::Alias>) -> Option<Naming> {
        let ast::Alias { name, columns, .. } = self.tree.get(alias);
        name.map(|name| Naming { name, columns })
    }

    /// Joined tables, without regard to the name that they may have together. Long chains are trees of the left.
    fn joined(&mut self, item: Id<TableRef>, left: Option<&Scope>, outer: Option<&Env>) -> Result<Item> {
        let tree = self.tree;
        let (mut joins, mut first) = (vec![], item);
        while let TableRef::Join { left, alias, .. } = tree.get(first) {
            if alias.is_some() && !joins.is_empty() {
                break;
            }
            joins.push(first);
            first = left;
        }
        let is = |join: Id<TableRef>, kind: ast::JoinKind| matches!(tree.get(join), TableRef::Join { kind: of, .. } if of == kind || of == ast::JoinKind::Full);
        // What is left of a join, and right of it, may be missing in its rows.
        let left_of_any = |joins: &[Id<TableRef>]| {
            joins.iter().any(|&join| is(join, ast::JoinKind::Right)).then_some(Confine::OuterJoin)
        };
        let first_item = self.within(left_of_any(&joins), |binder| binder.item(first, left, outer))?;
        if first_item.lateral {
            let error = Error::unsupported("a join whose first item is LATERAL");
            return Err(self.at(error, tree.span(first)));
        }
        let mut joined = (first_item.plan, first_item.scope);
        while let Some(join) = joins.pop() {
            let confine = is(join, ast::JoinKind::Left).then_some(Confine::OuterJoin).or_else(|| left_of_any(&joins));
            joined = self.join(joined, join, confine, outer)?;
        }
        Ok(Item::plain(joined))
    }

    /// A WITH query, a table or a view.
    pub(super) fn named(&mut self, name: Id<QualifiedName>, naming: Option<Naming>) -> Result<Item> {
        let tree = self.tree;
        let parts = tree.get(name).parts;
        let plain = tree.list(parts).next_back().map_or("", |last| name_text(tree, last));
        let span = tree.span(name);
        let cte = self.ctes.iter().rposition(|cte| cte.name == plain && tree.len(parts) == 1);
        if let Some(at) = cte {
            self.refer(at).map_err(|error| self.at(error, span))?;
            let cte = &self.ctes[at];
            if !cte.returns {
                let message = format!("WITH query \"{plain}\" does not have a RETURNING clause");
                return Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), span));
            }
            let (id, fields) = (cte.id, cte.fields.clone());
            let is_recursive = cte.recursion.is_some();
            let seen = fields.len() - if is_recursive { cte.unseen } else { 0 };
            let mut scope = self.fields_scope(plain, fields[..seen].to_vec(), naming)?;
            scope.width = fields.len();
            scope.relations.iter_mut().for_each(|relation| relation.is_recursive = is_recursive);
            let alias = naming.map(|naming| name_text(self.tree, naming.name)).filter(|alias| *alias != plain);
            let alias = alias.map(Arc::from);
            return Ok(Item::plain((LogicalPlan::CteScan { id, alias, fields }, scope)));
        }
        if let Some(rows) = self.rows_variable(parts) {
            return self.rows_of_variable(plain, rows, naming);
        }
        let catalog = self.catalog;
        let reference = self.definition.and_then(|definition| definition.reference_at(span.start));
        if let (None, Some(relation)) = (reference, self.system_relation(parts)) {
            return self.system((plain, relation), naming);
        }
        let (table, view, sequence) = match reference {
            Some(Reference { object, .. }) => {
                let relation = catalog.relation_by_id(*object);
                relation.into_iter().for_each(|relation| self.rests.borrow_mut().add(relation));
                (catalog.table_by_id(*object), catalog.view_by_id(*object), catalog.sequence_by_id(*object))
            }
            None => match self.found(parts)? {
                Some(catalog::Relation::Table(table)) => (Some(table), None, None),
                Some(catalog::Relation::View(view)) => (None, Some(view), None),
                Some(catalog::Relation::Sequence(sequence)) => (None, None, Some(sequence)),
                _ => (None, None, None),
            },
        };
        match (table, view, reference) {
            (Some(table), _, Some(reference)) if !is_unchanged(reference, table) => {
                self.known_table(plain, reference, table, naming)
            }
            (Some(table), _, _) => {
                self.note_table(span, table);
                self.table((plain, reference), table, naming)
            }
            (None, Some(view), _) => {
                self.note_view(span, view);
                self.view(plain, (view, reference), naming, span)
            }
            (None, None, _) => match sequence {
                Some(sequence) => {
                    self.note_sequence(span, sequence);
                    self.row_of_sequence(plain, sequence, naming)
                }
                None => Err(self.no_relation(name)),
            },
        }
    }

    /// The one row of a sequence: where it stands when that is asked.
    fn row_of_sequence(&mut self, called: &str, sequence: &catalog::Sequence, naming: Option<Naming>) -> Result<Item> {
        let name = self.catalog.shown(sequence.schema, &sequence.name);
        let columns = [SequenceOp::LastValue, SequenceOp::LogCount, SequenceOp::IsCalled];
        let fields = ["last_value", "log_cnt", "is_called"].into_iter().zip(columns);
        let fields: Vec<Field> =
            fields.map(|(name, op)| Field { name: name.to_owned(), data_type: op.data_type() }).collect();
        let row = columns.map(|op| Expr::Sequence { op, name: Box::new(text(&name)), value: None });
        let plan = LogicalPlan::Values { rows: vec![row.into()], fields: fields.clone() };
        let is_named = naming.is_some();
        let mut scope = self.fields_scope(called, fields, naming)?;
        if !is_named {
            let schema = self.catalog.schema_name(sequence.schema).map(str::to_owned);
            scope.relations.iter_mut().for_each(|relation| relation.schema.clone_from(&schema));
        }
        Ok(Item::plain((plan, scope)))
    }

    /// The rows that a function's statement sees under this name.
    pub(super) fn rows_variable(&self, parts: List<Name>) -> Option<RowsVariable> {
        let variables = self.parameters.variables.as_ref().filter(|_| self.definition.is_none())?;
        let name = self.tree.nth(parts, 0).filter(|_| self.tree.len(parts) == 1)?;
        variables.rows(name_text(self.tree, name))
    }

    fn rows_of_variable(&mut self, name: &str, rows: RowsVariable, naming: Option<Naming>) -> Result<Item> {
        let (index, data_type) = rows.parameter;
        let field = |(name, data_type)| Field { name, data_type };
        let fields: Vec<Field> = rows.columns.into_iter().map(field).collect();
        let scope = self.fields_scope(name, fields.clone(), naming)?;
        let args = vec![Expr::Parameter { index, data_type }];
        let plan = LogicalPlan::TableFunction { name: ROWS_OF_ARRAY.to_owned(), stored: false, args, fields };
        Ok(Item::plain((plan, scope)))
    }

    /// The relation of the system's that a name means.
    pub(super) fn system_relation(&self, parts: List<Name>) -> Option<&'static SystemRelation> {
        let mut names = self.tree.list(parts).map(|part| name_text(self.tree, part));
        let (schema, name) = match (names.next()?, names.next(), names.next()) {
            (name, None, _) => (None, name),
            (schema, Some(name), None) => (Some(schema), name),
            _ => return None,
        };
        // Most names are not of the system's, and looking costs nothing then.
        let may_be = schema.map_or_else(|| name.starts_with("pg_"), system::is_schema);
        if may_be { system::named(&ObjectName::new(schema, name), self.catalog) } else { None }
    }

    fn system(&mut self, (called, relation): (&str, &'static SystemRelation), naming: Option<Naming>) -> Result<Item> {
        self.rests.borrow_mut().add_everything();
        let fields = relation.fields();
        let of = fields.clone();
        let plan = match relation.made() {
            Made::Nothing => LogicalPlan::Values { rows: Vec::new(), fields: of },
            Made::Rows(_) => {
                let columns = (0..of.len()).collect();
                LogicalPlan::SystemScan { relation: relation.under(self.catalog), columns, fields: of }
            }
            Made::Expressions(rows) => LogicalPlan::Values { rows: rows(self.catalog), fields: of },
            Made::Function(name) => {
                LogicalPlan::TableFunction { name: (*name).to_owned(), stored: false, args: Vec::new(), fields: of }
            }
        };
        let mut scope = self.fields_scope(called, fields, naming)?;
        if naming.is_none() {
            let schema = Some(relation.schema().to_owned());
            scope.relations.iter_mut().for_each(|relation| relation.schema.clone_from(&schema));
        }
        Ok(Item::plain((plan, scope)))
    }

    /// What a relation's name means.
    pub(super) fn found(&self, parts: List<Name>) -> Result<Option<&'a catalog::Relation>> {
        let mut names = self.tree.list(parts).map(|part| name_text(self.tree, part));
        let at = |error| self.at(error, list_span(self.tree, parts).unwrap_or(NOWHERE));
        match (names.next(), names.next(), names.next()) {
            (Some(name), None, _) => {
                let mut schemas = self.catalog.searched().iter();
                Ok(schemas.find_map(|schema| self.found_in(*schema, name)))
            }
            (Some(schema), Some(name), None) => {
                let schema = self.catalog.schema(schema);
                Ok(schema.and_then(|schema| self.found_in(schema, name)))
            }
            _ => {
                let all = self.tree.list(parts).map(|part| name_text(self.tree, part).to_owned()).collect();
                object_name(all).map(|name| self.catalog.relation(&name)).map_err(at)
            }
        }
    }

    pub(super) fn found_in(&self, schema: ObjectId, name: &str) -> Option<&'a catalog::Relation> {
        let found = self.catalog.relation_in(schema, name);
        let mut rests = self.rests.borrow_mut();
        match found {
            Some(relation) => rests.add(relation),
            None => rests.add_missing(schema, name),
        }
        found
    }

    /// A schema's name.
    pub(super) fn schema_of(&self, schema: ObjectId) -> Option<String> {
        self.catalog.schema_name(schema).map(str::to_owned)
    }

    /// A table as a definition knows it, whose columns were renamed, added or dropped since.
    fn known_table(
        &mut self,
        called: &str,
        reference: &Reference,
        table: &Arc<Table>,
        naming: Option<Naming>,
    ) -> Result<Item> {
        let width = table.columns.len();
        let mut columns = known_columns(reference, table);
        if let Some(naming) = naming {
            self.check_column_count("table", columns.len(), naming)?;
            for ((name, _), new) in columns.iter_mut().zip(self.tree.list(naming.columns)) {
                name_text(self.tree, new).clone_into(name);
            }
        }
        let alias = naming.map_or(called, |naming| name_text(self.tree, naming.name)).to_owned();
        let plan = self.scan_of(table, (0..width).collect(), &alias)?;
        let schema = naming.is_none().then(|| reference.schema.clone());
        let relation = known_relation(alias, schema, table, columns);
        Ok(Item::plain((plan, Scope::of(relation, width))))
    }

    fn table(
        &mut self,
        (called, reference): (&str, Option<&Reference>),
        table: &Arc<Table>,
        naming: Option<Naming>,
    ) -> Result<Item> {
        let width = table.columns.len();
        let name = naming.map_or(called, |naming| name_text(self.tree, naming.name));
        let plan = self.scan_of(table, (0..width).collect(), name)?;
        let schema = match reference {
            Some(reference) => Some(reference.schema.clone()),
            None => self.schema_of(table.schema),
        };
        let schema = schema.filter(|_| naming.is_none());
        let mut scope = Scope::of_table(name.to_owned(), schema, table, width);
        if let Some(naming) = naming {
            self.rename("table", &mut scope, naming)?;
        }
        Ok(Item::plain((plan, scope)))
    }

    /// `relation "x" does not exist`, with the nearest name.
    pub(super) fn no_relation(&self, name: Id<QualifiedName>) -> Error {
        let full = dotted(self.tree, self.tree.get(name).parts);
        let error = Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{full}\" does not exist"));
        let schemas = self.catalog.searched().iter();
        let names = schemas.flat_map(|schema| self.catalog.relations_in(*schema));
        let read = names.filter(|(_, relation)| {
            matches!(relation.kind(), RelationKind::Table | RelationKind::View | RelationKind::MaterializedView)
        });
        let near = nearest(&full, read.map(|(name, _)| (name, name)));
        let error = match near.as_slice() {
            [near, ..] => error.with_hint(format!("Perhaps you meant the relation \"{near}\".")),
            [] => error,
        };
        self.at(error, self.tree.span(name))
    }

    /// Notes that what follows is bound within the view. SQLSTATE 42P17 where it already is, 54001.
    pub(super) fn enter_view(&mut self, view: &View) -> Result<()> {
        if self.views.contains(&view.id) {
            let message = format!("infinite recursion detected in rules for relation \"{}\"", view.name);
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        if self.views.len() >= VIEW_DEPTH_MAX {
            let message = format!("view \"{}\" is read through more than {VIEW_DEPTH_MAX} views", view.name);
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        self.views.push(view.id);
        Ok(())
    }

    /// The rows of a view.
    pub(super) fn view_rows(&mut self, view: &View, span: Span) -> Result<LogicalPlan> {
        if let Some(face) = self.stands.as_ref().filter(|face| face.id == view.id) {
            return self.scan_of(face, (0..face.columns.len()).collect(), &view.name);
        }
        self.enter_view(view).map_err(|error| self.at(error, span))?;
        let parsed = crate::sql::parse_query(&view.query.text)?;
        let plan = self.isolated(&view.query, (&parsed.tree, parsed.depth), |binder| binder.query(parsed.query, None));
        self.views.pop();
        plan
    }

    fn view(
        &mut self,
        called: &str,
        (view, reference): (&View, Option<&Reference>),
        naming: Option<Naming>,
        span: Span,
    ) -> Result<Item> {
        let plan = self.view_rows(view, span)?;
        let mut fields = named_as_view(view, plan.fields()).map_err(|error| self.at(error, span))?;
        let width = fields.len();
        if let Some(reference) = reference {
            // A view that was replaced may have got columns, behind those that it had.
            fields.truncate(reference.columns.len());
            fields.iter_mut().zip(&reference.columns).for_each(|(field, known)| field.name.clone_from(&known.name));
        }
        let mut scope = self.fields_scope(called, fields, naming)?;
        scope.width = width;
        if let (Some(relation), None) = (scope.relations.first_mut(), naming) {
            relation.schema = match reference {
                Some(reference) => Some(reference.schema.clone()),
                None => self.schema_of(view.schema),
            };
        }
        Ok(Item::plain((plan, scope)))
    }

    /// A scope of one relation called by its alias, or by `name`.
    fn fields_scope(&mut self, name: &str, fields: Vec<Field>, naming: Option<Naming>) -> Result<Scope> {
        let Some(naming) = naming else { return Ok(Scope::of_fields(name.to_owned(), &fields)) };
        let fields = self.renamed("table", fields, naming)?;
        Ok(Scope::of_fields(name_text(self.tree, naming.name).to_owned(), &fields))
    }

    /// The fields under an alias's column names.
    pub(super) fn renamed(&self, what: &str, mut fields: Vec<Field>, naming: Naming) -> Result<Vec<Field>> {
        self.check_column_count(what, fields.len(), naming)?;
        for (field, new) in fields.iter_mut().zip(self.tree.list(naming.columns)) {
            name_text(self.tree, new).clone_into(&mut field.name);
        }
        Ok(fields)
    }

    /// Applies an alias's column names to a scope of one relation; `what` is it that is called by the alias.
    fn rename(&self, what: &str, scope: &mut Scope, naming: Naming) -> Result<()> {
        let Some(relation) = scope.relations.first_mut() else { return Ok(()) };
        if naming.columns.is_empty() {
            return Ok(());
        }
        self.check_column_count(what, relation.columns().count(), naming)?;
        let new_names = self.tree.list(naming.columns).map(|new| name_text(self.tree, new));
        for ((name, _), new) in relation.columns_mut().iter_mut().zip(new_names) {
            new.clone_into(name);
        }
        Ok(())
    }

    fn check_column_count(&self, what: &str, available: usize, naming: Naming) -> Result<()> {
        let given = self.tree.len(naming.columns);
        if given <= available {
            return Ok(());
        }
        let name = name_text(self.tree, naming.name);
        let message = format!("{what} \"{name}\" has {available} columns available but {given} columns specified");
        let error = Error::new(SqlState::INVALID_COLUMN_REFERENCE, message);
        Err(self.at(error, self.tree.span(naming.name)))
    }

    fn derived(
        &mut self,
        lateral: bool,
        query: Id<Query>,
        naming: Option<Naming>,
        left: Option<&Scope>,
        outer: Option<&Env>,
    ) -> Result<Item> {
        let (plan, lateral) = if lateral {
            let scope = left.cloned().unwrap_or_default();
            let plan = self.query(query, Some(&Env { scope: &scope, outer, within: None }))?;
            settle(plan)
        } else {
            let hidden = self.unreachable.len();
            let aliases = left.iter().flat_map(|left| &left.relations).map(|relation| relation.alias.clone());
            self.unreachable.extend(aliases);
            let plan = self.query(query, outer);
            self.unreachable.truncate(hidden);
            (plan?, false)
        };
        let scope = self.fields_scope("", plan.fields(), naming)?;
        Ok(Item { plan, scope, lateral })
    }

    /// Functions that return rows: one column is named by the alias, several are called as the function is.
    fn table_function(&mut self, item: Id<TableRef>, left: Option<&Scope>, outer: Option<&Env>) -> Result<Item> {
        let tree = self.tree;
        let TableRef::Function { functions, rows_from, ordinality, alias, .. } = tree.get(item) else {
            return Err(Error::internal("not a function in FROM"));
        };
        let scope = left.cloned().unwrap_or_default();
        let left = Env { scope: &scope, outer, within: None };
        // The function's row of its own has no columns; the left row is one level out.
        let nothing = Scope::default();
        let env = Env { scope: &nothing, outer: Some(&left), within: None };
        let mut context = Context::new(Some(&env), if self.is_call { Clause::Call } else { Clause::From });
        let naming = alias.and_then(|alias| self.naming(alias));
        // Of several functions, each names its own column.
        let naming_text = naming.filter(|_| !rows_from).map(|naming| name_text(tree, naming.name));
        let (mut calls, mut called) = (vec![], "");
        for function in tree.list(functions) {
            let definitions = match (rows_from, alias) {
                (true, _) => tree.get(function).columns,
                (false, alias) => alias.map_or(List::EMPTY, |alias| tree.get(alias).definitions),
            };
            if let (true, false, Some(place)) = (ordinality, rows_from, list_span(tree, definitions)) {
                let message = "WITH ORDINALITY cannot be used with a column definition list";
                let error = Error::new(SqlState::SYNTAX_ERROR, message);
                return Err(self.at(error.with_hint("Put the column definition list inside ROWS FROM()."), place));
            }
            let call = self.function_in_from(function, naming_text, definitions, &mut context)?;
            called = if calls.is_empty() { without_schema(call.name) } else { called };
            calls.push(call);
        }
        let row_type = match calls.as_slice() {
            [only] if !ordinality => only.row_type(),
            _ => None,
        };
        let plan = self.side_by_side(calls, ordinality, true)?;
        let fields = plan.fields();
        let (plan, lateral) = settle(plan);
        let single = fields.len() == 1;
        let mut scope = self.fields_scope(called, fields, naming)?;
        for relation in &mut scope.relations {
            relation.is_scalar = single;
            relation.row_type = row_type;
        }
        Ok(Item { plan, scope, lateral })
    }

    fn function_in_from(
        &mut self,
        function: Id<FunctionItem>,
        alias: Option<&str>,
        definitions: List<ast::FunctionColumn>,
        context: &mut Context,
    ) -> Result<RowsCall<'a>> {
        let (called, args, variadic) = self.called_in_from(function)?;
        let Named { name, span, .. } = called;
        let stored = self.stored(called)?;
        let is_call = std::mem::take(&mut self.is_call);
        let meant = match stored.is_empty() {
            true if is_call => Some(Meant::BuiltIn(self.given(args, context)?)),
            true if called.schema.is_none() => None,
            _ => {
                let given = self.given(args, context)?;
                let meant = self.meant(called, &stored, given, variadic);
                Some(meant.map_err(|error| match is_call {
                    true => self.at(as_of_procedure(error, name), span),
                    false => error,
                })?)
            }
        };
        let (function, args) = match meant {
            Some(Meant::Routine(function, args)) => (function, args),
            Some(Meant::BuiltIn(given)) if is_call && given.iter().any(|given| given.name.is_some()) => {
                return Err(self.at(as_of_procedure(no_such(called, &given), name), span));
            }
            Some(Meant::BuiltIn(given)) if is_call => {
                let types: Vec<DataType> = given.iter().map(|given| given.value.data_type()).collect();
                return Err(self.at(self.no_procedure(called, &types), span));
            }
            Some(Meant::BuiltIn(given)) => {
                return self.built_in_rows(called, Arguments::Bound(given), (alias, definitions), context);
            }
            None => return self.built_in_rows(called, Arguments::Written(args), (alias, definitions), context),
        };
        let Some(routine) = function.routine() else {
            return Err(self.at(Error::unsupported(format!("{name} in FROM")), span));
        };
        if is_call && routine.kind != RoutineKind::Procedure {
            let types: Vec<DataType> = routine.inputs().map(|input| input.data_type).collect();
            return Err(self.at(not_a_procedure(name, &types), span));
        }
        let function = self.of_definitions(function, definitions, span)?;
        let (args, fields) = self.stored_rows(function, args, alias)?;
        Ok(RowsCall { name, stored: true, args, fields, row: None, then: None })
    }

    /// A function that returns any record, as one that returns rows of the columns that the query says.
    fn of_definitions(
        &mut self,
        function: Arc<Function>,
        definitions: List<ast::FunctionColumn>,
        span: Span,
    ) -> Result<Arc<Function>> {
        let Some(routine) = function.routine() else { return Ok(function) };
        let place = list_span(self.tree, definitions);
        let refused = |message: &str, span: Span| self.at(Error::new(SqlState::SYNTAX_ERROR, message), span);
        match (self.defined_row(definitions)?, routine.returns, place) {
            (Some(of), Returns::Record, _) => {
                let returns = Returns::Type(DataType::Composite(of));
                Ok(Arc::new(function.specialised(Routine { returns, ..Routine::clone(routine) })))
            }
            (None, Returns::Record, _) => {
                Err(refused("a column definition list is required for functions returning \"record\"", span))
            }
            (Some(_), Returns::Row, Some(place)) => {
                Err(refused("a column definition list is redundant for a function with OUT parameters", place))
            }
            (Some(_), Returns::RowOf(_) | Returns::Type(DataType::Composite(_)), Some(place)) => {
                let message = "a column definition list is redundant for a function returning a named composite type";
                Err(refused(message, place))
            }
            _ => self.refuse_definitions(definitions).map(|()| function),
        }
    }

    /// SQLSTATE 42809 where it is a function that CALL is to call, 42883 where there is none either.
    fn no_procedure(&self, called: Named<'_>, types: &[DataType]) -> Error {
        let is_function =
            called.schema.is_none() && (!self.overloads(called.name).is_empty() || is_set_function(called.name));
        if is_function {
            return not_a_procedure(called.name, types);
        }
        let schema = called.schema.map_or(String::new(), |schema| format!("{schema}."));
        let message = format!("procedure {schema}{}({}) does not exist", called.name, type_names(types));
        Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(NO_PROCEDURE)
    }

    /// `json_populate_record`, `json_to_record` and their like: each document becomes a row.
    fn rows_of_documents(
        &mut self,
        (called, populate): (Named<'a>, Populate),
        args: Arguments<'a>,
        definitions: List<ast::FunctionColumn>,
        context: &mut Context,
    ) -> Result<RowsCall<'a>> {
        let Named { name, span, .. } = called;
        let mut args = self.operands(args, context)?;
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let none = || super::overload::no_function(name, &types);
        let defined = self.defined_row(definitions)?;
        let (of, base) = match (populate.has_base && args.len() == 2).then(|| args.remove(0)) {
            Some((base, _)) => match (base.data_type(), defined) {
                (DataType::Composite(of), Some(defined)) if of.is_record() => {
                    (defined, super::coerce::null(DataType::Composite(defined)))
                }
                (DataType::Composite(_), Some(_)) => {
                    self.refuse_definitions(definitions)?;
                    return Err(Error::internal("a column definition list"));
                }
                (DataType::Composite(of), None) => (of, base),
                _ => {
                    let message = format!("first argument of {name} must be a row type");
                    return Err(self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), span));
                }
            },
            None => match defined.filter(|_| !populate.has_base) {
                Some(of) => (of, super::coerce::null(DataType::Composite(of))),
                None if populate.has_base => return Err(self.at(none(), span)),
                None => {
                    let message = "a column definition list is required for functions returning \"record\"";
                    return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span));
                }
            },
        };
        let Ok([(document, place)]) = <[_; 1]>::try_from(args) else { return Err(self.at(none(), span)) };
        let document = self.coerce(document, populate.document, CastContext::Implicit, place)?;
        let document = document.ok_or_else(|| self.at(none(), span))?;
        // One document is the only element of an array.
        let (name, args, column) = match populate.set {
            true if populate.document == DataType::Jsonb => ("jsonb_array_elements", vec![document], "value"),
            true => ("json_array_elements", vec![document], "value"),
            false => ("unnest", vec![super::arrays::constructed(populate.document, vec![document])?], "unnest"),
        };
        let function = populated(of, populate.document);
        let then = move |document: Expr| Expr::Call { function, args: vec![base, document] };
        let fields = vec![Field { name: column.to_owned(), data_type: populate.document }];
        Ok(RowsCall { name, stored: false, args, fields, row: None, then: Some(Box::new(then)) })
    }

    /// `(name type, ...)`
    fn defined_row(&self, definitions: List<ast::FunctionColumn>) -> Result<Option<CompositeType>> {
        let tree = self.tree;
        let mut attributes = Vec::with_capacity(tree.len(definitions));
        for definition in tree.list(definitions) {
            let ast::FunctionColumn { name, data_type, collation } = tree.get(definition);
            self.check_collation(collation)?;
            let (of, domain) = self.column_type(data_type)?;
            if domain.is_some() {
                return Err(self.at(Error::unsupported("a domain in this place"), tree.span(data_type)));
            }
            let text = name_text(tree, name);
            if attributes.iter().any(|(known, _): &(String, DataType)| known == text) {
                let message = format!("column name \"{text}\" specified more than once");
                return Err(self.at(Error::new(SqlState::DUPLICATE_COLUMN, message), tree.span(name)));
            }
            attributes.push((text.to_owned(), of));
        }
        (!attributes.is_empty()).then(|| CompositeType::record(attributes)).transpose()
    }

    /// A built-in function in FROM.
    fn built_in_rows(
        &mut self,
        called: Named<'a>,
        args: Arguments<'a>,
        (alias, definitions): (Option<&str>, List<ast::FunctionColumn>),
        context: &mut Context,
    ) -> Result<RowsCall<'a>> {
        let Named { name, span, .. } = called;
        if let Some(populate) = Populate::named(name) {
            return self.rows_of_documents((called, populate), args, definitions, context);
        }
        self.refuse_definitions(definitions)?;
        let bound = self.arguments(called, args, context)?;
        let (args, columns) = self.set_function(name, bound, span)?;
        let alias = alias.filter(|_| columns.len() == 1);
        let fields = set_fields(name, columns, alias);
        Ok(RowsCall { name, stored: false, args, fields, row: None, then: None })
    }

    /// The name and the arguments of a call in FROM; whether the last is VARIADIC.
    fn called_in_from(&self, item: Id<FunctionItem>) -> Result<(Named<'a>, List<ast::Expr>, bool)> {
        let tree = self.tree;
        let function = tree.get(item).function;
        let span = tree.span(function);
        let (name, args, variadic) = match tree.get(function) {
            ast::Expr::Call { name, form: ast::CallForm::Plain, args, tail: None } => (name, args, false),
            ast::Expr::Call { name, form: ast::CallForm::Variadic, args, tail: None } => (name, args, true),
            _ => return Err(self.at(Error::unsupported(format!("{} in FROM", tree.written(function))), span)),
        };
        Ok((self.called(name, span)?, args, variadic))
    }

    /// `AS (name type, ...)`: the types of the functions there are are known.
    fn refuse_definitions(&self, definitions: List<ast::FunctionColumn>) -> Result<()> {
        let Some(span) = list_span(self.tree, definitions) else { return Ok(()) };
        let message = "a column definition list is only allowed for functions returning \"record\"";
        Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span))
    }

    /// The arguments and the columns' types of a function that returns rows.
    pub(super) fn set_function(
        &mut self,
        name: &str,
        args: Vec<(Expr, Span)>,
        span: Span,
    ) -> Result<(Vec<Expr>, Vec<DataType>)> {
        if is_about_partitions(name) {
            let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
            return match args.as_slice() {
                [_] => Ok((args.into_iter().map(|(arg, _)| arg).collect(), vec![DataType::BigInt])),
                _ => Err(self.at(super::overload::no_function(name, &types), span)),
            };
        }
        if name == LISTENING_CHANNELS && args.is_empty() {
            return Ok((vec![], vec![DataType::Text]));
        }
        if matches!(name, "unnest" | "generate_subscripts" | EXPANDED_ARRAY) {
            return self.rows_of_array(name, args, span);
        }
        if matches!(name, regex::MATCHES | regex::SPLIT_TO_TABLE | STRING_TO_TABLE) {
            let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
            let mut converted = vec![];
            for (arg, at) in args {
                converted.extend(self.coerce(arg, DataType::Text, CastContext::Implicit, at)?);
            }
            let row = if name == regex::MATCHES { DataType::Text.array() } else { Some(DataType::Text) };
            return match row {
                Some(row) if converted.len() == types.len() && (2..=3).contains(&types.len()) => {
                    Ok((converted, vec![row]))
                }
                _ => Err(self.at(super::overload::no_function(name, &types), span)),
            };
        }
        if let Some(rows) = JsonRows::named(name) {
            let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
            let (declared, least) = rows.arguments();
            let mut converted = vec![];
            for ((arg, at), declared) in args.into_iter().zip(declared) {
                converted.extend(self.coerce(arg, *declared, CastContext::Implicit, at)?);
            }
            return match converted.len() == types.len() && converted.len() >= least {
                true => Ok((converted, rows.columns().into_iter().map(|(_, data_type)| data_type).collect())),
                false => Err(self.at(super::overload::no_function(name, &types), span)),
            };
        }
        let (args, data_type) = self.series(name, args, span)?;
        Ok((args, vec![data_type]))
    }

    /// The arguments of `generate_series`, of one type (timestamps: and an interval).
    fn series(&mut self, name: &str, args: Vec<(Expr, Span)>, span: Span) -> Result<(Vec<Expr>, DataType)> {
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let none = || super::overload::no_function(name, &types);
        if name != "generate_series" || !(2..=3).contains(&args.len()) {
            return Err(self.at(none(), span));
        }
        let ends: Vec<(DataType, Span)> = args.iter().take(2).map(|(arg, at)| (arg.data_type(), *at)).collect();
        let timed = ends
            .iter()
            .any(|(end, _)| matches!(end, DataType::Timestamp(_) | DataType::TimestampTz(_) | DataType::Date));
        let considered: Vec<(DataType, Span)> = match timed {
            true => ends,
            false => args.iter().map(|(arg, at)| (arg.data_type(), *at)).collect(),
        };
        let common = self.common_type("generate_series", &considered).map_err(|_| self.at(none(), span))?;
        let common = match common.base() {
            DataType::SmallInt | DataType::Text => DataType::Integer,
            DataType::Date => DataType::TIMESTAMPTZ,
            other => other,
        };
        let possible = matches!(common, DataType::Integer | DataType::BigInt | DataType::Numeric(None))
            || matches!(common, DataType::Timestamp(_) | DataType::TimestampTz(_)) && args.len() == 3;
        if !possible {
            return Err(self.at(none(), span));
        }
        let mut converted = Vec::with_capacity(args.len());
        for (position, (arg, at)) in args.into_iter().enumerate() {
            let to = if timed && position == 2 { DataType::INTERVAL } else { common };
            converted.push(self.implicit(arg, to, at)?);
        }
        Ok((converted, common))
    }

    /// `(a JOIN b ...) AS alias`: one relation of all the columns.
    fn aliased_join(&mut self, item: Item, naming: Naming) -> Result<Item> {
        let Item { plan, scope: mut joined, .. } = item;
        let alias = name_text(self.tree, naming.name).to_owned();
        let columns = std::mem::take(joined.columns_mut());
        let mut scope = Scope::of(Relation::new(alias, columns), joined.width);
        self.rename("join expression", &mut scope, naming)?;
        Ok(Item::plain((plan, scope)))
    }
}

/// The columns of a built-in function that returns rows; a single one without a name of its own is named by the alias.
pub(super) fn set_fields(name: &str, columns: Vec<DataType>, alias: Option<&str>) -> Vec<Field> {
    let named = match name {
        EXPANDED_ARRAY => EXPANDED_COLUMNS.map(|name| (Some(name), DataType::Unknown)).to_vec(),
        _ => JsonRows::named(name).map_or(vec![], JsonRows::columns),
    };
    let field = |(at, data_type): (usize, DataType)| {
        // A name that the function gives its column goes before the alias.
        let own = named.get(at).and_then(|(own, _)| *own);
        Field { name: own.or(alias).unwrap_or(name).to_owned(), data_type }
    };
    columns.into_iter().enumerate().map(field).collect()
}

/// What a relation is called that is a call of this function: of the built-in ones, one is known with its schema.
fn without_schema(name: &str) -> &str {
    if name == EXPANDED_ARRAY { EXPANDED_NAME } else { name }
}

/// Takes the level for the left row out again where nothing uses it. The other result: whether the join is lateral.
pub(super) fn settle(mut plan: LogicalPlan) -> (LogicalPlan, bool) {
    let mut looks_left = false;
    walk::walk_plan(&plan, 0, &mut |expr, depth| {
        looks_left |= matches!(expr, Expr::Outer { level, .. } if *level == depth + 1);
    });
    if !looks_left {
        walk::rewrite_plan(&mut plan, 0, &mut |expr, depth| match expr {
            Expr::Outer { level, index, data_type } if *level > depth => {
                Some(Expr::Outer { level: level - 1, index: *index, data_type: *data_type })
            }
            _ => None,
        });
    }
    (plan, looks_left)
}

const NO_PROCEDURE: &str =
    "No procedure matches the given name and argument types. You might need to add explicit type casts.";

/// That there is no function of this name for these arguments, as CALL says it.
fn as_of_procedure(error: Error, name: &str) -> Error {
    match error.message().strip_prefix("function ").filter(|rest| rest.starts_with(&format!("{name}("))) {
        Some(rest) if error.sqlstate() == SqlState::UNDEFINED_FUNCTION => {
            Error::new(SqlState::UNDEFINED_FUNCTION, format!("procedure {rest}")).with_hint(NO_PROCEDURE)
        }
        _ => error,
    }
}

fn type_names(types: &[DataType]) -> String {
    types.iter().map(|data_type| data_type.type_name()).collect::<Vec<_>>().join(", ")
}

/// SQLSTATE 42809: CALL of a function.
fn not_a_procedure(name: &str, types: &[DataType]) -> Error {
    let message = format!("{name}({}) is not a procedure", type_names(types));
    Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint("To call a function, use SELECT.")
}
