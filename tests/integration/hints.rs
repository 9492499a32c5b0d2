//! Core's own index of blocks as a hint: written by Core's kernel, and made to lie.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bitcoin::block::Header;
use bitcoin::consensus::serialize;
use bitcoin::{Block, BlockHash, Network};
use hindsight::app::App;
use hindsight::chain::{Chain, Undo};
use hindsight::index::{Index, Runs, Summaries};
use hindsight::ingest::{Keeper, Report};
use hindsight::query::{About, Explorer, Map, QueryError};
use hindsight::source::{
    BlockFile, BlockRecord, BlockSource, CoreFiles, Datadir, DatadirOptions, Hints, Position, SourceError, UndoRecord,
};
use hindsight::undo::UndoMap;
use hindsight_shared::Height;
use hindsight_shared::search::BlockId;
use hindsight_tests::chain_builder::ChainBuilder;
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::wait::until_true;
use parking_lot::RwLock;

/// Blocks on the best chain besides genesis.
const BLOCKS: u32 = 120;

/// Those of them whose file has been read.
const READ: u32 = 7;

/// A stopped node with a fork. Part of its index is in a table, part in a log: what a start finds in the log becomes a
/// table.
fn node() -> (KernelChain, Vec<Block>) {
    let mut kernel = KernelChain::new().unwrap();
    let mut builder = ChainBuilder::new();
    let blocks = builder.mine_empty(builder.genesis(), BLOCKS);
    let fork = builder.mine_empty(blocks[50].block_hash(), 2);
    let (first, rest) = blocks.split_at(100);
    kernel.extend(first).unwrap();
    fork.iter().for_each(|block| kernel.submit(block).unwrap());
    kernel.close();
    kernel.open().unwrap();
    kernel.extend(rest).unwrap();
    kernel.close();
    (kernel, [blocks, fork].concat())
}

fn files(datadir: &Path) -> CoreFiles {
    let options = DatadirOptions { datadir: datadir.to_owned(), ..DatadirOptions::default() };
    CoreFiles::open(Datadir::open(&options).unwrap()).unwrap()
}

/// What an index says that a node keeps beside its blocks.
fn index_of(kernel: &KernelChain) -> std::path::PathBuf {
    kernel.blocks_dir().join("index")
}

/// Files of the index with this ending.
fn with_ending(dir: &Path, ending: &str) -> Vec<Vec<u8>> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let named = paths.filter(|path| path.extension().is_some_and(|found| found == ending));
    named.map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn every_block_of_a_kernels_index_is_found() {
    let (kernel, blocks) = node();
    let of_tables: Vec<Hints> =
        with_ending(&index_of(&kernel), "ldb").iter().map(|file| Hints::of_table(file)).collect();
    let of_logs: Vec<Hints> = with_ending(&index_of(&kernel), "log").iter().map(|file| Hints::of_log(file)).collect();
    assert!(of_tables.iter().any(|hints| hints.len() > 50) && of_logs.iter().any(|hints| hints.len() > 10));
    let hints = files(kernel.datadir()).hints(|| true);
    assert_eq!(hints.len(), blocks.len() + 1);
    for block in &blocks {
        let hint = hints.get(&block.block_hash()).unwrap();
        assert_eq!((hint.header, hint.hash, hint.file), (block.header, block.block_hash(), 0));
    }
    assert!(hints.get(&bitcoin::constants::genesis_block(Network::Regtest).block_hash()).is_some());
    assert!(files(kernel.datadir()).hints(|| false).is_empty());
}

#[test]
fn a_cut_index_tells_what_is_left_of_it() {
    let (kernel, blocks) = node();
    for (ending, read) in [("ldb", Hints::of_table as fn(&[u8]) -> Hints), ("log", Hints::of_log)] {
        for file in with_ending(&index_of(&kernel), ending) {
            for len in (0..file.len()).step_by(97) {
                let hints = read(&file[..len]);
                assert!(blocks.iter().filter(|block| hints.get(&block.block_hash()).is_some()).count() <= hints.len());
            }
        }
    }
}

/// A directory of which only the newest blocks have been read so far.
struct Begun {
    files: Arc<CoreFiles>,
    chain: Arc<RwLock<Chain>>,
    undo: Arc<UndoMap>,
    whole: BlockFile,
}

