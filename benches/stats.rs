//! Statistics of a block, on one core: all of them, and each step by itself.

#![allow(clippy::unwrap_used, reason = "a bench that fails has nothing to measure")]

use bitcoin::Network;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hindsight_benches::chains::{Sample, samples};
use hindsight_shared::Height;
use hindsight_shared::stats::content::content;
use hindsight_shared::stats::core::core_stats;
use hindsight_shared::stats::exact::Spread;
use hindsight_shared::stats::package;
use hindsight_shared::stats::row::Summary;
use hindsight_shared::summary::rows;

fn stats(c: &mut Criterion) {
    for sample in samples() {
        bench(c, &sample);
    }
}

fn bench(c: &mut Criterion, sample: &Sample) {
    let payload = sample.payload();
    let network = Network::from_magic(sample.network).unwrap();
    let height = sample.height.unwrap_or(Height(1));
    let (block, prevouts) = payload.view().unwrap();
    let prevouts = prevouts.as_ref();
    let table = rows(&block, prevouts).unwrap();
    let mut group = c.benchmark_group(format!("stats/{}", sample.name));
    group.throughput(Throughput::Bytes(sample.block.len() as u64));
    // From the bytes of a block and its undo to the row that is kept: one block for each iteration.
    group.bench_function("all", |b| {
        b.iter(|| {
            let (block, prevouts) = payload.view().unwrap();
            Summary::compute(network, height, &block, prevouts.as_ref()).unwrap().pack()
        });
    });
    group.bench_function("1 finding transactions and prevouts", |b| b.iter(|| payload.view().unwrap().0.tx_count()));
    group.bench_function("2 rows with txids and wtxids", |b| b.iter(|| rows(&block, prevouts).unwrap().len()));
    group.bench_function("3 getblockstats", |b| {
        b.iter(|| core_stats(network, height, &block, prevouts, &table).unwrap())
    });
    group.bench_function("4 exact rates", |b| b.iter(|| Spread::by_transaction(&table)));
    group.bench_function("5 package rates", |b| b.iter(|| Spread::by_package(&table, &package::rates(&block, &table))));
    group.bench_function("6 content", |b| b.iter(|| content(network, height, &block, prevouts, &table)));
}

criterion_group!(benches, stats);
criterion_main!(benches);
