//! Progress bars on standard error; nothing is drawn where that is no terminal.

use indicatif::{ProgressBar, ProgressStyle};

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// Bytes of a file of known length.
pub fn bytes(total: u64) -> ProgressBar {
    styled(ProgressBar::new(total), "[{bar:40}] {bytes}/{total_bytes} {bytes_per_sec} {eta}")
}

/// The log of a database that was not closed, while that is opened.
pub fn opening(log_bytes: u64) -> ProgressBar {
    let bar = styled(ProgressBar::new(log_bytes), "{msg} [{bar:40}] {bytes}/{total_bytes} {eta}");
    bar.with_message("not closed last time: applying its log")
}

/// Steps of a known number; `what` they are.
pub fn steps(total: u64, what: &'static str) -> ProgressBar {
    styled(ProgressBar::new(total), "[{bar:40}] {pos}/{len} {msg} {per_sec}").with_message(what)
}

/// Work whose progress cannot be seen from here.
pub fn busy(what: &'static str) -> ProgressBar {
    let bar = styled(ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}").with_message(what);
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    bar
}
