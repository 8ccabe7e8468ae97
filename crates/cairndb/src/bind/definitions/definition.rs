//! What definitions refer to: noted when one is made, looked up from then on (see `catalog::Definition`).

use std::cell::RefCell;
use std::sync::Arc;

use cairn_parser::{Span, Tree};

use crate::bind::ParameterTypes;
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::entry::{check_condition, no_parameters};
use crate::bind::expressions::coerce::fixed_context;
use crate::bind::relations::scope::{self, Scope};
use crate::catalog::{
    Catalog, Definition, KnownColumn, ObjectId, PlanDependencies, Reference, Relation, Sequence, Table, UserType, View,
    type_id,
};
use crate::functions::json::{check_schema, is_schema_match};
use crate::plan::{Expr, Field, LogicalPlan, walk};
use crate::sql::{self, with_deep_stack};
use crate::types::{DataType, EnumType, EnumValue, EvalContext, cast};
use crate::{Error, Result, Value};

/// What is noted while a definition is bound for the first time.
#[derive(Debug, Default)]
pub(in crate::bind) struct Noted {
    references: Vec<Reference>,
    /// Tables, and numbers of columns.
    used: Vec<(ObjectId, u32)>,
    by_key: Vec<ObjectId>,
    /// Where strings are written, and what they say.
    strings: Vec<(Span, String)>,
    /// What strings say that not every session would read alike, and as what.
    moments: Vec<Moment>,
}

/// A string that is read as something else, where it seems to be written, and what it is read as.
#[derive(Debug)]
struct Moment {
    span: Span,
    text: String,
    data_type: DataType,
}

impl Moment {
    fn is_not_told(&self) -> Error {
        let Moment { text, data_type, .. } = self;
        Error::unsupported(format!("the constant '{text}', which stands more than once, as a {data_type}"))
            .with_hint("Write it as a typed constant, with its time zone: then it is the same for everybody.")
    }
}

impl Noted {
    pub(in crate::bind) fn add_string(&mut self, span: Span, text: &str) {
        if self.strings.iter().all(|(known, _)| known.start != span.start) {
            self.strings.push((span, text.to_owned()));
        }
    }

    pub(in crate::bind) fn add_moment(&mut self, span: Span, text: &str, data_type: DataType) {
        self.moments.push(Moment { span, text: text.to_owned(), data_type });
    }

    /// Where strings have to be read by whoever makes the definition, and as what; from the last to the first. SQLSTATE 0A000 where
    /// one is not told from others that say the same: what is read does not always know where it is written.
    fn places(&self) -> Result<Vec<(Span, &str, DataType)>> {
        let is_it =
            |moment: &Moment, (at, text): &(Span, String)| at.start == moment.span.start && *text == moment.text;
        let (mut places, mut lost) = (Vec::new(), Vec::new());
        for moment in &self.moments {
            match self.strings.iter().find(|string| is_it(moment, string)) {
                Some((span, text)) => places.push((*span, text.as_str(), moment.data_type)),
                None => lost.push(moment),
            }
        }
        let is_free = |(at, _): &&(Span, String)| places.iter().all(|(known, ..)| known.start != at.start);
        let free: Vec<_> = self.strings.iter().filter(is_free).collect();
        for moment in lost {
            let mut same = free.iter().filter(|(_, text)| *text == moment.text);
            match (same.next(), same.next()) {
                (None, _) => {}
                (Some((span, text)), None) => places.push((*span, text, moment.data_type)),
                _ => return Err(moment.is_not_told()),
            }
        }
        places.sort_by_key(|(span, ..)| std::cmp::Reverse(span.start));
        places.dedup_by_key(|(span, ..)| span.start);
        Ok(places)
    }

