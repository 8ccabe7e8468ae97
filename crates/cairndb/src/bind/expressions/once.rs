//! Operands that a form needs more than once.
//!
//! Invariant: what is volatile stands in the plan once, in a `Let`, where PostgreSQL evaluates it once; what is not is copied, so that
//! keys and constants are found in it. (BETWEEN and IN are abbreviations in PostgreSQL too: they evaluate their operand as
//! often as it would be written out.)

use super::operators::Operand;
use crate::Result;
use crate::bind::binder::Binder;
use crate::plan::{Expr, is_volatile};

/// An operand, and how it is to be referred to.
pub(in crate::bind) struct Once {
    operand: Operand,
    /// The number of its `Let`.
    shared: Option<usize>,
}

impl Binder<'_> {
    /// The operand, to be used any number of times within [`Once::around`].
    pub(in crate::bind) fn once(&mut self, operand: Operand) -> Once {
        let shared = is_volatile(&operand.0).then(|| {
            self.shared += 1;
            self.shared
        });
        Once { operand, shared }
    }

    /// One use of it.
    pub(in crate::bind) fn use_of(&mut self, once: &Once) -> Result<Operand> {
        let (expr, span) = &once.operand;
        let used = match once.shared {
            Some(id) => Expr::Shared { id, data_type: expr.data_type() },
            None => self.duplicate(expr)?,
        };
        Ok((used, *span))
    }
}

impl Once {
    /// What is made of it, with the operand in its place.
    pub(in crate::bind) fn around(self, body: Expr) -> Expr {
        match self.shared {
            Some(id) => Expr::Let { id, value: Box::new(self.operand.0), body: Box::new(body) },
            None => body,
        }
    }
}
