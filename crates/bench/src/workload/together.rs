//! Sessions of several engines, open side by side for all rounds.

use std::cell::Cell;
use std::sync::Barrier;

use crate::Result;
use crate::engine::{Engine, Session, SqlEngine, SqlSession};
use crate::latency::Latencies;

/// A session and whose it is.
pub struct Named<'s> {
    pub name: &'static str,
    pub session: &'s mut dyn Session,
}

/// Hands `work` a session of each engine, in their order.
pub fn with_sessions(engines: &[Box<dyn Engine>], work: &mut dyn FnMut(&mut [Named<'_>]) -> Result<()>) -> Result<()> {
    nest(engines, Vec::new(), work)
}

fn nest(
    engines: &[Box<dyn Engine>],
    open: Vec<Named<'_>>,
    work: &mut dyn FnMut(&mut [Named<'_>]) -> Result<()>,
) -> Result<()> {
    let mut open = Some(open);
    let Some((first, rest)) = engines.split_first() else {
        return work(&mut open.take().unwrap_or_default());
    };
    first.with_session(&mut |session| {
        let outer = open.take().unwrap_or_default();
        let mut all: Vec<Named<'_>> = Vec::with_capacity(outer.len() + 1);
        for named in outer {
            all.push(Named { name: named.name, session: named.session });
        }
        all.push(Named { name: first.name(), session });
        nest(rest, all, work)
    })
}

/// Hands `work` a connection of each SQL engine, in their order.
pub fn with_connections(
    engines: &[Box<dyn SqlEngine>],
    work: &mut dyn FnMut(&[Connected<'_>]) -> Result<()>,
) -> Result<()> {
    nest_connections(engines, &[], work)
}

/// A connection and whose it is.
#[derive(Clone, Copy)]
pub struct Connected<'s> {
    pub name: &'static str,
    pub engine: &'s dyn SqlEngine,
    pub session: &'s dyn SqlSession,
}

fn nest_connections(
    engines: &[Box<dyn SqlEngine>],
    open: &[Connected<'_>],
    work: &mut dyn FnMut(&[Connected<'_>]) -> Result<()>,
) -> Result<()> {
    let Some((first, rest)) = engines.split_first() else { return work(open) };
    first.connect(&mut |session| {
        let mut all = open.to_vec();
        all.push(Connected { name: first.name(), engine: &**first, session });
        nest_connections(rest, &all, work)
    })
}

/// Where threads meet before they begin together.
pub struct Start<'b> {
    barrier: &'b Barrier,
    waited: Cell<bool>,
}

impl Start<'_> {
    /// Returns once every thread has come here, or has failed before it did.
    pub fn wait(&self) {
        if !self.waited.replace(true) {
            self.barrier.wait();
        }
    }
}

impl Drop for Start<'_> {
    fn drop(&mut self) {
        // The others must not wait for a thread that failed before the start.
        self.wait();
    }
}

/// Runs `work` in this many threads, each with its number; what each gave, in their order.
pub fn side_by_side<T: Send>(threads: usize, work: impl Fn(usize, &Start<'_>) -> Result<T> + Sync) -> Result<Vec<T>> {
    let barrier = Barrier::new(threads);
    let one = |number| work(number, &Start { barrier: &barrier, waited: Cell::new(false) });
    std::thread::scope(|scope| {
        let one = &one;
        let handles: Vec<_> = (0..threads).map(|number| scope.spawn(move || one(number))).collect();
        handles.into_iter().map(|handle| handle.join().map_err(|_| "a thread panicked")?).collect()
    })
}

/// Runs `work` in this many threads, each with a session of its own and its number. `prepare` comes first; all threads
/// begin `work` together.
pub fn in_threads<T: Send>(
    engine: &dyn Engine,
    threads: usize,
    prepare: impl Fn(&mut dyn Session) -> Result<()> + Sync,
    work: impl Fn(usize, &mut dyn Session) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    side_by_side(threads, |number, start| {
        let mut result = None;
        engine.with_session(&mut |session| {
            prepare(session)?;
            start.wait();
            result = Some(work(number, session)?);
            Ok(())
        })?;
        result.ok_or_else(|| "the engine gave no session".into())
    })
}

/// As [`in_threads`], with a connection of a SQL engine; `work` says when it is ready to start.
pub fn in_connections<T: Send>(
    engine: &dyn SqlEngine,
    threads: usize,
    work: impl Fn(usize, &dyn SqlSession, &Start<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    side_by_side(threads, |number, start| {
        let mut result = None;
        engine.connect(&mut |session| {
            result = Some(work(number, session, start)?);
            Ok(())
        })?;
        result.ok_or_else(|| "the engine gave no connection".into())
    })
}

/// Times this many steps, after a tenth as many that warm up.
pub fn steps(count: u64, mut step: impl FnMut(u64) -> Result<()>) -> Result<Latencies> {
    (0..count / 10).try_for_each(&mut step)?;
    let mut latencies = Latencies::new()?;
    for at in 0..count {
        latencies.time(|| step(at))?;
    }
    Ok(latencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_fails_before_the_start_holds_up_nobody() {
        let outcome = side_by_side(4, |number, start| {
            if number == 2 {
                return Err("no".into());
            }
            start.wait();
            Ok(number)
        });
        assert!(outcome.is_err());
        assert_eq!(
            side_by_side(3, |number, start| {
                start.wait();
                Ok(number)
            })
            .unwrap(),
            [0, 1, 2]
        );
    }
}
