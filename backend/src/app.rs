//! Puts the rooms together: source, index, chain and explorer, with threads that follow the directory, fill in what is
//! computed from blocks, and write and merge runs of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bitcoin::Network;
use hindsight_shared::network::NetworkExt;
use parking_lot::RwLock;

use crate::chain::Chain;
use crate::index::{Index, IndexError, Runs, Summaries};
use crate::ingest::{Filler, Indexer, Ingest, Keeper, Merger, Statistics};
use crate::query::{About, Explorer, Map};
use crate::source::{BlockSource, CoreFiles, Datadir, DatadirOptions, ReadOnce, SourceError};
use crate::undo::UndoMap;
use hindsight_shared::api::IndexLevel;

/// Bytes kept by an explorer that is asked for every block once: enough for the questions about one block.
const LOOKED_AT: u64 = 64 << 20;

/// One part of the index's memory is the store's.
pub const STORE_SHARE: u64 = 8;

/// What an explorer is opened with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where Core keeps its blocks.
    pub datadir: DatadirOptions,
    /// Where indexes lie, each in a folder named after its network.
    pub index_dir: PathBuf,
    /// Bytes of blocks and undo to keep in memory.
    pub cache_bytes: u64,
    /// What is indexed beside blocks.
    pub levels: Vec<IndexLevel>,
    /// Bytes of memory that making the index may take.
    pub index_memory: u64,
    /// What the demo chain is, if it is one.
    pub demo: Option<String>,
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
    threads: Vec<JoinHandle<()>>,
}

impl App {
    /// Opens the directory and the index, and starts to follow.
    ///
    /// # Errors
    /// Where either cannot be used; each error says what to do.
    pub fn open(options: &Options) -> Result<Self, OpenError> {
        let files = Arc::new(CoreFiles::open(Datadir::open(&options.datadir)?)?);
        let index_dir = options.index_dir.join(index_folder(files.datadir()));
        let index = Arc::new(Index::open(&index_dir, &Keeper::identity(&files), options.index_memory / STORE_SHARE)?);
        let about = (options.demo.clone(), options.levels.clone());
        let (mut app, map) = Self::follow(files.clone(), files.clone(), index, about, options.cache_bytes)?;
        let memory = usize::try_from(options.index_memory - options.index_memory / STORE_SHARE).unwrap_or(usize::MAX);
        let Map { chain, undo, report, summaries, runs } = map;
        let indexer =
            (!options.levels.is_empty()).then(|| Indexer::new(runs.clone(), report.clone(), &options.levels, memory));
        let statistics = Statistics::new(summaries, report.statistics());
        let filler = Filler::new(files, (chain.clone(), undo), statistics, indexer);
        app.spawn("filler", move |stop| filler.run(stop))?;
        if !options.levels.is_empty() {
            let merger = Merger::new(runs, chain, report);
            app.spawn("merger", move |stop| merger.run(stop))?;
        }
        Ok(app)
    }

    /// An explorer of these files that leaves no trace: what a server with that index would answer, for who asks for every
    /// block once. Give it an index that is looked at, or one in memory.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn look(files: Arc<CoreFiles>, index: Index) -> Result<Self, OpenError> {
        let source = Arc::new(ReadOnce(files.clone()));
        Ok(Self::follow(source, files, Arc::new(index), (None, IndexLevel::ALL.to_vec()), LOOKED_AT)?.0)
    }

    fn follow(
        source: Arc<dyn BlockSource>,
        files: Arc<CoreFiles>,
        index: Arc<Index>,
        (demo, levels): (Option<String>, Vec<IndexLevel>),
        cache_bytes: u64,
    ) -> Result<(Self, Map), OpenError> {
        let datadir = files.datadir().clone();
        let chain = Arc::new(RwLock::new(Chain::new(datadir.network)));
        let map = Map {
            undo: Arc::new(UndoMap::new(files.clone(), chain.clone())),
            chain,
            report: Arc::default(),
            summaries: Arc::new(Summaries::new(index.clone())),
            runs: Arc::new(Runs::new(index.clone())?),
        };
        let follower = Arc::new(());
        let about = About {
            magic: datadir.magic,
            source: "block files of Bitcoin Core".to_owned(),
            demo,
            levels,
            follower: Arc::downgrade(&follower),
        };
        let ingest = Ingest::new(files, (map.chain.clone(), map.undo.clone()), map.report.clone(), index);
        let explorer = Explorer::new(source, map.clone(), about, cache_bytes);
        let mut app = Self { explorer: Arc::new(explorer), datadir, stop: Arc::default(), threads: Vec::new() };
        app.spawn("ingest", move |stop| {
            // Dropped when the thread ends, by a panic too.
            let _follower = follower;
            ingest.run(stop);
        })?;
        Ok((app, map))
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce(&AtomicBool) + Send + 'static) -> Result<(), OpenError> {
        let stop = self.stop.clone();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || work(&stop));
        self.threads.push(thread.map_err(OpenError::Thread)?);
        Ok(())
    }
}

/// The folder of an index among those of other networks: the network's name; custom signets are told apart by their magic.
pub fn index_folder(datadir: &Datadir) -> String {
    match Network::of_magic(datadir.magic) {
        Some(network) => network.chain_name().to_owned(),
        None => format!("signet-{}", datadir.magic),
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // What it panicked with has been printed.
            let _ = thread.join();
        }
    }
}
