//! Walking: finding every record of a `blk*.dat` while reading next to nothing of it.

use std::ops::ControlFlow;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hindsight_benches::chains::{Chain, demo, eras, hollow_files};

fn walk(c: &mut Criterion) {
    // Eight files of 84 blocks of 1.5 MB each: a gigabyte of a node's usual files.
    for chain in [Some(hollow_files(8)), Some(demo()), eras()].into_iter().flatten() {
        bench(c, &chain);
    }
}

/// Records and bytes a second over all files, 32 at a time as at a server's start. What was read is dropped from the
/// page cache each time, so files that are no holes are read from the disk again.
fn bench(c: &mut Criterion, chain: &Chain) {
    let before = chain.files.bulk_reads();
    let walked = chain.walked();
    let reads = chain.files.bulk_reads() - before;
    let records = walked.iter().map(|file| file.records.len() as u64).sum::<u64>();
    let bytes = walked.iter().map(|file| file.stamp.len).sum();
    println!("walk/{}: {reads} reads for {records} records in {bytes} bytes", chain.name);
    let files = chain.list();
    let mut group = c.benchmark_group("walk");
    group.throughput(Throughput::ElementsAndBytes { elements: records, bytes });
    group.bench_function(chain.name, |b| {
        b.iter(|| {
            let mut found = 0;
            chain.files.walk_all(files.iter().map(|file| (*file, None)).collect(), |(_, walked)| {
                found += walked.map_or(0, |walked| walked.records.len() as u64);
                ControlFlow::Continue(())
            });
            assert_eq!(found, records);
        });
    });
}

criterion_group!(benches, walk);
criterion_main!(benches);
