//! What ends a server.

/// SIGINT and SIGTERM, which do nothing from here on but end the waiting for them.
#[cfg(unix)]
pub struct Signals(nix::sys::signal::SigSet);

#[cfg(unix)]
impl Signals {
    /// To be called before there are other threads, which would get them.
    pub fn taken() -> Signals {
        use nix::sys::signal::{SigSet, Signal};
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        // It fails for unknown signals only.
        let _ = signals.thread_block();
        Signals(signals)
    }

    pub fn wait(&self) {
        while self.0.wait().is_err() {}
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
pub struct Signals(std::sync::mpsc::Receiver<()>);

#[cfg(not(unix))]
impl Signals {
    pub fn taken() -> Signals {
        let (told, waits) = std::sync::mpsc::channel();
        // A second handler in one process is the only failure there is.
        let _ = ctrlc::set_handler(move || {
            let _ = told.send(());
        });
        Signals(waits)
    }

    pub fn wait(&self) {
        let _ = self.0.recv();
    }
}
