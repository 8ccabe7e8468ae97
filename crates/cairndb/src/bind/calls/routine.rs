//! Calls of the schema's functions: which is meant, arguments by name, defaults, VARIADIC; bodies that take a call's place.

use std::sync::Arc;

use cairn_parser::{self as ast, List, Span};

use super::candidates::{Arranged, Chosen};
use super::overload::{ambiguous_function, no_function, undecided};
use crate::bind::Callees;
use crate::bind::ParameterTypes;
use crate::bind::binder::Binder;
use crate::bind::definitions::definition::Noted;
use crate::bind::variables::Parameters;
use crate::catalog::{Catalog, Language, OfDomain, ParameterMode, Relation, Returns, Routine, RoutineKind, no_schema};
use crate::error::Feature;
use crate::functions::extensions::{self, EXTENSIONS};
use crate::functions::{Decided, Declared, Function, Volatility, decide, of_information_schema};
use crate::plan::{Expr, Field, LogicalPlan, is_volatile, walk};
use crate::sql::{ParsedStatement, dotted, name_text, parse_one, with_deep_stack};
use crate::types::{CastContext, CompositeType, DataType};
use crate::{Error, Result, SqlState};

/// A function's name as a call says it.
#[derive(Clone, Copy, Debug)]
pub(in crate::bind) struct Named<'t> {
    /// A schema whose functions users make.
    pub(in crate::bind) schema: Option<&'t str>,
    /// The call says the schema of those that are built in.
    pub(in crate::bind) built_in: bool,
    pub(in crate::bind) name: &'t str,
    pub(in crate::bind) span: Span,
}

/// An argument of a call.
pub(in crate::bind) struct Given<'t> {
    pub(in crate::bind) name: Option<&'t str>,
    pub(in crate::bind) value: Expr,
    pub(in crate::bind) span: Span,
}