impl Begun {
    fn new(datadir: &Path, read: Range<usize>) -> Self {
        let files = Arc::new(files(datadir));
        let whole = files.walk(0, None).unwrap();
        let chain = Arc::new(RwLock::new(Chain::new(Network::Regtest)));
        let undo = Arc::new(UndoMap::new(files.clone(), chain.clone()));
        let begun = Self { files, chain, undo, whole };
        let records = begun.whole.records[read].to_vec();
        begun.set(BlockFile { records, ..begun.whole.clone() });
        begun
    }

    fn set(&self, file: BlockFile) {
        self.undo.outdate(0);
        self.chain.write().set_file(&file);
        self.choose();
    }

    fn choose(&self) {
        self.chain.write().link();
        let known = |node: &_| match self.undo.known(node) {
            Undo::Unpaired(file) => {
                self.undo.pair(file).unwrap();
                self.undo.known(node)
            }
            undo => undo,
        };
        let best = self.chain.read().choose(true, &known).unwrap();
        self.chain.write().set_best(best);
    }

    /// How many hints were of use.
    fn take(&self, hints: &Hints) -> usize {
        let mut chain = self.chain.write();
        let ancestors: Vec<_> = chain.ancestors_among(hints).into_iter().copied().collect();
        for hint in &ancestors {
            chain.add_hinted(hint);
            chain.link();
        }
        drop(chain);
        self.choose();
        ancestors.len()
    }

    fn explorer(&self) -> Explorer {
        let index = Arc::new(Index::in_memory(&Keeper::identity(&self.files)).unwrap());
        let source = Arc::new(Hurried {
            files: self.files.clone(),
            chain: self.chain.clone(),
            undo: self.undo.clone(),
            whole: self.whole.clone(),
        });
        let map = Map {
            chain: self.chain.clone(),
            undo: self.undo.clone(),
            report: Arc::new(Report::default()),
            summaries: Arc::new(Summaries::new(index.clone())),
            runs: Arc::new(Runs::new(index).unwrap()),
        };
        let about = About {
            magic: Network::Regtest.magic(),
            source: String::new(),
            demo: None,
            levels: Vec::new(),
            follower: std::sync::Weak::new(),
        };
        Explorer::new(source, map, about, 1 << 20)
    }
}

/// Files of which one is read as soon as somebody waits for it, as the walk does.
#[derive(Debug)]
struct Hurried {
    files: Arc<CoreFiles>,
    chain: Arc<RwLock<Chain>>,
    undo: Arc<UndoMap>,
    whole: BlockFile,
}

impl BlockSource for Hurried {
    fn header(&self, record: &BlockRecord) -> Result<Header, SourceError> {
        self.files.header(record)
    }

    fn block(&self, record: &BlockRecord) -> Result<Vec<u8>, SourceError> {
        self.files.block(record)
    }

    fn undo(&self, record: &UndoRecord) -> Result<Vec<u8>, SourceError> {
        self.files.undo(record)
    }

    fn is_being_written(&self, position: Position) -> bool {
        self.files.is_being_written(position)
    }

    fn has_undo(&self, number: u32) -> bool {
        self.files.has_undo(number)
    }

    fn hurry(&self, number: u32) {
        if number == self.whole.number {
            self.undo.outdate(number);
            self.chain.write().set_file(&self.whole);
        }
    }
}

#[test]
fn the_map_begins_with_all_of_the_chain() {
    let (kernel, blocks) = node();
    let len = blocks.len() + 1;
    let begun = Begun::new(kernel.datadir(), len - READ as usize..len);
    assert_eq!(begun.take(&begun.files.hints(|| true)) as u32, BLOCKS + 1 - READ);
    let chain = begun.chain.read();
    assert_eq!(chain.best().segments().len(), 1);
    assert_eq!(chain.len() as u32, READ);
    assert!(chain.tip().unwrap().linked);
    for (height, block) in (1..=BLOCKS).zip(&blocks) {
        let node = chain.by_height(Height(height)).unwrap();
        assert_eq!((node.hash, node.header), (block.block_hash(), block.header));
        assert_eq!(node.is_hinted(), height <= BLOCKS - READ);
        assert_eq!(chain.hinted_file(node), node.is_hinted().then_some(0));
    }
}

