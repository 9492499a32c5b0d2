//! Reads one `rev*.dat` from end to end and hands each undo record to the pairing.
//!
//! Records are hopped over by their size. Where one fits no block and does not end at another record, its size is not to
//! be trusted either: the next magic is searched for. That happens where a file was damaged, and after a reindex, which
//! overwrites undo files from their start and leaves what was there before behind the new end.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use super::bulk::{Access, BulkReader, SEARCH_CHUNK, to_usize};
use super::files::CHECKSUM;
use super::pair::Pairing;
use super::walk::{FRAMING, Rules};
use super::{BlockFile, FileStamp, Obfuscation, Position, SourceError, UndoFile};

/// No undo is larger: 24,390 inputs that spend scripts of 10,000 bytes make 245 MB.
const MAX_UNDO: u32 = 256 << 20;

/// Bytes that hold any record's framing and the count its undo starts with.
const RECORD_HEAD: usize = 17;

/// Pairs the undo file at `path` with the walked file `blk`.
pub(super) fn pair(
    rules: &Rules,
    path: &Path,
    key: Obfuscation,
    (blk, pairing): (&BlockFile, Pairing<'_>),
    reads: &AtomicU64,
) -> Result<UndoFile, SourceError> {
    let (number, blk) = (blk.number, blk.stamp);
    let Some(_) = FileStamp::read(path)? else {
        return Ok(UndoFile { number, blk, rev: None, records: Vec::new(), leftovers: 0, hashes: 0 });
    };
    let reader = BulkReader::open(path, key, Access::Stream, reads)?;
    let rev = Some(reader.stamp());
    let mut file = RevFile { rules, reader, number, pairing, leftovers: 0 };
    file.run()?;
    let (leftovers, hashes) = (file.leftovers, file.pairing.hashes);
    Ok(UndoFile { number, blk, rev, records: file.pairing.into_records(), leftovers, hashes })
}

struct RevFile<'a> {
    rules: &'a Rules,
    reader: BulkReader<'a>,
    number: u32,
    pairing: Pairing<'a>,
    leftovers: u32,
}

/// A stretch of bytes framed like an undo record.
#[derive(Clone, Copy)]
struct Framed {
    position: Position,
    size: u32,
}

impl Framed {
    fn sum(self) -> u64 {
        u64::from(self.position.offset) + u64::from(self.size)
    }

    fn end(self) -> u64 {
        self.sum() + u64::from(CHECKSUM)
    }
}

impl RevFile<'_> {
    fn run(&mut self) -> Result<(), SourceError> {
        let (mut pos, mut hopped) = (0, true);
        loop {
            if let Some(framed) = self.framed(pos, hopped)? {
                let fits = self.give(framed)?;
                let lands = fits || self.lands(framed.end())?;
                if !fits && (lands || hopped) && !self.is_unfinished(framed)? {
                    self.leftovers = self.leftovers.saturating_add(1);
                }
                if lands {
                    (pos, hopped) = (framed.end(), true);
                    continue;
                }
            }
            match self.reader.find(self.rules.magic(), pos + 1)? {
                Some(next) => (pos, hopped) = (next, false),
                None => return Ok(()),
            }
        }
    }

    /// What is framed at `pos`, if the file holds all of it. What was only searched for must look like some block's
    /// undo before it is read whole, or a file full of magics would be read over and over.
    fn framed(&mut self, pos: u64, hopped: bool) -> Result<Option<Framed>, SourceError> {
        let head = self.reader.read(pos, RECORD_HEAD, SEARCH_CHUNK)?;
        let Some((framing, undo)) = head.split_first_chunk::<8>() else { return Ok(None) };
        let [a, b, c, d, size @ ..] = *framing;
        let size = u32::from_le_bytes(size);
        let known = [a, b, c, d] == self.rules.magic().needle() && (1..=MAX_UNDO).contains(&size);
        let known = known && (hopped || self.pairing.may_fit(undo));
        let file = self.number;
        let position = u32::try_from(pos).ok().and_then(|offset| Position { file, offset }.plus(FRAMING));
        let framed = position.filter(|_| known).map(|position| Framed { position, size });
        Ok(framed.filter(|framed| framed.end() <= self.reader.len()))
    }

    fn give(&mut self, framed: Framed) -> Result<bool, SourceError> {
        let want = to_usize(u64::from(framed.size) + u64::from(CHECKSUM));
        let bytes = self.reader.read(framed.position.offset.into(), want, SEARCH_CHUNK)?;
        // The file may have been cut a moment ago.
        if bytes.len() == want { self.pairing.give(framed.position, bytes) } else { Ok(false) }
    }

    /// Whether another record seems to start at `pos`.
    fn lands(&mut self, pos: u64) -> Result<bool, SourceError> {
        Ok(self.reader.read(pos, 4, SEARCH_CHUNK)? == self.rules.magic().needle())
    }

    /// Whether the checksum, which Core writes last, is not there yet.
    fn is_unfinished(&mut self, framed: Framed) -> Result<bool, SourceError> {
        let sum = self.reader.read(framed.sum(), to_usize(CHECKSUM.into()), SEARCH_CHUNK)?.to_vec();
        Ok(self.reader.is_unwritten(framed.sum(), &sum))
    }
}
