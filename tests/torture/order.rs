//! Blocks and undo in any order and any file, with anything between them: the same chain.

use bitcoin::Network;
use hindsight_tests::core_files::{Directory, Piece, Records, hash_of, undo_piece};
use hindsight_tests::fixtures;
use hindsight_tests::judge::{Compared, compare};
use hindsight_tests::replay::{in_order, replay};
use hindsight_tests::rng::Rng;
use hindsight_tests::test_server::TestServer;

/// How many blocks of each directory are compared value by value.
const COMPARED: usize = 150;

#[test]
fn of_everything() {
    let mut rng = Rng::printed("order");
    let fixture = fixtures::testnet3();
    let records = Records::read(&fixture.blocks_dir(), Network::Testnet);
    let chain = in_order(records.payloads());
    let tip = hash_of(chain.last().unwrap());
    let expected = replay(Network::Testnet, chain.clone());
    let mut compared = Compared::default();
    for trial in 0..crate::trials(200) {
        let mut blocks = chain.clone();
        // As in a download from many peers, or beyond what any node does.
        let window = if trial % 2 == 0 { 1024 } else { blocks.len() };
        rng.shuffle(&mut blocks, window);
        let directory = Directory::new(Network::Testnet);
        let files = 1 + rng.below(6);
        for (number, part) in (0..).zip(blocks.chunks(blocks.len().div_ceil(files))) {
            write(&directory, number, part, &records, &mut rng);
        }
        let server = TestServer::start(directory.datadir());
        assert_eq!(server.tip().unwrap().hash, tip);
        for _ in 0..COMPARED {
            compared.add(compare(&server, &expected[rng.below(expected.len())]));
        }
    }
    println!("{compared:?}");
}

fn write(directory: &Directory, number: u32, blocks: &[Vec<u8>], records: &Records, rng: &mut Rng) {
    let mut undos: Vec<Piece> = blocks.iter().filter_map(|block| records.undo(block)).map(undo_piece).collect();
    let window = [1, 16, undos.len()][rng.below(3)];
    rng.shuffle(&mut undos, window);
    let pieces = blocks.iter().cloned().map(Piece::Block).collect();
    directory.write("blk", number, &littered(pieces, rng));
    directory.write("rev", number, &littered(undos, rng));
}

/// Now and then something behind a record, as bugs and power losses left it; in front it would say another network.
fn littered(pieces: Vec<Piece>, rng: &mut Rng) -> Vec<Piece> {
    let mut out = Vec::new();
    for piece in pieces {
        out.push(piece.clone());
        match rng.below(60) {
            0 => out.push(Piece::Zeros(1 + rng.below(5000))),
            1 => out.push(Piece::Bytes((0..rng.below(3000)).map(|_| rng.number() as u8).collect())),
            2 => out.push(Piece::Bytes(Network::Testnet.magic().to_bytes().to_vec())),
            3 => out.push(piece),
            _ => {}
        }
    }
    out
}
