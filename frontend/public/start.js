// Starts the one WebAssembly module, in the page and again in its worker. It is a file of its own because the
// Content-Security-Policy allows no inline script, and one file for both because the worker is started from it.
//
// For the app: `hindsight = { glue, module, worker() }`. `worker()` gives a Worker that runs the same compiled
// module; messages posted to it at once are kept until it listens; `worker.onerror` hears if it cannot start.

if (globalThis.document) {
  setColours();
  startPage().catch(explain);
} else {
  startWorker();
}

// Before anything is drawn, so that nobody is dazzled while the app loads.
function setColours() {
  try {
    document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "system";
  } catch {
    // Storage is forbidden: the system's colours it is.
  }
}

async function startPage() {
  const { js, wasm } = document.querySelector('meta[name="hindsight-app"]').dataset;
  const glue = new URL(js, document.baseURI).href;
  const [{ default: init }, module] = await Promise.all([
    import(glue),
    WebAssembly.compileStreaming(fetch(new URL(wasm, document.baseURI))),
  ]);
  globalThis.hindsight = { glue, module, worker: () => newWorker(glue, module) };
  await init({ module_or_path: module });
  document.getElementById("starting")?.remove();
}

function newWorker(glue, module) {
  const worker = new Worker(import.meta.url, { type: "module" });
  // The compiled module is shared, not fetched and compiled a second time.
  worker.postMessage({ glue, module });
  return worker;
}

function startWorker() {
  const early = [];
  const keep = ({ data, ports }) => early.push({ data, ports });
  const first = async ({ data: { glue, module } }) => {
    addEventListener("message", keep);
    try {
      const { default: init } = await import(glue);
      await init({ module_or_path: module });
    } catch (error) {
      // Unlike an unhandled rejection this reaches the page, as the worker's error event.
      return reportError(error);
    }
    removeEventListener("message", keep);
    for (const message of early) dispatchEvent(new MessageEvent("message", message));
  };
  addEventListener("message", first, { once: true });
}

function explain(error) {
  console.error(error);
  const text = document.getElementById("starting") ?? document.body.appendChild(document.createElement("p"));
  text.setAttribute("role", "alert");
  text.textContent = `Hindsight cannot start in this browser (${error?.message ?? error}). `
    + "It needs WebAssembly and module scripts, as browsers from mid-2023 on have them. If yours does, reload the page: the app may just have been updated.";
}
