//! The map on headers made for each case: no file is needed to say what a chain is.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use bitcoin::block::{Header, Version};
use bitcoin::hashes::Hash;
use bitcoin::{BlockHash, CompactTarget, Network, TxMerkleNode};
use hindsight_shared::Height;
use hindsight_shared::network::NetworkExt;

use super::{Chain, NeedsPair, Node, Undo};
use crate::source::{BlockFile, BlockRecord, FileStamp, Found, Position};

const EASY: u32 = 0x207f_ffff;
/// Each block of these is worth 256 of the easy ones.
const HARD: u32 = 0x1f7f_ffff;

/// Blocks by name, the file that each is in, and which of them have undo, in the order it was written.
#[derive(Default)]
struct World {
    headers: HashMap<&'static str, Header>,
    stated: HashMap<BlockHash, Height>,
    files: HashMap<u32, Vec<BlockRecord>>,
    undo: Vec<BlockHash>,
    asked: RefCell<HashSet<BlockHash>>,
}

impl World {
    fn with_genesis() -> Self {
        let mut world = Self::default();
        let genesis = bitcoin::blockdata::constants::genesis_block(Network::Regtest).header;
        world.headers.insert("genesis", genesis);
        world.store("genesis", 0);
        world
    }

    fn hash(&self, name: &str) -> BlockHash {
        self.headers[name].block_hash()
    }

    /// Makes a block on a parent (or on one that nobody has), without storing it anywhere.
    fn make(&mut self, name: &'static str, parent: &str, bits: u32) {
        let parent = self.headers.get(parent).map_or_else(|| BlockHash::hash(parent.as_bytes()), Header::block_hash);
        let header = Header {
            version: Version::from_consensus(4),
            prev_blockhash: parent,
            merkle_root: TxMerkleNode::hash(name.as_bytes()),
            time: 0,
            bits: CompactTarget::from_consensus(bits),
            nonce: 0,
        };
        self.headers.insert(name, header);
    }

    fn store(&mut self, name: &str, file: u32) {
        let header = self.headers[name];
        let records = self.files.entry(file).or_default();
        let offset = 8 + 100 * u32::try_from(records.len()).unwrap();
        let hash = header.block_hash();
        let stated_height = self.stated.get(&hash).copied();
        let position = Position { file, offset };
        records.push(BlockRecord { header, hash, tx_count: 1, stated_height, size: 90, position, found: Found::Hop });
    }

    /// Makes a row of blocks, stores them in one file and gives them undo.
    fn connected(&mut self, names: &[&'static str], parent: &'static str, file: u32) {
        self.stored(names, parent, file);
        self.undo.extend(names.iter().map(|name| self.headers[name].block_hash()));
    }

    fn stored(&mut self, names: &[&'static str], mut parent: &'static str, file: u32) {
        for &name in names {
            self.make(name, parent, EASY);
            self.store(name, file);
            parent = name;
        }
    }

    fn file(&self, number: u32) -> BlockFile {
        BlockFile { number, stamp: FileStamp::default(), records: self.files[&number].clone() }
    }

    /// A map that was given the files in this order.
    fn map(&self, order: &[u32]) -> Chain {
        let mut chain = Chain::new(Network::Regtest);
        for &number in order {
            chain.set_file(&self.file(number));
        }
        self.choose(&mut chain);
        chain
    }

    fn undo_of(&self, node: &Node) -> Undo {
        self.asked.borrow_mut().insert(node.hash);
        let written = self.undo.iter().position(|&hash| hash == node.hash);
        let position = |at| Position { file: 0, offset: u32::try_from(at).unwrap() };
        written.map_or(Undo::None, |at| Undo::At(position(at)))
    }

    fn choose(&self, chain: &mut Chain) {
        chain.link();
        let best = chain.choose(false, &|node| self.undo_of(node)).unwrap();
        chain.set_best(best);
    }

    #[track_caller]
    fn check_tip(&self, chain: &Chain, name: &str, height: u32) {
        let tip = chain.tip().unwrap();
        assert_eq!((tip.hash, tip.height), (self.hash(name), Some(Height(height))));
    }
}

fn ranges(chain: &Chain) -> Vec<(u32, u32)> {
    chain.best().segments().iter().map(|segment| (segment.from().0, segment.to().0)).collect()
}

#[test]
fn parents_may_lie_in_later_files_and_turn_up_later() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2", "a3"], "genesis", 0);
    world.connected(&["a4", "a5"], "a3", 1);
    world.files.get_mut(&0).unwrap().reverse();
    // a2 arrived so late that it is in the last file
    let a2 = world.files.get_mut(&0).unwrap().remove(1);
    world.files.insert(2, vec![BlockRecord { position: Position { file: 2, offset: 8 }, ..a2 }]);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
        let chain = world.map(&order);
        world.check_tip(&chain, "a5", 5);
        assert_eq!(ranges(&chain), [(0, 5)]);
        assert!(chain.tip().unwrap().linked);
        assert_eq!(chain.by_height(Height(2)).unwrap().hash, world.hash("a2"));
    }
}

