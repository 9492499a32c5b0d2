//! Walks one `blk*.dat`: what blocks it holds and where, without reading their bodies.
//!
//! Of each record 152 bytes are read (`magic | size | header | transaction count | height`) and the body is hopped over.
//! A record is believed when its header meets its own target and that is within the network's limit, so that neither
//! garbage nor a preallocated tail can look like one. Where hopping lands on something else, the walk searches on for
//! the magic, as Core's `LoadExternalBlockFile` does: historical bugs and power losses left garbage and zeros between
//! records.

use std::collections::HashMap;
use std::path::Path;

use bitcoin::block::Header;
use bitcoin::consensus::deserialize;
use bitcoin::p2p::Magic;
use bitcoin::{Block, BlockHash, Network, Target};
use hindsight_shared::block::{BlockView, header};
use hindsight_shared::bytes::Reader;
use hindsight_shared::network::bip34_height;
use memchr::memmem::Finder;

use super::bulk::{Access, BulkReader, Cost, SEARCH_CHUNK, to_usize};
use super::{BlockFile, BlockRecord, Found, Obfuscation, Position, SourceError};

/// Bytes of framing before each payload: magic and size (`STORAGE_HEADER_BYTES`).
pub(super) const FRAMING: u32 = 8;
/// Bytes of a block header.
pub(super) const HEADER: u32 = 80;
/// Framing, header, the longest transaction count, and the coinbase as far as the height that it states: 97 bytes find
/// the next record, the others lie in the same page and save islands (blocks without parents) a second look.
const RECORD_HEAD: usize = 152;
/// The smallest possible block: a header and a count. Core's scanner takes 80, but such a block has no transaction.
const MIN_SIZE: u32 = HEADER + 1;
/// `MAX_BLOCK_SERIALIZED_SIZE`.
const MAX_SIZE: u32 = 4_000_000;
/// Bytes of the smallest possible transaction: one input, one output, both scripts empty.
const MIN_TX_SIZE: u32 = 60;
/// Read at once while records are small …
const WINDOW: usize = 256 << 10;
/// … which means smaller than this, so that a window always holds some.
const SMALL_RECORD: u32 = 64 << 10;

/// Of one block so many places in a file are kept, the first ones: what was hopped to comes before what was searched
/// for. Nobody stores a block more often, but anyone can inscribe its header over and over.
const MOST_COPIES: u32 = 4;

/// What makes bytes a record on one network.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    network: Network,
    magic: Finder<'static>,
    max_target: Target,
}

impl Rules {
    pub(super) fn new(network: Network, magic: Magic) -> Self {
        let magic = Finder::new(&magic.to_bytes()).into_owned();
        Self { network, magic, max_target: network.params().max_attainable_target }
    }

    /// The search for the magic before every record.
    pub(super) fn magic(&self) -> &Finder<'static> {
        &self.magic
    }

    /// Core's `CheckProofOfWork`; a non-canonical `nBits` (negative, overflowing) is no network's.
    fn has_work(&self, header: &Header) -> bool {
        let target = header.target();
        target.to_compact_lossy() == header.bits && target <= self.max_target && target.is_met_by(header.block_hash())
    }

    /// The record whose first bytes, at `pos` in a file, are `head`, if they are a record's.
    fn record(&self, head: &[u8], (file, pos): (u32, u64), found: Found) -> Option<BlockRecord> {
        let position = Position { file, offset: u32::try_from(pos).ok()? }.plus(FRAMING)?;
        let mut reader = Reader::new(head);
        let (magic, size) = (reader.array::<4>().ok()?, reader.u32().ok()?);
        if magic != self.magic.needle() || !(MIN_SIZE..=MAX_SIZE).contains(&size) {
            return None;
        }
        let header = header(reader.array().ok()?);
        let tx_count = u32::try_from(reader.compact_size().ok()?).ok()?;
        let fits = tx_count >= 1 && tx_count <= (size - HEADER) / MIN_TX_SIZE;
        let stated_height = coinbase_script(reader).and_then(|script| bip34_height(self.network, &header, script));
        let hash = header.block_hash();
        let record = BlockRecord { header, hash, tx_count, stated_height, size, position, found };
        (fits && self.has_work(&header)).then_some(record)
    }
}

/// The start of the coinbase's script, in the first bytes of the block's first transaction.
fn coinbase_script<'a>(mut reader: Reader<'a>) -> Option<&'a [u8]> {
    reader.take(4).ok()?;
    if reader.compact_size().ok()? == 0 {
        // BIP144's marker; the flag and the count of inputs follow.
        reader.take(2).ok()?;
    }
    reader.take(36).ok()?;
    let size = reader.compact_size().ok()?;
    reader.take(size.min(reader.left() as u64)).ok()
}

