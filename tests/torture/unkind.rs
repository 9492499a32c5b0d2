//! Directories that nobody wrote kindly, at random, and cut at every byte of their last two records.

use bitcoin::Network;
use hindsight_tests::core_files::Records;
use hindsight_tests::fixtures;
use hindsight_tests::rng::Rng;
use hindsight_tests::unkind::{Count, cut_at_the_end, ends, random};

#[test]
fn at_random() {
    let mut rng = Rng::printed("unkind directories");
    let source = Records::read(&fixtures::regtest().blocks_dir(), Network::Regtest);
    let mut count = Count::default();
    for _ in 0..crate::trials(600) {
        random(&mut rng, &source, Network::Regtest, &mut count);
    }
    println!("{count:?}");
}

#[test]
fn cut_at_every_byte_of_the_last_two_records() {
    let mut rng = Rng::printed("ends of files");
    let source = Records::read(&fixtures::regtest().blocks_dir(), Network::Regtest);
    let mut count = Count::default();
    for kind in ["blk", "rev"] {
        let mut all: Vec<usize> = (0..ends(&source, kind)).collect();
        let many = all.len();
        rng.shuffle(&mut all, many);
        for end in all.into_iter().take(crate::trials(many)) {
            cut_at_the_end(&source, Network::Regtest, kind, end, &mut count);
        }
    }
    println!("{count:?}");
}
