//! What a session hears on channels while its client asks nothing.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use cairndb::{Connection, Error, Notification, Notifications, SqlState};

use crate::line::Line;
#[cfg(unix)]
use crate::stream::Waited;

/// How often it is looked whether something was told, where a socket and a wake can not be waited for at once.
#[cfg(not(unix))]
const LOOK_TIME: std::time::Duration = std::time::Duration::from_millis(100);

/// Of a session that has listened to a channel.
pub(crate) struct Hearing {
    notifications: Notifications,
    process: i32,
    waker: Waker,
    #[cfg(unix)]
    woken: std::os::unix::net::UnixStream,
}

/// Wakes the session's thread by a byte.
struct Bell {
    #[cfg(unix)]
    rope: std::os::unix::net::UnixStream,
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        #[cfg(unix)]
        {
            use std::io::Write;
            // A bell that is full rings already.
            let _ = (&self.rope).write(&[0]);
        }
    }
}

impl Hearing {
    #[cfg(unix)]
    pub(crate) fn new(connection: &Connection, process: i32) -> io::Result<Hearing> {
        let (woken, rope) = std::os::unix::net::UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        rope.set_nonblocking(true)?;
        let waker = Waker::from(Arc::new(Bell { rope }));
        Ok(Hearing { notifications: connection.notifications(), process, waker, woken })
    }

    #[cfg(not(unix))]
    pub(crate) fn new(connection: &Connection, process: i32) -> io::Result<Hearing> {
        Ok(Hearing { notifications: connection.notifications(), process, waker: Waker::from(Arc::new(Bell {})) })
    }

    /// Tells the client all that was told so far. SQLSTATE 53400 where some of it was lost.
    pub(crate) fn tell(&mut self, line: &mut Line) -> Result<(), Error> {
        let mut context = Context::from_waker(&self.waker);
        while let Poll::Ready(Some(heard)) = self.notifications.poll_notification(&mut context) {
            tell(&heard, self.process, line)?;
        }
        Ok(())
    }

    /// Waits until the client sends something, or until it is late, and tells it what is told meanwhile; whether something came.
    #[cfg(unix)]
    pub(crate) fn wait(&mut self, line: &mut Line, until: Option<Instant>) -> io::Result<Result<bool, Error>> {
        loop {
            if line.conversation.is_idle()
                && let Err(error) = self.tell(line)
            {
                return Ok(Err(error));
            }
            line.rest()?;
            match line.stream.wait_with(Some(&self.woken), until)? {
                Waited::One => return line.read().map(|()| Ok(true)),
                Waited::Other => self.empty()?,
                Waited::Nothing => return Ok(Ok(false)),
            }
        }
    }

    /// Takes the bell's bytes.
    #[cfg(unix)]
    fn empty(&mut self) -> io::Result<()> {
        use std::io::Read;
        let mut bytes = [0; 64];
        loop {
            match (&self.woken).read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn wait(&mut self, line: &mut Line, until: Option<Instant>) -> io::Result<Result<bool, Error>> {
        loop {
            if line.conversation.is_idle()
                && let Err(error) = self.tell(line)
            {
                return Ok(Err(error));
            }
            let look = Instant::now() + LOOK_TIME;
            if line.wait_until(until.map_or(look, |until| until.min(look)))? {
                return Ok(Ok(true));
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(Ok(false));
            }
        }
    }
}

fn tell(heard: &Notification, process: i32, line: &mut Line) -> Result<(), Error> {
    if heard.missed() > 0 {
        let message = format!("the session fell behind: {} notifications were dropped", heard.missed());
        let hint = "Read anew what is derived of them, and take notifications more often.";
        return Err(Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message).with_hint(hint));
    }
    // Whose it is, is known of the session's own only.
    let teller = if heard.is_own() { process } else { 0 };
    line.conversation.notification(teller, heard.channel(), heard.payload());
    Ok(())
}
