//! Disks that are not mounted, and keys that are not the files' own: nothing is taken for a node that starts over.

use std::fs;

use super::support::*;
use crate::source::{BlockSource, Obfuscation, SourceError};

#[test]
fn a_missing_key_is_no_other_key() {
    let dir = Dir::of(regtest());
    let files = dir.open();
    let (key, path) = (files.obfuscation(), dir.blocks().join("xor.dat"));
    fs::remove_file(&path).unwrap();
    let error = files.reread_key().unwrap_err();
    assert!(matches!(&error, SourceError::KeyLost { path: said } if *said == path), "{error}");
    assert_eq!((files.obfuscation(), found(&files.walk(0, None).unwrap()).len()), (key, 207));
    dir.write_key(Some(dir.key));
    assert!(!files.reread_key().unwrap());
}

/// Not even where nothing was obfuscated before, and not before the files are there that it fits.
#[test]
fn a_key_that_does_not_fit_is_no_other_key() {
    for key in [KEY, [0; 8]] {
        let dir = Dir::with_key(regtest().network, Some(key));
        dir.blk(3, &blocks(&regtest().blocks[..3]));
        dir.blk(4, &[Piece::Zeros(100)]);
        let files = dir.open();
        dir.write_key(Some([9; 8]));
        assert!(matches!(files.reread_key(), Err(SourceError::KeyLost { .. })));
        assert_eq!(files.obfuscation(), Obfuscation::new(key));
        let renewed = Dir::with_key(regtest().network, Some([9; 8]));
        fs::write(dir.path("blk", 3), renewed.blk(3, &blocks(&regtest().blocks[..1]))).unwrap();
        assert!(files.reread_key().unwrap());
        assert_eq!(files.obfuscation(), Obfuscation::new([9; 8]));
    }
}

/// A node that has only just been installed makes its key before its first block.
#[test]
fn the_first_key_needs_no_files() {
    let dir = Dir::with_key(regtest().network, None);
    let files = dir.open();
    assert_eq!(files.list().unwrap(), []);
    assert!(!files.reread_key().unwrap());
    dir.write_key(Some(KEY));
    assert!(files.reread_key().unwrap());
}

/// What an unmounted disk leaves is not what pruning leaves.
#[test]
fn an_emptied_directory_is_not_pruned() {
    let dir = Dir::of(regtest());
    let files = dir.open();
    let record = files.walk(0, None).unwrap().records[3];
    assert_eq!(files.list().unwrap().len(), 1);
    fs::remove_file(dir.path("blk", 0)).unwrap();
    fs::remove_file(dir.path("rev", 0)).unwrap();
    assert!(matches!(files.list(), Err(SourceError::Emptied { path }) if path == dir.blocks()));
    assert!(matches!(files.block(&record), Err(SourceError::Emptied { .. })));
    assert!(matches!(files.walk(0, None), Err(SourceError::Emptied { .. })));
    dir.write_key(Some([9; 8]));
    assert!(matches!(files.reread_key(), Err(SourceError::Emptied { .. })));
    fs::remove_dir_all(dir.blocks()).unwrap();
    assert!(matches!(files.reread_key(), Err(SourceError::Vanished { .. })));
    assert!(matches!(files.list(), Err(SourceError::Vanished { .. })));
    fs::create_dir(dir.blocks()).unwrap();
    assert!(matches!(files.list(), Err(SourceError::Emptied { .. })));
    dir.write_key(Some(dir.key));
    dir.blk(0, &blocks(&regtest().blocks[..1]));
    assert_eq!((files.list().unwrap().len(), files.reread_key().unwrap()), (1, false));
}
