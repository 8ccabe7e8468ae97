//! From text to syntax: `sqlparser` with PostgreSQL's dialect, behind caps on nesting and length.
