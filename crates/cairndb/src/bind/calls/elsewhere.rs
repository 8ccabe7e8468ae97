//! Functions of other databases that people call by habit, and what does it here.

/// What to write instead of a function that is known from elsewhere; `None` where nothing is known of it.
pub(super) fn instead_of(name: &str) -> Option<&'static str> {
    let at = KNOWN.binary_search_by_key(&name, |(known, _)| known).ok()?;
    KNOWN.get(at).map(|(_, instead)| *instead)
}

/// In order of their names.
const KNOWN: [(&str, &str); 38] = [
    ("charindex", "Use strpos(text, part)."),
    ("convert", "Use CAST(value AS type)."),
    ("curdate", "Use current_date."),
    ("curtime", "Use current_time."),
    ("date", "Use current_date for today, now() for this moment, CAST(value AS date) for the day of a value."),
    ("dateadd", "Add an interval: value + INTERVAL '1 day'."),
    ("datediff", "Subtract: of two dates that gives days, of two timestamps an interval."),
    ("datetime", "Use now() for this moment, CAST(value AS timestamp) for a value."),
    ("getdate", "Use now()."),
    ("getutcdate", "Use now() AT TIME ZONE 'UTC'."),
    ("glob", "Use LIKE or the operator ~."),
    ("group_concat", "Use string_agg(value, ',')."),
    ("hex", "Use encode(bytes, 'hex') or to_hex(integer)."),
    ("ifnull", "Use COALESCE(value, instead)."),
    ("iif", "Use CASE WHEN condition THEN value ELSE instead END."),
    ("instr", "Use strpos(text, part)."),
    ("isnull", "Use value IS NULL, or COALESCE(value, instead)."),
    ("json_extract", "Use the operators -> and ->>, or jsonb_path_query."),
    ("julianday", "Use EXTRACT(julian FROM value)."),
    ("last_insert_id", "Use RETURNING."),
    ("last_insert_rowid", "Use RETURNING."),
    ("len", "Use length(text)."),
    ("list_value", "Use ARRAY[...]."),
    ("newid", "Use gen_random_uuid()."),
    ("nvl", "Use COALESCE(value, instead)."),
    ("printf", "Use format(text, ...)."),
    ("quote", "Use quote_literal(value)."),
    ("rand", "Use random()."),
    ("strftime", "Use to_char(value, 'YYYY-MM-DD')."),
    ("sysdate", "Use now()."),
    ("time", "Use localtime for now, CAST(value AS time) for the time of a value."),
    ("total", "Use COALESCE(sum(value), 0)."),
    ("typeof", "Use pg_typeof(value)."),
    ("unhex", "Use decode(text, 'hex')."),
    ("unixepoch", "Use EXTRACT(epoch FROM value)."),
    ("utc_timestamp", "Use now() AT TIME ZONE 'UTC'."),
    ("uuid", "Use gen_random_uuid()."),
    ("zeroblob", "Use decode(repeat('00', n), 'hex')."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_are_found_by_name() {
        assert!(KNOWN.is_sorted());
        assert_eq!(instead_of("ifnull"), Some("Use COALESCE(value, instead)."));
        assert_eq!(instead_of("zeroblob"), Some("Use decode(repeat('00', n), 'hex')."));
        assert_eq!(instead_of("coalesce"), None);
    }
}
