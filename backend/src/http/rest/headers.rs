//! Headers of the best chain, and hashes by height.

use axum::response::Response;
use bitcoin::hashes::Hash;
use hindsight_shared::Height;
use serde::Serialize;
use serde_json::value::RawValue;

use super::blocks::integer;
use super::{Asked, Format, RestError, changing, hash_in, hex_line, no_such_format};
use crate::query::HeaderFacts;

/// Core's `MAX_REST_HEADERS_RESULTS`.
const MOST_HEADERS: usize = 2000;

const ALL_FORMATS: &str = "(available: .bin, .hex, .json)";

/// `/rest/headers/<hash>?count=` and its older form `/rest/headers/<count>/<hash>`. A block that is unknown, or not on
/// the best chain, has no headers to give: the answer is empty.
pub fn headers(asked: &Asked<'_>) -> Result<Response, RestError> {
    let steps: Vec<&str> = asked.argument.split('/').collect();
    let (hash, count) = match steps[..] {
        [hash] => (hash, asked.parameter("count").unwrap_or_else(|| "5".to_owned())),
        [count, hash] => (hash, count.to_owned()),
        _ => {
            let text = "Invalid URI format. Expected /rest/headers/<hash>.<ext>?count=<count>";
            return Err(RestError::bad_request(text));
        }
    };
    let number = integer(&count).filter(|number| (1..=MOST_HEADERS).contains(number)).ok_or_else(|| {
        let range = format!("Header count is invalid or out of acceptable range (1-{MOST_HEADERS}): {count}");
        RestError::bad_request(range)
    })?;
    let headers = asked.state.explorer.headers(&hash_in(hash)?, number);
    let bytes = || headers.iter().flat_map(|facts| bitcoin::consensus::serialize(&facts.header)).collect::<Vec<u8>>();
    match asked.format {
        Some(Format::Bin) => Ok(changing(asked, "application/octet-stream", bytes())),
        Some(Format::Hex) => Ok(changing(asked, "text/plain", hex_line(&bytes()))),
        Some(Format::Json) => json(asked, &headers.iter().map(HeaderJson::new).collect::<Vec<_>>()),
        None => Err(no_such_format(ALL_FORMATS)),
    }
}

/// `/rest/blockhashbyheight/<height>`: 32 bytes in internal order, or the hash as people write it.
pub fn block_hash_by_height(asked: &Asked<'_>) -> Result<Response, RestError> {
    let height: Option<i32> = integer(asked.argument);
    let height = height.and_then(|height| u32::try_from(height).ok()).ok_or_else(|| {
        let shown: String = asked.argument.chars().take(200).collect();
        RestError::bad_request(format!("Invalid height: {shown}"))
    })?;
    let hash = asked.state.explorer.hash_at(Height(height));
    let hash = hash.ok_or_else(|| RestError::not_found("Block height out of range"))?;
    match asked.format {
        Some(Format::Bin) => Ok(changing(asked, "application/octet-stream", hash.to_byte_array().to_vec())),
        Some(Format::Hex) => Ok(changing(asked, "text/plain", format!("{hash}\n"))),
        Some(Format::Json) => Ok(changing(asked, "application/json", format!("{{\"blockhash\":\"{hash}\"}}\n"))),
        None => Err(no_such_format(ALL_FORMATS)),
    }
}

fn json(asked: &Asked<'_>, value: &impl Serialize) -> Result<Response, RestError> {
    let text = serde_json::to_string(value).map_err(|error| {
        tracing::error!(%error, "an answer could not be written");
        RestError(axum::http::StatusCode::INTERNAL_SERVER_ERROR, "Internal error".to_owned())
    })?;
    Ok(changing(asked, "application/json", text + "\n"))
}

/// `getblockheader` of Core (`blockheaderToJSON`), in its order. Median time and chain work are left out where the
/// ancestors that they take are missing (pruned nodes).
#[derive(Serialize)]
struct HeaderJson {
    hash: String,
    confirmations: i64,
    height: Height,
    version: i32,
    #[serde(rename = "versionHex")]
    version_hex: String,
    merkleroot: String,
    time: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mediantime: Option<u32>,
    nonce: u32,
    bits: String,
    target: String,
    difficulty: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chainwork: Option<String>,
    #[serde(rename = "nTx")]
    n_tx: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    previousblockhash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nextblockhash: Option<String>,
}

impl HeaderJson {
    fn new(facts: &HeaderFacts) -> Self {
        let header = &facts.header;
        Self {
            hash: header.block_hash().to_string(),
            confirmations: facts.confirmations.into(),
            height: facts.height,
            version: header.version.to_consensus(),
            version_hex: format!("{:08x}", header.version.to_consensus()),
            merkleroot: header.merkle_root.to_string(),
            time: header.time,
            mediantime: facts.median_time,
            nonce: header.nonce,
            bits: format!("{:08x}", header.bits.to_consensus()),
            target: format!("{:064x}", header.target()),
            difficulty: RawValue::from_string(sixteen_digits(difficulty(header.bits.to_consensus()))).ok(),
            chainwork: facts.chain_work.map(|work| format!("{work:064x}")),
            n_tx: facts.tx_count,
            previousblockhash: (facts.height.0 > 0).then(|| header.prev_blockhash.to_string()),
            nextblockhash: facts.next.map(|next| next.to_string()),
        }
    }
}

/// Core's `GetDifficulty` (`src/rpc/blockchain.cpp`), operation by operation, so that the last digit is the same.
fn difficulty(bits: u32) -> f64 {
    let mut shift = bits >> 24;
    let mut difficulty = f64::from(0xffff) / f64::from(bits & 0x00ff_ffff);
    while shift < 29 {
        difficulty *= 256.0;
        shift += 1;
    }
    while shift > 29 {
        difficulty /= 256.0;
        shift -= 1;
    }
    difficulty
}

/// A number as a C++ stream writes it with a precision of 16 (`%.16g`).
fn sixteen_digits(number: f64) -> String {
    let scientific = format!("{number:.15e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trim = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    if (-4..16).contains(&exponent) {
        let decimals = usize::try_from(15 - exponent).unwrap_or_default();
        return trim(format!("{number:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(digits.to_owned()), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that nodes print.
    #[test]
    fn difficulties_are_written_as_core_writes_them() {
        let text = |bits| sixteen_digits(difficulty(bits));
        assert_eq!(text(0x1d00_ffff), "1");
        assert_eq!(text(0x207f_ffff), "4.656542373906925e-10");
        assert_eq!(text(0x1b04_04cb), "16307.42093852398");
    }

    #[test]
    fn numbers_are_cores() {
        for (number, text) in [(0.0001, "0.0001"), (0.00001, "1e-05"), (1e15, "1000000000000000"), (1e16, "1e+16")] {
            assert_eq!(sixteen_digits(number), text);
        }
    }
}
