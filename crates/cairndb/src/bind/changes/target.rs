//! What INSERT, UPDATE and DELETE share: the table, its columns, defaults, assignments, RETURNING.

use std::sync::Arc;

use cairn_parser::{self as ast, Assignment, AssignmentTarget, Id, Indirection, List, Name, QualifiedName, Span};

use super::updatable::{Face, Purpose, TargetTable, refuse_subqueries};
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::context::{Clause, Context};
use crate::bind::definitions::groups::bound_groups;
use crate::bind::definitions::index::bound_indexes;
use crate::bind::definitions::table_rules::TableRules;
use crate::bind::expressions::arrays::Assigned;
use crate::bind::expressions::coerce::{null, text};
use crate::bind::expressions::operators::row_of;
use crate::bind::nearest::nearest;
use crate::bind::relations::scope::{Env, Named, Relation, Scope, shift};
use crate::bind::relations::virtuals::Virtuals;
use crate::catalog::{self, Column, RelationKind, Table, TriggerEvent, View};
use crate::plan::{Expr, Field, LogicalPlan, Returning, SequenceOp, StandIn, Version};
use crate::sql::name_text;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// SQLSTATE 0A000 for a view's column that can be read only.
pub(super) fn not_given(what: &str, column: &str, view: &str) -> Error {
    let message = format!("cannot {what} \"{column}\" of view \"{view}\"");
    let detail = "View columns that are not columns of their base relation are not updatable.";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail)
}

