//! Functions in FROM: what a call gives of rows, whichever kind it is of, with the columns that the query says or names.
//!
//! A call is bound as in an expression; then it is a routine, whose rows are its result's, or a built-in function that returns rows. CALL
//! comes here, too: a procedure's results are a row.

use std::sync::Arc;

use cairn_parser::{self as ast, FunctionItem, Id, List, Span, TableRef};

use super::from::{Item, settle};
use super::rows_from::RowsCall;
use super::scope::{Env, Scope};
use crate::bind::binder::Binder;
use crate::bind::calls::named_arguments::Arguments;
use crate::bind::calls::routine::{Meant, Named, no_such};
use crate::bind::context::{Clause, Context};
use crate::catalog::{Returns, Routine, RoutineKind};
use crate::functions::Function;
use crate::functions::arrays::{
    EXPANDED_ARRAY, EXPANDED_COLUMNS, EXPANDED_NAME, LISTENING_CHANNELS, STRING_TO_TABLE, is_about_partitions,
    is_set_function,
};
use crate::functions::json::{JsonRows, Populate, populated};
use crate::functions::regex;
use crate::plan::{Expr, Field};
use crate::sql::{list_span, name_text};
use crate::types::{CastContext, CompositeType, DataType};
use crate::{Error, Result, SqlState};

impl<'a> Binder<'a> {
    /// Functions that return rows: one column is named by the alias, several are called as the function is.
    pub(super) fn table_function(
        &mut self,
        item: Id<TableRef>,
        left: Option<&Scope>,
        outer: Option<&Env>,
    ) -> Result<Item> {
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
        let none = || crate::bind::calls::overload::no_function(name, &types);
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
        let (name, args, column) = match populate.set {
            true if populate.document == DataType::Jsonb => ("jsonb_array_elements", vec![document], "value"),
            true => ("json_array_elements", vec![document], "value"),
            false => (
                "unnest",
                vec![crate::bind::expressions::arrays::constructed(populate.document, vec![document])?],
                "unnest",
            ),
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
    pub(in crate::bind) fn set_function(
        &mut self,
        name: &str,
        args: Vec<(Expr, Span)>,
        span: Span,
    ) -> Result<(Vec<Expr>, Vec<DataType>)> {
        if is_about_partitions(name) {
            let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
            return match args.as_slice() {
                [_] => Ok((args.into_iter().map(|(arg, _)| arg).collect(), vec![DataType::BigInt])),
                _ => Err(self.at(crate::bind::calls::overload::no_function(name, &types), span)),
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
                _ => Err(self.at(crate::bind::calls::overload::no_function(name, &types), span)),
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
                false => Err(self.at(crate::bind::calls::overload::no_function(name, &types), span)),
            };
        }
        let (args, data_type) = self.series(name, args, span)?;
        Ok((args, vec![data_type]))
    }

    /// The arguments of `generate_series`, of one type (timestamps: and an interval).
    fn series(&mut self, name: &str, args: Vec<(Expr, Span)>, span: Span) -> Result<(Vec<Expr>, DataType)> {
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let none = || crate::bind::calls::overload::no_function(name, &types);
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
}

/// The columns of a built-in function that returns rows; a single one without a name of its own is named by the alias.
pub(in crate::bind) fn set_fields(name: &str, columns: Vec<DataType>, alias: Option<&str>) -> Vec<Field> {
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
