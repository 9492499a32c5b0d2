//! Why a block's undo is absent, as far as the files tell.
//!
//! Core deletes undo only together with the block file it belongs to, and writes it only when it connects the block. So
//! what is missing beside undo that is there was never written, or is damaged, or the block itself came back alone.

use hindsight_shared::payload::Absence;

use super::bodies::Bodies;
use crate::chain::{Node, Undo};
use crate::source::{SourceError, UndoRecord};

/// A node keeps this many blocks at least (Core's `MIN_BLOCKS_TO_KEEP`): what it fetches again after pruning is farther
/// below what it stores at that time.
const KEPT: u32 = 288;

impl Bodies {
    /// Why the undo of a block is absent, of which `tried` was the last record that did not fit.
    pub(super) fn why_absent(&self, node: &Node, tried: Option<UndoRecord>) -> Absence {
        let Some(record) = node.records().next() else { return Absence::Pruned };
        if self.source.is_being_written(tried.map_or(record.position, |undo| undo.position)) {
            return Absence::NotReadYet;
        }
        if self.is_fetched_again(node) {
            return Absence::Pruned;
        }
        if !self.chain.read().is_best(node) {
            return Absence::NotConnected;
        }
        let has_undo = node.records().any(|record| self.source.has_undo(record.position.file));
        if has_undo { Absence::Damaged } else { Absence::Pruned }
    }

    /// What a failure to look for undo says of it. The block itself is none the worse.
    pub(super) fn absence_of(&self, node: &Node, error: &SourceError) -> Absence {
        match error {
            SourceError::Pruned { .. } => Absence::Pruned,
            error => {
                tracing::warn!(%error, block = %node.hash, "undo cannot be read");
                Absence::Damaged
            }
        }
    }

