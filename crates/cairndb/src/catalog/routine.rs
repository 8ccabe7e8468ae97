//! Functions and procedures that SQL made, as plain data, and their entries.

use super::codec::{self, Fields, Writer, corrupt};
use super::user_types::{Types, type_id};
use super::version::{Features, Version};
use super::{Definition, ObjectId};
use crate::Result;
use crate::functions::{Decided, Declared, Volatility};
use crate::types::DataType;

/// A function or a procedure of the schema's. Its body is kept as it was written, and means what it means when it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routine {
    /// Its id.
    pub id: ObjectId,
    /// The schema that it is in.
    pub schema: ObjectId,
    /// Its name; others may have it, for other argument types.
    pub name: String,
    pub(crate) kind: RoutineKind,
    pub(crate) language: Language,
    /// All of them, those of the result included.
    pub(crate) parameters: Vec<RoutineParameter>,
    pub(crate) returns: Returns,
    /// The domain that the value is of which it gives, besides its type.
    pub(crate) domain: Option<OfDomain>,
    /// It returns rows.
    pub(crate) set: bool,
    pub(crate) volatility: Volatility,
    /// NULL in, NULL out, without a call.
    pub(crate) strict: bool,
    /// The schemas in which its body looks names up; empty: those of who calls it.
    pub(crate) search_path: Vec<String>,
    pub(crate) body: String,
    /// Numbers the changes of the entry.
    pub(crate) change: u64,
}

/// What CREATE made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoutineKind {
    Function,
    Procedure,
}

/// What the body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Sql,
    PlPgSql,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoutineParameter {
    pub(crate) name: Option<String>,
    pub(crate) mode: ParameterMode,
    /// Of a procedure, for which CALL says something, which it does not get.
    pub(crate) only_out: bool,
    /// Where it has a pseudo-type, that of a call; `Unknown` outside of one.
    pub(crate) data_type: DataType,
    pub(crate) pseudo: Option<Declared>,
    /// Its type is that of this table's rows, as the table is now.
    pub(crate) row_of: Option<ObjectId>,
    /// The domain that its values are of, besides their type.
    pub(crate) domain: Option<OfDomain>,
    /// What it is where a call does not say.
    pub(crate) default: Option<Definition>,
}

/// A domain that something is of, which has the domain's base type besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfDomain {
    pub(crate) id: ObjectId,
    /// The domain's name.
    pub(crate) name: String,
}

/// Which way a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterMode {
    In,
    Out,
    InOut,
    /// The last one, an array of all arguments from here on.
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

/// What a call gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    /// Nothing: a function that is called for what it does, a procedure.
    Void,
    /// What becomes of a row.
    Trigger,
    /// A value of this type.
    Type(DataType),
    /// A value of the type that a call decides.
    Any(Declared),
    /// Rows of the columns that the query says: `record`.
    Record,
    /// A row of the parameters that go out: more than one of them.
    Row,
    /// A row of this table.
    RowOf(ObjectId),
}

impl ParameterMode {
    /// Whether a call gives a value for it.
    pub(crate) fn is_in(self) -> bool {
        matches!(self, ParameterMode::In | ParameterMode::InOut | ParameterMode::Variadic)
    }

    /// Whether it is a part of what a call gives back.
    pub(crate) fn is_out(self) -> bool {
        matches!(self, ParameterMode::Out | ParameterMode::InOut | ParameterMode::Table)
    }
}

impl RoutineParameter {
    /// What goes out of a procedure has a place among the arguments of CALL, as what goes in and out has.
    pub(crate) fn take_place_in_call(&mut self) {
        if self.mode == ParameterMode::Out {
            (self.mode, self.only_out) = (ParameterMode::InOut, true);
        }
    }

    /// The mode as it was declared.
    pub(crate) fn shown_mode(&self) -> ParameterMode {
        if self.only_out { ParameterMode::Out } else { self.mode }
    }

    /// Its type as it is declared.
    pub(crate) fn declared(&self) -> Declared {
        self.pseudo.unwrap_or(Declared::Type(self.data_type.base()))
    }

    /// The number of its type, or of the domain that it is of.
    pub(crate) fn oid(&self) -> i64 {
        self.domain.as_ref().map_or_else(|| self.declared().oid(), |domain| super::oid_of(domain.id)).into()
    }

    /// That, and the domain that it is of.
    pub(crate) fn named(&self) -> (Declared, Option<ObjectId>) {
        (self.declared(), self.domain.as_ref().map(|domain| domain.id))
    }

