//! The only network. It works in a window and in a worker, reports progress, and stops when whoever asked is gone.

use gloo_net::http::{Request, RequestBuilder, Response};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::json::{self, FromJson};
use crate::model::found::Found;
use crate::number::whole;
use bitcoin::Txid;
use hindsight_shared::address::Row;
use hindsight_shared::api::ErrorBody;
use hindsight_shared::bytes::Reader;
use hindsight_shared::found_tx::Fate;

#[wasm_bindgen]
extern "C" {
    type Chunk;
    #[wasm_bindgen(method, getter)]
    fn value(this: &Chunk) -> Option<js_sys::Uint8Array>;
}

/// Why there is no answer.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize, thiserror::Error)]
pub enum ApiError {
    /// No server answered.
    #[error("the server does not answer: {0}")]
    Unreachable(String),
    /// The server answered with an error.
    #[error("{sentence}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's own sentence.
        sentence: String,
    },
    /// The answer is not what it should be.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

/// A request that stops when this is dropped.
#[derive(Debug)]
pub struct Abort(Option<web_sys::AbortController>);

impl Abort {
    /// For one request or several.
    pub fn new() -> Self {
        Self(web_sys::AbortController::new().ok())
    }

    /// What a request listens to.
    pub fn signal(&self) -> Option<web_sys::AbortSignal> {
        self.0.as_ref().map(web_sys::AbortController::signal)
    }
}

impl Default for Abort {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Abort {
    fn drop(&mut self) {
        if let Some(controller) = &self.0 {
            controller.abort();
        }
    }
}

/// Told how many bytes are there, and of how many where the server said so. Not a type of its own for each caller:
/// everything below would be there once for each of them.
pub type Progress<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Fetches a small JSON answer.
pub async fn json<T: FromJson>(url: &str, signal: Option<&web_sys::AbortSignal>) -> Result<T, ApiError> {
    let body = get(url, signal).await?;
    json::read(&body).ok_or_else(|| ApiError::Unreadable("it is not the JSON that it should be".to_owned()))
}

/// Fetches rows of a fixed size.
pub async fn rows<T: Row>(url: &str, signal: Option<&web_sys::AbortSignal>) -> Result<Vec<T>, ApiError> {
    T::read_all(&get(url, signal).await?).map_err(|error| ApiError::Unreadable(error.to_string()))
}

/// Fetches a transaction by its id, and makes sure that it is the one that was asked for.
pub async fn found(url: &str, txid: Txid, signal: Option<&web_sys::AbortSignal>) -> Result<Found, ApiError> {
    Found::read(&get(url, signal).await?, txid).map_err(|error| ApiError::Unreadable(error.to_string()))
}

/// Fetches what became of one output.
pub async fn fate(url: &str, signal: Option<&web_sys::AbortSignal>) -> Result<Fate, ApiError> {
    let bytes = get(url, signal).await?;
    Fate::read(&mut Reader::new(&bytes)).map_err(|error| ApiError::Unreadable(error.to_string()))
}

/// Fetches a binary answer.
pub async fn get(url: &str, signal: Option<&web_sys::AbortSignal>) -> Result<Vec<u8>, ApiError> {
    fetch(Request::get(url).abort_signal(signal), &mut |_, _| {}).await
}

/// Fetches the row of statistics that the server has of a block.
pub async fn stats_row(url: &str, signal: Option<&web_sys::AbortSignal>) -> Result<Vec<u8>, ApiError> {
    let request = Request::get(url).header("accept", hindsight_shared::stats::row::MEDIA_TYPE);
    fetch(request.abort_signal(signal), &mut |_, _| {}).await
}

/// Fetches an answer whole.
pub async fn bytes(
    url: &str,
    signal: Option<&web_sys::AbortSignal>,
    cache: web_sys::RequestCache,
    progress: Progress<'_>,
) -> Result<Vec<u8>, ApiError> {
    fetch(Request::get(url).cache(cache).abort_signal(signal), progress).await
}

async fn fetch(request: RequestBuilder, progress: Progress<'_>) -> Result<Vec<u8>, ApiError> {
    let response = request.send().await.map_err(|error| ApiError::Unreachable(why(error)))?;
    let body = read(&response, progress).await?;
    if response.ok() { Ok(body) } else { Err(refused(response.status(), &body)) }
}

async fn read(response: &Response, progress: Progress<'_>) -> Result<Vec<u8>, ApiError> {
    // With a content coding the length is that of the coded bytes, which says nothing about these.
    let header = |name| response.headers().get(name);
    let length = header("content-length").filter(|_| header("content-encoding").is_none());
    let total: Option<u64> = length.and_then(|length| length.parse().ok());
    let mut body = Vec::with_capacity(total.and_then(|total| usize::try_from(total).ok()).unwrap_or(0).min(1 << 26));
    let Some(stream) = response.body() else { return Ok(body) };
    let reader: web_sys::ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    loop {
        let chunk = JsFuture::from(reader.read()).await.map_err(|error| unreachable(&error))?;
        let Some(chunk) = chunk.unchecked_into::<Chunk>().value() else { return Ok(body) };
        let start = body.len();
        body.resize(start + chunk.byte_length().try_into().unwrap_or(0), 0);
        chunk.copy_to(&mut body[start..]);
        progress(crate::number::wide(body.len()), total);
    }
}

/// Why a request failed. A request without a body fails only in the browser; `Display` of all other kinds would be four
/// kilobytes to download.
fn why(error: gloo_net::Error) -> String {
    match error {
        gloo_net::Error::JsError(error) => error.message,
        _ => "the request could not be made".to_owned(),
    }
}

fn refused(status: u16, body: &[u8]) -> ApiError {
    let sentence = match json::read::<ErrorBody>(body) {
        Some(body) => body.error,
        None => ["the server answers with status ", &status.to_string()].concat(),
    };
    ApiError::Refused { status, sentence }
}

fn unreachable(error: &JsValue) -> ApiError {
    let message = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    ApiError::Unreachable(message.unwrap_or_else(|| "the connection broke".to_owned()))
}

/// Milliseconds since a moment of [`js_sys::Date::now`].
pub fn elapsed(since: f64) -> u32 {
    u32::try_from(whole(js_sys::Date::now() - since)).unwrap_or(u32::MAX)
}
