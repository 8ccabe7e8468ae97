//! From syntax to meaning: names, types, overloads, coercions, as PostgreSQL resolves them.

mod parameters;
mod statement;

pub use parameters::ParameterTypes;
pub use statement::{
    Arbiter, BoundDelete, BoundExplain, BoundInsert, BoundStatement, BoundUpdate, ConflictAction, OnConflict,
    Returning, bind_check, bind_default, bind_statement,
};
