//! Entries of functions and procedures that SQL made.

use super::Definition;
use super::ObjectId;
use super::codec::{self, Fields, Writer, corrupt};
use super::user_types::Types;
use super::version::{Features, Version};
use crate::Result;
use crate::functions::{
    AggregateParts, Callee, Declared, Language, OfDomain, ParameterMode, Returns, Routine, RoutineKind,
    RoutineParameter, Volatility,
};
use crate::types::DataType;

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
        (Version::Aggregates, |routine| routine.aggregate.is_some()),
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
    if let Some(parts) = &routine.aggregate {
        w.record(17, |w| encode_aggregate(parts, w));
    }
    w.finish()
}

fn encode_aggregate(parts: &AggregateParts, w: &mut Writer) {
    let callee = |callee: Callee, [stored, built_in]: [u8; 2], w: &mut Writer| match callee {
        Callee::Routine(id) => w.number(stored, id.0.into()),
        Callee::BuiltIn(oid) => w.number(built_in, oid.into()),
    };
    callee(parts.transition, [1, 2], w);
    if let Some(last) = parts.last {
        callee(last, [3, 4], w);
    }
    w.flag(5, parts.last_extra);
    match parts.state {
        Declared::Type(data_type) => w.data_type(6, data_type),
        pseudo => w.number(7, pseudo.number()),
    }
    if let Some(initial) = &parts.initial {
        w.text(8, initial);
    }
}

fn decode_aggregate(bytes: &[u8], types: &Types) -> Result<AggregateParts> {
    let (mut transition, mut last, mut state) = (None, None, None);
    let (mut last_extra, mut initial) = (false, None);
    let mut fields = Fields::record(bytes);
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => transition = Some(Callee::Routine(ObjectId(codec::number(value)?))),
            2 => transition = Some(Callee::BuiltIn(codec::number(value)?)),
            3 => last = Some(Callee::Routine(ObjectId(codec::number(value)?))),
            4 => last = Some(Callee::BuiltIn(codec::number(value)?)),
            5 => last_extra = true,
            6 => state = Some(Declared::Type(codec::data_type(value, types)?)),
            7 => state = Some(decode_pseudo(value)?),
            8 => initial = Some(codec::text(value)?),
            _ => {}
        }
    }
    match (transition, state) {
        (Some(transition), Some(state)) => Ok(AggregateParts { transition, last, last_extra, state, initial }),
        _ => Err(corrupt("aggregate")),
    }
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
        aggregate: None,
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
            17 => {
                routine.kind = RoutineKind::Aggregate;
                routine.aggregate = Some(decode_aggregate(value, types)?);
            }
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
            aggregate: None,
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

    fn aggregate() -> Routine {
        let parts = AggregateParts {
            transition: Callee::Routine(ObjectId(4)),
            last: Some(Callee::BuiltIn(1724)),
            last_extra: true,
            state: Declared::Type(DataType::Date),
            initial: Some("x".to_owned()),
        };
        let mut routine = Routine { kind: RoutineKind::Aggregate, aggregate: Some(parts), ..routine() };
        routine.parameters.truncate(1);
        routine
    }

    #[test]
    fn an_aggregate_comes_back_as_it_was_and_takes_a_library_that_knows_it() {
        for state in [Declared::Type(DataType::Date), Declared::Array] {
            let mut of = aggregate();
            of.aggregate.iter_mut().for_each(|parts| parts.state = state);
            let bytes = encode_routine(&of, 7);
            assert_eq!(bytes[0], Version::Aggregates as u8);
            assert_eq!(decode_routine(of.id, &bytes, &Types::default()).expect("decodes"), of);
        }
    }

    #[test]
    fn damaged_entries_of_functions_never_panic() {
        damage(&encode_routine(&routine(), 7));
        damage(&encode_routine(&aggregate(), 7));
    }

    fn damage(bytes: &[u8]) {
        (0..bytes.len()).for_each(|length| drop(decode_routine(ObjectId(9), &bytes[..length], &Types::default())));
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[at / 8] ^= 1 << (at % 8);
            drop(decode_routine(ObjectId(9), &flipped, &Types::default()));
        }
    }
}
