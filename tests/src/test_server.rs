//! The explorer as it is served, in this process: opened like the binary opens it, on a free port.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use bitcoin::{BlockHash, ScriptBuf};
use hindsight::app::{App, OpenError, Options};
use hindsight::http::{Access, AppState, Limits, router, serve};
use hindsight::source::DatadirOptions;
use hindsight_shared::api::IndexLevel;
use hindsight_shared::api::{BlockFacts, ErrorBody, STATUS, Status, TIP};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::client::{Response, request};
use crate::wait::until;

/// How to serve.
#[derive(Clone, Debug)]
pub struct Setup {
    datadir: PathBuf,
    index_dir: Option<PathBuf>,
    signet_challenge: Option<ScriptBuf>,
    /// What connections may cost.
    pub limits: Limits,
    /// Who may ask.
    pub access: Access,
    /// Bytes of blocks to keep in memory.
    pub cache_bytes: u64,
}

impl Setup {
    /// A data directory, with the binary's defaults.
    pub fn new(datadir: &Path) -> Self {
        Self {
            datadir: datadir.to_owned(),
            index_dir: None,
            signet_challenge: None,
            limits: Limits::default(),
            access: Access::default(),
            cache_bytes: 64 << 20,
        }
    }

    /// An index that outlives the server; without it, it has one of its own.
    pub fn index_dir(mut self, dir: &Path) -> Self {
        self.index_dir = Some(dir.to_owned());
        self
    }

    /// A custom signet's directory.
    pub fn signet(mut self, challenge: ScriptBuf) -> Self {
        self.signet_challenge = Some(challenge);
        self
    }

    /// Starts to serve.
    pub fn start(self) -> Result<TestServer, OpenError> {
        let own_index = tempfile::tempdir().map_err(OpenError::Thread)?;
        let app = App::open(&Options {
            datadir: DatadirOptions {
                datadir: self.datadir,
                signet_challenge: self.signet_challenge,
                ..DatadirOptions::default()
            },
            index_dir: self.index_dir.unwrap_or_else(|| own_index.path().to_owned()),
            cache_bytes: self.cache_bytes,
            levels: IndexLevel::ALL.to_vec(),
            index_memory: 64 << 20,
            demo: None,
        })?;
        let state = AppState { explorer: app.explorer.clone(), access: Arc::new(self.access), chains: Arc::default() };
        let (address, stop, thread) = serve_in_thread(state, self.limits);
        Ok(TestServer { address, app: Some(app), stop: Some(stop), thread: Some(thread), _own_index: own_index })
    }
}

fn serve_in_thread(state: AppState, limits: Limits) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            let stopped = async { drop(stopped.await) };
            serve(listener, router(state), limits, stopped).await.unwrap();
        });
    });
    (address, stop, thread)
}

/// A server that ends when it is dropped.
pub struct TestServer {
    /// Where it listens.
    pub address: SocketAddr,
    app: Option<App>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _own_index: TempDir,
}

impl TestServer {
    /// Serves a data directory with the binary's defaults, once all of it has been read.
    pub fn start(datadir: &Path) -> Self {
        let server = Setup::new(datadir).start().unwrap();
        server.wait_until_read();
        server
    }

    /// Waits until the directory has been read.
    pub fn wait_until_read(&self) {
        until("the directory has been read", || Some(self.status()).filter(|status| status.progress.complete));
    }

    /// Waits until this block is the tip.
    #[track_caller]
    pub fn wait_for_tip(&self, hash: BlockHash) -> BlockFacts {
        until(&format!("{hash} is the tip"), || self.tip().filter(|tip| tip.hash == hash))
    }

    /// Any request.
    #[track_caller]
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
        match request(self.address, method, path, headers) {
            Ok(response) => response,
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    /// `GET`
    #[track_caller]
    pub fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[])
    }

    /// `GET` of something that is there.
    #[track_caller]
    pub fn get_ok(&self, path: &str) -> Vec<u8> {
        let response = self.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.body
    }

    /// `GET /api/v1/status`
    #[track_caller]
    pub fn status(&self) -> Status {
        self.get(&format!("/{STATUS}")).json()
    }

    /// `GET /api/v1/tip`
    #[track_caller]
    pub fn tip(&self) -> Option<BlockFacts> {
        let response = self.get(&format!("/{TIP}"));
        (response.status == 200).then(|| response.json())
    }

    /// `GET /api/v1/block/{id}`
    #[track_caller]
    pub fn facts(&self, id: impl std::fmt::Display) -> BlockFacts {
        self.get(&format!("/api/v1/block/{id}")).json()
    }

    /// `GET /api/v1/block/{id}/payload`
    #[track_caller]
    pub fn payload(&self, id: impl std::fmt::Display) -> Vec<u8> {
        self.get_ok(&format!("/api/v1/block/{id}/payload"))
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // What it panicked with has been printed.
            let _ = thread.join();
        }
        drop(self.app.take());
    }
}

/// Holds an answer to what an error of the native interface is: a status, a sentence, nothing to keep.
#[track_caller]
pub fn refused(response: &Response, status: u16, sentence: &str) {
    assert_eq!(response.status, status, "{}", response.text());
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let error = response.json::<ErrorBody>().error;
    assert!(error.contains(sentence), "{error}");
}
