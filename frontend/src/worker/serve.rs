//! The worker's side.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use bitcoin::BlockHash;
use hindsight_shared::network::network_of;
use hindsight_shared::payload::{Absence, Payload};
use hindsight_shared::stats::row::Summary;
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
        let bytes = event.data().dyn_into().map(|bytes: Uint8Array| bytes.to_vec());
        match bytes.ok().and_then(|bytes| postcard::from_bytes(&bytes).ok()) {
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
            Ok((bytes, decoded)) => {
                let Decoded { rows, stats, report } = decoded;
                post(&scope, &Reply::Done { job, report }, &[&bytes, &rows, &stats]);
            }
            Err(error) => post(&scope, &Reply::Failed { job, error }, &[]),
        }
    });
}

/// What is computed of a block: packed rows, packed statistics (empty where there are none), and how it went.
struct Decoded {
    rows: Vec<u8>,
    stats: Vec<u8>,
    report: Report,
}

async fn load(
    scope: &DedicatedWorkerGlobalScope,
    job: u32,
    (url, asked, fresh): Wanted,
    signal: Option<&web_sys::AbortSignal>,
) -> Result<(Vec<u8>, Decoded), ApiError> {
    let start = js_sys::Date::now();
    // Every chunk is told: after any of them a slow payload may stand still for long.
    let mut progress = |received, total| post(scope, &Reply::Progress { job, received, total }, &[]);
    let cache = if fresh { RequestCache::Reload } else { RequestCache::Default };
    let bytes = api::bytes(&url, signal, cache, &mut progress).await?;
    let fetch_ms = elapsed(start);
    post(scope, &Reply::Decoding { job }, &[]);
    let mut decoded = decode(&bytes, asked).map_err(|error| ApiError::Unreadable(error.to_string()))?;
    decoded.report.fetch_ms = fetch_ms;
    Ok((bytes, decoded))
}

fn decode(bytes: &[u8], asked: Option<BlockHash>) -> Result<Decoded, DecodeError> {
    let start = js_sys::Date::now();
    let payload = Payload::decode(bytes)?;
    let (block, prevouts) = payload.view()?;
    let rows = summary::rows(&block, prevouts.as_ref())?;
    let decode_ms = elapsed(start);
    let start = js_sys::Date::now();
    let checks = verify::verify(&payload, &block, &rows, asked);
    let verify_ms = elapsed(start);
    let start = js_sys::Date::now();
    let complete = matches!(payload.absence, None | Some(Absence::Genesis));
    let stats = payload.height.filter(|_| complete).and_then(|height| {
        // A block that pays out more than it spends has none; the checks say so.
        Summary::of_rows(network_of(payload.network), height, &block, prevouts.as_ref(), &rows).ok()
    });
    let stats_ms = elapsed(start);
    let mut packed = Vec::with_capacity(rows.len() * ROW_SIZE);
    rows.iter().for_each(|row| row.pack(&mut packed));
    let stats = stats.map(|stats| stats.pack()).unwrap_or_default();
    Ok(Decoded { rows: packed, stats, report: Report { checks, fetch_ms: 0, decode_ms, verify_ms, stats_ms } })
}

/// Posts a reply and transfers its bytes and buffers.
fn post(scope: &DedicatedWorkerGlobalScope, reply: &Reply, buffers: &[&[u8]]) {
    let Ok(reply) = postcard::to_allocvec(reply) else { return };
    let (message, transfer) = (Array::new(), Array::new());
    for bytes in [&[&reply[..]], buffers].concat() {
        let buffer = Uint8Array::from(bytes).buffer();
        message.push(&buffer);
        transfer.push(&buffer);
    }
    // It fails only where the page is gone, and then nobody waits.
    let _ = scope.post_message_with_transfer(&message, &transfer);
}
