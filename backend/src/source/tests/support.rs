//! Real records to arrange at will: fixtures that Core wrote, blocks mined on regtest, and a writer of directories.
//!
//! Records are read here by a few plain lines of their own, so that the code under test is not its own judge.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bitcoin::absolute::LockTime;
use bitcoin::block::{Header, Version};
use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::{Hash, sha256d};
use bitcoin::script::Builder;
use bitcoin::{
    Amount, Block, BlockHash, CompactTarget, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxMerkleNode,
    TxOut, Txid, Witness, transaction,
};
use tempfile::TempDir;

use crate::source::{BlockFile, CoreFiles, Datadir, UndoFile};

/// The key that directories are written with unless a test says otherwise.
pub(super) const KEY: [u8; 8] = [0x3d, 0xcf, 0x1c, 0x81, 0x32, 0x8f, 0x2f, 0x9e];

/// Payloads of one pair of files that Core wrote; undo with its checksum.
pub(super) struct Fixture {
    pub(super) network: Network,
    pub(super) key: [u8; 8],
    /// The files as they are on disk.
    pub(super) blk: Vec<u8>,
    pub(super) rev: Vec<u8>,
    pub(super) blocks: Vec<Vec<u8>>,
    pub(super) undos: Vec<Vec<u8>>,
}

/// Regtest, heights 0 to 206.
pub(super) fn regtest() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| Fixture::load("../tests/fixtures/regtest-kernel-206.tar.zst", Network::Regtest))
}

/// Testnet3, heights 0 to 2016.
pub(super) fn testnet3() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| Fixture::load("assets/testnet3-2017.tar.zst", Network::Testnet))
}

impl Fixture {
    fn load(path: &str, network: Network) -> Self {
        let file = |name: &str| unpack(path, name).unwrap();
        let key: [u8; 8] = file("blocks/xor.dat").try_into().unwrap();
        let (blk, rev) = (file("blocks/blk00000.dat"), file("blocks/rev00000.dat"));
        let blocks = payloads(network, &xor(key, 0, &blk), 0);
        let undos = payloads(network, &xor(key, 0, &rev), 32);
        Self { network, key, blk, rev, blocks, undos }
    }
}

/// The file that ends in `name` in an archive of the project's, or none where the archive is not there.
pub(super) fn unpack(archive: &str, name: &str) -> Option<Vec<u8>> {
    let file = fs::File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(archive)).ok()?;
    let mut tar = tar::Archive::new(ruzstd::decoding::StreamingDecoder::new(file).unwrap());
    let mut entry = tar.entries().unwrap().map(|e| e.unwrap()).find(|e| e.path().unwrap().ends_with(name))?;
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

/// Bytes at `offset` of a file, obfuscated or de-obfuscated one by one.
pub(super) fn xor(key: [u8; 8], offset: usize, bytes: &[u8]) -> Vec<u8> {
    bytes.iter().enumerate().map(|(i, byte)| byte ^ key[(offset + i) % 8]).collect()
}

/// What lies between framings until the first bytes that are none; each `extra` bytes longer than its size says.
fn payloads(network: Network, mut plain: &[u8], extra: usize) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    while plain.starts_with(&network.magic().to_bytes()) {
        let size = u32::from_le_bytes(plain[4..8].try_into().unwrap()) as usize + extra;
        payloads.push(plain[8..8 + size].to_vec());
        plain = &plain[8 + size..];
    }
    payloads
}

/// What a test file is made of.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// A block, framed.
    Block(Vec<u8>),
    /// An undo payload with its checksum, framed.
    Undo(Vec<u8>),
    /// Anything that Core would have obfuscated.
    Bytes(Vec<u8>),
    /// Preallocated, never written.
    Zeros(usize),
}

pub(super) fn blocks<'a>(payloads: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<Piece> {
    payloads.into_iter().cloned().map(Piece::Block).collect()
}

pub(super) fn undos<'a>(payloads: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<Piece> {
    payloads.into_iter().cloned().map(Piece::Undo).collect()
}

