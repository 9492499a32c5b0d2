//! Places that an index cannot be written to, or not any more: it is said in a sentence, nothing is lost, and serving goes on
//! where it can.
//!
//! Small and read-only file systems are mounted, which takes rights that not everyone has: without them a line says so.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use bitcoin::Network;
use hindsight_shared::api::Status;
use hindsight_shared::payload::Payload;
use hindsight_tests::core_files::{Directory, Records, hash_of};
use hindsight_tests::fixtures;
use hindsight_tests::process::{Process, check, refused};
use hindsight_tests::replay::in_order;
use hindsight_tests::wait::{until, until_true};
use tempfile::TempDir;

/// A file system in memory, unmounted on drop.
struct Disk {
    dir: TempDir,
}

impl Disk {
    /// One with these options; `None`, and a line, where this user may not mount.
    fn mount(options: &str) -> Option<Self> {
        let disk = Self { dir: tempfile::tempdir().unwrap() };
        let mounted = disk.run(Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]));
        if !mounted {
            println!("skipped: this user may not mount a file system");
        }
        mounted.then_some(disk)
    }

    fn remount(&self, options: &str) {
        assert!(self.run(Command::new("mount").args(["-o", &format!("remount,{options}")])), "remount {options}");
    }

    fn run(&self, command: &mut Command) -> bool {
        command.arg(self.path()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes until nothing more fits.
    fn fill(&self) {
        let mut file = File::create(self.filler()).unwrap();
        for size in [1 << 16, 1] {
            while file.write_all(&vec![0xee; size]).is_ok() {}
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> std::path::PathBuf {
        self.path().join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A process that is just ending may still be in there.
        let _ = self.run(Command::new("umount").arg("--lazy"));
    }
}

/// The demo chain, of which a part is there at first.
struct Growing {
    directory: Directory,
    blocks: Vec<Vec<u8>>,
    records: Records,
}

const FIRST: usize = 700;

impl Growing {
    fn new() -> Self {
        let records = Records::read(&fixtures::testnet3().blocks_dir(), Network::Testnet);
        let blocks = in_order(records.payloads());
        let directory = Directory::new(Network::Testnet);
        directory.write_pair(0, &blocks[..FIRST], &records);
        directory.age();
        Self { directory, blocks, records }
    }

    fn grow(&self) {
        self.directory.write_pair(1, &self.blocks[FIRST..], &self.records);
        self.directory.age();
    }

    fn datadir(&self) -> &Path {
        self.directory.datadir()
    }

    /// Every block is served, with what it spends.
    #[track_caller]
    fn is_served(&self, process: &Process) {
        let tip = hash_of(self.blocks.last().unwrap());
        until_true("the last block is the tip", || status(process).tip.is_some_and(|found| found.hash == tip));
        for height in (0..self.blocks.len()).step_by(61) {
            let response = process.get(&format!("/api/v1/block/{height}/payload"));
            assert_eq!(response.status, 200, "{}", response.text());
            let payload = Payload::decode(&response.body).unwrap();
            assert_eq!(payload.block, self.blocks[height]);
            assert_eq!(payload.absence.is_some(), height == 0);
        }
        assert_eq!(process.get("/healthz").status, 200);
    }
}

fn status(process: &Process) -> Status {
    process.get("/api/v1/status").json()
}

/// Waits until the status warns, and each of its warnings says all of this: rows of files and runs are written apart.
#[track_caller]
fn warns(process: &Process, parts: &[&str]) {
    let warnings = until(&format!("there is a warning of {parts:?}"), || {
        Some(status(process).warnings).filter(|warnings| !warnings.is_empty())
    });
    let says_all = |warning: &String| parts.iter().all(|part| warning.contains(part));
    assert!(warnings.iter().all(says_all), "{warnings:?} does not say {parts:?}");
}

/// What was not written is written as soon as it can be, and a start finds all of it.
#[track_caller]
fn recovers(growing: &Growing, disk: &Disk, process: Process) {
    until_true("the warning is lifted", || status(&process).warnings.is_empty());
    growing.is_served(&process);
    until_true("all statistics are there", || status(&process).progress.statistics as usize == growing.blocks.len());
    process.terminate();
    let (code, said) = check(growing.datadir(), disk.path(), &[]);
    let all = format!("{0} of {0} rows of statistics recomputed", growing.blocks.len());
    assert!(code == Some(0) && said.contains(&all) && said.contains("0 wrong rows"), "{said}");
    assert!(!disk.path().join("test/index.damaged").exists(), "a full disk is no damage");
}

#[test]
fn a_disk_that_fills_up() {
    let Some(disk) = Disk::mount("size=16m") else { return };
    let growing = Growing::new();
    let process = Process::start(growing.datadir(), disk.path());
    until_true("all statistics are there", || status(&process).progress.statistics as usize == FIRST);
    disk.fill();
    growing.grow();
    warns(&process, &["index.redb", "cannot be written", "make room on its disk", "it is tried again"]);
    let says = |text: &str| status(&process).warnings.iter().any(|warning| warning.contains(text));
    until_true("rows of files are said not to fit", || says("No space left on device"));
    // Runs could fill any disk: what is left of it is the node's.
    until_true("runs are said to wait", || says("of the disk are left"));
    growing.is_served(&process);
    disk.make_room();
    recovers(&growing, &disk, process);
}

/// What was committed before is there after a kill on a full disk.
#[test]
fn a_kill_on_a_full_disk() {
    let Some(disk) = Disk::mount("size=16m") else { return };
    let growing = Growing::new();
    let process = Process::start(growing.datadir(), disk.path());
    until_true("all statistics are there", || status(&process).progress.statistics as usize == FIRST);
    process.terminate();
    disk.fill();
    growing.grow();
    let process = Process::start(growing.datadir(), disk.path());
    growing.is_served(&process);
    process.kill();
    disk.make_room();
    let (code, said) = check(growing.datadir(), disk.path(), &[]);
    let kept = format!("{FIRST} of {FIRST} rows of statistics recomputed and right");
    assert!(code == Some(0) && said.contains(&kept) && said.contains("0 wrong rows"), "{said}");
    recovers(&growing, &disk, Process::start(growing.datadir(), disk.path()));
}

#[test]
fn a_disk_that_is_full_from_the_start() {
    let Some(disk) = Disk::mount("size=1m") else { return };
    disk.fill();
    let growing = Growing::new();
    let (output, said) = refused(growing.datadir(), disk.path());
    assert_eq!(output.status.code(), Some(1), "{said}");
    let last = said.trim().lines().last().unwrap_or_default();
    assert!(last.starts_with("hindsight: ") && last.contains("No space left on device"), "{said}");
    assert!(last.contains("--index-dir"), "{said}");
}

#[test]
fn a_disk_that_becomes_read_only() {
    let Some(disk) = Disk::mount("size=16m") else { return };
    let growing = Growing::new();
    let process = Process::start(growing.datadir(), disk.path());
    until_true("all statistics are there", || status(&process).progress.statistics as usize == FIRST);
    process.terminate();
    disk.remount("ro");
    let (output, said) = refused(growing.datadir(), disk.path());
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in ["hindsight: ", "Read-only file system", "give another --index-dir", "mend its permissions"] {
        assert!(said.contains(part), "{said} does not say {part:?}");
    }
    // Looking at it writes nothing.
    let (code, said) = check(growing.datadir(), disk.path(), &[]);
    assert!(code == Some(0) && said.contains("0 wrong rows"), "{said}");
    disk.remount("rw");
    growing.grow();
    recovers(&growing, &disk, Process::start(growing.datadir(), disk.path()));
}
