//! CREATE FUNCTION, CREATE PROCEDURE, ALTER FUNCTION, DROP FUNCTION and its kin.

use cairn_parser::{Expr, Id, Part, TokenKind, TypeName};

use super::clause::Clause;
use super::in_vain::is_of_how;
use super::settings::{SEARCH_PATH, SessionCommand, set_more, setting_name, shown};
use crate::catalog::{Language, ObjectName, ParameterMode, RoutineKind, SearchPath};
use crate::error::Feature;
use crate::functions::Volatility;
use crate::settings::setting;
use crate::{Error, Result, SqlState};

/// CREATE FUNCTION, CREATE PROCEDURE.
#[derive(Debug)]
pub(crate) struct CreateRoutine {
    pub(crate) kind: RoutineKind,
    pub(crate) name: ObjectName,
    pub(crate) or_replace: bool,
    pub(crate) parameters: Vec<Parameter>,
    /// `None`: by the parameters that go out.
    pub(crate) returns: Option<Id<TypeName>>,
    pub(crate) language: Language,
    pub(crate) properties: Properties,
    pub(crate) body: String,
}

/// What CREATE FUNCTION and ALTER FUNCTION say of how a function is called; `None`: nothing.
#[derive(Debug, Default)]
pub(crate) struct Properties {
    pub(crate) volatility: Option<Volatility>,
    pub(crate) strict: Option<bool>,
    pub(crate) search_path: Option<PathOption>,
}

/// Where the body of a function looks names up.
#[derive(Debug)]
pub(crate) enum PathOption {
    /// In these; none of them: in those of who calls it.
    Schemas(Vec<String>),
    /// Where who says so does.
    Current,
}

/// ALTER FUNCTION, PROCEDURE or ROUTINE.
#[derive(Debug)]
pub(crate) struct AlterRoutine {
    /// `None`: either.
    pub(crate) kind: Option<RoutineKind>,
    pub(crate) signature: Signature,
    pub(crate) change: RoutineChange,
}

/// What ALTER FUNCTION does.
#[derive(Debug)]
pub(crate) enum RoutineChange {
    RenameTo(String),
    SetSchema(String),
    /// Dumps say whose a function is; there are no roles.
    Owner,
    Properties(Properties),
}

/// A parameter, or a column of RETURNS TABLE.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Option<String>,
    pub(crate) mode: ParameterMode,
    pub(crate) data_type: Id<TypeName>,
    pub(crate) default: Option<Id<Expr>>,
}

/// DO.
#[derive(Debug)]
pub(crate) struct Do {
    pub(crate) body: String,
}

impl Do {
    pub(super) fn of(command: Clause<'_>) -> Result<Do> {
        let (bodies, languages) = (command.constants().count(), command.parts("word_or_string").count());
        if bodies > 1 || languages > 1 {
            return Err(command.here(Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")));
        }
        if let Some(language) = command.part("word_or_string") {
            match language_of(&language.value_text()).map_err(|error| language.here(error))? {
                Language::PlPgSql => {}
                Language::Sql => {
                    let message = "language \"sql\" does not support inline code execution";
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
            }
        }
        let missing = || Error::new(SqlState::SYNTAX_ERROR, "no inline code specified");
        Ok(Do { body: command.constant_text().ok_or_else(missing)? })
    }
}

/// CALL.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) call: Id<Expr>,
}

impl Call {
    pub(super) fn of(command: Clause<'_>) -> Result<Call> {
        Ok(Call { call: command.expr()? })
    }
}

/// DROP FUNCTION, PROCEDURE, ROUTINE.
#[derive(Debug)]
pub(crate) struct DropRoutines {
    /// `None`: either.
    pub(crate) kind: Option<RoutineKind>,
    pub(crate) signatures: Vec<Signature>,
    pub(crate) if_exists: bool,
    pub(crate) cascade: bool,
}

/// A function by its name and the types of its arguments.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) name: ObjectName,
    /// `None`: the only one of the name.
    pub(crate) arguments: Option<Vec<Id<TypeName>>>,
}

impl CreateRoutine {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateRoutine> {
        let kind = match command.rule() {
            "create_procedure" => RoutineKind::Procedure,
            _ => RoutineKind::Function,
        };
        let mut parameters = Vec::new();
        for parameter in command.part("parameters").into_iter().flat_map(|all| all.parts("parameter")) {
            parameters.push(Parameter::of(parameter)?);
        }
        for column in command.parts("result_column") {
            let (name, data_type) = (Some(column.name()?), column.data_type()?);
            parameters.push(Parameter { name, mode: ParameterMode::Table, data_type, default: None });
        }
        let mut create = CreateRoutine {
            kind,
            name: command.called_name()?,
            or_replace: command.part("or_replace").is_some(),
            parameters,
            returns: command.data_type().ok(),
            language: Language::Sql,
            properties: Properties { volatility: Some(Volatility::Volatile), strict: Some(false), search_path: None },
            body: String::new(),
        };
        create.options(command)?;
        Ok(create)
    }

