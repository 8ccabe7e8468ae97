//! The operator for calls over a window: frames that are said alike are one.

use super::frame::{BoundKind, FrameParts};
use super::operator::{CallParts, CalledFunction, Window, WindowParts};
use crate::Result;
use crate::exec::context::ExecContext;
use crate::exec::expr::{compile, compile_all};
use crate::exec::operator::BoxOperator;
use crate::exec::row_order::Direction;
use crate::plan::{Expr, FrameUnit, SortKey, WindowCall, WindowFrame, Windowed};

/// `width`: how many columns the input has.
pub(crate) fn window(
    input: BoxOperator,
    width: usize,
    (partition_by, order_by): (&[Expr], &[SortKey]),
    calls: &[WindowCall],
    context: &ExecContext,
) -> Result<BoxOperator> {
    let mut known: Vec<&WindowFrame> = vec![];
    let (mut frames, mut made) = (vec![], vec![]);
    for call in calls {
        let frame = known.iter().position(|other| is_same(other, &call.frame));
        let frame = match frame {
            Some(frame) => frame,
            None => {
                known.push(&call.frame);
                frames.push(frame_parts(&call.frame, order_by, context)?);
                frames.len() - 1
            }
        };
        let function = match &call.function {
            Windowed::Function(function) => CalledFunction::Window(function.clone()),
            Windowed::Aggregate(aggregate) => CalledFunction::Aggregate(aggregate.clone()),
        };
        let filter = call.filter.as_ref().map(|filter| compile(filter, context)).transpose()?;
        made.push(CallParts { function, args: compile_all(&call.args, context)?, filter, frame });
    }
    Ok(Box::new(Window::new(WindowParts {
        input,
        width,
        partition_by: compile_all(partition_by, context)?,
        order_by: compile_all(order_by.iter().map(|key| &key.expr), context)?,
        frames,
        calls: made,
    })))
}

fn frame_parts(frame: &WindowFrame, order_by: &[SortKey], context: &ExecContext) -> Result<FrameParts> {
    let bound = |bound| -> Result<_> {
        let offset = crate::plan::FrameBound::offset(bound).map(|offset| compile(offset, context)).transpose()?;
        Ok((BoundKind::of(bound), offset))
    };
    let bounds = [bound(&frame.start)?, bound(&frame.end)?];
    let measured = frame.unit == FrameUnit::Range && bounds.iter().any(|(_, offset)| offset.is_some());
    let key = order_by.first().filter(|_| measured);
    let key = key.map(|key| (key.expr.data_type().base(), Direction::of(key)));
    Ok(FrameParts { unit: frame.unit, exclusion: frame.exclusion, bounds, key })
}

/// Whether two frames are the same, as far as that is plain to see.
fn is_same(left: &WindowFrame, right: &WindowFrame) -> bool {
    let text = |frame: &WindowFrame| format!("{frame:?}");
    left.unit == right.unit && left.exclusion == right.exclusion && text(left) == text(right)
}
