//! Reads a whole blocks directory and reports what is damaged, with file and offset.
//!
//! It asks the files alone, not the index: every block is read and its transactions hashed, every undo record is held
//! against its checksum by pairing it with its block, and every block of the best chain is expected to have undo.

use std::fmt;

use hindsight_shared::block::{BlockView, merkle_root};
use parking_lot::Mutex;
use rayon::prelude::*;

use crate::chain::{Chain, NeedsPair, Undo};
use crate::source::{BlockRecord, BlockSource, CoreFiles, Position, SourceError, UndoFile};

/// What is wrong in one place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Damage {
    /// `blk` or `rev`.
    pub kind: &'static str,
    /// Where.
    pub position: Position,
    /// What.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { file, offset } = self.position;
        write!(f, "{}{file:05}.dat at offset {offset}: {}", self.kind, self.what)
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Report {
    /// Blocks read, repeated and stale ones included.
    pub blocks: u64,
    /// Undo records that fit their block.
    pub undo: u64,
    /// Undo records that fit no block: overwritten ones, or damage.
    pub leftovers: u64,
    /// Everything that is wrong.
    pub damage: Vec<Damage>,
}

/// Checks everything in the directory, on all cores. `progress` is told of each file when it is done: how many of how
/// many.
///
/// # Errors
/// When the directory itself cannot be read.
pub fn check(files: &CoreFiles, mut progress: impl FnMut(usize, usize)) -> Result<Report, SourceError> {
    let listed = files.list()?;
    let mut report = Report::default();
    let mut chain = Chain::new(files.datadir().network);
    let mut paired: Vec<UndoFile> = Vec::new();
    for (done, file) in listed.iter().enumerate() {
        let walked = files.walk(file.number, None)?;
        let damage = Mutex::new(Vec::new());
        walked.records.par_iter().for_each(|record| {
            if let Err(what) = whole(files, record) {
                damage.lock().push(Damage { kind: "blk", position: record.position, what });
            }
        });
        report.blocks += walked.records.len() as u64;
        report.damage.extend(damage.into_inner());
        let undo = files.pair(&walked)?;
        report.undo += undo.records.len() as u64;
        report.leftovers += u64::from(undo.leftovers);
        paired.push(undo);
        chain.set_file(&walked);
        progress(done + 1, listed.len());
    }
    report.damage.extend(without_undo(&mut chain, &mut paired));
    report.damage.sort_by_key(|damage| (damage.kind, damage.position));
    Ok(report)
}

fn whole(files: &CoreFiles, record: &BlockRecord) -> Result<(), String> {
    let bytes = files.block(record).map_err(|error| error.to_string())?;
    let block = BlockView::parse(&bytes).map_err(|error| format!("block {} does not decode: {error}", record.hash))?;
    let (root, mutated) = merkle_root(block.txs().map(|tx| tx.txid().to_raw_hash()).collect());
    if mutated || root != block.header().merkle_root.to_raw_hash() {
        return Err(format!("the transactions of block {} do not hash to its merkle root", record.hash));
    }
    Ok(())
}

/// Blocks of the best chain whose undo is not there, though a descendant's is.
fn without_undo(chain: &mut Chain, paired: &mut [UndoFile]) -> Vec<Damage> {
    for file in paired.iter_mut() {
        file.records.sort_unstable_by_key(|record| record.block);
    }
    let has_undo = |hash| {
        let found = |file: &UndoFile| {
            file.records.binary_search_by_key(&hash, |record| record.block).ok().map(|at| file.records[at].position)
        };
        paired.iter().find_map(found)
    };
    chain.link();
    let best = chain.choose(false, &|node| has_undo(node.hash).map_or(Undo::None, Undo::At));
    // Everything has been paired, so that the choice never needs more.
    let Ok(best) = best.map_err(|NeedsPair(file)| tracing::error!(file, "a file was left out")) else {
        return Vec::new();
    };
    chain.set_best(best);
    let heights = chain.best().segments().iter().flat_map(|segment| segment.from().0..=segment.to().0);
    let nodes = heights.filter_map(|height| chain.by_height(hindsight_shared::Height(height)));
    nodes
        .filter(|node| !chain.is_genesis(node) && has_undo(node.hash).is_none())
        .filter_map(|node| Some((node.hash, node.records().next()?.position)))
        .map(|(hash, position)| Damage {
            kind: "blk",
            position,
            what: format!("block {hash} has no undo record that fits"),
        })
        .collect()
}
