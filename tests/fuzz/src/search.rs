//! What people type: read or refused, and what is read is shown the way it is read again.

use hindsight_shared::search::{BlockId, parse_search};

/// Reads `bytes` as the text of a search and as that of a path.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for read in [parse_search(&text), text.parse()] {
        match read {
            Ok(id) => assert_eq!(id.to_string().parse(), Ok(id)),
            Err(error) => assert!(error.to_string().chars().count() < 200),
        }
    }
    // What a path takes the box takes too.
    if let Ok(id) = text.parse::<BlockId>() {
        assert_eq!(parse_search(&text), Ok(id));
    }
}
