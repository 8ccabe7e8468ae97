//! What binding promises, checked against answers recorded from PostgreSQL 15.

mod expressions;
mod fields;
mod fixture;
mod hostile;
mod plans;
mod recorded;
mod syntax;
mod tpch;