/// `magic | size | payload`, with a size of one's own.
pub(super) fn framed(network: Network, size: u32, payload: &[u8]) -> Vec<u8> {
    [&network.magic().to_bytes()[..], &size.to_le_bytes(), payload].concat()
}

/// A data directory in the making.
pub(super) struct Dir {
    temp: TempDir,
    pub(super) network: Network,
    pub(super) key: [u8; 8],
}

impl Dir {
    pub(super) fn new(network: Network) -> Self {
        let dir = Self { temp: tempfile::tempdir().unwrap(), network, key: KEY };
        fs::create_dir(dir.blocks()).unwrap();
        dir.write_key(Some(KEY));
        dir
    }

    pub(super) fn regtest() -> Self {
        Self::new(Network::Regtest)
    }

    pub(super) fn with_key(network: Network, key: Option<[u8; 8]>) -> Self {
        let mut dir = Self::new(network);
        dir.key = key.unwrap_or_default();
        dir.write_key(key);
        dir
    }

    /// The directory as Core left it.
    pub(super) fn of(fixture: &Fixture) -> Self {
        let dir = Self::with_key(fixture.network, Some(fixture.key));
        fs::write(dir.path("blk", 0), &fixture.blk).unwrap();
        fs::write(dir.path("rev", 0), &fixture.rev).unwrap();
        dir
    }

    pub(super) fn write_key(&self, key: Option<[u8; 8]>) {
        let path = self.blocks().join("xor.dat");
        match key {
            Some(key) => fs::write(path, key).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
    }

    pub(super) fn blocks(&self) -> PathBuf {
        self.temp.path().join("blocks")
    }

    pub(super) fn path(&self, kind: &str, number: u32) -> PathBuf {
        self.blocks().join(format!("{kind}{number:05}.dat"))
    }

    /// Writes a file in place, as Core does, and returns its raw bytes.
    pub(super) fn write(&self, kind: &str, number: u32, pieces: &[Piece]) -> Vec<u8> {
        let mut raw = Vec::new();
        for piece in pieces {
            let size = |payload: &[u8], extra: usize| u32::try_from(payload.len() - extra).unwrap();
            let plain = match piece {
                Piece::Block(payload) => framed(self.network, size(payload, 0), payload),
                Piece::Undo(payload) => framed(self.network, size(payload, 32), payload),
                Piece::Bytes(bytes) => bytes.clone(),
                Piece::Zeros(count) => {
                    raw.resize(raw.len() + count, 0);
                    continue;
                }
            };
            raw.extend(xor(self.key, raw.len(), &plain));
        }
        fs::write(self.path(kind, number), &raw).unwrap();
        raw
    }

    pub(super) fn blk(&self, number: u32, pieces: &[Piece]) -> Vec<u8> {
        self.write("blk", number, pieces)
    }

    pub(super) fn rev(&self, number: u32, pieces: &[Piece]) -> Vec<u8> {
        self.write("rev", number, pieces)
    }

    pub(super) fn open(&self) -> CoreFiles {
        let (network, magic) = (self.network, self.network.magic());
        let blocks_dir = self.blocks();
        let block_index = blocks_dir.join("index");
        CoreFiles::open(Datadir { blocks_dir, block_index, network, magic }).unwrap()
    }

    pub(super) fn walk(&self, number: u32) -> BlockFile {
        self.open().walk(number, None).unwrap()
    }

    pub(super) fn pair(&self, number: u32) -> UndoFile {
        let files = self.open();
        files.pair(&files.walk(number, None).unwrap()).unwrap()
    }
}

pub(super) fn hash(block: &[u8]) -> BlockHash {
    deserialize::<Header>(&block[..80]).unwrap().block_hash()
}

pub(super) fn hashes<'a>(blocks: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<BlockHash> {
    blocks.into_iter().map(|block| hash(block)).collect()
}

pub(super) fn found(file: &BlockFile) -> Vec<BlockHash> {
    file.records.iter().map(|record| record.hash).collect()
}

