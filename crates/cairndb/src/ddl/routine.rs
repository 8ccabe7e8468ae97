//! CREATE FUNCTION, CREATE PROCEDURE, ALTER FUNCTION, DROP FUNCTION and its kin.

use std::sync::Arc;

use cairn_parser::{Id, TypeName};

use super::context::Ddl;
use super::dependency::Object;
use super::routine_types::ParameterType;
use crate::bind::resolve_default;
use crate::catalog::{
    Language, ObjectId, OfDomain, ParameterMode, Returns, Routine, RoutineKind, RoutineParameter, SearchPath, TEMPORARY,
};
use crate::command::{
    AlterRoutine, CreateRoutine, DropRoutines, Parameter, PathOption, Properties, RoutineChange, Signature,
};
use crate::error::Feature;
use crate::functions::{Declared, Volatility};
use crate::sql::plain_name;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// What a function gives.
struct Given {
    returns: Returns,
    domain: Option<OfDomain>,
    /// It gives rows.
    set: bool,
}

impl Given {
    fn of(returns: Returns, set: bool) -> Given {
        Given { returns, domain: None, set }
    }
}

impl Ddl<'_> {
    pub(super) fn create_routine(&mut self, create: &CreateRoutine) -> Result<&'static str> {
        let schema = self.schema_for(&create.name, false)?;
        if schema.is_temporary() {
            return Err(Error::unsupported("a temporary function"));
        }
        let parameters = self.parameters(create)?;
        let Given { returns, domain, set } = self.returns(create, &parameters)?;
        refuse_undecided(&parameters, returns)?;
        let mut routine = Routine {
            id: ObjectId(0),
            schema,
            name: create.name.name.clone(),
            kind: create.kind,
            language: create.language,
            parameters,
            returns,
            domain,
            set,
            volatility: create.properties.volatility.unwrap_or(Volatility::Volatile),
            strict: create.properties.strict.unwrap_or(false),
            search_path: self.schemas_of(create.properties.search_path.as_ref())?.unwrap_or_default(),
            body: create.body.clone(),
            aggregate: None,
            change: 0,
        };
        if routine.returns == Returns::Trigger && routine.language == Language::Sql {
            return Err(invalid("SQL functions cannot return type trigger"));
        }
        let types = routine.argument_types();
        let same = |known: &&Arc<Routine>| known.argument_types() == types;
        let known = self.routines_named(schema, &routine.name).into_iter().find(|known| same(&known));
        known.iter().try_for_each(|known| refuse_same_but_domains(known, &routine))?;
        routine.id = match &known {
            None => self.store.allocate_id(schema)?,
            Some(known) if create.or_replace => {
                check_replacement(known, &routine)?;
                known.id
            }
            Some(known) => {
                let message = format!("{} \"{}\" already exists with same argument types", "function", known.name);
                return Err(Error::new(SqlState::DUPLICATE_FUNCTION, message));
            }
        };
        self.store.put_routine(&routine)?;
        self.reload()?;
        // Dumps make functions before what these use, and say so.
        let settings = self.dml.exec.eval.settings.as_ref();
        if settings.and_then(|settings| settings.shown("check_function_bodies")).is_none_or(|shown| shown == "on") {
            self.check_body(routine.id)?;
        }
        self.remake_resting((&[routine.id], &[]), &[&routine.name])?;
        Ok(match create.kind {
            RoutineKind::Function => "CREATE FUNCTION",
            RoutineKind::Procedure => "CREATE PROCEDURE",
            RoutineKind::Aggregate => "CREATE AGGREGATE",
        })
    }

    pub(super) fn alter_routine(&mut self, alter: &AlterRoutine) -> Result<&'static str> {
        let known = self.routine_of(&alter.signature, alter.kind)?;
        let mut routine = Routine::clone(&known);
        match &alter.change {
            RoutineChange::Owner => return Ok(alter.tag()),
            RoutineChange::RenameTo(name) => routine.name.clone_from(name),
            RoutineChange::SetSchema(schema) => routine.schema = self.routines_schema(schema)?,
            RoutineChange::Properties(properties) => {
                change_properties(&mut routine, properties)?;
                if let Some(schemas) = self.schemas_of(properties.search_path.as_ref())? {
                    routine.search_path = schemas;
                }
            }
        }
        let is_moved = (known.schema, &known.name) != (routine.schema, &routine.name);
        match &alter.change {
            // What is in the schema already may be moved there.
            RoutineChange::SetSchema(_) if !is_moved => return Ok(alter.tag()),
            RoutineChange::SetSchema(_) | RoutineChange::RenameTo(_) => self.refuse_taken_routine(&routine)?,
            RoutineChange::Owner | RoutineChange::Properties(_) => {}
        }
        self.store.put_routine(&routine)?;
        if is_moved {
            self.store.leave_routine_name(&known)?;
        }
        self.reload()?;
        self.remake_resting((&[routine.id], &[]), &[&known.name, &routine.name])?;
        Ok(alter.tag())
    }

    fn routines_schema(&self, name: &str) -> Result<ObjectId> {
        if name == TEMPORARY {
            let message = "cannot move objects into or out of temporary schemas";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        self.schema(name)
    }

    /// SQLSTATE 42723 where a function of the same name takes the same arguments.
    fn refuse_taken_routine(&self, routine: &Routine) -> Result<()> {
        let types = routine.argument_types();
        let all = self.routines_named(routine.schema, &routine.name);
        let Some(known) = all.iter().find(|known| known.argument_types() == types) else { return Ok(()) };
        refuse_same_but_domains(known, routine)?;
        let schema = self.catalog.schema_name(routine.schema).unwrap_or_default();
        let message = format!("function {} already exists in schema \"{schema}\"", routine.signature());
        Err(Error::new(SqlState::DUPLICATE_FUNCTION, message))
    }

    /// A body that can not be run is refused now.
    fn check_body(&self, id: ObjectId) -> Result<()> {
        let function = self.catalog.routine_by_id(id).cloned();
        let routine = function.as_ref().and_then(|function| function.routine());
        let routine = routine.ok_or_else(|| Error::internal("a function is not there"))?;
        crate::routine::check_body(routine, &*self.session.functions(&self.catalog)?, &self.dml.exec.eval)
    }

    pub(super) fn routines_named(&self, schema: ObjectId, name: &str) -> Vec<Arc<Routine>> {
        let functions = self.catalog.routines_in(schema, name);
        functions.iter().filter_map(|function| function.routine().cloned()).collect()
    }

    fn parameters(&self, create: &CreateRoutine) -> Result<Vec<RoutineParameter>> {
        let mut parameters: Vec<RoutineParameter> = Vec::new();
        let mut has_default = false;
        for given in &create.parameters {
            let ParameterType { declared, row_of, domain } = self.declared_type(given.data_type)?;
            if row_of.is_some() && given.mode != ParameterMode::In {
                let error = Error::unsupported("a parameter of the type of a table's rows that goes out");
                return Err(self.at_type(error.with_hint("Use RETURNS."), given.data_type));
            }
            let (data_type, pseudo) = match declared {
                Declared::Type(data_type) => (data_type, None),
                pseudo => (DataType::Unknown, Some(pseudo)),
            };
            if given.mode == ParameterMode::Variadic && declared.element().is_none() {
                return Err(invalid("VARIADIC parameter must be an array"));
            }
            let last_in = parameters.iter().rfind(|known: &&RoutineParameter| known.mode.is_in());
            if given.mode.is_in() && last_in.is_some_and(|last| last.mode == ParameterMode::Variadic) {
                return Err(invalid("VARIADIC parameter must be the last input parameter"));
            }
            self.refuse_same_name(&parameters, given)?;
            let default = match given.default {
                None if has_default && given.mode.is_in() => {
                    return Err(invalid("input parameters after one with a default value must also have defaults"));
                }
                None => None,
                Some(_) if !given.mode.is_in() => {
                    return Err(invalid("only input parameters can have default values"));
                }
                Some(_) if pseudo.is_some() => {
                    let error = Error::unsupported("a default of a parameter that may be of any type");
                    return Err(error.with_hint("Make another function without the parameter, which calls this one."));
                }
                Some(default) => {
                    has_default = true;
                    let name = given.name.as_deref().unwrap_or_default();
                    Some(resolve_default(self.text(default), (name, data_type), &self.catalog, self.maker())?)
                }
            };
            let (name, mode, only_out) = (given.name.clone(), given.mode, false);
            let mut parameter = RoutineParameter { name, mode, only_out, data_type, pseudo, row_of, domain, default };
            if create.kind == RoutineKind::Procedure {
                parameter.take_place_in_call();
            }
            parameters.push(parameter);
        }
        Ok(parameters)
    }

    fn refuse_same_name(&self, before: &[RoutineParameter], given: &Parameter) -> Result<()> {
        // One that goes in and one that comes out may share a name, but not so in RETURNS TABLE.
        let clashes = |known: &&RoutineParameter| {
            known.mode.is_in() && given.mode.is_in()
                || known.mode.is_out() && given.mode.is_out()
                || known.mode == ParameterMode::Table
                || given.mode == ParameterMode::Table
        };
        match &given.name {
            Some(name) if before.iter().filter(clashes).any(|known| known.name.as_ref() == Some(name)) => {
                Err(invalid(&format!("parameter name \"{name}\" used more than once")))
            }
            _ => Ok(()),
        }
    }

    /// What the function gives.
    fn returns(&self, create: &CreateRoutine, parameters: &[RoutineParameter]) -> Result<Given> {
        let outputs: Vec<&RoutineParameter> = parameters.iter().filter(|parameter| parameter.mode.is_out()).collect();
        let by_outputs = match outputs.as_slice() {
            [] => None,
            [one] => {
                let returns = one.pseudo.map_or(Returns::Type(one.data_type), Returns::Any);
                Some(Given { domain: one.domain.clone(), ..Given::of(returns, false) })
            }
            _ => Some(Given::of(Returns::Row, false)),
        };
        let is_table = outputs.iter().any(|output| output.mode == ParameterMode::Table);
        let Some(name) = create.returns else {
            return match by_outputs {
                // A procedure's parameters that go out are CALL's row.
                Some(_) if create.kind == RoutineKind::Procedure => Ok(Given::of(Returns::Row, false)),
                Some(given) => Ok(Given { set: is_table, ..given }),
                None if create.kind == RoutineKind::Procedure => Ok(Given::of(Returns::Void, false)),
                None => Err(invalid("function result type must be specified")),
            };
        };
        match by_outputs {
            Some(by_outputs) => self.said_of_outputs(name, by_outputs),
            None => self.returned(name, parameters.is_empty()),
        }
    }

    /// RETURNS beside parameters that go out, which is to say what they say.
    fn said_of_outputs(&self, name: Id<TypeName>, by_outputs: Given) -> Result<Given> {
        let tree = &self.parsed.tree;
        let set = tree.get(name).set_of;
        let plain = plain_name(tree, tree.get(name).names).map(|(plain, _)| plain);
        let (said, domain) = match (plain, self.pseudo_type(name)) {
            (Some("record"), _) => (Returns::Row, None),
            (_, Some(pseudo)) => (Returns::Any(pseudo), None),
            _ => {
                let (data_type, domain) = self.result_type(name)?;
                (Returns::Type(data_type), domain)
            }
        };
        if (said, &domain) == (by_outputs.returns, &by_outputs.domain) {
            return Ok(Given { set, ..by_outputs });
        }
        let wanted = match (by_outputs.returns, &by_outputs.domain) {
            (_, Some(domain)) => &domain.name,
            (Returns::Type(data_type), None) => data_type.type_name(),
            (Returns::Any(pseudo), None) => pseudo.type_name(),
            _ => "record",
        };
        Err(invalid(&format!("function result type must be {wanted} because of OUT parameters")))
    }

    /// RETURNS where nothing else says what is given.
    fn returned(&self, name: Id<TypeName>, takes_nothing: bool) -> Result<Given> {
        let tree = &self.parsed.tree;
        let set = tree.get(name).set_of;
        let plain = plain_name(tree, tree.get(name).names).map(|(plain, _)| plain);
        match plain {
            Some("void") if !set => return Ok(Given::of(Returns::Void, false)),
            Some("trigger") if !set => {
                return match takes_nothing {
                    true => Ok(Given::of(Returns::Trigger, false)),
                    false => Err(Error::new(
                        SqlState::INVALID_FUNCTION_DEFINITION,
                        "trigger functions cannot have declared arguments",
                    )
                    .with_hint("The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.")),
                };
            }
            _ => {}
        }
        if let Some(pseudo) = self.pseudo_type(name) {
            return Ok(Given::of(Returns::Any(pseudo), set));
        }
        if plain == Some("record") {
            return Ok(Given::of(Returns::Record, set));
        }
        if let Some(table) = self.row_type(name)? {
            return Ok(Given::of(Returns::RowOf(table), set));
        }
        let (data_type, domain) = self.result_type(name)?;
        Ok(Given { domain, ..Given::of(Returns::Type(data_type), set) })
    }

    pub(super) fn drop_routines(&mut self, drop: &DropRoutines) -> Result<&'static str> {
        let mut targets = Vec::new();
        for signature in &drop.signatures {
            match self.routine_of(signature, drop.kind) {
                Ok(routine) => targets.push(Object::Routine(routine.id)),
                Err(error) if drop.if_exists && is_missing(&error) => {
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        self.drop_objects(&targets, drop.cascade)?;
        Ok(match drop.kind {
            Some(RoutineKind::Function) => "DROP FUNCTION",
            Some(RoutineKind::Procedure) => "DROP PROCEDURE",
            Some(RoutineKind::Aggregate) => "DROP AGGREGATE",
            None => "DROP ROUTINE",
        })
    }

    /// The function that a signature means.
    pub(super) fn routine_of(&self, signature: &Signature, kind: Option<RoutineKind>) -> Result<Arc<Routine>> {
        let name = &signature.name;
        let schemas = match &name.schema {
            Some(schema) => self.catalog.schema(schema).into_iter().collect(),
            None => self.catalog.searched().to_vec(),
        };
        let types = signature
            .arguments
            .as_ref()
            .map(|types| types.iter().map(|name| self.declared_type(*name)).collect::<Result<Vec<ParameterType>>>());
        let types = types.transpose()?;
        let named = types.as_ref().map(|types| types.iter().map(ParameterType::named).collect::<Vec<_>>());
        let noun = match kind {
            Some(RoutineKind::Function) => "function",
            Some(RoutineKind::Procedure) => "procedure",
            Some(RoutineKind::Aggregate) => "aggregate",
            None => "routine",
        };
        let mut found = Vec::new();
        for schema in schemas {
            let all = self.routines_named(schema, &name.name).into_iter();
            let is_meant = |known: &Arc<Routine>| match &named {
                Some(types) => {
                    known.inputs().map(RoutineParameter::named).eq(types.iter().copied())
                        || known.types_in().is_some_and(|known| known == *types)
                }
                None => kind.is_none_or(|kind| known.kind == kind),
            };
            found.extend(all.filter(is_meant));
            if !found.is_empty() {
                break;
            }
        }
        match (found.as_slice(), &types) {
            ([one], _) => match kind {
                Some(RoutineKind::Aggregate) if one.kind != RoutineKind::Aggregate => {
                    let message = format!("function {} is not an aggregate", one.signature());
                    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
                }
                Some(RoutineKind::Function) if one.kind == RoutineKind::Aggregate => {
                    let message = format!("\"{}\" is an aggregate function", one.name);
                    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                        .with_hint("Use DROP AGGREGATE to drop aggregate functions."))
                }
                Some(kind) if kind != one.kind => {
                    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{} is not a {noun}", one.signature())))
                }
                _ => Ok(one.clone()),
            },
            ([], Some(types)) => {
                let types: Vec<&str> = types.iter().map(ParameterType::name).collect();
                let message = format!("{noun} {name}({}) does not exist", types.join(", "));
                Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
            }
            ([], None) => {
                let message = format!("could not find a {noun} named \"{}\"", name);
                Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
            }
            _ => {
                let message = format!("{noun} name \"{}\" is not unique", name);
                let hint = format!("Specify the argument list to select the {noun} unambiguously.");
                Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(hint))
            }
        }
    }
}

