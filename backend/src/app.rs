//! Puts the rooms together: source, index, chain and explorer, with one thread that follows the directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bitcoin::Network;
use hindsight_shared::network::NetworkExt;
use parking_lot::RwLock;

use crate::chain::Chain;
use crate::index::{Index, IndexError};
use crate::ingest::{Ingest, Report};
use crate::query::{About, Explorer};
use crate::source::{CoreFiles, Datadir, DatadirOptions, SourceError};
use crate::undo::UndoMap;

/// What an explorer is opened with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where Core keeps its blocks.
    pub datadir: DatadirOptions,
    /// Where indexes lie, each in a folder named after its network.
    pub index_dir: PathBuf,
    /// Bytes of blocks and undo to keep in memory.
    pub cache_bytes: u64,
    /// Whether this is the demo chain.
    pub demo: bool,
}

/// Why an explorer cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The blocks directory.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The thread that follows the directory.
    #[error("the system gives no thread to follow the blocks directory with: {0}")]
    Thread(std::io::Error),
}

/// An explorer that follows its directory until it is dropped.
#[derive(Debug)]
pub struct App {
    /// Answers questions from the first moment on.
    pub explorer: Arc<Explorer>,
    /// What was found where.
    pub datadir: Datadir,
    stop: Arc<AtomicBool>,
    follower: Option<JoinHandle<()>>,
}

impl App {
    /// Opens the directory and the index, and starts to follow.
    ///
    /// # Errors
    /// Where either cannot be used; each error says what to do.
    pub fn open(options: &Options) -> Result<Self, OpenError> {
        let datadir = Datadir::open(&options.datadir)?;
        let files = Arc::new(CoreFiles::open(datadir.clone())?);
        let index_dir = options.index_dir.join(index_folder(&datadir));
        let index = Index::open(&index_dir, &Ingest::identity(&files))?;
        let chain = Arc::new(RwLock::new(Chain::new(datadir.network)));
        let undo = Arc::new(UndoMap::new(files.clone(), chain.clone()));
        let report = Arc::new(Report::default());
        let source = format!("Bitcoin Core's block files in {}", datadir.blocks_dir.display());
        let about = About { magic: datadir.magic, source, demo: options.demo };
        let explorer =
            Explorer::new(files.clone(), (chain.clone(), undo.clone()), report.clone(), about, options.cache_bytes);
        let ingest = Ingest::new(files, chain, undo, report, index);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let follower = std::thread::Builder::new()
            .name("ingest".into())
            .spawn(move || ingest.run(&stopped))
            .map_err(OpenError::Thread)?;
        Ok(Self { explorer: Arc::new(explorer), datadir, stop, follower: Some(follower) })
    }
}

/// The network's name; custom signets are told apart by their magic.
fn index_folder(datadir: &Datadir) -> String {
    match Network::of_magic(datadir.magic) {
        Some(network) => network.chain_name().to_owned(),
        None => format!("signet-{}", datadir.magic),
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(follower) = self.follower.take() {
            // What it panicked with has been printed.
            let _ = follower.join();
        }
    }
}