    fn options(&mut self, command: Clause<'_>) -> Result<()> {
        let (mut language, mut body, mut bodies) = (None, None, 0);
        let mut said = Vec::new();
        for option in command.parts("function_option") {
            say_once(option, option_kind(option), &mut said)?;
            match option.part("function_property") {
                Some(property) => self.properties.add(property, self.kind)?,
                None if option.has(TokenKind::Language) => {
                    let word = option.part("word_or_string").map(Clause::value_text).unwrap_or_default();
                    language = Some(language_of(&word).map_err(|error| option.here(error))?);
                }
                None if option.has(TokenKind::As) => {
                    bodies = option.constants().count();
                    body = Some(option.constant_text().unwrap_or_default());
                }
                None => return Err(option.unsupported(option.first_words())),
            }
        }
        if let Some(standard) = command.part("routine_body") {
            if body.is_some() {
                let message = "duplicate function body specified";
                return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message));
            }
            if language.is_some_and(|language| language != Language::Sql) {
                let message = "inline SQL function body only valid for language SQL";
                return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message));
            }
            language = Some(Language::Sql);
            body = Some(standard_body(standard)?);
        }
        let missing = |message: &str| Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message);
        self.body = body.ok_or_else(|| missing("no function body specified"))?;
        self.language = language.ok_or_else(|| missing("no language specified"))?;
        match bodies {
            0 | 1 => Ok(()),
            _ => Err(missing(&format!(
                "only one AS item needed for language \"{}\"",
                match self.language {
                    Language::Sql => "sql",
                    Language::PlPgSql => "plpgsql",
                }
            ))),
        }
    }
}

impl Properties {
    fn add(&mut self, property: Clause<'_>, kind: RoutineKind) -> Result<()> {
        use TokenKind as T;
        let is_of_functions = !property.has(T::Security) && !property.has(T::Set) && property.part("reset").is_none();
        if kind == RoutineKind::Procedure && is_of_functions {
            let message = "invalid attribute in procedure definition";
            return Err(property.here(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message)));
        }
        match () {
            () if property.has(T::Immutable) => self.volatility = Some(Volatility::Immutable),
            () if property.has(T::Stable) => self.volatility = Some(Volatility::Stable),
            () if property.has(T::Volatile) => self.volatility = Some(Volatility::Volatile),
            () if property.has(T::Strict) || property.has(T::Returns) => self.strict = Some(true),
            () if property.has(T::Called) => self.strict = Some(false),
            // Everything runs with the rights of who calls it, and nothing leaks to anybody; there is one user.
            () if property.has(T::Security) || property.has(T::Leakproof) => {}
            // Estimates, and leave to run on other processes, of which there are none.
            () if property.has(T::Cost) || property.has(T::Rows) => check_estimate(property)?,
            () if property.has(T::Parallel) => check_parallel(property)?,
            () => self.setting(property)?,
        }
        Ok(())
    }

    /// SET and RESET. SQLSTATE 0A000 for others than the search path, but what makes no difference to answers: calls do not change them.
    fn setting(&mut self, property: Clause<'_>) -> Result<()> {
        let refused = |name: &str| {
            let hint = "Of settings that make a difference, a function may have search_path.";
            property.unsupported(format!("{name} as an option of a function")).with_hint(hint)
        };
        let path = match (property.part("reset"), property.part("set_rest_more")) {
            (Some(reset), _) if reset.has(TokenKind::All) => PathOption::Schemas(vec![]),
            (Some(reset), _) => match shown(reset)?.as_str() {
                SEARCH_PATH => PathOption::Schemas(vec![]),
                // A function has no other.
                name if setting(name).is_some() => return Ok(()),
                name => return Err(refused(&format!("RESET {name}"))),
            },
            (None, Some(more)) => match current(more) {
                Some(name) if name == SEARCH_PATH => PathOption::Current,
                Some(name) if is_of_how(&name) => return Ok(()),
                Some(name) => return Err(refused(&format!("SET {name} FROM CURRENT"))),
                None => match set_more(more, false)? {
                    SessionCommand::Set { name, value, .. } if name == SEARCH_PATH => {
                        let path =
                            value.as_deref().map_or_else(|| Some(vec![]), |value| Some(SearchPath::of(value)?.schemas));
                        PathOption::Schemas(path.ok_or_else(|| Error::internal("a search path that is no list"))?)
                    }
                    SessionCommand::Set { name, value, .. } if is_of_how(&name) => {
                        let known = setting(&name).zip(value);
                        return known.map_or(Ok(()), |(known, value)| known.check(&value).map(drop));
                    }
                    SessionCommand::Set { name, .. } => return Err(refused(&format!("SET {name}"))),
                    _ => return Err(refused("SET")),
                },
            },
            (None, None) => return Err(refused(&property.first_words())),
        };
        self.search_path = Some(path);
        Ok(())
    }
}