impl Binder<'_> {
    /// The table that a statement changes.
    pub(super) fn target_table(&mut self, name: Id<QualifiedName>, verb: &'static str) -> Result<TargetTable> {
        let tree = self.tree;
        let parts = tree.get(name).parts;
        self.computed = None;
        let not_merged = |relation: &str, kind: &str| {
            let message = format!("cannot execute MERGE on relation \"{relation}\"");
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            let error = error.with_detail(format!("This operation is not supported for {kind}."));
            Err(self.at(error, tree.span(name)))
        };
        let not_updatable = |view: &str| {
            if verb == "merge into" {
                return not_merged(view, "views");
            }
            let message = format!("cannot {verb} view \"{view}\"");
            Err(self.at(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message), tree.span(name)))
        };
        if let Some(relation) = self.system_relation(parts) {
            let plain = tree.list(parts).next_back().map_or("", |last| name_text(tree, last));
            if relation.kind == RelationKind::View {
                return not_updatable(plain);
            }
            let message = format!("permission denied for table {plain}");
            return Err(self.at(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message), tree.span(name)));
        }
        if self.rows_variable(parts).is_some() {
            let plain = tree.list(parts).next_back().map_or("", |last| name_text(tree, last));
            let message = format!("relation \"{plain}\" cannot be the target of a modifying statement");
            return Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), tree.span(name)));
        }
        match self.found(parts)? {
            Some(catalog::Relation::Table(table)) if table.is_materialized() => {
                if verb == "merge into" {
                    return not_merged(&table.name, "materialized views");
                }
                let message = format!("cannot change materialized view \"{}\"", table.name);
                Err(self.at(Error::new(SqlState::WRONG_OBJECT_TYPE, message), tree.span(name)))
            }
            Some(catalog::Relation::Table(table)) => {
                let table = Arc::clone(table);
                self.rests_on_written(&table)?;
                Ok(TargetTable::plain(table))
            }
            Some(catalog::Relation::View(view)) if verb == "merge into" => not_updatable(&view.name),
            Some(catalog::Relation::View(view)) => {
                self.target_view(view, verb).map_err(|error| self.at(error, tree.span(name)))
            }
            Some(catalog::Relation::Sequence(of)) if verb == "merge into" => not_merged(&of.name, "sequences"),
            Some(catalog::Relation::Sequence(of)) => {
                let message = format!("cannot change sequence \"{}\"", of.name);
                Err(self.at(Error::new(SqlState::WRONG_OBJECT_TYPE, message), tree.span(name)))
            }
            _ => Err(self.no_relation(name)),
        }
    }

    /// The statement changes the table's rows, as far as the table's own rules let it.
    fn rests_on_written(&self, table: &Arc<Table>) -> Result<()> {
        self.rests.borrow_mut().add_written(table);
        // A face is a view's, with rules of its own.
        if !table.is_face() && table.has_expressions() && TableRules::of(table, self.catalog)?.asks_catalog {
            self.rests.borrow_mut().add_everything();
        }
        Ok(())
    }

    /// The table behind a view, or the view as its triggers see it. SQLSTATE 55000 where there is none, or more.
    fn target_view(&mut self, view: &Arc<View>, verb: &'static str) -> Result<TargetTable> {
        let (event, doing) = match verb {
            "insert into" => (TriggerEvent::Insert, "inserting into"),
            "update" => (TriggerEvent::Update, "updating"),
            _ => (TriggerEvent::Delete, "deleting from"),
        };
        match self.updatable(view, Purpose::new(event))? {
            Ok((table, face)) => {
                self.rests_on_written(&table)?;
                if let (TriggerEvent::Insert, Some((view, column))) = (event, &face.not_given) {
                    return Err(not_given(&format!("{verb} column"), column, view));
                }
                if event != TriggerEvent::Delete && table.is_face() {
                    refuse_subqueries(&face.checks)?;
                }
                let computed: Vec<String> = face.computed().map(str::to_owned).collect();
                self.computed = (!computed.is_empty()).then(|| (computed, format!("{verb} column")));
                Ok(TargetTable::of_view(table, view, face))
            }
            Err((view, reason)) => {
                let message = format!("cannot {verb} view \"{}\"", view.name);
                let error = Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_detail(reason);
                let hint = format!("To enable {doing} the view, provide an INSTEAD OF {} trigger.", event.name());
                Err(error.with_hint(hint))
            }
        }
    }

    /// A column of the table that a value goes to, or a part of it.
    pub(super) fn target_column(&self, table: &Table, target: Id<AssignmentTarget>) -> Result<usize> {
        self.named_column(table, self.tree.get(target).column)
    }

    fn named_column(&self, table: &Table, column: Id<Name>) -> Result<usize> {
        let name = name_text(self.tree, column);
        table.columns.iter().position(|column| column.name == name).ok_or_else(|| {
            if let Some((_, what)) = self.computed.as_ref().filter(|(names, _)| names.iter().any(|known| known == name))
            {
                return self.at(not_given(what, name, &table.name), self.tree.span(column));
            }
            let error = Error::undefined_column_of(name, &table.name);
            let names = table.columns.iter().map(|column| (column.name.as_str(), &column.name));
            let error = match nearest(name, names).as_slice() {
                [near] => error.with_hint(format!("Perhaps you meant the column \"{near}\".")),
                _ => error,
            };
            self.at(error, self.tree.span(column))
        })
    }

    /// What a column holds where no value is given. SQLSTATE 428C9 where a view has a value for it that it may not be given.
    pub(super) fn column_default(&mut self, column: &Column) -> Result<Expr> {
        if column.default.is_some() && (column.generated.is_some() || column.is_always_identity()) {
            let message = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
            let hint = "Drop the default of the view's column.";
            return Err(Error::new(SqlState::GENERATED_ALWAYS, message).with_hint(hint));
        }
        if let (Some(identity), None) = (column.identity, &column.default) {
            let sequence = self.catalog.sequence_by_id(identity.sequence);
            let sequence = sequence.ok_or_else(|| Error::internal("an identity column without its sequence"))?;
            self.rests.borrow_mut().add(&catalog::Relation::Sequence(sequence.clone()));
            let next = Expr::Sequence {
                op: SequenceOp::Next,
                name: Box::new(text(&self.catalog.shown(sequence.schema, &sequence.name))),
                value: None,
            };
            return self.assignment(next, column.data_type, &column.name, NOWHERE);
        }
        // A generated column has none: the row program computes it.
        let Some(default) = self.catalog.default_of(column) else { return Ok(null(column.data_type)) };
        let parsed = crate::sql::parse_expression(&default.text)?;
        self.isolated(default, (&parsed.tree, parsed.depth), |binder| {
            binder.default_value(parsed.expr, column.data_type, &column.name)
        })
    }

    /// A default expression as the column's type.
    pub(in crate::bind) fn default_value(&mut self, expr: Id<ast::Expr>, to: DataType, column: &str) -> Result<Expr> {
        let bound = self.expr(expr, &mut Context::new(None, Clause::Default))?;
        self.as_default(bound, expr, to, column)
    }

    /// What a column is given, as its type.
    pub(in crate::bind) fn as_default(
        &mut self,
        bound: Expr,
        expr: Id<ast::Expr>,
        to: DataType,
        column: &str,
    ) -> Result<Expr> {
        let from = bound.data_type();
        self.coerce(bound, to, crate::types::CastContext::Assignment, self.tree.span(expr))?.ok_or_else(|| {
            let message = format!(
                "column \"{column}\" is of type {} but default expression is of type {}",
                to.type_name(),
                from.type_name()
            );
            Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.")
        })
    }

    /// The scan and the names of an updated or deleted table: its columns, then its hidden row number if it has one.
    pub(super) fn target_scan(
        &mut self,
        target: &TargetTable,
        alias: Option<Id<Name>>,
    ) -> Result<(LogicalPlan, Scope)> {
        let table = &target.table;
        let columns: Vec<usize> = match table.row_key() {
            [] if !table.is_face() => (0..table.columns.len()).chain([Table::ROW_NUMBER]).collect(),
            _ => (0..table.columns.len()).collect(),
        };
        let scope = self.target_scope(target, alias, columns.len());
        let name = alias.map_or(target.seen.name.as_str(), |alias| name_text(self.tree, alias));
        let scan = match self.catalog.view_by_id(table.id) {
            Some(view) => self.view_rows(&view.clone(), NOWHERE)?,
            None => self.scan_of(table, columns, name)?,
        };
        let filter = target.face.as_ref().and_then(Face::filter);
        let plan = match filter {
            Some(predicate) => LogicalPlan::Filter { input: Box::new(scan), predicate },
            None => scan,
        };
        Ok((plan, scope))
    }

    /// The names of a table that is changed, whose row is so wide.
    pub(super) fn target_scope(&self, target: &TargetTable, alias: Option<Id<Name>>, width: usize) -> Scope {
        let name = alias.map_or(target.seen.name.as_str(), |alias| name_text(self.tree, alias));
        let schema = if alias.is_none() { self.schema_of(target.seen.schema) } else { None };
        let mut scope = target.scope(name.to_owned(), schema, width);
        // RETURNING sees no table any more, and may call a function of its rows.
        if self.catalog.has_routines() && target.face.is_none() {
            let of = crate::bind::expressions::composite::row_type(&target.table, self.catalog).ok();
            scope.relations.iter_mut().for_each(|relation| relation.row_type = of);
        }
        scope
    }

    /// The scan of a table's columns, by the name that the query calls it.
    pub(in crate::bind) fn scan_of(&self, table: &Arc<Table>, columns: Vec<usize>, name: &str) -> Result<LogicalPlan> {
        let alias = (name != table.name).then(|| name.into());
        if table.is_kept_by_commits() {
            return bound_groups(table, self.catalog)?.rows(alias);
        }
        let indexes = bound_indexes(table, self.catalog)?;
        let scan = LogicalPlan::Scan { table: Arc::clone(table), columns, indexes, alias };
        match table.has_virtual() {
            true => Ok(self.catalog.compiled(table, || Virtuals::of(table, self.catalog))?.over_scan(scan)),
            false => Ok(scan),
        }
    }

    /// SET: positions and converted values.
    pub(in crate::bind) fn assignments(
        &mut self,
        table: &Table,
        assignments: List<Assignment>,
        context: &mut Context,
    ) -> Result<Vec<(usize, Expr)>> {
        let tree = self.tree;
        let mut bound: Vec<(usize, Expr)> = vec![];
        for assignment in tree.list(assignments) {
            match tree.get(assignment) {
                Assignment::One { target, value } => {
                    self.set(table, target, &Assigned::Written(value), context, &mut bound)?;
                }
                Assignment::Many { targets, value } => {
                    for (target, value) in tree.list(targets).zip(self.set_row(targets, value, context)?) {
                        self.set(table, target, &value, context, &mut bound)?;
                    }
                }
            }
        }
        // The row program computes them, whatever is said.
        bound.retain(|(column, _)| table.columns.get(*column).is_none_or(|column| column.generated.is_none()));
        Ok(bound)
    }

    /// Whether a value goes to a part of a column.
    pub(super) fn sets_part(&self, target: Id<AssignmentTarget>) -> bool {
        !self.tree.get(target).steps.is_empty()
    }

    fn set(
        &mut self,
        table: &Table,
        target: Id<AssignmentTarget>,
        value: &Assigned,
        context: &mut Context,
        bound: &mut Vec<(usize, Expr)>,
    ) -> Result<()> {
        if self.sets_part(target) {
            return self.set_element(table, target, value, context, bound);
        }
        let value = self.set_one(table, target, value, context)?;
        self.add_assignment(table, value, target, bound)
    }

    /// `SET a[1] = value`, `SET a.b = value`: of what the column has, or what assignments before this one made.
    fn set_element(
        &mut self,
        table: &Table,
        target: Id<AssignmentTarget>,
        value: &Assigned,
        context: &mut Context,
        bound: &mut Vec<(usize, Expr)>,
    ) -> Result<()> {
        let index = self.target_column(table, target)?;
        let column = table.columns.get(index).ok_or_else(|| Error::internal("a column's position"))?;
        self.refuse_generated(column, self.tree.span(target))?;
        let earlier = bound.iter().position(|(other, _)| *other == index);
        let before = match earlier {
            Some(at) => bound.remove(at).1,
            None => Expr::Column { index, data_type: column.data_type },
        };
        bound.push((index, self.with_part((before, &column.name), target, value, context)?));
        Ok(())
    }

    /// What a column holds once a value went to a part of it. SQLSTATE 0A000 for DEFAULT.
    pub(super) fn with_part(
        &mut self,
        before: (Expr, &str),
        target: Id<AssignmentTarget>,
        value: &Assigned,
        context: &mut Context,
    ) -> Result<Expr> {
        let tree = self.tree;
        let steps: Vec<Id<Indirection>> = tree.list(tree.get(target).steps).collect();
        if let Assigned::Written(value) = value
            && tree.get(*value) == ast::Expr::Default
        {
            let is_field = matches!(steps.first().map(|step| tree.get(*step)), Some(Indirection::Field { .. }));
            let part = if is_field { "a subfield" } else { "an array element" };
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot set {part} to DEFAULT"));
            return Err(self.at(error, tree.span(target)));
        }
        self.part_assignment(before, &steps, value, context)
    }

    fn add_assignment(
        &self,
        table: &Table,
        value: (usize, Expr),
        target: Id<AssignmentTarget>,
        bound: &mut Vec<(usize, Expr)>,
    ) -> Result<()> {
        if bound.iter().any(|(column, _)| *column == value.0) {
            let column = table.columns.get(value.0).map_or("", |column| column.name.as_str());
            let message = format!("multiple assignments to same column \"{column}\"");
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), self.tree.span(target)));
        }
        bound.push(value);
        Ok(())
    }

    fn set_one(
        &mut self,
        table: &Table,
        target: Id<AssignmentTarget>,
        value: &Assigned,
        context: &mut Context,
    ) -> Result<(usize, Expr)> {
        let tree = self.tree;
        let index = self.target_column(table, target)?;
        let column = table.columns.get(index).ok_or_else(|| Error::internal("a column's position"))?;
        if let Assigned::Written(value) = value
            && tree.get(*value) == ast::Expr::Default
        {
            return Ok((index, self.column_default(column)?));
        }
        self.refuse_generated(column, tree.span(target))?;
        let (bound, span) = self.assigned(value, context)?;
        Ok((index, self.assignment(bound, column.data_type, &column.name, span)?))
    }

    fn refuse_generated(&self, column: &Column, span: Span) -> Result<()> {
        let is = match column.identity {
            _ if column.generated.is_some() => "a generated column",
            Some(identity) if identity.always => "an identity column defined as GENERATED ALWAYS",
            _ => return Ok(()),
        };
        let message = format!("column \"{}\" can only be updated to DEFAULT", column.name);
        let detail = format!("Column \"{}\" is {is}.", column.name);
        Err(self.at(Error::new(SqlState::GENERATED_ALWAYS, message).with_detail(detail), span))
    }

    /// `(a, b) = (1, 2)`, `= ROW(1, 2)` or `= (SELECT ...)`: what goes to each.
    fn set_row(
        &mut self,
        targets: List<AssignmentTarget>,
        value: Id<ast::Expr>,
        context: &mut Context,
    ) -> Result<Vec<Assigned>> {
        let tree = self.tree;
        let mismatch = |binder: &Self, span: Span| {
            let message = "number of columns does not match number of values";
            binder.at(Error::new(SqlState::SYNTAX_ERROR, message), span)
        };
        if let ast::Expr::Subquery { query } = tree.get(value) {
            let plan = self.query(query, context.env)?;
            let fields = plan.fields();
            if fields.len() != tree.len(targets) {
                return Err(mismatch(self, tree.span(query)));
            }
            // Each column is a scalar subquery of its own.
            let scalar = |(position, field): (usize, Field)| {
                (crate::bind::queries::subquery::scalar_column(plan.clone(), position, field), tree.span(query))
            };
            return Ok(fields.into_iter().enumerate().map(scalar).map(Assigned::Bound).collect());
        }
        let Some(items) = row_of(tree, value) else {
            let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
            return Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), tree.span(value)));
        };
        match tree.len(items) == tree.len(targets) {
            true => Ok(tree.list(items).map(Assigned::Written).collect()),
            false => Err(mismatch(self, tree.span(value))),
        }
    }

    /// RETURNING over a row with these names.
    pub(super) fn returning(
        &mut self,
        returning: Option<Id<ast::Returning>>,
        scope: &Scope,
        target: &TargetTable,
    ) -> Result<Option<Returning>> {
        let Some(id) = returning else { return Ok(None) };
        let ast::Returning { old, new, targets } = self.tree.get(id);
        let with_both = match self.names_old_or_new(id) {
            true => Some(self.with_old_and_new(scope, target, [old, new])?),
            false => None,
        };
        let env = Env { scope: with_both.as_ref().unwrap_or(scope), outer: None, within: None };
        let outputs = self.outputs(targets, &mut Context::new(Some(&env), Clause::Returning))?;
        let (mut exprs, mut fields) = (vec![], vec![]);
        for output in outputs {
            let expr = self.known(output.expr)?;
            fields.push(Field { name: output.name, data_type: expr.data_type() });
            exprs.push(expr);
        }
        Ok(Some(Returning { exprs, fields }))
    }

    /// Whether the clause may speak of the row as it was or is. Most do not, and their names are not copied.
    fn names_old_or_new(&self, returning: Id<ast::Returning>) -> bool {
        let ast::Returning { old, new, .. } = self.tree.get(returning);
        let written = self.tree.written(returning).as_bytes();
        let says = |word: &[u8]| written.windows(3).any(|three| three.eq_ignore_ascii_case(word));
        old.or(new).is_some() || says(b"old") || says(b"new")
    }

    /// The scope with the rows OLD and NEW, which are seen by those names only, unless others are given.
    fn with_old_and_new(&self, scope: &Scope, target: &TargetTable, names: [Option<Id<Name>>; 2]) -> Result<Scope> {
        let mut scope = scope.clone();
        scope.columns_mut();
        let rows = [("old", Version::Old), ("new", Version::New)];
        for ((default, version), name) in rows.into_iter().zip(names) {
            let alias = name.map_or(default, |name| name_text(self.tree, name));
            match (scope.relations.iter().any(|relation| relation.alias == alias), name) {
                (false, _) => {}
                // A table of this name is what it means.
                (true, None) => continue,
                (true, Some(name)) => {
                    let error = Error::repeated_alias(alias);
                    return Err(self.at(error, self.tree.span(name)));
                }
            }
            let mut columns: Vec<Named> = target
                .scope(String::new(), None, 0)
                .columns()
                .map(|(name, expr)| (name.to_owned(), expr.into_owned()))
                .collect();
            columns.iter_mut().for_each(|(_, expr)| shift(expr, StandIn::Affected(version, 0).column()));
            let mut row = Relation::new(alias.to_owned(), columns);
            row.present = Some(StandIn::Present(version).column());
            if target.face.is_none() {
                row.row_type = Some(crate::bind::expressions::composite::row_type(&target.table, self.catalog)?);
            }
            scope.relations.push(row);
        }
        Ok(scope)
    }
}
