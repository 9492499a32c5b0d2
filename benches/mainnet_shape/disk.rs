//! The disk by itself: how many pages at random it gives in a second, asked as the walk asks.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise};

/// Readers at once: as many as walk.
const READERS: usize = 32;

/// Pages read of each file.
const PAGES: u64 = 64;

/// Reads pages of these files, evenly apart and none of them in memory; how many, and how long it took.
///
/// # Errors
/// As the disk fails.
pub fn random_reads(files: &[PathBuf]) -> Result<(u64, Duration)> {
    forget(files)?;
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    let read: Result<Vec<u64>> = thread::scope(|scope| {
        let reader = || -> Result<u64> {
            let mut read = 0;
            while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                read += read_pages(path)?;
            }
            Ok(read)
        };
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(reader)).collect();
        readers.into_iter().map(|reader| reader.join().ok().context("a reader panicked")?).collect()
    });
    Ok((read?.into_iter().sum(), started.elapsed()))
}

fn read_pages(path: &Path) -> Result<u64> {
    let file = File::open(path)?;
    fadvise(&file, 0, None, Advice::Random)?;
    // Only where there is data: a hole takes no disk.
    let mut page = [0; 152];
    let (mut at, mut read) = (0, 0);
    while read < PAGES {
        let Ok(data) = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(at)) else { break };
        if file.read_at(&mut page, data)? == 0 {
            break;
        }
        (at, read) = (data + (64 << 10), read + 1);
    }
    Ok(read)
}

/// Drops what the system keeps of these files in memory, as far as it does so for anybody.
///
/// # Errors
/// As a file cannot be opened.
pub fn forget(files: &[PathBuf]) -> Result<()> {
    for path in files {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    // Directory entries and extents too, where we may.
    let _ = std::fs::write("/proc/sys/vm/drop_caches", "3");
    Ok(())
}
