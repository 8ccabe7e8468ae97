//! TLS: what is said over it, without the socket that carries it.
//!
//! - What has come out of the socket has been taken apart when [`Channel::receive`] returns: nothing waits in here that a poll of the socket
//!   would not tell of.
//! - Protocol 1.2 and 1.3; no session is resumed, and no certificate asked of clients.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use cairndb::{Error, SqlState};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection};

use crate::certificate::end_point;
use crate::stream::Stream;

/// What clients call the protocol that is spoken within.
const ALPN: &[u8] = b"postgresql";
/// Room for what is taken out at a time.
const PLAIN_BYTES: usize = 16 << 10;

/// A certificate and its key, which a server shows to whoever wants to speak TLS.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    binding: Option<Arc<[u8]>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Of PEM files: the certificate with those that vouch for it behind it, and its key, which only its owner may read (root's may be
    /// read by its group).
    ///
    /// # Errors
    ///
    /// 58030 for a file that can not be read, 42501 for a key that others may read, 22023 for what is no certificate, no key, or not
    /// the key of the certificate.
    ///
    /// ```no_run
    /// let tls = cairn_server::Tls::of_files("server.crt", "server.key")?;
    /// let options = cairn_server::Options { tls: Some(tls), ..Default::default() };
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn of_files(certificate: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Tls, Error> {
        let (certificate, key) = (certificate.as_ref(), key.as_ref());
        let bad = |path: &Path, why: &dyn fmt::Display| {
            Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("{}: {why}", path.display()))
        };
        let pem = read(certificate)?;
        let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| bad(certificate, &error))?;
        let first = chain.first().ok_or_else(|| bad(certificate, &"there is no certificate in it (in PEM)"))?;
        let binding = end_point(first).map(Arc::from);
        check_private(key)?;
        let pem = read(key)?;
        let own = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| bad(key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| bad(certificate, &error))?.with_no_client_auth();
        let mut config = builder.with_single_cert(chain, own).map_err(|error| bad(key, &error))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Tls { config: Arc::new(config), binding })
    }

    /// How others speak TLS by the same certificate, with this protocol within ([RFC 7301](https://www.rfc-editor.org/rfc/rfc7301)).
    pub fn config_for(&self, protocol: &[u8]) -> Arc<ServerConfig> {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = vec![protocol.to_vec()];
        Arc::new(config)
    }

    /// What binds an authentication to this certificate; `None`: its signature has no hash that would do.
    pub(crate) fn binding(&self) -> Option<Vec<u8>> {
        self.binding.as_deref().map(<[u8]>::to_vec)
    }

    /// A client that is to begin. `is_direct`: it did not ask, and so has to say by ALPN which protocol it wants.
    pub(crate) fn accept(&self, is_direct: bool) -> io::Result<Channel> {
        let connection = ServerConnection::new(self.config.clone()).map_err(io::Error::other)?;
        let plain = vec![0; PLAIN_BYTES].into_boxed_slice();
        Ok(Channel { connection, plain, is_direct, binding: self.binding() })
    }
}

/// TLS with one client.
pub(crate) struct Channel {
    connection: ServerConnection,
    plain: Box<[u8]>,
    is_direct: bool,
    binding: Option<Vec<u8>>,
}

impl Channel {
    /// See [`Tls::binding`].
    pub(crate) fn binding(&self) -> Option<Vec<u8>> {
        self.binding.clone()
    }

    /// Bytes have come out of the socket: gives what they say to `into`; whether the client has said that it says nothing more.
    pub(crate) fn receive(&mut self, mut bytes: &[u8], mut into: impl FnMut(&[u8])) -> io::Result<bool> {
        let mut is_over = false;
        while !bytes.is_empty() && !is_over {
            self.connection.read_tls(&mut bytes)?;
            let state = self.connection.process_new_packets().map_err(invalid)?;
            is_over = state.peer_has_closed();
            self.check_protocol()?;
            self.give(state.plaintext_bytes_to_read(), &mut into)?;
        }
        Ok(is_over)
    }

    fn check_protocol(&self) -> io::Result<()> {
        let is_said = self.connection.is_handshaking() || self.connection.alpn_protocol() == Some(ALPN);
        match self.is_direct && !is_said {
            true => Err(invalid("a direct connection says by ALPN that it wants \"postgresql\"")),
            false => Ok(()),
        }
    }

    fn give(&mut self, mut left: usize, into: &mut impl FnMut(&[u8])) -> io::Result<()> {
        while left > 0 {
            let count = self.connection.reader().read(&mut self.plain)?;
            if count == 0 {
                break;
            }
            into(&self.plain[..count]);
            left -= count;
        }
        Ok(())
    }

    /// Writes these bytes, and what TLS has to say on its own.
    pub(crate) fn write_all(&mut self, mut bytes: &[u8], stream: &Stream) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.connection.writer().write(bytes)?;
            bytes = &bytes[count..];
            self.write_rest(stream)?;
        }
        self.write_rest(stream)
    }

    fn write_rest(&mut self, mut stream: &Stream) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut stream) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Says that nothing more is said, to who takes it at once.
    pub(crate) fn close(&mut self, mut stream: &Stream) {
        if stream.set_nonblocking().is_ok() {
            self.connection.send_close_notify();
            // Who does not take it does without.
            let _ = self.connection.write_tls(&mut stream);
        }
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |error: io::Error| Error::new(SqlState::IO_ERROR, format!("{}: {error}", path.display()));
    std::fs::read(path).map_err(failed)
}

/// SQLSTATE 42501 for a key that others may read.
#[cfg(unix)]
fn check_private(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let failed = |error: io::Error| Error::new(SqlState::IO_ERROR, format!("{}: {error}", path.display()));
    let metadata = path.metadata().map_err(failed)?;
    let others = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & others == 0 {
        return Ok(());
    }
    let message = format!("{}: others may read the key, or write to it", path.display());
    Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).with_hint("Take that from them (chmod 600)."))
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> Result<(), Error> {
    Ok(())
}
