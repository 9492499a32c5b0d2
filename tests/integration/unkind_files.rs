//! A share of the directories that nobody wrote kindly; the rest is in `torture/`. And those that are refused as a whole, with a
//! sentence that says what to do.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use bitcoin::Network;
use hindsight_tests::core_files::Records;
use hindsight_tests::fixtures;
use hindsight_tests::process::serve_command;
use hindsight_tests::rng::Rng;
use hindsight_tests::unkind::{Count, cut_at_the_end, ends, lead_over_the_next, random};

#[test]
fn a_share_of_them() {
    let mut rng = Rng::printed("unkind directories");
    let source = Records::read(&fixtures::regtest().blocks_dir(), Network::Regtest);
    let mut count = Count::default();
    for trial in 0..12 {
        random(&mut rng, &source, Network::Regtest, &mut count);
        let kind = ["blk", "rev"][trial % 2];
        let end = rng.below(ends(&source, kind));
        cut_at_the_end(&source, Network::Regtest, kind, end, &mut count);
    }
    println!("{count:?}");
}

#[track_caller]
fn is_refused(command: &mut Command, parts: &[&str]) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let last = said.trim().lines().last().unwrap_or_default();
    assert!(last.starts_with("hindsight: "), "{said}");
    assert!(parts.iter().all(|part| last.contains(part)), "{last:?} does not say {parts:?}");
}

#[test]
fn a_key_that_is_not_the_files_own() {
    let (fixture, index) = (fixtures::regtest(), tempfile::tempdir().unwrap());
    let key = fixture.blocks_dir().join("xor.dat");
    let serve = || serve_command(&fixture.datadir(), index.path());
    fs::write(&key, "").unwrap();
    is_refused(&mut serve(), &["xor.dat holds 0 bytes", "copy the node's own xor.dat again"]);
    fs::remove_file(&key).unwrap();
    is_refused(&mut serve(), &["which is no known network's magic", "check that xor.dat is the one"]);
}

#[test]
fn another_network_than_asked_for() {
    let (fixture, index) = (fixtures::regtest(), tempfile::tempdir().unwrap());
    let mut serve = serve_command(&fixture.datadir(), index.path());
    is_refused(serve.args(["--network", "main"]), &["holds blocks of regtest", "give another directory"]);
}

/// Root reads everything, unless it gives that right away first.
#[test]
fn files_that_may_not_be_read() {
    let (fixture, index) = (fixtures::regtest(), tempfile::tempdir().unwrap());
    for path in [fixture.blocks_dir().join("blk00000.dat"), fixture.blocks_dir()] {
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        let command = serve_command(&fixture.datadir(), index.path());
        let Some(mut command) = (if can_read(&path) { without_rights(&command) } else { Some(command) }) else {
            println!("skipped: this user reads everything");
            break;
        };
        is_refused(&mut command, &["permission denied by", "setfacl -R -m u:USER:rX"]);
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    }
}

fn can_read(path: &Path) -> bool {
    if path.is_dir() { fs::read_dir(path).is_ok() } else { fs::File::open(path).is_ok() }
}

/// The same command run by `setpriv` (util-linux) without root's power over files; `None` where that is not there.
fn without_rights(command: &Command) -> Option<Command> {
    let setpriv = || {
        let mut setpriv = Command::new("setpriv");
        setpriv.env_clear().args(["--bounding-set=-all", "--inh-caps=-all"]);
        setpriv
    };
    let works = setpriv().arg("true").stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    works.then(|| {
        let mut command_without = setpriv();
        command_without.arg(command.get_program()).args(command.get_args());
        command_without
    })
}

/// One bit of a record's size leads over the next record exactly to the one after it: nothing but the body tells.
#[test]
fn a_size_that_leads_over_another_record() {
    let source = Records::read(&fixtures::regtest().blocks_dir(), Network::Regtest);
    let mut count = Count::default();
    for kind in ["blk", "rev"] {
        for at in (1..204).step_by(25) {
            lead_over_the_next(&source, Network::Regtest, (kind, at), &mut count);
        }
    }
    println!("{count:?}");
}
