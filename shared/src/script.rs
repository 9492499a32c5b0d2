//! What a scriptPubKey is and how people write it: Core's output types, addresses, and asm.

use bitcoin::opcodes::all as op;
use bitcoin::script::Instruction;
use bitcoin::{Address, Network, Script};

use crate::prevouts::PrevoutScript;

/// Core's output types (`src/script/solver.cpp`), whose order here is the bit order of [`KindSet`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ScriptKind {
    /// `pubkey`: to a public key.
    P2pk,
    /// `pubkeyhash`.
    P2pkh,
    /// `scripthash`.
    P2sh,
    /// `multisig`: keys bare in the output.
    Multisig,
    /// `witness_v0_keyhash`.
    P2wpkh,
    /// `witness_v0_scripthash`.
    P2wsh,
    /// `witness_v1_taproot`.
    P2tr,
    /// `anchor`: pay to anchor.
    P2a,
    /// `nulldata`: OP_RETURN followed by pushes only.
    NullData,
    /// `witness_unknown`: a witness version without rules yet.
    WitnessUnknown,
    /// `nonstandard`: anything else.
    Nonstandard,
}

impl ScriptKind {
    /// All kinds, in order.
    pub const ALL: [Self; 11] = [
        Self::P2pk,
        Self::P2pkh,
        Self::P2sh,
        Self::Multisig,
        Self::P2wpkh,
        Self::P2wsh,
        Self::P2tr,
        Self::P2a,
        Self::NullData,
        Self::WitnessUnknown,
        Self::Nonstandard,
    ];

    /// The name that people use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P2pk => "P2PK",
            Self::P2pkh => "P2PKH",
            Self::P2sh => "P2SH",
            Self::Multisig => "bare multisig",
            Self::P2wpkh => "P2WPKH",
            Self::P2wsh => "P2WSH",
            Self::P2tr => "P2TR",
            Self::P2a => "P2A",
            Self::NullData => "OP_RETURN",
            Self::WitnessUnknown => "unknown witness",
            Self::Nonstandard => "nonstandard",
        }
    }

    /// The name that Core's RPC uses.
    pub const fn core_name(self) -> &'static str {
        match self {
            Self::P2pk => "pubkey",
            Self::P2pkh => "pubkeyhash",
            Self::P2sh => "scripthash",
            Self::Multisig => "multisig",
            Self::P2wpkh => "witness_v0_keyhash",
            Self::P2wsh => "witness_v0_scripthash",
            Self::P2tr => "witness_v1_taproot",
            Self::P2a => "anchor",
            Self::NullData => "nulldata",
            Self::WitnessUnknown => "witness_unknown",
            Self::Nonstandard => "nonstandard",
        }
    }

    /// The kind of a script (Core's `Solver`).
    pub fn of(script: &Script) -> Self {
        let bytes = script.as_bytes();
        if script.is_p2sh() {
            Self::P2sh
        } else if let Some(version) = script.witness_version() {
            match (version.to_num(), &bytes[2..]) {
                (0, program) if program.len() == 20 => Self::P2wpkh,
                (0, program) if program.len() == 32 => Self::P2wsh,
                (0, _) => Self::Nonstandard,
                (1, program) if program.len() == 32 => Self::P2tr,
                (1, [0x4e, 0x73]) => Self::P2a,
                _ => Self::WitnessUnknown,
            }
        } else if bytes.first() == Some(&op::OP_RETURN.to_u8()) {
            if Script::from_bytes(&bytes[1..]).is_push_only() { Self::NullData } else { Self::Nonstandard }
        } else if is_p2pk(bytes) {
            Self::P2pk
        } else if script.is_p2pkh() {
            Self::P2pkh
        } else if is_multisig(script) {
            Self::Multisig
        } else {
            Self::Nonstandard
        }
    }

    /// The kind of a spent output, unpacked only where its form does not tell.
    pub fn of_prevout(script: PrevoutScript<'_>) -> Self {
        match script {
            PrevoutScript::P2pkh(_) => Self::P2pkh,
            PrevoutScript::P2sh(_) => Self::P2sh,
            PrevoutScript::P2pkCompressed(..) | PrevoutScript::P2pkUncompressed(..) => Self::P2pk,
            PrevoutScript::Raw(bytes) => Self::of(Script::from_bytes(bytes)),
            PrevoutScript::Oversized => Self::NullData,
        }
    }
}

/// Core's `MatchPayToPubkey`: one push of a key whose first byte fits its length, and OP_CHECKSIG.
fn is_p2pk(bytes: &[u8]) -> bool {
    match bytes {
        [33, key @ .., 0xac] => key.len() == 33 && is_key(key),
        [65, key @ .., 0xac] => key.len() == 65 && is_key(key),
        _ => false,
    }
}

/// Core's `CPubKey::ValidSize`: no look at the curve.
fn is_key(key: &[u8]) -> bool {
    matches!((key.first(), key.len()), (Some(2 | 3), 33) | (Some(4 | 6 | 7), 65))
}

/// Core's `MatchMultisig`: `m <keys> n OP_CHECKMULTISIG` with 1 ≤ m ≤ n ≤ 20, the numbers pushed the shortest way.
fn is_multisig(script: &Script) -> bool {
    let Some(body) = script.as_bytes().strip_suffix(&[op::OP_CHECKMULTISIG.to_u8()]) else { return false };
    let Some((required, rest)) = small_number(body) else { return false };
    let mut keys = 0;
    for item in Script::from_bytes(rest).instruction_indices() {
        match item {
            Ok((_, Instruction::PushBytes(key))) if is_key(key.as_bytes()) => keys += 1,
            Ok((at, _)) => return small_number(&rest[at..]) == Some((keys, &[])) && required <= keys,
            Err(_) => return false,
        }
    }
    false
}

