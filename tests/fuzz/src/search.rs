//! What people type: read or refused, and what is read is shown the way it is read again.

use hindsight_shared::search::{BlockId, ListStart, Term, parse_search};

/// Reads `bytes` as the text of a search and as that of a path.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match parse_search(&text) {
        Ok(term) => assert_eq!(parse_search(&term.to_string()), Ok(term)),
        Err(error) => assert!(error.to_string().chars().count() < 250),
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
