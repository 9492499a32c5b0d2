//! Writes `seeds/`: small real blocks of the two chains that the project carries, in the form that each target reads.
//!
//!     cargo run --manifest-path tests/fuzz/Cargo.toml --example seeds

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bitcoin::p2p::Magic;
use bitcoin::{Amount, OutPoint, Script, Txid};
use hindsight::runs::hashes::{Prefix, Secret};
use hindsight::runs::rows::BlockRows;
use hindsight::runs::run::Kind;
use hindsight::runs::seal::seal;
use hindsight::source::{BlockFile, BlockRecord, BlockSource, CoreFiles, Datadir, DatadirOptions};
use hindsight_fuzz::pages::What;
use hindsight_shared::Height;
use hindsight_shared::address::{BalanceAt, Coin, Row, Totals, Touched};
use hindsight_shared::api::IndexLevel;
use hindsight_shared::block::BlockView;
use hindsight_shared::found_tx::{Fate, FoundTx, Spender, TxPlace};
use hindsight_shared::network::network_of;
use hindsight_shared::payload::{self, Absence, Payload, Prevouts, split_checksum};
use hindsight_shared::prevouts::PrevoutsView;
use hindsight_shared::script::is_unspendable;
use hindsight_shared::stats::row::Summary;
use hindsight_shared::tx_payload::TxPayload;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Larger blocks teach a fuzzer nothing more and slow it down.
const LARGEST: u32 = 4_000;
/// Blocks of each chain.
const BLOCKS: usize = 10;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir()?;
    let fixture = File::open(root.join("../fixtures/regtest-kernel-206.tar.zst"))?;
    tar::Archive::new(ruzstd::decoding::StreamingDecoder::new(fixture)?).unpack(dir.path())?;
    let seeds = Seeds { dir: root.join("seeds") };
    chain(&seeds, "regtest", &dir.path().join("regtest-kernel-206"))?;
    chain(&seeds, "testnet3", &hindsight::demo::DemoChain::Testnet3.unpack(dir.path())?)?;
    for (name, text) in [
        ("height", "840,000"),
        ("hash", "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"),
        ("number", "#5"),
        ("date", "2009-01-03"),
        ("words", "tip of the chain"),
        ("p2pkh", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
        ("p2sh", "3JvL6Ymt8MVWiCNHC7oWU6nLeHNJKLZGLN"),
        ("p2wpkh", "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4"),
        ("testnet", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"),
        ("taproot", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"),
        ("key", "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"),
        ("script", "0014751e76e8199196d454941c45d1b3a323f1433bd6"),
    ] {
        seeds.write("search", name, text.as_bytes())?;
    }
    for (name, text) in REQUESTS {
        let text = text.replace("HASH", SPENDS).replace("TXID", TXID).replace("SCRIPT", SCRIPT);
        seeds.write("request", name, text.as_bytes())?;
    }
    for (name, text) in SETTINGS {
        seeds.write("config", name, text.as_bytes())?;
    }
    Ok(())
}

/// Testnet3's block 546, which spends something.
const SPENDS: &str = "000000002a936ca763904c3c35fce2f3556c559c0214345d31b1bcebf76acb70";

/// The transaction of testnet3's block 1, and a script that was paid and spent from often.
const TXID: &str = "f0315ffc38709d70ad5647e22048358dd3745f3ce3874223c80a7c92fab0c8ba";
const SCRIPT: &str = "76a914620bbea6744f98719263bb728081666bfecc031888ac";

/// One for each route and each header that is read.
const REQUESTS: [(&str, &str); 32] = [
    ("facts", "GET /api/v1/block/546\nHost: localhost\nAccept-Encoding: zstd;q=0.5, br ; q=0.999, gzip;q=1.0, *;q=0"),
    ("facts-by-hash", "GET /api/v1/block/HASH"),
    ("stats", "GET /api/v1/block/546/stats?core_compat=31\nAccept-Encoding: gzip, deflate, br, zstd"),
    ("list", "GET /api/v1/blocks?from=2011-02-03&count=30\nAccept-Encoding: br"),
    ("list-height", "GET /api/v1/blocks?from=1,000&count=100\nAccept-Encoding: *"),
    ("summaries", "GET /api/v1/blocks/summaries?from=600&count=90\nAccept-Encoding: zstd"),
    ("tip", "HEAD /api/v1/tip\nHost: 127.0.0.1:3110"),
    ("status", "GET /api/v1/status\nHost: [::1]:3110"),
    ("payload", "GET /api/v1/block/HASH/payload\nRange: bytes=0-99\nIf-None-Match: \"a\", W/\"b\""),
    ("payload-any", "GET /api/v1/block/546/payload\nIf-None-Match: *"),
    ("tx", "GET /api/v1/block/546/tx/1\nRange: bytes=-20"),
    ("tx-by-id", "GET /api/v1/block/546/tx/HASH"),
    ("range", "GET /api/v1/blocks/540/560/payload\nRange: bytes=100-200, 300-, -50\nIf-Range: \"a\""),
    ("rest-block", "GET /rest/block/HASH.bin\nRange: bytes= 0-0,-1 , 7-9"),
    ("rest-notxdetails", "POST /rest/block/notxdetails/HASH.hex"),
    ("rest-part", "GET /rest/blockpart/HASH.bin?offset=80&size=100&offset=%31"),
    ("rest-spent", "GET /rest/spenttxouts/HASH.hex"),
    ("rest-headers", "GET /rest/headers/HASH.json?count=5"),
    ("rest-headers-old", "GET /rest/headers/20/HASH.bin"),
    ("rest-hash", "GET /rest/blockhashbyheight/546.json"),
    ("find", "GET /api/v1/tx/TXID\nRange: bytes=0-99\nIf-None-Match: \"a\""),
    ("outpoint", "GET /api/v1/outpoint/TXID:0"),
    ("address", "GET /api/v1/address/SCRIPT"),
    ("address-text", "GET /api/v1/address/mpXwg4jMtRhuSpVq4xS3HFHmCmWp9NyGKt"),
    ("history", "GET /api/v1/address/SCRIPT/history?before=1000:1&count=3\nAccept-Encoding: gzip"),
    ("unspent", "GET /api/v1/address/SCRIPT/unspent\nRange: bytes=-52"),
    ("balance", "GET /api/v1/address/SCRIPT/balance"),
    ("search-height", "GET /api/v1/search/1%2C000"),
    ("search-beginning", "GET /api/v1/search/f0315ffc\nAccept-Encoding: zstd"),
    ("search-outpoint", "GET /api/v1/search/TXID:0"),
    ("search-script", "GET /api/v1/search/SCRIPT"),
    ("preflight", "OPTIONS /api/v1/block/HASH/payload\nHost: evil.example\nOrigin: https://evil.example"),
];

/// Every setting, and what else TOML has.
const SETTINGS: [(&str, &str); 4] = [
    (
        "all",
        "log = 'info'\ndatadir = '/node'\nblocksdir = '/blocks'\nnetwork = 'signet'\nsignet_challenge = '51'\n\
             index_dir = '/index'\nindex = 'transactions'\nindex_memory = 64\nlisten = '[::1]:80'\n\
             host = ['a.example', 'B.example:443']\ncors = true\n\
             core_compat = 31\ncache = 64",
    ),
    ("home", "datadir = '~/node'\ncache = 0x10 # MiB\nhost = []"),
    ("tables", "[a.b]\nc = { d = 1979-05-27T07:32:00Z, e = [1.5, inf] }\nf = \"\"\"\\u0041\n\"\"\""),
    (
        "flags",
        "--datadir=/node\n--host\na.example,b.example\n--cors\n--listen=127.0.0.1:0\n--cache=1\n--core-compat=30\n--index=blocks",
    ),
];

struct Seeds {
    dir: PathBuf,
}

impl Seeds {
    fn write(&self, target: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let dir = self.dir.join(target);
        fs::create_dir_all(&dir)?;
        Ok(fs::write(dir.join(name), bytes)?)
    }
}

/// Seeds of one chain: the blocks with most inputs that are small, and the first.
fn chain(seeds: &Seeds, name: &str, datadir: &Path) -> Result<()> {
    let options = DatadirOptions { datadir: datadir.to_owned(), ..DatadirOptions::default() };
    let files = CoreFiles::open(Datadir::open(&options)?)?;
    let blk = files.walk(0, None)?;
    let rev = files.pair(&blk)?;
    let mut small: Vec<_> = blk.records.iter().filter(|record| record.size < LARGEST).collect();
    small.sort_by_key(|record| std::cmp::Reverse((record.tx_count, record.size)));
    let mut scripts = BTreeSet::new();
    for record in small.into_iter().take(BLOCKS).chain(blk.records.first()) {
        let undo =
            rev.records.iter().find(|undo| undo.block == record.hash).map(|undo| files.undo(undo)).transpose()?;
        let block = files.block(record)?;
        let height =
            blk.records.iter().position(|other| other.hash == record.hash).and_then(|at| u32::try_from(at).ok());
        let name = format!("{name}-{}", &record.hash.to_string()[50..]);
        one(seeds, &name, &files, (height.map(Height), &block, undo.as_deref()))?;
        for tx in BlockView::parse(&block)?.txs() {
            scripts.extend(tx.outputs().map(|output| output.script.to_bytes()));
            scripts.extend(tx.inputs().map(|input| input.script_sig.to_bytes()));
        }
    }
    // One of each length: what else tells scripts apart, mutation finds.
    let mut lengths = BTreeSet::new();
    for script in scripts.iter().filter(|script| lengths.insert(script.len())) {
        seeds.write("script", &format!("{name}-{}", script.len()), script)?;
    }
    let ledger = Ledger::of(&files, &blk)?;
    ledger.found(seeds, name, files.datadir().magic)?;
    ledger.rows(seeds, name)?;
    pages(seeds, name, &files, &blk)?;
    if name == "regtest" { directory(seeds, &files, &blk) } else { Ok(()) }
}

fn one(
    seeds: &Seeds,
    name: &str,
    files: &CoreFiles,
    (height, block, undo): (Option<Height>, &[u8], Option<&[u8]>),
) -> Result<()> {
    let payload = Payload {
        network: files.datadir().magic,
        height,
        kind: payload::Kind::Block,
        absence: undo.is_none().then_some(Absence::Genesis),
        prevouts: undo.map_or(Prevouts::Absent, Prevouts::Undo),
        block,
    };
    let bytes = payload.encode()?;
    seeds.write("payload", name, &bytes)?;
    seeds.write("summary", name, &bytes)?;
    seeds.write("stats", name, &bytes)?;
    statistics(seeds, name, &payload)?;
    seeds.write("block_view", name, block)?;
    if let Some(undo) = undo {
        let undo = split_checksum(undo).0;
        seeds.write("undo", name, undo)?;
        seeds.write("undo", &format!("{name}-rest"), &PrevoutsView::from_undo(undo)?.to_spent_txouts())?;
    }
    Ok(())
}

/// The row of a block's statistics, and its last transaction alone.
fn statistics(seeds: &Seeds, name: &str, payload: &Payload<'_>) -> Result<()> {
    let (block, prevouts) = payload.view()?;
    let (network, height) = (network_of(payload.network), payload.height.unwrap_or_default());
    seeds.write("row", name, &Summary::compute(network, height, &block, prevouts.as_ref())?.pack())?;
    let last = block.tx_count() - 1;
    let tx = block.tx(last).ok_or("a block has a transaction")?;
    let answer = TxPayload {
        network: payload.network,
        height: payload.height,
        absence: None,
        index: u32::try_from(last)?,
        block: block.hash(),
        prevouts: prevouts.as_ref().map_or(&[], |prevouts| prevouts.tx_undo(last)),
        tx: tx.bytes(),
    };
    seeds.write("tx_payload", name, &answer.encode()?)
}

/// Transactions and scripts of a whole file, whose blocks lie in the order of the chain.
struct Ledger {
    blocks: Vec<Vec<u8>>,
    spenders: BTreeMap<OutPoint, Spender>,
}

impl Ledger {
    fn of(files: &CoreFiles, blk: &BlockFile) -> Result<Self> {
        let mut ledger = Self { blocks: Vec::new(), spenders: BTreeMap::new() };
        for (record, height) in blk.records.iter().zip(0..) {
            let bytes = files.block(record)?;
            for tx in BlockView::parse(&bytes)?.txs() {
                for (spent, input) in tx.inputs().zip(0..) {
                    let spender = Spender { txid: tx.txid(), input, height: Height(height) };
                    ledger.spenders.insert(OutPoint { txid: spent.txid, vout: spent.vout }, spender);
                }
            }
            ledger.blocks.push(bytes);
        }
        Ok(ledger)
    }

    /// Coinbases with an output that was spent, with one that was not, and with most outputs.
    fn found(&self, seeds: &Seeds, name: &str, network: Magic) -> Result<()> {
        let mut found = BTreeMap::new();
        for (bytes, height) in self.blocks.iter().zip(0..) {
            let block = BlockView::parse(bytes)?;
            let coinbase = block.tx(0).ok_or("a block has a transaction")?;
            let outputs = (0..).zip(coinbase.outputs());
            let fates: Vec<Fate> =
                outputs.map(|(vout, output)| self.fate(coinbase.txid(), vout, output.script)).collect();
            let kind = (fates.len().min(2), matches!(fates[0], Fate::Spent(_)));
            let place = TxPlace { block: block.hash(), height: Height(height), index: 0 };
            let payload = TxPayload {
                network,
                height: Some(Height(height)),
                absence: None,
                index: 0,
                block: block.hash(),
                prevouts: &[],
                tx: coinbase.bytes(),
            };
            let tip = Height(u32::try_from(self.blocks.len())? - 1);
            found.entry(kind).or_insert(FoundTx { tip, places: vec![place], fates, payload }.encode()?);
        }
        for ((outputs, spent), bytes) in found {
            let spent = if spent { "spent" } else { "unspent" };
            seeds.write("found_tx", &format!("{name}-{outputs}-{spent}"), &bytes)?;
        }
        Ok(())
    }

    fn fate(&self, txid: Txid, vout: u32, script: &Script) -> Fate {
        match self.spenders.get(&OutPoint { txid, vout }) {
            Some(spender) => Fate::Spent(*spender),
            None if is_unspendable(script) => Fate::Unspendable,
            None => Fate::Unspent,
        }
    }

    /// What the last blocks' coinbases pay, as if it were to one script.
    fn rows(&self, seeds: &Seeds, name: &str) -> Result<()> {
        let (mut history, mut coins, mut points) = (Vec::new(), Vec::new(), Vec::new());
        let mut sum = Amount::ZERO;
        let first = self.blocks.len() - 5;
        for (bytes, height) in self.blocks[first..].iter().zip(u32::try_from(first)?..) {
            let block = BlockView::parse(bytes)?;
            let coinbase = block.tx(0).ok_or("a block has a transaction")?;
            let (txid, height, time) = (coinbase.txid(), Height(height), block.header().time);
            let value = coinbase.outputs().next().ok_or("a transaction has an output")?.value;
            sum += value;
            history.push(Touched { txid, height, index: 0, time, received: value, spent: Amount::ZERO });
            coins.push(Coin { outpoint: OutPoint { txid, vout: 0 }, height, coinbase: true, value });
            points.push(BalanceAt { height, time, balance: sum });
        }
        let tip = BlockView::parse(&self.blocks[first + 4])?.hash();
        let height = Height(u32::try_from(first)? + 4);
        let totals = Totals {
            tip,
            height,
            transactions: 5,
            outputs: 5,
            spent_outputs: 0,
            received: sum,
            spent: Amount::ZERO,
            lost: Amount::ZERO,
            missing: 0,
            lost_outputs: 0,
        };
        seeds.write("address", &format!("{name}-totals"), &Row::pack_all(&[totals]))?;
        seeds.write("address", &format!("{name}-history"), &Row::pack_all(&history))?;
        seeds.write("address", &format!("{name}-coins"), &Row::pack_all(&coins))?;
        seeds.write("address", &format!("{name}-balance"), &Row::pack_all(&points))
    }
}

/// Pages of a run of a few blocks that spend something, and its heads.
fn pages(seeds: &Seeds, name: &str, files: &CoreFiles, blk: &BlockFile) -> Result<()> {
    let rev = files.pair(blk)?;
    let secret = Secret([7; 16]);
    let spends = blk.records.iter().position(|record| record.tx_count > 1).ok_or("a chain spends something")?;
    let mut rows = Vec::new();
    for record in blk.records[spends..].iter().take(160) {
        let bytes = files.block(record)?;
        let block = BlockView::parse(&bytes)?;
        let undo = rev.records.iter().find(|undo| undo.block == record.hash).ok_or("a block has undo")?;
        let undo = files.undo(undo)?;
        let prevouts = PrevoutsView::from_undo(split_checksum(&undo).0)?;
        let txids: Vec<Txid> = block.txs().map(|tx| tx.txid()).collect();
        rows.push(BlockRows::new(IndexLevel::Addresses, &secret, &block, &txids, Some(&prevouts)));
    }
    for level in IndexLevel::ALL {
        let packed = seal(level, Height(u32::try_from(spends)?), &rows).ok_or("a run of some blocks")?;
        let run = &packed.run;
        let write = |what: What, kind: &str, entries: u64, first: Prefix, page: &[u8]| {
            let what = What::ALL.iter().position(|other| *other == what).unwrap_or(0);
            let mut bytes = vec![u8::try_from(what)?];
            bytes.extend(u32::try_from(entries)?.to_le_bytes());
            bytes.extend(run.transactions().to_le_bytes());
            bytes.extend(&first.to_be_bytes()[3..]);
            bytes.extend(page);
            seeds.write("pages", &format!("{name}-{kind}"), &bytes)
        };
        write(What::Head, &format!("head-{level:?}").to_lowercase(), 0, 0, &run.pack())?;
        for (kind, pages) in &packed.pages {
            if let Some(((first, _), page)) = pages.first_key_value() {
                let (what, entries) = match kind {
                    Kind::Scripts => (What::Postings, run.scripts),
                    Kind::Txids => (What::Prefixes, run.transactions().into()),
                    Kind::Spends => (What::Prefixes, run.spends),
                };
                write(what, &format!("{kind:?}").to_lowercase(), entries, *first, page)?;
            }
        }
        for page in packed.sizes.values() {
            write(What::Sizes, "sizes", rows.len() as u64, 0, page)?;
        }
    }
    Ok(())
}

/// The last blocks of a file with their undo, as `walk` reads them.
fn directory(seeds: &Seeds, files: &CoreFiles, blk: &BlockFile) -> Result<()> {
    let magic = files.datadir().magic.to_bytes();
    let rev = files.pair(blk)?;
    for (name, from, to) in [("first", 0, 4), ("some", 100, 112), ("last", blk.records.len() - 6, blk.records.len())] {
        let records: &[BlockRecord] = &blk.records[from..to];
        let (mut blocks, mut undos) = (Vec::new(), Vec::new());
        for record in records {
            blocks.extend([&magic[..], &record.size.to_le_bytes(), &files.block(record)?].concat());
            if let Some(undo) = rev.records.iter().find(|undo| undo.block == record.hash) {
                undos.extend([&magic[..], &undo.size.to_le_bytes(), &files.undo(undo)?].concat());
            }
        }
        let length = u32::try_from(blocks.len())?.to_le_bytes();
        for (kind, key) in [("plain", [0; 4]), ("xor", [0x3a, 0xc5, 0x91, 0x0e])] {
            seeds.write("walk", &format!("{name}-{kind}"), &[&key[..], &length, &blocks, &undos].concat())?;
        }
    }
    Ok(())
}
