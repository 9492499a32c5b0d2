//! Writes `seeds/`: small real blocks of the two chains that the project carries, in the form that each target reads.
//!
//!     cargo run --manifest-path tests/fuzz/Cargo.toml --example seeds

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use hindsight::source::{BlockFile, BlockRecord, BlockSource, CoreFiles, Datadir, DatadirOptions};
use hindsight_shared::Height;
use hindsight_shared::block::BlockView;
use hindsight_shared::network::network_of;
use hindsight_shared::payload::{Absence, Kind, Payload, Prevouts, split_checksum};
use hindsight_shared::prevouts::PrevoutsView;
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
    ] {
        seeds.write("search", name, text.as_bytes())?;
    }
    for (name, text) in REQUESTS {
        seeds.write("request", name, text.replace("HASH", SPENDS).as_bytes())?;
    }
    for (name, text) in SETTINGS {
        seeds.write("config", name, text.as_bytes())?;
    }
    Ok(())
}

/// Testnet3's block 546, which spends something.
const SPENDS: &str = "000000002a936ca763904c3c35fce2f3556c559c0214345d31b1bcebf76acb70";

/// One for each route and each header that is read.
const REQUESTS: [(&str, &str); 21] = [
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
    ("preflight", "OPTIONS /api/v1/block/HASH/payload\nHost: evil.example\nOrigin: https://evil.example"),
];

/// Every setting, and what else TOML has.
const SETTINGS: [(&str, &str); 4] = [
    (
        "all",
        "log = 'info'\ndatadir = '/node'\nblocksdir = '/blocks'\nnetwork = 'signet'\nsignet_challenge = '51'\n\
             index_dir = '/index'\nlisten = '[::1]:80'\nhost = ['a.example', 'B.example:443']\ncors = true\n\
             core_compat = 31\ncache = 64",
    ),
    ("home", "datadir = '~/node'\ncache = 0x10 # MiB\nhost = []"),
    ("tables", "[a.b]\nc = { d = 1979-05-27T07:32:00Z, e = [1.5, inf] }\nf = \"\"\"\\u0041\n\"\"\""),
    (
        "flags",
        "--datadir=/node\n--host\na.example,b.example\n--cors\n--listen=127.0.0.1:0\n--cache=1\n--core-compat=30",
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
        kind: Kind::Block,
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
