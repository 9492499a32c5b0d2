//! Makes runs of what consecutive blocks add: numbers the transactions, sorts, packs.

use std::collections::BTreeMap;

use hindsight_shared::Height;
use itertools::{EitherOrBoth, Itertools};
use rayon::prelude::*;

use super::hashes::Prefix;
use super::postings::{self, Posting, Role};
use super::prefixes::{self, Entry};
use super::rows::BlockRows;
use super::run::{Kind, Packed, Run, SizePages, keyed};
use super::sizes::{SizesPage, TxSize};
use hindsight_shared::api::IndexLevel;

/// A script that is spent from this often in a run has its spends told by name: to look at fewer is cheaper than to keep
/// them.
const NAMED_FROM: usize = 256;

/// A run of blocks from a height on, lowest first; `None` of no blocks. Its number is 0 until it is kept.
pub fn seal(level: IndexLevel, from: Height, blocks: &[BlockRows]) -> Option<Packed> {
    let last = blocks.last()?.block;
    let mut firsts = vec![0];
    for block in blocks {
        firsts.push(firsts.last()? + block.tx_count());
    }
    let run = Run { id: 0, level, from, last, firsts, scripts: 0, spends: 0 };
    Some(match level {
        IndexLevel::Transactions => transactions(run, blocks),
        IndexLevel::Addresses => addresses(run, blocks),
    })
}

fn transactions(run: Run, blocks: &[BlockRows]) -> Packed {
    let mut entries: Vec<Entry> = (0..)
        .zip(blocks.iter().flat_map(|block| &block.txids))
        .map(|(number, &prefix)| Entry { prefix, number })
        .collect();
    entries.par_sort_unstable();
    let pages = keyed(prefixes::Pages::new(run.txids(), entries.into_iter())).collect();
    let sizes = pack_sizes(run.from, blocks.iter().map(|block| &block.sizes[..]));
    Packed { run, pages: BTreeMap::from([(Kind::Txids, pages)]), sizes }
}

/// Packs the sizes of consecutive blocks.
pub fn pack_sizes<'a>(from: Height, blocks: impl Iterator<Item = &'a [TxSize]>) -> SizePages {
    let (mut pages, mut page, mut first) = (SizePages::new(), SizesPage::default(), from);
    for sizes in blocks {
        if !page.push(sizes) {
            let full = std::mem::take(&mut page);
            let next = Height(first.0 + full.blocks());
            pages.insert(first, full.finish());
            first = next;
            page.push(sizes);
        }
    }
    if page.blocks() > 0 {
        pages.insert(first, page.finish());
    }
    pages
}

/// A script and a transaction of the run.
type Touch = (Prefix, u32);

fn addresses(mut run: Run, blocks: &[BlockRows]) -> Packed {
    let numbered = || run.firsts.iter().zip(blocks);
    let mut paid: Vec<Touch> = numbered()
        .flat_map(|(first, block)| block.outputs.iter().map(move |paid| (paid.script, first + paid.index)))
        .collect();
    paid.par_sort_unstable();
    paid.dedup();
    let mut spent: Vec<(Prefix, u32, Prefix)> = numbered()
        .flat_map(|(first, block)| {
            block.inputs.iter().map(move |spent| (spent.script, first + spent.index, spent.outpoint))
        })
        .collect();
    spent.par_sort_unstable();
    let mut spends: Vec<Entry> = Vec::new();
    let named: Vec<Prefix> = spent
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|spends| spends.len() >= NAMED_FROM)
        .inspect(|named| spends.extend(named.iter().map(|&(_, number, prefix)| Entry { prefix, number })))
        .map(|spends| spends[0].0)
        .collect();
    spends.par_sort_unstable();
    let spending: Vec<Touch> = spent.into_iter().map(|(script, number, _)| (script, number)).dedup().collect();
    let postings = join(&paid, &spending, &named);
    run.scripts = postings.chunk_by(|a, b| a.script == b.script).count() as u64;
    run.spends = spends.len() as u64;
    let scripts = keyed(postings::Pages::new(run.postings(), postings.into_iter())).collect();
    let spends = keyed(prefixes::Pages::new(run.named(), spends.into_iter())).collect();
    Packed { run, pages: BTreeMap::from([(Kind::Scripts, scripts), (Kind::Spends, spends)]), sizes: SizePages::new() }
}

/// One posting for each script and transaction.
fn join(paid: &[Touch], spending: &[Touch], named: &[Prefix]) -> Vec<Posting> {
    let both = paid.iter().merge_join_by(spending, |paid, spending| paid.cmp(spending));
    let posting = |touch: EitherOrBoth<&Touch, &Touch>| {
        let (pays, spends) = (touch.has_left(), touch.has_right());
        let &(script, number) = touch.into_left();
        let named = spends && named.binary_search(&script).is_ok();
        Posting { script, number, role: Role { pays, spends, named } }
    };
    both.map(posting).collect()
}
