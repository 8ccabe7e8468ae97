//! Where locks, waits, sleeps and the clock come from: the engine's seam, so that a simulation can own them here too. Nothing else names
//! std's (`tests/layers.rs`).

pub(crate) use cairn_storage::seam::{
    Condvar, Mutex, MutexGuard, ThreadId, now, on_own_stack, since, sleep, this_thread, wall_clock, yield_now,
};
