//! LIKE and ILIKE.

mod pattern;

use super::beginning::PatternKind;
use super::catalogue::Catalogue;
use super::kept::Kept;
use super::matching::{Matching, Written};
use super::support::wrong_arguments;
use super::{Cost, Operator};
use crate::types::{DataType, EvalContext, Value};
use crate::{Error, Result, SqlState};
pub(crate) use pattern::LikePattern;

pub(super) fn register(catalogue: &mut Catalogue) {
    const PAIR: &[DataType] = &[DataType::Text, DataType::Text];
    const ESCAPED: &[DataType] = &[DataType::Text, DataType::Text, DataType::Text];
    // Of `char(n)` a pattern sees the blanks, too.
    const PADDED: &[DataType] = &[DataType::Char(0), DataType::Text];
    const PADDED_ESCAPED: &[DataType] = &[DataType::Char(0), DataType::Text, DataType::Text];
    let mut add = |op: Operator, eval| {
        for args in [PAIR, ESCAPED, PADDED, PADDED_ESCAPED] {
            let function = catalogue.add(op.symbol(), args, DataType::Boolean, eval).op(op);
            if matches!(op, Operator::Like | Operator::NotLike) {
                function.cost(Cost::Quotient);
            }
            if matches!(args, [_, _]) {
                let folds_case = matches!(op, Operator::ILike | Operator::NotILike);
                let negated = matches!(op, Operator::NotLike | Operator::NotILike);
                function.matching(Matching { written: Written::Like, folds_case, negated });
            }
            if op == Operator::Like && args == PAIR {
                function.pattern(PatternKind::Like);
            }
        }
    };
    add(Operator::Like, like::<false, false>);
    add(Operator::NotLike, like::<true, false>);
    add(Operator::ILike, like::<false, true>);
    add(Operator::NotILike, like::<true, true>);
}

pub(super) fn like<const NEGATED: bool, const FOLD_CASE: bool>(args: &[Value], _: &EvalContext) -> Result<Value> {
    let (text, pattern, escape) = match args {
        [Value::Text(text), Value::Text(pattern)] => (text, pattern, "\\"),
        [Value::Text(text), Value::Text(pattern), Value::Text(escape)] => (text, pattern, &**escape),
        _ => return Err(wrong_arguments(args)),
    };
    let kept = if FOLD_CASE { &FOLDED } else { &COMPILED };
    let pattern =
        kept.with(|kept| kept.get(pattern, escape, || LikePattern::new(pattern, escape_char(escape)?, FOLD_CASE)))?;
    Ok(Value::Boolean(pattern.matches(text.as_bytes(), &mut Vec::new()) != NEGATED))
}

thread_local! {
    static COMPILED: Kept<LikePattern> = const { Kept::new() };
    static FOLDED: Kept<LikePattern> = const { Kept::new() };
}

/// ESCAPE's argument: one character, or none where it is empty.
pub fn escape_char(escape: &str) -> Result<Option<char>> {
    let mut chars = escape.chars();
    match (chars.next(), chars.next()) {
        (first, None) => Ok(first),
        _ => Err(Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}