#[test]
fn most_work_wins_not_most_blocks() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2", "a3"], "genesis", 0);
    world.make("hard", "genesis", HARD);
    world.store("hard", 0);
    world.undo.insert(0, world.hash("hard"));
    let chain = world.map(&[0]);
    world.check_tip(&chain, "hard", 1);
    assert_eq!(chain.best().tied(), None);
    assert!(!chain.is_best(chain.by_hash(&world.hash("a1")).unwrap()));
}

#[test]
fn of_equal_work_the_later_undo_wins_and_the_other_is_told() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2"], "genesis", 0);
    world.connected(&["b1", "b2"], "genesis", 0);
    let chain = world.map(&[0]);
    world.check_tip(&chain, "b2", 2);
    assert_eq!(chain.best().tied(), Some(world.hash("a2")));
    world.undo.reverse();
    let chain = world.map(&[0]);
    world.check_tip(&chain, "a2", 2);
    assert_eq!(chain.best().tied(), Some(world.hash("b2")));
}

#[test]
fn blocks_without_undo_above_the_last_one_with_undo_are_not_connected() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2"], "genesis", 0);
    world.stored(&["a3", "a4"], "a2", 0);
    let chain = world.map(&[0]);
    world.check_tip(&chain, "a2", 2);
    assert_eq!(chain.by_hash(&world.hash("a4")).unwrap().height, Some(Height(4)));
}

#[test]
fn undo_lost_below_does_not_break_the_chain() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2", "a3", "a4"], "genesis", 0);
    world.undo.retain(|&hash| hash != world.headers["a2"].block_hash());
    let chain = world.map(&[0]);
    world.check_tip(&chain, "a4", 4);
    assert_eq!(chain.by_height(Height(2)).unwrap().hash, world.hash("a2"));
}

#[test]
fn without_any_undo_only_genesis_is_connected() {
    let mut world = World::with_genesis();
    world.stored(&["a1", "a2"], "genesis", 0);
    let chain = world.map(&[0]);
    world.check_tip(&chain, "genesis", 0);
}

#[test]
fn an_islands_heights_are_what_its_coinbases_state() {
    let mut world = World::default();
    for (name, parent, height) in [("c1", "pruned", 700), ("c2", "c1", 701), ("c3", "c2", 702)] {
        world.make(name, parent, EASY);
        world.stated.insert(world.hash(name), Height(height));
        world.store(name, 7);
    }
    world.undo.push(world.hash("c3"));
    let chain = world.map(&[7]);
    world.check_tip(&chain, "c3", 702);
    assert!(!chain.tip().unwrap().linked);
    assert_eq!(ranges(&chain), [(700, 702)]);
    // one that disagrees takes the heights of all
    world.stated.insert(world.hash("c2"), Height(900));
    let records = std::mem::take(world.files.get_mut(&7).unwrap());
    for record in records {
        let name = ["c1", "c2", "c3"].into_iter().find(|name| world.hash(name) == record.hash).unwrap();
        world.store(name, 7);
    }
    let chain = world.map(&[7]);
    assert!(chain.tip().is_none());
    assert_eq!(chain.by_hash(&world.hash("c3")).unwrap().height, None);
}

