//! Hindsight's pages: fetches a block as binary, decodes, checks and shows it.
//!
//! One module for page and worker: whoever starts it (`public/start.js`) decides by having a window or not.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = hindsight, js_name = worker)]
    fn new_worker() -> web_sys::Worker;
}

/// Mounts the app in a page, serves it in a worker.
pub fn run() {
    if web_sys::window().is_some() {
        leptos::mount::mount_to_body(App);
    } else {
        serve();
    }
}

#[component]
fn App() -> impl IntoView {
    let answer = RwSignal::new(String::from("waiting for the worker"));
    let worker = new_worker();
    let listen =
        Closure::<dyn Fn(web_sys::MessageEvent)>::new(move |event: web_sys::MessageEvent| {
            answer.set(event.data().as_string().unwrap_or_default());
        });
    worker.set_onmessage(Some(listen.as_ref().unchecked_ref()));
    listen.forget();
    let asked = worker.post_message(&"hello".into()).is_ok();
    view! { <main><h1>"Hindsight"</h1><p>{move || answer.get()} " " {asked}</p></main> }
}

fn serve() {
    let scope: web_sys::DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let answerer = scope.clone();
    let listen =
        Closure::<dyn Fn(web_sys::MessageEvent)>::new(move |event: web_sys::MessageEvent| {
            let text = format!(
                "the worker heard {}",
                event.data().as_string().unwrap_or_default()
            );
            // A page that is gone needs no answer.
            let _ = answerer.post_message(&text.into());
        });
    scope.set_onmessage(Some(listen.as_ref().unchecked_ref()));
    listen.forget();
}
