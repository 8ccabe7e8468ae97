//! What is shown while a workload runs: one line of progress, on a terminal only, and notes above it.

use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::report::Place;

/// There is one terminal.
fn bar() -> &'static ProgressBar {
    static BAR: OnceLock<ProgressBar> = OnceLock::new();
    BAR.get_or_init(|| {
        let bar = ProgressBar::no_length();
        let style = ProgressStyle::with_template("   {spinner} {msg} {wide_bar} {pos}/{len} rounds, {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar
    })
}

/// Announces a round. Its length is not known, so the bar shows rounds that are over.
pub fn progress(place: Place, round: usize, rounds: usize) {
    let bar = bar();
    if round == 0 {
        bar.reset();
        // Drawn rarely, so that drawing does not disturb what is measured.
        bar.enable_steady_tick(Duration::from_secs(1));
    }
    bar.set_length(rounds as u64);
    bar.set_position(round as u64);
    bar.set_message(format!("{} on {}", place.workload, place.medium));
}

/// A line that stays, above the progress.
pub fn say(text: impl AsRef<str>) {
    bar().suspend(|| println!("   {}", text.as_ref()));
}

/// Takes the progress off the terminal, before a table.
pub fn done() {
    bar().disable_steady_tick();
    bar().finish_and_clear();
}
