//! Holds what the server says of a block against what Core's kernel and the `bitcoin` crate say of it.

use bitcoin::consensus::{deserialize, serialize};
use bitcoin::p2p::Magic;
use bitcoin::{Address, Amount, Block, BlockHash, Network, ScriptBuf, Transaction, TxOut, VarInt};
use hindsight_shared::payload::{Absence, Payload, Prevouts};
use hindsight_shared::prevouts::PrevoutsView;
use hindsight_shared::script::address;
use hindsight_shared::summary::{TxRow, rows};
use hindsight_shared::verify::{Outcome, verify};

use crate::kernel_chain::{KernelChain, SpentCoin};
use crate::test_server::TestServer;

/// How much has been compared.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Compared {
    /// Blocks.
    pub blocks: u64,
    /// Transactions.
    pub txs: u64,
    /// Spent outputs.
    pub prevouts: u64,
    /// Single values.
    pub fields: u64,
}

impl Compared {
    #[track_caller]
    fn field<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, ours: T, theirs: T) {
        assert_eq!(ours, theirs, "{what}");
        self.fields += 1;
    }

    /// Adds up.
    pub fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.txs += other.txs;
        self.prevouts += other.prevouts;
        self.fields += other.fields;
    }
}

/// What is true of one connected block.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The network it is of.
    pub network: Network,
    /// Its height.
    pub height: u32,
    /// Its consensus serialization.
    pub bytes: Vec<u8>,
    /// What each transaction but the coinbase spends.
    pub spent: Vec<Vec<SpentCoin>>,
    /// Whether the best chain goes through it.
    pub best_chain: bool,
}

impl Expected {
    /// As the kernel knows it.
    pub fn of_kernel(kernel: &KernelChain, hash: BlockHash) -> Self {
        Self {
            network: kernel.network(),
            height: kernel.height_of(hash).unwrap(),
            bytes: kernel.block(hash).unwrap(),
            spent: kernel.spent(hash).unwrap(),
            best_chain: kernel.is_best(hash).unwrap(),
        }
    }
}

/// Compares everything that the server says of a block.
#[track_caller]
pub fn compare(server: &TestServer, expected: &Expected) -> Compared {
    compare_on(server, expected, expected.network.magic())
}

/// The same on a network whose files start with this.
#[track_caller]
pub fn compare_on(server: &TestServer, expected: &Expected, magic: Magic) -> Compared {
    let Expected { network, height, bytes, spent, best_chain } = expected;
    let block: Block = deserialize(bytes).unwrap();
    let hash = block.block_hash();
    let mut compared = Compared { blocks: 1, ..Compared::default() };

    let facts = server.facts(hash);
    compared.field("facts: hash", facts.hash, hash);
    compared.field("facts: height", facts.height.map(|height| height.0), Some(*height));
    compared.field("facts: size", facts.size as usize, bytes.len());
    compared.field("facts: transactions", facts.tx_count as usize, block.txdata.len());
    compared.field("facts: time", facts.time, block.header.time);
    compared.field("facts: bits", facts.bits, block.header.bits.to_consensus());
    compared.field("facts: previous", facts.previous, block.header.prev_blockhash);
    compared.field("facts: best chain", facts.best_chain, *best_chain);

    let wire = server.payload(hash);
    let payload = Payload::decode(&wire).unwrap();
    compared.field("payload: height", payload.height.map(|height| height.0), Some(*height));
    compared.field("payload: network", payload.network, magic);
    compared.field("payload: block", payload.block, bytes.as_slice());
    let (view, prevouts) = payload.view().unwrap();
    let rows = rows(&view, prevouts.as_ref()).unwrap();
    compare_rows(&mut compared, *network, (&block, spent), &rows);
    if *height > 0 {
        compared.field("payload: absence", payload.absence, None);
        compare_prevouts(&mut compared, *network, &prevouts.unwrap(), spent);
    }
    // What the browser would check of this payload, it finds right.
    for check in verify(&payload, &view, &rows, Some(hash)) {
        assert_ne!(check.outcome, Outcome::Failed, "{}: {}", check.subject, check.detail);
        compared.fields += 1;
    }

    compared.field("/rest/block", &server.get_ok(&format!("/rest/block/{hash}.bin")), bytes);
    let served = server.get_ok(&format!("/rest/spenttxouts/{hash}.bin"));
    compared.field("/rest/spenttxouts", served, spent_txouts(spent));
    compared
}