fn is_missing(error: &Error) -> bool {
    matches!(
        error.sqlstate(),
        SqlState::UNDEFINED_FUNCTION | SqlState::UNDEFINED_OBJECT | SqlState::INVALID_SCHEMA_NAME
    )
}

pub(super) fn invalid(message: &str) -> Error {
    Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message)
}

/// SQLSTATE 0A000 where two functions of one name would differ in domains only: a value of a domain is one of its base type, so that
/// no call could say which is meant.
fn refuse_same_but_domains(known: &Routine, new: &Routine) -> Result<()> {
    if known.argument_domains() == new.argument_domains() {
        return Ok(());
    }
    let detail = format!("{} {} is there.", known.noun(), known.signature());
    let what = "a function whose arguments differ from another's in domains only";
    Err(Error::lacking(Feature::DomainOverloads, what).with_detail(detail))
}

/// SQLSTATE 42P13 where nothing that a call gives decides the type of what comes out.
fn refuse_undecided(parameters: &[RoutineParameter], returns: Returns) -> Result<()> {
    let returned = if let Returns::Any(pseudo) = returns { Some(pseudo) } else { None };
    let outputs = parameters.iter().filter(|parameter| parameter.mode.is_out()).filter_map(|output| output.pseudo);
    let inputs = || parameters.iter().filter(|parameter| parameter.mode.is_in()).filter_map(|input| input.pseudo);
    for pseudo in returned.into_iter().chain(outputs) {
        if !inputs().any(|input| input.is_of_element() == pseudo.is_of_element()) {
            let some = match pseudo.is_of_element() {
                true => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
                false => {
                    "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"
                }
            };
            let detail = format!("A result of type {} requires at least one input of type {some}.", pseudo.type_name());
            return Err(invalid("cannot determine result data type").with_detail(detail));
        }
    }
    Ok(())
}

