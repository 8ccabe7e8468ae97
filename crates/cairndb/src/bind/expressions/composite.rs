//! Rows as values: `ROW(...)`, whole rows of relations and of variables, their attributes, and when they are NULL.

use cairn_parser::{self as ast, Id, Indirection, List, Name, Span};

use super::coerce::{boolean, null};
use super::expr::{conjunction, not};
use super::operators::{Operand, row_of};
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::calls::routine::{Given, Meant, Named};
use crate::bind::context::Context;
use crate::bind::definitions::shown::said;
use crate::bind::relations::from::Side;
use crate::bind::relations::scope;
use crate::catalog::{Catalog, Relation, RoutineKind, Table};
use crate::functions::composite::{attribute_of, constructor, is_constructor, is_null_row, with_attribute};
use crate::plan::{Expr, Field, LogicalPlan};
use crate::sql::{list_span, name_text};
use crate::types::{CompositeType, DataType, Value};
use crate::{Error, Result, SqlState};

/// Rows within rows. The text of a row doubles the quotes in the text of one that it holds, so that what could be written for
/// thirty of them would fill the memory (PostgreSQL: SQLSTATE 54000 when it is written).
const DEPTH_MAX: usize = 10;

/// How many rows deep values of a type are.
fn depth_of(data_type: DataType) -> usize {
    match data_type {
        DataType::Composite(of) => {
            1 + of.attributes().iter().map(|attribute| depth_of(attribute.data_type)).max().unwrap_or(0)
        }
        DataType::Array(element) => depth_of(element.data_type()),
        _ => 0,
    }
}

/// A row of these values.
pub(in crate::bind) fn row_value(of: CompositeType, values: Vec<Expr>) -> Expr {
    Expr::Call { function: constructor(of), args: values }
}

/// The row; NULL where `present` is.
fn row_where(present: Expr, row: Expr) -> Expr {
    let data_type = row.data_type();
    let branches = vec![(Expr::IsNull(present.into()), null(data_type))];
    Expr::Case { branches, otherwise: Some(row.into()), data_type }
}

/// An attribute of a row.
pub(in crate::bind) fn attribute_at(row: Expr, of: CompositeType, at: usize) -> Expr {
    if let Some(value) = attributes_of(&row).and_then(|values| values.get(at)) {
        return value.clone();
    }
    let data_type = of.attributes().get(at).map_or(DataType::Unknown, |attribute| attribute.data_type);
    let place =
        Expr::Literal { value: Value::Integer(i32::try_from(at).unwrap_or(i32::MAX)), data_type: DataType::Integer };
    Expr::Call { function: attribute_of(of, data_type), args: vec![row, place] }
}

/// A row with an attribute replaced.
pub(super) fn with_attribute_at(row: Expr, of: CompositeType, at: usize, value: Expr, data_type: DataType) -> Expr {
    let place =
        Expr::Literal { value: Value::Integer(i32::try_from(at).unwrap_or(i32::MAX)), data_type: DataType::Integer };
    Expr::Call { function: with_attribute(of, data_type), args: vec![row, value, place] }
}

/// The values of which a row is made.
pub(super) fn attributes_of(row: &Expr) -> Option<&[Expr]> {
    match row {
        Expr::Call { function, args } if is_constructor(function) => Some(args),
        _ => None,
    }
}

