//! A real Bitcoin Core, where `BITCOIND_EXE` names one: started, asked, stopped, killed. The crate `corepc-node` drives it.
//!
//! Its directory outlives the process, so that a server can go on reading while the node is stopped, killed or started
//! with other flags.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use bitcoin::consensus::encode::serialize_hex;
use bitcoin::{Block, BlockHash, Transaction};
use corepc_node::Conf;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::wait::{until, until_true};

/// An output that anybody can spend: `OP_TRUE`.
pub const ANYBODY: &str = "raw(51)#8lvh9jxk";

/// The node's executable; without it a line says that a test was skipped.
pub fn executable() -> Option<PathBuf> {
    let exe = std::env::var_os("BITCOIND_EXE").map(PathBuf::from);
    if exe.is_none() {
        // Not by `println`, which the test harness swallows where a test succeeds.
        let _ = writeln!(std::io::stderr(), "skipped: BITCOIND_EXE names no bitcoind");
    }
    exe
}

/// A node on regtest, without a network; killed on drop.
pub struct Node {
    running: Option<corepc_node::Node>,
    exe: PathBuf,
    dir: TempDir,
}

impl Node {
    /// Starts one on an empty directory, unless there is none to start.
    pub fn start(flags: &[&str]) -> Option<Self> {
        let mut node = Self { running: None, exe: executable()?, dir: tempfile::tempdir().unwrap() };
        node.launch(flags);
        Some(node)
    }

    /// Starts one on blocks that are there already, which it reads anew.
    pub fn start_on(blocks_dir: &Path) -> Option<Self> {
        let mut node = Self { running: None, exe: executable()?, dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(node.blocks_dir()).unwrap();
        for entry in fs::read_dir(blocks_dir).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), node.blocks_dir().join(entry.file_name())).unwrap();
            }
        }
        node.launch(&["-reindex"]);
        Some(node)
    }

    fn launch(&mut self, flags: &[&str]) {
        let cookie = self.network_dir().join(".cookie");
        let mut conf = Conf::default();
        conf.args = [&["-regtest", "-rest", "-acceptnonstdtxn"][..], flags].concat();
        conf.staticdir = Some(self.datadir().to_owned());
        conf.wallet = None;
        conf.attempts = 1;
        let node = until("the node answers", || {
            // That of a node that was killed would be taken for the new one's, also when a slow start is given up.
            let _ = fs::remove_file(&cookie);
            corepc_node::Node::with_conf(&self.exe, &conf).ok()
        });
        self.running = Some(node);
    }

    /// Stops it in order and starts it with other flags.
    pub fn restart(&mut self, flags: &[&str]) {
        self.running.take().unwrap().stop().unwrap();
        self.launch(flags);
    }

    /// SIGKILL: what it has not written by now is lost.
    pub fn kill(&mut self) {
        let pid = fs::read_to_string(self.network_dir().join("bitcoind.pid")).unwrap();
        let status = Command::new("kill").args(["-9", pid.trim()]).status().unwrap();
        assert!(status.success());
        until_true("the node is gone", || self.try_call("uptime", &[]).is_err());
        self.running = None;
    }

    /// Starts it again after [`Self::kill`].
    pub fn revive(&mut self, flags: &[&str]) {
        assert!(self.running.is_none(), "it is running");
        self.launch(flags);
    }

    /// The data directory.
    pub fn datadir(&self) -> &Path {
        self.dir.path()
    }

    fn network_dir(&self) -> PathBuf {
        self.datadir().join("regtest")
    }

    /// Where its block and undo files are.
    pub fn blocks_dir(&self) -> PathBuf {
        self.network_dir().join("blocks")
    }

    /// Where it answers RPC and REST.
    pub fn address(&self) -> SocketAddr {
        self.running.as_ref().unwrap().params.rpc_socket.into()
    }

    /// What it says of itself.
    pub fn version(&self) -> String {
        let output = Command::new(&self.exe).arg("--version").output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap().to_owned()
    }

    /// Any call, with its error as text.
    pub fn try_call(&self, method: &str, args: &[Value]) -> Result<Value, String> {
        self.running.as_ref().unwrap().client.call(method, args).map_err(|error| error.to_string())
    }

    /// A call that succeeds.
    #[track_caller]
    pub fn call(&self, method: &str, args: &[Value]) -> Value {
        match self.try_call(method, args) {
            Ok(value) => value,
            Err(error) => panic!("{method} {args:?}: {error}"),
        }
    }

    /// Mines blocks that pay to a descriptor, with what waits in the mempool; the last one's hash.
    #[track_caller]
    pub fn mine(&self, count: u32, descriptor: &str) -> BlockHash {
        self.call("generatetodescriptor", &[json!(count), json!(descriptor)]);
        self.tip()
    }

    /// Mines one block with exactly these transactions.
    #[track_caller]
    pub fn mine_these(&self, txs: &[Transaction]) -> BlockHash {
        let txs: Vec<String> = txs.iter().map(serialize_hex).collect();
        hash(&self.call("generateblock", &[json!(ANYBODY), json!(txs)])["hash"])
    }

    /// Hands over a block that becomes the tip.
    #[track_caller]
    pub fn submit(&self, block: &Block) {
        let refused = self.call("submitblock", &[json!(serialize_hex(block))]);
        assert_eq!((refused, self.tip()), (Value::Null, block.block_hash()));
    }

    /// A descriptor with its checksum.
    pub fn descriptor(&self, text: &str) -> String {
        self.call("getdescriptorinfo", &[json!(text)])["descriptor"].as_str().unwrap().to_owned()
    }

    /// The best block that it knows.
    #[track_caller]
    pub fn tip(&self) -> BlockHash {
        hash(&self.call("getbestblockhash", &[]))
    }

    /// Height of its best block.
    #[track_caller]
    pub fn height(&self) -> u32 {
        self.call("getblockcount", &[]).as_u64().unwrap() as u32
    }

    /// Hash of its best chain at a height.
    #[track_caller]
    pub fn hash_at(&self, height: u32) -> BlockHash {
        hash(&self.call("getblockhash", &[json!(height)]))
    }

    /// Hashes of its best chain from a height on.
    pub fn chain_from(&self, height: u32) -> Vec<(u32, BlockHash)> {
        (height..=self.height()).map(|height| (height, self.hash_at(height))).collect()
    }
}

#[track_caller]
fn hash(value: &Value) -> BlockHash {
    value.as_str().unwrap().parse().unwrap()
}
