//! Compresses the web app once, when it is built, as hard as it goes, and reports what a first visit loads.
//!
//! The server then only picks a file; and the size has a limit that the build fails above, because it grows unnoticed.

use anyhow::{Context, Result, bail};
use flate2::{Compression, write::GzEncoder};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Everything a first visit loads, with brotli.
const FIRST_LOAD: usize = 350_000;
/// The WebAssembly in it.
const WASM: usize = 250_000;

/// One file of the web app and its sizes as sent.
pub struct Sizes {
    name: String,
    plain: usize,
    brotli: usize,
    gzip: usize,
}

/// Writes `x.br` and `x.gz` beside each file `x` that gets smaller by it.
pub fn precompress(dist: &Path) -> Result<()> {
    for file in files(dist)? {
        let plain = fs::read(&file)?;
        write_if_smaller(&file, "br", &plain, brotli(&plain)?)?;
        write_if_smaller(&file, "gz", &plain, gzip(&plain)?)?;
    }
    Ok(())
}

/// The sizes of all files, greatest first.
pub fn sizes(dist: &Path) -> Result<Vec<Sizes>> {
    let mut all = Vec::new();
    for file in files(dist)? {
        let plain = length(&file)?.with_context(|| file.display().to_string())?;
        let brotli = length(&beside(&file, "br"))?.unwrap_or(plain);
        let gzip = length(&beside(&file, "gz"))?.unwrap_or(plain);
        let name = file.strip_prefix(dist)?.display().to_string();
        all.push(Sizes { name, plain, brotli, gzip });
    }
    all.sort_by_key(|file| std::cmp::Reverse(file.plain));
    Ok(all)
}

/// Prints the sizes; an error above the limits, where they hold.
pub fn report(files: &[Sizes], limits_hold: bool) -> Result<()> {
    println!("    {:>9} {:>9} {:>9}", "plain", "brotli", "gzip");
    for Sizes { name, plain, brotli, gzip } in files {
        println!("    {plain:>9} {brotli:>9} {gzip:>9}  {name}");
    }
    let sum = |files: &mut dyn Iterator<Item = &Sizes>| files.map(|file| file.brotli).sum::<usize>();
    let first_load = sum(&mut files.iter());
    let wasm = sum(&mut files.iter().filter(|file| file.name.ends_with(".wasm")));
    println!("    first load {first_load} of {FIRST_LOAD} bytes, its wasm {wasm} of {WASM} (brotli)");
    if limits_hold && (first_load > FIRST_LOAD || wasm > WASM) {
        bail!(
            "the web app is too large: first load {first_load} of {FIRST_LOAD} bytes, wasm {wasm} of {WASM} (brotli)"
        );
    }
    Ok(())
}

fn brotli(plain: &[u8]) -> Result<Vec<u8>> {
    let params =
        brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 24, size_hint: plain.len(), ..Default::default() };
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &*plain, &mut packed, &params)?;
    Ok(packed)
}

fn gzip(plain: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain)?;
    Ok(encoder.finish()?)
}

fn write_if_smaller(file: &Path, ending: &str, plain: &[u8], packed: Vec<u8>) -> Result<()> {
    if packed.len() < plain.len() {
        fs::write(beside(file, ending), packed)?;
    }
    Ok(())
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn length(file: &Path) -> Result<Option<usize>> {
    Ok(match fs::metadata(file) {
        Ok(metadata) => Some(metadata.len().try_into()?),
        Err(_) => None,
    })
}

/// All files below a folder but the compressed ones, in order.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if !path.extension().is_some_and(|ending| ending == "br" || ending == "gz") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, brotli: usize) -> Sizes {
        Sizes { name: name.into(), plain: brotli * 3, brotli, gzip: brotli * 2 }
    }

    #[test]
    fn what_is_compressed_can_be_read_again() {
        let plain = b"block ".repeat(1_000);
        let mut unpacked = Vec::new();
        brotli::BrotliDecompress(&mut &*brotli(&plain).unwrap(), &mut unpacked).unwrap();
        assert_eq!(unpacked, plain);
        unpacked.clear();
        let packed = gzip(&plain).unwrap();
        std::io::copy(&mut flate2::read::GzDecoder::new(&*packed), &mut unpacked).unwrap();
        assert_eq!(unpacked, plain);
    }

    #[test]
    fn each_limit_is_kept() {
        assert!(report(&[file("app_bg.wasm", WASM), file("app.js", FIRST_LOAD - WASM)], true).is_ok());
        assert!(report(&[file("app_bg.wasm", WASM + 1)], true).is_err());
        assert!(report(&[file("app_bg.wasm", WASM + 1)], false).is_ok());
        assert!(report(&[file("app_bg.wasm", WASM), file("app.js", FIRST_LOAD - WASM + 1)], true).is_err());
    }
}
