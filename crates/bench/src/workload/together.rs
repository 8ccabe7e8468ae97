//! Sessions of several engines, open side by side for all rounds.

use std::sync::{Barrier, Mutex, PoisonError};

use crate::Result;
use crate::engine::{Engine, Session, Work};

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

/// Runs `work` in this many threads, each with a session of its own and its number. `prepare` comes first; all threads
/// begin `work` together.
pub fn in_threads<T: Send>(
    engine: &dyn Engine,
    threads: usize,
    prepare: impl Fn(&mut dyn Session) -> Result<()> + Sync,
    work: impl Fn(usize, &mut dyn Session) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let start = Barrier::new(threads);
    let results = Mutex::new(Vec::with_capacity(threads));
    let one = |number: usize| {
        let mut waited = false;
        let mut step = |session: &mut dyn Session| {
            prepare(session)?;
            start.wait();
            waited = true;
            let result = work(number, session)?;
            results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
            Ok(())
        };
        let outcome = engine.with_session(&mut step as Work<'_>);
        // The others must not wait for a thread that failed before the start.
        if !waited {
            start.wait();
        }
        outcome
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|number| {
                scope.spawn({
                    let one = &one;
                    move || one(number)
                })
            })
            .collect();
        handles.into_iter().try_for_each(|handle| handle.join().map_err(|_| "a thread panicked")?)
    })?;
    Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner))
}
