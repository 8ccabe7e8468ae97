//! EXPLAIN.

use super::execute::Executed;
use super::prepared::Prepared;
use crate::bind::BoundExplain;
use crate::dml::DmlContext;
use crate::exec::ExecContext;
use crate::{Error, Result};

/// `dml`: where EXPLAIN ANALYZE of a statement that writes runs it.
pub(super) fn explain(
    _explain: &BoundExplain,
    _prepared: &Prepared,
    _context: &ExecContext,
    _dml: Option<&DmlContext<'_>>,
) -> Result<Executed> {
    Err(Error::unsupported("EXPLAIN"))
}
