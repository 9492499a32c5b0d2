//! What the index sorts by: 40 bits of a txid, or of a keyed hash.
//!
//! A txid's own bytes are as good as random, and its first ones as displayed are what people type; who makes many with the
//! same ones pays for each with 2⁴⁰ hashes. Scripts and outpoints are anybody's choice, and collisions of a known hash
//! could be mined: theirs is SipHash with a secret of this index.

use bitcoin::hashes::{Hash, HashEngine, siphash24};
use bitcoin::{Script, Txid};

/// Bits of a prefix.
pub const PREFIX_BITS: u32 = 40;

/// The first [`PREFIX_BITS`] of a hash, as a number below 2⁴⁰.
pub type Prefix = u64;

/// The largest prefix.
pub const MAX_PREFIX: Prefix = (1 << PREFIX_BITS) - 1;

/// The first bytes of a txid as displayed.
pub fn of_txid(txid: &Txid) -> Prefix {
    let [.., e, d, c, b, a] = *txid.as_byte_array();
    u64::from_be_bytes([0, 0, 0, a, b, c, d, e])
}

/// The secret of an index.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Secret(pub [u8; 16]);

impl Secret {
    /// One that nobody knows.
    ///
    /// # Errors
    /// Where the system gives no random bytes.
    pub fn random() -> std::io::Result<Self> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret)?;
        Ok(Self(secret))
    }

    /// Of a scriptPubKey.
    pub fn of_script(&self, script: &Script) -> Prefix {
        self.hash(&[script.as_bytes()])
    }

    /// Of an output, as its spender names it.
    pub fn of_outpoint(&self, txid: &Txid, vout: u32) -> Prefix {
        self.hash(&[txid.as_byte_array(), &vout.to_le_bytes()])
    }

    fn hash(&self, parts: &[&[u8]]) -> Prefix {
        let (low, high) = self.0.split_at(8);
        let key = |half: &[u8]| half.iter().rev().fold(0, |key, byte| key << 8 | u64::from(*byte));
        let mut engine = siphash24::HashEngine::with_keys(key(low), key(high));
        for part in parts {
            engine.input(part);
        }
        siphash24::Hash::from_engine(engine).as_u64() >> (u64::BITS - PREFIX_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_txid_is_sorted_by_what_people_type() {
        let txid: Txid = "f0315ffc38709d70ad5647e22048358dd3745f3ce3874223c80a7c92fab0c8ba".parse().unwrap();
        assert_eq!(of_txid(&txid), 0x00f0_315f_fc38);
    }

    /// The first vectors of the reference implementation (`vectors.h` of github.com/veorq/SipHash), whose key is 00 to 0f
    /// and whose messages are nothing, 00, 00 01, and so on.
    #[test]
    fn hashes_are_those_of_siphash_2_4() {
        let secret = Secret(std::array::from_fn(|at| u8::try_from(at).unwrap()));
        for (message, hash) in [(&[][..], 0x726f_db47_dd0e_0e31_u64), (&[0], 0x74f8_39c5_93dc_67fd)] {
            assert_eq!(secret.of_script(Script::from_bytes(message)), hash >> 24);
        }
    }
}
