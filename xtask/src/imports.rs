//! Makes the names by which the module and its glue know each other easy to compress.
//!
//! wasm-bindgen puts a hash of sixteen digits behind each of some two hundred names, so that crates cannot collide; once
//! all is linked, counting does the same, and saves three kilobytes of a first visit that no compression would.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Digits of a hash.
const DIGITS: usize = 16;

/// Numbers the names in the module and the glue of `dist`.
pub fn number(dist: &Path) -> Result<()> {
    let module = ending_in(dist, "_bg.wasm")?;
    let glue = PathBuf::from(module.to_string_lossy().replace("_bg.wasm", ".js"));
    let mut script = fs::read(&glue).with_context(|| glue.display().to_string())?;
    let mut bytes = fs::read(&module).with_context(|| module.display().to_string())?;
    let numbers = numbers(&script);
    replace(&mut script, &numbers);
    replace(&mut bytes, &numbers);
    fs::write(&glue, script)?;
    fs::write(&module, bytes)?;
    Ok(())
}

fn ending_in(dist: &Path, ending: &str) -> Result<PathBuf> {
    let files = crate::compress::files(dist)?;
    let mut found = files.into_iter().filter(|file| file.to_string_lossy().ends_with(ending));
    match (found.next(), found.next()) {
        (Some(file), None) => Ok(file),
        _ => bail!("{} holds not one file that ends in {ending}: delete it and build again", dist.display()),
    }
}

/// A number for every hash in the glue, as long as the hash.
fn numbers(glue: &[u8]) -> BTreeMap<[u8; DIGITS], [u8; DIGITS]> {
    let hashes = hashes(glue).map(|at| text(glue, at));
    let mut numbers: BTreeMap<_, _> = hashes.map(|hash| (hash, [b'0'; DIGITS])).collect();
    for (count, number) in numbers.values_mut().enumerate() {
        let digits = format!("{count:0DIGITS$}");
        number.copy_from_slice(digits.as_bytes());
    }
    numbers
}

/// Puts the numbers in place of the hashes. Nothing moves, so that lengths within the module stay true.
fn replace(bytes: &mut [u8], numbers: &BTreeMap<[u8; DIGITS], [u8; DIGITS]>) {
    let places: Vec<usize> = hashes(bytes).collect();
    for at in places {
        if let Some(number) = numbers.get(&text(bytes, at)) {
            bytes[at..at + DIGITS].copy_from_slice(number);
        }
    }
}

fn text(bytes: &[u8], at: usize) -> [u8; DIGITS] {
    let mut text = [0; DIGITS];
    text.copy_from_slice(&bytes[at..at + DIGITS]);
    text
}

/// Where sixteen hex digits, and no more, stand behind an underscore.
fn hashes(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (1..(bytes.len() + 1).saturating_sub(DIGITS)).filter(move |&at| {
        bytes[at - 1] == b'_'
            && bytes[at..at + DIGITS].iter().all(is_digit)
            && !bytes.get(at + DIGITS).is_some_and(is_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_get_the_same_numbers() {
        let dist = std::env::temp_dir().join(format!("hindsight-imports-{}", std::process::id()));
        fs::create_dir_all(&dist).unwrap();
        let names = ["__wbg_a_0123456789abcdef", "__wbg_b_fedcba9876543210", "__wbg_a_0000000000000001"];
        fs::write(dist.join("x.js"), names.map(|name| format!("{name}: f,")).concat()).unwrap();
        let other = "_0123456789abcdef0 0123456789abcdef _aaaaaaaaaaaaaaaa";
        fs::write(dist.join("x_bg.wasm"), [names.join("\0"), other.to_owned()].join("\0")).unwrap();
        number(&dist).unwrap();
        let script = fs::read_to_string(dist.join("x.js")).unwrap();
        let expect = ["__wbg_a_0000000000000001", "__wbg_b_0000000000000002", "__wbg_a_0000000000000000"];
        assert_eq!(script, expect.map(|name| format!("{name}: f,")).concat());
        let module = fs::read_to_string(dist.join("x_bg.wasm")).unwrap();
        assert_eq!(module, [expect.join("\0"), other.to_owned()].join("\0"));
        fs::remove_dir_all(dist).unwrap();
    }
}
