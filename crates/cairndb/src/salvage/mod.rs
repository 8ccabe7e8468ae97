//! Salvage: the storage engine saves what is left of the trees; what needs the catalog happens here.
//!
//! - Indexes are made anew from the rows that were saved.
//! - Rows that can not be rows of their table (they do not decode, or violate NOT NULL, CHECK or uniqueness) are taken
//!   out of it and kept with the uncertain ones, in a database of their own. Rows whose foreign key refers to what was
//!   lost stay, and are named.
//! - What is lost is said in words of tables and keys.

mod catalog;
mod indexes;
mod report;
mod rows;
mod run;
#[cfg(test)]
mod tests;
mod uncertain;
mod words;

pub use crate::verify::DanglingReferences;
pub use report::{LostRows, LostWhat, SalvageProgress, Salvaged, SavedTable, UncertainFile};
pub use run::{salvage, salvage_in, salvage_with_progress};
