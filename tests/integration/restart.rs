//! The index between starts: kills, damage, and indexes that belong to something else.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hindsight_shared::api::Status;
use hindsight_tests::fixtures::{self, Fixture};
use hindsight_tests::process::{Process, check, refused};
use hindsight_tests::wait::until;
use tempfile::TempDir;

fn ready(process: &Process) -> Status {
    until("the directory has been read", || {
        let status: Status = process.get("/api/v1/status").json();
        status.progress.complete.then_some(status)
    })
}

/// What a start answers, in short: the tip, and a few payloads.
fn answers(process: &Process) -> Vec<Vec<u8>> {
    let tip = ready(process).tip.unwrap();
    let mut answers = vec![serde_json::to_vec(&tip).unwrap()];
    answers.extend((0..=tip.height.unwrap().0).step_by(23).map(|height| {
        let response = process.get(&format!("/api/v1/block/{height}/payload"));
        assert_eq!(response.status, 200);
        response.body
    }));
    answers
}

fn setting() -> (Fixture, TempDir) {
    (fixtures::regtest(), tempfile::tempdir().unwrap())
}

fn index_file(index: &Path) -> PathBuf {
    index.join("regtest/index.redb")
}

/// An index with everything in it.
fn filled() -> (Fixture, TempDir, Vec<Vec<u8>>) {
    let (fixture, index) = setting();
    hindsight_tests::core_files::age(&fixture.blocks_dir());
    let process = Process::start(&fixture.datadir(), index.path());
    let expected = answers(&process);
    process.terminate();
    assert!(index_file(index.path()).exists());
    (fixture, index, expected)
}

#[test]
fn killed_at_any_moment_it_starts_as_before() {
    let (fixture, index) = setting();
    hindsight_tests::core_files::age(&fixture.blocks_dir());
    let mut expected = None;
    for round in 0..12 {
        let process = Process::start(&fixture.datadir(), index.path());
        // A kill right after the start, then ever later: while walking, committing, serving.
        match round % 4 {
            0 => {}
            1 => drop(process.get("/api/v1/status")),
            2 => drop(ready(&process)),
            _ => {
                let answers = answers(&process);
                assert_eq!(*expected.get_or_insert_with(|| answers.clone()), answers);
                assert_eq!(ready(&process).warnings, Vec::<String>::new());
            }
        }
        process.kill();
    }
    assert!(!index_file(index.path()).with_extension("damaged").exists(), "a kill is no damage");
}

/// What a start leaves that was killed while it made the index: neither damage nor in the way.
#[test]
fn half_of_an_index() {
    let (fixture, index) = setting();
    let half = index_file(index.path()).with_extension("new");
    fs::create_dir_all(half.parent().unwrap()).unwrap();
    fs::write(&half, [0; 4096]).unwrap();
    let (code, said) = check(&fixture.datadir(), index.path(), &["--sample", "10"]);
    assert_eq!(code, Some(0), "{said}");
    let process = Process::start(&fixture.datadir(), index.path());
    assert_eq!(ready(&process).warnings, Vec::<String>::new());
    assert!(!half.exists() && index_file(index.path()).exists());
    process.kill();
    assert!(!half.with_extension("damaged").exists());
}

#[track_caller]
fn is_refused(datadir: &Path, index: &Path, sentence: &str) {
    let (output, said) = refused(datadir, index);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(sentence), "{said:?} does not say {sentence:?}");
    assert!(said.trim().lines().last().unwrap().starts_with("hindsight: "), "{said}");
}

#[test]
fn an_index_of_another_directory_is_refused() {
    let (_first, index, _) = filled();
    let second = fixtures::regtest();
    is_refused(&second.datadir(), index.path(), "belongs to blocks directory");
    is_refused(&second.datadir(), index.path(), "give another --index-dir, or delete the file");
}

#[test]
fn an_index_of_another_network_is_refused() {
    let (_fixture, index, _) = filled();
    let testnet = fixtures::testnet3();
    fs::rename(index.path().join("regtest"), index.path().join("test")).unwrap();
    is_refused(&testnet.datadir(), index.path(), "belongs to network magic fabfb5da, not 0b110907");
}