    pub(in crate::bind) fn add(&mut self, span: Span, (object, schema): (ObjectId, &str), columns: Vec<KnownColumn>) {
        // What is bound twice is noted once.
        if self.references.iter().all(|known| known.place != span.start) {
            let (place, schema) = (span.start, schema.to_owned());
            self.references.push(Reference { place, object, schema, columns, by_key: false });
        }
    }

    fn into_references(mut self) -> Vec<Reference> {
        for reference in &mut self.references {
            let object = reference.object;
            reference.by_key = self.by_key.contains(&object);
            let used = |number| self.used.contains(&(object, number));
            reference.columns.iter_mut().for_each(|column| column.used = used(column.number));
        }
        self.references
    }
}

impl Binder<'_> {
    pub(in crate::bind) fn note(&self, work: impl FnOnce(&mut Noted)) {
        if let Some(noted) = &self.noted {
            work(&mut noted.borrow_mut());
        }
    }

    pub(in crate::bind) fn note_table(&self, span: Span, table: &Table) {
        let known = |column: &crate::catalog::Column| KnownColumn {
            number: column.number,
            name: column.name.clone(),
            used: false,
        };
        let object = (table.id, self.catalog.schema_name(table.schema).unwrap_or_default());
        self.note(|noted| noted.add(span, object, table.columns.iter().map(known).collect()));
    }

    pub(in crate::bind) fn note_view(&self, span: Span, view: &View) {
        let known = |(number, name): (u32, &String)| KnownColumn { number, name: name.clone(), used: false };
        let object = (view.id, self.catalog.schema_name(view.schema).unwrap_or_default());
        self.note(|noted| noted.add(span, object, (0..).zip(&view.columns).map(known).collect()));
    }

    pub(in crate::bind) fn note_sequence(&self, span: Span, sequence: &Sequence) {
        let object = (sequence.id, self.catalog.schema_name(sequence.schema).unwrap_or_default());
        self.note(|noted| noted.add(span, object, Vec::new()));
    }

    pub(in crate::bind) fn note_type(&self, span: Span, of: &UserType) {
        let object = (of.id, self.catalog.schema_name(of.schema).unwrap_or_default());
        self.note(|noted| noted.add(span, object, Vec::new()));
    }

    /// A label of an enum, which keeps what it means when it gets another name: it is noted, or found by what was noted.
    pub(in crate::bind) fn label(&self, text: &str, of: EnumType, span: Span) -> Result<EnumValue> {
        let known = self.definition.filter(|_| span != NOWHERE);
        let known = known.and_then(|definition| definition.reference_at(span.start)?.columns.first());
        if let Some(label) = known.and_then(|known| of.labels().iter().find(|label| label.oid == known.number)) {
            return Ok(of.value(label.key));
        }
        let value = of.parse(text)?;
        let label = of.labels().iter().find(|label| label.key == value.key());
        if let (Some(label), Some(id), true) = (label, type_id(value.data_type()), span != NOWHERE) {
            let known = KnownColumn { number: label.oid, name: label.name.clone(), used: false };
            self.note(|noted| noted.add(span, (id, ""), vec![known]));
        }
        Ok(value)
    }

    /// An expression that a name in this scope means is used.
    pub(in crate::bind) fn note_use(&self, scope: &Scope, expr: &Expr) {
        self.note(|noted| {
            walk::walk(expr, 0, &mut |expr, _| {
                if let Expr::Column { index, .. } = expr
                    && let Some((table, start)) = scope.table_of(*index)
                {
                    noted.used.push((table.id, table.columns[index - start].number));
                }
            });
        });
    }

    /// The table's primary key is what makes the query right.
    pub(in crate::bind) fn note_key(&self, table: &Table) {
        self.note(|noted| noted.by_key.push(table.id));
    }

    /// The sequence that a constant names: as it is called now, where the definition knows which it is.
    pub(in crate::bind) fn sequence_named(&self, name: &str, span: Span) -> Result<Option<String>> {
        if let Some(reference) = self.definition.and_then(|definition| definition.reference_at(span.start)) {
            let sequence = self.catalog.sequence_by_id(reference.object);
            let relation = sequence.map(|sequence| Relation::Sequence(sequence.clone()));
            relation.into_iter().for_each(|relation| self.rests.borrow_mut().add(&relation));
            return Ok(sequence.map(|sequence| self.catalog.shown(sequence.schema, &sequence.name)));
        }
        if self.noted.is_some() {
            let sequence = self.catalog.find_sequence(&sql::relation_name(name)?)?;
            self.note(|noted| noted.add(span, (sequence.id, ""), Vec::new()));
        }
        self.rests_on_sequence(name);
        Ok(None)
    }

    /// A name that is looked up when the statement runs may be looked up when it is planned.
    fn rests_on_sequence(&self, name: &str) {
        let Ok(name) = sql::relation_name(name) else { return };
        let schemas = match &name.schema {
            Some(schema) => self.catalog.schema(schema).into_iter().collect(),
            None => self.catalog.searched().to_vec(),
        };
        let _ = schemas.into_iter().find_map(|schema| self.found_in(schema, &name.name));
    }
}

