//! One server under load.

use std::net::SocketAddr;
use std::rc::Rc;

use tempfile::TempDir;

use crate::core;
use crate::session::Server;

/// A running server. Fields are dropped in order: the server ends before its directory goes.
#[derive(Debug)]
pub struct Contestant {
    /// What the table calls it.
    pub name: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    /// The process; two addresses of one server share it.
    pub server: Rc<Server>,
    /// Its index, or its files and configuration.
    pub dir: Rc<TempDir>,
}

impl Contestant {
    /// Whether it knows such paths: Core has no payloads.
    pub fn serves(&self, path: &str) -> bool {
        self.name != core::NAME || path.starts_with("/rest/")
    }
}

/// An address on loopback that nothing listens at.
pub fn free_address() -> std::io::Result<SocketAddr> {
    std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()
}
