//! Pages of the index and heads of runs: damaged ones are refused, and what is read is packed and found again.

use hindsight::runs::hashes::{MAX_PREFIX, PREFIX_BITS, Prefix};
use hindsight::runs::run::Run;
use hindsight::runs::sizes::{self, SizesPage, TxSize};
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
    let found = view.find(&(0..=MAX_PREFIX));
    let Ok(entries) = view.entries() else {
        assert!(found.is_err(), "found what cannot be read");
        return;
    };
    assert_eq!(found.as_deref(), Ok(&entries[..]));
    assert!(entries.is_sorted_by_key(|entry| entry.prefix) && entries.iter().all(|entry| entry.prefix <= MAX_PREFIX));
    let wanted = middle(entries.iter().map(|entry| entry.prefix));
    let expected: Vec<_> = entries.iter().copied().filter(|entry| wanted.contains(&entry.prefix)).collect();
    assert_eq!(view.find(&wanted), Ok(expected));
    let mut again = Vec::new();
    for (first, page) in prefixes::Pages::new(shape, entries.iter().copied()) {
        assert!(page.len() <= PAGE);
        let view = prefixes::PageView::new(shape, first, &page).expect("a page that was just packed");
        again.extend(view.entries().expect("its entries"));
    }
    assert_eq!(again, entries);
}

fn of_postings(shape: postings::Shape, first: Prefix, page: &[u8]) {
    let read: Vec<_> = postings::read(shape, first, page).collect();
    assert!(read.len() <= 8 * page.len() + 1, "a posting takes a bit");
    let Ok(postings) = read.into_iter().collect::<Result<Vec<_>, _>>() else {
        assert!(postings::find(shape, first, page, &(0..=MAX_PREFIX)).is_err());
        return;
    };
    assert!(postings.is_sorted_by_key(|posting| posting.script));
    assert!(postings.iter().all(|posting| posting.script >> PREFIX_BITS == 0));
    let wanted = middle(postings.iter().map(|posting| posting.script));
    let expected: Vec<_> = postings.iter().copied().filter(|posting| wanted.contains(&posting.script)).collect();
    assert_eq!(postings::find(shape, first, page, &wanted), Ok(expected));
    // Two lists of one script are none that was packed.
    if postings.is_sorted_by(|a, b| (a.script, a.number) < (b.script, b.number)) {
        let pages: Vec<_> = postings::Pages::new(shape, postings.iter().copied()).collect();
        assert!(pages.iter().all(|(_, page)| page.len() <= PAGE));
        let again = pages.iter().flat_map(|(first, page)| postings::read(shape, *first, page));
        assert_eq!(again.collect::<Result<Vec<_>, _>>(), Ok(postings));
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
    for (number, block) in (0..).zip(&blocks) {
        let size = u32::try_from(block.len()).expect("a page's blocks are countable");
        assert!(sizes::place(page, number, size).is_err(), "a place behind the last");
        if let (Some(last), Ok(place)) = (block.last(), sizes::place(page, number, size.saturating_sub(1))) {
            assert_eq!(u32::try_from(place.tx.len()), Ok(last.tx));
            assert_eq!(u32::try_from(place.undo.len()), Ok(last.undo));
            let before: u64 = block[..block.len() - 1].iter().map(|size| u64::from(size.tx)).sum();
            assert!(u64::from(place.tx.start) > before + 80);
        }
    }
    let is_usual = |size: &TxSize| size.tx <= LARGE && size.undo <= LARGE;
    if blocks.iter().flatten().all(is_usual) {
        let mut again = SizesPage::default();
        let taken = blocks.iter().take_while(|block| again.push(block)).count();
        let count = again.blocks();
        assert_eq!(sizes::blocks(&again.finish(), count).as_deref(), Ok(&blocks[..taken]));
    }
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
