//! The five networks: what Bitcoin Core's chain parameters say of each, as far as reading blocks needs it.
//!
//! A custom signet has a magic of its own (the first bytes of its challenge's hash) and everything else in common
//! with the default one, so the magic travels beside the network.

use std::fmt;
use std::str::FromStr;

use bitcoin::p2p::Magic;
use bitcoin::{Amount, BlockHash, Network, block::Header};
use serde::{Deserialize, Serialize};

/// A block's distance from genesis.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Height(pub u32);

impl Height {
    /// The height above; `None` at the end of the number's range.
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    /// The height below; `None` at genesis.
    pub fn previous(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Height {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Facts of `src/kernel/chainparams.cpp` that the `bitcoin` crate does not have, or has otherwise.
pub trait NetworkExt: Sized {
    /// The network of a magic; `None` for one that only a custom signet can have.
    fn of_magic(magic: Magic) -> Option<Self>;
    /// The folder below the data directory; empty for mainnet.
    fn folder(self) -> &'static str;
    /// The name that `-chain=` and `getblockchaininfo` use.
    fn chain_name(self) -> &'static str;
    /// From this height on a block's coinbase has to start with its height (BIP34).
    fn bip34_height(self) -> Height;
    /// From this height on blocks commit to witnesses (BIP141).
    fn segwit_height(self) -> Height;
    /// What a block at `height` may create.
    fn subsidy(self, height: Height) -> Amount;
    /// Hash of the first block.
    fn genesis_hash(self) -> BlockHash;
}

impl NetworkExt for Network {
    fn of_magic(magic: Magic) -> Option<Self> {
        Self::try_from(magic).ok()
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Bitcoin => "",
            Self::Testnet => "testnet3",
            Self::Testnet4 => "testnet4",
            Self::Signet => "signet",
            Self::Regtest => "regtest",
        }
    }

    fn chain_name(self) -> &'static str {
        match self {
            Self::Bitcoin => "main",
            Self::Testnet => "test",
            Self::Testnet4 => "testnet4",
            Self::Signet => "signet",
            Self::Regtest => "regtest",
        }
    }

    fn bip34_height(self) -> Height {
        Height(match self {
            Self::Bitcoin => 227_931,
            Self::Testnet => 21_111,
            Self::Testnet4 | Self::Signet | Self::Regtest => 1,
        })
    }

    fn segwit_height(self) -> Height {
        Height(match self {
            Self::Bitcoin => 481_824,
            Self::Testnet => 834_624,
            Self::Testnet4 | Self::Signet => 1,
            Self::Regtest => 0,
        })
    }

    fn subsidy(self, height: Height) -> Amount {
        let interval = if self == Self::Regtest { 150 } else { 210_000 };
        let halvings = height.0 / interval;
        Amount::from_sat(Amount::from_int_btc(50).to_sat().checked_shr(halvings).unwrap_or(0))
    }

    fn genesis_hash(self) -> BlockHash {
        bitcoin::blockdata::constants::genesis_block(self).block_hash()
    }
}

/// The network that a payload's magic stands for: anything unknown can only be a custom signet.
pub fn network_of(magic: Magic) -> Network {
    Network::of_magic(magic).unwrap_or(Network::Signet)
}

/// Blocks of mainnet whose coinbase was made again, with the same txid, before it was spent: its coin was overwritten and is
/// lost (Core's `IsBIP30Unspendable`, `src/validation.cpp`).
pub fn is_bip30_unspendable(height: Height, block: &BlockHash) -> bool {
    let lost = match height.0 {
        91_722 => "00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e",
        91_812 => "00000000000af0aed4792b1acee3d966af36cf5def14935db8de83d6f9306f2f",
        _ => return false,
    };
    block.to_string() == lost
}

/// The height that a block states of itself (BIP34): the coinbase script starts with exactly `CScript() << height`,
/// the version is at least 2, and the height is one at which the network asks for it. Earlier coinbases hold
/// accidental heights (mainnet 176,684 says 490,897).
pub fn bip34_height(network: Network, header: &Header, coinbase_script: &[u8]) -> Option<Height> {
    if header.version.to_consensus() < 2 {
        return None;
    }
    let height = stated_height(coinbase_script)?;
    (height >= network.bip34_height()).then_some(height)
}

fn stated_height(script: &[u8]) -> Option<Height> {
    let height = match *script.first()? {
        0 => 0,
        small @ 0x51..=0x60 => u32::from(small - 0x50),
        length @ 1..=5 => {
            let digits = script.get(1..=usize::from(length))?;
            let value = digits.iter().rev().try_fold(0_u32, |sum, &digit| {
                sum.checked_mul(256).and_then(|sum| sum.checked_add(u32::from(digit)))
            })?;
            let minimal =
                if value <= 16 { return None } else { bitcoin::script::Builder::new().push_int(value.into()) };
            script.starts_with(minimal.as_bytes()).then_some(value)?
        }
        _ => return None,
    };
    // Heights are signed 32-bit numbers in Core.
    i32::try_from(height).is_ok().then_some(Height(height))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn two_coinbases_were_overwritten() {
        let block: BlockHash = "00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e".parse().unwrap();
        assert!(is_bip30_unspendable(Height(91_722), &block));
        // Its repetition, and another network's block of that height.
        assert!(!is_bip30_unspendable(Height(91_880), &block));
        assert!(!is_bip30_unspendable(Height(91_722), &Network::Testnet.genesis_hash()));
    }

    #[test]
    fn subsidies_halve_until_nothing_is_left() {
        let sat = |height| Network::Bitcoin.subsidy(Height(height)).to_sat();
        assert_eq!(sat(0), 5_000_000_000);
        assert_eq!(sat(209_999), 5_000_000_000);
        assert_eq!(sat(210_000), 2_500_000_000);
        assert_eq!(sat(840_000), 312_500_000);
        assert_eq!(sat(6_930_000), 0);
        assert_eq!(sat(u32::MAX), 0);
        assert_eq!(Network::Regtest.subsidy(Height(150)).to_sat(), 2_500_000_000);
    }

    #[track_caller]
    fn check_height(script: &[u8], expect: Option<u32>) {
        assert_eq!(stated_height(script), expect.map(Height), "{script:02x?}");
    }

    /// `CScript() << height` of Core's `src/script/script.h`: OP_1..OP_16, then minimal pushes with room for the sign.
    #[test]
    fn only_the_exact_push_states_a_height() {
        check_height(&[0x51, 0x00], Some(1));
        check_height(&[0x60], Some(16));
        check_height(&[0x01, 0x11], Some(17));
        check_height(&[0x01, 0x7f], Some(127));
        check_height(&[0x02, 0x80, 0x00], Some(128));
        check_height(&[0x01, 0x80], None);
        check_height(&[0x01, 0x10], None);
        check_height(&[0x03, 0x40, 0x0d, 0x03], Some(200_000));
        check_height(&[0x04, 0x40, 0x0d, 0x03, 0x00], None);
        check_height(&[0x03, 0x40, 0x0d], None);
        check_height(&[0x05, 0xff, 0xff, 0xff, 0xff, 0x00], None);
        check_height(&[], None);
    }

    #[test]
    fn a_custom_signets_magic_is_no_known_network() {
        assert_eq!(Network::of_magic(Magic::from_bytes([1, 2, 3, 4])), None);
        assert_eq!(network_of(Magic::from_bytes([1, 2, 3, 4])), Network::Signet);
        assert_eq!(network_of(Magic::from_bytes([0xf9, 0xbe, 0xb4, 0xd9])), Network::Bitcoin);
    }
}
