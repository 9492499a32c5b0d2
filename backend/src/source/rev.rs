//! Reads one `rev*.dat` from end to end and hands each undo record to the pairing.
//!
//! Records are hopped over by their size. Where one fits no block, and does not end at another record or holds a magic, its
//! size is not to be trusted either: the next magic is searched for. That happens where a file was damaged, and after a reindex, which
//! overwrites undo files from their start and leaves what was there before behind the new end.

use std::path::Path;

use hindsight_shared::payload::Prevouts;

use super::bulk::{Access, BulkReader, Cost, SEARCH_CHUNK, to_usize};
use super::files::CHECKSUM;
use super::pair::{Pairing, tx_count};
use super::walk::{FRAMING, Rules};
use super::{BlockFile, CoreFiles, FileStamp, Leftover, Obfuscation, Position, SourceError, UndoFile};

/// No undo is larger: 24,390 inputs that spend scripts of 10,000 bytes make 245 MB.
const MAX_UNDO: u32 = 256 << 20;

/// Bytes that hold any record's framing and the count its undo starts with.
const RECORD_HEAD: usize = 17;

/// Of records that belong to no block so many are named; all are counted.
const NAMED_LEFTOVERS: usize = 1000;

/// What is found in an undo file, and the first of the records that belong to no block.
pub(super) type Paired = (UndoFile, Vec<Leftover>);

/// Pairs the undo file at `path` with a walked file; what is `known` of it is taken over if that still holds.
pub(super) fn pair(
    rules: &Rules,
    path: &Path,
    key: Obfuscation,
    (files, blk, known): (&CoreFiles, &BlockFile, Option<&UndoFile>),
    cost: &Cost,
) -> Result<Paired, SourceError> {
    let nothing = UndoFile { number: blk.number, blk: blk.stamp, ..UndoFile::default() };
    if FileStamp::read(path)?.is_none() {
        return Ok((nothing, Vec::new()));
    }
    let open = |access| {
        let reader = BulkReader::open(path, key, access, cost)?;
        let pairing = Pairing::new(files, blk);
        Ok(RevFile { rules, reader, number: blk.number, pairing, leftovers: 0, named: Vec::new() })
    };
    if let Some(known) = known {
        let mut file = open(Access::Follow)?;
        if let Some(start) = file.take_over(known)? {
            file.run(start)?;
            let (grown, named) = file.finish(nothing.clone());
            // A reindex writes the file anew from its start: what it has not reached yet lingers behind.
            if grown.records.len() > known.records.len() || grown.rev == known.rev {
                return Ok((grown, named));
            }
        }
    }
    let mut file = open(Access::Stream)?;
    file.run(0)?;
    Ok(file.finish(nothing))
}

struct RevFile<'a> {
    rules: &'a Rules,
    reader: BulkReader<'a>,
    number: u32,
    pairing: Pairing<'a>,
    leftovers: u32,
    /// The first of the leftovers.
    named: Vec<Leftover>,
}

/// A stretch of bytes framed like an undo record.
#[derive(Clone, Copy)]
struct Framed {
    position: Position,
    size: u32,
}

impl Framed {
    /// Bytes of the payload and its checksum.
    fn len(self) -> usize {
        to_usize(u64::from(self.size) + u64::from(CHECKSUM))
    }

    fn sum(self) -> u64 {
        u64::from(self.position.offset) + u64::from(self.size)
    }

    fn end(self) -> u64 {
        self.sum() + u64::from(CHECKSUM)
    }
}