/// What a call means.
pub(in crate::bind) enum Meant<'t> {
    /// One of the schema's functions, with its arguments.
    Routine(Arc<Function>, Vec<Expr>),
    /// One of the schema's aggregates, and the arguments as they are given.
    Aggregate(Arc<Function>, Vec<Given<'t>>),
    /// One that is built in, if any: binding its call finds which, or says that there is none. The arguments as they are given.
    BuiltIn(Vec<Given<'t>>),
}

/// Bodies are put in place of calls only where they are not larger than this.
const INLINED_NODES_MAX: usize = 1000;

impl<'a> Binder<'a> {
    /// Whether the definition in which a call stands says what it means.
    pub(super) fn is_decided(&self) -> bool {
        self.definition.is_some_and(|definition| definition.references.is_some())
    }

    /// The functions of the schema's that a name may mean.
    pub(in crate::bind) fn stored(&self, called: Named<'_>) -> Result<Vec<Arc<Function>>> {
        let catalog = self.catalog;
        if let Some(definition) = self.definition.filter(|definition| definition.references.is_some()) {
            let reference = definition.reference_at(called.span.start);
            let function = reference.and_then(|reference| catalog.routine_by_id(reference.object));
            function.and_then(|function| function.routine()).into_iter().for_each(|routine| self.rests_on(routine));
            return Ok(function.into_iter().cloned().collect());
        }
        let schemas = match called.schema {
            None if called.built_in || !catalog.has_routines() => return Ok(vec![]),
            None => catalog.searched().to_vec(),
            Some(schema) => vec![catalog.schema(schema).ok_or_else(|| self.at(no_schema(schema), called.span))?],
        };
        let mut found: Vec<Arc<Function>> = Vec::new();
        for schema in schemas {
            found.extend_from_slice(catalog.routines_in(schema, called.name));
            self.rests.borrow_mut().add_routines(schema, called.name, catalog);
        }
        Ok(found)
    }

    pub(super) fn rests_on(&self, routine: &Routine) {
        self.rests.borrow_mut().add_routines(routine.schema, &routine.name, self.catalog);
    }

    /// What a call means, whose name is one of the schema's functions'.
    pub(in crate::bind) fn meant<'g>(
        &mut self,
        called: Named<'_>,
        stored: &[Arc<Function>],
        given: Vec<Given<'g>>,
        variadic: bool,
    ) -> Result<Meant<'g>> {
        let types: Vec<DataType> = given.iter().map(|given| given.value.data_type()).collect();
        let candidates = self.candidates(called, stored, &given, variadic);
        let (at, arranged, takes) = match candidates.choose(&types) {
            Chosen::Routine(at, arranged, takes) => (at, arranged, takes),
            Chosen::None if called.schema.is_some() => return Err(self.at(no_such(called, &given), called.span)),
            Chosen::BuiltIn | Chosen::None => return Ok(Meant::BuiltIn(given)),
            Chosen::Several => return Err(self.at(ambiguous_function(called.name, &types), called.span)),
        };
        let mut function = stored.get(at).ok_or_else(|| Error::internal("a candidate is lost"))?.clone();
        let routine = function.routine().ok_or_else(|| Error::internal("a function of the schema's"))?.clone();
        if routine.kind == RoutineKind::Aggregate {
            self.note_routine(&routine, called.span);
            return Ok(Meant::Aggregate(function, given));
        }
        self.refuse_uncallable(&routine, &types, called)?;
        self.note_routine(&routine, called.span);
        if routine.takes_rows() && (self.noted.is_some() || self.definition.is_some()) {
            // What it is called with is the row as it was when that was defined.
            let error = Error::lacking(Feature::RowsInDefinitions, "a function of a table's rows in a definition");
            return Err(self.at(error, called.span));
        }
        for table in routine.parameters.iter().filter_map(|parameter| self.catalog.table_by_id(parameter.row_of?)) {
            self.rests.borrow_mut().add(&Relation::Table(table.clone()));
        }
        if routine.is_polymorphic() {
            let of = decided(takes, &types).and_then(|decided| routine.specialised(decided));
            function = Arc::new(function.specialised(of.ok_or_else(|| self.at(undecided(), called.span))?));
        }
        let routine = function.routine().ok_or_else(|| Error::internal("a function of the schema's"))?.clone();
        let args = self.arranged(&routine, arranged, given)?;
        Ok(Meant::Routine(function, args))
    }

    fn calls_procedures(&self) -> bool {
        self.parameters.variables.as_ref().is_some_and(|variables| variables.calls_procedures())
    }

    fn refuse_uncallable(&self, routine: &Routine, types: &[DataType], called: Named<'_>) -> Result<()> {
        let error = match (routine.kind, routine.returns) {
            (RoutineKind::Procedure, _) if !self.calls_procedures() => {
                let types: Vec<&str> = types.iter().map(|data_type| data_type.type_name()).collect();
                let message = format!("{}({}) is a procedure", routine.name, types.join(", "));
                Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint("To call a procedure, use CALL.")
            }
            (_, Returns::Trigger) => {
                let message = "trigger functions can only be called as triggers";
                Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            }
            _ => return Ok(()),
        };
        Err(self.at(error, called.span))
    }

    /// The arguments in the order of the parameters, converted, with defaults for those that are not given.
    fn arranged(&mut self, routine: &Routine, arranged: &Arranged, given: Vec<Given<'_>>) -> Result<Vec<Expr>> {
        let mut given: Vec<Option<Given<'_>>> = given.into_iter().map(Some).collect();
        let mut args = Vec::new();
        for (parameter, from) in routine.inputs().zip(&arranged.arguments) {
            let to = parameter.data_type;
            let value = match (from, &arranged.spread) {
                (_, Some(range)) if parameter.mode == ParameterMode::Variadic => {
                    let element = to.element().ok_or_else(|| Error::internal("VARIADIC of no array"))?;
                    let mut elements = Vec::new();
                    for given in given[range.clone()].iter_mut().filter_map(Option::take) {
                        elements.push((self.implicit(given.value, element, given.span)?, given.span));
                    }
                    self.array_of_type(to, elements)?
                }
                (Some(at), _) => {
                    let given = given[*at].take().ok_or_else(|| Error::internal("an argument is used twice"))?;
                    self.implicit(given.value, to, given.span)?
                }
                (None, _) => {
                    let default = parameter.default.as_ref().ok_or_else(|| Error::internal("no default"))?;
                    let parsed = crate::sql::parse_expression(&default.text)?;
                    let name = parameter.name.as_deref().unwrap_or_default();
                    self.isolated(default, (&parsed.tree, parsed.depth), |binder| {
                        binder.default_value(parsed.expr, to, name)
                    })?
                }
            };
            args.push(match &parameter.domain {
                Some(domain) if !parameter.only_out => self.of_domain_of(value, domain)?,
                _ => value,
            });
        }
        Ok(args)
    }

    /// A value of the base type as one of a domain that a function speaks of.
    fn of_domain_of(&mut self, value: Expr, domain: &OfDomain) -> Result<Expr> {
        let of = self.catalog.type_by_id(domain.id).ok_or_else(|| Error::internal("a function's domain is gone"))?;
        self.rests.borrow_mut().add_type(of.schema, &of.name, Some(of));
        self.of_domain(value, of)
    }

    /// The value of a call: the call, or what its function's body says.
    pub(in crate::bind) fn stored_value(
        &mut self,
        function: Arc<Function>,
        args: Vec<Expr>,
        span: Span,
    ) -> Result<Expr> {
        let Some(routine) = function.routine().cloned() else { return Ok(Expr::Call { function, args }) };
        if let Some(of) = returned_row(&routine, self.catalog).map_err(|error| self.at(error, span))? {
            self.parameters.note_call(&routine);
            let function = Arc::new(function.giving(DataType::Composite(of)));
            return Ok(Expr::Call { function, args });
        }
        if let Some(body) = self.inlined(&routine, &args)? {
            return Ok(body);
        }
        self.parameters.note_call(&routine);
        Ok(Expr::Call { function, args })
    }

    /// The body of a function in SQL in place of its call: where it is one expression that says the same there.
    fn inlined(&mut self, routine: &Arc<Routine>, args: &[Expr]) -> Result<Option<Expr>> {
        let Returns::Type(data_type) = routine.returns else { return Ok(None) };
        let is_known = self.parameters.inlined.contains(&routine.id);
        if routine.language != Language::Sql || routine.set || is_known || routine.kind == RoutineKind::Procedure {
            return Ok(None);
        }
        if !routine.search_path.is_empty() {
            return Ok(None);
        }
        let mut parameters = ParameterTypes::with_variables(Arc::new(Parameters::of(routine)));
        parameters.inlined = self.parameters.inlined.iter().copied().chain([routine.id]).collect();
        let Some(mut body) = expression_of(routine, data_type, self.catalog, &mut parameters)? else { return Ok(None) };
        if !may_take_its_place(routine, &body, args) {
            return Ok(None);
        }
        walk::rewrite(&mut body, 0, &mut |expr, _| match expr {
            Expr::Parameter { index, .. } => args.get(*index).cloned(),
            _ => None,
        });
        let body = self.duplicate(&body)?;
        self.rests.borrow_mut().append(parameters.rests);
        Ok(Some(body))
    }

    /// A function of the schema's in FROM: its columns, and the call.
    pub(in crate::bind) fn stored_rows(
        &mut self,
        function: Arc<Function>,
        args: Vec<Expr>,
        alias: Option<&str>,
    ) -> Result<(Expr, Vec<Field>)> {
        let routine = function.routine().ok_or_else(|| Error::internal("not a function of the schema's"))?.clone();
        self.parameters.note_call(&routine);
        let fields = result_fields(&routine, self.catalog, alias)?;
        Ok((Expr::Call { function, args }, fields))
    }

    fn note_routine(&self, routine: &Routine, span: Span) {
        let schema = self.catalog.schema_name(routine.schema).unwrap_or_default();
        self.note(|noted: &mut Noted| noted.add(span, (routine.id, schema), Vec::new()));
    }

    /// Whether a name in a schema is that of a function of an extension which was made there: then it is what is built in. In a definition,
    /// whose calls are decided, it is so whatever became of the extension.
    fn is_of_extension(&self, schema: &str, name: &str, span: Span) -> bool {
        let has = |extension: &str| extensions::extension(extension).is_some_and(|of| of.has_function(name));
        if let Some(definition) = self.definition.filter(|definition| definition.references.is_some()) {
            return definition.reference_at(span.start).is_none() && EXTENSIONS.iter().any(|of| has(of.name));
        }
        let Some(id) = self.catalog.schema(schema) else { return false };
        if !self.catalog.extensions().any(|made| made.schema == id && has(&made.name)) {
            return false;
        }
        self.rests.borrow_mut().add_routines(id, name, self.catalog);
        self.catalog.routines_in(id, name).is_empty()
    }

    /// Whether a schema's name before an operator is that of an extension which has it.
    pub(in crate::bind) fn is_operator_of_extension(&self, schema: &str, symbol: &str) -> bool {
        let Some(id) = self.catalog.schema(schema) else { return false };
        let has = |name: &str| extensions::extension(name).is_some_and(|of| of.operators.contains(&symbol));
        self.catalog.extensions().any(|made| made.schema == id && has(&made.name))
    }

    /// `schema.name` of a call, or its plain name.
    pub(in crate::bind) fn called(&self, names: List<ast::Name>, span: Span) -> Result<Named<'a>> {
        let tree = self.tree;
        let parts: Vec<&'a str> = tree.list(names).map(|name| name_text(tree, name)).collect();
        match parts.as_slice() {
            [name] => Ok(Named { schema: None, built_in: false, name, span }),
            ["pg_catalog", name] => Ok(Named { schema: None, built_in: true, name, span }),
            [schema, name] => Ok(match of_information_schema(name).filter(|_| *schema == "information_schema") {
                Some(name) => Named { schema: None, built_in: true, name, span },
                None if self.is_of_extension(schema, name, span) => Named { schema: None, built_in: true, name, span },
                None => Named { schema: Some(schema), built_in: false, name, span },
            }),
            _ => {
                let message = format!("cross-database references are not implemented: {}", dotted(tree, names));
                Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), span))
            }
        }
    }
}

