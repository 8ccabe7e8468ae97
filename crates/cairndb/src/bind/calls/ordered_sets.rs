//! `f(...) WITHIN GROUP (ORDER BY ...)`: ordered-set and hypothetical-set aggregates.

use cairn_parser::Span;

use super::functions::{Call, hypothetical};
use super::overload::no_function;
use crate::bind::binder::Binder;
use crate::bind::context::Context;
use crate::bind::expressions::operators::Operand;
use crate::functions::{Aggregate, Hypothetical, PlacedBy, window_overloads};
use crate::plan::{AggregateCall, Expr, SortKey};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Binder<'_> {
    pub(super) fn ordered_set(&mut self, call: &Call, context: &mut Context) -> Result<Expr> {
        let was_in_aggregate = std::mem::replace(&mut context.in_aggregate, true);
        let bound = self.ordered_call(call, context);
        context.in_aggregate = was_in_aggregate;
        self.added(bound?, call.span, context)
    }

    fn ordered_call(&mut self, call: &Call, context: &mut Context) -> Result<AggregateCall> {
        let direct = self.operands_of(call.args, context)?;
        let keys = self.sort_keys(call.within_group, context)?;
        let tree = self.tree;
        let key_spans: Vec<Span> = tree.list(call.within_group).map(|key| tree.span(tree.get(key).expr)).collect();
        let (aggregate, args) = match hypothetical(call.name).filter(|_| call.schema.is_none()) {
            Some(which) => self.hypothetical(which, call, direct, &keys, &key_spans)?,
            None => {
                let sorted = keys.iter().zip(&key_spans).map(|(key, span)| (key.expr.clone(), *span));
                let args: Vec<Operand> = direct.into_iter().chain(sorted).collect();
                let aggregate = self.ordered_aggregate(call, &args)?;
                let mut converted = Vec::with_capacity(args.len());
                for (i, (arg, span)) in args.into_iter().enumerate() {
                    converted.push(self.argument(arg, aggregate.args.get(i).copied(), span)?);
                }
                (aggregate, converted)
            }
        };
        if call.over.is_some() {
            let message = format!("OVER is not supported for ordered-set aggregate {}", call.name);
            return Err(self.at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), call.span));
        }
        let filter = match call.filter {
            Some(filter) => Some(self.filter_clause(filter, context)?),
            None => None,
        };
        let sorted = args[aggregate.direct.unwrap_or(0)..].to_vec();
        let order_by = sorted.into_iter().zip(keys).map(|(expr, key)| SortKey { expr, ..key }).collect();
        Ok(AggregateCall { aggregate, args, distinct: false, filter, order_by })
    }

    fn ordered_aggregate(&mut self, call: &Call, args: &[Operand]) -> Result<std::sync::Arc<Aggregate>> {
        let types: Vec<DataType> = args.iter().map(|(arg, _)| arg.data_type()).collect();
        let wrong = |message: String| Error::new(SqlState::WRONG_OBJECT_TYPE, message);
        if call.schema.is_none() && !self.aggregate_overloads(call.name).is_empty() {
            let aggregate = self.find_aggregate(call.name, &types, call.span)?;
            return match aggregate.direct {
                Some(_) => Ok(aggregate),
                None => {
                    let name = call.name;
                    let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
                    Err(self.at(wrong(message), call.span))
                }
            };
        }
        let is_there = window_overloads(call.name).iter().any(|function| function.args.len() == types.len())
            || call.schema.is_none() && self.call(call.name, args.to_vec(), call.span).is_ok();
        let error = match is_there {
            true => wrong(format!("WITHIN GROUP specified, but {} is not an aggregate function", call.name)),
            false => no_function(call.name, &types),
        };
        Err(self.at(error, call.span))
    }

    /// Each direct argument and its key are of one type.
    fn hypothetical(
        &mut self,
        which: Hypothetical,
        call: &Call,
        direct: Vec<Operand>,
        keys: &[SortKey],
        spans: &[Span],
    ) -> Result<(std::sync::Arc<Aggregate>, Vec<Expr>)> {
        if direct.len() != keys.len() {
            let types = direct.iter().map(|(arg, _)| arg.data_type());
            let types: Vec<DataType> = types.chain(keys.iter().map(|key| key.expr.data_type())).collect();
            let hint = format!(
                "To use the hypothetical-set aggregate {}, the number of hypothetical direct arguments (here {}) must \
                 match the number of ordering columns (here {}).",
                call.name,
                direct.len(),
                keys.len()
            );
            return Err(self.at(no_function(call.name, &types).with_hint(hint), call.span));
        }
        let (mut args, mut sorted, mut by) = (vec![], vec![], vec![]);
        for (((arg, at), key), span) in direct.into_iter().zip(keys).zip(spans) {
            let common = self.common_type("WITHIN GROUP", &[(key.expr.data_type(), *span), (arg.data_type(), at)])?;
            args.push(self.implicit(arg, common, at)?);
            sorted.push(self.implicit(key.expr.clone(), common, *span)?);
            by.push(PlacedBy { data_type: common, descending: key.descending, nulls_first: key.nulls_first });
        }
        args.append(&mut sorted);
        Ok((which.aggregate(call.name, by), args))
    }
}

/// A call of an ordered-set aggregate without what it sorts by.
pub(in crate::bind) fn without_group(name: &str) -> Error {
    let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
}
