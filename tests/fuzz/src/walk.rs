//! A blocks directory of any bytes: walked, paired and read, alone and as it grows.

use std::fs::{create_dir, write};
use std::path::Path;

use bitcoin::Network;
use hindsight::source::{BlockFile, BlockSource, CoreFiles, Datadir, Obfuscation, SourceError};

/// Bytes in front of the files: a key's first half, and how long the `blk` file is.
const HEAD: usize = 8;

/// Writes `key (4) ‖ length of blk (4) ‖ blk ‖ rev` as a regtest directory's files and reads them. The files come
/// without obfuscation, so that the fuzzer sees magics; they are obfuscated on the way to the disk.
pub fn run(bytes: &[u8]) {
    let Some((head, files)) = bytes.split_first_chunk::<HEAD>() else { return };
    let [a, b, c, d, length @ ..] = *head;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX).min(files.len());
    let (blk, rev) = files.split_at(length);
    let key = Obfuscation::new([a, b, c, d, a, b, c, d]);
    let dir = tempfile::tempdir().expect("a place for files");
    let blocks_dir = dir.path().join("blocks");
    create_dir(&blocks_dir).expect("a place for files");
    write(blocks_dir.join("xor.dat"), key.key()).expect("room for files");
    put(&blocks_dir, "rev", key, rev);

    let (magic, network) = (Network::Regtest.magic(), Network::Regtest);
    put(&blocks_dir, "blk", key, blk);
    let block_index = blocks_dir.join("index");
    let datadir = Datadir { blocks_dir: blocks_dir.clone(), block_index, network, magic };
    let files = CoreFiles::open(datadir).expect("a key of 8 bytes");
    let whole = files.walk(0, None).expect("a walk of any bytes");
    check(&files, &whole, blk.len() as u64);

    // What was known of an earlier state of the file leads to the same records, or to a walk from the start.
    put(&blocks_dir, "blk", key, &blk[..blk.len() / 2]);
    let half = files.walk(0, None).expect("a walk of any bytes");
    check(&files, &half, (blk.len() / 2) as u64);
    put(&blocks_dir, "blk", key, blk);
    let grown = files.walk(0, Some(&half)).expect("a walk of any bytes");
    check(&files, &grown, blk.len() as u64);
    let again = files.walk(0, Some(&whole)).expect("a walk of any bytes");
    assert_eq!(again.records, whole.records);
}

fn put(blocks_dir: &Path, kind: &str, key: Obfuscation, bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    key.apply(0, &mut bytes);
    write(blocks_dir.join(format!("{kind}00000.dat")), bytes).expect("room for files");
}

fn check(files: &CoreFiles, blk: &BlockFile, length: u64) {
    for record in &blk.records {
        assert!(u64::from(record.position.offset) + u64::from(record.size) <= length);
        assert!(record.tx_count > 0);
        assert_eq!(files.header(record).expect("the header that was walked"), record.header);
        assert_eq!(files.block(record).expect("as many bytes as were walked").len(), record.size as usize);
    }
    assert!(blk.records.is_sorted_by(|one, next| one.position < next.position));
    let paired = files.pair(blk).expect("pairing of any bytes");
    for undo in &paired.records {
        assert!(blk.records.iter().any(|record| record.hash == undo.block));
        match files.undo(undo) {
            Ok(bytes) => assert_eq!(bytes.len(), undo.size as usize + 32),
            Err(error) => panic!("{error}"),
        }
    }
    let missing = hindsight::source::BlockRecord {
        position: hindsight::source::Position { file: 1, offset: 8 },
        ..match blk.records.first() {
            Some(record) => *record,
            None => return,
        }
    };
    assert!(matches!(files.block(&missing), Err(SourceError::Pruned { .. })));
}