/// The type of the rows that a function gives; `None`: it gives values.
pub(super) fn returned_row(routine: &Routine, catalog: &Catalog) -> Result<Option<CompositeType>> {
    match routine.returns {
        Returns::Void | Returns::Trigger | Returns::Any(_) => Ok(None),
        Returns::Record => CompositeType::any_record().map(Some),
        Returns::Type(DataType::Composite(of)) if !routine.is_output() => Ok(Some(of)),
        Returns::Type(_) => Ok(None),
        Returns::Row => {
            let fields = result_fields(routine, catalog, None)?;
            CompositeType::record(fields.into_iter().map(|field| (field.name, field.data_type))).map(Some)
        }
        Returns::RowOf(table) => {
            let table = catalog.table_by_id(table).ok_or_else(|| Error::internal("the table of a row is gone"))?;
            crate::bind::expressions::composite::row_type(table, catalog).map(Some)
        }
    }
}

/// The columns that a function gives in FROM; a single one is named by the alias.
pub(super) fn result_fields(routine: &Routine, catalog: &Catalog, alias: Option<&str>) -> Result<Vec<Field>> {
    let single = |data_type: DataType| {
        let out = routine.outputs().next().and_then(|output| output.name.clone());
        let name = out.or_else(|| alias.map(str::to_owned)).unwrap_or_else(|| routine.name.clone());
        vec![Field { name, data_type: data_type.base() }]
    };
    Ok(match routine.returns {
        // CALL shows nothing of it.
        Returns::Void if routine.kind == RoutineKind::Procedure => {
            vec![Field { name: String::new(), data_type: DataType::Text }]
        }
        Returns::Void => single(DataType::Void),
        Returns::Trigger => single(DataType::Text),
        Returns::Type(DataType::Composite(of)) if !routine.is_output() => {
            let field = |attribute: &crate::types::Attribute| Field {
                name: attribute.name.clone(),
                data_type: attribute.data_type,
            };
            of.attributes().iter().map(field).collect()
        }
        Returns::Type(data_type) => single(data_type),
        Returns::Any(_) => return Err(Error::internal("a call that says nothing of its types")),
        Returns::Record => return Err(no_columns()),
        Returns::Row => {
            let field = |(at, output): (usize, &crate::catalog::RoutineParameter)| Field {
                name: output.name.clone().unwrap_or_else(|| format!("column{}", at + 1)),
                data_type: output.data_type.base(),
            };
            routine.outputs().enumerate().map(field).collect()
        }
        Returns::RowOf(table) => {
            let table = catalog.table_by_id(table).ok_or_else(|| Error::internal("the table of a row is gone"))?;
            let field =
                |column: &crate::catalog::Column| Field { name: column.name.clone(), data_type: column.data_type };
            table.columns.iter().map(field).collect()
        }
    })
}

