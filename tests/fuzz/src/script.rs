//! Scripts: kinds as the `bitcoin` crate has them where it has them, addresses that lead back, and text of any bytes.

use bitcoin::{Address, Network, Script};
use hindsight_shared::script::{KindSet, ScriptKind, address, asm, is_unspendable, text};

/// Reads `bytes` as a script.
pub fn run(bytes: &[u8]) {
    let script = Script::from_bytes(bytes);
    let kind = ScriptKind::of(script);
    for (own, judge) in [
        (ScriptKind::P2pkh, script.is_p2pkh()),
        (ScriptKind::P2sh, script.is_p2sh()),
        (ScriptKind::P2wpkh, script.is_p2wpkh()),
        (ScriptKind::P2wsh, script.is_p2wsh()),
        (ScriptKind::P2tr, script.is_p2tr()),
    ] {
        assert_eq!(kind == own, judge, "{own:?}");
    }
    assert!(kind != ScriptKind::NullData || is_unspendable(script));
    assert_eq!(KindSet::one(kind).iter().collect::<Vec<_>>(), [kind]);
    for network in [Network::Bitcoin, Network::Testnet, Network::Testnet4, Network::Signet, Network::Regtest] {
        if let Some(text) = address(script, network) {
            let read: Address<_> = text.parse().expect("an address is one");
            assert_eq!(read.assume_checked().script_pubkey().as_script(), script);
        }
    }
    let _ = asm(script);
    assert!(!text(bytes).chars().any(char::is_control));
}
