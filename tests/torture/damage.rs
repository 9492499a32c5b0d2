//! Several bits flipped and files cut anywhere: what was hit is told or absent, never wrong, and everything else is served.

use std::fs;

use bitcoin::Network;
use hindsight_tests::core_files::{Directory, Records};
use hindsight_tests::fixtures;
use hindsight_tests::rng::Rng;
use hindsight_tests::unkind::{Count, Hit, check, cut, flip_at};

/// A directory of several pairs of files, and how many.
fn divided(rng: &mut Rng, source: &Records, network: Network) -> (Directory, u32) {
    let directory = Directory::new(network);
    let (blocks, files) = (source.payloads(), 1 + rng.below(4));
    for (number, part) in (0..).zip(blocks.chunks(blocks.len().div_ceil(files))) {
        directory.write_pair(number, part, source);
    }
    (directory, files as u32)
}

/// Cuts come near the end of a file most of the time, as a crash makes them.
fn hit(rng: &mut Rng, directory: &Directory, files: u32) -> Hit {
    let file = (["blk", "rev"][rng.below(2)], rng.below(files as usize) as u32);
    let len = fs::metadata(directory.path(file.0, file.1)).unwrap().len() as usize;
    if rng.below(3) > 0 {
        return flip_at(directory, file, rng.below(len), 1 << rng.below(8));
    }
    let reach = if rng.below(4) == 0 { len } else { len.min(2000) };
    // A byte stays, so that another hit finds the file.
    cut(directory, file, (len - 1 - rng.below(reach)).max(1))
}

fn torture(what: &str, fixture: &fixtures::Fixture, network: Network, trials: usize) {
    let mut rng = Rng::printed(what);
    let source = Records::read(&fixture.blocks_dir(), network);
    let mut count = Count::default();
    for _ in 0..trials {
        let (directory, files) = divided(&mut rng, &source, network);
        let records = Records::read(&directory.blocks_dir(), network);
        let hits: Vec<Hit> = (0..=rng.below(5)).map(|_| hit(&mut rng, &directory, files)).collect();
        check(&directory, &records, &hits, &mut count);
    }
    println!("{what}: {count:?}");
}

#[test]
fn in_a_directory_of_testnet3() {
    torture("damage in testnet3", &fixtures::testnet3(), Network::Testnet, crate::trials(200));
}

#[test]
fn in_a_directory_of_regtest() {
    torture("damage in regtest", &fixtures::regtest(), Network::Regtest, crate::trials(1000));
}
