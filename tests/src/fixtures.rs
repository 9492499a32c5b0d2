//! Real directories, unpacked to a temporary place.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;
use tempfile::TempDir;

/// An unpacked directory, deleted on drop.
pub struct Fixture {
    dir: TempDir,
    name: &'static str,
}

impl Fixture {
    fn unpack(name: &'static str, archive: impl Read) -> Self {
        let dir = tempfile::tempdir().unwrap();
        tar::Archive::new(StreamingDecoder::new(archive).unwrap()).unpack(dir.path()).unwrap();
        Self { dir, name }
    }

    /// The node's data directory.
    pub fn datadir(&self) -> PathBuf {
        self.dir.path().join(self.name)
    }

    /// Where its block and undo files are.
    pub fn blocks_dir(&self) -> PathBuf {
        self.datadir().join("blocks")
    }
}

/// Regtest, heights 0 to 206, written by Core's kernel.
pub fn regtest() -> Fixture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/regtest-kernel-206.tar.zst");
    Fixture::unpack("regtest-kernel-206", File::open(path).unwrap())
}

/// The demo's showcase chain: regtest, heights 0 to 640, made by [`mod@crate::showcase`].
pub fn showcase() -> Fixture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../backend/assets/showcase.tar.zst");
    Fixture::unpack("showcase", File::open(path).unwrap())
}

/// The demo's real chain: testnet3, heights 0 to 2016.
pub fn testnet3() -> Fixture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../backend/assets/testnet3-2017.tar.zst");
    Fixture::unpack("testnet3-2017", File::open(path).unwrap())
}

/// Real mainnet blocks with undo, whose parents are missing. They are not part of the project: without them a line says
/// that they were skipped.
pub fn mainnet_eras() -> Option<Fixture> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/mainnet-eras.tar.zst");
    match File::open(&path) {
        Ok(file) => Some(Fixture::unpack("mainnet-eras", file)),
        Err(_) => {
            println!("skipped: mainnet-eras.tar.zst is not there");
            None
        }
    }
}