#[test]
fn who_asks_for_a_block_has_its_file_read() {
    let (kernel, blocks) = node();
    let len = blocks.len() + 1;
    let begun = Begun::new(kernel.datadir(), len - READ as usize..len);
    begun.take(&begun.files.hints(|| true));
    let explorer = begun.explorer();
    assert!(explorer.awaits_files());
    assert!(explorer.headers(&blocks[0].block_hash(), 5).is_empty());
    assert_eq!(explorer.hash_at(Height(1)), Some(blocks[0].block_hash()));
    let payload = explorer.payload(BlockId::Height(Height(30))).unwrap();
    assert_eq!(payload.parts[2][..], serialize(&blocks[29]));
    assert!(!explorer.awaits_files());
    let facts = explorer.block(BlockId::Hash(blocks[30].block_hash())).unwrap();
    assert_eq!((facts.size as usize, facts.tx_count), (serialize(&blocks[30]).len(), 1));
}

#[test]
fn lists_wait_for_what_they_show() {
    let (kernel, blocks) = node();
    let len = blocks.len() + 1;
    let begun = Begun::new(kernel.datadir(), len - READ as usize..len);
    begun.take(&begun.files.hints(|| true));
    let listed = begun.explorer().blocks(None, 60).unwrap();
    let sizes: Vec<usize> = listed.iter().map(|facts| facts.size as usize).collect();
    let expected: Vec<usize> =
        (61..=BLOCKS as usize).rev().map(|height| serialize(&blocks[height - 1]).len()).collect();
    assert_eq!(sizes, expected);
}

/// An entry of Core's index, as `CDiskBlockIndex` writes it, of a stored block with one transaction.
fn entry(key: BlockHash, header: &Header, file: u8) -> Vec<u8> {
    use bitcoin::hashes::Hash;
    let value = [&[0x8e, 0xed, 0x3c, 1, 8, 1, file, 8][..], &serialize(header)].concat();
    let key = [&b"b"[..], key.as_byte_array()].concat();
    [&[1, 33][..], &key, &[u8::try_from(value.len()).unwrap()], &value].concat()
}

/// A log of LevelDB with these entries, one record each.
fn log(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut log = Vec::new();
    for entry in entries {
        let batch = [&[0; 8][..], &1_u32.to_le_bytes(), entry].concat();
        if (log.len() % (32 << 10)) + 7 + batch.len() > 32 << 10 {
            log.resize(log.len().next_multiple_of(32 << 10), 0);
        }
        log.extend([0; 4]);
        log.extend(u16::try_from(batch.len()).unwrap().to_le_bytes());
        log.push(1);
        log.extend(batch);
    }
    log
}

/// Everything that lies about the blocks of a chain: by the file, by the key, by the header, by what is missing.
fn lies(blocks: &[Block], genesis: Header) -> Vec<(&'static str, Vec<u8>)> {
    let chain: Vec<Header> = std::iter::once(genesis).chain(blocks.iter().map(|block| block.header)).collect();
    let of = |change: &dyn Fn(usize, Header) -> (BlockHash, Header, u8)| {
        let entries = chain.iter().enumerate().map(|(at, header)| {
            let (key, header, file) = change(at, *header);
            entry(key, &header, file)
        });
        log(&entries.collect::<Vec<_>>())
    };
    let other = ChainBuilder::new().mine_empty(genesis.block_hash(), 130);
    let other: Vec<Vec<u8>> = other.iter().map(|block| entry(block.block_hash(), &block.header, 0)).collect();
    vec![
        ("another file", of(&|_, header| (header.block_hash(), header, 77))),
        ("other keys", of(&|at, header| (chain[at / 2].block_hash(), header, 0))),
        ("later times", of(&|_, header| (header.block_hash(), Header { time: header.time + 1, ..header }, 0))),
        ("other headers", of(&|at, header| (header.block_hash(), chain[at.saturating_sub(1)], 0))),
        ("a missing one", of(&|at, header| (header.block_hash(), chain[if at == 60 { 61 } else { at }], 0))),
        ("another chain", log(&other)),
        ("nothing", Vec::new()),
        ("garbage", of(&|_, header| (header.block_hash(), header, 0)).iter().map(|byte| byte ^ 0x55).collect()),
    ]
}