const RECORD_HINT: &str =
    "Call it in FROM, where the list stands behind AS: FROM function(...) AS name (column type, ...).";

/// SQLSTATE 42601: nothing says what columns a record has.
fn no_columns() -> Error {
    let message = "a column definition list is required for functions returning \"record\"";
    Error::new(SqlState::SYNTAX_ERROR, message).with_hint(RECORD_HINT)
}

pub(in crate::bind) fn no_such(called: Named<'_>, given: &[Given<'_>]) -> Error {
    let types: Vec<DataType> = given.iter().map(|given| given.value.data_type()).collect();
    if called.schema.is_none() && given.iter().all(|given| given.name.is_none()) {
        return no_function(called.name, &types);
    }
    let shown = |given: &Given<'_>| match given.name {
        Some(name) => format!("{name} => {}", given.value.data_type().type_name()),
        None => given.value.data_type().type_name().to_owned(),
    };
    let schema = called.schema.map_or(String::new(), |schema| format!("{schema}."));
    let args: Vec<String> = given.iter().map(shown).collect();
    let message = format!("function {schema}{}({}) does not exist", called.name, args.join(", "));
    let hint = "No function matches the given name and argument types. You might need to add explicit type casts.";
    Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(hint)
}

/// What the pseudo-types of what is taken are in a call.
fn decided(takes: &[Declared], given: &[DataType]) -> Option<Decided> {
    decide(takes.iter().copied().zip(given.iter().copied())).map(Decided::or_text)
}

