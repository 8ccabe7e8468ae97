//! FROM: tables, views, WITH queries, subqueries (functions: `from_functions.rs`); and how items combine.
//!
//! An item that may look at what stands left of it (LATERAL, a function) is bound one level further in, its `Outer` level
//! 1 being the left row. Where it turns out not to look, the level is taken out again and the join is an ordinary one.

use std::sync::Arc;

use cairn_parser::{self as ast, Id, List, Name, QualifiedName, Query, Span, TableRef};

use super::scope::{Env, Relation, Scope};
use super::views::Views;
use crate::bind::binder::{Binder, Confine, NOWHERE};
use crate::bind::definitions::definition::{is_unchanged, known_columns, known_relation};
use crate::bind::expressions::coerce::text;
use crate::bind::nearest::nearest;
use crate::bind::variables::RowsVariable;
use crate::catalog::{self, ObjectId, ObjectName, Reference, RelationKind, Table, View};
use crate::functions::rows_of_array;
use crate::plan::{Expr, Field, JoinKind, LogicalPlan, SequenceOp, walk};
use crate::sql::{dotted, list_span, name_text, object_name};
use crate::system::{self, Made, SystemRelation};
use crate::types::DataType;
use crate::{Error, Result, SqlState, Value};

/// Views within views.
const VIEW_DEPTH_MAX: usize = 32;

/// A FROM item and its names. `lateral`: `Outer { level: 1 }` in the plan is the row to the left.
pub(in crate::bind) struct Item {
    pub(in crate::bind) plan: LogicalPlan,
    pub(in crate::bind) scope: Scope,
    pub(in crate::bind) lateral: bool,
}

/// What stands left of an item: the items before it, joined.
pub(in crate::bind) type Side = (LogicalPlan, Scope);

/// What an item may look at: `left`, the items before it, where it is LATERAL or a function; and the queries around.
#[derive(Clone, Copy)]
pub(in crate::bind) struct Around<'e> {
    pub(super) left: Option<&'e Scope>,
    /// What is around an item that looks left, and around all else. They differ in joined items that may look left of all of them:
    /// for all else that level is there too, but has no columns.
    pub(super) lateral: Option<&'e Env<'e>>,
    pub(super) plain: Option<&'e Env<'e>>,
}

impl<'e> Around<'e> {
    /// Nothing but the queries around.
    pub(in crate::bind) fn of(outer: Option<&'e Env<'e>>) -> Around<'e> {
        Around { left: None, lateral: outer, plain: outer }
    }

    /// The same, beside what stands left.
    pub(super) fn beside(self, left: Option<&'e Scope>) -> Around<'e> {
        Around { left, ..self }
    }
}

/// The name that an item of FROM or a WITH query is given, and names for its columns.
#[derive(Clone, Copy)]
pub(in crate::bind) struct Naming {
    pub(in crate::bind) name: Id<Name>,
    pub(in crate::bind) columns: List<Name>,
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
    pub(in crate::bind) fn all_items(&mut self, items: List<TableRef>, outer: Option<&Env>) -> Result<Side> {
        let tree = self.tree;
        let mut joined: Option<Side> = None;
        for item in tree.list(items) {
            joined = Some(self.add_item(joined, item, outer)?);
        }
        Ok(joined.unwrap_or_else(|| (one_row(), Scope::default())))
    }

