//! Functions in FROM: what a call gives of rows, whichever kind it is of, with the columns that the query says or names.
//!
//! A call is bound as in an expression; then it is a routine, whose rows are its result's, a built-in function that returns rows, or
//! a value, which is the only row. CALL comes here, too: a procedure's results are a row.

use std::sync::Arc;

use cairn_parser::{self as ast, CallForm, FunctionItem, Id, List, Span, TableRef};

use super::from::{Around, Item, settle};
use super::rows_from::RowsCall;
use super::scope::{Env, Scope};
use crate::bind::binder::Binder;
use crate::bind::calls::functions::{Call, special};
use crate::bind::calls::named_arguments::Bound;
use crate::bind::calls::overload::{Choice, ambiguous_function, choose, no_function, undecided};
use crate::bind::calls::routine::{Meant, Named, no_such};
use crate::bind::context::{Clause, Context};
use crate::catalog::{Returns, Routine, RoutineKind};
use crate::functions::json::{Populate, populated};
use crate::functions::{Function, Special, overloads, unnest_side_by_side};
use crate::plan::{Expr, Field};
use crate::sql::{list_span, name_text};
use crate::types::{CastContext, CompositeType, DataType};
use crate::{Error, Result, SqlState};

impl<'a> Binder<'a> {
    /// Functions that return rows: one column is named by the alias, several are called as the function is.
    pub(super) fn table_function(&mut self, item: Id<TableRef>, around: Around) -> Result<Item> {
        let tree = self.tree;
        let TableRef::Function { functions, rows_from, ordinality, alias, .. } = tree.get(item) else {
            return Err(Error::internal("not a function in FROM"));
        };
        let scope = around.left.cloned().unwrap_or_default();
        let left = Env { scope: &scope, outer: around.lateral, within: None };
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
            let (relation, call) = self.function_in_from(function, naming_text, definitions, &mut context)?;
            called = if calls.is_empty() { relation } else { called };
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

    /// What it is called, and what it gives.
    fn function_in_from(
        &mut self,
        function: Id<FunctionItem>,
        alias: Option<&str>,
        definitions: List<ast::FunctionColumn>,
        context: &mut Context,
    ) -> Result<(&'a str, RowsCall)> {
        let call = self.call_in_from(function)?;
        let (called, name, span) = (call.named(), call.name, call.span);
        let is_call = std::mem::take(&mut self.is_call);
        if !is_call && let Some(rows) = self.unnest_side_by_side(&call, context)? {
            self.refuse_definitions(definitions)?;
            return Ok((name, rows));
        }
        let stored = self.stored(called)?;
        if !is_call && stored.is_empty() && called.schema.is_none() {
            return self.built_in_rows(&call, (alias, definitions), context);
        }
        let mentioned = context.mentions.len();
        let given = self.given(call.args, context)?;
        let meant = match is_call && stored.is_empty() {
            true => Ok(Meant::BuiltIn(given)),
            false => self.meant(called, &stored, given, call.variadic),
        };
        let as_called = |error| if is_call { self.at(as_of_procedure(error, name), span) } else { error };
        let (function, args) = match meant.map_err(as_called)? {
            Meant::Routine(function, args) => (function, args),
            Meant::Aggregate(_, given) if is_call => {
                let types: Vec<DataType> = given.iter().map(|given| given.value.data_type()).collect();
                return Err(self.at(not_a_procedure(name, &types), span));
            }
            Meant::Aggregate(..) => {
                let message = "aggregate functions are not allowed in functions in FROM";
                return Err(self.at(Error::new(SqlState::GROUPING_ERROR, message), span));
            }
            Meant::BuiltIn(given) if is_call && given.iter().any(|given| given.name.is_some()) => {
                return Err(self.at(as_of_procedure(no_such(called, &given), name), span));
            }
            Meant::BuiltIn(given) if is_call => {
                let types: Vec<DataType> = given.iter().map(|given| given.value.data_type()).collect();
                return Err(self.at(self.no_procedure(called, &types), span));
            }
            Meant::BuiltIn(given) => {
                call.bound.set(Some(Bound { given, mentioned }));
                return self.built_in_rows(&call, (alias, definitions), context);
            }
        };
        let Some(routine) = function.routine() else {
            return Err(self.at(Error::unsupported(format!("{name} in FROM")), span));
        };
        if is_call && routine.kind != RoutineKind::Procedure {
            let types: Vec<DataType> = routine.inputs().map(|input| input.data_type).collect();
            return Err(self.at(not_a_procedure(name, &types), span));
        }
        let function = self.of_definitions(function, definitions, span)?;
        let (call, fields) = self.stored_rows(function, args, alias)?;
        Ok((name, RowsCall::new(call, fields)))
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
        let is_function = called.schema.is_none() && !self.overloads(called.name).is_empty();
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
        (call, populate): (&Call<'a>, Populate),
        definitions: List<ast::FunctionColumn>,
        context: &mut Context,
    ) -> Result<RowsCall> {
        let (name, span) = (call.name, call.span);
        let mut args = self.populate_arguments(call, populate, context)?;
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let none = || no_function(name, &types);
        let defined = self.defined_row(definitions)?;
        let (of, base) = match (populate.has_base && args.len() == 2).then(|| args.remove(0)) {
            Some((base, _)) => match (base.data_type(), defined) {
                (DataType::Composite(of), Some(defined)) if of.is_record() => {
                    (defined, crate::bind::expressions::coerce::null(DataType::Composite(defined)))
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
                Some(of) => (of, crate::bind::expressions::coerce::null(DataType::Composite(of))),
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
        let (elements, argument, column) = match populate.set {
            true if populate.document == DataType::Jsonb => ("jsonb_array_elements", document, "value"),
            true => ("json_array_elements", document, "value"),
            false => {
                ("unnest", crate::bind::expressions::arrays::constructed(populate.document, vec![document])?, "unnest")
            }
        };
        let rows = self.call(elements, vec![(argument, place)], span)?;
        let function = populated(of, populate.document);
        let then = move |document: Expr| Expr::Call { function, args: vec![base, document] };
        let fields = vec![Field { name: column.to_owned(), data_type: populate.document }];
        Ok(RowsCall { then: Some(Box::new(then)), ..RowsCall::new(rows, fields) })
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

    /// A built-in function in FROM: its rows, or its value as the only one.
    fn built_in_rows(
        &mut self,
        call: &Call<'a>,
        (alias, definitions): (Option<&str>, List<ast::FunctionColumn>),
        context: &mut Context,
    ) -> Result<(&'a str, RowsCall)> {
        if let Some(Special::Populate(populate)) = special(call.name) {
            let rows = self.rows_of_documents((call, populate), definitions, context)?;
            return Ok((call.name, rows));
        }
        self.refuse_definitions(definitions)?;
        let bound = self.built_in_call(call, context)?;
        let name = without_schema(call);
        let fields = match &bound {
            Expr::Call { function, .. } if function.returns_rows() => set_fields(function, name, alias),
            value => vec![Field { name: alias.unwrap_or(name).to_owned(), data_type: value.data_type() }],
        };
        Ok((name, RowsCall::new(bound, fields)))
    }

    /// `unnest(a, b)`: arrays side by side. PostgreSQL reads that as a syntax, too: whatever other functions of the name there are.
    fn unnest_side_by_side(&mut self, call: &Call<'a>, context: &mut Context) -> Result<Option<RowsCall>> {
        let is_written_so = call.name == "unnest" && call.schema.is_none() && !call.built_in && !call.variadic;
        if !is_written_so || self.tree.len(call.args) < 2 {
            return Ok(None);
        }
        let (mut arrays, mut fields) = (vec![], vec![]);
        for (array, _) in self.operands(call.arguments(), context)? {
            let data_type = self.unnested(&array).map_err(|error| self.at(error, call.span))?;
            arrays.push(array);
            fields.push(Field { name: call.name.to_owned(), data_type });
        }
        let types: Vec<DataType> = arrays.iter().map(Expr::data_type).collect();
        let rows = Expr::Call { function: unnest_side_by_side(&types), args: arrays };
        Ok(Some(RowsCall::new(rows, fields)))
    }

    /// What the built-in `unnest` gives of an argument.
    fn unnested(&self, array: &Expr) -> Result<DataType> {
        const NAME: &str = "pg_catalog.unnest";
        let types = [array.data_type()];
        match choose(overloads("unnest"), &types, false) {
            Choice::One(function) if !function.is_untold(&types) => {
                function.resolve(&types).map(|function| function.returns).ok_or_else(undecided)
            }
            Choice::None => Err(no_function(NAME, &types)),
            _ => Err(ambiguous_function(NAME, &types)),
        }
    }

    /// A call in FROM, taken apart.
    fn call_in_from(&self, item: Id<FunctionItem>) -> Result<Call<'a>> {
        let tree = self.tree;
        let function = tree.get(item).function;
        match tree.get(function) {
            ast::Expr::Call { name, form: form @ (CallForm::Plain | CallForm::Variadic), args, tail: None } => {
                self.take_apart(name, form, args, None)
            }
            _ => {
                let error = Error::unsupported(format!("{} in FROM", tree.written(function)));
                Err(self.at(error, tree.span(function)))
            }
        }
    }

    /// `AS (name type, ...)`: the types of the functions there are are known.
    fn refuse_definitions(&self, definitions: List<ast::FunctionColumn>) -> Result<()> {
        let Some(span) = list_span(self.tree, definitions) else { return Ok(()) };
        let message = "a column definition list is only allowed for functions returning \"record\"";
        Err(self.at(Error::new(SqlState::SYNTAX_ERROR, message), span))
    }
}

/// The columns of a built-in function that returns rows; a single one without a name of its own is named by the alias.
pub(in crate::bind) fn set_fields(function: &Function, name: &str, alias: Option<&str>) -> Vec<Field> {
    let field = |(own, data_type): (&str, DataType)| {
        let called = if own.is_empty() { alias.unwrap_or(name) } else { own };
        Field { name: called.to_owned(), data_type }
    };
    function.columns().into_iter().map(field).collect()
}

/// What a relation is called that is a call of this function: entries of the information schema are known with that.
fn without_schema<'a>(call: &Call<'a>) -> &'a str {
    let plain = call.name.strip_prefix("information_schema.").filter(|_| call.built_in);
    plain.unwrap_or(call.name)
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
