//! The real `hindsight` binary as a process, for what cannot be done to oneself: being killed.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use crate::client::{Response, request};

/// The binary: what `HINDSIGHT_BIN` names, else built once as these tests were.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| std::env::var_os("HINDSIGHT_BIN").map_or_else(build, PathBuf::from))
}

/// Cargo says itself where it put the binary, whatever its target directory is.
fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "-p", "hindsight", "--bin", "hindsight", "--message-format=json-render-diagnostics"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "hindsight does not build");
    let messages = output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let messages = messages.map(|line| serde_json::from_slice::<serde_json::Value>(line).unwrap());
    let mut executables = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    executables.next_back().expect("cargo names the executable")
}

/// A `hindsight serve`, with nothing of this machine's settings.
pub fn serve_command(datadir: &Path, index_dir: &Path) -> Command {
    let mut command = Command::new(binary());
    command.env_clear();
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command.arg("--datadir").arg(datadir).arg("--index-dir").arg(index_dir);
    command
}

/// Runs a `hindsight check` to its end: its exit code, and what it says.
pub fn check(datadir: &Path, index_dir: &Path, more: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(binary());
    command.env_clear().arg("check").args(more);
    let output = command.arg("--datadir").arg(datadir).arg("--index-dir").arg(index_dir).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// Runs one that is expected to refuse, to its end.
pub fn refused(datadir: &Path, index_dir: &Path) -> (Output, String) {
    let output = serve_command(datadir, index_dir).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

/// A running server, killed on drop.
pub struct Process {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Process {
    /// Starts one and waits until it says where it listens.
    pub fn start(datadir: &Path, index_dir: &Path) -> Self {
        Self::start_with(datadir, index_dir, &[])
    }

    /// The same with further flags.
    pub fn start_with(datadir: &Path, index_dir: &Path, flags: &[&str]) -> Self {
        let mut command = serve_command(datadir, index_dir);
        let mut child = command.args(flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").and_then(|(_, url)| url.trim_end_matches('/').parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("it said {line:?} and {said:?}");
        };
        let log = child.stderr.take().unwrap();
        // A full pipe would stop it.
        std::thread::spawn(move || std::io::copy(&mut BufReader::new(log), &mut std::io::sink()));
        Self { child, address }
    }

    /// `GET`
    #[track_caller]
    pub fn get(&self, path: &str) -> Response {
        request(self.address, "GET", path, &[]).unwrap()
    }

    /// SIGKILL, and nothing of it is left.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and waits for it to end well.
    pub fn terminate(mut self) {
        let status = Command::new("kill").arg(self.id().to_string()).status().unwrap();
        assert!(status.success());
        assert!(self.child.wait().unwrap().success());
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Bytes of memory that it has in use, where the system tells (`/proc`).
    pub fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib << 10)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