impl Binder<'_> {
    /// `ROW(a, b)`, `(a, b)`.
    pub(in crate::bind) fn row(&mut self, items: List<ast::Expr>, context: &mut Context) -> Result<Expr> {
        let values = self.row_items(items, context)?;
        let mut known = Vec::with_capacity(values.len());
        for (value, _) in values {
            known.push(self.known(value)?);
        }
        if known.iter().map(|value| depth_of(value.data_type())).max() >= Some(DEPTH_MAX) {
            let message = format!("rows are nested more than {DEPTH_MAX} deep");
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let names = (1..).map(|nth: u32| format!("f{nth}"));
        let of = CompositeType::record(names.zip(known.iter().map(|value| value.data_type())))?;
        Ok(row_value(of, known))
    }

    /// A row's items, `t.*` among them as the columns.
    pub(in crate::bind) fn row_items(&mut self, items: List<ast::Expr>, context: &mut Context) -> Result<Vec<Operand>> {
        let tree = self.tree;
        let mut values = Vec::with_capacity(tree.len(items));
        for item in tree.list(items) {
            match tree.get(item) {
                ast::Expr::All { qualifier } if !qualifier.is_empty() => {
                    let span = tree.span(item);
                    let row = match self.variable_row(qualifier)? {
                        Some(row) => row,
                        None => self.whole_row_of(qualifier, context)?,
                    };
                    values.extend(self.attributes(row).into_iter().map(|(_, value)| (value, span)));
                }
                _ => values.push(self.operand(item, context)?),
            }
        }
        Ok(values)
    }

    /// `t.*` where a value is wanted: the whole row.
    pub(super) fn whole_row_of(&mut self, qualifier: List<Name>, context: &mut Context) -> Result<Expr> {
        if let Some(row) = self.variable_value(qualifier)? {
            return Ok(row);
        }
        let parts: Vec<Id<Name>> = self.tree.list(qualifier).collect();
        self.whole_row(&parts, list_span(self.tree, qualifier).unwrap_or(NOWHERE), context)
    }

    fn whole_row(&mut self, qualifier: &[Id<Name>], span: Span, context: &mut Context) -> Result<Expr> {
        let (relation, level, _) = self.relation_of(context.env, qualifier)?;
        let row = self.row_of_relation(relation)?;
        if let (Some(env), 0) = (context.env, level) {
            self.note_use(env.scope, &row);
            if !context.in_aggregate {
                scope::columns_in(&row, |index| context.mentions.push((index, span)));
            }
        }
        Ok(scope::seen_from(std::borrow::Cow::Owned(row), level))
    }

    /// A variable that is a row, as a value: NULL where it holds none.
    pub(super) fn variable_value(&mut self, names: List<Name>) -> Result<Option<Expr>> {
        let mut parts = self.tree.list(names);
        match (parts.next(), parts.next()) {
            (Some(name), None) => self.variable_named(name_text(self.tree, name)),
            _ => Ok(None),
        }
    }

    /// That of this name, or number (`$1`).
    pub(super) fn variable_named(&mut self, name: &str) -> Result<Option<Expr>> {
        let Some(row) = self.row_named(name)? else { return Ok(None) };
        let Some((index, data_type)) = self.parameters.variables.as_ref().and_then(|all| all.presence(name)) else {
            return Ok(Some(row));
        };
        let present = Expr::parameter(index, self.parameters.variable(index, data_type));
        Ok(Some(row_where(present, row)))
    }

    /// The columns of a variable that is a row, as a row.
    pub(in crate::bind) fn variable_row(&mut self, names: List<Name>) -> Result<Option<Expr>> {
        let mut parts = self.tree.list(names);
        match (parts.next(), parts.next()) {
            (Some(name), None) => self.row_named(name_text(self.tree, name)),
            _ => Ok(None),
        }
    }

    fn row_named(&mut self, name: &str) -> Result<Option<Expr>> {
        let variables = self.parameters.variables.clone().filter(|_| self.definition.is_none());
        let Some((variables, fields)) = variables.and_then(|all| Some((all.clone(), all.fields(name)?))) else {
            return Ok(None);
        };
        let mut values = Vec::with_capacity(fields.len());
        for (_, index, data_type) in &fields {
            values.push(Expr::parameter(*index, self.parameters.variable(*index, *data_type)));
        }
        let of = match variables.row_type(name) {
            Some(of) => of,
            None => CompositeType::record(fields.into_iter().map(|(name, _, data_type)| (name, data_type)))?,
        };
        Ok(Some(row_value(of, values)))
    }

    /// `(row).a`
    pub(in crate::bind) fn field(&mut self, base: Operand, name: Id<Name>, called: Option<&str>) -> Result<Expr> {
        let (text, span) = (name_text(self.tree, name), self.tree.span(name));
        let (row, place) = base;
        let DataType::Composite(of) = row.data_type() else {
            let message = format!(
                "column notation .{text} applied to type {}, which is not a composite type",
                row.data_type().type_name()
            );
            return Err(self.at(Error::new(SqlState::WRONG_OBJECT_TYPE, message), place));
        };
        if of.place_of(text).is_none()
            && let Some(computed) = self.computed((row.clone(), place), name)?
        {
            return Ok(computed);
        }
        match of.place_of(text) {
            Some(at) => Ok(attribute_at(row, of, at)),
            None if attributes_of(&row).is_some() && called.is_some() => {
                let message = format!("column {}.{text} does not exist", called.unwrap_or_default());
                Err(self.at(Error::new(SqlState::UNDEFINED_COLUMN, message), place))
            }
            None if of.is_record() => {
                let message = format!("could not identify column \"{text}\" in record data type");
                Err(self.at(Error::new(SqlState::UNDEFINED_COLUMN, message), place))
            }
            None => {
                let message = format!("column \"{text}\" not found in data type {}", row.data_type().type_name());
                Err(self.at(Error::new(SqlState::UNDEFINED_COLUMN, message), span))
            }
        }
    }

    /// `table.name` where the table has no such column: what a function of this name makes of the row.
    pub(super) fn computed_column(&mut self, names: List<Name>, context: &mut Context) -> Result<Option<Expr>> {
        let parts: Vec<Id<Name>> = self.tree.list(names).collect();
        let Some((name, qualifier @ [_, ..])) = parts.split_last() else { return Ok(None) };
        if !self.catalog.has_routines() {
            return Ok(None);
        }
        let span = list_span(self.tree, names).unwrap_or(NOWHERE);
        let Ok(row) = self.whole_row(qualifier, span, context) else { return Ok(None) };
        self.computed((row, span), *name)
    }

    /// What a function of this name makes of a row; `None`: there is none that takes it.
    pub(in crate::bind) fn computed(&mut self, (row, place): Operand, name: Id<Name>) -> Result<Option<Expr>> {
        let is_named = matches!(row.data_type(), DataType::Composite(of) if !of.is_record());
        if !is_named || !self.catalog.has_routines() || self.definition.is_some() {
            return Ok(None);
        }
        let called =
            Named { schema: None, built_in: false, name: name_text(self.tree, name), span: self.tree.span(name) };
        let mut stored = self.stored(called)?;
        stored.retain(|function| function.routine().is_some_and(|of| !of.set && of.kind == RoutineKind::Function));
        if stored.is_empty() {
            return Ok(None);
        }
        if self.noted.is_some() {
            let error = Error::unsupported(format!("the function \"{0}\" as .{0} in a definition", called.name));
            return Err(self.at(error.with_hint("Write it as a call."), called.span));
        }
        let given = Given { name: None, value: row, span: place };
        match self.meant(called, &stored, vec![given], false) {
            Ok(Meant::Routine(function, args)) => self.stored_value(function, args, place).map(Some),
            Ok(Meant::Aggregate(..) | Meant::BuiltIn(_)) | Err(_) => Ok(None),
        }
    }

    /// The attribute that a value is assigned to.
    pub(super) fn assigned_attribute(
        &self,
        data_type: DataType,
        column: &str,
        name: Id<Name>,
    ) -> Result<(CompositeType, usize)> {
        let (text, span) = (name_text(self.tree, name), self.tree.span(name));
        let type_name = data_type.type_name();
        let DataType::Composite(of) = data_type else {
            let message = format!(
                "cannot assign to field \"{text}\" of column \"{column}\" because its type {type_name} is not a composite type"
            );
            return Err(self.at(Error::new(SqlState::DATATYPE_MISMATCH, message), span));
        };
        let at = of.place_of(text).ok_or_else(|| {
            let message = format!(
                "cannot assign to field \"{text}\" of column \"{column}\" because there is no such column in data type {type_name}"
            );
            self.at(Error::new(SqlState::UNDEFINED_COLUMN, message), span)
        })?;
        Ok((of, at))
    }

    /// A row's attributes, by name.
    pub(in crate::bind) fn attributes(&self, row: Expr) -> Vec<(String, Expr)> {
        let DataType::Composite(of) = row.data_type() else { return vec![] };
        let named = of.attributes().iter().enumerate();
        named.map(|(at, attribute)| (attribute.name.clone(), attribute_at(row.clone(), of, at))).collect()
    }

    /// `(row).*` in a list of outputs.
    pub(in crate::bind) fn all_attributes(
        &mut self,
        base: Id<ast::Expr>,
        steps: List<Indirection>,
        context: &mut Context,
    ) -> Result<Vec<(String, Expr)>> {
        let tree = self.tree;
        let mut row = self.operand(base, context)?;
        for step in tree.list(steps) {
            match tree.get(step) {
                Indirection::Field { name } => row.0 = self.field(row.clone(), name, None)?,
                Indirection::All => break,
                Indirection::Index { .. } | Indirection::Slice { .. } => {
                    row.0 = self.subscripts(row.clone(), &[step], context)?
                }
            }
        }
        match row.0.data_type() {
            DataType::Composite(of) if !of.attributes().is_empty() => Ok(self.attributes(row.0)),
            DataType::Composite(_) => {
                let message = "record type has not been registered";
                Err(self.at(Error::new(SqlState::WRONG_OBJECT_TYPE, message), row.1))
            }
            other => {
                let message = format!("type {} is not composite", other.type_name());
                Err(self.at(Error::new(SqlState::WRONG_OBJECT_TYPE, message), row.1))
            }
        }
    }

    /// `IS NULL`, and `IS NOT NULL` where `negated`: of a row every attribute must be, so that neither may hold.
    pub(super) fn null_test(&mut self, operand: Id<ast::Expr>, negated: bool, context: &mut Context) -> Result<Expr> {
        let of_each = |value: Expr| if negated { not(Expr::IsNull(value.into())) } else { Expr::IsNull(value.into()) };
        if let Some(items) = row_of(self.tree, operand) {
            let mut tests = vec![];
            for (value, _) in self.row_items(items, context)? {
                tests.push(of_each(self.known(value)?));
            }
            return Ok(conjunction(tests));
        }
        let bound = self.expr(operand, context)?;
        let bound = self.known(bound)?;
        Ok(match bound.data_type() {
            DataType::Composite(of) => Expr::Call { function: is_null_row(of, !negated), args: vec![bound] },
            _ => of_each(bound),
        })
    }

    /// Refuses to compare rows whose columns can not be compared, one by one.
    pub(in crate::bind) fn check_rows_compare(&self, types: &[DataType], place: Span) -> Result<()> {
        let [left, right] = types else { return Ok(()) };
        let refuse = |state, message: String| Err(self.at(Error::new(state, message), place));
        let (DataType::Composite(a), DataType::Composite(b)) = (left, right) else {
            let other = if matches!(left, DataType::Composite(_)) { right } else { left };
            return match other {
                DataType::Unknown => {
                    let message = "input of anonymous composite types is not implemented".to_owned();
                    refuse(SqlState::FEATURE_NOT_SUPPORTED, message)
                }
                _ => Ok(()),
            };
        };
        let (a, b) = (a.attributes(), b.attributes());
        if a.is_empty() || b.is_empty() {
            return Ok(());
        }
        for (nth, (a, b)) in (1..).zip(a.iter().zip(b)) {
            if a.data_type.oid() != b.data_type.oid() {
                let (a, b) = (a.data_type.type_name(), b.data_type.type_name());
                let message = format!("cannot compare dissimilar column types {a} and {b} at record column {nth}");
                return refuse(SqlState::DATATYPE_MISMATCH, message);
            }
        }
        match a.len() == b.len() {
            true => Ok(()),
            false => {
                let message = "cannot compare record types with different numbers of columns".to_owned();
                refuse(SqlState::DATATYPE_MISMATCH, message)
            }
        }
    }
}

