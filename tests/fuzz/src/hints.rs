//! Tables and logs of LevelDB with Core's index of blocks: hints prove themselves by their hash, and no bytes give more of
//! them than there is room for.

use hindsight::source::Hints;

/// Bytes of a header, which every entry holds.
const HEADER: usize = 80;

/// Reads `bytes` as a table or as a log, as the first of them says.
pub fn run(bytes: &[u8]) {
    let Some((kind, file)) = bytes.split_first() else { return };
    let hints = if kind & 1 == 0 { Hints::of_table(file) } else { Hints::of_log(file) };
    assert!(hints.len() * HEADER <= file.len());
    assert_eq!(hints.is_empty(), hints.iter().next().is_none());
    for hint in hints.iter() {
        assert_eq!(hint.header.block_hash(), hint.hash);
        assert_eq!(hints.get(&hint.hash), Some(hint));
    }
}
