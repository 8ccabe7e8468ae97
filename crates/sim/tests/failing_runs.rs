//! A run that fails ends, and lets the process end.

use std::time::Duration;

use cairn_sim::scheduler;
use cairn_storage::simulated::Scheduler as _;

#[test]
fn a_panic_fails_the_run_and_gives_the_hook_back() {
    let ran = scheduler::run(1, 1000, || panic!("on purpose"));
    assert!(ran.failure.is_some_and(|failure| failure.contains("on purpose")));
    // Would wait for ever for a thread that stopped inside the hook, as the end of every test process does.
    drop(std::panic::take_hook());
}

#[test]
fn a_thread_that_only_sleeps_does_not_go_on_for_ever() {
    let ran = scheduler::run(1, 1000, || {
        loop {
            scheduler::current().sleep(Duration::from_millis(1));
        }
    });
    assert!(ran.failure.is_some_and(|failure| failure.contains("does not end")));
}