/// What is set as it is in the session.
fn current(more: Clause<'_>) -> Option<String> {
    more.part("setting").map(setting_name)
}

impl AlterRoutine {
    pub(super) fn of(command: Clause<'_>) -> Result<AlterRoutine> {
        let signature = command.part("function_signature").map(Signature::of).transpose()?;
        let signature = signature.ok_or_else(|| Error::internal("ALTER FUNCTION without a function"))?;
        command.refuse_word(TokenKind::Restrict, "RESTRICT")?;
        let kind = command.routine_kind();
        let schema = command.name_behind(TokenKind::Schema);
        let change = match (command.part("rename"), schema) {
            (Some(rename), _) => RoutineChange::RenameTo(rename.name()?),
            (None, Some(schema)) => RoutineChange::SetSchema(schema),
            (None, None) if command.part("owner").is_some() => RoutineChange::Owner,
            (None, None) => RoutineChange::Properties(altered(command, kind)?),
        };
        Ok(AlterRoutine { kind, signature, change })
    }

    /// What the command is called.
    pub(crate) fn tag(&self) -> &'static str {
        match self.kind {
            Some(RoutineKind::Function) => "ALTER FUNCTION",
            Some(RoutineKind::Procedure) => "ALTER PROCEDURE",
            Some(RoutineKind::Aggregate) => "ALTER AGGREGATE",
            None => "ALTER ROUTINE",
        }
    }
}

fn altered(command: Clause<'_>, kind: Option<RoutineKind>) -> Result<Properties> {
    let (mut properties, mut said) = (Properties::default(), Vec::new());
    for property in command.parts("function_property") {
        say_once(property, property_kind(property), &mut said)?;
        properties.add(property, kind.unwrap_or(RoutineKind::Function))?;
    }
    match said.is_empty() {
        true => Err(command.unsupported_words("", &command.first_words())),
        false => Ok(properties),
    }
}

