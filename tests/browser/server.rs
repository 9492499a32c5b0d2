//! The binary as a reader would start it: the demo, or a node's directory.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use hindsight_shared::api::{BlockFacts, Status};
use hindsight_tests::client::{Response, request};
use hindsight_tests::fixtures::{Fixture, mainnet_eras};
use hindsight_tests::wait::until_true;
use tempfile::TempDir;

/// A running `hindsight`, killed on drop.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    // The demo unpacks into the temporary folder; killed, it leaves that behind.
    _temporary: TempDir,
    fixture: Option<Fixture>,
}

impl Server {
    /// `hindsight demo --chain testnet3`
    pub fn demo() -> Self {
        Self::demo_at("127.0.0.1:0")
    }

    /// `hindsight demo`: the chain that was made for it, first of the demo's two.
    pub fn showcase() -> Self {
        Self::start(|command, _| command.arg("demo"), "127.0.0.1:0", None)
    }

    /// The demo on a port that was its own before.
    pub fn demo_at(listen: &str) -> Self {
        Self::start(|command, _| command.args(["demo", "--chain", "testnet3"]), listen, None)
    }

    /// Real mainnet blocks, where they are on this machine.
    pub fn mainnet() -> Option<Self> {
        let fixture = mainnet_eras()?;
        let datadir = fixture.datadir();
        let arrange = |command: &mut Command, index: PathBuf| {
            command.arg("serve").arg("--datadir").arg(&datadir).arg("--index-dir").arg(index);
        };
        Some(Self::start(
            |command, index| {
                arrange(command, index);
                command
            },
            "127.0.0.1:0",
            Some(fixture),
        ))
    }

    fn start(
        arrange: impl FnOnce(&mut Command, PathBuf) -> &mut Command,
        listen: &str,
        fixture: Option<Fixture>,
    ) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut command = Command::new(binary());
        command.env_clear().env("TMPDIR", temporary.path());
        arrange(&mut command, temporary.path().join("index")).args(["--listen", listen]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").and_then(|(_, url)| url.trim_end_matches('/').parse().ok());
        let address = address.unwrap_or_else(|| panic!("hindsight did not say where it serves, but {line:?}"));
        let server = Self { child, address, _temporary: temporary, fixture };
        // While the index grows, browsers tell on their consoles that something was not there yet.
        until_true("the directory has been read and indexed", || {
            let status: Status = server.get("/api/v1/status").json();
            status.progress.complete && status.index.iter().all(|level| level.whole)
        });
        server
    }

    /// The page's address.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// `GET`
    pub fn get(&self, path: &str) -> Response {
        request(self.address, "GET", path, &[]).unwrap()
    }

    /// `GET /api/v1/block/{id}`
    pub fn facts(&self, id: impl std::fmt::Display) -> BlockFacts {
        self.get(&format!("/api/v1/block/{id}")).json()
    }

    /// `GET /api/v1/block/{id}/payload`
    pub fn payload(&self, id: impl std::fmt::Display) -> Vec<u8> {
        let response = self.get(&format!("/api/v1/block/{id}/payload"));
        assert_eq!(response.status, 200, "{}", response.text());
        response.body
    }

    /// What was written about each block where the directory was put together.
    pub fn expected(&self) -> Vec<serde_json::Value> {
        let datadir = self.fixture.as_ref().expect("only the mainnet blocks come with expected values").datadir();
        serde_json::from_slice(&std::fs::read(datadir.join("expected.json")).unwrap()).unwrap()
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A binary built by these tests would be without the web app, so there is no fallback.
fn binary() -> PathBuf {
    let named = std::env::var_os("HINDSIGHT_BIN").map(PathBuf::from);
    named.expect("HINDSIGHT_BIN has to name a hindsight with the web app inside: `cargo xtask test browser` builds it")
}
