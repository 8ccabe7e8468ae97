//! INSERT.

mod inserter;
mod plan;
mod repeated;
mod rows;

pub(crate) use inserter::{Inserter, InserterBuffers, OfRow};
pub(crate) use plan::InsertPlan;
pub(crate) use repeated::insert_each;
