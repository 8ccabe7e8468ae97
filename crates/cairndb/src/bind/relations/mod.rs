//! What stands in FROM: tables, views, WITH queries, functions, joins; and the names that they put in sight.

pub(super) mod from;
pub(super) mod from_functions;
mod join;
mod rows_from;
mod sample;
pub(super) mod scope;
pub(super) mod search;
pub(super) mod star;
pub(super) mod views;
pub(super) mod virtuals;
pub(super) mod with;
