//! The 22 queries, and how SQLite spells them.

const QUERIES: &str = include_str!("../../../tpch/queries.sql");

/// The queries in PostgreSQL's dialect, in their order.
pub fn all() -> Vec<String> {
    // Comments may hold semicolons.
    let lines = QUERIES.lines().filter(|line| !line.starts_with("--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    text.split(';').map(str::trim).filter(|sql| !sql.is_empty()).map(str::to_string).collect()
}

/// The same query for SQLite, where dates are texts, intervals are words of a function, and a derived table's columns
/// cannot be named after it.
pub fn for_sqlite(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(at) = rest.find("date '") {
        out.push_str(&rest[..at]);
        let (date, after) = quoted(&rest[at + "date ".len()..]);
        let (shifted, after) = interval(after);
        match shifted {
            Some(by) => out.push_str(&format!("date('{date}', '{by}')")),
            None => out.push_str(&format!("'{date}'")),
        }
        rest = after;
    }
    out.push_str(rest);
    out.replace("extract(year from ", "strftime('%Y', ")
        .replace("strftime('%Y', l_shipdate)", "cast(strftime('%Y', l_shipdate) as integer)")
        .replace("strftime('%Y', o_orderdate)", "cast(strftime('%Y', o_orderdate) as integer)")
        // In binary floating point .06 + 0.01 is less than .07, and the rows at the bound would be lost.
        .replace("between .06 - 0.01 and .06 + 0.01", "between .05 and .07")
        .replace("substring(c_phone from 1 for 2)", "substr(c_phone, 1, 2)")
        .replace("count(o_orderkey)", "count(o_orderkey) as c_count")
        .replace("as c_orders (c_custkey, c_count)", "as c_orders")
}

/// A text in quotes, and what follows it.
fn quoted(text: &str) -> (&str, &str) {
    text.strip_prefix('\'').and_then(|text| text.split_once('\'')).unwrap_or((text, ""))
}

/// `+ interval '3' month` as SQLite's `+3 month`, if that is what follows.
fn interval(text: &str) -> (Option<String>, &str) {
    let trimmed = text.trim_start();
    let Some(sign) = trimmed.chars().next().filter(|c| "+-".contains(*c)) else { return (None, text) };
    let Some(after) = trimmed[1..].trim_start().strip_prefix("interval ") else { return (None, text) };
    let (count, after) = quoted(after);
    let after = after.trim_start();
    let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
    (Some(format!("{sign}{count} {}", &after[..end])), &after[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_twenty_two() {
        assert_eq!(all().len(), 22);
    }

    #[test]
    fn dates_and_intervals_become_sqlites() {
        let sql = "where d <= date '1998-12-01' - interval '90' day and e >= date '1995-03-15'";
        assert_eq!(for_sqlite(sql), "where d <= date('1998-12-01', '-90 day') and e >= '1995-03-15'");
        assert_eq!(
            for_sqlite("extract(year from o_orderdate) as o_year"),
            "cast(strftime('%Y', o_orderdate) as integer) as o_year"
        );
    }

    #[test]
    fn nothing_of_the_other_dialect_is_left() {
        for sql in all() {
            let sql = for_sqlite(&sql);
            assert!(!sql.contains("interval") && !sql.contains("extract") && !sql.contains("substring"), "{sql}");
        }
    }
}
