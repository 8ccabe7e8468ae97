//! INSERT.

mod inserter;
mod plan;
mod repeated;
mod rows;

pub(crate) use inserter::{Inserter, InserterBuffers, InserterState, OfRow};
pub(crate) use plan::InsertPlan;
pub(super) use plan::Inserting;
pub(crate) use repeated::insert_each;
