//! The chains that the binary carries, in the files that Bitcoin Core's own code wrote.
//!
//! They are unpacked to a directory and read like any node's, so that the demo shows the real thing.

use std::io;
use std::path::{Path, PathBuf};

/// Made by `cargo xtask showcase`.
const SHOWCASE: &[u8] = include_bytes!("../assets/showcase.tar.zst");

/// Blocks from the npm package `bitcore-node` 3.1.3 (MIT), written to files by Bitcoin Core's own code.
const TESTNET3: &[u8] = include_bytes!("../assets/testnet3-2017.tar.zst");

/// A chain that the binary carries.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum DemoChain {
    /// A few hundred made blocks whose last are like mainnet's today
    #[default]
    Showcase,
    /// The first 2,017 blocks of testnet3
    Testnet3,
}

impl DemoChain {
    /// Each of them.
    pub const ALL: [Self; 2] = [Self::Showcase, Self::Testnet3];

    /// Its name, as in `--chain` and in addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Showcase => "showcase",
            Self::Testnet3 => "testnet3",
        }
    }

    /// Its name for readers.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Showcase => "Showcase",
            Self::Testnet3 => "testnet3",
        }
    }

    /// What a reader has to know of it.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Showcase => {
                "A chain made for this demo, whose last blocks are as full and as varied as mainnet's today. Coins, miners and \
                 messages are invented; signatures and rules are real: Bitcoin Core's own code checked and wrote every block."
            }
            Self::Testnet3 => "The first 2,017 blocks of testnet3, real ones, as Bitcoin Core wrote them.",
        }
    }

    /// Unpacks the chain below `dir` and returns its data directory.
    ///
    /// # Errors
    /// As the disk fails.
    pub fn unpack(self, dir: &Path) -> io::Result<PathBuf> {
        let (archive, folder) = match self {
            Self::Showcase => (SHOWCASE, "showcase"),
            Self::Testnet3 => (TESTNET3, "testnet3-2017"),
        };
        let archive = ruzstd::decoding::StreamingDecoder::new(archive).map_err(io::Error::other)?;
        tar::Archive::new(archive).unpack(dir)?;
        Ok(dir.join(folder))
    }
}
