//! Which function or operator: PostgreSQL's resolution by exact match, implicit conversions, preferred types, and the
//! categories of unknown literals.

use std::borrow::Cow;
use std::sync::Arc;

use cairn_parser::Span;

use super::elsewhere::instead_of;
use crate::bind::binder::{Binder, NOWHERE};
use crate::bind::nearest::nearest_typed;
use crate::bind::parameters::Callees;
use crate::functions::extensions::refused;
use crate::functions::{
    ANY, Aggregate, Declared, Function, Operator, WindowFunction, aggregate_overloads, decide, function_names,
    overloads, window_overloads,
};
use crate::plan::Expr;
use crate::system::SystemEntry;
use crate::types::{CastContext, DataType, TypeCategory, Value, can_cast};
use crate::{Error, Result, SqlState};

/// What resolution needs of a candidate.
pub(in crate::bind) trait Candidate {
    fn declared(&self, index: usize) -> Option<Declared>;
    fn takes(&self, count: usize) -> bool;
    /// Where the arguments' types are fixed, and as many as it takes: those.
    fn fixed(&self) -> Option<&[DataType]>;

    /// Whether it takes arguments of these base types as they are.
    fn is_exact(&self, bases: &[DataType]) -> bool {
        if let Some(fixed) = self.fixed() {
            return fixed.len() == bases.len()
                && fixed.iter().zip(bases).all(|(fixed, base)| fixed == base || *fixed == ANY);
        }
        let matches = |declared: Option<Declared>, base: DataType| match declared {
            Some(Declared::Type(known)) => known == base,
            // What is of no type yet is first taken to be of the other's.
            // Strings are taken as such first, without the blanks that only fill them up.
            Some(Declared::Extension(kind)) => base.is_of_extension(kind),
            Some(Declared::NonArray) => {
                !base.is_array() && base.category() != TypeCategory::String && base != DataType::Unknown
            }
            declared => declared == Some(Declared::Any),
        };
        self.takes(bases.len()) && bases.iter().enumerate().all(|(at, base)| matches(self.declared(at), *base))
    }
}

impl Candidate for Function {
    fn fixed(&self) -> Option<&[DataType]> {
        (!self.variadic && !self.is_polymorphic()).then_some(&self.args)
    }

    fn declared(&self, index: usize) -> Option<Declared> {
        Function::declared(self, index)
    }
    fn takes(&self, count: usize) -> bool {
        if self.variadic { count >= self.args.len() } else { count == self.args.len() }
    }
}

impl Candidate for SystemEntry {
    fn fixed(&self) -> Option<&[DataType]> {
        Candidate::fixed(&self.function)
    }
    fn declared(&self, index: usize) -> Option<Declared> {
        self.function.declared(index)
    }
    fn takes(&self, count: usize) -> bool {
        Candidate::takes(&self.function, count)
    }
}

impl Candidate for Aggregate {
    fn fixed(&self) -> Option<&[DataType]> {
        (!self.is_polymorphic()).then_some(&self.args)
    }
    fn declared(&self, index: usize) -> Option<Declared> {
        Aggregate::declared(self, index)
    }
    fn takes(&self, count: usize) -> bool {
        count == self.args.len()
    }
}

impl Candidate for WindowFunction {
    fn fixed(&self) -> Option<&[DataType]> {
        (!self.is_polymorphic()).then_some(&self.args)
    }
    fn declared(&self, index: usize) -> Option<Declared> {
        WindowFunction::declared(self, index)
    }
    fn takes(&self, count: usize) -> bool {
        count == self.args.len()
    }
}

/// The outcome of a search.
pub(in crate::bind) enum Choice<T> {
    One(T),
    None,
    Several,
}

/// Chooses among `candidates` for arguments of these types.
pub(in crate::bind) fn choose<'c, C: Candidate>(
    candidates: &'c [Arc<C>],
    args: &[DataType],
    operator: bool,
) -> Choice<&'c Arc<C>> {
    if let Some(exact) = find_exact(candidates, args) {
        return Choice::One(exact);
    }
    if operator && let Some(exact) = exact_with_unknown(candidates, args) {
        return Choice::One(exact);
    }
    let possible =
        candidates.iter().filter(|candidate| candidate.takes(args.len()) && convertible(&***candidate, args));
    let possible: Vec<&'c Arc<C>> = possible.collect();
    match possible.as_slice() {
        [] => Choice::None,
        [only] => Choice::One(only),
        _ => narrow(possible, args),
    }
}

