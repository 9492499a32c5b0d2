//! The block view: finding the transactions, hashing them, the rows of the table, and every check of the page.

#![allow(clippy::unwrap_used, reason = "a bench that fails has nothing to measure")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hindsight_benches::chains::{Sample, samples};
use hindsight_shared::block::{BlockView, merkle_root};
use hindsight_shared::summary::rows;
use hindsight_shared::verify::{Outcome, verify};

fn block_view(c: &mut Criterion) {
    for sample in samples() {
        bench(c, &sample);
    }
}

fn bench(c: &mut Criterion, sample: &Sample) {
    let payload = sample.payload();
    let (block, prevouts) = payload.view().unwrap();
    let table = rows(&block, prevouts.as_ref()).unwrap();
    let mut group = c.benchmark_group(format!("block/{}", sample.name));
    group.throughput(Throughput::ElementsAndBytes {
        elements: block.tx_count() as u64,
        bytes: sample.block.len() as u64,
    });
    group.bench_function("parse", |b| b.iter(|| BlockView::parse(&sample.block).unwrap().tx_count()));
    // The same work by the `bitcoin` crate, which copies every transaction.
    group.bench_function("parse by the bitcoin crate", |b| {
        b.iter(|| bitcoin::consensus::deserialize::<bitcoin::Block>(&sample.block).unwrap().txdata.len());
    });
    group.bench_function("txids and merkle root", |b| {
        b.iter(|| merkle_root(block.txs().map(|tx| tx.txid().to_raw_hash()).collect()).0);
    });
    group.bench_function("rows", |b| b.iter(|| rows(&block, prevouts.as_ref()).unwrap().len()));
    group.bench_function("verify", |b| {
        b.iter(|| {
            let checks = verify(&payload, &block, &table, Some(sample.hash));
            checks.iter().filter(|check| check.outcome == Outcome::Passed).count()
        });
    });
}

criterion_group!(benches, block_view);
criterion_main!(benches);
