//! The row program: what becomes of one row when it is inserted, changed or deleted. The one place where rows and their
//! index entries are written, and where what they must satisfy is looked at.
//!
//! A program is compiled for a table and a kind of change ([`RowInsert`], [`RowChange`], [`RowDelete`]), and is a list of
//! steps: *compute* (new values), *fit* (lengths), *check* (NOT NULL, CHECK), *encode* (row, keys, the keys of rows
//! referred to), *look up* (what could stop it), *write*, *derive* (the change feed's entry, what is added to the groups of materialized views), *return*. It speaks of [`Trees`] only, which a transaction and
//! the point path's writer both are: the point path runs it for one row under the commit lock, the statements of `dml` for
//! each of their rows, in the phases that many rows ask for. Neither has rules of its own.
//!
//! - What a row violates is a [`Violation`], put into words where it is told.
//! - Values are lent from where they are (parameters, the stored row, a batch), bytes go to buffers that are kept: a row
//!   costs no allocation but where a function makes a value.
//! - A row that is changed is copied first: no expression is evaluated while a page or a transaction is held. Rows whose new
//!   values are there and only have to be patched in are patched where they lie (`RowPatches`).

mod addition;
mod affected;
mod asked;
mod assign;
mod change;
mod conflict;
mod delete;
mod derive;
mod entry;
mod env;
mod fit;
mod insert;
mod new_rows;
mod observer;
mod operand;
mod places;
mod proposed;
mod reference;
mod rules;
mod stop;
mod sum;
mod target;
mod trees;
mod version;
mod violation;
mod way;

use crate::exec::Stored;
pub(crate) use addition::{Addition, group_entry, long_group};
pub(crate) use affected::Affected;
pub(crate) use change::{ChangeBuffers, RowChange};
pub(crate) use conflict::{ByOthers, Conflict, Touched};
pub(crate) use delete::{DeleteBuffers, RowDelete};
pub(crate) use entry::{Entries, Entry};
pub(crate) use env::{Env, NoColumns, eval, has_columns, is_of_point};
pub(crate) use fit::{fitted, settle};
pub(crate) use insert::{InsertBuffers, Numbers, RowInsert};
use new_rows::NewColumn;
pub(crate) use new_rows::NewRows;
pub(crate) use observer::{ObservedAtOnce, RowObserver};
pub(crate) use operand::Operand;
pub(crate) use places::RowPlaces;
pub(crate) use proposed::{BatchRow, LentRow, Proposed, RowSource, Spare};
pub(crate) use reference::{Lookup, Reference, Wanted, converted, is_padded, same_key_bytes};
pub(crate) use rules::{Rules, check_views};
pub(crate) use stop::{Stop, Violation};
pub(crate) use target::Target;
pub(crate) use trees::{Trees, exists, look_up};
pub(crate) use violation::{key_detail, still_referenced};
pub(crate) use way::{Audience, Way};
