//! Takes connections and bounds what each may cost.
//!
//! `axum::serve` sets no limit on headers, idle time or the number of connections, so connections are driven here with
//! hyper's own builder: a client that is slow, silent, oversized or gone costs a bounded amount for a bounded time.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt;

/// What connections may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections open at the same time; more wait to be taken.
    pub connections: usize,
    /// How long a request's head may take, and how long a connection may be idle.
    pub head: Duration,
    /// How long a client may leave an answer unread.
    pub stalled: Duration,
    /// Bytes of a request's head.
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
            head_bytes: 16 << 10,
            farewell: Duration::from_secs(5),
        }
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
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            (stream, permit) = accept(&listener, &connections) => {
                drive(stream, permit, router.clone(), limits, &graceful);
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(limits.farewell, graceful.shutdown()).await;
    Ok(())
}

async fn accept(listener: &TcpListener, connections: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so a permit always comes.
    let permit = connections.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            // Out of file descriptors, most likely: connections that end give some back.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
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
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.stalled));
    let service = TowerToHyperService::new(router.map_request(|request: Request<Incoming>| request.map(Body::new)));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
        drop(permit);
    });
}
