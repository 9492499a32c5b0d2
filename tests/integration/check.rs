//! `hindsight check`: what is wrong with an index is found and named, and two instances are compared in what they answer.

use std::fs;
use std::path::{Path, PathBuf};

use bitcoin::hashes::{Hash, sha256};
use bitcoin::{Block, BlockHash, Network};
use hindsight_shared::api::Status;
use hindsight_tests::core_files::{Records, age, flip, hash_of};
use hindsight_tests::fixtures::{self, Fixture};
use hindsight_tests::process::{Process, check};
use hindsight_tests::scenes::with_spends;
use hindsight_tests::wait::until_true;
use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use tempfile::TempDir;

const SUMMARIES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("height_to_summary");

/// A server whose index holds everything that there is.
fn complete(datadir: &Path, index: &Path) -> Process {
    let process = Process::start(datadir, index);
    until_true("all statistics are there", || {
        let status: Status = process.get("/api/v1/status").json();
        status.progress.complete && status.progress.statistics == status.progress.blocks
    });
    process
}

/// Regtest, heights 0 to 206, and a whole index of it.
fn setting() -> (Fixture, TempDir) {
    let (fixture, index) = (fixtures::regtest(), tempfile::tempdir().unwrap());
    age(&fixture.blocks_dir());
    complete(&fixture.datadir(), index.path()).terminate();
    (fixture, index)
}

fn url(process: &Process) -> String {
    format!("http://{}/", process.address)
}

fn index_file(index: &Path) -> PathBuf {
    index.join("regtest/index.redb")
}

/// Runs a check that ends with this code and says all of these.
#[track_caller]
fn says(datadir: &Path, index: &Path, more: &[&str], code: i32, sentences: &[&str]) -> String {
    let (found, said) = check(datadir, index, more);
    for sentence in sentences {
        assert!(said.contains(sentence), "{said}\ndoes not say {sentence:?}");
    }
    assert_eq!(found, Some(code), "{said}");
    said
}

/// Changes the row of a height; with `seal` its checksum holds afterwards.
fn change_row(index: &Path, height: u32, at: usize, seal: bool) {
    let db = redb::Database::open(index_file(index)).unwrap();
    let transaction = db.begin_write().unwrap();
    {
        let mut table = transaction.open_table(SUMMARIES).unwrap();
        let mut row = table.get(height).unwrap().unwrap().value().to_vec();
        row[at] ^= 1;
        if seal {
            let end = row.len() - 8;
            let checksum = sha256::Hash::hash(&row[..end]);
            row[end..].copy_from_slice(&checksum.as_byte_array()[..8]);
        }
        table.insert(height, &row[..]).unwrap();
    }
    transaction.commit().unwrap();
}

/// Where a block lies, read by other code than that under test.
fn place(fixture: &Fixture, height: usize) -> (BlockHash, String) {
    let records = Records::read(&fixture.blocks_dir(), Network::Regtest);
    let record = &records.blocks[height];
    (hash_of(&record.payload), format!("blk{:05}.dat at offset {}", record.file, record.offset))
}

#[test]
fn an_index_that_a_kill_has_left_is_right_and_stays_as_it_is() {
    let (fixture, index) = (fixtures::regtest(), tempfile::tempdir().unwrap());
    age(&fixture.blocks_dir());
    complete(&fixture.datadir(), index.path()).terminate();
    complete(&fixture.datadir(), index.path()).kill();
    let before = fs::read(index_file(index.path())).unwrap();
    let all = ["207 blocks and 206 undo records read", "207 of 207 rows of statistics recomputed", "0 wrong rows"];
    says(&fixture.datadir(), index.path(), &[], 0, &all);
    let some = ["207 blocks found, 20 blocks", "20 of 207 rows of statistics recomputed", "--sample 20 --seed 5"];
    says(&fixture.datadir(), index.path(), &["--sample", "20", "--seed", "5"], 0, &some);
    assert!(fs::read(index_file(index.path())).unwrap() == before, "the index has been written to");
}

