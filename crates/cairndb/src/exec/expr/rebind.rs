//! Other parameters for a compiled expression, in place of compiling it again.

use super::evaluator::{Evaluator, Node};
use crate::Value;

impl Evaluator {
    /// Takes over the parameters of another execution. False: something was worked out from their values, or is kept
    /// from the last execution, so that the expression must be compiled anew (and not used any more).
    pub(crate) fn rebind(&mut self, parameters: &[Value]) -> bool {
        match &mut self.node {
            Node::Constant(_) | Node::Column(_) | Node::Outer { .. } => true,
            Node::Parameter { index, value } => match parameters.get(*index) {
                Some(new) => {
                    value.clone_from(new);
                    true
                }
                None => false,
            },
            Node::Matches { given, input, .. } => !*given && input.rebind(parameters),
            Node::InSet { given, set } => !*given && set.input_mut().rebind(parameters),
            Node::Compare { args, .. } | Node::Arithmetic { args, .. } | Node::IsNotDistinct(args) => {
                rebind_all(args.as_mut_slice(), parameters)
            }
            Node::Call { args, .. } | Node::Logic { args, .. } | Node::Coalesce(args) => rebind_all(args, parameters),
            Node::Widen(input)
            | Node::Unpad(input)
            | Node::Substring { input, .. }
            | Node::Relabel(input)
            | Node::Cast(input)
            | Node::Not(input)
            | Node::IsNull(input) => input.rebind(parameters),
            Node::InList { input, list, .. } => input.rebind(parameters) && rebind_all(list, parameters),
            Node::Let { value, body, .. } => value.rebind(parameters) && body.rebind(parameters),
            Node::Case(_) | Node::Subplan(_) | Node::Sequence { .. } => false,
        }
    }
}

/// As [`Evaluator::rebind`], of several.
pub(crate) fn rebind_all<'e>(evaluators: impl IntoIterator<Item = &'e mut Evaluator>, parameters: &[Value]) -> bool {
    evaluators.into_iter().all(|evaluator| evaluator.rebind(parameters))
}
