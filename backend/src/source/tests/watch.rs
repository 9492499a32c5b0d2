//! Noticing within a second what a running node writes, with events and without.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use super::support::*;
use crate::source::watch::{Changed, Watcher};

/// Waits for `expected` to be told, and says how long that took.
#[track_caller]
fn told(watcher: &mut Watcher, expected: impl Fn(&Changed) -> bool) -> Duration {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        if expected(&watcher.wait(Duration::from_millis(300)).unwrap()) {
            return start.elapsed();
        }
    }
    panic!("not told within five seconds");
}

fn append(path: &std::path::Path, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// Everything a node does to its directory, told by number.
#[track_caller]
fn check(mut watcher: Watcher, dir: &Dir, most: Duration) {
    append(&dir.path("blk", 3), &[1; 100]);
    assert!(told(&mut watcher, |changed| changed.files.contains(&3)) < most);
    append(&dir.path("rev", 3), &[1; 100]);
    assert!(told(&mut watcher, |changed| changed.files.contains(&3)) < most);
    dir.blk(4, &blocks(&regtest().blocks[..1]));
    assert!(told(&mut watcher, |changed| changed.files.contains(&4)) < most);
    fs::remove_file(dir.path("blk", 2)).unwrap();
    assert!(told(&mut watcher, |changed| changed.files.contains(&2)) < most);
    fs::write(dir.blocks().join("xor.dat"), [1, 2, 3, 4, 5, 6, 7]).unwrap();
    assert!(told(&mut watcher, |changed| changed.key) < most);
}

fn four_files() -> Dir {
    let dir = Dir::regtest();
    for number in 0..4 {
        dir.blk(number, &blocks(&regtest().blocks[..1]));
        dir.rev(number, &[]);
    }
    dir
}

#[test]
fn events_tell_within_a_second() {
    let dir = four_files();
    check(Watcher::new(&dir.blocks()).unwrap(), &dir, Duration::from_secs(1));
}

/// A look a second, and the time it takes on a busy machine.
#[test]
fn looking_tells_without_events() {
    let dir = four_files();
    check(Watcher::polling(&dir.blocks()).unwrap(), &dir, Duration::from_millis(1800));
}

#[test]
fn nothing_is_told_where_nothing_was_written() {
    let dir = Dir::of(regtest());
    let mut watcher = Watcher::new(&dir.blocks()).unwrap();
    let files = dir.open();
    files.pair(&files.walk(0, None).unwrap()).unwrap();
    let start = Instant::now();
    assert!(watcher.wait(Duration::from_millis(1200)).unwrap().is_empty(), "reading is told");
    assert!(start.elapsed() >= Duration::from_millis(1200));
}

/// A change is told when it happens, by the event or a look before it, and not again by every look.
#[test]
fn a_change_is_not_told_for_ever() {
    let dir = four_files();
    let mut watcher = Watcher::new(&dir.blocks()).unwrap();
    append(&dir.path("blk", 3), &[1; 100]);
    told(&mut watcher, |changed| changed.files.contains(&3));
    watcher.wait(Duration::from_millis(300)).unwrap();
    assert!(watcher.wait(Duration::from_millis(1200)).unwrap().is_empty());
}

/// Events that nobody takes are not kept for ever; that there were more of them is not forgotten.
#[test]
fn events_without_room_tell_that_anything_may_have_changed() {
    let dir = four_files();
    let mut watcher = Watcher::new(&dir.blocks()).unwrap();
    for _ in 0..1500 {
        append(&dir.path("blk", 3), &[1]);
    }
    std::thread::sleep(Duration::from_millis(300));
    told(&mut watcher, |changed| changed.any);
    append(&dir.path("rev", 2), &[1]);
    told(&mut watcher, |changed| !changed.any && changed.files.contains(&2));
}
