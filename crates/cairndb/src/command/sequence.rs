//! CREATE SEQUENCE, ALTER SEQUENCE, and the options of sequences wherever they stand.

use cairn_parser::{Id, TokenKind, TypeName};

use super::clause::Clause;
use crate::catalog::ObjectName;
use crate::sql::object_name;
use crate::{Error, Result, SqlState};

/// CREATE SEQUENCE.
#[derive(Debug)]
pub(crate) struct CreateSequence {
    pub(crate) name: ObjectName,
    pub(crate) temporary: bool,
    pub(crate) if_not_exists: bool,
    pub(crate) data_type: Option<Id<TypeName>>,
    pub(crate) owner: SequenceOwner,
    pub(crate) options: SequenceOptions,
}

/// ALTER SEQUENCE with options.
#[derive(Debug)]
pub(crate) struct AlterSequence {
    pub(crate) name: ObjectName,
    pub(crate) if_exists: bool,
    pub(crate) data_type: Option<Id<TypeName>>,
    pub(crate) options: SequenceOptions,
    /// OWNED BY a table and its column, or by none.
    pub(crate) owner: Option<SequenceOwner>,
}

/// OWNED BY; `None`: NONE.
pub(crate) type SequenceOwner = Option<(ObjectName, String)>;

impl AlterSequence {
    /// `None`: what is said of the sequence is none of its options.
    pub(super) fn of(command: Clause<'_>) -> Result<Option<AlterSequence>> {
        let options: Vec<Clause<'_>> = command.parts("sequence_option").collect();
        if options.is_empty() {
            return Ok(None);
        }
        let owned = options.iter().find(|option| kind(**option) == TokenKind::Owned);
        Ok(Some(AlterSequence {
            name: command.relation()?,
            if_exists: command.part("if_exists").is_some(),
            data_type: data_type(command)?,
            options: SequenceOptions::of_named(command.parts("sequence_option"))?,
            owner: owned.map(|option| owner(*option)).transpose()?,
        }))
    }
}

/// SQLSTATE 42601.
fn owner(option: Clause<'_>) -> Result<SequenceOwner> {
    let mut names = option.dotted_names().next().unwrap_or_default();
    match (names.pop(), names.is_empty()) {
        (Some(none), true) if none == "none" => Ok(None),
        (Some(column), false) => Ok(Some((object_name(names)?, column))),
        _ => {
            let error = Error::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option");
            Err(option.here(error.with_hint("Specify OWNED BY table.column or OWNED BY NONE.")))
        }
    }
}

fn data_type(clause: Clause<'_>) -> Result<Option<Id<TypeName>>> {
    clause.parts("sequence_option").find(|option| option.has(TokenKind::As)).map(Clause::data_type).transpose()
}

/// The options of a sequence, as given; `Some(None)` is what NO says, and RESTART without a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SequenceOptions {
    pub(crate) start: Option<i64>,
    pub(crate) increment: Option<i64>,
    pub(crate) min: Option<Option<i64>>,
    pub(crate) max: Option<Option<i64>>,
    pub(crate) cycle: Option<bool>,
    pub(crate) restart: Option<Option<i64>>,
}

impl CreateSequence {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateSequence> {
        let owned = command.parts("sequence_option").find(|option| kind(*option) == TokenKind::Owned);
        Ok(CreateSequence {
            name: command.relation()?,
            temporary: super::create_table::is_temporary(command),
            if_not_exists: command.part("if_not_exists").is_some(),
            data_type: data_type(command)?,
            owner: owned.map(owner).transpose()?.flatten(),
            options: SequenceOptions::of_named(command.parts("sequence_option"))?,
        })
    }
}

/// SQLSTATE 0A000 where an identity column's sequence is to be another column's.
pub(super) fn refuse_owner(clause: Clause<'_>) -> Result<()> {
    match clause.parts("sequence_option").find(|option| kind(*option) == TokenKind::Owned) {
        Some(option) if owner(option)?.is_some() => Err(option
            .unsupported("OWNED BY of an identity column's sequence")
            .with_hint("Leave it out: the sequence is its column's.")),
        _ => Ok(()),
    }
}

impl SequenceOptions {
    /// Of a sequence that has its name: SQLSTATE 42601 where another is given.
    pub(super) fn of_named<'p>(given: impl Iterator<Item = Clause<'p>>) -> Result<SequenceOptions> {
        let given: Vec<Clause<'p>> = given.collect();
        match given.iter().find(|option| kind(**option) == TokenKind::Name) {
            Some(option) => {
                Err(option.here(Error::new(SqlState::SYNTAX_ERROR, "invalid sequence option SEQUENCE NAME")))
            }
            None => SequenceOptions::of_each(given.into_iter()),
        }
    }

    /// The options right in this.
    pub(super) fn of(clause: Clause<'_>) -> Result<SequenceOptions> {
        SequenceOptions::of_each(clause.parts("sequence_option"))
    }

    fn of_each<'p>(given: impl Iterator<Item = Clause<'p>>) -> Result<SequenceOptions> {
        let mut options = SequenceOptions::default();
        let mut seen = Vec::new();
        for option in given {
            let kind = kind(option);
            if seen.contains(&kind) {
                let error = Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options");
                return Err(option.here(error));
            }
            seen.push(kind);
            options.set(option, kind)?;
        }
        Ok(options)
    }

    fn set(&mut self, option: Clause<'_>, kind: TokenKind) -> Result<()> {
        let given = !option.has(TokenKind::No);
        match kind {
            TokenKind::Increment => self.increment = Some(number(option)?),
            TokenKind::Start => self.start = Some(number(option)?),
            TokenKind::Minvalue => self.min = Some(given.then(|| number(option)).transpose()?),
            TokenKind::Maxvalue => self.max = Some(given.then(|| number(option)).transpose()?),
            TokenKind::Cycle => self.cycle = Some(given),
            TokenKind::Restart => self.restart = Some(option.part("number").map(|_| number(option)).transpose()?),
            // Whose it is has looked at its name.
            TokenKind::As | TokenKind::Name | TokenKind::Owned => {}
            // Values are always reserved ahead, how many is the engine's business.
            TokenKind::Cache => {
                let count = number(option)?;
                if count < 1 {
                    let message = format!("CACHE ({count}) must be greater than zero");
                    return Err(option.here(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)));
                }
            }
            _ => return Err(option.unsupported(option.first_words())),
        }
        Ok(())
    }
}

/// The word that tells one option from another.
fn kind(option: Clause<'_>) -> TokenKind {
    use TokenKind as T;
    let kinds =
        [T::Increment, T::Start, T::Minvalue, T::Maxvalue, T::Cycle, T::As, T::Cache, T::Owned, T::Restart, T::Name];
    kinds.into_iter().find(|kind| option.has(*kind)).unwrap_or(T::Sequence)
}

fn number(option: Clause<'_>) -> Result<i64> {
    let text = option.part("number").map(Clause::value_text).unwrap_or_default();
    let text = text.strip_prefix('+').unwrap_or(&text);
    text.replace('_', "").parse().map_err(|_| {
        option.here(Error::new(SqlState::SYNTAX_ERROR, format!("invalid number \"{text}\" for a sequence")))
    })
}
