//! Stored values and their bytes: the one place where the two meet.
//!
//! An entry is `body ‖ first 8 bytes of sha256(body)`, little endian: reads of redb do not notice damage, and a row is
//! believed only whole. Block hashes are not stored but computed from the headers.

use bitcoin::BlockHash;
use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::{Hash, sha256};
use hindsight_shared::Height;
use hindsight_shared::bytes::Reader;

use crate::source::{BlockFile, BlockRecord, FileStamp, Found, Position, UndoFile, UndoRecord};

const CHECKSUM: usize = 8;
const NONE: u32 = u32::MAX;

/// Stamp (24) ‖ records of 97 bytes: header, transactions, size, offset, stated height, found.
pub fn block_file_bytes(file: &BlockFile) -> Vec<u8> {
    let mut body = Vec::with_capacity(24 + 97 * file.records.len() + CHECKSUM);
    push_stamp(&mut body, file.stamp);
    for record in &file.records {
        body.extend_from_slice(&serialize(&record.header));
        let stated = record.stated_height.map_or(NONE, |height| height.0);
        for word in [record.tx_count, record.size, record.position.offset, stated] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        body.push(u8::from(record.found == Found::Search));
    }
    sealed(body)
}

/// Reads a row back; `None` where it is damaged.
pub fn block_file(number: u32, bytes: &[u8]) -> Option<BlockFile> {
    let mut reader = Reader::new(unsealed(bytes)?);
    let stamp = stamp(&mut reader)?;
    let mut records = Vec::with_capacity(reader.left() / 97);
    while reader.left() > 0 {
        records.push(block_record(number, &mut reader)?);
    }
    Some(BlockFile { number, stamp, records })
}

fn block_record(file: u32, reader: &mut Reader<'_>) -> Option<BlockRecord> {
    let header: bitcoin::block::Header = deserialize(reader.take(80).ok()?).ok()?;
    Some(BlockRecord {
        header,
        hash: header.block_hash(),
        tx_count: reader.u32().ok()?,
        size: reader.u32().ok()?,
        position: Position { file, offset: reader.u32().ok()? },
        stated_height: Some(reader.u32().ok()?).filter(|&height| height != NONE).map(Height),
        found: if reader.u8().ok()? == 0 { Found::Hop } else { Found::Search },
    })
}

/// Stamps of both files (24 each; no rev file: zeros) ‖ leftovers (4) ‖ records of 40 bytes: block hash, offset, size.
pub fn undo_file_bytes(file: &UndoFile) -> Vec<u8> {
    let mut body = Vec::with_capacity(52 + 40 * file.records.len() + CHECKSUM);
    push_stamp(&mut body, file.blk);
    push_stamp(&mut body, file.rev.unwrap_or_default());
    body.extend_from_slice(&file.leftovers.to_le_bytes());
    for record in &file.records {
        body.extend_from_slice(record.block.as_byte_array());
        body.extend_from_slice(&record.position.offset.to_le_bytes());
        body.extend_from_slice(&record.size.to_le_bytes());
    }
    sealed(body)
}

/// Reads a row back; `None` where it is damaged.
pub fn undo_file(number: u32, bytes: &[u8]) -> Option<UndoFile> {
    let mut reader = Reader::new(unsealed(bytes)?);
    let blk = stamp(&mut reader)?;
    let rev = Some(stamp(&mut reader)?).filter(|&stamp| stamp != FileStamp::default());
    let leftovers = reader.u32().ok()?;
    let mut records = Vec::with_capacity(reader.left() / 40);
    while reader.left() > 0 {
        let block = BlockHash::from_byte_array(*reader.array().ok()?);
        let position = Position { file: number, offset: reader.u32().ok()? };
        records.push(UndoRecord { block, position, size: reader.u32().ok()? });
    }
    // How many hashes it took once is nobody's concern any more.
    Some(UndoFile { number, blk, rev, records, leftovers, hashes: 0 })
}

/// 32 bytes a height: the hash of the block that the height's statistics are of, or zeros.
pub fn chunk_bytes(blocks: &[Option<BlockHash>]) -> Vec<u8> {
    sealed(blocks.iter().flat_map(|block| block.map_or([0; 32], |hash| hash.to_byte_array())).collect())
}

