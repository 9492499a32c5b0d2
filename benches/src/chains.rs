//! Chains in Core's files: the demo's, real mainnet blocks where they are at hand, and full blocks made here.

use std::fs::File;
use std::path::{Path, PathBuf};

use bitcoin::consensus::serialize;
use bitcoin::hashes::Hash;
use bitcoin::p2p::Magic;
use bitcoin::{BlockHash, Network};
use hindsight::source::{
    BlockFile, BlockRecord, BlockSource, CoreFiles, Datadir, DatadirOptions, ListedFile, UndoFile,
};
use hindsight_shared::Height;
use hindsight_shared::payload::{Kind, Payload, Prevouts};
use hindsight_shared::prevouts::CHECKSUM_SIZE;
use tempfile::TempDir;

use crate::records::{RecordFile, blocks_dir};
use crate::synthetic::{FullBlock, full_block, header, mine};
use crate::valid;

/// A chain's files, deleted when it is dropped.
#[derive(Debug)]
pub struct Chain {
    /// What the benches call it.
    pub name: &'static str,
    /// Reads it.
    pub files: CoreFiles,
    /// Where `--datadir` would point.
    pub datadir: PathBuf,
    _dir: TempDir,
}

/// A block with its undo, as the files hold them.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What the benches call it.
    pub name: &'static str,
    /// The block's hash.
    pub hash: BlockHash,
    /// The network's magic.
    pub network: Magic,
    /// The block's height, where it states one.
    pub height: Option<Height>,
    /// The block.
    pub block: Vec<u8>,
    /// Undo and checksum.
    pub undo: Vec<u8>,
}

impl Sample {
    /// The payload that a server would send.
    #[must_use]
    pub fn payload(&self) -> Payload<'_> {
        Payload {
            network: self.network,
            height: self.height,
            kind: Kind::Block,
            absence: None,
            prevouts: Prevouts::Undo(&self.undo),
            block: &self.block,
        }
    }
}

impl Chain {
    fn open(name: &'static str, dir: TempDir, datadir: PathBuf, network: Option<Network>) -> Self {
        let options = DatadirOptions { datadir: datadir.clone(), network, ..DatadirOptions::default() };
        let files = CoreFiles::open(Datadir::open(&options).unwrap()).unwrap();
        Self { name, files, datadir, _dir: dir }
    }

    /// Its files.
    #[must_use]
    pub fn list(&self) -> Vec<ListedFile> {
        self.files.list().unwrap()
    }

    /// Its files, walked.
    #[must_use]
    pub fn walked(&self) -> Vec<BlockFile> {
        self.list().iter().map(|file| self.files.walk(file.number, None).unwrap()).collect()
    }

    /// A block with its undo: the largest of those that `choose` lets through.
    #[must_use]
    pub fn sample(&self, name: &'static str, choose: impl Fn(&BlockRecord) -> bool) -> Sample {
        let pair = |blk: BlockFile| (self.files.pair(&blk).unwrap(), blk);
        let pairs: Vec<(UndoFile, BlockFile)> = self.walked().into_iter().map(pair).collect();
        let candidates = pairs.iter().flat_map(|(rev, blk)| {
            let undo = |record: &BlockRecord| rev.records.iter().find(|undo| undo.block == record.hash);
            blk.records.iter().filter(|record| choose(record)).filter_map(move |record| Some((record, undo(record)?)))
        });
        let (record, undo) = candidates.max_by_key(|(record, _)| record.size).unwrap();
        Sample {
            name,
            hash: record.hash,
            network: self.files.datadir().magic,
            height: record.stated_height,
            block: self.files.block(record).unwrap(),
            undo: self.files.undo(undo).unwrap(),
        }
    }
}

/// The first 2,017 blocks of testnet3.
#[must_use]
pub fn demo() -> Chain {
    let dir = tempfile::tempdir().unwrap();
    let datadir = hindsight::demo::DemoChain::Testnet3.unpack(dir.path()).unwrap();
    Chain::open("testnet3 0-2016", dir, datadir, None)
}

