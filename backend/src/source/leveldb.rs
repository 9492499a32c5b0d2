//! What the files of a LevelDB hold, each read by itself.
//!
//! Opening a database takes its lock and its manifest, which belong to a running node. Who only wants hints needs
//! neither: a table (`*.ldb`) is never changed once it is there, a log (`*.log`) only grows, and each tells its entries
//! alone. What was written to a key later may lie in another file, so both versions are handed over, in any order; and
//! checksums are passed over, because whoever takes a hint holds it against something better. The formats are those of
//! LevelDB's `doc/table_format.md`, `doc/log_format.md` and `db/write_batch.cc`; Core compresses nothing (`GetOptions`).

use hindsight_shared::bytes::Reader;

use super::bulk::to_usize;

/// The last eight bytes of every table (`kTableMagicNumber`).
const TABLE_MAGIC: [u8; 8] = 0xdb47_7524_8b80_fb57_u64.to_le_bytes();

/// Two handles, filled up, and the magic (`Footer::kEncodedLength`).
const FOOTER: usize = 48;

/// What follows a block that is stored as it is; one of another type is compressed.
const STORED: u8 = 0;

/// Bytes behind each key of a table: number and type of the write.
const TAG: usize = 8;

/// The type of a write that is no deletion (`kTypeValue`).
const PUT: u8 = 1;

/// A log's records do not cross the borders of such blocks, but go on behind them (`kBlockSize`).
const LOG_BLOCK: usize = 32 << 10;

/// Checksum, length and type of a part of a record (`kHeaderSize`).
const LOG_HEADER: usize = 7;

/// Number and count before the writes of a batch (`WriteBatchInternal::kHeader`).
const BATCH_HEADER: u64 = 12;

/// Takes a key and its value.
pub trait Entries: FnMut(&[u8], &[u8]) {}

impl<F: FnMut(&[u8], &[u8])> Entries for F {}

/// Hands over what is written in a table; of one that is damaged, what comes before the damage.
pub fn table(file: &[u8], mut each: impl Entries) {
    let Some((file, footer)) = file.split_last_chunk::<FOOTER>() else { return };
    if !footer.ends_with(&TABLE_MAGIC) {
        return;
    }
    let mut handles = Reader::new(footer);
    let (Some(_), Some(index)) = (handle(&mut handles), handle(&mut handles)) else { return };
    let Some(index) = block(file, index) else { return };
    // Blocks lie one behind another. Handles that lead back would have the same one read over and over.
    let mut end = 0;
    entries(index, |_, at| {
        let Some((offset, size)) = handle(&mut Reader::new(at)).filter(|&(offset, _)| offset >= end) else { return };
        let Some(data) = block(file, (offset, size)) else { return };
        end = offset + size;
        entries(data, |key, value| {
            if let Some((key, &[PUT, ..])) = key.split_last_chunk::<TAG>() {
                each(key, value);
            }
        });
    });
}

/// Hands over what is written in a log; of one that is damaged, what can be read.
pub fn log(file: &[u8], mut each: impl Entries) {
    let mut record = Vec::new();
    for mut block in file.chunks(LOG_BLOCK) {
        while let Some((header, rest)) = block.split_first_chunk::<LOG_HEADER>() {
            let [_, _, _, _, low, high, kind] = *header;
            let Some((part, rest)) = rest.split_at_checked(usize::from(u16::from_le_bytes([low, high]))) else { break };
            block = rest;
            match kind {
                FULL => {
                    batch(part, &mut each);
                }
                FIRST => record = part.to_vec(),
                MIDDLE => record.extend_from_slice(part),
                LAST => {
                    record.extend_from_slice(part);
                    batch(&std::mem::take(&mut record), &mut each);
                }
                // Preallocated.
                _ => break,
            }
        }
    }
}

/// The whole of a record, or which part of it (`RecordType`).
const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// The puts of a batch.
fn batch(record: &[u8], each: &mut impl Entries) -> Option<()> {
    let mut reader = Reader::new(record);
    reader.take(BATCH_HEADER).ok()?;
    loop {
        let kind = reader.u8().ok()?;
        let key = sized(&mut reader)?;
        if kind == PUT {
            each(key, sized(&mut reader)?);
        }
    }
}

/// The entries of a block: each key is told by what it shares with the one before it and what it does not.
fn entries(block: &[u8], mut each: impl Entries) -> Option<()> {
    let (rest, restarts) = block.split_last_chunk::<4>()?;
    let restarts = to_usize(u64::from(u32::from_le_bytes(*restarts))).checked_mul(4)?;
    let mut reader = Reader::new(rest.get(..rest.len().checked_sub(restarts)?)?);
    let mut key = Vec::new();
    while reader.left() > 0 {
        let [shared, own, size] = [varint(&mut reader)?, varint(&mut reader)?, varint(&mut reader)?];
        if shared > key.len() as u64 {
            return None;
        }
        key.truncate(to_usize(shared));
        key.extend_from_slice(reader.take(own).ok()?);
        each(&key, reader.take(size).ok()?);
    }
    Some(())
}

/// A block of a table, if it is stored as it is.
fn block(file: &[u8], (offset, size): (u64, u64)) -> Option<&[u8]> {
    let mut reader = Reader::at(file, to_usize(offset));
    let block = reader.take(size).ok()?;
    (reader.u8().ok()? == STORED).then_some(block)
}

/// Where a block is: offset and size.
fn handle(reader: &mut Reader<'_>) -> Option<(u64, u64)> {
    let (offset, size) = (varint(reader)?, varint(reader)?);
    offset.checked_add(size).map(|_| (offset, size))
}

fn sized<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let size = varint(reader)?;
    reader.take(size).ok()
}

/// Base 128, least significant digit first (`util/coding.cc`); not Core's.
fn varint(reader: &mut Reader<'_>) -> Option<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = reader.u8().ok()?;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
