//! A socket, whichever kind it is.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::os::fd::BorrowedFd;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

use crate::throttle::Origin;

/// A client's socket.
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// Calls the same of either.
macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Tcp($inner) => $call,
            #[cfg(unix)]
            Stream::Unix($inner) => $call,
        }
    };
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        either!(*self, inner => { let mut inner = inner; inner.read(buffer) })
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(*self, inner => { let mut inner = inner; inner.write(bytes) })
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        either!(*self, inner => { let mut inner = inner; inner.write_vectored(parts) })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream {
    /// Another handle to the same socket.
    pub(crate) fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Tcp(inner) => Stream::Tcp(inner.try_clone()?),
            #[cfg(unix)]
            Stream::Unix(inner) => Stream::Unix(inner.try_clone()?),
        })
    }

    /// Whoever reads from it, now or later, comes to the end; it can still be written to.
    pub(crate) fn stop_reading(&self) {
        // Of a socket that is gone there is nothing to stop.
        let _ = either!(self, inner => inner.shutdown(Shutdown::Read));
    }

    /// Nothing is waited for any more.
    #[cfg(feature = "tls")]
    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        either!(self, inner => inner.set_nonblocking(true))
    }

    pub(crate) fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        either!(self, inner => inner.set_read_timeout(time))
    }

    pub(crate) fn set_write_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        either!(self, inner => inner.set_write_timeout(time))
    }

    /// The user at the other end, where the system tells.
    #[cfg(unix)]
    pub(crate) fn peer(&self) -> Option<u32> {
        match self {
            Stream::Tcp(_) => None,
            Stream::Unix(inner) => peer_of(inner),
        }
    }

    /// The other end, as it is told to others.
    pub(crate) fn origin(&self) -> io::Result<(Origin, String)> {
        Ok(match self {
            Stream::Tcp(inner) => {
                let address = inner.peer_addr()?;
                (Origin::Address(address.ip()), address.to_string())
            }
            #[cfg(unix)]
            Stream::Unix(_) => (Origin::User(self.peer()), "[local]".to_owned()),
        })
    }

    /// Nobody reads from it or writes to it any more; who does comes to an end.
    pub(crate) fn shut(&self) {
        // Of a socket that is gone there is nothing to shut.
        let _ = either!(self, inner => inner.shutdown(Shutdown::Both));
    }

    #[cfg(unix)]
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        either!(self, inner => inner.as_fd())
    }

    /// Waits until something can be read from it, or from the other, or until it is late.
    #[cfg(unix)]
    pub(crate) fn wait_with(&self, other: Option<&UnixStream>, until: Option<Instant>) -> io::Result<Waited> {
        use std::os::fd::AsFd;

        wait_for(self.as_fd(), other.map(AsFd::as_fd), until)
    }
}

/// What was waited for.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    One,
    Other,
    /// It is late.
    Nothing,
}

/// Waits until one of two can be read from, or has ended, or until it is late.
#[cfg(unix)]
pub(crate) fn wait_for(
    one: BorrowedFd<'_>,
    other: Option<BorrowedFd<'_>>,
    until: Option<Instant>,
) -> io::Result<Waited> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let of = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
    let mut both = [of(one), of(other.unwrap_or(one))];
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // What is longer than is known as a time is for ever.
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut both, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(0) if until.is_some_and(|until| until <= Instant::now()) => return Ok(Waited::Nothing),
            Ok(0) => {}
            Ok(_) if !both[0].revents().is_empty() => return Ok(Waited::One),
            Ok(_) => return Ok(Waited::Other),
        }
    }
}

/// Which of them nobody is at the other end of any more.
#[cfg(unix)]
pub(crate) fn who_is_gone(sockets: &[BorrowedFd<'_>]) -> Vec<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    // That the other end says nothing more is told on its own on Linux only; elsewhere it is a hang-up.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let asked = PollFlags::RDHUP;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let asked = PollFlags::HUP;
    let mut all: Vec<PollFd<'_>> = sockets.iter().map(|socket| PollFd::from_borrowed_fd(*socket, asked)).collect();
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    // Where it can not be asked, nobody is gone as far as is known.
    if poll(&mut all, Some(&now)).is_err() {
        return vec![false; sockets.len()];
    }
    all.iter().map(|one| one.revents().intersects(asked | PollFlags::HUP | PollFlags::ERR)).collect()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn peer_of(stream: &UnixStream) -> Option<u32> {
    use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

    getsockopt(stream, PeerCredentials).ok().map(|of| of.uid())
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn peer_of(stream: &UnixStream) -> Option<u32> {
    nix::unistd::getpeereid(stream).ok().map(|(user, _)| user.as_raw())
}