    /// The name of that.
    pub(crate) fn type_name(&self) -> &str {
        let base = || self.pseudo.map_or_else(|| self.data_type.type_name(), Declared::type_name);
        self.domain.as_ref().map_or_else(base, |domain| &domain.name)
    }
}

impl Routine {
    /// What a call gives values for.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &RoutineParameter> {
        self.parameters.iter().filter(|parameter| parameter.mode.is_in())
    }

    /// What a call gives back, by parameters.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &RoutineParameter> {
        self.parameters.iter().filter(|parameter| parameter.mode.is_out())
    }

    /// What it gives is a parameter that goes out.
    pub(crate) fn is_output(&self) -> bool {
        self.outputs().next().is_some()
    }

    /// The types of a call's arguments, which tell it from others of its name.
    pub(crate) fn argument_types(&self) -> Vec<Declared> {
        self.inputs().map(RoutineParameter::declared).collect()
    }

    /// The domains among them.
    pub(crate) fn argument_domains(&self) -> Vec<Option<ObjectId>> {
        self.inputs().map(|input| input.domain.as_ref().map(|domain| domain.id)).collect()
    }

    /// Of a procedure with parameters that only go out, the types of the others: who names it may leave those out.
    pub(crate) fn types_in(&self) -> Option<Vec<(Declared, Option<ObjectId>)>> {
        let has_only_out = self.parameters.iter().any(|parameter| parameter.only_out);
        let others = self.inputs().filter(|parameter| !parameter.only_out);
        has_only_out.then(|| others.map(RoutineParameter::named).collect())
    }

    /// As it is in a call that has decided what its pseudo-types are; `None`: nothing decides one of them.
    pub(crate) fn specialised(&self, decided: Decided) -> Option<Routine> {
        let mut of = self.clone();
        for parameter in &mut of.parameters {
            parameter.data_type = parameter.declared().resolved(decided)?;
        }
        if let Returns::Any(declared) = self.returns {
            of.returns = Returns::Type(declared.resolved(decided)?);
        }
        Some(of)
    }

    /// Whether it takes rows of tables.
    pub(crate) fn takes_rows(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.row_of.is_some())
    }

    /// Whether calls decide what it takes.
    pub(crate) fn is_polymorphic(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.pseudo.is_some())
    }

    /// The types that users made of which it takes or gives values.
    pub(crate) fn user_types(&self) -> impl Iterator<Item = ObjectId> {
        let returns = if let Returns::Type(data_type) = self.returns { Some(data_type) } else { None };
        let values = self.parameters.iter().map(|parameter| parameter.data_type).chain(returns);
        values.filter_map(type_id).chain(self.domains().map(|domain| domain.id))
    }

    /// The domains of which it takes or gives values.
    pub(crate) fn domains(&self) -> impl Iterator<Item = &OfDomain> {
        self.parameters.iter().filter_map(|parameter| parameter.domain.as_ref()).chain(&self.domain)
    }

    /// `name(types)`
    pub(crate) fn signature(&self) -> String {
        let types: Vec<&str> = self.inputs().map(RoutineParameter::type_name).collect();
        format!("{}({})", self.name, types.join(", "))
    }

    /// `function` or `procedure`
    pub(crate) fn noun(&self) -> &'static str {
        match self.kind {
            RoutineKind::Function => "function",
            RoutineKind::Procedure => "procedure",
        }
    }

    /// Whether it may change rows, as far as its declaration says.
    pub(crate) fn may_write(&self) -> bool {
        self.volatility == Volatility::Volatile
    }
}

const VOLATILITIES: [Volatility; 3] = [Volatility::Immutable, Volatility::Stable, Volatility::Volatile];
const MODES: [ParameterMode; 5] =
    [ParameterMode::In, ParameterMode::Out, ParameterMode::InOut, ParameterMode::Variadic, ParameterMode::Table];

fn place_of<T: PartialEq>(all: &[T], one: &T) -> u64 {
    all.iter().position(|known| known == one).unwrap_or(0) as u64
}

fn at<T: Copy>(all: &[T], place: &[u8]) -> Result<T> {
    all.get(codec::number::<usize>(place)?).copied().ok_or_else(|| corrupt("function"))
}

