//! Undo: finding out which record belongs to which block, and reading one.

#![allow(clippy::unwrap_used, reason = "a bench that fails has nothing to measure")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hindsight_benches::chains::{Chain, demo, eras, full_blocks, samples};
use hindsight_shared::payload::split_checksum;
use hindsight_shared::prevouts::{PrevoutsView, undo_checksum};

fn pair(c: &mut Criterion) {
    for chain in [Some(full_blocks(16)), Some(demo()), eras()].into_iter().flatten() {
        bench_pair(c, &chain);
    }
}

/// One thread over all file pairs: each `rev*.dat` is read whole and about one checksum computed for each record.
fn bench_pair(c: &mut Criterion, chain: &Chain) {
    let files = chain.walked();
    let paired: Vec<_> = files.iter().map(|blk| chain.files.pair(blk).unwrap()).collect();
    let records = paired.iter().map(|rev| rev.records.len() as u64).sum::<u64>();
    let hashes: u64 = paired.iter().map(|rev| rev.hashes).sum();
    let bytes = paired.iter().flat_map(|rev| &rev.records).map(|record| u64::from(record.size)).sum();
    println!("undo pair/{}: {hashes} hashes for {records} records of {bytes} bytes", chain.name);
    let mut group = c.benchmark_group("undo pair");
    group.throughput(Throughput::ElementsAndBytes { elements: records, bytes });
    group.bench_function(chain.name, |b| {
        b.iter(|| files.iter().map(|blk| chain.files.pair(blk).unwrap().records.len()).sum::<usize>());
    });
}

fn decode(c: &mut Criterion) {
    for sample in samples() {
        let (undo, checksum) = split_checksum(&sample.undo);
        let view = PrevoutsView::from_undo(undo).unwrap();
        let elements = (0..view.tx_count()).map(|index| view.tx(index).len() as u64).sum();
        let header = hindsight_shared::block::header(sample.block.first_chunk().unwrap());
        let mut group = c.benchmark_group(format!("undo/{}", sample.name));
        group.throughput(Throughput::ElementsAndBytes { elements, bytes: undo.len() as u64 });
        group.bench_function("view", |b| b.iter(|| PrevoutsView::from_undo(undo).unwrap().tx_count()));
        group.bench_function("every prevout", |b| {
            b.iter(|| {
                (0..view.tx_count()).flat_map(|index| view.tx(index)).map(|spent| spent.value).sum::<bitcoin::Amount>()
            });
        });
        group.bench_function("to spenttxouts", |b| b.iter(|| view.to_spent_txouts()));
        group.bench_function("checksum", |b| {
            b.iter(|| assert_eq!(undo_checksum(&header.prev_blockhash, undo), checksum));
        });
    }
}

criterion_group!(benches, pair, decode);
criterion_main!(benches);