    /// Joins one more item of the list.
    pub(in crate::bind) fn add_item(
        &mut self,
        left: Option<Side>,
        item: Id<TableRef>,
        outer: Option<&Env>,
    ) -> Result<Side> {
        let around = Around::of(outer).beside(left.as_ref().map(|(_, scope)| scope));
        let right = self.item(item, around)?;
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

    /// One item, its names given by its alias.
    pub(in crate::bind) fn item(&mut self, item: Id<TableRef>, around: Around) -> Result<Item> {
        let bound = self.bound_item(item, around)?;
        self.know_item(item, &bound.scope);
        Ok(bound)
    }

    fn bound_item(&mut self, item: Id<TableRef>, around: Around) -> Result<Item> {
        let tree = self.tree;
        match tree.get(item) {
            TableRef::Join { alias, .. } => {
                let joined = self.joined(item, around)?;
                match alias.and_then(|alias| self.naming(alias)) {
                    None => Ok(joined),
                    Some(naming) => self.aliased_join(joined, naming),
                }
            }
            TableRef::Table { name, alias, sample: Some(sample), .. } => {
                self.charge_relation()?;
                self.sample((name, alias.and_then(|alias| self.naming(alias))), sample, around.plain)
            }
            TableRef::Table { name, alias, .. } => {
                self.charge_relation()?;
                self.named(name, alias.and_then(|alias| self.naming(alias)))
            }
            TableRef::Function { .. } => {
                self.charge_relation()?;
                self.table_function(item, around)
            }
            TableRef::Subquery { query, lateral, alias } => {
                self.charge_relation()?;
                self.derived(lateral, query, alias.and_then(|alias| self.naming(alias)), around)
            }
            TableRef::Xml { .. } => Err(self.at(Error::unsupported("XMLTABLE"), tree.span(item))),
        }
    }

    /// A name for the item; an alias of nothing but column definitions has none.
    pub(super) fn naming(&self, alias: Id<ast::Alias>) -> Option<Naming> {
        let ast::Alias { name, columns, .. } = self.tree.get(alias);
        name.map(|name| Naming { name, columns })
    }

    /// Joined tables, without regard to the name that they may have together. Where one of them may look left of all of them, they
    /// are bound one level further in, as such an item is.
    fn joined(&mut self, item: Id<TableRef>, around: Around) -> Result<Item> {
        self.beyond_reach(around.left, |binder| binder.joined_beside(item, around))
    }

    fn joined_beside(&mut self, item: Id<TableRef>, around: Around) -> Result<Item> {
        let left = around.left.filter(|left| !left.relations.is_empty() && self.may_look_left(item));
        let Some(left) = left else { return Ok(Item::plain(self.joins(item, around.beside(None))?)) };
        let seen = Env { scope: left, outer: around.lateral, within: None };
        let unseen = Env { scope: &Scope::default(), outer: around.plain, within: None };
        let within = Around { left: None, lateral: Some(&seen), plain: Some(&unseen) };
        let (plan, scope) = self.joins(item, within)?;
        let (plan, lateral) = settle(plan);
        Ok(Item { plan, scope, lateral })
    }

    /// What stands left is named by messages as what can not be looked at from here.
    fn beyond_reach<T>(&mut self, left: Option<&Scope>, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let hidden = self.unreachable.len();
        let aliases = left.iter().flat_map(|left| &left.relations).map(|relation| relation.alias.clone());
        self.unreachable.extend(aliases);
        let bound = bind(self);
        self.unreachable.truncate(hidden);
        bound
    }

    /// Whether it is LATERAL or a function, or one of its joined items is.
    fn may_look_left(&self, item: Id<TableRef>) -> bool {
        let mut items = vec![item];
        while let Some(item) = items.pop() {
            match self.tree.get(item) {
                TableRef::Join { left, right, .. } => items.extend([left, right]),
                TableRef::Subquery { lateral: true, .. } | TableRef::Function { .. } => return true,
                _ => {}
            }
        }
        false
    }

    /// Long chains are trees of the left.
    fn joins(&mut self, item: Id<TableRef>, around: Around) -> Result<Side> {
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
        let first = self.within(left_of_any(&joins), |binder| binder.item(first, around))?;
        let mut joined = (first.plan, first.scope);
        while let Some(join) = joins.pop() {
            let confine = is(join, ast::JoinKind::Left).then_some(Confine::OuterJoin).or_else(|| left_of_any(&joins));
            joined = self.join(joined, join, confine, around)?;
        }
        Ok(joined)
    }

    /// A WITH query, a table or a view.
    pub(in crate::bind) fn named(&mut self, name: Id<QualifiedName>, naming: Option<Naming>) -> Result<Item> {
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
            let schema = self.schema_of(sequence.schema);
            scope.relations.iter_mut().for_each(|relation| relation.schema.clone_from(&schema));
        }
        Ok(Item::plain((plan, scope)))
    }

    /// The rows that a function's statement sees under this name.
    pub(in crate::bind) fn rows_variable(&self, parts: List<Name>) -> Option<RowsVariable> {
        let variables = self.parameters.variables.as_ref().filter(|_| self.definition.is_none())?;
        let name = self.tree.nth(parts, 0).filter(|_| self.tree.len(parts) == 1)?;
        variables.rows(name_text(self.tree, name))
    }

    fn rows_of_variable(&mut self, name: &str, rows: RowsVariable, naming: Option<Naming>) -> Result<Item> {
        let (index, data_type) = rows.parameter;
        let field = |(name, data_type)| Field { name, data_type };
        let fields: Vec<Field> = rows.columns.into_iter().map(field).collect();
        let scope = self.fields_scope(name, fields.clone(), naming)?;
        let args = vec![Expr::parameter(index, data_type)];
        let call = Expr::Call { function: rows_of_array(data_type), args };
        let plan = LogicalPlan::TableFunction { call, fields };
        Ok(Item::plain((plan, scope)))
    }

