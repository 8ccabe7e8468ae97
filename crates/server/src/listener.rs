//! Where clients come, and how who waits for them is called away.

use std::io;
use std::net::TcpListener;
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};

use crate::stream::Stream;
#[cfg(unix)]
use crate::stream::{Waited, wait_for};

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

/// A client whose machine or network is gone says nothing of it: it is asked.
#[cfg(unix)]
fn keep_alive(stream: &std::net::TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;

    sockopt::set_socket_keepalive(stream, true)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        sockopt::set_tcp_keepidle(stream, std::time::Duration::from_secs(60))?;
        sockopt::set_tcp_keepintvl(stream, std::time::Duration::from_secs(10))?;
        sockopt::set_tcp_keepcnt(stream, 6)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_alive(_: &std::net::TcpStream) -> io::Result<()> {
    Ok(())
}

impl Listener {
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(inner) => {
                let (stream, _) = inner.accept()?;
                stream.set_nonblocking(false)?;
                // Answers are written whole: what is written is to go.
                stream.set_nodelay(true)?;
                keep_alive(&stream)?;
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
        if wait_for(own, Some(called.0.as_fd()), None)? != Waited::One {
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
