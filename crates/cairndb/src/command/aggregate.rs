//! CREATE, ALTER and DROP AGGREGATE.

use cairn_parser::{Id, TokenKind, TypeName};

use super::clause::Clause;
use super::create_table::{option_name, option_value};
use super::routine::{AlterRoutine, DropRoutines, Parameter, RoutineChange, Signature};
use crate::catalog::{ObjectName, RoutineKind};
use crate::error::Feature;
use crate::sql::{name_text, object_name};
use crate::{Error, Result, SqlState};

/// CREATE AGGREGATE.
#[derive(Debug)]
pub(crate) struct CreateAggregate {
    pub(crate) name: ObjectName,
    pub(crate) or_replace: bool,
    pub(crate) arguments: AggregateArguments,
    /// SFUNC
    pub(crate) transition: ObjectName,
    /// STYPE
    pub(crate) state: Id<TypeName>,
    /// FINALFUNC
    pub(crate) last: Option<ObjectName>,
    /// FINALFUNC_EXTRA
    pub(crate) last_extra: bool,
    /// INITCOND
    pub(crate) initial: Option<String>,
    /// What is taken and does nothing, as it is no attribute.
    pub(crate) unknown: Vec<String>,
}

/// What an aggregate takes.
#[derive(Debug)]
pub(crate) enum AggregateArguments {
    Parameters(Vec<Parameter>),
    /// As it was said before PostgreSQL 8.2; `None`: ANY, which is nothing.
    BaseType(Option<Id<TypeName>>),
}

/// What may be said besides that makes no difference to an answer: how states are combined, kept and taken back, and estimates.
const WITHOUT_EFFECT: &[&str] = &[
    "sspace",
    "finalfunc_modify",
    "combinefunc",
    "serialfunc",
    "deserialfunc",
    "msfunc",
    "minvfunc",
    "mstype",
    "msspace",
    "mfinalfunc",
    "mfinalfunc_extra",
    "mfinalfunc_modify",
    "minitcond",
    "sortop",
    "sortop1",
    "parallel",
];

impl CreateAggregate {
    /// SQLSTATE 42P13 where something is not said that has to be, 0A000 for what is none of a plain aggregate.
    pub(super) fn of(command: Clause<'_>) -> Result<CreateAggregate> {
        let (mut transition, mut state, mut last, mut initial, mut base) = (None, None, None, None, None);
        let (mut last_extra, mut unknown) = (false, Vec::new());
        let definition = command.part("definition").or(command.part("old_definition"));
        let definition = definition.ok_or_else(|| Error::internal("an aggregate without a definition"))?;
        for element in definition.parts("definition_element").chain(definition.parts("old_definition_element")) {
            let name = option_name(element);
            match name.as_str() {
                "sfunc" | "sfunc1" => transition = Some(function(element)?),
                "stype" | "stype1" => state = Some(value_type(element)?),
                "finalfunc" => last = Some(function(element)?),
                "finalfunc_extra" => last_extra = is_on(element),
                "initcond" | "initcond1" => initial = Some(option_value(element)),
                "basetype" => base = Some(element),
                "hypothetical" if is_on(element) => {
                    return Err(element.lacking(Feature::Aggregates, "a hypothetical-set aggregate in SQL"));
                }
                "hypothetical" => {}
                "parallel" => check_parallel(element)?,
                known if WITHOUT_EFFECT.contains(&known) => {}
                _ => unknown.push(name),
            }
        }
        let missing = |what: &str| {
            Error::new(SqlState::INVALID_FUNCTION_DEFINITION, format!("aggregate {what} must be specified"))
        };
        let arguments = match command.part("aggregate_arguments") {
            Some(arguments) => {
                if base.is_some() {
                    let message = "basetype is redundant with aggregate input type specification";
                    return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message));
                }
                AggregateArguments::Parameters(parameters(arguments)?)
            }
            None => {
                let base = base.ok_or_else(|| missing("input type"))?;
                let is_any = option_value(base).trim_matches('"').eq_ignore_ascii_case("any");
                AggregateArguments::BaseType(if is_any { None } else { Some(value_type(base)?) })
            }
        };
        Ok(CreateAggregate {
            name: command.called_name()?,
            or_replace: command.part("or_replace").is_some(),
            arguments,
            state: state.ok_or_else(|| missing("stype"))?,
            transition: transition.ok_or_else(|| missing("sfunc"))?,
            last,
            last_extra,
            initial,
            unknown,
        })
    }
}