/// Mainnet blocks of several eras, where the archive lies beside the project; says so where it does not.
#[must_use]
pub fn eras() -> Option<Chain> {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/mainnet-eras.tar.zst");
    let Ok(file) = File::open(&archive) else {
        eprintln!("left out: the real mainnet blocks, {} is not there", archive.display());
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let bytes = ruzstd::decoding::StreamingDecoder::new(file).unwrap();
    tar::Archive::new(bytes).unpack(dir.path()).unwrap();
    let datadir = dir.path().join("mainnet-eras");
    Some(Chain::open("mainnet eras", dir, datadir, None))
}

/// A regtest directory with `count` full blocks and their undo, one on top of the other.
#[must_use]
pub fn full_blocks(count: u32) -> Chain {
    let dir = tempfile::tempdir().unwrap();
    let blocks = blocks_dir(dir.path()).unwrap();
    let (mut blk, mut rev) =
        (RecordFile::create(&blocks, "blk", 0).unwrap(), RecordFile::create(&blocks, "rev", 0).unwrap());
    let mut previous = BlockHash::from_byte_array([1; 32]);
    for height in (0..count).map(|index| 840_000 + index) {
        let FullBlock { block, undo } = full_block(previous, height);
        previous = block.block_hash();
        let bytes = serialize(&block);
        blk.push(bytes.len(), &bytes).unwrap();
        rev.push(undo.len() - CHECKSUM_SIZE, &undo).unwrap();
    }
    let datadir = dir.path().to_owned();
    Chain::open("full blocks", dir, datadir, Some(Network::Regtest))
}

/// A regtest directory whose blocks a node accepts, `count` full ones at its end, and the last one's hash. Undo is missing:
/// that is for a node to write, when it is started with `-reindex`.
#[must_use]
pub fn valid_blocks(count: u32) -> (Chain, BlockHash) {
    let dir = tempfile::tempdir().unwrap();
    let mut file = RecordFile::create(&blocks_dir(dir.path()).unwrap(), "blk", 0).unwrap();
    let mut last = BlockHash::all_zeros();
    for block in valid::blocks(count) {
        let bytes = serialize(&block);
        file.push(bytes.len(), &bytes).unwrap();
        last = block.block_hash();
    }
    let datadir = dir.path().to_owned();
    (Chain::open("valid blocks", dir, datadir, Some(Network::Regtest)), last)
}

/// `files` files of 84 records of 1.5 MB, whose bodies are holes: the files of a year that take no room on the disk.
/// What hopping costs is reads and hashes, and neither touches a body.
#[must_use]
pub fn hollow_files(files: u32) -> Chain {
    const RECORDS: u32 = 84;
    const SIZE: usize = 1_500_000;
    let dir = tempfile::tempdir().unwrap();
    let blocks = blocks_dir(dir.path()).unwrap();
    let body = serialize(&full_block(BlockHash::all_zeros(), 840_000).block);
    let mut previous = BlockHash::all_zeros();
    for number in 0..files {
        let mut file = RecordFile::create(&blocks, "blk", number).unwrap();
        for index in 0..RECORDS {
            let mut header = header(previous, 840_000 + number * RECORDS + index);
            mine(&mut header);
            previous = header.block_hash();
            file.push(SIZE, &[&serialize(&header)[..], &body[80..300]].concat()).unwrap();
        }
    }
    let datadir = dir.path().to_owned();
    Chain::open("hollow files", dir, datadir, Some(Network::Regtest))
}

/// The blocks that block-level benches run on: one made here, one of testnet3's first, and real full ones.
#[must_use]
pub fn samples() -> Vec<Sample> {
    let mut samples = vec![full_blocks(1).sample("full block", |_| true), demo().sample("testnet3", |_| true)];
    if let Some(eras) = eras() {
        let at = |height| move |record: &BlockRecord| record.stated_height == Some(Height(height));
        samples.push(eras.sample("mainnet 866342", at(866_342)));
        samples.push(eras.sample("mainnet 367891", at(367_891)));
    }
    samples
}
