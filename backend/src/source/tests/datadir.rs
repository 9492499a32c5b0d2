//! Finding the blocks directory and its network, wherever people point.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bitcoin::p2p::Magic;
use bitcoin::{Network, ScriptBuf};
use tempfile::tempdir;

use super::support::*;
use crate::source::{Datadir, DatadirOptions, Obfuscation, SourceError};

const FOLDERS: [(Network, &str); 5] = [
    (Network::Bitcoin, ""),
    (Network::Testnet, "testnet3"),
    (Network::Testnet4, "testnet4"),
    (Network::Signet, "signet"),
    (Network::Regtest, "regtest"),
];

/// Makes `root/folder/blocks` with one file that starts with `magic`.
fn make(root: &Path, folder: &str, magic: Magic) -> PathBuf {
    let blocks = root.join(folder).join("blocks");
    fs::create_dir_all(&blocks).unwrap();
    fs::write(blocks.join("xor.dat"), KEY).unwrap();
    fs::write(blocks.join("blk00000.dat"), xor(KEY, 0, &magic.to_bytes())).unwrap();
    blocks
}

fn open(datadir: impl Into<PathBuf>, network: Option<Network>) -> Result<Datadir, SourceError> {
    Datadir::open(&DatadirOptions { datadir: datadir.into(), network, ..Default::default() })
}

#[test]
fn each_network_is_recognised_wherever_one_points() {
    for (network, folder) in FOLDERS {
        let temp = tempdir().unwrap();
        let blocks_dir = make(temp.path(), folder, network.magic());
        let expected = Datadir {
            blocks_dir: blocks_dir.clone(),
            block_index: blocks_dir.join("index"),
            network,
            magic: network.magic(),
        };
        for place in [temp.path().to_owned(), temp.path().join(folder), blocks_dir.clone()] {
            for asked in [None, Some(network)] {
                let found = open(&place, asked).unwrap();
                assert_eq!(found.blocks_dir.canonicalize().unwrap(), blocks_dir.canonicalize().unwrap());
                assert_eq!((found.network, found.magic), (expected.network, expected.magic), "{folder} {asked:?}");
            }
        }
    }
}

/// A folder says nothing that the files do not confirm: any name will do.
#[test]
fn the_magic_counts_not_the_folder() {
    let temp = tempdir().unwrap();
    make(temp.path(), "", Network::Testnet4.magic());
    assert_eq!(open(temp.path(), None).unwrap().network, Network::Testnet4);
    let renamed = tempdir().unwrap();
    make(renamed.path(), "signet", Network::Bitcoin.magic());
    assert_eq!(open(renamed.path(), None).unwrap().network, Network::Bitcoin);
}

#[test]
fn blocks_may_be_kept_elsewhere() {
    let (data, elsewhere) = (tempdir().unwrap(), tempdir().unwrap());
    make(data.path(), "", Network::Bitcoin.magic());
    let blocks_dir = make(elsewhere.path(), "testnet4", Network::Testnet4.magic());
    let options = DatadirOptions {
        datadir: data.path().into(),
        blocksdir: Some(elsewhere.path().into()),
        network: Some(Network::Testnet4),
        signet_challenge: None,
    };
    assert_eq!(Datadir::open(&options).unwrap().blocks_dir, blocks_dir);
}

#[test]
fn of_several_networks_main_is_taken_or_the_one_asked_for() {
    let temp = tempdir().unwrap();
    make(temp.path(), "testnet4", Network::Testnet4.magic());
    make(temp.path(), "regtest", Network::Regtest.magic());
    let error = open(temp.path(), None).unwrap_err();
    assert!(matches!(error, SourceError::SeveralNetworks { .. }));
    assert!(error.to_string().ends_with("holds blocks of testnet4, regtest: say which one with --network"), "{error}");
    make(temp.path(), "", Network::Bitcoin.magic());
    assert_eq!(open(temp.path(), None).unwrap().network, Network::Bitcoin);
    assert_eq!(open(temp.path(), Some(Network::Regtest)).unwrap().network, Network::Regtest);
}

#[test]
fn another_network_than_asked_for_is_refused() {
    let temp = tempdir().unwrap();
    let blocks = make(temp.path(), "", Network::Testnet.magic());
    for place in [temp.path(), &blocks] {
        let error = open(place, Some(Network::Bitcoin)).unwrap_err();
        assert!(matches!(error, SourceError::WrongNetwork { asked: Network::Bitcoin, .. }), "{error}");
        assert!(error.to_string().contains("holds blocks of test, but bitcoin was asked for"), "{error}");
    }
}