/// What is served of a block that the node has stored and never connected.
#[track_caller]
pub fn is_not_connected(server: &TestServer, block: &Block) {
    let hash = block.block_hash();
    let path = format!("/api/v1/block/{hash}/payload");
    let response = server.get(&path);
    assert_eq!(response.status, 200);
    assert_eq!(response.header("cache-control"), Some("no-cache"));
    let payload = Payload::decode(&response.body).unwrap();
    assert_eq!((payload.prevouts, payload.absence), (Prevouts::Absent, Some(Absence::NotConnected)));
    assert_eq!(payload.block, serialize(block));
    assert!(!server.facts(hash).best_chain);
    let undo = server.get(&format!("/rest/spenttxouts/{hash}.bin"));
    assert_eq!((undo.status, undo.text()), (404, format!("{hash} undo not available\r\n")));
    assert_eq!(server.get_ok(&format!("/rest/block/{hash}.bin")), serialize(block));
}

fn compare_rows(
    compared: &mut Compared,
    network: Network,
    (block, spent): (&Block, &[Vec<SpentCoin>]),
    rows: &[TxRow],
) {
    compared.field("transactions", rows.len(), block.txdata.len());
    for (index, (tx, row)) in block.txdata.iter().zip(rows).enumerate() {
        compared.txs += 1;
        compared.field("txid", row.txid, tx.compute_txid());
        compared.field("wtxid", row.wtxid, tx.compute_wtxid());
        compared.field("size", row.size as usize, tx.total_size());
        compared.field("weight", u64::from(row.weight), tx.weight().to_wu());
        compared.field("inputs", row.inputs as usize, tx.input.len());
        compared.field("outputs", row.outputs as usize, tx.output.len());
        compared.field("value", row.value, outputs(tx));
        let fee = index.checked_sub(1).and_then(|index| fee(&spent[index], tx));
        compared.field("fee", row.fee, fee);
        for output in &tx.output {
            compare_address(compared, network, &output.script_pubkey);
        }
    }
}

fn outputs(tx: &Transaction) -> Amount {
    tx.output.iter().map(|output| output.value).sum()
}

fn fee(spent: &[SpentCoin], tx: &Transaction) -> Option<Amount> {
    spent.iter().map(|coin| coin.output.value).sum::<Amount>().checked_sub(outputs(tx))
}

fn compare_prevouts(compared: &mut Compared, network: Network, ours: &PrevoutsView<'_>, theirs: &[Vec<SpentCoin>]) {
    compared.field("transactions with prevouts", ours.tx_count(), theirs.len() + 1);
    for (index, theirs) in theirs.iter().enumerate() {
        let ours: Vec<_> = ours.tx(index + 1).collect();
        compared.field("inputs with prevouts", ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(theirs) {
            compared.prevouts += 1;
            compared.field("prevout: value", ours.value, theirs.output.value);
            compared.field("prevout: script", ours.script.to_script(), theirs.output.script_pubkey.clone());
            let created = ours.created.map(|created| (created.height.0, created.coinbase));
            compared.field("prevout: creation", created, Some((theirs.height, theirs.coinbase)));
            compare_address(compared, network, &theirs.output.script_pubkey);
        }
    }
}

fn compare_address(compared: &mut Compared, network: Network, script: &ScriptBuf) {
    let theirs = Address::from_script(script, network).ok().map(|address| address.to_string());
    compared.field("address", address(script, network), theirs);
}

/// What Core's `/rest/spenttxouts/<hash>.bin` holds (`src/rest.cpp`), written with the `bitcoin` crate.
pub fn spent_txouts(spent: &[Vec<SpentCoin>]) -> Vec<u8> {
    let mut out = serialize(&VarInt((spent.len() + 1) as u64));
    out.extend(serialize(&VarInt(0)));
    for tx in spent {
        let outputs: Vec<TxOut> = tx.iter().map(|coin| coin.output.clone()).collect();
        out.extend(serialize(&outputs));
    }
    out
}
