//! The only network. It works in a window and in a worker, reports progress, and stops when whoever asked is gone.

use gloo_net::http::{Request, RequestBuilder, Response};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::json::{self, FromJson};
use crate::number::whole;
use hindsight_shared::DecodeError;
use hindsight_shared::address::Row;
use hindsight_shared::api::ErrorBody;

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
    read_json(&get(url, signal).await?)
}

/// Reads a JSON answer.
pub fn read_json<T: FromJson>(bytes: &[u8]) -> Result<T, ApiError> {
    json::read(bytes).ok_or_else(|| ApiError::Unreadable("it is not the JSON that it should be".to_owned()))
}

/// Reads rows of a fixed size.
pub fn read_rows<T: Row>(bytes: &[u8]) -> Result<Vec<T>, ApiError> {
    T::read_all(bytes).map_err(unreadable)
}

/// What bytes are that do not decode.
pub fn unreadable(error: DecodeError) -> ApiError {
    ApiError::Unreadable(error.to_string())
}

/// Fetches a binary answer.
pub async fn get(url: &str, signal: Option<&web_sys::AbortSignal>) -> Result<Vec<u8>, ApiError> {
    get_as(url, ANY_TYPE, signal).await
}

/// What a request accepts that has one form of answer.
pub const ANY_TYPE: &str = "*/*";

/// Fetches an answer in one of its forms.
pub async fn get_as(url: &str, accept: &str, signal: Option<&web_sys::AbortSignal>) -> Result<Vec<u8>, ApiError> {
    fetch(Request::get(url).header("accept", accept).abort_signal(signal), &mut |_, _| {}).await
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
