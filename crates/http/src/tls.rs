//! Connections over TLS, by the certificate that the server shows to PostgreSQL's clients.

use std::io;

use cairn_server::Tls;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What is spoken within.
const PROTOCOL: &[u8] = b"http/1.1";

/// A client's side of it, once it has shaken hands.
pub(crate) async fn accept(tls: &Tls, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    TlsAcceptor::from(tls.config_for(PROTOCOL)).accept(stream).await
}
