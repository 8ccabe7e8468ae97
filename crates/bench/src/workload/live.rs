//! Live queries: from commit to notification, and what subscriptions cost the writer. Its place; the engine has no live
//! queries yet.

use crate::Result;
use crate::report::Report;
use crate::setup::Setup;
use crate::terminal::say;

pub fn run(_: &Setup, _: &mut Report) -> Result<()> {
    say("not measured: CairnDB has no live queries yet");
    Ok(())
}