/// The default signet's challenge and magic are in Core's `src/kernel/chainparams.cpp`.
#[test]
fn a_custom_signet_may_have_any_magic() {
    let challenge = "512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae";
    let options = |datadir: &Path, challenge: &str| DatadirOptions {
        datadir: datadir.into(),
        signet_challenge: Some(ScriptBuf::from_hex(challenge).unwrap()),
        ..Default::default()
    };
    let default = tempdir().unwrap();
    make(default.path(), "signet", Network::Signet.magic());
    assert_eq!(Datadir::open(&options(default.path(), challenge)).unwrap().network, Network::Signet);
    assert!(matches!(Datadir::open(&options(default.path(), "51")), Err(SourceError::WrongChallenge { .. })));

    let custom = Magic::from_bytes([1, 2, 3, 4]);
    let temp = tempdir().unwrap();
    make(temp.path(), "signet", custom);
    let found = open(temp.path(), None).unwrap();
    assert_eq!((found.network, found.magic), (Network::Signet, custom));
    let elsewhere = tempdir().unwrap();
    make(elsewhere.path(), "", custom);
    assert!(matches!(open(elsewhere.path(), None), Err(SourceError::UnknownMagic { .. })));
    assert_eq!(open(elsewhere.path(), Some(Network::Signet)).unwrap().magic, custom);
}

/// A key that is not the files' own makes every magic an unknown one.
#[test]
fn a_wrong_key_is_suspected() {
    let temp = tempdir().unwrap();
    let blocks = make(temp.path(), "", Network::Bitcoin.magic());
    fs::write(blocks.join("xor.dat"), [1; 8]).unwrap();
    let error = open(temp.path(), None).unwrap_err();
    assert!(error.to_string().contains("check that xor.dat is the one"), "{error}");
}

#[test]
fn a_key_has_exactly_eight_bytes() {
    let temp = tempdir().unwrap();
    let path = temp.path().join("xor.dat");
    for len in [0, 1, 7, 9, 100_000] {
        fs::write(&path, vec![1; len]).unwrap();
        let error = Obfuscation::read(temp.path()).unwrap_err();
        assert!(matches!(error, SourceError::BadKey { len: said, .. } if said == len as u64), "{error}");
    }
    fs::write(&path, KEY).unwrap();
    assert_eq!(Obfuscation::read(temp.path()).unwrap().key(), KEY);
}

/// A node that has only just started: no blocks yet, or a first file whose start was lost.
#[test]
fn the_first_file_need_not_tell() {
    let temp = tempdir().unwrap();
    fs::create_dir_all(temp.path().join("testnet4/blocks")).unwrap();
    assert_eq!(open(temp.path(), None).unwrap().network, Network::Testnet4);
    let blocks = make(temp.path(), "testnet4", Network::Testnet4.magic());
    fs::rename(blocks.join("blk00000.dat"), blocks.join("blk00003.dat")).unwrap();
    fs::write(blocks.join("blk00000.dat"), []).unwrap();
    fs::write(blocks.join("blk00001.dat"), [0; 100]).unwrap();
    fs::write(blocks.join("blk00002.dat"), [5; 100]).unwrap();
    assert_eq!(open(temp.path(), None).unwrap().magic, Network::Testnet4.magic());
}

#[test]
fn a_place_without_blocks_is_told_with_what_to_give_instead() {
    let temp = tempdir().unwrap();
    let error = open(temp.path(), None).unwrap_err();
    assert!(error.to_string().contains("holds no block files: give the node's data directory"), "{error}");
    let error = open(temp.path().join("nowhere"), None).unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
}

/// Nodes keep their directories to themselves (umask 0077).
#[test]
fn what_may_not_be_read_names_its_owner_and_the_remedies() {
    let temp = tempdir().unwrap();
    let path = temp.path().join("blocks/blk00000.dat");
    let message = SourceError::io(&path, io::Error::from(io::ErrorKind::PermissionDenied)).to_string();
    let uid = std::os::unix::fs::MetadataExt::uid(&fs::metadata(temp.path()).unwrap());
    for part in ["permission denied", &format!("uid {uid}"), "as that user", "setfacl", "yet to create"] {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
    // Wallets lie next to the blocks directory: that alone is to be opened, with all that is yet to come.
    let blocks = temp.path().join("blocks");
    for asked in [path, blocks.clone(), temp.path().into()] {
        let message = SourceError::io(&asked, io::Error::from(io::ErrorKind::PermissionDenied)).to_string();
        let command = format!("setfacl -R -m u:USER:rX,d:u:USER:rX {} ", blocks.display());
        assert!(message.contains(&command), "no {command:?} in: {message}");
    }
}