/// The names that a definition has for a table's columns, those that are gone among them as `None`.
pub(in crate::bind) fn known_columns(reference: &Reference, table: &Table) -> Vec<(String, Option<Expr>)> {
    let expr = |number| {
        let index = table.position_of_number(number)?;
        Some(Expr::Column { index, data_type: table.columns[index].data_type })
    };
    reference.columns.iter().map(|column| (column.name.clone(), expr(column.number))).collect()
}

/// Whether a definition sees the table's columns as they are.
pub(in crate::bind) fn is_unchanged(reference: &Reference, table: &Table) -> bool {
    reference.columns.len() == table.columns.len()
        && reference
            .columns
            .iter()
            .zip(&table.columns)
            .all(|(known, now)| known.number == now.number && known.name == now.name)
}

/// A table's relation under the names that a definition has for its columns.
pub(in crate::bind) fn known_relation(
    alias: String,
    schema: Option<Arc<str>>,
    table: &Arc<Table>,
    columns: Vec<(String, Option<Expr>)>,
) -> scope::Relation {
    let columns = columns.into_iter().filter_map(|(name, expr)| Some((name, expr?))).collect();
    let mut relation = scope::Relation::new(alias, columns);
    relation.schema = schema;
    relation.table = Some((Arc::clone(table), 0));
    relation
}

pub(in crate::bind) fn noting<T: Send>(
    tree: &Tree<'_>,
    depth: usize,
    catalog: &Catalog,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T> + Send,
) -> Result<(Noted, T)> {
    with_deep_stack(depth, || {
        let mut parameters = ParameterTypes::default();
        let mut binder = Binder::new(catalog, &mut parameters, tree, None, depth);
        binder.noted = Some(RefCell::default());
        let bound = bind(&mut binder)?;
        let noted = binder.noted.take().unwrap_or_default().into_inner();
        no_parameters(&parameters)?;
        Ok((noted, bound))
    })?
}

/// A definition that `resolve` binds and notes. Constants that others would read otherwise, for their time zone, their style or
/// their clock, are written as `maker` reads them, in whose session the definition is made; where there is nobody, they stay.
pub(in crate::bind) fn settled<T>(
    text: String,
    maker: Option<&EvalContext>,
    resolve: impl Fn(&str) -> Result<(Noted, T)>,
) -> Result<(Definition, T)> {
    let (noted, bound) = resolve(&text)?;
    let Some(eval) = maker.filter(|_| !noted.moments.is_empty()) else {
        return Ok((Definition { text, references: Some(noted.into_references()) }, bound));
    };
    let mut settled = text.clone();
    for (span, constant, data_type) in noted.places()? {
        let value = cast(&Value::text(constant), DataType::Unknown, data_type, eval)?;
        if let Value::Text(steady) = cast(&value, data_type, DataType::Text, fixed_context())? {
            settled.replace_range(span.start as usize..span.end as usize, &format!("'{}'", steady.replace('\'', "''")));
        }
    }
    let (noted, bound) = resolve(&settled)?;
    Ok((Definition { text: settled, references: Some(noted.into_references()) }, bound))
}