/// A function's name, which the grammar takes for a type's.
fn function(element: Clause<'_>) -> Result<ObjectName> {
    let tree = element.tree();
    let said = element.part("option_value").and_then(|value| value.data_types().next());
    let parts: Vec<String> = match said {
        Some(name) => tree.list(tree.get(name).names).map(|part| name_text(tree, part).to_owned()).collect(),
        None => vec![option_value(element)],
    };
    object_name(parts).map_err(|error| element.here(error))
}

fn value_type(element: Clause<'_>) -> Result<Id<TypeName>> {
    element.part("option_value").and_then(|value| value.data_types().next()).ok_or_else(|| {
        let message = format!("{} requires a type name", option_name(element));
        element.here(Error::new(SqlState::SYNTAX_ERROR, message))
    })
}

fn is_on(element: Clause<'_>) -> bool {
    !matches!(option_value(element).to_ascii_lowercase().as_str(), "false" | "off" | "0")
}

/// SQLSTATE 42601 for a word that PARALLEL does not have.
fn check_parallel(element: Clause<'_>) -> Result<()> {
    match option_value(element).to_ascii_lowercase().as_str() {
        "safe" | "restricted" | "unsafe" => Ok(()),
        _ => {
            let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
            Err(element.here(Error::new(SqlState::SYNTAX_ERROR, message)))
        }
    }
}

fn parameters(arguments: Clause<'_>) -> Result<Vec<Parameter>> {
    if arguments.has(TokenKind::Order) {
        return Err(arguments.lacking(Feature::Aggregates, "an ordered-set aggregate in SQL"));
    }
    arguments.parts("aggregate_argument").map(Parameter::of).collect()
}

impl Signature {
    pub(super) fn of_aggregate(clause: Clause<'_>) -> Result<Signature> {
        let arguments = clause.part("aggregate_arguments").map(parameters).transpose()?.unwrap_or_default();
        let types = arguments.iter().map(|argument| argument.data_type).collect();
        Ok(Signature { name: clause.called_name()?, arguments: Some(types) })
    }
}

impl DropRoutines {
    /// DROP AGGREGATE.
    pub(super) fn of_aggregates(command: Clause<'_>) -> Result<DropRoutines> {
        Ok(DropRoutines {
            kind: Some(RoutineKind::Aggregate),
            signatures: command.parts("aggregate_signature").map(Signature::of_aggregate).collect::<Result<_>>()?,
            if_exists: command.part("if_exists").is_some(),
            cascade: command.is_cascade(),
        })
    }
}

impl AlterRoutine {
    /// ALTER AGGREGATE.
    pub(super) fn of_aggregate(command: Clause<'_>) -> Result<AlterRoutine> {
        let signature = command.part("aggregate_signature").map(Signature::of_aggregate).transpose()?;
        let signature = signature.ok_or_else(|| Error::internal("ALTER AGGREGATE without an aggregate"))?;
        let change = match (command.part("rename"), command.name_behind(TokenKind::Schema)) {
            (Some(rename), _) => RoutineChange::RenameTo(rename.name()?),
            (None, Some(schema)) => RoutineChange::SetSchema(schema),
            (None, None) => RoutineChange::Owner,
        };
        Ok(AlterRoutine { kind: Some(RoutineKind::Aggregate), signature, change })
    }
}