/// A number from 1 to 20 at the start of a script, and what follows it.
fn small_number(script: &[u8]) -> Option<(usize, &[u8])> {
    match script {
        [code @ 0x51..=0x60, rest @ ..] => Some((usize::from(code - 0x50), rest)),
        [1, number @ 17..=20, rest @ ..] => Some((usize::from(*number), rest)),
        _ => None,
    }
}

/// Whether an output can never be spent: it starts with OP_RETURN or is over 10,000 bytes (Core's `IsUnspendable`).
pub fn is_unspendable(script: &Script) -> bool {
    script.as_bytes().first() == Some(&op::OP_RETURN.to_u8()) || script.len() > 10_000
}

/// The address of a script, where it has one.
pub fn address(script: &Script, network: Network) -> Option<String> {
    Address::from_script(script, network).ok().map(|address| address.to_string())
}

/// The script in words; an announced push beyond the end is said, not hidden.
pub fn asm(script: &Script) -> String {
    script.to_asm_string()
}

/// What a push of text says, for OP_RETURN and coinbase scripts: the valid UTF-8 in it, everything else as `·`.
pub fn text(bytes: &[u8]) -> String {
    bytes
        .utf8_chunks()
        .flat_map(|chunk| {
            chunk
                .valid()
                .chars()
                .map(|char| if char.is_control() { '·' } else { char })
                .chain(chunk.invalid().iter().map(|_| '·'))
        })
        .collect()
}

/// Several kinds at once: which ones occur in a transaction.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct KindSet(pub u16);

impl KindSet {
    /// The set that holds one kind.
    pub const fn one(kind: ScriptKind) -> Self {
        Self(1 << kind as u16)
    }

    /// Adds a kind.
    pub const fn insert(&mut self, kind: ScriptKind) {
        self.0 |= Self::one(kind).0;
    }

    /// Whether a kind is in it.
    pub const fn contains(self, kind: ScriptKind) -> bool {
        self.0 & Self::one(kind).0 != 0
    }

    /// The kinds in it, in order.
    pub fn iter(self) -> impl Iterator<Item = ScriptKind> {
        ScriptKind::ALL.into_iter().filter(move |&kind| self.contains(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::ScriptBuf;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(hex: &str, kind: ScriptKind, on_mainnet: Option<&str>) {
        let script = ScriptBuf::from_hex(hex).unwrap();
        assert_eq!(ScriptKind::of(&script), kind);
        assert_eq!(address(&script, Network::Bitcoin).as_deref(), on_mainnet);
    }

    /// Addresses of BIP173, BIP350, and Core's `src/test/data/key_io_valid.json` and documentation.
    #[test]
    fn kinds_and_addresses() {
        check(
            "76a91465a16059864a2fdbc7c99a4723a8395bc6f188eb88ac",
            ScriptKind::P2pkh,
            Some("1AGNa15ZQXAZUgFiqJ2i7Z2DPU2J6hW62i"),
        );
        check(
            "a91463bcc565f9e68ee0189dd5cc67f1b0e5f02f45cb87",
            ScriptKind::P2sh,
            Some("3AnNxabYGoTxYiTEZwFEnerUoeFXK2Zoks"),
        );
        let genesis = bitcoin::blockdata::constants::genesis_block(Network::Bitcoin);
        check(&genesis.txdata[0].output[0].script_pubkey.to_hex_string(), ScriptKind::P2pk, None);
    }

    #[test]
    fn segwit_programs_after_bip173_and_bip350() {
        check(
            "0014751e76e8199196d454941c45d1b3a323f1433bd6",
            ScriptKind::P2wpkh,
            Some("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"),
        );
        check(
            "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
            ScriptKind::P2tr,
            Some("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"),
        );
        check("6002751e", ScriptKind::WitnessUnknown, Some("bc1sw50qgdz25j"));
        check("51024e73", ScriptKind::P2a, Some("bc1pfeessrawgf"));
    }

    #[test]
    fn multisig_follows_cores_solver() {
        let key = format!("2102{}", "11".repeat(32));
        check(&format!("51{key}51ae"), ScriptKind::Multisig, None);
        check(&format!("51{key}{key}52ae"), ScriptKind::Multisig, None);
        check(&format!("52{key}51ae"), ScriptKind::Nonstandard, None);
        // 0 of 0, and a multisig behind another check
        check("0000ae", ScriptKind::Nonstandard, None);
        check(&format!("{key}ad51{key}{key}{key}53ae"), ScriptKind::Nonstandard, None);
    }

    #[test]
    fn null_data_is_pushes_only() {
        check("6a", ScriptKind::NullData, None);
        check("6a0548656c6c6f", ScriptKind::NullData, None);
        check("6aac", ScriptKind::Nonstandard, None);
        check("6a4c", ScriptKind::Nonstandard, None);
        check("", ScriptKind::Nonstandard, None);
    }

    #[test]
    fn a_push_beyond_the_end_is_said() {
        let script = ScriptBuf::from_hex("4c75aabb").unwrap();
        assert_eq!(asm(&script), "OP_PUSHDATA1 <push past end>");
    }

    /// The kind of mempool/mempool#368: three valid pieces between invalid bytes.
    #[test]
    fn text_keeps_every_valid_piece() {
        assert_eq!(text(b"one\xfftwo\xe2\x98\x82\xc3three\n"), "one·two☂·three·");
    }
}
