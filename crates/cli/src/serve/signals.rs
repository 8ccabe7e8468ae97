//! What ends a server, and what has it read its configuration again.

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// SIGINT, SIGTERM, Ctrl-C.
    End,
    /// SIGHUP.
    Reload,
}

/// SIGINT, SIGTERM and SIGHUP, which do nothing from here on but end the waiting for them.
#[cfg(unix)]
pub struct Signals(nix::sys::signal::SigSet);

#[cfg(unix)]
impl Signals {
    /// To be called before there are other threads, which would get them.
    pub fn taken() -> Signals {
        use nix::sys::signal::{SigSet, Signal};
        let mut signals = SigSet::empty();
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| signals.add(signal));
        // It fails for unknown signals only.
        let _ = signals.thread_block();
        Signals(signals)
    }

    pub fn wait(&self) -> Told {
        use nix::sys::signal::Signal;
        loop {
            match self.0.wait() {
                Ok(Signal::SIGHUP) => return Told::Reload,
                Ok(_) => return Told::End,
                Err(_) => {}
            }
        }
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

    pub fn wait(&self) -> Told {
        let _ = self.0.recv();
        Told::End
    }
}