fn find_exact<'c, C: Candidate>(candidates: &'c [Arc<C>], args: &[DataType]) -> Option<&'c Arc<C>> {
    let mut few = [DataType::Unknown; 4];
    let many: Vec<DataType>;
    let bases = match few.get_mut(..args.len()) {
        Some(few) => {
            few.iter_mut().zip(args).for_each(|(base, arg)| *base = arg.base());
            &*few
        }
        None => {
            many = args.iter().map(|arg| arg.base()).collect();
            &many
        }
    };
    candidates.iter().find(|candidate| candidate.is_exact(bases))
}

/// One operand unknown: it is taken to be of the other's type first.
fn exact_with_unknown<'c, C: Candidate>(candidates: &'c [Arc<C>], args: &[DataType]) -> Option<&'c Arc<C>> {
    match args {
        [DataType::Unknown, known] | [known, DataType::Unknown] if *known != DataType::Unknown => {
            find_exact(candidates, &[*known, *known])
        }
        _ => None,
    }
}

fn convertible<C: Candidate>(candidate: &C, args: &[DataType]) -> bool {
    let mut polymorphic = false;
    let fits = |(at, arg): (usize, &DataType)| match candidate.declared(at) {
        Some(Declared::Type(declared)) => can_cast(*arg, declared, CastContext::Implicit),
        Some(declared) => {
            polymorphic |= declared != Declared::Any;
            true
        }
        None => false,
    };
    if !args.iter().enumerate().all(fits) {
        return false;
    }
    let declared = |(at, arg): (usize, &DataType)| Some((candidate.declared(at)?, *arg));
    !polymorphic || decide(args.iter().enumerate().filter_map(declared)).is_some()
}

/// Keeps the candidates that score best.
fn best<C: Candidate>(candidates: Vec<&Arc<C>>, score: impl Fn(&C) -> usize) -> Vec<&Arc<C>> {
    let top = candidates.iter().map(|candidate| score(candidate)).max().unwrap_or(0);
    candidates.into_iter().filter(|candidate| score(candidate) == top).collect()
}

fn count<C: Candidate>(candidate: &C, args: &[DataType], fits: impl Fn(DataType, DataType) -> bool) -> usize {
    let fits_at = |(at, arg): (usize, &DataType)| match candidate.declared(at) {
        Some(Declared::Extension(kind)) => arg.is_of_extension(kind),
        declared => declared.and_then(Declared::fixed).is_some_and(|declared| fits(declared, *arg)),
    };
    args.iter().enumerate().filter(|at| at.1 != &DataType::Unknown && fits_at(*at)).count()
}

fn narrow<'c, C: Candidate>(candidates: Vec<&'c Arc<C>>, args: &[DataType]) -> Choice<&'c Arc<C>> {
    // `varchar` is `text` with a limit: functions of text are exact for it, but beside a `char(n)`, as which it is then compared.
    let is_text =
        |arg: DataType| matches!(arg, DataType::Varchar(_)) && !args.iter().any(|arg| matches!(arg, DataType::Char(_)));
    let exact =
        |declared: DataType, arg: DataType| declared == arg.base() || (declared == DataType::Text && is_text(arg));
    let preferred = |declared: DataType, arg: DataType| {
        exact(declared, arg) || declared.is_preferred() && declared.category() == arg.category()
    };
    let candidates = best(candidates, |candidate| count(candidate, args, exact));
    let candidates = best(candidates, |candidate| count(candidate, args, preferred));
    match candidates.as_slice() {
        [only] => return Choice::One(only),
        _ if !args.contains(&DataType::Unknown) => return Choice::Several,
        _ => {}
    }
    let candidates = by_unknown_categories(candidates, args);
    match candidates.as_slice() {
        [only] => Choice::One(only),
        _ => assume_all_alike(&candidates, args),
    }
}

