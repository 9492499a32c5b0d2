//! Core's block and undo files, read and written by a few plain lines, so that directories can be arranged at will.
//!
//! This is deliberately not the code under test: framing, obfuscation and checksum are spelled out once more, from
//! Core's `src/node/blockstorage.cpp`.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bitcoin::block::Header;
use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::{Hash, sha256d};
use bitcoin::{Block, BlockHash, Network};
use tempfile::TempDir;

/// The key that directories are obfuscated with unless a test says otherwise.
pub const KEY: [u8; 8] = [0x3d, 0xcf, 0x1c, 0x81, 0x32, 0x8f, 0x2f, 0x9e];

/// A stored record and where its payload starts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Record {
    /// The number in the file's name.
    pub file: u32,
    /// Bytes in front of the payload.
    pub offset: usize,
    /// A block, or undo with its checksum.
    pub payload: Vec<u8>,
}

/// What a test file is made of.
#[derive(Clone, Debug)]
pub enum Piece {
    /// A block, framed.
    Block(Vec<u8>),
    /// An undo payload with its checksum, framed.
    Undo(Vec<u8>),
    /// Anything else that is obfuscated like the rest.
    Bytes(Vec<u8>),
    /// Preallocated and never written: raw zeros.
    Zeros(usize),
}

/// Everything that a directory's files hold.
#[derive(Clone, Debug)]
pub struct Records {
    /// Blocks in the order of the files.
    pub blocks: Vec<Record>,
    /// Undo records in the order of the files.
    pub undos: Vec<Record>,
}

impl Records {
    /// Reads all files of a blocks directory, up to each one's first bytes that are no record.
    pub fn read(blocks_dir: &Path, network: Network) -> Self {
        let key = key_of(blocks_dir);
        let all = |kind, extra| {
            let numbers = (0..).take_while(|number| path(blocks_dir, kind, *number).exists());
            numbers.flat_map(|number| records(&path(blocks_dir, kind, number), number, key, network, extra)).collect()
        };
        Self { blocks: all("blk", 0), undos: all("rev", 32) }
    }

    /// Those of `blk` or of `rev` files.
    pub fn of(&self, kind: &str) -> &[Record] {
        if kind == "blk" { &self.blocks } else { &self.undos }
    }

    /// The blocks' bytes, in the order of the files.
    pub fn payloads(&self) -> Vec<Vec<u8>> {
        self.blocks.iter().map(|record| record.payload.clone()).collect()
    }

    /// A block's bytes.
    pub fn block(&self, hash: BlockHash) -> Vec<u8> {
        self.blocks.iter().find(|record| hash_of(&record.payload) == hash).unwrap().payload.clone()
    }

    /// The first undo record whose checksum is that of a block, as far as the file can tell.
    pub fn undo(&self, block: &[u8]) -> Option<&Record> {
        let count = deserialize::<Block>(block).unwrap().txdata.len() - 1;
        self.undos.iter().find(|record| is_undo_of(block, count, &record.payload))
    }
}

/// Whether an undo payload with its checksum is that of a block with this many spending transactions.
fn is_undo_of(block: &[u8], count: usize, undo: &[u8]) -> bool {
    let (payload, sum) = undo.split_at(undo.len() - 32);
    let claimed = deserialize_partial_count(payload);
    claimed == count && sha256d::Hash::hash(&[&block[4..36], payload].concat()).as_byte_array() == sum
}

fn deserialize_partial_count(payload: &[u8]) -> usize {
    let (count, _) = bitcoin::consensus::deserialize_partial::<bitcoin::VarInt>(payload).unwrap();
    count.0 as usize
}

/// A block's hash, from its header.
pub fn hash_of(block: &[u8]) -> BlockHash {
    deserialize::<Header>(&block[..80]).unwrap().block_hash()
}

/// The path of a file.
pub fn path(blocks_dir: &Path, kind: &str, number: u32) -> PathBuf {
    blocks_dir.join(format!("{kind}{number:05}.dat"))
}

/// The key in `xor.dat`; zeros without it.
pub fn key_of(blocks_dir: &Path) -> [u8; 8] {
    fs::read(blocks_dir.join("xor.dat")).map(|key| key.try_into().unwrap()).unwrap_or_default()
}

/// Bytes that lie at `offset` of a file, obfuscated or the other way round.
pub fn xor(key: [u8; 8], offset: usize, bytes: &[u8]) -> Vec<u8> {
    bytes.iter().enumerate().map(|(i, byte)| byte ^ key[(offset + i) % 8]).collect()
}