pub(super) fn encode_routine(routine: &Routine, change: u64) -> Vec<u8> {
    let returned = match routine.returns {
        Returns::Type(data_type) => Some(data_type),
        _ => None,
    };
    let stored = routine.parameters.iter().filter(|parameter| parameter.row_of.is_none());
    let version = Version::of_types(stored.map(|parameter| parameter.data_type).chain(returned));
    let features: &Features<Routine> = &[
        (Version::Path, |routine| !routine.search_path.is_empty()),
        (Version::OpenTypes, |routine| routine.is_polymorphic() || routine.takes_rows()),
        (Version::OpenTypes, |routine| routine.returns == Returns::Record),
        (Version::Domains, |routine| routine.domains().next().is_some()),
    ];
    let mut w = Writer::entry(version.max(Version::of(routine, features)));
    w.text(1, &routine.name);
    w.number(2, routine.schema.0.into());
    w.number(3, change);
    w.flag(4, routine.kind == RoutineKind::Procedure);
    w.flag(5, routine.language == Language::PlPgSql);
    for parameter in &routine.parameters {
        w.record(6, |w| encode_parameter(parameter, w));
    }
    match routine.returns {
        Returns::Void => {}
        Returns::Trigger => w.number(7, 1),
        Returns::Row => w.number(7, 2),
        Returns::Record => w.number(7, 3),
        Returns::Any(declared) => w.number(15, declared.number()),
        Returns::Type(data_type) => w.data_type(8, data_type),
        Returns::RowOf(table) => w.number(9, table.0.into()),
    }
    w.flag(10, routine.set);
    w.number(11, place_of(&VOLATILITIES, &routine.volatility));
    w.flag(12, routine.strict);
    w.text(13, &routine.body);
    routine.search_path.iter().for_each(|schema| w.text(14, schema));
    if let Some(domain) = &routine.domain {
        w.number(16, domain.id.0.into());
    }
    w.finish()
}

fn encode_parameter(parameter: &RoutineParameter, w: &mut Writer) {
    if let Some(name) = &parameter.name {
        w.text(1, name);
    }
    w.number(2, place_of(&MODES, &parameter.shown_mode()));
    match (parameter.pseudo, parameter.row_of) {
        (Some(pseudo), _) => w.number(6, pseudo.number()),
        (None, Some(table)) => w.number(7, table.0.into()),
        (None, None) => w.data_type(3, parameter.data_type),
    }
    if let Some(domain) = &parameter.domain {
        w.number(8, domain.id.0.into());
    }
    if let Some(default) = &parameter.default {
        super::entries::encode_definition(default, (4, 5), w);
    }
}

pub(super) fn decode_routine(id: ObjectId, bytes: &[u8], types: &Types) -> Result<Routine> {
    let mut routine = Routine {
        id,
        schema: ObjectId::PUBLIC,
        name: String::new(),
        kind: RoutineKind::Function,
        language: Language::Sql,
        parameters: Vec::new(),
        returns: Returns::Void,
        domain: None,
        set: false,
        volatility: Volatility::Volatile,
        strict: false,
        search_path: vec![],
        body: String::new(),
        change: 0,
    };
    let mut fields = Fields::entry(bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => routine.name = codec::text(value)?,
            2 => routine.schema = ObjectId(codec::number(value)?),
            3 => routine.change = codec::number(value)?,
            4 => routine.kind = RoutineKind::Procedure,
            5 => routine.language = Language::PlPgSql,
            6 => routine.parameters.push(decode_parameter(value, types)?),
            7 => {
                routine.returns = match codec::number::<u32>(value)? {
                    1 => Returns::Trigger,
                    2 => Returns::Row,
                    3 => Returns::Record,
                    _ => return Err(corrupt("function")),
                }
            }
            8 => routine.returns = Returns::Type(codec::data_type(value, types)?),
            9 => routine.returns = Returns::RowOf(ObjectId(codec::number(value)?)),
            10 => routine.set = true,
            11 => routine.volatility = at(&VOLATILITIES, value)?,
            12 => routine.strict = true,
            13 => routine.body = codec::text(value)?,
            14 => routine.search_path.push(codec::text(value)?),
            15 => routine.returns = Returns::Any(decode_pseudo(value)?),
            16 => routine.domain = Some(decode_domain(value, types)?),
            _ => {}
        }
    }
    if routine.kind == RoutineKind::Procedure {
        routine.parameters.iter_mut().for_each(RoutineParameter::take_place_in_call);
    }
    Ok(routine)
}