/// A query with what the names in it mean now, and its columns.
pub(crate) fn resolve_query(
    text: String,
    catalog: &Catalog,
    maker: Option<&EvalContext>,
) -> Result<(Definition, Vec<Field>)> {
    let (definition, plan) = settled(text, maker, |text| {
        let parsed = sql::parse_query(text)?;
        noting(&parsed.tree, parsed.depth, catalog, |binder| binder.query(parsed.query, None))
    })?;
    Ok((definition, plan.fields()))
}

/// The default of a column, of this name and type, with what the names in it mean now.
pub(crate) fn resolve_default(
    text: String,
    (name, data_type): (&str, DataType),
    catalog: &Catalog,
    maker: Option<&EvalContext>,
) -> Result<Definition> {
    let (definition, _) = settled(text, maker, |text| {
        let parsed = sql::parse_expression(text)?;
        noting(&parsed.tree, parsed.depth, catalog, |binder| binder.default_value(parsed.expr, data_type, name))
    })?;
    Ok(definition)
}

/// A CHECK's condition with what the names in it mean now, and the numbers of the columns that it uses.
pub(crate) fn resolve_check(
    text: String,
    table: &Table,
    catalog: &Catalog,
    maker: Option<&EvalContext>,
) -> Result<(Definition, Vec<u32>)> {
    let (definition, bound) = settled(text, maker, |text| {
        let parsed = sql::parse_expression(text)?;
        noting(&parsed.tree, parsed.depth, catalog, |binder| check_condition(binder, parsed.expr, table))
    })?;
    check_schemas(&bound)?;
    Ok((definition, numbers_of(&bound, table)))
}

/// A JSON schema that is written in a condition is one: it is told when it is said, not with the first row.
fn check_schemas(condition: &Expr) -> Result<()> {
    let mut whole = Ok(());
    walk::walk(condition, 0, &mut |expr, _| {
        if let Expr::Call { function, args } = expr
            && is_schema_match(function)
            && let Some(Expr::Literal { value, .. }) = args.first()
            && whole.is_ok()
        {
            whole = check_schema(value);
        }
    });
    whole
}

/// The numbers of the columns that an expression over a table's columns uses.
pub(super) fn numbers_of(bound: &Expr, table: &Table) -> Vec<u32> {
    let mut columns = Vec::new();
    walk::walk(bound, 0, &mut |expr, _| {
        if let Expr::Column { index, .. } = expr {
            columns.extend(table.columns.get(*index).map(|column| column.number));
        }
    });
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The columns that a view's query gives.
pub(crate) fn definition_fields(definition: &Definition, catalog: &Catalog) -> Result<Vec<Field>> {
    bind_definition(definition, catalog).map(|plan| plan.fields())
}

/// A view's query.
pub(crate) fn bind_definition(definition: &Definition, catalog: &Catalog) -> Result<LogicalPlan> {
    bind_resting(definition, catalog).map(|(plan, _)| plan)
}

/// As [`bind_definition`]; and what the plan rests on.
pub(crate) fn bind_resting(definition: &Definition, catalog: &Catalog) -> Result<(LogicalPlan, PlanDependencies)> {
    let parsed = sql::parse_query(&definition.text)?;
    with_deep_stack(parsed.depth, || {
        let mut parameters = ParameterTypes::default();
        let mut binder = Binder::new(catalog, &mut parameters, &parsed.tree, None, parsed.depth);
        binder.definition = Some(definition);
        let plan = binder.query(parsed.query, None)?;
        Ok((plan, binder.rests.take()))
    })?
}