impl Ddl<'_> {
    /// The schemas of an option; `None` where nothing is said of them.
    fn schemas_of(&self, option: Option<&PathOption>) -> Result<Option<Vec<String>>> {
        Ok(match option {
            None => None,
            Some(PathOption::Schemas(schemas)) => Some(schemas.clone()),
            Some(PathOption::Current) => {
                let settings = self.dml.exec.eval.settings.as_ref();
                let shown = settings.and_then(|settings| settings.shown("search_path"));
                let path = shown.as_deref().and_then(SearchPath::of);
                Some(path.ok_or_else(|| Error::internal("a session without a search path"))?.schemas)
            }
        })
    }
}

/// SQLSTATE 42P13 for a procedure, which has none but a search path; 42809 for an aggregate, which has none.
fn change_properties(routine: &mut Routine, properties: &Properties) -> Result<()> {
    let Properties { volatility, strict, search_path: _ } = properties;
    if routine.kind == RoutineKind::Aggregate {
        let message = format!("\"{}\" is an aggregate function", routine.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    if routine.kind == RoutineKind::Procedure && (volatility.is_some() || strict.is_some()) {
        return Err(invalid("invalid attribute in procedure definition"));
    }
    routine.volatility = volatility.unwrap_or(routine.volatility);
    routine.strict = strict.unwrap_or(routine.strict);
    Ok(())
}

/// OR REPLACE keeps what calls rest on.
pub(super) fn check_replacement(known: &Routine, new: &Routine) -> Result<()> {
    let hint = format!("Use DROP {} {} first.", known.noun().to_uppercase(), known.signature());
    if known.kind != new.kind {
        let message = "cannot change routine kind";
        let what = match known.kind {
            RoutineKind::Function => "a function",
            RoutineKind::Procedure => "a procedure",
            RoutineKind::Aggregate => "an aggregate function",
        };
        let detail = format!("\"{}\" is {what}.", known.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail));
    }
    if (known.returns, &known.domain, known.set) != (new.returns, &new.domain, new.set) {
        return Err(invalid("cannot change return type of existing function").with_hint(hint));
    }
    let outputs = |routine: &Routine| -> Vec<_> {
        routine.outputs().map(|output| (output.name.clone(), output.named())).collect()
    };
    if known.returns == Returns::Row && outputs(known) != outputs(new) {
        let detail = "Row type defined by OUT parameters is different.";
        return Err(invalid("cannot change return type of existing function").with_detail(detail).with_hint(hint));
    }
    for (old, new) in known.inputs().zip(new.inputs()) {
        if let Some(name) = &old.name
            && new.name.as_ref() != Some(name)
        {
            return Err(invalid(&format!("cannot change name of input parameter \"{name}\"")).with_hint(hint));
        }
        if old.default.is_some() && new.default.is_none() {
            return Err(invalid("cannot remove parameter defaults from existing function").with_hint(hint));
        }
    }
    Ok(())
}