impl BlockRecord {
    /// Where the framing of this record starts.
    fn start(&self) -> u64 {
        u64::from(self.position.offset - FRAMING)
    }

    /// Where another record may begin at the earliest.
    fn inside(&self) -> u64 {
        self.start() + u64::from(FRAMING + HEADER)
    }

    /// Where the next record is expected.
    fn end(&self) -> u64 {
        u64::from(self.position.offset) + u64::from(self.size)
    }
}

/// Walks file `number` at `path`, from the start or, when it still begins as `known` says, from there on.
pub(super) fn walk(
    rules: &Rules,
    (number, path): (u32, &Path),
    key: Obfuscation,
    known: Option<&BlockFile>,
    cost: &Cost,
) -> Result<BlockFile, SourceError> {
    if let Some(known) = known.filter(|k| !k.records.is_empty()) {
        let reader = BulkReader::open(path, key, Access::Follow, cost)?;
        if let Some(walk) = Walk::resume(rules, reader, known)? {
            return walk.run();
        }
    }
    let reader = BulkReader::open(path, key, Access::Hop, cost)?;
    Walk::new(rules, reader, number).run()
}

struct Walk<'a> {
    rules: &'a Rules,
    reader: BulkReader<'a>,
    number: u32,
    records: Vec<BlockRecord>,
    /// How many records each block has.
    copies: HashMap<BlockHash, u32>,
    /// The last record that was seen, kept or not.
    last: Option<BlockRecord>,
}

impl<'a> Walk<'a> {
    fn new(rules: &'a Rules, reader: BulkReader<'a>, number: u32) -> Self {
        Walk { rules, reader, number, records: Vec::new(), copies: HashMap::new(), last: None }
    }

    /// A walk that goes on behind the last known record, if that is still there. Copies behind it that were not kept
    /// are met once more.
    fn resume(rules: &'a Rules, reader: BulkReader<'a>, known: &BlockFile) -> Result<Option<Self>, SourceError> {
        let mut walk = Walk::new(rules, reader, known.number);
        let Some(last) = known.records.last() else { return Ok(None) };
        if walk.look(last.start(), last.found, RECORD_HEAD)? != Some(*last) {
            return Ok(None);
        }
        known.records.iter().for_each(|record| walk.keep(*record));
        Ok(Some(walk))
    }

    fn run(mut self) -> Result<BlockFile, SourceError> {
        let mut before = None;
        while let Some(record) = self.next()? {
            before = Some(self.last);
            self.keep(record);
        }
        if let Some(before) = before
            && !self.last_is_complete()?
        {
            if self.records.last() == self.last.as_ref() {
                self.records.pop();
            }
            self.last = before;
        }
        Ok(BlockFile { number: self.number, stamp: self.reader.stamp(), records: self.records })
    }

    fn keep(&mut self, record: BlockRecord) {
        self.last = Some(record);
        let copies = self.copies.entry(record.hash).or_default();
        if *copies < MOST_COPIES {
            *copies += 1;
            self.records.push(record);
        }
    }

    fn end(&self) -> u64 {
        self.last.map_or(0, |last| last.end())
    }

    fn next(&mut self) -> Result<Option<BlockRecord>, SourceError> {
        let small = self.last.filter(|last| last.size < SMALL_RECORD);
        let start = match small {
            Some(last) if self.hides_another(&last)? => last.inside(),
            _ => match self.hop(if small.is_some() { WINDOW } else { RECORD_HEAD })? {
                None => self.search_start()?,
                record => return Ok(record),
            },
        };
        let record = self.search(start)?;
        // What the last record hides comes before what is behind it.
        if record.is_some_and(|record| record.start() >= self.end()) {
            return Ok(self.come_meanwhile()?.or(record));
        }
        Ok(record)
    }

    /// The record behind the last one, or the first.
    fn hop(&mut self, ahead: usize) -> Result<Option<BlockRecord>, SourceError> {
        match self.last.map(|last| last.found) {
            Some(Found::Search) => self.hop_on(ahead),
            Some(Found::Hop) | None => self.look(self.end(), Found::Hop, ahead),
        }
    }

