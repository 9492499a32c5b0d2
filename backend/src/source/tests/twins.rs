//! Siblings: the checksum binds undo to the parent alone, so blocks on the same parent are told apart by what they spend.

use bitcoin::BlockHash;

use super::support::*;
use crate::source::UndoFile;

/// Which block got the record with this number.
fn given(paired: &UndoFile) -> Vec<(BlockHash, u32)> {
    let mut offsets: Vec<_> = paired.records.iter().map(|record| record.position.offset).collect();
    offsets.dedup();
    let number = |offset| u32::try_from(offsets.iter().position(|o| *o == offset).unwrap()).unwrap();
    paired.records.iter().map(|record| (record.block, number(record.position.offset))).collect()
}

fn parent() -> (Vec<u8>, BlockHash) {
    let parent = regtest().blocks[206].clone();
    let hash = hash(&parent);
    (parent, hash)
}

/// Of two siblings with coinbases alone, one was connected: nothing tells which, and both have the same undo.
#[test]
fn twins_without_spending_share_one_record() {
    let (parent, prev) = parent();
    let (first, second) = (mine(prev, 1, &[]), mine(prev, 2, &[]));
    let dir = Dir::regtest();
    dir.blk(0, &blocks([&parent, &first, &second]));
    dir.rev(0, &undos([&checked(prev, vec![0])]));
    let paired = dir.pair(0);
    assert_eq!(given(&paired), [(hash(&first), 0), (hash(&second), 0)]);
    assert_eq!(paired.leftovers, 0);
}

/// When both were connected each has a record of its own, in the order in which they arrived.
#[test]
fn twins_with_two_records_have_one_each() {
    let (parent, prev) = parent();
    let twins = [mine(prev, 1, &[spend(2, 1)]), mine(prev, 2, &[spend(2, 1)])];
    let record = undo(prev, &[2], 5, Some(60));
    let dir = Dir::regtest();
    dir.blk(0, &blocks([&parent, &twins[0], &twins[1]]));
    dir.rev(0, &undos([&record, &record, &record]));
    let paired = dir.pair(0);
    assert_eq!(given(&paired), [(hash(&twins[0]), 0), (hash(&twins[1]), 1)]);
    assert_eq!(paired.leftovers, 1);
}

#[test]
fn siblings_are_told_apart_by_the_inputs_of_each_transaction() {
    let (parent, prev) = parent();
    let first = mine(prev, 1, &[spend(1, 1), spend(2, 2)]);
    let second = mine(prev, 2, &[spend(2, 1), spend(1, 2)]);
    let child = mine(hash(&second), 3, &[spend(3, 3)]);
    let dir = Dir::regtest();
    dir.blk(0, &blocks([&parent, &first, &second, &child]));
    // Only the second was connected, and its child after it.
    let records = [undo(prev, &[2, 1], 5, Some(60)), undo(hash(&second), &[3], 5, Some(60))];
    dir.rev(0, &undos(&records));
    assert_eq!(given(&dir.pair(0)), [(hash(&second), 0), (hash(&child), 1)]);
    // The first was connected after all.
    dir.rev(0, &undos(records.iter().chain([&undo(prev, &[1, 2], 5, Some(60))])));
    let paired = dir.pair(0);
    assert_eq!(given(&paired), [(hash(&second), 0), (hash(&child), 1), (hash(&first), 2)]);
    assert_eq!(paired.leftovers, 0);
}

/// A sibling that is not in the file any more: its undo fits none of those that are.
#[test]
fn undo_that_fits_neither_sibling_is_left_over() {
    let (parent, prev) = parent();
    let (first, second) = (mine(prev, 1, &[spend(1, 1)]), mine(prev, 2, &[spend(2, 2)]));
    let dir = Dir::regtest();
    dir.blk(0, &blocks([&parent, &first, &second]));
    dir.rev(0, &undos([&undo(prev, &[3], 5, Some(60))]));
    let paired = dir.pair(0);
    assert_eq!((paired.records.len(), paired.leftovers), (0, 1));
}

/// Very old undo has neither height nor coinbase flag, and one byte less with it.
#[test]
fn undo_without_heights_tells_siblings_apart_too() {
    let (parent, prev) = parent();
    let first = mine(prev, 1, &[spend(2, 1), spend(3, 2)]);
    let second = mine(prev, 2, &[spend(3, 1), spend(2, 2)]);
    let dir = Dir::regtest();
    dir.blk(0, &blocks([&parent, &first, &second]));
    dir.rev(0, &undos([&undo(prev, &[3, 2], 5, None), &undo(prev, &[2, 3], 5, None)]));
    assert_eq!(given(&dir.pair(0)), [(hash(&second), 0), (hash(&first), 1)]);
}
