//! A blocks directory of mainnet's shape whose bodies are holes: as many headers, in as many files, of blocks as large as
//! mainnet's were, on regtest's proof of work. What a walk costs is reads and hashes, and neither touches a body.
//!
//! Undo says that each block was connected, and nothing else: a few dozen bytes each, where mainnet's newest file has some
//! 20 MB. Only those of the last file are read by a start, to see that the tip is one.

use std::path::Path;

use anyhow::Result;
use bitcoin::absolute::LockTime;
use bitcoin::consensus::serialize;
use bitcoin::constants::genesis_block;
use bitcoin::hashes::{Hash, sha256d};
use bitcoin::script::Builder;
use bitcoin::transaction::Version;
use bitcoin::{Amount, BlockHash, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness};
use hindsight_benches::records::{RecordFile, blocks_dir};
use hindsight_benches::synthetic::{header, mine};

use crate::block_index::BlockIndex;

/// Core's `MAX_BLOCKFILE_SIZE`.
const FILE: usize = 128 << 20;

/// Up to which height of mainnet's 950,000 blocks they had how many bytes, about: 800 GB in all.
const SIZES: [(u32, usize); 9] = [
    (120_000, 1_100),
    (180_000, 20_000),
    (280_000, 120_000),
    (400_000, 450_000),
    (480_000, 900_000),
    (600_000, 1_050_000),
    (800_000, 1_300_000),
    (900_000, 1_650_000),
    (u32::MAX, 1_750_000),
];

/// The height of mainnet that [`SIZES`] goes up to.
const HEIGHTS: u32 = 950_000;

/// What was made.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// Blocks.
    pub blocks: u32,
    /// Those of more than 64 KiB.
    pub large: u32,
    /// Files.
    pub files: u32,
    /// Bytes that the files seem to have.
    pub bytes: u64,
    /// The last block.
    pub tip: BlockHash,
}

/// Makes a data directory of so many blocks.
///
/// # Errors
/// As the disk fails.
pub fn make(datadir: &Path, blocks: u32) -> Result<Made> {
    let dir = blocks_dir(datadir)?;
    let genesis = genesis_block(Network::Regtest);
    let (mut file, mut undo) = (RecordFile::create(&dir, "blk", 0)?, RecordFile::create(&dir, "rev", 0)?);
    file.push(285, &serialize(&genesis))?;
    let mut index = BlockIndex::create(&dir)?;
    index.push(0, &genesis.header, 0)?;
    let mut made = Made { blocks: 1, large: 0, files: 1, bytes: 293, tip: genesis.block_hash() };
    let mut filled = 293;
    for height in 1..blocks {
        let size = size_at(height, blocks);
        if filled + 8 + size > FILE {
            file = RecordFile::create(&dir, "blk", made.files)?;
            undo = RecordFile::create(&dir, "rev", made.files)?;
            (made.files, filled) = (made.files + 1, 0);
        }
        let mut header = header(made.tip, height);
        mine(&mut header);
        file.push(size, &[serialize(&header), vec![1], serialize(&coinbase(height))].concat())?;
        undo.push(1, &nothing_spent(made.tip))?;
        index.push(height, &header, made.files - 1)?;
        filled += 8 + size;
        made = Made {
            blocks: made.blocks + 1,
            large: made.large + u32::from(size > 64 << 10),
            bytes: made.bytes + 8 + size as u64,
            tip: header.block_hash(),
            ..made
        };
    }
    index.finish()?;
    Ok(made)
}

/// Bytes of a block: those of mainnet's at the same part of its height, a third more or less.
fn size_at(height: u32, blocks: u32) -> usize {
    let at = u64::from(height) * u64::from(HEIGHTS) / u64::from(blocks);
    let mean = SIZES.iter().find(|(end, _)| at < u64::from(*end)).map_or(0, |(_, size)| *size);
    mean * (67 + height as usize * 7919 % 67) / 100
}

/// The undo of a block whose coinbase is its only transaction, with the checksum over its parent's hash and it.
fn nothing_spent(parent: BlockHash) -> Vec<u8> {
    let undo = [0];
    let checksum = sha256d::Hash::hash(&[&parent.to_byte_array()[..], &undo].concat());
    [&undo[..], checksum.as_byte_array()].concat()
}

/// A coinbase that states its height (BIP34).
fn coinbase(height: u32) -> Transaction {
    let input = TxIn {
        previous_output: OutPoint::null(),
        script_sig: Builder::new().push_int(height.into()).push_slice([0; 8]).into_script(),
        sequence: Sequence::MAX,
        witness: Witness::new(),
    };
    let output = TxOut { value: Amount::ONE_BTC, script_pubkey: ScriptBuf::new() };
    Transaction { version: Version::TWO, lock_time: LockTime::ZERO, input: vec![input], output: vec![output] }
}
