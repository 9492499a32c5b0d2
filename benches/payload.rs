//! The payload: what the server does to send one and what the page does to open it.

#![allow(clippy::unwrap_used, reason = "a bench that fails has nothing to measure")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hindsight_benches::chains::samples;
use hindsight_shared::payload::Payload;

fn payload(c: &mut Criterion) {
    for sample in samples() {
        let payload = sample.payload();
        let bytes = payload.encode().unwrap();
        let mut group = c.benchmark_group(format!("payload/{}", sample.name));
        // The server sends the parts as they lie: it only ever makes the prefix.
        group.bench_function("prefix", |b| b.iter(|| black_box(&payload).prefix().unwrap()));
        // Nor does decoding look further.
        group.bench_function("decode", |b| b.iter(|| Payload::decode(black_box(&bytes)).unwrap()));
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function("encode", |b| b.iter(|| black_box(&payload).encode().unwrap()));
        group.bench_function("decode and view", |b| {
            b.iter(|| Payload::decode(black_box(&bytes)).unwrap().view().unwrap().0.tx_count());
        });
    }
}

criterion_group!(benches, payload);
criterion_main!(benches);