    /// Whether the block lies among blocks that are all far above it: the node had deleted it and was made to fetch it
    /// again (`getblockfrompeer`), without connecting it once more.
    fn is_fetched_again(&self, node: &Node) -> bool {
        let Some(height) = node.height else { return false };
        let chain = self.chain.read();
        let files = node.records().filter_map(|record| chain.file(record.position.file));
        let mut lowest_connected = None;
        for record in files.flat_map(|file| file.records) {
            let Some(other) = chain.by_hash(&record.hash) else { continue };
            if matches!(self.undo.known(other), Undo::At(_)) {
                lowest_connected = lowest_connected.into_iter().chain(other.height).min();
            }
        }
        lowest_connected.is_some_and(|lowest| lowest.0 > height.0.saturating_add(KEPT))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bitcoin::Network;
    use bitcoin::block::Header;
    use parking_lot::RwLock;

    use super::*;
    use crate::chain::Chain;
    use crate::source::{BlockFile, BlockRecord, BlockSource, CoreFiles, Datadir, DatadirOptions, Position, UndoFile};
    use crate::undo::UndoMap;

    /// Files of which nothing is read, some with undo.
    #[derive(Debug)]
    struct Files {
        with_undo: Vec<u32>,
        being_written: bool,
    }

    impl BlockSource for Files {
        fn header(&self, record: &BlockRecord) -> Result<Header, SourceError> {
            Ok(record.header)
        }

        fn block(&self, _: &BlockRecord) -> Result<Vec<u8>, SourceError> {
            Ok(Vec::new())
        }

        fn undo(&self, _: &UndoRecord) -> Result<Vec<u8>, SourceError> {
            Ok(Vec::new())
        }

        fn is_being_written(&self, _: Position) -> bool {
            self.being_written
        }

        fn has_undo(&self, number: u32) -> bool {
            self.with_undo.contains(&number)
        }
    }

    fn blocks_in(number: u32, records: &[BlockRecord]) -> BlockFile {
        let position = |record: &BlockRecord| Position { file: number, ..record.position };
        let records = records.iter().map(|record| BlockRecord { position: position(record), ..*record }).collect();
        BlockFile { number, stamp: Default::default(), records }
    }

    /// The first 2,017 blocks of testnet3 in two files, with undo for some: file 0 up to height 999, file 1 above, and
    /// block 500 in both.
    fn bodies(connected: &[u32], files: Files) -> (Bodies, Vec<Node>) {
        let dir = tempfile::tempdir().unwrap();
        let datadir = DatadirOptions {
            datadir: crate::demo::DemoChain::Testnet3.unpack(dir.path()).unwrap(),
            ..Default::default()
        };
        let demo = Arc::new(CoreFiles::open(Datadir::open(&datadir).unwrap()).unwrap());
        let records = demo.walk(0, None).unwrap().records;
        let chain = Arc::new(RwLock::new(Chain::new(Network::Testnet)));
        let undo = Arc::new(UndoMap::new(demo, chain.clone()));
        let mut paired = [UndoFile::default(), UndoFile { number: 1, ..UndoFile::default() }];
        {
            let mut chain = chain.write();
            chain.set_file(&blocks_in(0, &records[..1000]));
            chain.set_file(&blocks_in(1, &records[1000..]));
            chain.link();
            for height in connected {
                let block = records[*height as usize].hash;
                let position = Position { file: u32::from(*height >= 1000), offset: *height };
                paired[position.file as usize].records.push(UndoRecord { block, position, size: 1 });
            }
            paired.into_iter().for_each(|file| undo.insert(file));
            let best = chain.choose(false, &|node| undo.known(node)).unwrap();
            chain.set_best(best);
            // What a node fetches again goes to the file that it is writing.
            let late: Vec<BlockRecord> = records[1000..].iter().chain([&records[500]]).copied().collect();
            chain.set_file(&blocks_in(1, &late));
            let early: Vec<BlockRecord> =
                records[..1000].iter().filter(|r| r.hash != records[500].hash).copied().collect();
            chain.set_file(&blocks_in(0, &early));
        }
        let nodes = records.iter().filter_map(|record| chain.read().by_hash(&record.hash).cloned()).collect();
        (Bodies::new(Arc::new(files), chain, undo, 1 << 20), nodes)
    }

    #[track_caller]
    fn check(connected: &[u32], files: Files, expected: &[(usize, Absence)]) {
        let (bodies, nodes) = bodies(connected, files);
        for (height, absence) in expected {
            assert_eq!(bodies.why_absent(&nodes[*height], None), *absence, "{height}");
        }
    }

    #[test]
    fn undo_is_damaged_where_its_neighbours_is_there() {
        let files = Files { with_undo: vec![0, 1], being_written: false };
        check(&[499, 900, 1500], files, &[(498, Absence::Damaged), (1499, Absence::Damaged)]);
    }

    #[test]
    fn a_block_among_much_higher_ones_was_fetched_again() {
        let files = Files { with_undo: vec![0, 1], being_written: false };
        check(&[499, 900, 1500], files, &[(500, Absence::Pruned)]);
    }

    #[test]
    fn what_nothing_was_built_on_was_never_connected() {
        let files = Files { with_undo: vec![0, 1], being_written: false };
        check(&[499, 1500], files, &[(1501, Absence::NotConnected), (2016, Absence::NotConnected)]);
        let files = Files { with_undo: vec![0], being_written: false };
        check(&[499, 900], files, &[(1500, Absence::NotConnected)]);
    }

    #[test]
    fn an_undo_file_that_is_missing_was_deleted() {
        let files = Files { with_undo: vec![1], being_written: false };
        check(&[1500], files, &[(3, Absence::Pruned), (999, Absence::Pruned)]);
    }

    #[test]
    fn what_is_just_being_written_may_still_come() {
        let files = Files { with_undo: vec![0, 1], being_written: true };
        check(&[499, 1500], files, &[(3, Absence::NotReadYet), (2016, Absence::NotReadYet)]);
    }

    #[test]
    fn undo_that_cannot_be_read_says_so_of_itself_alone() {
        let (bodies, nodes) = bodies(&[499], Files { with_undo: vec![0], being_written: false });
        let path = std::path::PathBuf::from("rev00000.dat");
        let gone = SourceError::Pruned { path: path.clone() };
        assert_eq!(bodies.absence_of(&nodes[3], &gone), Absence::Pruned);
        let failed = SourceError::Io { path, source: std::io::Error::other("the disk") };
        assert_eq!(bodies.absence_of(&nodes[3], &failed), Absence::Damaged);
    }
}
