//! Compares what two instances answer: the best chain, and of its blocks every byte of payloads and statistics.
//!
//! Both chains are gone through from the top down, page by page, so that nothing is held but one batch of blocks; the
//! batch's blocks are asked for on all cores.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::fmt;

use bitcoin::BlockHash;
use bitcoin::hashes::Hash;
use hindsight_shared::Height;
use hindsight_shared::payload::{PREFIX_SIZE, Payload, Prevouts};
use hindsight_shared::stats::fields::differences;
use hindsight_shared::stats::row::SUMMARY_SIZE;
use rayon::prelude::*;

use super::answers::{Answer, Answers};
use super::{Progress, RemoteError, Sample};
use crate::source::in_the_background;

/// Blocks compared at once.
const BATCH: usize = 64;

/// So many differences are described; the others are counted.
const DESCRIBED: usize = 100;

/// So many fields of a row are named.
const FIELDS: usize = 4;

type Block = (Height, BlockHash);

/// What two instances do not agree on at one height.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// The height.
    pub height: Height,
    /// The block there; where they have different ones, the first instance's.
    pub hash: BlockHash,
    /// What differs.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "height {}, block {}: {}", self.height, self.hash, self.what)
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Comparison {
    /// The tips.
    pub tips: [Option<Block>; 2],
    /// Heights at which both have the same block.
    pub heights: u64,
    /// Blocks whose payload and statistics were compared.
    pub blocks: u64,
    /// How many differences there are.
    pub differ: u64,
    /// The first hundred of them, greatest height first.
    pub differences: Vec<Difference>,
}

impl Comparison {
    fn say(&mut self, (height, hash): Block, what: String) {
        self.differ += 1;
        if self.differences.len() < DESCRIBED {
            self.differences.push(Difference { height, hash, what });
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tip =
            |tip: Option<Block>| tip.map_or_else(|| "none".to_owned(), |(height, hash)| format!("{height} {hash}"));
        match self.tips {
            [here, there] if here == there => writeln!(f, "tip: {}", tip(here))?,
            [here, there] => writeln!(f, "tip: {} here, {} there", tip(here), tip(there))?,
        }
        let Self { heights, blocks, differ, .. } = self;
        write!(
            f,
            "{heights} heights with the same block, {blocks} payloads and statistics compared, {differ} differences"
        )
    }
}

/// Compares two instances, on all cores. With a sample only that many payloads and statistics are compared; the chains
/// always are.
///
/// # Errors
/// When one of them does not answer.
pub fn compare(
    (here, there): (&dyn Answers, &dyn Answers),
    sample: Option<Sample>,
    progress: impl FnMut(Progress) + Send,
) -> Result<Comparison, RemoteError> {
    let [ours, theirs] = [here.status()?, there.status()?];
    if ours.magic != theirs.magic {
        let name = |network: &str, magic: &str| format!("{network} ({magic})");
        let (here, there) = (name(&ours.network, &ours.magic), name(&theirs.network, &theirs.magic));
        return Err(RemoteError::OtherNetwork { here, there });
    }
    in_the_background(|| compare_all((here, there), sample, progress))
}

fn compare_all(
    both: (&dyn Answers, &dyn Answers),
    sample: Option<Sample>,
    mut progress: impl FnMut(Progress),
) -> Result<Comparison, RemoteError> {
    let (mut here, mut there) = (Downwards::new(both.0), Downwards::new(both.1));
    let mut found = Comparison { tips: [here.peek()?, there.peek()?], ..Comparison::default() };
    let top = found.tips.iter().flatten().map(|(height, _)| height.0).max();
    let all = top.map_or(0, |top| u64::from(top) + 1);
    let chosen = sample.map(|sample| sample.of(all));
    let is_chosen = |height: Height| chosen.as_ref().is_none_or(|chosen| chosen.contains(&u64::from(height.0)));
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let (ours, theirs) = (here.peek()?, there.peek()?);
        match (ours, theirs) {
            (None, None) => break,
            (Some(block), Some(other)) if block.0 == other.0 => {
                here.next();
                there.next();
                if block != other {
                    found.say(block, format!("there it is block {}", other.1));
                    continue;
                }
                found.heights += 1;
                if is_chosen(block.0) {
                    batch.push(block);
                }
            }
            (Some(block), other) if other.is_none_or(|other| block.0 > other.0) => {
                here.next();
                found.say(block, "there is no block at this height there".to_owned());
            }
            (_, Some(other)) => {
                there.next();
                found.say(other, "there is no block at this height here, but this one there".to_owned());
            }
            // An empty side has been taken care of.
            (Some(_), None) => {}
        }
        if batch.len() == BATCH {
            compare_batch(both, &batch, &mut found)?;
            batch.clear();
        }
        let left = ours.max(theirs).map_or(0, |(height, _)| u64::from(height.0));
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        progress(Progress::Compared(count(all - left.min(all)), count(all)));
    }
    compare_batch(both, &batch, &mut found)?;
    found.differences.sort_by_key(|difference| Reverse(difference.height));
    Ok(found)
}

fn compare_batch(
    both: (&dyn Answers, &dyn Answers),
    batch: &[Block],
    found: &mut Comparison,
) -> Result<(), RemoteError> {
    let rows = (rows_of(both.0, batch)?, rows_of(both.1, batch)?);
    let differ: Result<Vec<_>, _> = batch.par_iter().map(|&block| compare_block(both, &rows, block)).collect();
    for (block, what) in differ?.into_iter().flatten() {
        found.say(block, what);
    }
    found.blocks += batch.len() as u64;
    Ok(())
}

