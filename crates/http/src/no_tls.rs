//! What stands for TLS where the program is built without it.

use std::io;

use cairn_server::Tls;
use tokio::net::TcpStream;

/// None is made: there is no certificate.
pub(crate) async fn accept(_: &Tls, _: TcpStream) -> io::Result<TcpStream> {
    Err(io::ErrorKind::Unsupported.into())
}
