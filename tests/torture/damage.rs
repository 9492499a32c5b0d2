//! Bits flipped and files cut anywhere: what was hit is told or absent, never wrong, and everything else is served.

use std::fs;

use bitcoin::Network;
use hindsight_shared::payload::{Payload, Prevouts};
use hindsight_tests::client::Connection;
use hindsight_tests::core_files::{Directory, Records, hash_of};
use hindsight_tests::fixtures;
use hindsight_tests::rng::Rng;
use hindsight_tests::test_server::TestServer;

/// A directory of several pairs of files, and where everything in it lies.
struct Victim {
    directory: Directory,
    records: Records,
    files: u32,
    /// Bytes that were hit: kind, file, from, to.
    hits: Vec<(&'static str, u32, usize, usize)>,
}

impl Victim {
    fn new(rng: &mut Rng, source: &Records, network: Network) -> Self {
        let directory = Directory::new(network);
        let blocks: Vec<Vec<u8>> = source.blocks.iter().map(|record| record.payload.clone()).collect();
        let files = 1 + rng.below(4) as u32;
        for (number, part) in (0..).zip(blocks.chunks(blocks.len().div_ceil(files as usize))) {
            directory.write_pair(number, part, source);
        }
        let records = Records::read(&directory.blocks_dir(), network);
        Self { directory, records, files, hits: Vec::new() }
    }

    fn flip_bits(&mut self, rng: &mut Rng) {
        let (kind, file) = ([("blk"), ("rev")][rng.below(2)], rng.below(self.files as usize) as u32);
        let path = self.directory.path(kind, file);
        let mut bytes = fs::read(&path).unwrap();
        let at = rng.below(bytes.len());
        bytes[at] ^= 1 << rng.below(8);
        fs::write(path, bytes).unwrap();
        self.hits.push((kind, file, at, at + 1));
    }

    /// Near its end most of the time, as a crash does it.
    fn cut(&mut self, rng: &mut Rng) {
        let (kind, file) = ([("blk"), ("rev")][rng.below(2)], rng.below(self.files as usize) as u32);
        let path = self.directory.path(kind, file);
        let len = fs::metadata(&path).unwrap().len() as usize;
        let reach = if rng.below(4) == 0 { len } else { len.min(2000) };
        let at = len - 1 - rng.below(reach);
        fs::File::options().write(true).open(path).unwrap().set_len(at as u64).unwrap();
        self.hits.push((kind, file, at, len));
    }

    /// Whether a record, its framing included, was hit.
    fn is_hit(&self, kind: &str, record: &hindsight_tests::core_files::Record) -> bool {
        let (from, to) = (record.offset - 8, record.offset + record.payload.len());
        self.hits.iter().any(|hit| hit.0 == kind && hit.1 == record.file && hit.2 < to && from < hit.3)
    }

    fn check(&self) -> (u32, u32) {
        self.directory.age();
        let server = TestServer::start(self.directory.datadir());
        let mut connection = Connection::open(server.address).unwrap();
        let (mut whole, mut hurt) = (0, 0);
        for record in &self.records.blocks {
            let path = format!("/api/v1/block/{}/payload", hash_of(&record.payload));
            let response = connection.request("GET", &path, &[]).unwrap();
            let undo = self.records.undo(&record.payload);
            let (block_hit, undo_hit) = (self.is_hit("blk", record), undo.is_some_and(|undo| self.is_hit("rev", undo)));
            if response.status != 200 {
                assert!(block_hit, "{path}: {} {} after {:?}", response.status, response.text(), self.hits);
                assert!([404, 410, 500, 503].contains(&response.status), "{path}: {}", response.status);
                hurt += 1;
                continue;
            }
            let payload = Payload::decode(&response.body).unwrap();
            assert!(payload.block == record.payload, "{path}: other bytes after {:?}", self.hits);
            match payload.prevouts {
                Prevouts::Undo(bytes) => assert!(undo.is_some_and(|undo| undo.payload == bytes), "{path}: other undo"),
                _ if undo_hit => hurt += 1,
                _ => assert!(undo.is_none(), "{path}: {:?} after {:?}", payload.absence, self.hits),
            }
            whole += 1;
        }
        (whole, hurt)
    }
}

fn torture(what: &str, fixture: &fixtures::Fixture, network: Network, count: usize) {
    let mut rng = Rng::printed(what);
    let source = Records::read(&fixture.blocks_dir(), network);
    let (mut whole, mut hurt) = (0, 0);
    for _ in 0..count {
        let mut victim = Victim::new(&mut rng, &source, network);
        for _ in 0..=rng.below(5) {
            if rng.below(3) == 0 { victim.cut(&mut rng) } else { victim.flip_bits(&mut rng) }
        }
        let counts = victim.check();
        (whole, hurt) = (whole + counts.0, hurt + counts.1);
    }
    println!("{what}: {count} directories, {whole} blocks whole, {hurt} hurt");
}

#[test]
fn in_a_directory_of_testnet3() {
    torture("damage in testnet3", &fixtures::testnet3(), Network::Testnet, crate::trials(200));
}

#[test]
fn in_a_directory_of_regtest() {
    torture("damage in regtest", &fixtures::regtest(), Network::Regtest, crate::trials(1000));
}