    /// Whether a record holds more than its block: a damaged size may lead over the next record exactly to the one after
    /// it. Bodies of large records are not read here, so among those it shows when the block is read.
    fn hides_another(&mut self, record: &BlockRecord) -> Result<bool, SourceError> {
        let (pos, size) = (record.position.offset.into(), to_usize(record.size.into()));
        let body = match record.found {
            Found::Hop => self.reader.peek(pos, size)?,
            // Fakes may lie in each other by the thousand: the window goes with them.
            Found::Search => self.reader.read(pos, size, SEARCH_CHUNK)?,
        };
        Ok(self.rules.magic.find(body).is_some() && BlockView::parse(body).is_err())
    }

    /// The record behind one that was searched for. That may be a fake, and its hop lead anywhere: until there is a
    /// record, the window stays where the search goes on.
    fn hop_on(&mut self, ahead: usize) -> Result<Option<BlockRecord>, SourceError> {
        let pos = self.end();
        let head = self.reader.peek(pos, RECORD_HEAD)?;
        let record =
            self.rules.record(head, (self.number, pos), Found::Search).filter(|r| r.end() <= self.reader.len());
        if record.is_some() && ahead > RECORD_HEAD {
            self.reader.read(pos, RECORD_HEAD, ahead)?;
        }
        Ok(record)
    }

    /// The record that starts at `pos`, if there is one and the file holds all of it.
    fn look(&mut self, pos: u64, found: Found, ahead: usize) -> Result<Option<BlockRecord>, SourceError> {
        let head = self.reader.read(pos, RECORD_HEAD, ahead)?;
        let record = self.rules.record(head, (self.number, pos), found);
        Ok(record.filter(|r| r.end() <= self.reader.len()))
    }

    /// The next record at `pos` or behind it.
    fn search(&mut self, mut pos: u64) -> Result<Option<BlockRecord>, SourceError> {
        while let Some(at) = self.reader.find(&self.rules.magic, pos)? {
            let record = self.look(at, Found::Search, SEARCH_CHUNK)?;
            if record.is_some() {
                return Ok(record);
            }
            pos = at + 1;
        }
        Ok(None)
    }

    /// The record behind the last one, if it is there by now. The node writes one after another: whoever reads nothing at
    /// one place and then a record at a later one may have been overtaken by both. Where the search has found this very
    /// one, its place was right.
    fn come_meanwhile(&mut self) -> Result<Option<BlockRecord>, SourceError> {
        let (pos, found) = (self.end(), self.last.map_or(Found::Hop, |last| last.found));
        let head = self.reader.peek_anew(pos, RECORD_HEAD)?;
        Ok(self.rules.record(head, (self.number, pos), found).filter(|record| record.end() <= self.reader.len()))
    }

    /// Where to search on. Unless what follows the last record is plainly the end of what was written, the record's own
    /// size may be damaged, or the record an inscribed one: then what its hop went over is searched too.
    fn search_start(&mut self) -> Result<u64, SourceError> {
        let Some(last) = self.last else { return Ok(1) };
        let inside = last.inside();
        if last.found == Found::Search {
            return Ok(inside);
        }
        let landing = self.reader.peek(last.end(), 4)?.to_vec();
        let begun = landing == self.rules.magic.needle();
        let plain = begun || self.reader.is_unwritten(last.end(), &landing) && self.last_is_whole()?;
        Ok(if plain { last.end() + 1 } else { inside })
    }

    /// Whether the last record's body is all there, damaged or not. Core preallocates, so a record that is being written
    /// lies within the file, header first and the rest still zero; no other record follows it.
    fn last_is_complete(&mut self) -> Result<bool, SourceError> {
        let Some(last) = self.last else { return Ok(true) };
        if self.last_is_whole()? {
            return Ok(true);
        }
        // Written from front to back: what ends in a byte that was written is complete, if damaged. Lock times end in
        // zeros, so without a key this cannot be told.
        let tail = last.end().saturating_sub(1);
        let byte = self.reader.peek(tail, 1)?.to_vec();
        Ok(!self.reader.is_unwritten(tail, &byte))
    }

    /// Whether the last record is the block that its header says, so that its size is right.
    fn last_is_whole(&mut self) -> Result<bool, SourceError> {
        let Some(last) = self.last else { return Ok(true) };
        if last.end() == self.reader.len() {
            return Ok(true);
        }
        let size = to_usize(last.size.into());
        let bytes = self.reader.read(last.position.offset.into(), size, size)?;
        Ok(deserialize::<Block>(bytes).is_ok_and(|b| b.check_merkle_root() && b.check_witness_commitment()))
    }
}