#[test]
fn an_island_above_a_gap_leads_and_growing_together_joins_both() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2"], "genesis", 0);
    world.connected(&["a3"], "a2", 1);
    for (name, parent, height) in [("a4", "a3", 4), ("a5", "a4", 5)] {
        world.make(name, parent, EASY);
        world.stated.insert(world.hash(name), Height(height));
        world.store(name, 2);
        world.undo.push(world.hash(name));
    }
    let mut chain = world.map(&[0, 2]);
    world.check_tip(&chain, "a5", 5);
    assert_eq!(ranges(&chain), [(0, 2), (4, 5)]);
    assert!(chain.by_height(Height(3)).is_none());
    assert!(!chain.tip().unwrap().linked);
    chain.set_file(&world.file(1));
    world.choose(&mut chain);
    world.check_tip(&chain, "a5", 5);
    assert_eq!(ranges(&chain), [(0, 5)]);
    assert!(chain.tip().unwrap().linked);
}

#[test]
fn an_island_that_overlaps_is_no_part_of_the_chain() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2", "a3"], "genesis", 0);
    world.make("lost", "nobody", EASY);
    world.stated.insert(world.hash("lost"), Height(2));
    world.store("lost", 1);
    world.undo.push(world.hash("lost"));
    let chain = world.map(&[0, 1]);
    assert_eq!(ranges(&chain), [(0, 3)]);
    assert_eq!(chain.by_height(Height(2)).unwrap().hash, world.hash("a2"));
    assert_eq!(chain.by_hash(&world.hash("lost")).unwrap().height, Some(Height(2)));
}

#[test]
fn a_pruned_files_headers_stay_in_the_chain() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2"], "genesis", 0);
    world.connected(&["a3"], "a2", 1);
    let mut chain = world.map(&[0, 1]);
    chain.remove_file(0);
    world.choose(&mut chain);
    world.check_tip(&chain, "a3", 3);
    assert!(!chain.by_height(Height(1)).unwrap().is_stored());
    assert_eq!(chain.file(0), None);
}

#[test]
fn a_file_that_is_set_again_replaces_what_was_known_of_it() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2"], "genesis", 0);
    let mut chain = world.map(&[0]);
    assert_eq!(chain.file(0), Some(world.file(0)));
    // after a crash the node has written another block over the last one
    world.files.get_mut(&0).unwrap().pop();
    world.undo.pop();
    world.connected(&["b2", "b3"], "a1", 0);
    chain.set_file(&world.file(0));
    world.choose(&mut chain);
    world.check_tip(&chain, "b3", 3);
    assert!(!chain.by_hash(&world.hash("a2")).unwrap().is_stored());
    assert_eq!(chain.file(0), Some(world.file(0)));
}

#[test]
fn every_place_of_a_block_is_kept_hopped_to_ones_first() {
    let mut world = World::with_genesis();
    world.connected(&["a1"], "genesis", 0);
    world.store("a1", 1);
    world.files.get_mut(&0).unwrap().last_mut().unwrap().found = Found::Search;
    let chain = world.map(&[0, 1]);
    let files: Vec<_> = chain.by_hash(&world.hash("a1")).unwrap().records().map(|r| r.position.file).collect();
    assert_eq!(files, [1, 0]);
}

#[test]
fn the_choice_asks_for_pairing_and_of_few_blocks() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2", "a3"], "genesis", 0);
    world.connected(&["b2"], "a1", 0);
    let mut chain = world.map(&[0]);
    assert_eq!(*world.asked.borrow(), HashSet::from([world.hash("a3")]));
    assert_eq!(chain.choose(false, &|_| Undo::Unpaired(4)), Err(NeedsPair(4)));
    // a new block on the tip takes over everything below
    world.connected(&["a4"], "a3", 0);
    chain.set_file(&world.file(0));
    world.choose(&mut chain);
    world.check_tip(&chain, "a4", 4);
    assert_eq!(ranges(&chain), [(0, 4)]);
}

#[test]
fn genesis_is_cores() {
    let world = World::with_genesis();
    assert_eq!(world.hash("genesis"), Network::Regtest.genesis_hash());
}