/// For each unknown: strings win, else the one category that all have; within it the preferred type.
fn by_unknown_categories<'c, C: Candidate>(candidates: Vec<&'c Arc<C>>, args: &[DataType]) -> Vec<&'c Arc<C>> {
    let category = |declared: Declared| match declared {
        Declared::Extension(kind) => kind.category(),
        declared => declared.fixed().map_or(TypeCategory::Unknown, DataType::category),
    };
    let mut remaining = candidates.clone();
    for (i, _) in args.iter().enumerate().filter(|(_, arg)| **arg == DataType::Unknown) {
        let categories: Vec<TypeCategory> =
            candidates.iter().filter_map(|candidate| candidate.declared(i)).map(category).collect();
        let chosen = if categories.contains(&TypeCategory::String) {
            TypeCategory::String
        } else {
            match categories.split_first() {
                Some((first, rest)) if rest.iter().all(|category| category == first) => *first,
                _ => return candidates,
            }
        };
        remaining.retain(|candidate| candidate.declared(i).is_some_and(|declared| category(declared) == chosen));
        let is_preferred =
            |candidate: &&Arc<C>| candidate.declared(i).and_then(Declared::fixed).is_some_and(DataType::is_preferred);
        if remaining.iter().any(is_preferred) {
            remaining.retain(is_preferred);
        }
    }
    if remaining.is_empty() { candidates } else { remaining }
}

/// All known arguments of one type: the unknown ones are assumed to be of it too.
fn assume_all_alike<'c, C: Candidate>(candidates: &[&'c Arc<C>], args: &[DataType]) -> Choice<&'c Arc<C>> {
    let mut known = args.iter().filter(|arg| **arg != DataType::Unknown);
    let Some(first) = known.next() else { return Choice::Several };
    if known.any(|arg| arg.base() != first.base()) {
        return Choice::Several;
    }
    let alike = vec![*first; args.len()];
    let mut fitting = candidates.iter().filter(|candidate| convertible(&****candidate, &alike));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Choice::One(only),
        _ => Choice::Several,
    }
}