/// A regtest block on `prev`: a coinbase that pays `tag` satoshis, then `txs`.
pub(super) fn mine(prev: BlockHash, tag: u64, txs: &[Transaction]) -> Vec<u8> {
    let mut coinbase = spend(1, tag);
    coinbase.input[0].previous_output = OutPoint::null();
    coinbase.input[0].script_sig = Builder::new().push_int(300).push_int(i64::try_from(tag).unwrap()).into_script();
    let header = Header {
        version: Version::from_consensus(0x2000_0000),
        prev_blockhash: prev,
        merkle_root: TxMerkleNode::all_zeros(),
        time: 1_700_000_000,
        bits: CompactTarget::from_consensus(0x207f_ffff),
        nonce: 0,
    };
    let mut block = Block { header, txdata: [&[coinbase][..], txs].concat() };
    if txs.iter().any(|tx| tx.input.iter().any(|input| !input.witness.is_empty())) {
        commit_to_witnesses(&mut block);
    }
    block.header.merkle_root = block.compute_merkle_root().unwrap();
    while block.header.validate_pow(block.header.target()).is_err() {
        block.header.nonce += 1;
    }
    serialize(&block)
}

fn commit_to_witnesses(block: &mut Block) {
    block.txdata[0].input[0].witness = Witness::from_slice(&[[0; 32]]);
    let root = block.witness_root().unwrap();
    let commitment = Block::compute_witness_commitment(&root, &[0; 32]);
    let data = [&[0xaa, 0x21, 0xa9, 0xed][..], &commitment.to_byte_array()].concat();
    let script = Builder::new()
        .push_opcode(bitcoin::opcodes::all::OP_RETURN)
        .push_slice(<&bitcoin::script::PushBytes>::try_from(data.as_slice()).unwrap())
        .into_script();
    block.txdata[0].output.push(TxOut { value: Amount::ZERO, script_pubkey: script });
}

/// A transaction that spends `inputs` coins; `tag` makes it another one.
pub(super) fn spend(inputs: u32, tag: u64) -> Transaction {
    let input = |vout| TxIn {
        previous_output: OutPoint { txid: Txid::from_byte_array([0x11; 32]), vout },
        script_sig: ScriptBuf::new(),
        sequence: Sequence::MAX,
        witness: Witness::new(),
    };
    Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: (0..inputs).map(input).collect(),
        output: vec![TxOut { value: Amount::from_sat(tag), script_pubkey: ScriptBuf::from_bytes(vec![0x51]) }],
    }
}

/// An undo payload as Core writes it, checksum included, for a child of `prev` whose transactions spend so many coins
/// each, all of `sats` times 10^8 satoshis. Without `height`, as very old versions wrote it.
pub(super) fn undo(prev: BlockHash, inputs: &[u8], sats: u8, height: Option<u8>) -> Vec<u8> {
    let mut payload = vec![u8::try_from(inputs.len()).unwrap()];
    for count in inputs {
        payload.push(*count);
        for _ in 0..*count {
            match height {
                Some(height) => payload.extend([height * 2, 0]),
                None => payload.push(0),
            }
            // CompressAmount of a digit with eight zeros behind it; a script of one byte, OP_TRUE.
            payload.extend([1 + 10 * (sats - 1) + 8, 6 + 1, 0x51]);
        }
    }
    checked(prev, payload)
}

/// An undo payload with its checksum behind it.
pub(super) fn checked(prev: BlockHash, mut payload: Vec<u8>) -> Vec<u8> {
    let sum = sha256d::Hash::hash(&[&prev.to_byte_array()[..], &payload].concat());
    payload.extend(sum.to_byte_array());
    payload
}

/// Numbers that look random and are the same in every run (a linear congruential generator).
pub(super) fn shuffled<T>(mut items: Vec<T>, mut seed: u64, window: usize) -> Vec<T> {
    for i in 0..items.len() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let left = window.min(items.len() - i);
        items.swap(i, i + usize::try_from(seed >> 33).unwrap() % left);
    }
    items
}