/// The expression that a function's body is, of the declared type; `None`: it is more than that.
fn expression_of(
    routine: &Routine,
    data_type: DataType,
    catalog: &Catalog,
    parameters: &mut ParameterTypes,
) -> Result<Option<Expr>> {
    // What is wrong with a body is told when it is called.
    let Ok(parsed) = parse_one(&routine.body) else { return Ok(None) };
    let ast::Statement::Query { query } = parsed.syntax() else { return Ok(None) };
    let declared = (data_type, routine.domain.as_ref());
    let bound = with_deep_stack(parsed.depth, || bind_expression(&parsed, query, declared, catalog, parameters))?;
    Ok(bound.ok().flatten())
}

fn bind_expression(
    parsed: &ParsedStatement,
    query: ast::Id<ast::Query>,
    (data_type, domain): (DataType, Option<&OfDomain>),
    catalog: &Catalog,
    parameters: &mut ParameterTypes,
) -> Result<Option<Expr>> {
    let mut binder = Binder::new(catalog, parameters, &parsed.tree, None, parsed.depth);
    let LogicalPlan::Project { input, mut exprs, .. } = binder.query(query, None)? else { return Ok(None) };
    let is_alone = matches!(&*input, LogicalPlan::Values { rows, .. } if rows.len() == 1 && rows[0].is_empty());
    let (Some(expr), true, true) = (exprs.pop(), exprs.is_empty(), is_alone) else { return Ok(None) };
    let expr = binder.coerce(expr, data_type.base(), CastContext::Assignment, crate::bind::binder::NOWHERE)?;
    let expr = match (expr, domain) {
        (Some(expr), Some(domain)) => Some(binder.of_domain_of(expr, domain)?),
        (expr, _) => expr,
    };
    let (rests, calls) = (binder.rests.take(), parameters.calls);
    parameters.rests = rests;
    Ok(expr.filter(|_| calls != Callees::Writers))
}

/// Whether the body means in the call's place what it means in the function: PostgreSQL's rules.
fn may_take_its_place(routine: &Routine, body: &Expr, args: &[Expr]) -> bool {
    let (mut nodes, mut plain, mut strict, mut used) = (0, true, true, vec![0; args.len()]);
    walk::walk(body, 0, &mut |expr, _| {
        nodes += 1;
        match expr {
            Expr::Parameter { index, .. } => used.iter_mut().skip(*index).take(1).for_each(|used| *used += 1),
            Expr::Subquery(_) | Expr::Subplan(_) | Expr::Outer { .. } | Expr::Column { .. } => plain = false,
            Expr::Call { function, .. } => {
                strict &= function.strict;
                plain &= match routine.volatility {
                    Volatility::Immutable => function.is_immutable(),
                    Volatility::Stable => !function.is_volatile(),
                    Volatility::Volatile => true,
                };
            }
            Expr::Sequence { .. } => {
                plain &= routine.volatility == Volatility::Volatile;
                strict = false;
            }
            Expr::Literal { .. } | Expr::Cast { .. } => {}
            _ => strict = false,
        }
    });
    let is_large = |arg: &Expr| {
        let (mut nodes, mut has_subquery) = (0, false);
        walk::walk(arg, 0, &mut |expr, _| {
            nodes += 1;
            has_subquery |= matches!(expr, Expr::Subquery(_));
        });
        nodes > 10 || has_subquery
    };
    let is_fit = |(arg, used): (&Expr, &usize)| match used {
        1 => true,
        0 => !is_volatile(arg) && !routine.strict,
        _ => !is_volatile(arg) && !is_large(arg),
    };
    plain && nodes <= INLINED_NODES_MAX && (strict || !routine.strict) && args.iter().zip(&used).all(is_fit)
}