    /// The relation of the system's that a name means.
    pub(in crate::bind) fn system_relation(&self, parts: List<Name>) -> Option<&'static SystemRelation> {
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
            Made::Rows(_) | Made::Counted(_) => {
                let columns = (0..of.len()).collect();
                LogicalPlan::SystemScan { relation: relation.under(self.catalog, &Views), columns, fields: of }
            }
            Made::Expressions(rows) => LogicalPlan::Values { rows: rows(self.catalog), fields: of },
            Made::Function(function) => {
                let call = Expr::Call { function: Arc::clone(function), args: Vec::new() };
                LogicalPlan::TableFunction { call, fields: of }
            }
            Made::Served(function) => {
                let asker = Expr::Literal { value: Value::Boolean(self.is_clients()), data_type: DataType::Boolean };
                let call = Expr::Call { function: Arc::clone(function), args: vec![asker] };
                LogicalPlan::TableFunction { call, fields: of }
            }
        };
        let mut scope = self.fields_scope(called, fields, naming)?;
        scope.relations.iter_mut().for_each(|named| named.system = relation.table_oid());
        if naming.is_none() {
            let schema = Some(Arc::from(relation.schema()));
            scope.relations.iter_mut().for_each(|relation| relation.schema.clone_from(&schema));
        }
        Ok(Item::plain((plan, scope)))
    }

    /// What a relation's name means.
    pub(in crate::bind) fn found(&self, parts: List<Name>) -> Result<Option<&'a catalog::Relation>> {
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

    pub(in crate::bind) fn found_in(&self, schema: ObjectId, name: &str) -> Option<&'a catalog::Relation> {
        let found = self.catalog.relation_in(schema, name);
        let mut rests = self.rests.borrow_mut();
        match found {
            Some(relation) => rests.add(relation),
            None => rests.add_missing(schema, name),
        }
        found
    }

    /// A schema's name.
    pub(in crate::bind) fn schema_of(&self, schema: ObjectId) -> Option<Arc<str>> {
        self.catalog.shared_schema_name(schema)
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
        let schema = naming.is_none().then(|| Arc::from(reference.schema.as_str()));
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
            _ if naming.is_some() => None,
            Some(reference) => Some(Arc::from(reference.schema.as_str())),
            None => self.schema_of(table.schema),
        };
        let mut scope = Scope::of_table(name.to_owned(), schema, table, width);
        if let Some(naming) = naming {
            self.rename("table", &mut scope, naming)?;
        }
        Ok(Item::plain((plan, scope)))
    }

    /// `relation "x" does not exist`, with the nearest name.
    pub(in crate::bind) fn no_relation(&self, name: Id<QualifiedName>) -> Error {
        let full = dotted(self.tree, self.tree.get(name).parts);
        let error = Error::undefined_relation(&full);
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
    pub(in crate::bind) fn enter_view(&mut self, view: &View) -> Result<()> {
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
    pub(in crate::bind) fn view_rows(&mut self, view: &View, span: Span) -> Result<LogicalPlan> {
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
                Some(reference) => Some(Arc::from(reference.schema.as_str())),
                None => self.schema_of(view.schema),
            };
        }
        Ok(Item::plain((plan, scope)))
    }

    /// A scope of one relation called by its alias, or by `name`.
    pub(super) fn fields_scope(&mut self, name: &str, fields: Vec<Field>, naming: Option<Naming>) -> Result<Scope> {
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

    fn derived(&mut self, lateral: bool, query: Id<Query>, naming: Option<Naming>, around: Around) -> Result<Item> {
        let (plan, lateral) = if lateral {
            let scope = around.left.cloned().unwrap_or_default();
            let plan = self.query(query, Some(&Env { scope: &scope, outer: around.lateral, within: None }))?;
            settle(plan)
        } else {
            (self.beyond_reach(around.left, |binder| binder.query(query, around.plain))?, false)
        };
        let scope = self.fields_scope("", plan.fields(), naming)?;
        Ok(Item { plan, scope, lateral })
    }

    /// `(a JOIN b ...) AS alias`: one relation of all the columns.
    fn aliased_join(&mut self, item: Item, naming: Naming) -> Result<Item> {
        let Item { plan, scope: mut joined, lateral } = item;
        let alias = name_text(self.tree, naming.name).to_owned();
        let columns = std::mem::take(joined.columns_mut());
        let mut scope = Scope::of(Relation::new(alias, columns), joined.width);
        self.rename("join expression", &mut scope, naming)?;
        Ok(Item { plan, scope, lateral })
    }
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
