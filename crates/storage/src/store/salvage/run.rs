//! A salvage from beginning to end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reasons;
use super::report::Salvage;
use super::rescue::{Rescue, UncertainFile};
use super::source::Source;
use super::state::State;
use super::target::{Target, remove};
use crate::engine::Openings;
use crate::env::Environment;
use crate::io::LockOutcome;
use crate::{Error, Options, Result};

/// Saves what is left of the database at `from` into a new one at `to`, which gets the same tree ids, and says what is
/// not. The damaged files are only read. `progress` hears of pages read, and of how many there are; where much is damaged
/// they are read several times.
///
/// Derived trees are made, but empty: fill them from what they are derived from.
pub fn salvage(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    options: Options,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Salvage> {
    salvage_with(from, to, options, Environment::real(), progress)
}

/// As [`salvage`], in surroundings of the caller's choice.
pub fn salvage_with(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    options: Options,
    env: Environment,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Salvage> {
    let (from, to) = (from.as_ref(), to.as_ref());
    if env.files.exists(to).map_err(Error::io("look for the target"))? {
        return Err(Error::CannotOpen {
            path: to.to_path_buf(),
            error: Arc::new(std::io::ErrorKind::AlreadyExists.into()),
        });
    }
    // First: what whoever has it open writes while it closes is not what was read before.
    let _lock = match env.files.lock(from) {
        Ok(LockOutcome::Busy { pid }) => {
            return Err(Error::Busy { path: from.to_path_buf(), pid, is_read: false });
        }
        outcome => outcome.ok(),
    };
    let (mut source, metas) = Source::open(from, &env, progress)?;
    let state = State::find(&mut source, metas);
    let saved = rescue(&mut source, &state, from, to, &options, &env);
    if saved.is_err() {
        // Half of what could be saved must not pass for all of it.
        remove(env.files.as_ref(), to);
    }
    saved
}

fn rescue(
    source: &mut Source<'_>,
    state: &State,
    from: &Path,
    to: &Path,
    options: &Options,
    env: &Environment,
) -> Result<Salvage> {
    let target = Target::create(to, source.page_size, options, env)?;
    let mut path = to.as_os_str().to_os_string();
    path.push("-salvage");
    let mut rescue = Rescue::new(source, state, target, UncertainFile { path: PathBuf::from(path), options, env });
    rescue.trees()?;
    rescue.orphans()?;
    rescue.catalog()?;
    rescue.log(from, env)?;
    let Rescue { target, mut report, .. } = rescue;
    report.losses = reasons::join(report.losses);
    // Tree ids are not given out again.
    let next_tree = state.meta.as_ref().map_or(0, |meta| meta.next_tree);
    target.come_after(state.meta.as_ref().map_or(Openings::default(), |meta| meta.openings));
    report.entries = target.finish(next_tree)?;
    Ok(report)
}