#[test]
fn an_island_leads_by_its_connected_tip_not_by_its_highest_block() {
    let mut world = World::with_genesis();
    world.connected(&["a1", "a2", "a3"], "genesis", 0);
    for (name, parent, height) in [("i1", "gone", 1), ("i2", "i1", 2), ("i3", "i2", 3), ("i4", "i3", 4)] {
        world.make(name, parent, EASY);
        world.stated.insert(world.hash(name), Height(height));
        world.store(name, 1);
    }
    world.undo.push(world.hash("i2"));
    let chain = world.map(&[0, 1]);
    world.check_tip(&chain, "a3", 3);
    assert_eq!(ranges(&chain), [(0, 3)]);
}

#[test]
fn an_inscribed_copy_does_not_decide_what_a_coinbase_states() {
    let mut world = World::default();
    for (name, parent, height) in [("c1", "pruned", 700), ("c2", "c1", 701)] {
        world.make(name, parent, EASY);
        world.stated.insert(world.hash(name), Height(height));
        world.store(name, 7);
        world.undo.push(world.hash(name));
    }
    // The same header with another coinbase behind it, found by searching and walked first.
    let fake = world.files[&7][1];
    let position = Position { file: 6, offset: 8 };
    let fake = BlockRecord { stated_height: Some(Height(9)), found: Found::Search, position, ..fake };
    world.files.insert(6, vec![fake]);
    for order in [[6, 7], [7, 6]] {
        let chain = world.map(&order);
        world.check_tip(&chain, "c2", 701);
        assert_eq!(chain.file(6), Some(world.file(6)));
        assert_eq!(chain.file(7), Some(world.file(7)));
    }
}

#[test]
fn many_copies_of_one_block_take_their_place_each() {
    let mut world = World::with_genesis();
    for _ in 0..50 {
        world.store("genesis", 0);
    }
    let mut chain = world.map(&[0]);
    assert_eq!(chain.file(0), Some(world.file(0)));
    chain.remove_file(0);
    assert!(!chain.by_hash(&world.hash("genesis")).unwrap().is_stored());
}

proptest::proptest! {
    /// However blocks turn up, one by one or all at once, the chain is the same.
    #[test]
    fn the_order_of_arrival_does_not_matter(
        parents in proptest::collection::vec(0_usize..40, 40),
        order in proptest::collection::vec(0_u32..1000, 40),
        gaps in proptest::collection::vec(proptest::bool::weighted(0.2), 40),
    ) {
        const NAMES: [&str; 41] = [
            "genesis", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19",
            "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32", "33", "34", "35", "36", "37", "38",
            "39", "40",
        ];
        let mut world = World::with_genesis();
        let mut heights = vec![0];
        for at in 1..=40 {
            let parent = parents[at - 1] % at;
            world.make(NAMES[at], NAMES[parent], EASY);
            heights.push(heights[parent] + 1);
            world.stated.insert(world.hash(NAMES[at]), Height(heights[at]));
            // Some blocks are in no file: islands.
            if !gaps[at - 1] {
                world.store(NAMES[at], u32::try_from(at).unwrap());
                if order[at - 1] % 3 > 0 {
                    world.undo.push(world.hash(NAMES[at]));
                }
            }
        }
        let mut files: Vec<u32> = world.files.keys().copied().collect();
        files.sort_unstable();
        let at_once = world.map(&files);
        files.sort_by_key(|&file| order[usize::try_from(file).unwrap().saturating_sub(1)]);
        let mut step_by_step = Chain::new(Network::Regtest);
        for file in files {
            step_by_step.set_file(&world.file(file));
            world.choose(&mut step_by_step);
        }
        proptest::prop_assert_eq!(ranges(&at_once), ranges(&step_by_step));
        for name in NAMES {
            let [a, b] = [&at_once, &step_by_step].map(|chain| {
                chain.by_hash(&world.hash(name)).map(|node| (node.height, node.linked, node.work, chain.is_best(node)))
            });
            proptest::prop_assert_eq!(a, b, "{}", name);
        }
    }
}