impl Binder<'_> {
    /// A function call with converted arguments.
    pub(in crate::bind) fn call(&mut self, name: &str, args: Vec<(Expr, Span)>, span: Span) -> Result<Expr> {
        let types = types_of(&args);
        match choose(&self.overloads(name), &types, false) {
            Choice::One(function) if function.is_users() => {
                self.check_users(&function.name, span)?;
                self.apply(function, args, span)
            }
            Choice::One(function) if function.acts => {
                self.check_acting(&function.name, span)?;
                self.apply(function, args, span)
            }
            Choice::One(function) if function.is_untold(&types) => Err(self.at(ambiguous_function(name, &types), span)),
            Choice::One(function) => self.apply(function, args, span),
            Choice::None => Err(self.at(no_function(name, &types), span)),
            Choice::Several => Err(self.at(ambiguous_function(name, &types), span)),
        }
    }

    /// An operator with converted operands. `place`: see [`Binder::at_place`].
    pub(in crate::bind) fn operator(
        &mut self,
        symbol: &str,
        args: Vec<(Expr, Span)>,
        place: Option<Span>,
    ) -> Result<Expr> {
        let function = self.find_operator(symbol, &args, place)?;
        self.convert_arguments(function, args)
    }

    /// The operator for these operands.
    pub(in crate::bind) fn find_operator(
        &mut self,
        symbol: &str,
        args: &[(Expr, Span)],
        place: Option<Span>,
    ) -> Result<Arc<Function>> {
        let several;
        let types: &[DataType] = match args {
            [(left, _), (right, _)] => &[left.data_type(), right.data_type()],
            args => {
                several = types_of(args);
                &several
            }
        };
        // NULL is nothing to read.
        let is_null = |(arg, _): &(Expr, Span)| matches!(arg, Expr::Literal { value: Value::Null, .. });
        let has_row = types.iter().any(|of| matches!(of, DataType::Composite(_)));
        if has_row && symbol_compares(symbol) && !args.iter().any(is_null) {
            self.check_rows_compare(types, place.unwrap_or(NOWHERE))?;
        }
        let error = match choose(overloads(symbol), types, true) {
            Choice::One(function) if has_order(function, types) => match self.resolved(function, types) {
                Some(function) => return Ok(function),
                None if function.extension().is_some() => no_operator(symbol, types),
                None => undecided(),
            },
            Choice::One(_) => no_equality(types),
            Choice::None => no_operator(symbol, types),
            Choice::Several => ambiguous_operator(symbol, types),
        };
        Err(self.at_place(error, place, args.first().map_or(NOWHERE, |(_, first)| *first)))
    }

    /// The operator for operands of these types, where the operands themselves are not at hand.
    pub(in crate::bind) fn operator_for(&self, symbol: &str, left: DataType, right: DataType) -> Result<Arc<Function>> {
        match choose(overloads(symbol), &[left, right], true) {
            Choice::One(function) if has_order(function, &[left, right]) => {
                function.resolve(&[left, right]).ok_or_else(undecided)
            }
            Choice::One(_) => Err(no_equality(&[left, right])),
            Choice::None => Err(no_operator(symbol, &[left, right])),
            Choice::Several => Err(ambiguous_operator(symbol, &[left, right])),
        }
    }

    fn apply(&mut self, function: &Arc<Function>, args: Vec<(Expr, Span)>, span: Span) -> Result<Expr> {
        let types = types_of(&args);
        let function = self.resolved(function, &types).ok_or_else(|| match function.extension() {
            Some(extension) => {
                let hint = format!("CREATE EXTENSION {} makes the type that it is for.", extension.name());
                self.at(no_function(&function.name, &types).with_hint(hint), span)
            }
            None => self.at(undecided(), span),
        })?;
        self.convert_arguments(function, args)
    }

    /// The function for arguments of these types. Where none of them says which type of an extension is meant, it is the one that was made.
    fn resolved(&self, function: &Arc<Function>, types: &[DataType]) -> Option<Arc<Function>> {
        let made = function.extension().and_then(|kind| {
            let made = self.catalog.types().find(|of| of.extension() == Some(kind.name()))?;
            self.rests.borrow_mut().add_type(made.schema, &made.name, Some(made));
            Some(made.data_type)
        });
        function.resolve_with(types, made)
    }

    /// The call of a function that was resolved for these arguments.
    pub(in crate::bind) fn convert_arguments(
        &mut self,
        function: Arc<Function>,
        args: Vec<(Expr, Span)>,
    ) -> Result<Expr> {
        let mut converted = Vec::with_capacity(args.len());
        for (i, (arg, span)) in args.into_iter().enumerate() {
            converted.push(self.argument(arg, function.arg(i), span)?);
        }
        Ok(Expr::Call { function, args: converted })
    }

    /// An argument as the declared type wants it.
    pub(in crate::bind) fn argument(&mut self, arg: Expr, declared: Option<DataType>, span: Span) -> Result<Expr> {
        match declared {
            Some(declared) if declared != ANY => self.implicit(arg, declared, span),
            _ => self.known(arg),
        }
    }

    /// The functions of this name: the built-in ones, and the session's own.
    pub(in crate::bind) fn overloads(&self, name: &str) -> Cow<'static, [Arc<Function>]> {
        match self.catalog.path().functions.overloads(name) {
            [] => Cow::Borrowed(overloads(name)),
            users => Cow::Owned([overloads(name), users].concat()),
        }
    }

    /// As [`Binder::overloads`].
    pub(in crate::bind) fn aggregate_overloads(&self, name: &str) -> Cow<'static, [Arc<Aggregate>]> {
        match self.catalog.path().functions.aggregate_overloads(name) {
            [] => Cow::Borrowed(aggregate_overloads(name)),
            users => Cow::Owned([aggregate_overloads(name), users].concat()),
        }
    }

    /// Notes the call of a function of the session's own; what is stored for everyone cannot have one.
    fn check_users(&mut self, name: &str, span: Span) -> Result<()> {
        self.parameters.calls = self.parameters.calls.max(Callees::Readers);
        let detail = "It belongs to the connection that created it, and is not stored in the database.";
        self.refuse_stored(name, span, |error| error.with_detail(detail))
    }

    /// Notes the call of a function that does something at the commit: the statement needs a transaction, as one does that
    /// changes rows.
    fn check_acting(&mut self, name: &str, span: Span) -> Result<()> {
        self.parameters.calls = Callees::Writers;
        self.refuse_stored(name, span, |error| error.with_hint("Call it in a statement, or in a trigger's function."))
    }

    /// SQLSTATE 0A000 in what is stored.
    fn refuse_stored(&self, name: &str, span: Span, more: impl FnOnce(Error) -> Error) -> Result<()> {
        if self.definition.is_none() && self.noted.is_none() && self.stars.is_none() {
            return Ok(());
        }
        let message = format!("function \"{name}\" in a view, a constraint or a default is not supported");
        Err(self.at(more(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)), span))
    }

    /// The aggregate for arguments of these types.
    pub(in crate::bind) fn find_aggregate(
        &mut self,
        name: &str,
        types: &[DataType],
        span: Span,
    ) -> Result<Arc<Aggregate>> {
        match choose(&self.aggregate_overloads(name), types, false) {
            Choice::One(aggregate) if aggregate.is_users() => {
                self.check_users(&aggregate.name, span)?;
                Ok(aggregate.clone())
            }
            Choice::One(aggregate) => aggregate.resolve(types).ok_or_else(|| self.at(undecided(), span)),
            Choice::None => Err(self.at(no_function(name, types), span)),
            Choice::Several => Err(self.at(ambiguous_function(name, types), span)),
        }
    }
}

