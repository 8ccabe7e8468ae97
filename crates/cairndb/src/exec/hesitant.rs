//! Tests' operators that say "not yet": one round every node of a plan, by a seed, while [`hesitantly`] runs. Changes of rows
//! have turns without any time then. Steps are taken on one thread or another.

use std::cell::Cell;

use super::context::{Cx, Shared};
use super::operator::{BoxOperator, NoAnswer, Operator, Step};
use super::testing::Random;
use crate::Value;
use crate::columns::Batch;

thread_local! {
    static SEED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `run`, whose statements hesitate.
pub(crate) fn hesitantly<T>(seed: u64, run: impl FnOnce() -> T) -> T {
    let before = SEED.replace(Some(seed));
    let result = run();
    SEED.set(before);
    result
}

/// Whether an execution hesitates: where its random numbers stand.
pub(crate) struct Hesitation(Option<Cell<u64>>);

impl Hesitation {
    pub(crate) fn of_thread() -> Hesitation {
        Hesitation(SEED.get().map(Cell::new))
    }

    fn random(&self) -> Option<Random> {
        let state = self.0.as_ref()?;
        state.set(state.get().wrapping_add(1));
        Some(Random::new(state.get()))
    }

    pub(crate) fn hesitates(&self) -> bool {
        self.0.is_some()
    }

    /// Whether another thread takes the next step.
    pub(crate) fn moves(&self) -> bool {
        self.random().is_some_and(|mut random| random.below(64) == 0)
    }
}

pub(crate) fn on_another_thread<T: Send>(step: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(step).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The operator, hesitant where the execution is.
pub(super) fn tried(operator: BoxOperator, shared: &Shared) -> BoxOperator {
    match shared.hesitation.random() {
        Some(random) => Box::new(Hesitant { operator, random, hesitated: 0, ended: false }),
        None => operator,
    }
}

/// So often an operator says "not yet" before one answer. Each time all those above it are asked anew: if they might hesitate
/// without an end, hundreds of operators above each other would come to the lowest once in (3/2)^hundreds times.
const TIMES: u8 = 3;

/// Says "not yet" every now and then before it asks.
struct Hesitant {
    operator: BoxOperator,
    random: Random,
    /// How often it did since its last answer.
    hesitated: u8,
    ended: bool,
}

impl Hesitant {
    fn hesitate(&mut self) -> Step<()> {
        if self.hesitated < TIMES && self.random.below(3) == 0 {
            self.hesitated += 1;
            return Err(NoAnswer::NotYet);
        }
        Ok(())
    }
}

impl Operator for Hesitant {
    fn next(&mut self, cx: Cx<'_>) -> Step<Option<Batch>> {
        assert!(!self.ended, "asked again after the end");
        self.hesitate()?;
        let batch = self.operator.next(cx)?;
        (self.ended, self.hesitated) = (batch.is_none(), 0);
        Ok(batch)
    }

    fn want(&mut self, rows: usize) {
        self.operator.want(rows);
    }

    fn skip(&mut self, rows: usize, cx: Cx<'_>) -> Step<usize> {
        self.hesitate()?;
        let skipped = self.operator.skip(rows, cx)?;
        self.hesitated = 0;
        Ok(skipped)
    }

    fn reset(&mut self, cx: Cx<'_>) {
        (self.ended, self.hesitated) = (false, 0);
        self.operator.reset(cx);
    }

    fn park(&mut self) -> bool {
        (self.ended, self.hesitated) = (false, 0);
        self.operator.park()
    }

    fn rebind(&mut self, parameters: &[Value]) -> bool {
        self.operator.rebind(parameters)
    }
}
