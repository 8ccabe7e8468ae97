//! What values' meaning depends on besides themselves: the clock and the session's time zone.

/// What a function or conversion may depend on besides its arguments.
#[derive(Clone, Debug)]
pub struct EvalContext {
    /// The transaction's start: what `now()` and `current_date` say. Microseconds since 2000-01-01 UTC.
    pub transaction_timestamp: i64,
    /// The statement's start, for `statement_timestamp()`.
    pub statement_timestamp: i64,
    /// IANA name of the session's time zone.
    pub time_zone: Box<str>,
}

impl EvalContext {
    /// A context in UTC whose transaction and statement begin now.
    pub fn now() -> EvalContext {
        let now = super::datetime::clock_micros();
        EvalContext { transaction_timestamp: now, statement_timestamp: now, time_zone: "UTC".into() }
    }
}
