//! Notices within a second that the node wrote to its files.
//!
//! The kernel's events (inotify, FSEvents) say so at once but not always: network and container file systems keep quiet,
//! and so do files behind symbolic links. So the newest files are looked at every second as well, and all of them every
//! half minute; events only make it quicker.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::files::{list, look, number_in};
use super::obfuscation::KEY_FILE;
use super::{FileStamp, ListedFile, SourceError};

/// The newest files are looked at this often …
const NEWEST_EVERY: Duration = Duration::from_secs(1);
/// … which are so many: while it syncs, Core's undo lags some files behind its blocks.
const NEWEST: usize = 8;
/// All files are looked at this often: a reorg may append to an old undo file.
const ALL_EVERY: Duration = Duration::from_secs(30);
/// Events that follow one another this closely are told together: Core writes a record in several pieces.
const SETTLE: Duration = Duration::from_millis(20);
/// … but told after this long in any case.
const SETTLE_MOST: Duration = Duration::from_millis(200);

/// So many events wait to be taken. A syncing node makes thousands while ingest is busy; of those that find no room it
/// is enough to know that there were some.
const EVENTS: usize = 1024;

/// What changed in the blocks directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// Numbers of the pairs with a `blk*.dat` or `rev*.dat` that was written, added or removed.
    pub files: BTreeSet<u32>,
    /// Whether `xor.dat` was touched: see [`super::CoreFiles::reread_key`].
    pub key: bool,
    /// Whether events were lost, so that any file may have changed.
    pub any: bool,
}

impl Changed {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Watches one blocks directory.
#[derive(Debug)]
pub struct Watcher {
    seen: Seen,
    events: Receiver<notify::Result<Event>>,
    /// Keeps the channel open where there is nothing that sends events.
    _sender: SyncSender<notify::Result<Event>>,
    /// Whether an event found no room.
    overflowed: Arc<AtomicBool>,
    /// Sends events as long as it lives.
    _watcher: Option<RecommendedWatcher>,
    newest_due: Instant,
    all_due: Instant,
}

impl Watcher {
    /// Starts to watch; what changes from here on is told.
    ///
    /// # Errors
    /// When the directory cannot be read. Where the system has no events to offer, looking has to do: no error.
    pub fn new(blocks_dir: &Path) -> Result<Self, SourceError> {
        let mut watcher = Self::polling(blocks_dir)?;
        watcher._watcher = subscribe(blocks_dir, watcher._sender.clone(), watcher.overflowed.clone()).ok();
        // What was written between the first look and the subscription is told by the second look.
        watcher.newest_due = Instant::now();
        Ok(watcher)
    }

    /// A watcher without events.
    pub(super) fn polling(blocks_dir: &Path) -> Result<Self, SourceError> {
        let seen = Seen::new(blocks_dir)?;
        let (_sender, events) = sync_channel(EVENTS);
        let now = Instant::now();
        let (newest_due, all_due) = (now + NEWEST_EVERY, now + ALL_EVERY);
        let overflowed = Arc::default();
        Ok(Self { seen, events, _sender, overflowed, _watcher: None, newest_due, all_due })
    }

    /// Waits until something changed, at most for `timeout`; what comes back is empty when that ran out.
    ///
    /// # Errors
    /// When the directory cannot be read any more.
    pub fn wait(&mut self, timeout: Duration) -> Result<Changed, SourceError> {
        let end = Instant::now() + timeout;
        loop {
            let mut changed = Changed::default();
            self.take_events(self.newest_due.min(end), &mut changed)?;
            self.look(&mut changed)?;
            if !changed.is_empty() || Instant::now() >= end {
                return Ok(changed);
            }
        }
    }