#[test]
fn without_an_index_the_files_are_checked_alone() {
    let fixture = fixtures::regtest();
    let index = tempfile::tempdir().unwrap();
    says(&fixture.datadir(), index.path(), &[], 0, &["there is no index in", "207 blocks and 206 undo records"]);
    assert_eq!(fs::read_dir(index.path()).unwrap().count(), 0, "nothing is made");
    let process = Process::start(&fixture.datadir(), index.path());
    let in_use = ["is in use by a running hindsight", "--against http://HOST:PORT/", "207 blocks and 206 undo"];
    says(&fixture.datadir(), index.path(), &[], 0, &in_use);
    process.terminate();
}

/// What is garbage as a whole, a server would set aside: the check only says it.
#[test]
fn an_index_that_is_garbage_is_damage() {
    let (fixture, index) = setting();
    fs::write(index_file(index.path()), [0xa5; 8192]).unwrap();
    says(&fixture.datadir(), index.path(), &[], 2, &["cannot be opened", "sets it aside", "0 damaged places"]);
    assert_eq!(fs::read(index_file(index.path())).unwrap(), [0xa5; 8192]);
}

#[test]
fn a_wrong_row_of_statistics_is_named_with_height_and_place() {
    let (fixture, index) = setting();
    let (hash, place) = place(&fixture, 150);
    // The lowest byte of totalfee, by the table of fields in the format's page.
    change_row(index.path(), 150, 72, true);
    let wrong = format!("index, height 150, {place}: statistics of block {hash} (stored / recomputed): totalfee ");
    let said = says(&fixture.datadir(), index.path(), &[], 2, &[&wrong, "206 of 207 rows", "1 wrong rows"]);
    assert_eq!(said.lines().filter(|line| line.starts_with("index, ")).count(), 1, "{said}");
    // A server goes on answering with such a row: comparing tells as well.
    let against = format!("height 150, block {hash}: statistics: (here / there) totalfee ");
    let other = fixture.datadir();
    says(&fixture.datadir(), index.path(), &["--against", &other.to_string_lossy()], 2, &[&against, "1 differences"]);
}

#[test]
fn a_damaged_row_of_statistics_is_named_with_height_and_place() {
    let (fixture, index) = setting();
    let (_, place) = place(&fixture, 33);
    change_row(index.path(), 33, 400, false);
    let wrong = format!("index, height 33, {place}: the row of statistics is damaged: its checksum does not hold");
    says(&fixture.datadir(), index.path(), &["--sample", "1"], 2, &[&wrong, "1 wrong rows"]);
}

#[test]
fn rows_that_are_gone_are_missed() {
    let (fixture, index) = setting();
    let db = redb::Database::open(index_file(index.path())).unwrap();
    let transaction = db.begin_write().unwrap();
    transaction.open_table(SUMMARIES).unwrap().remove(7).unwrap();
    transaction.commit().unwrap();
    assert!(db.begin_read().unwrap().open_table(SUMMARIES).unwrap().get(7).unwrap().is_none());
    drop(db);
    let (hash, place) = place(&fixture, 7);
    let wrong =
        format!("index, height 7, {place}: no row, though the index says that it has the statistics of block {hash}");
    says(&fixture.datadir(), index.path(), &[], 2, &[&wrong]);
}

#[test]
fn a_file_that_has_changed_since_is_no_damage() {
    let (fixture, index) = setting();
    let file = fs::File::options().write(true).open(fixture.blocks_dir().join("blk00000.dat")).unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
    // The undo of a block file that has changed is found anew as well.
    says(&fixture.datadir(), index.path(), &[], 0, &["0 rows of files are right, 2 are of files that have changed"]);
}

