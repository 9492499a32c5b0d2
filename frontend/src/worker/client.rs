//! The page's side.

use js_sys::{Array, ArrayBuffer, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::MessageEvent;

use super::{Reply, Request};

#[wasm_bindgen]
extern "C" {
    /// `public/start.js` keeps the compiled module and starts a worker with it.
    #[wasm_bindgen(js_namespace = hindsight, js_name = worker)]
    fn new_worker() -> web_sys::Worker;
}

/// A running worker.
#[derive(Debug)]
pub struct Client {
    worker: web_sys::Worker,
    _on_message: Closure<dyn Fn(MessageEvent)>,
    _on_error: Closure<dyn Fn(web_sys::ErrorEvent)>,
}

/// A reply with its buffers: payload, packed rows and statistics of a finished block, else nothing.
pub type Parcel = (Reply, Vec<Vec<u8>>);

impl Client {
    /// Starts a worker. `reply` hears its answers, `broken` why it can give none.
    pub fn start(reply: impl Fn(Parcel) + 'static, broken: impl Fn(String) + 'static) -> Self {
        let worker = new_worker();
        let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            if let Some(parcel) = unpack(&event.data()) {
                reply(parcel);
            }
        });
        let on_error = Closure::<dyn Fn(web_sys::ErrorEvent)>::new(move |event: web_sys::ErrorEvent| {
            broken(event.message());
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        Self { worker, _on_message: on_message, _on_error: on_error }
    }

    /// Sends a request.
    pub fn ask(&self, request: &Request) {
        if let Ok(bytes) = postcard::to_allocvec(request) {
            // Bytes can always be cloned into a message.
            let _ = self.worker.post_message(&Uint8Array::from(&bytes[..]));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

fn unpack(message: &JsValue) -> Option<Parcel> {
    let message: &Array = message.dyn_ref()?;
    let buffer = |value: JsValue| Some(Uint8Array::new(value.dyn_ref::<ArrayBuffer>()?).to_vec());
    let mut parts = message.iter().filter_map(buffer);
    let reply = postcard::from_bytes(&parts.next()?).ok()?;
    Some((reply, parts.collect()))
}