    /// Waits for an event until `due`, and takes those that follow it closely.
    fn take_events(&mut self, due: Instant, changed: &mut Changed) -> Result<(), SourceError> {
        let mut wait = due.saturating_duration_since(Instant::now());
        let mut until = None;
        while let Ok(event) = self.events.recv_timeout(wait) {
            match event {
                Ok(event) if !event.need_rescan() => {
                    for path in &event.paths {
                        self.seen.note(path, changed)?;
                    }
                }
                _ => changed.any = true,
            }
            let until = *until.get_or_insert_with(|| Instant::now() + SETTLE_MOST);
            wait = SETTLE.min(until.saturating_duration_since(Instant::now()));
            if wait.is_zero() {
                break;
            }
        }
        changed.any |= self.overflowed.swap(false, Ordering::AcqRel);
        Ok(())
    }

    /// Looks at the files whose time has come.
    fn look(&mut self, changed: &mut Changed) -> Result<(), SourceError> {
        let now = Instant::now();
        if changed.any || now >= self.all_due {
            self.all_due = now + ALL_EVERY;
            self.seen.look_at_all(changed)?;
        }
        if now >= self.newest_due {
            self.newest_due = now + NEWEST_EVERY;
            self.seen.look_at_newest(changed)?;
        }
        Ok(())
    }
}

/// The directory as it was when it was last looked at.
#[derive(Debug)]
struct Seen {
    blocks_dir: PathBuf,
    files: BTreeMap<u32, ListedFile>,
    key: Option<FileStamp>,
}

impl Seen {
    fn new(blocks_dir: &Path) -> Result<Self, SourceError> {
        let files = list(blocks_dir)?.into_iter().map(|file| (file.number, file)).collect();
        let key = FileStamp::read(&blocks_dir.join(KEY_FILE))?;
        Ok(Self { blocks_dir: blocks_dir.into(), files, key })
    }

    /// Takes note of an event at `path`, so that looking does not tell it again.
    fn note(&mut self, path: &Path, changed: &mut Changed) -> Result<(), SourceError> {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
        if name == KEY_FILE {
            changed.key = true;
            self.key = FileStamp::read(path)?;
        } else if let Some(number) = number_in(name, "blk").or_else(|| number_in(name, "rev")) {
            changed.files.insert(number);
            self.look_at(number, changed)?;
        }
        Ok(())
    }

    fn look_at_newest(&mut self, changed: &mut Changed) -> Result<(), SourceError> {
        let mut newest: Vec<_> = self.files.keys().rev().take(NEWEST).copied().collect();
        newest.push(newest.first().map_or(0, |last| last.saturating_add(1)));
        for number in newest {
            self.look_at(number, changed)?;
        }
        let key = FileStamp::read(&self.blocks_dir.join(KEY_FILE))?;
        changed.key |= key != self.key;
        self.key = key;
        Ok(())
    }

    fn look_at_all(&mut self, changed: &mut Changed) -> Result<(), SourceError> {
        let now: BTreeMap<_, _> = list(&self.blocks_dir)?.into_iter().map(|file| (file.number, file)).collect();
        let numbers = now.keys().chain(self.files.keys());
        changed.files.extend(numbers.filter(|number| now.get(number) != self.files.get(number)));
        self.files = now;
        Ok(())
    }

    fn look_at(&mut self, number: u32, changed: &mut Changed) -> Result<(), SourceError> {
        let now = look(&self.blocks_dir, number)?;
        let before = match now {
            Some(now) => self.files.insert(number, now),
            None => self.files.remove(&number),
        };
        if now != before {
            changed.files.insert(number);
        }
        Ok(())
    }
}

/// Sends the events of `blocks_dir` that tell of writing. Reading makes events too: our own would never end.
fn subscribe(
    blocks_dir: &Path,
    sender: SyncSender<notify::Result<Event>>,
    overflowed: Arc<AtomicBool>,
) -> notify::Result<RecommendedWatcher> {
    let written = AccessKind::Close(AccessMode::Write);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let reading = event
            .as_ref()
            .is_ok_and(|e| matches!(e.kind, EventKind::Access(kind) if kind != written) && !e.need_rescan());
        // The receiver is gone when nobody watches any more.
        if !reading && matches!(sender.try_send(event), Err(TrySendError::Full(_))) {
            overflowed.store(true, Ordering::Release);
        }
    })?;
    watcher.watch(blocks_dir, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}
