//! Bitcoin Core's node, serving its REST interface with its own settings and no network.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;

use anyhow::Result;
use bitcoin::BlockHash;
use hindsight_benches::chains::Chain;

use crate::contestant::Contestant;
use crate::hindsight::wait_for;
use crate::session::{Server, command};

/// What the table calls it.
pub const NAME: &str = "bitcoind";

/// Starts it on a chain's blocks, listening at `address`. It validates them, writes their undo data beside them, and answers for `last` when it is
/// done; everything else of it goes to a directory of its own.
pub fn start(bitcoind: &Path, address: SocketAddr, chain: &Chain, last: BlockHash) -> Result<Contestant> {
    let dir = tempfile::tempdir()?;
    let mut command = command(bitcoind.as_os_str())?;
    command.arg(format!("-datadir={}", dir.path().display()));
    command.arg(format!("-blocksdir={}", chain.datadir.display()));
    command.args(["-regtest", "-reindex", "-rest", "-server", "-listen=0", "-connect=0", "-dnsseed=0"]);
    command.args(["-rpcbind=127.0.0.1", "-rpcallowip=127.0.0.1"]).arg(format!("-rpcport={}", address.port()));
    let server = Rc::new(Server::start(command.stdout(Stdio::null()))?);
    let contestant = Contestant { name: NAME, address, server, dir: Rc::new(dir) };
    wait_for(&contestant, &format!("/rest/spenttxouts/{last}.bin"))?;
    Ok(contestant)
}