fn symbol_compares(symbol: &str) -> bool {
    matches!(symbol, "=" | "<>" | "<" | "<=" | ">" | ">=")
}

/// A comparison of arrays compares their elements.
fn has_order(function: &Function, args: &[DataType]) -> bool {
    !function.op.is_some_and(Operator::is_comparison) || args.iter().all(|arg| arg.is_comparable())
}

fn no_equality(args: &[DataType]) -> Error {
    let element = args.iter().find_map(|arg| arg.element()).unwrap_or(DataType::Unknown);
    let message = format!("could not identify an equality operator for type {}", element.type_name());
    Error::new(SqlState::UNDEFINED_FUNCTION, message)
}

/// Nothing says what the pseudo-types of a function stand for.
pub(in crate::bind) fn undecided() -> Error {
    let message = "could not determine polymorphic type because input has type unknown";
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

fn types_of(args: &[(Expr, Span)]) -> Vec<DataType> {
    args.iter().map(|(arg, _)| arg.data_type()).collect()
}

fn list(types: &[DataType]) -> String {
    let names: Vec<&str> = types.iter().map(|data_type| data_type.type_name()).collect();
    names.join(", ")
}

/// `integer + text`, or `- text`.
fn with_operands(symbol: &str, types: &[DataType]) -> String {
    match types {
        [left, right] => format!("{} {symbol} {}", left.type_name(), right.type_name()),
        _ => format!("{symbol} {}", list(types)),
    }
}

fn no_operator(symbol: &str, types: &[DataType]) -> Error {
    let hint = match types.len() {
        1 => "No operator matches the given name and argument type. You might need to add an explicit type cast.",
        _ => "No operator matches the given name and argument types. You might need to add explicit type casts.",
    };
    let message = format!("operator does not exist: {}", with_operands(symbol, types));
    Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(hint)
}

fn ambiguous_operator(symbol: &str, types: &[DataType]) -> Error {
    let message = format!("operator is not unique: {}", with_operands(symbol, types));
    let hint = "Could not choose a best candidate operator. You might need to add explicit type casts.";
    Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(hint)
}

/// `function name(types) does not exist`.
pub(in crate::bind) fn no_function(name: &str, types: &[DataType]) -> Error {
    if let Some(refused) = refused(name) {
        return refused;
    }
    let message = format!("function {name}({}) does not exist", list(types));
    let known =
        !overloads(name).is_empty() || !aggregate_overloads(name).is_empty() || !window_overloads(name).is_empty();
    let near = match known || name.len() < 4 {
        true => vec![],
        false => nearest_typed(name, function_names().map(|name| (name, name))),
    };
    let hint = match (instead_of(name).filter(|_| !known), near.as_slice()) {
        (Some(instead), _) => instead.into(),
        (None, [near, ..]) => format!("Perhaps you meant the function \"{near}\"."),
        (None, []) => {
            "No function matches the given name and argument types. You might need to add explicit type casts.".into()
        }
    };
    Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(hint)
}

pub(in crate::bind) fn ambiguous_function(name: &str, types: &[DataType]) -> Error {
    let message = format!("function {name}({}) is not unique", list(types));
    let hint = "Could not choose a best candidate function. You might need to add explicit type casts.";
    Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(hint)
}