#[test]
fn an_index_of_another_version_is_refused() {
    let (fixture, index, _) = filled();
    set_schema(&index_file(index.path()), 999);
    is_refused(&fixture.datadir(), index.path(), "was made by another version of hindsight");
    set_schema(&index_file(index.path()), 0);
    is_refused(&fixture.datadir(), index.path(), "delete the file to have it built anew");
}

fn set_schema(path: &Path, version: u32) {
    let table: redb::TableDefinition<'_, &str, &[u8]> = redb::TableDefinition::new("meta");
    let db = redb::Database::open(path).unwrap();
    let transaction = db.begin_write().unwrap();
    transaction.open_table(table).unwrap().insert("schema", &version.to_le_bytes()[..]).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn two_processes_on_one_index() {
    let (fixture, index) = setting();
    let first = Process::start(&fixture.datadir(), index.path());
    is_refused(&fixture.datadir(), index.path(), "is in use by another hindsight");
    ready(&first);
    first.kill();
    ready(&Process::start(&fixture.datadir(), index.path()));
}

#[test]
fn an_index_directory_that_cannot_be_written() {
    let (fixture, index) = setting();
    // A file where the folder should be refuses even root.
    fs::write(index.path().join("regtest"), "not a folder").unwrap();
    is_refused(&fixture.datadir(), index.path(), "cannot be used");
    let index = tempfile::tempdir().unwrap();
    fs::set_permissions(index.path(), Permissions::from_mode(0o555)).unwrap();
    if fs::write(index.path().join("probe"), "").is_err() {
        is_refused(&fixture.datadir(), index.path(), "mend its permissions");
    } else {
        println!("skipped: this user may write everywhere");
    }
}

/// What is damaged is set aside or read again, said in the status, and never served.
#[track_caller]
fn heals(name: &str, damage: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Vec<String> {
    let (fixture, index, expected) = filled();
    let path = index_file(index.path());
    fs::write(&path, damage(fs::read(&path).unwrap())).unwrap();
    let process = Process::start(&fixture.datadir(), index.path());
    assert_eq!(answers(&process), expected, "{name}");
    let warnings = ready(&process).warnings;
    println!("{name}: {warnings:?}");
    process.terminate();
    // And once more without a word.
    let process = Process::start(&fixture.datadir(), index.path());
    assert_eq!(answers(&process), expected, "{name}");
    assert_eq!(ready(&process).warnings, Vec::<String>::new(), "{name}");
    warnings
}

/// It was of no use as a whole: moved away, and said so.
#[track_caller]
fn is_set_aside(name: &str, damage: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let warnings = heals(name, damage);
    assert_eq!(warnings.len(), 1, "{name}: {warnings:?}");
    assert!(warnings[0].contains("it was moved to") && warnings[0].contains("is being built anew"), "{warnings:?}");
}

#[test]
fn garbage_instead_of_an_index() {
    is_set_aside("garbage", |bytes| vec![0xa5; bytes.len()]);
    is_set_aside("text", |_| b"this is no database".to_vec());
    heals("nothing", |_| Vec::new());
    is_set_aside("zeros", |bytes| vec![0; bytes.len()]);
}

#[test]
fn a_truncated_index() {
    is_set_aside("half", |bytes| bytes[..bytes.len() / 2].to_vec());
    is_set_aside("header only", |bytes| bytes[..4096].to_vec());
    is_set_aside("a little short", |bytes| bytes[..bytes.len() - 100].to_vec());
}

#[test]
fn an_index_with_flipped_bytes() {
    for (round, step) in [257_usize, 997, 4099, 16411].into_iter().enumerate() {
        heals(&format!("every {step}th byte"), |mut bytes| {
            bytes.iter_mut().skip(100 * round + 3).step_by(step).for_each(|byte| *byte ^= 0x55);
            bytes
        });
    }
}
