//! What stands for TLS where the program is built without it.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use cairndb::Error;

use crate::stream::Stream;

/// A certificate and its key: there is none.
#[derive(Clone, Debug)]
pub struct Tls(Infallible);

impl Tls {
    /// # Errors
    ///
    /// 0A000.
    pub fn of_files(_: impl AsRef<Path>, _: impl AsRef<Path>) -> Result<Tls, Error> {
        Err(Error::unsupported("TLS in a program that was built without it (feature tls)"))
    }

    pub(crate) fn accept(&self, _: bool) -> io::Result<Channel> {
        match self.0 {}
    }
}

pub(crate) struct Channel(Infallible);

impl Channel {
    pub(crate) fn binding(&self) -> Option<Vec<u8>> {
        match self.0 {}
    }

    pub(crate) fn receive(&mut self, _: &[u8], _: impl FnMut(&[u8])) -> io::Result<bool> {
        match self.0 {}
    }

    pub(crate) fn write_all(&mut self, _: &[u8], _: &Stream) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn close(&mut self, _: &Stream) {
        match self.0 {}
    }
}
