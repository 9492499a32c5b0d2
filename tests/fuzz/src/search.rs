//! What people type: read or refused, and what is read is shown the way it is read again.

use bitcoin::{Network, Script};
use hindsight_shared::script::address;
use hindsight_shared::search::{BlockId, ListStart, Term, parse_search, script_of, scripts_of};

/// Reads `bytes` as the text of a search and as that of a path, and as a script whose address is searched for.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match parse_search(&text) {
        Ok(term) => assert_eq!(parse_search(&term.to_string()), Ok(term)),
        Err(error) => assert!(error.to_string().chars().count() < 250),
    }
    for network in [Network::Bitcoin, Network::Testnet, Network::Signet, Network::Regtest] {
        scripts(&text, network);
        // A change of an address is seldom one.
        let script = Script::from_bytes(bytes);
        if let Some(text) = address(script, network) {
            assert_eq!(script_of(&text, network).as_deref(), Ok(script));
            scripts(&text, network);
        }
    }
    match text.parse::<ListStart>() {
        Ok(start) => assert_eq!(start.to_string().parse(), Ok(start)),
        Err(error) => assert!(error.to_string().chars().count() < 200),
    }
    match text.parse::<BlockId>() {
        // What a path takes the box takes too.
        Ok(id) => {
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(parse_search(&text), Ok(Term::Block(id)));
        }
        Err(error) => assert!(error.to_string().chars().count() < 200),
    }
}

/// The script that a text names comes first, and is shown as it was named.
fn scripts(text: &str, network: Network) {
    let all = scripts_of(text, network);
    match script_of(text, network) {
        Ok(script) => {
            let certain = script.to_hex_string() != text.to_ascii_lowercase();
            assert_eq!(all.first(), Some(&(script.clone(), certain)));
            if certain {
                let shown = address(&script, network).expect("it is of an address");
                // Bech32 may be written in capitals, base58 has to keep its case.
                assert!(shown == text || shown == text.to_ascii_lowercase(), "{text} is shown as {shown}");
                assert_eq!(all.len(), 1);
            }
        }
        Err(error) => assert!(error.to_string().chars().count() < 300),
    }
    assert!(all.iter().skip(1).all(|(_, certain)| !certain));
}