#[test]
fn equal_instances() {
    let (fixture, index) = setting();
    let equal = ["207 heights with the same block, 207 payloads and statistics compared, 0 differences"];
    // Another directory with the same files, and an index that was killed while it was made.
    let (second, second_index) = (fixtures::regtest(), tempfile::tempdir().unwrap());
    age(&second.blocks_dir());
    Process::start(&second.datadir(), second_index.path()).kill();
    let dir = second_index.path().to_string_lossy().into_owned();
    says(&fixture.datadir(), index.path(), &["--against", &dir], 0, &equal);
    says(&fixture.datadir(), index.path(), &["--against", &format!("{dir}/regtest")], 0, &equal);
    says(&fixture.datadir(), index.path(), &["--against", &second.datadir().to_string_lossy()], 0, &equal);
    let process = complete(&second.datadir(), second_index.path());
    says(&fixture.datadir(), index.path(), &["--against", &url(&process)], 0, &equal);
    let sampled = ["207 heights with the same block, 9 payloads and statistics compared, 0 differences"];
    says(&fixture.datadir(), index.path(), &["--against", &url(&process), "--sample", "9"], 0, &sampled);
    // The server that has the very index open.
    says(&second.datadir(), second_index.path(), &["--against", &url(&process)], 0, &equal);
    says(&second.datadir(), second_index.path(), &["--against", &url(&process)], 0, &["is in use by a running"]);
    says(
        &fixture.datadir(),
        index.path(),
        &["--against", &dir],
        1,
        &["give that server's URL", "is in use by another"],
    );
    process.kill();
}

#[test]
fn another_chain() {
    let (here, there) = (with_spends(3).unwrap(), with_spends(5).unwrap());
    let hashes = |blocks: &[Block]| blocks.iter().map(Block::block_hash).collect::<Vec<_>>();
    let (ours, theirs) = (hashes(&here.1.blocks), hashes(&there.1.blocks));
    let differ = (0..theirs.len()).filter(|&at| ours.get(at) != theirs.get(at)).count();
    let index = tempfile::tempdir().unwrap();
    let process = Process::start(there.0.datadir(), index.path());
    let ((low, ours), (top, theirs)) = (here.0.tip().unwrap(), there.0.tip().unwrap());
    let count = format!("{differ} differences");
    let tips = format!("tip: {low} {ours} here, {top} {theirs} there");
    let only_there = format!("height {top}, block {theirs}: there is no block at this height here");
    let both = format!("height {low}, block {ours}: there it is block ");
    let none = tempfile::tempdir().unwrap();
    for other in [url(&process), there.0.datadir().to_string_lossy().into_owned()] {
        says(here.0.datadir(), none.path(), &["--against", &other], 2, &[&count, &only_there, &both, &tips]);
    }
    process.terminate();
    // The longer chain here, the shorter one there.
    let only_here = format!("height {top}, block {theirs}: there is no block at this height there");
    let other = here.0.datadir().to_string_lossy().into_owned();
    says(there.0.datadir(), none.path(), &["--against", &other], 2, &[&count, &only_here]);
}

#[test]
fn a_block_that_is_damaged_there() {
    let (fixture, index) = setting();
    let damaged = fixtures::regtest();
    let records = Records::read(&damaged.blocks_dir(), Network::Regtest);
    let record = &records.blocks[120];
    flip(&damaged.blocks_dir().join("blk00000.dat"), record.offset + 150, 1);
    age(&damaged.blocks_dir());
    let hash = hash_of(&record.payload);
    let payload = format!("height 120, block {hash}: payload: ");
    let statistics = format!("height 120, block {hash}: statistics: 756 bytes here, there: ");
    let process_index = tempfile::tempdir().unwrap();
    let process = Process::start(&damaged.datadir(), process_index.path());
    for other in [url(&process), damaged.datadir().to_string_lossy().into_owned()] {
        let sentences = [&payload[..], &statistics, "is damaged on disk: in blk00000.dat", "2 differences"];
        says(&fixture.datadir(), index.path(), &["--against", &other], 2, &sentences);
    }
    process.terminate();
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let (regtest, testnet) = (fixtures::regtest(), fixtures::testnet3());
    let none = tempfile::tempdir().unwrap();
    let error = |other: &str, sentence: &str| {
        says(&regtest.datadir(), none.path(), &["--against", other], 1, &[sentence]);
    };
    error("https://example.com/", "https is not spoken");
    error("http://127.0.0.1:1/", "is the server running?");
    error(
        &testnet.datadir().to_string_lossy(),
        "of different networks: regtest (fabfb5da) here, test (0b110907) there",
    );
    error(&none.path().to_string_lossy(), "is no URL, and no directory of an index or of blocks");
}
