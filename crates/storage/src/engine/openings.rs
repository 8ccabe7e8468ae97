//! Openings of a database, and positions as users are told them.
//!
//! A log position alone does not name a commit for good: a crash takes commits that nobody waited for, and others come to stand
//! behind where they stood. So a database has *openings*: a number that is raised, durably and before the first commit, by each
//! opening after an unclean end, with the position where it began. What users are told is a [`Position`], which names its opening.
//!
//! What must hold:
//! - A number is never given again, whichever library wrote the file in between: one that knows nothing of openings leaves a 0,
//!   and then the meta page's sequence number, which every library raises at each opening, is the next.
//! - Whatever was lost stood behind where the next opening began, and whatever was not stood before it.
//! - A position of a commit that was lost is an error, never "reached", and never "not so far": who waits would wait for ever.

use std::fmt;

use super::shared::Engine;
use crate::broken::{self, Broken};
use crate::bytes::{get_u64, put_u64};
use crate::{Error, Result};

/// Positions of the newest opening, and of so many before it, can be compared.
const KEPT: usize = 8;

/// No database comes to so many.
const NUMBER_MAX: u64 = 1 << 48;

/// What the meta page says of openings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Openings {
    /// Of the newest; 0: the page was written by a library that knows of none.
    pub(crate) number: u64,
    /// Behind the last commit before it began, and before each of those before it, plus 1; 0: that is not known.
    began: [u64; KEPT],
}

impl Openings {
    pub(crate) const BYTES: usize = 8 + 8 * KEPT;
    /// Of a database that is new.
    pub(crate) const FIRST: Openings = Openings { number: 1, began: [0; KEPT] };

    pub(crate) fn encode(&self, out: &mut [u8]) {
        put_u64(out, 0, self.number);
        self.began.iter().enumerate().for_each(|(i, began)| put_u64(out, 8 + 8 * i, *began));
    }

    pub(crate) fn decode(bytes: &[u8]) -> Openings {
        let number = get_u64(bytes, 0);
        // What was forged must not overflow.
        match number <= NUMBER_MAX {
            true => Openings { number, began: std::array::from_fn(|i| get_u64(bytes, 8 + 8 * i)) },
            false => Openings::default(),
        }
    }

    /// With one more, which begins behind the commit at `position`. `sequence`: of the meta page that tells of it first.
    pub(crate) fn next(&self, position: u64, sequence: u64) -> Openings {
        if self.number == 0 {
            return Openings { number: sequence.max(1), ..Openings::default() };
        }
        let mut began = [position + 1; KEPT];
        began[1..].copy_from_slice(&self.began[..KEPT - 1]);
        Openings { number: self.number + 1, began }
    }

    /// One behind all of another database, of whose positions nothing is known here.
    pub(crate) fn behind(other: u64) -> Openings {
        Openings { number: other + 1, began: [0; KEPT] }
    }

    /// Up to where the commits of an earlier opening were kept.
    fn kept(&self, opening: u64) -> Option<u64> {
        let after = self.number.checked_sub(opening)?.checked_sub(1)?;
        self.began.get(usize::try_from(after).ok()?)?.checked_sub(1)
    }
}

/// This opening of the database, by which the positions that it tells can be told from others'.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opening {
    pub(crate) timeline: u64,
    pub(crate) openings: Openings,
    /// A number that no other opening has, be it after a clean end; 0 where the database is only read.
    pub(crate) session: u64,
    /// Commits of this session stand behind this.
    pub(crate) began: u64,
}

/// Where commits stand in the log, as users are told: all commits up to there. Positions of one opening of a database are ordered
/// (`partial_cmp`); of two openings only the database can tell ([`Store::place_of`](crate::Store::place_of)). Text keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Of the database's id; 0: not known.
    database: u32,
    timeline: u64,
    /// 0: not known; told by a change feed of an earlier version, by its session alone.
    opening: u64,
    session: u64,
    position: u64,
}

impl Position {
    /// As `session`, an opening of the same number, would have told it.
    pub fn in_session(self, session: u64) -> Position {
        Position { session, ..self }
    }

    /// A number of the session that told it, random; 0: one that only read.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Names the opening of the database that it is of: another after each crash.
    pub fn opening(&self) -> String {
        let Position { database, timeline, opening, .. } = self;
        format!("{database:x}-{timeline:x}-{opening:x}")
    }

    /// As change feeds of earlier versions told it: by a random number of the session, or 0, and the log position.
    pub fn is_of_earlier_version(&self) -> bool {
        self.opening == 0
    }

    /// The place in the log, of whatever opening. Say by [`Store::place_of`](crate::Store::place_of) whether it means anything.
    pub fn bare(&self) -> u64 {
        self.position
    }

    /// What [`fmt::Display`] wrote, or a change feed of an earlier version; `None`: anything else.
    pub fn parse(text: &str) -> Option<Position> {
        let parts: Vec<&str> = text.split('-').collect();
        let numbers: Option<Vec<u64>> = parts.iter().map(|part| number(part)).collect();
        match (parts.as_slice(), numbers?.as_slice()) {
            ([_, _], &[session, position]) => {
                Some(Position { database: 0, timeline: 1, opening: 0, session, position })
            }
            ([FORM, ..], &[_, database, timeline, opening, session, position]) if opening > 0 => {
                let database = u32::try_from(database).ok()?;
                Some(Position { database, timeline, opening, session, position })
            }
            _ => None,
        }
    }

