//! CREATE AGGREGATE. An aggregate is a routine whose rows go through functions that are there, which are found now and known by what
//! they are from then on.

use cairn_parser::{Id, TypeName};

use super::context::Ddl;
use super::routine::invalid;
use super::routine_types::ParameterType;
use crate::catalog::{
    AggregateParts, Callee, Language, ObjectId, ObjectName, ParameterMode, Returns, Routine, RoutineKind,
    RoutineParameter,
};
use crate::command::{AggregateArguments, CreateAggregate, Parameter};
use crate::error::Feature;
use crate::functions::{Declared, Volatility, decide};
use crate::system;
use crate::types::{DataType, from_text};
use crate::{Error, Result, SqlState};

/// A function that an aggregate names.
struct Found {
    callee: Callee,
    returns: Declared,
    strict: bool,
}

impl Ddl<'_> {
    /// SQLSTATE 42P13 for parts that do not fit together, 42804, 42883 for functions that are not there, 42723 where it is there.
    pub(super) fn create_aggregate(&mut self, create: &CreateAggregate) -> Result<&'static str> {
        let schema = self.schema_for(&create.name, false)?;
        if schema.is_temporary() {
            return Err(Error::unsupported("a temporary aggregate"));
        }
        for name in &create.unknown {
            self.notice(SqlState::SYNTAX_ERROR, format!("aggregate attribute \"{name}\" not recognized"));
        }
        let parameters = self.aggregate_parameters(&create.arguments)?;
        let (parts, returns) = self.aggregate_parts(create, &parameters)?;
        let mut routine = Routine {
            id: ObjectId(0),
            schema,
            name: create.name.name.clone(),
            kind: RoutineKind::Aggregate,
            language: Language::Sql,
            parameters,
            returns,
            domain: None,
            set: false,
            volatility: Volatility::Immutable,
            strict: false,
            search_path: vec![],
            body: String::new(),
            aggregate: Some(parts),
            change: 0,
        };
        let types = routine.argument_types();
        let known = self.routines_named(schema, &routine.name);
        let known = known.into_iter().find(|known| known.argument_types() == types);
        routine.id = match &known {
            None => self.store.allocate_id(schema)?,
            Some(known) if create.or_replace => {
                super::routine::check_replacement(known, &routine)?;
                known.id
            }
            Some(known) => {
                let message = format!("function \"{}\" already exists with same argument types", known.name);
                return Err(Error::new(SqlState::DUPLICATE_FUNCTION, message));
            }
        };
        self.store.put_routine(&routine)?;
        self.reload()?;
        self.remake_resting((&[routine.id], &[]), &[&routine.name])?;
        Ok("CREATE AGGREGATE")
    }

    fn aggregate_parameters(&self, arguments: &AggregateArguments) -> Result<Vec<RoutineParameter>> {
        let plain = |name: Option<String>, data_type: Id<TypeName>| {
            let ParameterType { declared, row_of, domain } = self.declared_type(data_type)?;
            let (data_type, pseudo) = match declared {
                Declared::Type(data_type) => (data_type, None),
                pseudo => (DataType::Unknown, Some(pseudo)),
            };
            let (mode, only_out, default) = (ParameterMode::In, false, None);
            Ok(RoutineParameter { name, mode, only_out, data_type, pseudo, row_of, domain, default })
        };
        let given = match arguments {
            AggregateArguments::BaseType(base) => {
                return base.iter().map(|base| plain(None, *base)).collect();
            }
            AggregateArguments::Parameters(given) => given,
        };
        let each = |given: &Parameter| match given.mode {
            ParameterMode::In => plain(given.name.clone(), given.data_type),
            ParameterMode::Variadic => {
                let error = Error::lacking(Feature::Aggregates, "a variadic aggregate in SQL");
                Err(self.at_type(error, given.data_type))
            }
            _ => {
                let message = "aggregates cannot have output arguments";
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
        };
        let parameters: Vec<RoutineParameter> = given.iter().map(each).collect::<Result<_>>()?;
        match parameters.iter().find(|parameter| parameter.row_of.is_some() || parameter.domain.is_some()) {
            Some(_) => Err(Error::unsupported("an aggregate of values of domains, or of tables' rows")
                .with_hint("Take the domain's base type, or the columns.")),
            None => Ok(parameters),
        }
    }

    fn aggregate_parts(
        &self,
        create: &CreateAggregate,
        parameters: &[RoutineParameter],
    ) -> Result<(AggregateParts, Returns)> {
        let inputs: Vec<Declared> = parameters.iter().map(RoutineParameter::declared).collect();
        let ParameterType { declared: state, domain, .. } = self.declared_type(create.state)?;
        if domain.is_some() {
            return Err(self.at_type(Error::unsupported("a domain as an aggregate's state"), create.state));
        }
        self.refuse_undecided_state(state, &inputs)?;
        let given: Vec<Declared> = std::iter::once(state).chain(inputs.iter().copied()).collect();
        let transition = self.function_of_aggregate(&create.transition, &given)?;
        if transition.returns != state {
            let (name, state) = (&create.transition, state.type_name());
            let message = format!("return type of transition function {name} is not {state}");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        if transition.strict && create.initial.is_none() && inputs.first().is_none_or(|first| *first != state) {
            return Err(invalid(
                "must not omit initial value when transition function is strict and transition type is not compatible \
                 with input type",
            ));
        }
        if let (Some(initial), Declared::Type(of)) = (&create.initial, state) {
            from_text(initial, of, &self.dml.exec.eval)?;
        }
        let last = match &create.last {
            None => None,
            Some(name) => {
                let given = if create.last_extra { &given[..] } else { &given[..1] };
                let found = self.function_of_aggregate(name, given)?;
                if found.strict && create.last_extra {
                    return Err(invalid("final function with extra arguments must not be declared STRICT"));
                }
                Some(found)
            }
        };
        let returns = match last.as_ref().map_or(state, |last| last.returns) {
            Declared::Type(data_type) => Returns::Type(data_type),
            pseudo if pseudo.number() > 0 => Returns::Any(pseudo),
            _ => return Err(Error::unsupported("an aggregate that gives records of no type")),
        };
        let parts = AggregateParts {
            transition: transition.callee,
            last: last.map(|last| last.callee),
            last_extra: create.last_extra,
            state,
            initial: create.initial.clone(),
        };
        Ok((parts, returns))
    }

    /// SQLSTATE 42P13 where nothing that a call gives decides the state's type.
    fn refuse_undecided_state(&self, state: Declared, inputs: &[Declared]) -> Result<()> {
        let decides = |input: &Declared| input.number() > 0 && input.is_of_element() == state.is_of_element();
        if state.fixed().is_some() || inputs.iter().any(decides) {
            return Ok(());
        }
        let some = match state.is_of_element() {
            true => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
            false => {
                "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"
            }
        };
        let detail = format!("A result of type {} requires at least one input of type {some}.", state.type_name());
        Err(invalid("cannot determine transition data type").with_detail(detail))
    }

    /// The function of a name that takes these, as they are. SQLSTATE 42883, 42804; 0A000 for one that only PostgreSQL has.
    fn function_of_aggregate(&self, name: &ObjectName, given: &[Declared]) -> Result<Found> {
        let types: Vec<&str> = given.iter().map(|given| given.type_name()).collect();
        let shown = format!("{name}({})", types.join(", "));
        let schemas = match name.schema.as_deref() {
            Some("pg_catalog") => vec![],
            Some(schema) => vec![self.catalog.schema(schema).ok_or_else(|| crate::catalog::no_schema(schema))?],
            None => self.catalog.searched().to_vec(),
        };
        let mut routines = schemas.into_iter().flat_map(|schema| self.routines_named(schema, &name.name));
        let stored = routines.find(|known| takes(&known.argument_types(), given));
        if let Some(known) = stored {
            if known.kind != RoutineKind::Function {
                let message = format!("{} is not a function", known.signature());
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            if known.set {
                let message = format!("function {shown} returns a set");
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            let returns = match known.returns {
                Returns::Type(data_type) => Declared::Type(data_type.base()),
                Returns::Any(declared) => resolved(declared, &known.argument_types(), given),
                Returns::Void => Declared::Type(DataType::Void),
                _ => Declared::Record,
            };
            return Ok(Found { callee: Callee::Routine(known.id), returns, strict: known.strict });
        }
        let built_in = name.schema.as_deref().is_none_or(system::is_schema);
        let mut listed = system::callees(&name.name).filter(|_| built_in);
        let Some(known) = listed.find(|known| takes(&known.arguments, given)) else {
            let error = Error::new(SqlState::UNDEFINED_FUNCTION, format!("function {shown} does not exist"));
            return Err(error.with_hint("It has to take the state's type, and then the types of the arguments."));
        };
        let fixed: Option<Vec<DataType>> = given.iter().map(|given| given.fixed()).collect();
        if fixed.is_some_and(|types| system::callee(known.oid, &types).is_none()) {
            let error = Error::unsupported(format!("function {shown} in an aggregate"));
            return Err(error.with_hint("Make a function in SQL that says the same, and name that."));
        }
        let returns = resolved(known.returns, &known.arguments, given);
        Ok(Found { callee: Callee::BuiltIn(known.oid), returns, strict: known.strict })
    }
}

/// Whether a function that declares this takes what is given without conversion.
fn takes(declared: &[Declared], given: &[Declared]) -> bool {
    let is_text = |of: Declared| matches!(of, Declared::Type(DataType::Text | DataType::Varchar(_)));
    let same = |(declared, given): (&Declared, &Declared)| {
        declared == given || *declared == Declared::Any || is_text(*declared) && is_text(*given)
    };
    if declared.len() != given.len() {
        return false;
    }
    if declared.iter().zip(given).all(same) {
        return true;
    }
    // What is given is of types that are known: they decide what the pseudo-types are.
    let pairs: Option<Vec<(Declared, DataType)>> =
        declared.iter().zip(given).map(|(declared, given)| Some((*declared, given.fixed()?))).collect();
    let fixed = |(declared, given): &(Declared, DataType)| match declared {
        Declared::Type(_) => same((declared, &Declared::Type(*given))),
        _ => true,
    };
    pairs.is_some_and(|pairs| {
        let decided = pairs.iter().all(fixed).then(|| decide(pairs.iter().copied())).flatten();
        // Nothing is converted, so each is what was decided.
        decided.is_some_and(|decided| {
            pairs.iter().all(|(declared, given)| declared.resolved(decided).is_none_or(|of| of.base() == given.base()))
        })
    })
}

/// What is given where a function declares this result.
fn resolved(returns: Declared, declared: &[Declared], given: &[Declared]) -> Declared {
    let pairs: Option<Vec<(Declared, DataType)>> =
        declared.iter().zip(given).map(|(declared, given)| Some((*declared, given.fixed()?))).collect();
    let decided = pairs.and_then(|pairs| decide(pairs.into_iter()));
    decided.and_then(|decided| returns.resolved(decided)).map_or(returns, Declared::Type)
}
