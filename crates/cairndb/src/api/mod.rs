//! The public API: databases, connections, statements, rows, transactions.
