//! The worker's side.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use bitcoin::BlockHash;
use hindsight_shared::payload::Payload;
use hindsight_shared::summary::ROW_SIZE;
use hindsight_shared::{DecodeError, summary, verify};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent, RequestCache};

use super::{Reply, Request};
use crate::api::{self, Abort, ApiError, elapsed};
use crate::model::block::Report;

type Jobs = Rc<RefCell<HashMap<u32, Abort>>>;

/// Listens for as long as the page lives.
pub fn serve() {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let jobs = Jobs::default();
    let listener = scope.clone();
    let listen = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        let request = event.data().as_string().and_then(|text| serde_json::from_str(&text).ok());
        match request {
            Some(Request::Load { job, url, asked, fresh }) => start(&scope, &jobs, job, (url, asked, fresh)),
            Some(Request::Cancel { job }) => drop(jobs.borrow_mut().remove(&job)),
            None => {}
        }
    });
    listener.set_onmessage(Some(listen.as_ref().unchecked_ref()));
    listen.forget();
}

/// A block's address, the hash asked for, and whether the cache is passed by.
type Wanted = (String, Option<BlockHash>, bool);

fn start(scope: &DedicatedWorkerGlobalScope, jobs: &Jobs, job: u32, wanted: Wanted) {
    let abort = Abort::new();
    let signal = abort.signal();
    jobs.borrow_mut().insert(job, abort);
    let (scope, jobs) = (scope.clone(), Rc::clone(jobs));
    wasm_bindgen_futures::spawn_local(async move {
        let answer = load(&scope, job, wanted, signal.as_ref()).await;
        let awaited = jobs.borrow_mut().remove(&job).is_some();
        match answer {
            _ if !awaited => {}
            Ok((bytes, rows, report)) => post(&scope, &Reply::Done { job, report }, &[&bytes, &rows]),
            Err(error) => post(&scope, &Reply::Failed { job, error }, &[]),
        }
    });
}

async fn load(
    scope: &DedicatedWorkerGlobalScope,
    job: u32,
    (url, asked, fresh): Wanted,
    signal: Option<&web_sys::AbortSignal>,
) -> Result<(Vec<u8>, Vec<u8>, Report), ApiError> {
    let start = js_sys::Date::now();
    // Every chunk is told: after any of them a slow payload may stand still for long.
    let progress = |received, total| post(scope, &Reply::Progress { job, received, total }, &[]);
    let cache = if fresh { RequestCache::Reload } else { RequestCache::Default };
    let bytes = api::bytes(&url, signal, cache, progress).await?;
    let fetch_ms = elapsed(start);
    post(scope, &Reply::Decoding { job }, &[]);
    let (rows, report) = decode(&bytes, asked).map_err(|error| ApiError::Unreadable(error.to_string()))?;
    Ok((bytes, rows, Report { fetch_ms, ..report }))
}

fn decode(bytes: &[u8], asked: Option<BlockHash>) -> Result<(Vec<u8>, Report), DecodeError> {
    let start = js_sys::Date::now();
    let payload = Payload::decode(bytes)?;
    let (block, prevouts) = payload.view()?;
    let rows = summary::rows(&block, prevouts.as_ref())?;
    let decode_ms = elapsed(start);
    let start = js_sys::Date::now();
    let checks = verify::verify(&payload, &block, &rows, asked);
    let verify_ms = elapsed(start);
    let mut packed = Vec::with_capacity(rows.len() * ROW_SIZE);
    rows.iter().for_each(|row| row.pack(&mut packed));
    Ok((packed, Report { checks, fetch_ms: 0, decode_ms, verify_ms }))
}

/// Posts a reply and transfers its buffers.
fn post(scope: &DedicatedWorkerGlobalScope, reply: &Reply, buffers: &[&[u8]]) {
    let Ok(text) = serde_json::to_string(reply) else { return };
    let (message, transfer) = (Array::of1(&text.into()), Array::new());
    for bytes in buffers {
        let buffer = Uint8Array::from(*bytes).buffer();
        message.push(&buffer);
        transfer.push(&buffer);
    }
    // It fails only where the page is gone, and then nobody waits.
    let _ = scope.post_message_with_transfer(&message, &transfer);
}