#[test]
fn a_lying_hint_changes_nothing() {
    let (kernel, blocks) = node();
    let honest = Begun::new(kernel.datadir(), 0..blocks.len() + 1);
    let genesis = honest.whole.records[0].header;
    for (lie, log) in lies(&blocks[..BLOCKS as usize], genesis) {
        let len = blocks.len() + 1;
        let begun = Begun::new(kernel.datadir(), len - READ as usize..len);
        let before = (begun.chain.read().best().clone(), begun.chain.read().len());
        let taken = begun.take(&Hints::of_log(&log));
        println!("{lie}: {taken} taken");
        if taken == 0 {
            assert_eq!((begun.chain.read().best().clone(), begun.chain.read().len()), before, "{lie}");
        } else {
            // What was taken is true whoever says so, and of the rest nothing is told.
            assert_eq!(begun.explorer().hash_at(Height(3)), Some(blocks[2].block_hash()));
        }
        if lie == "another file" {
            assert_eq!(taken as u32, BLOCKS + 1 - READ);
            let asked = begun.explorer().block(BlockId::Height(Height(3)));
            assert!(matches!(asked, Err(QueryError::NotReadYet(..))), "{asked:?}");
            let listed = begun.explorer().blocks(None, 20).unwrap();
            assert_eq!(listed.len() as u32, READ);
        }
        begun.set(begun.whole.clone());
        assert!(!begun.chain.read().has_hinted(), "{lie}");
        same_chain(&begun.chain.read(), &honest.chain.read(), lie);
    }
}

#[test]
fn what_was_in_no_file_is_forgotten() {
    let (kernel, blocks) = node();
    let begun = Begun::new(kernel.datadir(), 80..blocks.len() + 1);
    let before = Begun::new(kernel.datadir(), 80..blocks.len() + 1);
    assert!(begun.take(&begun.files.hints(|| true)) > 50);
    assert!(begun.chain.read().has_hinted());
    let map = begun.chain.read().without_hinted();
    *begun.chain.write() = map;
    begun.choose();
    same_chain(&begun.chain.read(), &before.chain.read(), "forgotten");
}

#[track_caller]
fn same_chain(one: &Chain, other: &Chain, what: &str) {
    let ranges = |chain: &Chain| -> Vec<_> {
        chain.best().segments().iter().map(|segment| (segment.from(), segment.to())).collect()
    };
    assert_eq!((one.len(), ranges(one)), (other.len(), ranges(other)), "{what}");
    assert_eq!(one.tip().map(|tip| tip.hash), other.tip().map(|tip| tip.hash), "{what}");
    for height in (0..=BLOCKS).map(Height) {
        let [one, other] = [one, other].map(|chain| {
            let node = chain.by_height(height)?;
            let records: Vec<_> = node.records().collect();
            Some((node.hash, node.height, node.linked, node.work(), node.size(), node.tx_count(), records))
        });
        assert_eq!(one, other, "{what}");
    }
}

/// The whole of a server, on a directory whose index is what `arrange` makes of it.
fn all_answers(kernel: &KernelChain, arrange: impl FnOnce(&Path)) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let blocks = dir.path().join("regtest/blocks");
    fs::create_dir_all(blocks.join("index")).unwrap();
    for name in ["blk00000.dat", "rev00000.dat", "xor.dat"] {
        fs::copy(kernel.blocks_dir().join(name), blocks.join(name)).unwrap();
    }
    arrange(&blocks.join("index"));
    let files = Arc::new(files(dir.path()));
    let app = App::look(files.clone(), Index::in_memory(&Keeper::identity(&files)).unwrap()).unwrap();
    until_true("all files are read", || app.explorer.status().progress.complete);
    let mut answers = vec![format!("{:?}", app.explorer.status())];
    answers.extend(app.explorer.blocks(None, 200).unwrap().iter().map(|facts| format!("{facts:?}")));
    let payloads = (0..=BLOCKS).map(|height| app.explorer.payload(BlockId::Height(Height(height))).unwrap().tag);
    answers.extend(payloads);
    answers
}

#[test]
fn a_server_answers_the_same_with_any_index_beside_its_blocks() {
    let (kernel, blocks) = node();
    let without = all_answers(&kernel, |index| fs::remove_dir(index).unwrap());
    let with = all_answers(&kernel, |index| {
        for entry in fs::read_dir(index_of(&kernel)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, index.join(path.file_name().unwrap())).unwrap();
        }
    });
    assert_eq!(with, without);
    let genesis = bitcoin::constants::genesis_block(Network::Regtest).header;
    for (lie, log) in lies(&blocks[..BLOCKS as usize], genesis) {
        let answers = all_answers(&kernel, |index| {
            fs::write(index.join("000003.log"), &log).unwrap();
            fs::write(index.join("000005.ldb"), &log).unwrap();
        });
        assert_eq!(answers, without, "{lie}");
    }
}
