//! How deep a tree is nested, which is not how deep it is.
//!
//! `a + b + c` is written flat, and is a tree whose left side is as deep as the chain is long: so are UNION, INTERSECT and EXCEPT, also
//! mixed, and `((a OR b) OR c)` means what `a OR b OR c` does. Whoever reads such a chain in a loop has to bound its length only;
//! what is nested, he walks by recursion.

use super::{Id, NodeRef, Tree};
use crate::syntax::{Expr, Query, QueryBody};

impl Tree<'_> {
    /// Where the first node starts that is nested more than so many levels deep: a chain of operators, one of AND or OR, and one of UNION,
    /// INTERSECT and EXCEPT is one level however long it is.
    pub(crate) fn nested_too_deep(&self, levels_max: u16) -> Option<u32> {
        let mut levels = vec![0u16; self.numbers().end as usize];
        // A node stands behind those that it is made of.
        for number in self.numbers() {
            let kind = self.kind(NodeRef(number)).name;
            let is_junction = matches!(kind, "Expr::And" | "Expr::Or");
            let mut below = 0;
            self.children(NodeRef(number), |child| {
                let is_part = is_junction && self.kind(child).name == kind;
                below = below.max(levels[child.0 as usize] - u16::from(is_part));
            });
            levels[number as usize] = match self.rest_of_chain(number, kind) {
                Some((rest, last)) => levels[rest as usize].max(levels[last as usize] + 1),
                None => below + 1,
            };
            if levels[number as usize] > levels_max {
                return Some(self.node(number).start);
            }
        }
        None
    }

    /// Of a node that goes on with a chain: the chain without it, and what it adds.
    fn rest_of_chain(&self, number: u32, kind: &str) -> Option<(u32, u32)> {
        match kind {
            "Expr::Binary" => {
                let Expr::Binary { left, right, .. } = self.get(self.numbered(number)?) else { return None };
                matches!(self.get(left), Expr::Binary { .. }).then(|| (left.0.get(), right.0.get()))
            }
            "QueryBody::SetOperation" => {
                let body = self.numbered(number)?;
                let QueryBody::SetOperation { left, right, .. } = self.get(body) else { return None };
                self.continued(body).map(|_| (self.get(left).body.0.get(), right.0.get()))
            }
            _ => None,
        }
    }

    fn numbered<T>(&self, number: u32) -> Option<Id<T>> {
        std::num::NonZeroU32::new(number).map(Id::new)
    }

    /// The left side of a set operation, where it is one, too, and nothing else: `a UNION b` of `a UNION b EXCEPT c`.
    pub fn continued(&self, body: Id<QueryBody>) -> Option<Id<Query>> {
        let QueryBody::SetOperation { left, .. } = self.get(body) else { return None };
        let query = self.get(left);
        let is_bare = query.with.is_none()
            && query.limit.is_none()
            && query.offset.is_none()
            && query.order_by.is_empty()
            && query.locking.is_empty();
        (is_bare && matches!(self.get(query.body), QueryBody::SetOperation { .. })).then_some(left)
    }
}