impl RevFile<'_> {
    /// Takes over what is known, if the last known record is still there. Says where to go on.
    fn take_over(&mut self, known: &UndoFile) -> Result<Option<u64>, SourceError> {
        let last = known.records.iter().max_by_key(|record| record.position);
        let Some(last) = last.filter(|_| known.leftovers == 0) else { return Ok(None) };
        let Some(parent) = self.pairing.parent(&last.block) else { return Ok(None) };
        let start = u64::from(last.position.offset).saturating_sub(FRAMING.into());
        let framed = self.framed(start, true)?.filter(|f| (f.position, f.size) == (last.position, last.size));
        let Some(framed) = framed else { return Ok(None) };
        let undo = self.reader.read(last.position.offset.into(), framed.len(), SEARCH_CHUNK)?;
        self.pairing.hashes += 1;
        let holds =
            Prevouts::Undo(undo).checksum_holds(&parent) == Some(true) && self.pairing.take_over(&known.records);
        Ok(holds.then_some(framed.end()))
    }

    /// What was found, completed by `nothing` with what was known before.
    fn finish(self, nothing: UndoFile) -> Paired {
        let (rev, leftovers, hashes) = (Some(self.reader.stamp()), self.leftovers, self.pairing.hashes);
        (UndoFile { rev, records: self.pairing.into_records(), leftovers, hashes, ..nothing }, self.named)
    }

    /// Reads on from `start`.
    fn run(&mut self, start: u64) -> Result<(), SourceError> {
        let (mut pos, mut hopped) = (start, true);
        loop {
            let framed = self.framed(pos, hopped)?;
            if let Some(framed) = framed {
                let fits = self.give(framed)?;
                if !fits && hopped && self.has_changed(framed)? {
                    self.reader.forget();
                    continue;
                }
                let lands = fits || !self.hides_another(framed)? && self.lands(framed.end())?;
                if !fits && (lands || hopped) && !self.is_unfinished(framed)? {
                    self.leave(framed)?;
                }
                if lands {
                    (pos, hopped) = (framed.end(), true);
                    continue;
                }
                // What was read is searched through, and any magic in it may frame most of it once more.
                self.pairing.charge(framed.len());
            }
            // What is written last of a record, or first where there is none.
            let (told_by, len) = framed.map_or((pos, RECORD_HEAD), |framed| (framed.sum(), to_usize(CHECKSUM.into())));
            let before = self.reader.peek(told_by, len)?.to_vec();
            match self.reader.find(self.rules.magic(), pos + 1)? {
                // Records are written one after another: both may have come, or been completed, between reading here and
                // there.
                Some(_) if self.reader.peek_anew(told_by, len)? != before => self.reader.forget(),
                Some(next) => (pos, hopped) = (next, false),
                None => return Ok(()),
            }
        }
    }

    /// What is framed at `pos`, if the file holds all of it. What was only searched for must look like some block's
    /// undo before it is read whole, or a file full of magics would be read over and over; and where that has been in
    /// vain for too long, it is not read at all.
    fn framed(&mut self, pos: u64, hopped: bool) -> Result<Option<Framed>, SourceError> {
        let head = self.reader.read(pos, RECORD_HEAD, SEARCH_CHUNK)?;
        let Some((framing, undo)) = head.split_first_chunk::<8>() else { return Ok(None) };
        let [a, b, c, d, size @ ..] = *framing;
        let size = u32::from_le_bytes(size);
        let known = [a, b, c, d] == self.rules.magic().needle() && (1..=MAX_UNDO).contains(&size);
        let known = known && (hopped || self.pairing.has_patience() && self.pairing.may_fit(undo));
        let file = self.number;
        let position = u32::try_from(pos).ok().and_then(|offset| Position { file, offset }.plus(FRAMING));
        let framed = position.filter(|_| known).map(|position| Framed { position, size });
        Ok(framed.filter(|framed| framed.end() <= self.reader.len()))
    }

    fn give(&mut self, framed: Framed) -> Result<bool, SourceError> {
        let bytes = self.reader.read(framed.position.offset.into(), framed.len(), SEARCH_CHUNK)?;
        // The file may have been cut a moment ago.
        if bytes.len() == framed.len() { self.pairing.give(framed.position, bytes) } else { Ok(false) }
    }

    /// Whether a record is another than was read: reading may have met it half written, its checksum already there.
    fn has_changed(&mut self, framed: Framed) -> Result<bool, SourceError> {
        let (pos, len) = (framed.position.offset.into(), framed.len());
        let before = self.reader.peek(pos, len)?.to_vec();
        Ok(self.reader.peek_anew(pos, len)? != before)
    }

    /// Counts a record that belongs to no block.
    fn leave(&mut self, framed: Framed) -> Result<(), SourceError> {
        self.leftovers = self.leftovers.saturating_add(1);
        let undo = self.reader.peek(framed.position.offset.into(), RECORD_HEAD)?;
        if let Some(tx_count) = tx_count(undo).filter(|_| self.named.len() < NAMED_LEFTOVERS) {
            self.named.push(Leftover { position: framed.position, tx_count });
        }
        Ok(())
    }

    /// Whether another record seems to start at `pos`.
    fn lands(&mut self, pos: u64) -> Result<bool, SourceError> {
        Ok(self.reader.peek(pos, 4)? == self.rules.magic().needle())
    }

    /// Whether another record may lie in one that fits no block: a damaged size leads over it.
    fn hides_another(&mut self, framed: Framed) -> Result<bool, SourceError> {
        let bytes = self.reader.peek(framed.position.offset.into(), framed.len())?;
        Ok(self.rules.magic().find(bytes).is_some())
    }

    /// Whether the checksum, which Core writes last, is not there yet.
    fn is_unfinished(&mut self, framed: Framed) -> Result<bool, SourceError> {
        let sum = self.reader.peek(framed.sum(), to_usize(CHECKSUM.into()))?.to_vec();
        Ok(self.reader.is_unwritten(framed.sum(), &sum))
    }
}
