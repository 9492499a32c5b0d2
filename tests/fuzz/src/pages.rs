//! Pages of the index and heads of runs: damaged ones are refused, and what is read is packed and found again.

use hindsight::runs::hashes::{MAX_PREFIX, PREFIX_BITS, Prefix};
use hindsight::runs::run::Run;
use hindsight::runs::sizes::{self, Place, SizesPage, TxSize};
use hindsight::runs::{PAGE, postings, prefixes};

/// Bytes in front of a page: what it is, entries, transactions, first prefix.
pub const HEAD: usize = 14;

/// More bytes than any transaction has.
const LARGE: u32 = 4_000_000;

/// What the first byte says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum What {
    /// A page of txids or of spends.
    Prefixes,
    /// A page of scripts.
    Postings,
    /// A page of sizes of so many blocks.
    Sizes,
    /// The head of a run.
    Head,
}

impl What {
    /// By the byte that says so.
    pub const ALL: [Self; 4] = [Self::Prefixes, Self::Postings, Self::Sizes, Self::Head];
}

/// Reads `bytes` as a page whose run has the shape that stands in front of it.
pub fn run(bytes: &[u8]) {
    let Some((head, page)) = bytes.split_first_chunk::<HEAD>() else { return };
    let [what, a, b, c, d, e, f, g, h, first @ ..] = *head;
    let (entries, transactions) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]).max(1));
    let first = first.into_iter().fold(0, |first: Prefix, byte| first << 8 | u64::from(byte));
    match What::ALL[usize::from(what) % What::ALL.len()] {
        What::Prefixes => of_prefixes(prefixes::Shape::new(entries.into(), transactions), first, page),
        What::Postings => of_postings(postings::Shape::new(entries.into(), transactions), first, page),
        What::Sizes => of_sizes(page, entries % 300),
        What::Head => of_run(page),
    }
}

fn of_prefixes(shape: prefixes::Shape, first: Prefix, page: &[u8]) {
    let Ok(view) = prefixes::PageView::new(shape, first, page) else { return };
    let Ok(entries) = view.entries() else { return };
    assert!(entries.is_sorted_by_key(|entry| entry.prefix) && entries.iter().all(|entry| entry.prefix <= MAX_PREFIX));
    let wanted = middle(entries.iter().map(|entry| entry.prefix));
    let found = view.find(&wanted);
    let (mut again, mut packed) = (Vec::new(), Vec::new());
    for (first, page) in prefixes::Pages::new(shape, entries.iter().copied()) {
        assert!(page.len() <= PAGE);
        let view = prefixes::PageView::new(shape, first, &page).expect("a page that was just packed");
        again.extend(view.entries().expect("its entries"));
        packed.push(page);
    }
    assert_eq!(again, entries);
    // Samples of a damaged page lead anywhere.
    if packed == [page] {
        assert_eq!(found, Ok(again.into_iter().filter(|entry| wanted.contains(&entry.prefix)).collect()));
    }
}

fn of_postings(shape: postings::Shape, first: Prefix, page: &[u8]) {
    let read: Vec<_> = postings::read(shape, first, page).collect();
    assert!(read.len() <= 8 * page.len() + 1, "a posting takes a bit");
    let wanted = middle(read.iter().flatten().map(|posting| posting.script));
    let found = postings::find(shape, first, page, &wanted);
    let Ok(postings) = read.into_iter().collect::<Result<Vec<_>, _>>() else { return };
    assert!(postings.is_sorted_by_key(|posting| posting.script));
    assert!(postings.iter().all(|posting| posting.script >> PREFIX_BITS == 0));
    // Two lists of one script are none that was packed.
    if !postings.is_sorted_by(|a, b| (a.script, a.number) < (b.script, b.number)) {
        return;
    }
    let pages: Vec<_> = postings::Pages::new(shape, postings.iter().copied()).collect();
    assert!(pages.iter().all(|(_, page)| page.len() <= PAGE));
    let again = pages.iter().flat_map(|(first, page)| postings::read(shape, *first, page));
    assert_eq!(again.collect::<Result<Vec<_>, _>>().as_ref(), Ok(&postings));
    // Samples of a damaged page lead anywhere.
    if pages.iter().map(|(_, page)| &page[..]).eq([page]) {
        assert_eq!(found, Ok(postings.into_iter().filter(|posting| wanted.contains(&posting.script)).collect()));
    }
}

/// A range in the midst of some prefixes.
fn middle(prefixes: impl Iterator<Item = Prefix>) -> std::ops::RangeInclusive<Prefix> {
    let prefixes: Vec<Prefix> = prefixes.collect();
    let at = |part: usize| prefixes.get(prefixes.len() * part / 4).copied().unwrap_or_default();
    at(1)..=at(3)
}

fn of_sizes(page: &[u8], count: u32) {
    let Ok(blocks) = sizes::blocks(page, count) else { return };
    let places: Vec<_> = (0..).zip(&blocks).map(|(number, block)| last_place(page, number, block)).collect();
    let is_usual = |size: &TxSize| size.tx <= LARGE && size.undo <= LARGE;
    if !blocks.iter().flatten().all(is_usual) {
        return;
    }
    let mut again = SizesPage::default();
    let taken = blocks.iter().take_while(|block| again.push(block)).count();
    let count = again.blocks();
    let again = again.finish();
    assert_eq!(sizes::blocks(&again, count).as_deref(), Ok(&blocks[..taken]));
    // Lengths of a damaged page lead anywhere.
    if again == page {
        for (place, block) in places.into_iter().zip(&blocks) {
            let before: usize = block.iter().rev().skip(1).map(|size| size.tx as usize).sum();
            let last = block.last().map(|size| (size.tx as usize, size.undo as usize));
            assert_eq!(place.as_ref().map(|place| (place.tx.len(), place.undo.len())), last);
            assert!(place.is_none_or(|place| place.tx.start as usize > before + 80));
        }
    }
}

/// Where the last transaction of a block lies.
fn last_place(page: &[u8], number: u32, block: &[TxSize]) -> Option<Place> {
    let size = u32::try_from(block.len()).expect("a page's blocks are countable");
    sizes::place(page, number, size.checked_sub(1)?).ok()
}

fn of_run(bytes: &[u8]) {
    let Some(run) = Run::unpack(7, bytes) else { return };
    assert_eq!(run.pack(), bytes);
    assert!(run.blocks() > 0 && run.covers(run.from) && run.covers(run.to()));
    assert_eq!(run.position(run.transactions()), None);
    for number in [0, run.transactions() / 2, run.transactions().saturating_sub(1)] {
        let position = run.position(number);
        assert_eq!(position.is_some(), number < run.transactions());
        if let Some(position) = position {
            assert!(run.covers(position.height));
            let block = usize::try_from(position.height.0 - run.from.0).expect("one of its blocks");
            assert_eq!(run.firsts[block] + position.index, number);
        }
    }
    // How pages are packed follows from the head alone.
    let _ = (run.txids(), run.postings(), run.named());
}