fn decode_parameter(bytes: &[u8], types: &Types) -> Result<RoutineParameter> {
    let (name, mode, data_type) = (None, ParameterMode::In, DataType::Unknown);
    let (pseudo, row_of, default) = (None, None, None);
    let domain = None;
    let mut parameter = RoutineParameter { name, mode, only_out: false, data_type, pseudo, row_of, domain, default };
    let (mut text, mut references) = (None, None);
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => parameter.name = Some(codec::text(value)?),
            2 => parameter.mode = at(&MODES, value)?,
            3 => parameter.data_type = codec::data_type(value, types)?,
            4 => text = Some(codec::text(value)?),
            5 => references = super::entries::decode_references(value)?,
            6 => parameter.pseudo = Some(decode_pseudo(value)?),
            7 => parameter.row_of = Some(ObjectId(codec::number(value)?)),
            8 => parameter.domain = Some(decode_domain(value, types)?),
            _ => {}
        }
    }
    parameter.default = text.map(|text| Definition { text, references });
    match (parameter.data_type, parameter.pseudo, parameter.row_of) {
        (DataType::Unknown, None, None) => Err(corrupt("function")),
        _ => Ok(parameter),
    }
}

fn decode_pseudo(bytes: &[u8]) -> Result<Declared> {
    Declared::numbered(codec::number(bytes)?).ok_or_else(|| corrupt("function"))
}

fn decode_domain(bytes: &[u8], types: &Types) -> Result<OfDomain> {
    let id = ObjectId(codec::number(bytes)?);
    let of = types.get(id).filter(|of| of.domain().is_some()).ok_or_else(|| corrupt("a function of no domain"))?;
    Ok(OfDomain { id, name: of.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routine() -> Routine {
        let parameter = |name: &str, mode, default: Option<&str>| RoutineParameter {
            name: (!name.is_empty()).then(|| name.to_owned()),
            mode,
            only_out: false,
            data_type: DataType::Varchar(Some(10)),
            pseudo: None,
            row_of: None,
            domain: None,
            default: default.map(Definition::from),
        };
        Routine {
            id: ObjectId(9),
            schema: ObjectId(3),
            name: "f".to_owned(),
            kind: RoutineKind::Procedure,
            language: Language::PlPgSql,
            parameters: vec![
                parameter("a", ParameterMode::In, None),
                parameter("", ParameterMode::InOut, Some("'x'")),
                RoutineParameter { only_out: true, ..parameter("o", ParameterMode::InOut, None) },
                parameter("c", ParameterMode::Table, None),
            ],
            returns: Returns::Row,
            domain: None,
            set: true,
            volatility: Volatility::Stable,
            strict: true,
            search_path: vec!["a".to_owned(), String::new()],
            body: "BEGIN END".to_owned(),
            change: 7,
        }
    }

    #[test]
    fn a_function_comes_back_as_it_was() {
        let any = [Declared::Element, Declared::CompatibleArray].map(Returns::Any);
        let all = [Returns::Void, Returns::Trigger, Returns::Row, Returns::Record, Returns::Type(DataType::Date)];
        for returns in any.into_iter().chain(all).chain([Returns::RowOf(ObjectId(12))]) {
            let mut routine = Routine { returns, ..routine() };
            routine.parameters.push(RoutineParameter {
                name: None,
                mode: ParameterMode::Variadic,
                only_out: false,
                data_type: DataType::Unknown,
                pseudo: Some(Declared::Array),
                row_of: None,
                domain: None,
                default: None,
            });
            let (data_type, row_of) = (DataType::Unknown, Some(ObjectId(44)));
            routine.parameters[0] = RoutineParameter { data_type, row_of, ..routine.parameters[0].clone() };
            assert_eq!(
                decode_routine(routine.id, &encode_routine(&routine, 7), &Types::default()).expect("decodes"),
                routine
            );
        }
        for returns in all {
            let routine = Routine { returns, ..routine() };
            assert_eq!(
                decode_routine(routine.id, &encode_routine(&routine, 7), &Types::default()).expect("decodes"),
                routine
            );
        }
    }

    #[test]
    fn damaged_entries_of_functions_never_panic() {
        let bytes = encode_routine(&routine(), 7);
        (0..bytes.len()).for_each(|length| drop(decode_routine(ObjectId(9), &bytes[..length], &Types::default())));
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            drop(decode_routine(ObjectId(9), &flipped, &Types::default()));
        }
    }
}