/// What differs in one block.
fn compare_block(
    (here, there): (&dyn Answers, &dyn Answers),
    (our_rows, their_rows): &(Rows, Rows),
    block: Block,
) -> Result<Vec<(Block, String)>, RemoteError> {
    let hash = block.1;
    let payload = difference("payload", &here.payload(hash)?, &there.payload(hash)?, payload_difference);
    let row = |rows: &Rows, instance: &dyn Answers| match rows.get(&hash) {
        Some(row) => Ok(Answer::Bytes(row.clone())),
        None => instance.summary(hash),
    };
    let row = difference("statistics", &row(our_rows, here)?, &row(their_rows, there)?, row_difference);
    Ok(payload.into_iter().chain(row).map(|what| (block, what)).collect())
}

type Rows = HashMap<BlockHash, Vec<u8>>;

/// The rows of statistics that an instance has of these blocks, which are in order, greatest height first: each run of
/// consecutive heights is one question.
fn rows_of(instance: &dyn Answers, blocks: &[Block]) -> Result<Rows, RemoteError> {
    let mut rows = Rows::new();
    for run in blocks.chunk_by(|(above, _), (below, _)| above.previous() == Some(*below)) {
        let Some((first, _)) = run.first() else { continue };
        let count = u32::try_from(run.len()).unwrap_or(u32::MAX);
        // Where all of them cannot be had, each is asked for.
        if let Answer::Bytes(bytes) = instance.summaries(*first, count)? {
            let hash = |row: &[u8]| row.first_chunk().map(|hash| BlockHash::from_byte_array(*hash));
            rows.extend(bytes.chunks(SUMMARY_SIZE).filter_map(|row| Some((hash(row)?, row.to_vec()))));
        }
    }
    Ok(rows)
}

/// In what two answers differ. Two refusals do not: each says in its own words why.
fn difference(name: &str, here: &Answer, there: &Answer, of: impl Fn(&[u8], &[u8]) -> String) -> Option<String> {
    match (here, there) {
        (Answer::Refused(_), Answer::Refused(_)) => None,
        (Answer::Bytes(here), Answer::Bytes(there)) if here == there => None,
        (Answer::Bytes(here), Answer::Bytes(there)) => Some(format!("{name}: {}", of(here, there))),
        (Answer::Bytes(here), Answer::Refused(why)) => Some(format!("{name}: {} bytes here, there: {why}", here.len())),
        (Answer::Refused(why), Answer::Bytes(there)) => {
            Some(format!("{name}: {} bytes there, here: {why}", there.len()))
        }
    }
}

fn payload_difference(here: &[u8], there: &[u8]) -> String {
    let (Ok(ours), Ok(theirs)) = (Payload::decode(here), Payload::decode(there)) else {
        return first_byte("the payload, which does not decode,", here, there);
    };
    let absence =
        |payload: &Payload<'_>| payload.absence.map_or_else(|| "nothing".to_owned(), |why| format!("{why:?}"));
    let height =
        |payload: &Payload<'_>| payload.height.map_or_else(|| "unknown".to_owned(), |height| height.to_string());
    if ours.block != theirs.block {
        return first_byte("the block", ours.block, theirs.block);
    }
    if ours.absence != theirs.absence {
        return format!("absent is {} here, {} there", absence(&ours), absence(&theirs));
    }
    if ours.height != theirs.height {
        return format!("height {} here, {} there", height(&ours), height(&theirs));
    }
    match (ours.prevouts, theirs.prevouts) {
        (Prevouts::Undo(ours), Prevouts::Undo(theirs)) if ours != theirs => first_byte("the undo record", ours, theirs),
        _ => first_byte("the payload", &here[..PREFIX_SIZE.min(here.len())], there),
    }
}

/// The first byte that differs, and the lengths.
fn first_byte(what: &str, here: &[u8], there: &[u8]) -> String {
    let at = here.iter().zip(there).take_while(|(here, there)| here == there).count();
    format!("{what} differs from byte {at} on ({} bytes here, {} there)", here.len(), there.len())
}

fn row_difference(here: &[u8], there: &[u8]) -> String {
    let Some(found) = differences(here, there) else { return first_byte("the row", here, there) };
    let names: Vec<String> = found.iter().take(FIELDS).map(ToString::to_string).collect();
    let more = match found.len().saturating_sub(FIELDS) {
        0 => String::new(),
        more => format!(", and {more} more fields"),
    };
    format!("(here / there) {}{more}", names.join(", "))
}

/// The best chain of an instance from the top down.
struct Downwards<'a> {
    instance: &'a dyn Answers,
    page: VecDeque<Block>,
    /// Where the next page starts; `None` at first.
    from: Option<Height>,
    ended: bool,
}

impl<'a> Downwards<'a> {
    fn new(instance: &'a dyn Answers) -> Self {
        Self { instance, page: VecDeque::new(), from: None, ended: false }
    }

    fn peek(&mut self) -> Result<Option<Block>, RemoteError> {
        if self.page.is_empty() && !self.ended {
            // Each page has to lead further down, whatever the instance answers.
            let from = self.from;
            let page = self.instance.blocks(from)?;
            self.page = page.into_iter().filter(|(height, _)| from.is_none_or(|from| *height <= from)).collect();
            let next = self.page.back().and_then(|(height, _)| height.previous());
            self.ended = next.is_none();
            self.from = next;
        }
        Ok(self.page.front().copied())
    }

    fn next(&mut self) {
        self.page.pop_front();
    }
}
