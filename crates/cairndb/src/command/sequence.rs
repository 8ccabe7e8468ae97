//! CREATE SEQUENCE, and the options of sequences wherever they stand.

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
    pub(crate) options: SequenceOptions,
}

/// ALTER SEQUENCE .. OWNED BY.
#[derive(Debug)]
pub(crate) struct OwnSequence {
    pub(crate) name: ObjectName,
    pub(crate) if_exists: bool,
    /// A table and its column; `None`: it belongs to none.
    pub(crate) owner: Option<(ObjectName, String)>,
}

impl OwnSequence {
    /// `None`: something else is said of the sequence.
    pub(super) fn of(command: Clause<'_>) -> Result<Option<OwnSequence>> {
        let options: Vec<Clause<'_>> = command.parts("sequence_option").collect();
        let [option] = options.as_slice() else { return Ok(None) };
        if kind(*option) != TokenKind::Owned {
            return Ok(None);
        }
        let mut names = option.dotted_names().next().unwrap_or_default();
        let owner = match (names.pop(), names.is_empty()) {
            (Some(none), true) if none == "none" => None,
            (Some(column), false) => Some((object_name(names)?, column)),
            _ => {
                let error = Error::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option");
                return Err(option.here(error.with_hint("Specify OWNED BY table.column or OWNED BY NONE.")));
            }
        };
        let if_exists = command.part("if_exists").is_some();
        Ok(Some(OwnSequence { name: command.relation()?, if_exists, owner }))
    }
}

/// The options of a sequence, as given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SequenceOptions {
    pub(crate) start: Option<i64>,
    pub(crate) increment: Option<i64>,
    pub(crate) min: Option<i64>,
    pub(crate) max: Option<i64>,
    pub(crate) cycle: bool,
}

impl CreateSequence {
    pub(super) fn of(command: Clause<'_>) -> Result<CreateSequence> {
        let mut data_types = command.parts("sequence_option").filter(|option| option.has(TokenKind::As));
        Ok(CreateSequence {
            name: command.relation()?,
            temporary: super::create_table::is_temporary(command, "sequence")?,
            if_not_exists: command.part("if_not_exists").is_some(),
            data_type: data_types.next().map(Clause::data_type).transpose()?,
            options: SequenceOptions::of(command)?,
        })
    }
}

impl SequenceOptions {
    /// The options right in this.
    pub(super) fn of(clause: Clause<'_>) -> Result<SequenceOptions> {
        let mut options = SequenceOptions::default();
        let mut seen = Vec::new();
        for option in clause.parts("sequence_option") {
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
            TokenKind::Minvalue => self.min = given.then(|| number(option)).transpose()?,
            TokenKind::Maxvalue => self.max = given.then(|| number(option)).transpose()?,
            TokenKind::Cycle => self.cycle = given,
            // Whose it is has looked at its name.
            TokenKind::As | TokenKind::Name => {}
            // Values are always reserved ahead, how many is the engine's business.
            TokenKind::Cache => {
                let count = number(option)?;
                if count < 1 {
                    let message = format!("CACHE ({count}) must be greater than zero");
                    return Err(option.here(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)));
                }
            }
            TokenKind::Owned if is_none(option) => {}
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

/// OWNED BY NONE.
fn is_none(option: Clause<'_>) -> bool {
    option.part("any_name").is_some_and(|name| name.names().eq(["none"]))
}

fn number(option: Clause<'_>) -> Result<i64> {
    let text = option.part("number").map(Clause::value_text).unwrap_or_default();
    let text = text.strip_prefix('+').unwrap_or(&text);
    text.replace('_', "").parse().map_err(|_| {
        option.here(Error::new(SqlState::SYNTAX_ERROR, format!("invalid number \"{text}\" for a sequence")))
    })
}
