//! Takes connections and bounds what each may cost.
//!
//! `axum::serve` sets no limit on headers, idle time or the number of connections, so connections are driven here with
//! hyper's own builder: a client that is slow, silent, oversized or gone costs a bounded amount for a bounded time.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt;

use super::guard::MOST_HEAD_BYTES;
use super::pace::{Pace, Paced};

/// Descriptors that are left to the source, which keeps at most 256 files open, the index, and the rest.
const OTHER_DESCRIPTORS: u64 = 300;

/// A failure to take a connection is logged once in so long a time: it comes back until something ends.
const LOG_AGAIN: Duration = Duration::from_secs(10);

/// Bytes of an answer that the system holds unsent: more is asked for when half of them are gone.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 256 << 10;

/// What connections may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections open at the same time; more wait to be taken.
    pub connections: usize,
    /// How long a request's head may take, and how long a connection may be idle.
    pub head: Duration,
    /// How long a client may leave an answer unread …
    pub stalled: Duration,
    /// … and how much of it it has to take in that time: one byte now and then would hold a block in memory for days.
    pub stalled_bytes: u64,
    /// Bytes of a request's head, about.
    pub head_bytes: usize,
    /// How long open requests may take to end after the server was told to stop.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 2048,
            head: Duration::from_secs(15),
            stalled: Duration::from_secs(30),
            stalled_bytes: 64 << 10,
            head_bytes: 4 * MOST_HEAD_BYTES,
            farewell: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// The defaults, with as many connections as fit into a limit of `descriptors` beside the files that are read.
    pub fn within(descriptors: u64) -> Self {
        let defaults = Self::default();
        let left = usize::try_from(descriptors.saturating_sub(OTHER_DESCRIPTORS)).unwrap_or(usize::MAX);
        Self { connections: left.clamp(16, defaults.connections), ..defaults }
    }
}

/// Serves until `stop` resolves, then lets open requests end.
///
/// # Errors
/// None while running: a connection that fails ends alone.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    let mut logged = None;
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            (stream, permit) = accept(&listener, &connections, &mut logged) => {
                drive(stream, permit, router.clone(), limits, &graceful);
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(limits.farewell, graceful.shutdown()).await;
    Ok(())
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
    logged: &mut Option<Instant>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so a permit always comes.
    let permit = connections.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            // Out of file descriptors, most likely: connections that end give some back.
            Err(error) => {
                if logged.is_none_or(|at| at.elapsed() >= LOG_AGAIN) {
                    tracing::warn!(%error, "a connection could not be taken");
                    *logged = Some(Instant::now());
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn drive(
    stream: TcpStream,
    permit: Option<OwnedSemaphorePermit>,
    router: Router,
    limits: Limits,
    graceful: &GracefulShutdown,
) {
    let _ = stream.set_nodelay(true);
    leave_little_unsent(&stream);
    let stream = Paced::new(stream, Pace { wait: limits.stalled, bytes: limits.stalled_bytes });
    let service = TowerToHyperService::new(router.map_request(|request: Request<Incoming>| request.map(Body::new)));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
        drop(permit);
    });
}

/// Lets the system hold so much that is not on its way yet. Left to itself it takes whole blocks at once and asks for more
/// when a third of its buffer is free: an honest reader at 8 KiB/s would seem to stand still for minutes.
#[cfg(target_os = "linux")]
fn leave_little_unsent(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT);
}

/// Other systems' buffers are small.
#[cfg(not(target_os = "linux"))]
fn leave_little_unsent(_: &TcpStream) {}
