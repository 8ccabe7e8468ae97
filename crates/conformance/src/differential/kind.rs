//! The types that are generated.

/// A column's or expression's type, as far as the generator cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    Double,
    Numeric,
    Text,
    Varchar,
    Char,
    Bytea,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    /// Whole numbers, in an array.
    Integers,
    Jsonb,
    /// An enum of the case's own.
    Mood,
    /// A domain over whole numbers, with a condition.
    Amount,
    /// A composite type: a whole number and a text.
    Pair,
    /// Those, in an array.
    Pairs,
    /// Enums, in an array.
    Moods,
    /// Texts, in an array.
    Texts,
}

impl Kind {
    /// Every type of the PostgreSQL dialect.
    pub const ALL: [Kind; 25] = [
        Kind::Boolean,
        Kind::SmallInt,
        Kind::Integer,
        Kind::BigInt,
        Kind::Real,
        Kind::Double,
        Kind::Numeric,
        Kind::Text,
        Kind::Varchar,
        Kind::Char,
        Kind::Bytea,
        Kind::Date,
        Kind::Time,
        Kind::Timestamp,
        Kind::TimestampTz,
        Kind::Interval,
        Kind::Uuid,
        Kind::Integers,
        Kind::Jsonb,
        Kind::Mood,
        Kind::Amount,
        Kind::Pair,
        Kind::Pairs,
        Kind::Moods,
        Kind::Texts,
    ];

    /// The name in a column definition.
    pub fn sql(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::SmallInt => "smallint",
            Kind::Integer => "integer",
            Kind::BigInt => "bigint",
            Kind::Real => "real",
            Kind::Double => "double precision",
            Kind::Numeric => "numeric(12,3)",
            Kind::Text => "text",
            Kind::Varchar => "varchar(12)",
            Kind::Char => "char(5)",
            Kind::Bytea => "bytea",
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::Timestamp => "timestamp",
            Kind::TimestampTz => "timestamptz",
            Kind::Interval => "interval",
            Kind::Uuid => "uuid",
            Kind::Integers => "integer[]",
            Kind::Jsonb => "jsonb",
            Kind::Mood => "mood",
            Kind::Amount => "amount",
            Kind::Pair => "pair",
            Kind::Pairs => "pair[]",
            Kind::Moods => "mood[]",
            Kind::Texts => "text[]",
        }
    }

    /// Equal values of these may look different (1.0 and 1.00, also in JSON, a month and 30 days, 0 and -0): which of them a
    /// DISTINCT or LIMIT keeps is open, so only columns and no expressions of such types go there.
    pub fn looks_vary(self) -> bool {
        matches!(self, Kind::Numeric | Kind::Interval | Kind::Real | Kind::Double | Kind::Jsonb)
    }

    /// `sum` and `avg` are exact, whatever the order of rows.
    pub fn sums_exactly(self) -> bool {
        matches!(self, Kind::SmallInt | Kind::Integer | Kind::BigInt | Kind::Numeric | Kind::Amount)
    }

    /// `min` and `max` take it in PostgreSQL 15.
    pub fn has_minimum(self) -> bool {
        !matches!(self, Kind::Boolean | Kind::Uuid | Kind::Bytea | Kind::Jsonb | Kind::Pair)
    }

    /// An array, whose arrays PostgreSQL does not have.
    pub fn is_array(self) -> bool {
        matches!(self, Kind::Integers | Kind::Pairs | Kind::Moods | Kind::Texts)
    }

    /// What an inverted index takes.
    pub fn has_entries(self) -> bool {
        self.is_array() || self == Kind::Jsonb
    }

    /// A key, of a table or an index, may be of it. Composite ones are not supported here.
    pub fn is_key(self) -> bool {
        !matches!(self, Kind::Pair | Kind::Pairs)
    }

    /// One of the character types.
    pub fn is_text(self) -> bool {
        matches!(self, Kind::Text | Kind::Varchar | Kind::Char)
    }
}
