//! Values on their way into a statement and out of it.

/// A parameter, a key or a value, lent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Datum<'a> {
    Int(i64),
    Text(&'a str),
}

impl<'a> Datum<'a> {
    /// The bytes that a key-value engine keeps: an integer's in big-endian order, so that they sort as it does (none
    /// here is negative), a text's own. `buffer` lends room.
    pub fn bytes<'b>(&self, buffer: &'b mut [u8; 8]) -> &'b [u8]
    where
        'a: 'b,
    {
        match self {
            Datum::Int(int) => {
                *buffer = int.to_be_bytes();
                buffer
            }
            Datum::Text(text) => text.as_bytes(),
        }
    }
}

/// A value of a result, owned, in the few types in which engines can be compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    Real(f64),
    /// Texts, and dates as `YYYY-MM-DD`.
    Text(String),
}

impl Cell {
    fn number(&self) -> Option<f64> {
        match self {
            Cell::Int(int) => Some(*int as f64),
            Cell::Real(real) => Some(*real),
            _ => None,
        }
    }

    /// Equal; numbers within one part in a million, because engines that sum floating-point numbers do it in their own
    /// order; texts without the blanks that `char(n)` pads with.
    pub fn agrees(&self, other: &Cell) -> bool {
        match (self, other) {
            (Cell::Null, Cell::Null) => true,
            (Cell::Text(mine), Cell::Text(theirs)) => mine.trim_end() == theirs.trim_end(),
            _ => match (self.number(), other.number()) {
                (Some(mine), Some(theirs)) => (mine - theirs).abs() <= 1e-6 * mine.abs().max(theirs.abs()).max(1.0),
                _ => false,
            },
        }
    }
}

/// What a query gave: its rows, and a sum into which every value went, so that none could be left unread.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Digest {
    pub rows: u64,
    pub sum: f64,
}

impl Digest {
    pub fn add_int(&mut self, int: i64) {
        self.sum += int as f64;
    }

    pub fn add_real(&mut self, real: f64) {
        self.sum += real;
    }

    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.sum += bytes.len() as f64;
    }

    /// The same rows, and the same values as far as the sum tells.
    pub fn agrees(&self, other: &Digest) -> bool {
        self.rows == other.rows && Cell::Real(self.sum).agrees(&Cell::Real(other.sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_agree_within_the_error_of_summing() {
        assert!(Cell::Int(3).agrees(&Cell::Real(3.0)));
        assert!(Cell::Real(1e9).agrees(&Cell::Real(1e9 + 1.0)));
        assert!(!Cell::Real(1e9).agrees(&Cell::Real(1e9 + 1e5)));
        assert!(Cell::Text("AIR   ".into()).agrees(&Cell::Text("AIR".into())));
        assert!(!Cell::Text("1".into()).agrees(&Cell::Int(1)));
        assert!(!Cell::Null.agrees(&Cell::Int(0)));
    }

    #[test]
    fn integers_sort_as_their_bytes() {
        let (mut low, mut high) = ([0; 8], [0; 8]);
        assert!(Datum::Int(255).bytes(&mut low) < Datum::Int(256).bytes(&mut high));
        assert_eq!(Datum::Text("ab").bytes(&mut low), b"ab");
    }
}
