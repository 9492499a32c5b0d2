//! Merkle roots, as block headers and witness commitments hold them.

use bitcoin::hashes::{Hash, HashEngine, sha256d};

/// Root of the merkle tree over `leaves`, and whether two equal neighbours make another list of leaves give the same
/// root (CVE-2012-2459; Core `src/consensus/merkle.cpp`). No leaves give the zero hash.
pub fn merkle_root(mut leaves: Vec<sha256d::Hash>) -> (sha256d::Hash, bool) {
    let mut mutated = false;
    while leaves.len() > 1 {
        mutated |= leaves.chunks_exact(2).any(|pair| pair[0] == pair[1]);
        for parent in 0..leaves.len().div_ceil(2) {
            let left = leaves[2 * parent];
            let right = leaves.get(2 * parent + 1).copied().unwrap_or(left);
            leaves[parent] = parent_hash(left, right);
        }
        leaves.truncate(leaves.len().div_ceil(2));
    }
    (leaves.first().copied().unwrap_or_else(sha256d::Hash::all_zeros), mutated)
}

fn parent_hash(left: sha256d::Hash, right: sha256d::Hash) -> sha256d::Hash {
    let mut engine = sha256d::Hash::engine();
    engine.input(left.as_byte_array());
    engine.input(right.as_byte_array());
    sha256d::Hash::from_engine(engine)
}
