//! SIGKILL at random moments, while the directory grows, and while a start walks, ingests and commits: every start is as
//! good as the first.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bitcoin::Network;
use hindsight_shared::Height;
use hindsight_shared::api::Status;
use hindsight_shared::payload::Payload;
use hindsight_tests::client::request;
use hindsight_tests::core_files::{Directory, Records, age, hash_of};
use hindsight_tests::fixtures;
use hindsight_tests::ledger::Ledger;
use hindsight_tests::process::{Process, check, serve_command};
use hindsight_tests::replay::in_order;
use hindsight_tests::rng::Rng;
use hindsight_tests::wait::{until, until_true};

#[test]
fn at_any_moment() {
    let mut rng = Rng::printed("kills");
    let fixture = fixtures::testnet3();
    let records = Records::read(&fixture.blocks_dir(), Network::Testnet);
    let blocks = in_order(records.payloads());
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

fn all_is_well(directory: &Directory, index: &Path, blocks: &[Vec<u8>], rng: &mut Rng) {
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

/// When a start is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Before or soon after it says where it listens: while the index is opened and the walk begins.
    Opening,
    /// Any time until everything has been read, computed and committed.
    Any,
    /// When it has begun to write to the index: in a commit, or just behind it.
    Commit,
}

/// Starts of one and the same directory are killed, one after another on the same index or on none, and each time what is
/// left answers what an uninterrupted run does.
#[test]
fn while_it_walks_ingests_and_commits() {
    let mut rng = Rng::printed("kills of starts");
    let fixture = fixtures::testnet3();
    age(&fixture.blocks_dir());
    let (whole, index) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let took = uninterrupted(&fixture.datadir(), whole.path());
    let ledger = Ledger::of(&in_order(Records::read(&fixture.blocks_dir(), Network::Testnet).payloads()));
    let file = index.path().join("test/index.redb");
    let rounds = crate::trials(200);
    let mut counts = [0; 3];
    for round in 1..=rounds {
        let moment = [Moment::Opening, Moment::Any, Moment::Commit][rng.below(3)];
        // Where an earlier round has left everything there is nothing to commit.
        let anew = rng.below(3) == 0 || matches!(moment, Moment::Commit);
        if anew && file.exists() {
            fs::remove_file(&file).unwrap();
        }
        counts[moment as usize] += 1;
        let known = fs::metadata(&file).map_or(0, |file| file.len());
        kill_at(moment, &mut rng, took, (&fixture.datadir(), index.path()));
        println!("round {round}: {moment:?}, the index had {known} bytes");
        answers_the_same(&fixture.datadir(), (whole.path(), index.path()), &ledger, round % 10 == 0);
    }
    assert!(!file.with_extension("damaged").exists(), "a kill is no damage");
    println!(
        "{rounds} starts killed: {} while opening, {} at any moment, {} in commits",
        counts[0], counts[1], counts[2]
    );
}

/// A run that may end by itself; how long it has work to do.
fn uninterrupted(datadir: &Path, index: &Path) -> Duration {
    let start = Instant::now();
    let process = Process::start(datadir, index);
    until_true("all statistics are there", || {
        let status: Status = process.get("/api/v1/status").json();
        let indexed = status.index.iter().all(|level| level.whole) && !status.index.is_empty();
        status.progress.complete && status.progress.statistics == status.progress.blocks && indexed
    });
    let took = start.elapsed();
    process.terminate();
    // The last commit waits for two seconds without work.
    took + Duration::from_secs(3)
}

fn kill_at(moment: Moment, rng: &mut Rng, took: Duration, (datadir, index): (&Path, &Path)) {
    let pause = |rng: &mut Rng, most: Duration| thread::sleep(most * rng.below(1000) as u32 / 1000);
    if matches!(moment, Moment::Opening) {
        let mut command = serve_command(datadir, index);
        let mut child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        pause(rng, Duration::from_millis(120));
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    let process = Process::start(datadir, index);
    match moment {
        Moment::Commit => {
            let file = index.join("test/index.redb");
            let state = || fs::metadata(&file).and_then(|file| Ok((file.len(), file.modified()?))).ok();
            let (before, end) = (state(), Instant::now() + took);
            while state() == before {
                assert!(Instant::now() < end, "nothing was committed");
                thread::sleep(Duration::from_micros(200));
            }
            pause(rng, Duration::from_millis(8));
        }
        _ => pause(rng, took),
    }
    process.kill();
}

/// Holds what a kill has left against an uninterrupted run: the index as it lies there, and what a server answers that
/// starts on it. Of most rounds a sample of the blocks, besides the hashes of all.
fn answers_the_same(datadir: &Path, (whole, left): (&Path, &Path), ledger: &Ledger, all: bool) {
    let sample: &[&str] = if all { &[] } else { &["--sample", "100"] };
    let (code, said) = check(datadir, left, sample);
    assert_eq!(code, Some(0), "{said}");
    let process = Process::start(datadir, left);
    let url = format!("http://{}/", process.address);
    let (code, said) = check(datadir, whole, &[&["--against", &url], sample].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2017 heights with the same block") && said.contains("0 differences"), "{said}");
    let status: Status = process.get("/api/v1/status").json();
    assert_eq!(status.warnings, Vec::<String>::new());
    ledger.compare(&process, if all { 7 } else { 211 });
    process.kill();
}
