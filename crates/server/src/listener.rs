//! Where clients come, and how who waits for them is called away.

use std::io;
use std::net::TcpListener;
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};

use crate::stream::Stream;

/// A socket that clients connect to.
pub(crate) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

/// Who drops it calls away who waits for clients.
#[cfg(unix)]
pub(crate) struct Call(#[expect(dead_code, reason = "its end is what is heard")] UnixStream);

/// What hears it.
#[cfg(unix)]
pub(crate) struct Called(UnixStream);

#[cfg(unix)]
impl Called {
    pub(crate) fn new(listener: &Listener) -> io::Result<(Call, Called)> {
        // Who has come may be gone when it is let in: nobody waits for it then.
        match listener {
            Listener::Tcp(inner) => inner.set_nonblocking(true)?,
            Listener::Unix(inner) => inner.set_nonblocking(true)?,
        }
        let (call, called) = UnixStream::pair()?;
        Ok((Call(call), Called(called)))
    }
}

impl Listener {
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(inner) => {
                let (stream, _) = inner.accept()?;
                stream.set_nonblocking(false)?;
                // Answers are written whole: what is written is to go.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            #[cfg(unix)]
            Listener::Unix(inner) => {
                let (stream, _) = inner.accept()?;
                stream.set_nonblocking(false)?;
                Ok(Stream::Unix(stream))
            }
        }
    }

    /// The next client; `None`: called away, or the client has gone.
    #[cfg(unix)]
    pub(crate) fn next(&self, called: &Called) -> io::Result<Option<Stream>> {
        use std::os::fd::AsFd;

        let own = match self {
            Listener::Tcp(inner) => inner.as_fd(),
            Listener::Unix(inner) => inner.as_fd(),
        };
        if !crate::stream::wait_for(own, called.0.as_fd())? {
            return Ok(None);
        }
        match self.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            accepted => accepted.map(Some),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn next(&self, _: &Called) -> io::Result<Option<Stream>> {
        self.accept().map(Some)
    }
}

/// Where nothing else is heard beside a socket: who waits gets a last client.
#[cfg(not(unix))]
pub(crate) struct Call(std::net::SocketAddr);

#[cfg(not(unix))]
pub(crate) struct Called;

#[cfg(not(unix))]
impl Called {
    pub(crate) fn new(listener: &Listener) -> io::Result<(Call, Called)> {
        let Listener::Tcp(inner) = listener;
        Ok((Call(inner.local_addr()?), Called))
    }
}

#[cfg(not(unix))]
impl Drop for Call {
    fn drop(&mut self) {
        let _ = std::net::TcpStream::connect_timeout(&self.0, std::time::Duration::from_secs(1));
    }
}
