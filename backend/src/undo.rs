//! Which undo record belongs to which block, found out one file at a time when a block of that file first needs it.
//!
//! Pairing reads a whole `rev*.dat`, so each file is paired by one thread while others that need it wait, and what was
//! found is kept. `ingest` and `query` share one [`UndoMap`]; looking something up that is known costs no I/O.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};

use crate::chain::{Chain, Node, Undo};
use crate::source::{CoreFiles, SourceError, UndoFile, UndoRecord};

/// The undo of every file that has been paired.
#[derive(Debug)]
pub struct UndoMap {
    files: Arc<CoreFiles>,
    chain: Arc<RwLock<Chain>>,
    cells: RwLock<HashMap<u32, Arc<Cell>>>,
    fresh: Mutex<BTreeSet<u32>>,
}

#[derive(Debug, Default)]
struct Cell {
    pairing: Mutex<()>,
    paired: OnceLock<Paired>,
    /// What had been paired before the file changed: pairing goes on behind it where that is still there.
    before: Option<UndoFile>,
}

/// A paired file whose records are sorted by block hash.
#[derive(Debug)]
struct Paired(UndoFile);

impl Paired {
    fn new(mut file: UndoFile) -> Self {
        file.records.sort_unstable_by_key(|record| record.block);
        Self(file)
    }

    fn of(&self, node: &Node) -> Option<UndoRecord> {
        let records = &self.0.records;
        records.binary_search_by_key(&node.hash, |record| record.block).ok().map(|at| records[at])
    }
}

impl UndoMap {
    /// A map that knows nothing yet.
    pub fn new(files: Arc<CoreFiles>, chain: Arc<RwLock<Chain>>) -> Self {
        Self { files, chain, cells: RwLock::default(), fresh: Mutex::default() }
    }

    /// What is known of a block's undo, without I/O.
    pub fn known(&self, node: &Node) -> Undo {
        let cells = self.cells.read();
        let mut unpaired = None;
        for file in node.records().map(|record| record.position.file) {
            match cells.get(&file).and_then(|cell| cell.paired.get()) {
                Some(paired) => {
                    if let Some(record) = paired.of(node) {
                        return Undo::At(record.position);
                    }
                }
                None => unpaired = unpaired.or(Some(file)),
            }
        }
        unpaired.map_or(Undo::None, Undo::Unpaired)
    }

    /// A block's undo record, after pairing every file that holds the block if need be.
    ///
    /// # Errors
    /// When a file has to be paired and cannot be read.
    pub fn find(&self, node: &Node) -> Result<Option<UndoRecord>, SourceError> {
        for file in node.records().map(|record| record.position.file) {
            let cell = self.paired(file)?;
            if let Some(record) = cell.paired.get().and_then(|paired| paired.of(node)) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Pairs a file, for the choice of the best chain.
    ///
    /// # Errors
    /// Why it cannot be, in a sentence.
    pub fn pair(&self, number: u32) -> Result<(), String> {
        let cell = self.paired(number).map_err(|error| error.to_string())?;
        match cell.paired.get() {
            Some(_) => Ok(()),
            None => Err(format!("the blocks of file {number} are not known any more")),
        }
    }

    /// Pairs a file, unless it is already; waits where another thread is at it.
    fn paired(&self, number: u32) -> Result<Arc<Cell>, SourceError> {
        let known = self.cells.read().get(&number).cloned();
        let cell = known.unwrap_or_else(|| self.cells.write().entry(number).or_default().clone());
        if cell.paired.get().is_some() {
            return Ok(cell);
        }
        let pairing = cell.pairing.lock();
        if cell.paired.get().is_none() {
            let file = self.chain.read().file(number);
            if let Some(file) = file {
                let paired = match &cell.before {
                    Some(before) => self.files.pair_on(&file, before)?,
                    None => self.files.pair(&file)?,
                };
                self.fresh.lock().insert(number);
                // Only the thread that holds the lock gets here.
                let _ = cell.paired.set(Paired::new(paired));
            }
        }
        drop(pairing);
        Ok(cell)
    }

    /// Takes over what the index remembers of a file.
    pub fn insert(&self, file: UndoFile) {
        let number = file.number;
        let cell = Cell::default();
        let _ = cell.paired.set(Paired::new(file));
        self.cells.write().insert(number, Arc::new(cell));
    }

    /// A file has changed: it is paired anew when it is next needed, from where it was left off if it only grew.
    pub fn outdate(&self, number: u32) {
        let mut cells = self.cells.write();
        let Some(old) = cells.remove(&number) else { return };
        self.fresh.lock().remove(&number);
        if let Some(before) = old.paired.get().map(|paired| paired.0.clone()).or_else(|| old.before.clone()) {
            cells.insert(number, Arc::new(Cell { before: Some(before), ..Cell::default() }));
        }
    }

    /// What is known of a file has turned out to be wrong, or the file is gone.
    pub fn forget(&self, number: u32) {
        self.cells.write().remove(&number);
        self.fresh.lock().remove(&number);
    }

    /// Forgets all files.
    pub fn forget_all(&self) {
        self.cells.write().clear();
        self.fresh.lock().clear();
    }

    /// Everything that has been paired.
    pub fn all(&self) -> Vec<UndoFile> {
        let cells = self.cells.read();
        cells.values().filter_map(|cell| cell.paired.get()).map(|paired| paired.0.clone()).collect()
    }

    /// What has been paired since the last call, for the index to keep.
    pub fn take_fresh(&self) -> Vec<UndoFile> {
        let fresh = std::mem::take(&mut *self.fresh.lock());
        let cells = self.cells.read();
        let paired = |number: &u32| cells.get(number).and_then(|cell| cell.paired.get()).map(|paired| paired.0.clone());
        fresh.iter().filter_map(paired).collect()
    }
}
