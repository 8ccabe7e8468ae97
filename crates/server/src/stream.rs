//! A socket, whichever kind it is.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::os::fd::BorrowedFd;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Duration;

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

impl Stream {
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        either!(self, inner => { let mut inner = inner; inner.read(buffer) })
    }

    pub(crate) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        either!(self, inner => { let mut inner = inner; inner.write_all(bytes) })
    }

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

    #[cfg(not(unix))]
    pub(crate) fn peer(&self) -> Option<u32> {
        None
    }

    /// Waits until something can be read from it or from the other; whether from it.
    #[cfg(unix)]
    pub(crate) fn wait_with(&self, other: &UnixStream) -> io::Result<bool> {
        use std::os::fd::AsFd;

        wait_for(either!(self, inner => inner.as_fd()), other.as_fd())
    }
}

/// Waits until one of two can be read from, or has ended; whether it is the first.
#[cfg(unix)]
pub(crate) fn wait_for(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> io::Result<bool> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    let mut both = [PollFd::new(one, PollFlags::POLLIN), PollFd::new(other, PollFlags::POLLIN)];
    loop {
        match poll(&mut both, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(both[0].any().unwrap_or(true)),
        }
    }
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