/// Reads a chunk back; `None` where it is damaged.
pub fn chunk(bytes: &[u8]) -> Option<Vec<Option<BlockHash>>> {
    let hash = |bytes: &[u8; 32]| (*bytes != [0; 32]).then(|| BlockHash::from_byte_array(*bytes));
    let (hashes, rest) = unsealed(bytes)?.as_chunks::<32>();
    rest.is_empty().then(|| hashes.iter().map(hash).collect())
}

/// A number as an index.
pub fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn push_stamp(out: &mut Vec<u8>, stamp: FileStamp) {
    out.extend_from_slice(&stamp.len.to_le_bytes());
    out.extend_from_slice(&stamp.mtime.to_le_bytes());
    out.extend_from_slice(&stamp.mtime_nsec.to_le_bytes());
}

fn stamp(reader: &mut Reader<'_>) -> Option<FileStamp> {
    Some(FileStamp {
        len: reader.u64().ok()?,
        mtime: i64::from_le_bytes(*reader.array().ok()?),
        mtime_nsec: i64::from_le_bytes(*reader.array().ok()?),
    })
}

/// A page with its checksum behind it: CRC-32, since thousands are read in a second, and what they lead to is checked.
pub fn sealed_page(mut page: Vec<u8>) -> Vec<u8> {
    page.extend_from_slice(&crc32fast::hash(&page).to_le_bytes());
    page
}

/// The page of an entry; `None` where its checksum does not hold.
pub fn unsealed_page(bytes: &[u8]) -> Option<&[u8]> {
    let (page, checksum) = bytes.split_last_chunk::<4>()?;
    (crc32fast::hash(page) == u32::from_le_bytes(*checksum)).then_some(page)
}

/// A body with its checksum behind it.
pub fn sealed(mut body: Vec<u8>) -> Vec<u8> {
    let checksum = sha256::Hash::hash(&body);
    body.extend_from_slice(&checksum.as_byte_array()[..CHECKSUM]);
    body
}

/// The body of an entry; `None` where its checksum does not hold.
pub fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (body, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM)?)?;
    (sha256::Hash::hash(body).as_byte_array()[..CHECKSUM] == *checksum).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (BlockFile, UndoFile) {
        let header = bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Regtest).header;
        let stamp = FileStamp { len: 7, mtime: -1, mtime_nsec: 999_999_999 };
        let record = BlockRecord {
            header,
            hash: header.block_hash(),
            tx_count: 1,
            stated_height: None,
            size: 285,
            position: Position { file: 3, offset: 8 },
            found: Found::Search,
        };
        let records = vec![record, BlockRecord { stated_height: Some(Height(5)), found: Found::Hop, ..record }];
        let undo = UndoRecord { block: record.hash, position: Position { file: 3, offset: 99 }, size: 1 };
        (
            BlockFile { number: 3, stamp, records },
            UndoFile { number: 3, blk: stamp, rev: None, records: vec![undo], leftovers: 2, hashes: 0 },
        )
    }

    #[test]
    fn rows_return() {
        let (blk, rev) = files();
        assert_eq!(block_file(3, &block_file_bytes(&blk)), Some(blk));
        assert_eq!(undo_file(3, &undo_file_bytes(&rev)), Some(rev));
    }

    #[test]
    fn chunks_return() {
        let (blk, _) = files();
        let blocks = vec![None, Some(blk.records[0].hash), None];
        assert_eq!(chunk(&chunk_bytes(&blocks)), Some(blocks.clone()));
        assert_eq!(chunk(&sealed(vec![7; 33])), None);
    }

    #[test]
    fn a_row_with_any_bit_flipped_or_cut_is_not_believed() {
        let (blk, rev) = files();
        let (blk, rev) = (block_file_bytes(&blk), undo_file_bytes(&rev));
        for at in 0..blk.len() {
            let mut bad = blk.clone();
            bad[at] ^= 1;
            assert_eq!(block_file(3, &bad), None);
            assert_eq!(block_file(3, &blk[..at]), None);
        }
        for at in 0..rev.len() {
            let mut bad = rev.clone();
            bad[at] ^= 0x80;
            assert_eq!(undo_file(3, &bad), None);
            assert_eq!(undo_file(3, &rev[..at]), None);
        }
    }
}
