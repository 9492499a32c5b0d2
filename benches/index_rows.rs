//! What a block costs on its way into the index, on one core: checked, hashed into rows, sorted and packed.

#![allow(clippy::unwrap_used, reason = "a bench that fails has nothing to measure")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hindsight::runs::hashes::Secret;
use hindsight::runs::rows::BlockRows;
use hindsight::runs::seal::seal;
use hindsight_benches::chains::{Sample, samples};
use hindsight_shared::Height;
use hindsight_shared::api::IndexLevel;
use hindsight_shared::verify::whole_txids;

/// Any.
const SECRET: Secret = Secret([7; 16]);

fn index_rows(c: &mut Criterion) {
    samples().iter().for_each(|sample| bench(c, sample));
}

fn bench(c: &mut Criterion, sample: &Sample) {
    let payload = sample.payload();
    let (block, prevouts) = payload.view().unwrap();
    let txids = whole_txids(&block).unwrap();
    let rows = |level| BlockRows::new(level, &SECRET, &block, &txids, prevouts.as_ref());
    let mut group = c.benchmark_group(format!("index rows/{}", sample.name));
    group.throughput(Throughput::Bytes(sample.block.len() as u64));
    group.bench_function("1 finding transactions and prevouts", |b| b.iter(|| payload.view().unwrap().0.tx_count()));
    group.bench_function("2 txids, merkle root, witness commitment", |b| b.iter(|| whole_txids(&block).unwrap().len()));
    group.bench_function("3 rows of transactions", |b| b.iter(|| rows(IndexLevel::Transactions).tx_count()));
    group.bench_function("4 rows of addresses", |b| b.iter(|| rows(IndexLevel::Addresses).tx_count()));
    let made = [rows(IndexLevel::Addresses)];
    group.bench_function("5 both runs of one block", |b| {
        b.iter(|| IndexLevel::ALL.map(|level| seal(level, Height(0), &made).unwrap().bytes()));
    });
}

criterion_group!(benches, index_rows);
criterion_main!(benches);
