//! Who mined a block, as far as the coinbase says.
//!
//! A tag is bytes that a pool writes into its coinbase script; nothing proves it. The table of known tags is data
//! (`miners.txt`): one tag and one name a line.

/// Bytes of the tag that a summary keeps.
pub const TAG_SIZE: usize = 32;

const TABLE: &str = include_str!("miners.txt");

/// The name of the pool whose tag is in a coinbase script.
pub fn name(coinbase_script: &[u8]) -> Option<&'static str> {
    let known = |(tag, _): &(&str, &str)| memmem(coinbase_script, tag.as_bytes());
    table().find(known).map(|(_, name)| name)
}

/// The part of a coinbase script that reads as text, zero padded: what a summary keeps of it. A known tag is kept from
/// its start; otherwise the longest run of printable characters is.
pub fn tag(coinbase_script: &[u8]) -> [u8; TAG_SIZE] {
    let known = table().find_map(|(tag, _)| {
        let at = coinbase_script.windows(tag.len()).position(|window| window == tag.as_bytes())?;
        coinbase_script.get(at..)
    });
    let text = known.map_or_else(|| longest_text(coinbase_script), |from| &from[..printable(from)]);
    let mut tag = [0; TAG_SIZE];
    let length = text.len().min(TAG_SIZE);
    tag[..length].copy_from_slice(&text[..length]);
    tag
}

fn table() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'))
}

fn memmem(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// How many bytes from the start are printable ASCII.
fn printable(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| (b' '..=b'~').contains(*byte)).count()
}

fn longest_text(bytes: &[u8]) -> &[u8] {
    let runs = bytes.split(|byte| !(b' '..=b'~').contains(byte));
    runs.filter(|run| run.len() >= 4).max_by_key(|run| run.len()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn text(tag: [u8; TAG_SIZE]) -> String {
        String::from_utf8_lossy(&tag).trim_end_matches('\0').to_owned()
    }

    #[test]
    fn known_tags_name_their_pool() {
        let script = b"\x03\x26\x38\x0d\x04abcd/Foundry USA Pool #dropgold/\x01\x02";
        assert_eq!(name(script), Some("Foundry USA"));
        assert_eq!(text(tag(script)), "/Foundry USA Pool #dropgold/");
        assert_eq!(name(b"\x03\x26\x38\x0d"), None);
    }

    #[test]
    fn an_unknown_tag_is_the_longest_text() {
        assert_eq!(text(tag(b"\x00\x01abcd\xff/my own pool/\x00xy")), "/my own pool/");
        assert_eq!(tag(b"\x00\x01\x02"), [0; TAG_SIZE]);
        assert_eq!(text(tag(&[b'x'; 90])).len(), TAG_SIZE);
    }

    #[test]
    fn the_table_is_well_formed() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(table().count(), lines);
        assert!(table().all(|(tag, name)| tag.len() >= 4 && !name.is_empty()));
    }
}
