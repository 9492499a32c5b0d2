//! SIGKILL at random moments, while the directory grows: every start is as good as the first.

use std::thread;
use std::time::Duration;

use bitcoin::Network;
use hindsight_shared::Height;
use hindsight_shared::api::Status;
use hindsight_shared::payload::Payload;
use hindsight_tests::client::request;
use hindsight_tests::core_files::{Directory, Records, hash_of};
use hindsight_tests::fixtures;
use hindsight_tests::process::Process;
use hindsight_tests::replay::in_order;
use hindsight_tests::rng::Rng;
use hindsight_tests::wait::until;

#[test]
fn at_any_moment() {
    let mut rng = Rng::printed("kills");
    let fixture = fixtures::testnet3();
    let records = Records::read(&fixture.blocks_dir(), Network::Testnet);
    let blocks = in_order(records.blocks.iter().map(|record| record.payload.clone()).collect());
    let directory = Directory::new(Network::Testnet);
    let index = tempfile::tempdir().unwrap();
    let rounds = crate::trials(600);
    let mut there = 0;
    for round in 1..=rounds {
        let end = (blocks.len() * round / rounds).max(1);
        if end > there {
            directory.write_pair(round as u32 - 1, &blocks[there..end], &records);
            there = end;
        } else {
            continue;
        }
        if rng.below(3) == 0 {
            directory.age();
        }
        let process = Process::start(directory.datadir(), index.path());
        thread::sleep(Duration::from_millis(rng.below(300) as u64));
        if rng.below(2) == 0 {
            let height = rng.below(there) as u32;
            // The kill may come first; whatever comes is right.
            if let Ok(response) = request(process.address, "GET", &format!("/api/v1/block/{height}/payload"), &[]) {
                assert!(response.status == 200 || response.status == 503, "{}", response.status);
            }
        }
        process.kill();
        if round % 4 == 0 || round == rounds {
            all_is_well(&directory, index.path(), &blocks[..there], &mut rng);
        }
    }
    assert!(!index.path().join("test/index.damaged").exists(), "a kill is no damage");
}

fn all_is_well(directory: &Directory, index: &std::path::Path, blocks: &[Vec<u8>], rng: &mut Rng) {
    let process = Process::start(directory.datadir(), index);
    let tip = hash_of(blocks.last().unwrap());
    let status = until("the last block is the tip", || {
        let status: Status = process.get("/api/v1/status").json();
        status.tip.as_ref().is_some_and(|found| found.hash == tip).then_some(status)
    });
    assert_eq!(status.warnings, Vec::<String>::new());
    for _ in 0..50 {
        let height = rng.below(blocks.len());
        let response = process.get(&format!("/api/v1/block/{height}/payload"));
        let payload = Payload::decode(&response.body).unwrap();
        assert_eq!((payload.block, payload.height), (blocks[height].as_slice(), Some(Height(height as u32))));
        assert_eq!(payload.absence.is_some(), height == 0);
    }
    process.kill();
}