/// SQLSTATE 42601 where that was said already.
fn say_once(option: Clause<'_>, kind: Option<TokenKind>, said: &mut Vec<Option<TokenKind>>) -> Result<()> {
    if kind.is_some() && said.contains(&kind) {
        return Err(option.here(Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")));
    }
    said.push(kind);
    Ok(())
}

/// What an option says something of, which may be said once; none where it may be said again.
fn option_kind(option: Clause<'_>) -> Option<TokenKind> {
    use TokenKind as T;
    let Some(property) = option.part("function_property") else {
        return [T::As, T::Language, T::Transform, T::Window].into_iter().find(|kind| option.has(*kind));
    };
    property_kind(property)
}

fn property_kind(property: Clause<'_>) -> Option<TokenKind> {
    use TokenKind as T;
    match () {
        () if property.has(T::Immutable) || property.has(T::Stable) => Some(T::Volatile),
        () if property.has(T::Called) || property.has(T::Returns) => Some(T::Strict),
        () => [T::Volatile, T::Strict, T::Security, T::Leakproof, T::Cost, T::Rows, T::Support, T::Parallel]
            .into_iter()
            .find(|kind| property.has(*kind)),
    }
}

/// SQLSTATE 22023 for COST and ROWS of nothing or less.
fn check_estimate(property: Clause<'_>) -> Result<()> {
    let number = property.part("number").map(Clause::value_text).unwrap_or_default();
    match number.parse::<f64>().is_ok_and(|number| number > 0.0) {
        true => Ok(()),
        false => {
            let message = format!("{} must be positive", property.first_words());
            Err(property.here(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)))
        }
    }
}

/// SQLSTATE 42601 for a word that PARALLEL does not have.
fn check_parallel(property: Clause<'_>) -> Result<()> {
    match property.names().next().as_deref() {
        Some("safe" | "restricted" | "unsafe") => Ok(()),
        _ => {
            let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
            Err(property.here(Error::new(SqlState::SYNTAX_ERROR, message)))
        }
    }
}

/// `RETURN expr`, `BEGIN ATOMIC ... END`: as statements.
fn standard_body(body: Clause<'_>) -> Result<String> {
    let mut statements = Vec::new();
    for part in body.each() {
        match part {
            Part::Statement { statement } => statements.push(body.tree().written(statement).to_owned()),
            Part::Rule { .. } => {}
            _ => {}
        }
    }
    for returned in body.parts("return") {
        statements.push(format!("SELECT {}", body.tree().written(returned.expr()?)));
    }
    Ok(statements.join(";\n"))
}

fn language_of(name: &str) -> Result<Language> {
    match name.to_ascii_lowercase().as_str() {
        "sql" => Ok(Language::Sql),
        "plpgsql" => Ok(Language::PlPgSql),
        name @ ("c" | "internal") => Err(Error::lacking(Feature::Languages, format!("LANGUAGE {name}"))),
        name => Err(Error::new(SqlState::UNDEFINED_OBJECT, format!("language \"{name}\" does not exist"))),
    }
}

impl Parameter {
    pub(super) fn of(clause: Clause<'_>) -> Result<Parameter> {
        let argument = clause.part("argument").ok_or_else(|| Error::internal("a parameter without its argument"))?;
        let default = clause.expr().ok();
        Ok(Parameter { name: argument.names().next(), mode: mode(argument), data_type: argument.data_type()?, default })
    }
}

fn mode(argument: Clause<'_>) -> ParameterMode {
    use TokenKind as T;
    let Some(mode) = argument.part("argument_mode") else { return ParameterMode::In };
    match () {
        () if mode.has(T::Variadic) => ParameterMode::Variadic,
        () if mode.has(T::Inout) || mode.has(T::In) && mode.has(T::Out) => ParameterMode::InOut,
        () if mode.has(T::Out) => ParameterMode::Out,
        () => ParameterMode::In,
    }
}

impl Clause<'_> {
    /// FUNCTION or PROCEDURE; `None`: ROUTINE, which is either.
    pub(super) fn routine_kind(self) -> Option<RoutineKind> {
        match () {
            () if self.has(TokenKind::Function) => Some(RoutineKind::Function),
            () if self.has(TokenKind::Procedure) => Some(RoutineKind::Procedure),
            () => None,
        }
    }
}

impl DropRoutines {
    pub(super) fn of(command: Clause<'_>) -> Result<DropRoutines> {
        let kind = command.routine_kind();
        Ok(DropRoutines {
            kind,
            signatures: command.parts("function_signature").map(Signature::of).collect::<Result<_>>()?,
            if_exists: command.part("if_exists").is_some(),
            cascade: command.is_cascade(),
        })
    }
}

impl Signature {
    pub(super) fn of(clause: Clause<'_>) -> Result<Signature> {
        let given = clause.has(TokenKind::LeftParen);
        let mut arguments = Vec::new();
        for argument in clause.parts("argument").filter(|argument| mode(*argument).is_in()) {
            arguments.push(argument.data_type()?);
        }
        Ok(Signature { name: clause.called_name()?, arguments: given.then_some(arguments) })
    }
}