fn records(path: &Path, file: u32, key: [u8; 8], network: Network, extra: usize) -> Vec<Record> {
    let plain = xor(key, 0, &fs::read(path).unwrap());
    let (mut found, mut at) = (Vec::new(), 0);
    while plain[at..].starts_with(&network.magic().to_bytes()) {
        let size = u32::from_le_bytes(plain[at + 4..at + 8].try_into().unwrap()) as usize + extra;
        let offset = at + 8;
        found.push(Record { file, offset, payload: plain[offset..offset + size].to_vec() });
        at = offset + size;
    }
    found
}

/// A data directory in the making.
pub struct Directory {
    temp: TempDir,
    network: Network,
    key: [u8; 8],
}

impl Directory {
    /// An empty one with a key.
    pub fn new(network: Network) -> Self {
        let directory = Self { temp: tempfile::tempdir().unwrap(), network, key: KEY };
        fs::create_dir(directory.blocks_dir()).unwrap();
        fs::write(directory.blocks_dir().join("xor.dat"), KEY).unwrap();
        directory
    }

    /// Another key from here on; files that are there already stay as they are.
    pub fn set_key(&mut self, key: [u8; 8]) {
        self.key = key;
        fs::write(self.blocks_dir().join("xor.dat"), key).unwrap();
    }

    /// The key.
    pub const fn key(&self) -> [u8; 8] {
        self.key
    }

    /// The data directory.
    pub fn datadir(&self) -> &Path {
        self.temp.path()
    }

    /// Where the files are.
    pub fn blocks_dir(&self) -> PathBuf {
        self.temp.path().join("blocks")
    }

    /// The path of a file.
    pub fn path(&self, kind: &str, number: u32) -> PathBuf {
        path(&self.blocks_dir(), kind, number)
    }

    /// Writes a file in place.
    pub fn write(&self, kind: &str, number: u32, pieces: &[Piece]) {
        fs::write(self.path(kind, number), self.raw(0, pieces)).unwrap();
    }

    /// Appends to a file that has no preallocated tail.
    pub fn append(&self, kind: &str, number: u32, pieces: &[Piece]) {
        let path = self.path(kind, number);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(self.raw(bytes.len(), pieces));
        fs::write(&path, bytes).unwrap();
    }

    /// A blk file of these blocks and a rev file of what undo they have, in the same order.
    pub fn write_pair(&self, number: u32, blocks: &[Vec<u8>], records: &Records) {
        let undos: Vec<Piece> = blocks.iter().filter_map(|block| records.undo(block)).map(undo_piece).collect();
        self.write("blk", number, &blocks.iter().cloned().map(Piece::Block).collect::<Vec<_>>());
        self.write("rev", number, &undos);
    }

    /// Makes all files look as if they had been written a while ago: they are complete, then.
    pub fn age(&self) {
        age(&self.blocks_dir());
    }

    fn raw(&self, start: usize, pieces: &[Piece]) -> Vec<u8> {
        let mut raw = Vec::new();
        for piece in pieces {
            let plain = match piece {
                Piece::Block(block) => self.framed(block, 0),
                Piece::Undo(undo) => self.framed(undo, 32),
                Piece::Bytes(bytes) => bytes.clone(),
                Piece::Zeros(count) => {
                    raw.resize(raw.len() + count, 0);
                    continue;
                }
            };
            raw.extend(xor(self.key, start + raw.len(), &plain));
        }
        raw
    }

    fn framed(&self, payload: &[u8], extra: usize) -> Vec<u8> {
        let size = (payload.len() - extra) as u32;
        [&self.network.magic().to_bytes()[..], &size.to_le_bytes(), payload].concat()
    }
}

/// An undo record as a piece.
pub fn undo_piece(record: &Record) -> Piece {
    Piece::Undo(record.payload.clone())
}

/// Blocks as the pieces of a file.
pub fn block_pieces<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> Vec<Piece> {
    blocks.into_iter().map(|block| Piece::Block(serialize(block))).collect()
}

/// Sets the times of all files in a directory two minutes back.
pub fn age(blocks_dir: &Path) {
    let then = SystemTime::now() - Duration::from_secs(120);
    for entry in fs::read_dir(blocks_dir).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        let file = File::options().write(true).open(entry.path()).unwrap();
        file.set_times(FileTimes::new().set_modified(then)).unwrap();
    }
}

/// Flips bits in a file, where it is.
pub fn flip(path: &Path, offset: usize, mask: u8) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] ^= mask;
    fs::write(path, bytes).unwrap();
}