impl Binder<'_> {
    /// The whole row of a relation: NULL where an outer join found none.
    fn row_of_relation(&self, relation: &scope::Relation) -> Result<Expr> {
        let columns: Vec<(String, Expr)> =
            relation.columns().map(|(name, expr)| (name.to_owned(), expr.into_owned())).collect();
        let table = relation.table.as_ref().map(|(table, _)| table);
        let of = match (relation.row_type, table.filter(|table| table.columns.len() == columns.len())) {
            (Some(of), _) => of,
            (None, Some(table)) => row_type(table, self.catalog)?,
            (None, None) => CompositeType::record(columns.iter().map(|(name, expr)| (name.clone(), expr.data_type())))?,
        };
        let row = row_value(of, columns.into_iter().map(|(_, expr)| expr).collect());
        let Some(present) = relation.present else { return Ok(row) };
        Ok(row_where(Expr::Column { index: present, data_type: DataType::Boolean }, row))
    }

    /// A side of an outer join that may be missing, with a column that says where it is not; if the statement may ask for a
    /// whole row of it, or for its `tableoid`.
    pub(in crate::bind) fn with_presence(&self, (plan, mut scope): Side) -> Side {
        let names_table = self.names_row("tableoid");
        let asked =
            |relation: &scope::Relation| relation.present.is_none() && (names_table || self.names_row(&relation.alias));
        let mut relations = scope.relations.iter_mut().filter(|relation| asked(relation)).peekable();
        if relations.peek().is_none() {
            return (plan, scope);
        }
        relations.for_each(|relation| relation.present = Some(scope.width));
        scope.width += 1;
        let mut fields = plan.fields();
        let column = |(index, field): (usize, &Field)| Expr::Column { index, data_type: field.data_type };
        let exprs = fields.iter().enumerate().map(column).chain([boolean(true)]).collect();
        fields.push(Field { name: "present".to_owned(), data_type: DataType::Boolean });
        (LogicalPlan::Project { input: plan.into(), exprs, fields }, scope)
    }

    /// The type of the rows of a table of this name.
    pub(super) fn type_of_rows(&self, schema: Option<&str>, name: &str) -> Result<Option<DataType>> {
        let mut schemas = match schema {
            Some(schema) => self.catalog.schema(schema).into_iter().collect(),
            None => self.catalog.searched().to_vec(),
        }
        .into_iter();
        match schemas.find_map(|schema| self.found_in(schema, name)) {
            // A definition would have to follow the table's name and columns.
            Some(Relation::Table(_)) if self.definition.is_some() || self.noted.is_some() => {
                Err(Error::unsupported(format!("the type of rows of table \"{name}\" in a definition")))
            }
            Some(Relation::Table(table)) => row_type(table, self.catalog).map(DataType::Composite).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether the statement says `name` or `name.*` where a column could stand.
    fn names_row(&self, name: &str) -> bool {
        let tree = self.tree;
        tree.nodes().any(|node| {
            if !matches!(tree.kind(node).name, "Expr::Column" | "Expr::All") {
                return false;
            }
            let mut last = None;
            tree.children(node, |child| last = Some(child));
            last.is_some_and(|last| {
                let place = tree.place(last);
                let written = tree.source().get(place.start as usize..place.end as usize);
                written.is_some_and(|written| said(written) == name)
            })
        })
    }
}

/// The type of a table's rows.
pub(in crate::bind) fn row_type(table: &Table, catalog: &Catalog) -> Result<CompositeType> {
    table.row_type(catalog.schema_name(table.schema).unwrap_or_default())
}