    /// What makes two of them the same: the session does not, for a state can be told of by several.
    fn identity(&self) -> (u32, u64, u64, u64, u64) {
        let session = if self.opening == 0 { self.session } else { 0 };
        (self.database, self.timeline, self.opening, session, self.position)
    }
}

/// The version of the text.
const FORM: &str = "1";

fn number(hex: &str) -> Option<u64> {
    // `from_str_radix` takes a sign, too.
    hex.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u64::from_str_radix(hex, 16).ok())?
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { database, timeline, opening, session, position } = self;
        match opening {
            0 => write!(f, "{session:016x}-{position:x}"),
            _ => write!(f, "{FORM}-{database:08x}-{timeline:x}-{opening:x}-{session:016x}-{position:x}"),
        }
    }
}

impl PartialEq for Position {
    fn eq(&self, other: &Position) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Position {}

impl std::hash::Hash for Position {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Position) -> Option<std::cmp::Ordering> {
        let (mine, others) = (self.identity(), other.identity());
        let is_same = (mine.0, mine.1, mine.2, mine.3) == (others.0, others.1, others.2, others.3);
        is_same.then(|| self.position.cmp(&other.position))
    }
}

impl Engine {
    fn database_tag(&self) -> u32 {
        let id = self.database;
        // 0 is none.
        ((id ^ id >> 32 ^ id >> 64 ^ id >> 96) as u32).max(1)
    }

    /// A place in this database's log, as users are told it.
    pub(crate) fn told(&self, position: u64) -> Position {
        let Opening { timeline, openings, session, .. } = self.opening;
        // A file that an earlier library wrote, and that is only read, has no number yet.
        let opening = openings.number.max(1);
        Position { database: self.database_tag(), timeline, opening, session, position }
    }

    /// Where in this database's log it is what was told; an error where that is nowhere.
    pub(crate) fn place_of(&self, told: &Position) -> Result<u64> {
        let Opening { timeline, openings, session, began } = self.opening;
        let refused = |why| Err(Error::NoSuchPosition { position: told.to_string(), why });
        let newest = openings.number.max(1);
        if told.opening == 0 {
            return refused("it is a place in a change feed, told by an earlier version");
        }
        if (told.database, told.timeline) != (self.database_tag(), timeline) || told.opening > newest {
            return refused("it was told by another database, of which this may be a copy, or a copy of this one");
        }
        let kept = match told.opening == newest {
            _ if broken::is(Broken::PositionsBare) => u64::MAX,
            true if told.session == session && session != 0 => u64::MAX,
            true => began,
            false => match openings.kept(told.opening) {
                Some(kept) => kept,
                None => return refused("too many unclean ends are between: it is not known any more what was kept"),
            },
        };
        match told.position <= kept {
            true => Ok(told.position),
            false => refused("a crash took the commit that stood there, or the file was replaced by an earlier copy"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_are_known_as_far_back_as_there_is_room() {
        let mut openings = Openings::FIRST;
        for opening in 2..=20 {
            openings = openings.next(opening * 100, 7);
            assert_eq!(openings.number, opening);
        }
        let mut bytes = [0; Openings::BYTES];
        openings.encode(&mut bytes);
        assert_eq!(Openings::decode(&bytes), openings);
        for opening in 0..=25 {
            let expected = (12..20).contains(&opening).then_some((opening + 1) * 100);
            assert_eq!(openings.kept(opening), expected, "{opening}");
        }
        assert_eq!(Openings::FIRST.next(0, 2).kept(1), Some(0));
    }

    #[test]
    fn a_library_that_knows_of_no_openings_can_not_have_a_number_given_again() {
        let forgotten = Openings::default().next(1000, 57);
        assert_eq!((forgotten.number, forgotten.kept(56)), (57, None));
        assert_eq!(forgotten.next(2000, 58).kept(57), Some(2000));
        assert_eq!(Openings::behind(9).next(3, 4).kept(9), None);
    }

    #[test]
    fn text_is_the_same_position_or_none() {
        let position = Position { database: 7, timeline: 1, opening: 3, session: u64::MAX, position: 4_195_084 };
        assert_eq!(position.to_string(), "1-00000007-1-3-ffffffffffffffff-40030c");
        assert_eq!(Position::parse(&position.to_string()), Some(position));
        let earlier = Position::parse("0123456789abcdef-10").unwrap();
        assert!(earlier.is_of_earlier_version());
        assert_eq!(earlier.to_string(), "0123456789abcdef-10");
        for wrong in ["", "nonsense", "10", "1-", "2-7-1-3-f-4", "1-7-1-0-f-4", "1-7-1-3-f", "1-7-1-3-f-4-5", "+1-2"] {
            assert_eq!(Position::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn positions_are_ordered_within_an_opening_only() {
        let of = |opening, position| Position { database: 7, timeline: 1, opening, session: 0, position };
        assert!(of(2, 10) < of(2, 11) && of(2, 10) == of(2, 10).in_session(5));
        assert_eq!(of(2, 10).partial_cmp(&of(3, 11)), None);
    }
}
