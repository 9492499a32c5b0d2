//! A stream whose reader has to keep a pace.
//!
//! A client that takes one byte every now and then makes progress, and holds a block in memory for a day. So what counts
//! is what it takes in the time that was spent waiting for it: too little of it ends the connection. Time in which there
//! was nothing to send does not count.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// The least that a reader has to take.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// For each so long a wait …
    pub wait: Duration,
    /// … so many bytes.
    pub bytes: u64,
}

/// A stream that fails with [`io::ErrorKind::TimedOut`] where its reader is slower than its pace.
#[derive(Debug)]
pub struct Paced<S> {
    stream: S,
    pace: Pace,
    /// Written since the pace was last kept.
    written: u64,
    /// Time that was spent waiting since then, up to the last wait's end.
    waited: Duration,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    end: Pin<Box<Sleep>>,
}

impl<S> Paced<S> {
    /// Sets a pace for whoever reads what is written to `stream`.
    pub const fn new(stream: S, pace: Pace) -> Self {
        Self { stream, pace, written: 0, waited: Duration::ZERO, waiting: None }
    }

    /// Accounts for an attempt to write.
    fn account(&mut self, context: &mut Context<'_>, attempt: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match attempt {
            Poll::Ready(outcome) => {
                if let Some(waiting) = self.waiting.take() {
                    self.waited += waiting.since.elapsed();
                }
                self.written += outcome.as_ref().map_or(0, |&written| written as u64);
                Poll::Ready(outcome)
            }
            Poll::Pending => {
                ready!(self.poll_wait(context));
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the reader is too slow")))
            }
        }
    }

    /// Ready when the reader has been waited for in vain.
    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let left = self.pace.wait.saturating_sub(self.waited);
            let waiting = self.waiting.get_or_insert_with(|| {
                let since = Instant::now();
                Waiting { since, end: Box::pin(sleep_until(since + left)) }
            });
            ready!(waiting.end.as_mut().poll(context));
            if self.written < self.pace.bytes {
                return Poll::Ready(());
            }
            (self.written, self.waited, self.waiting) = (0, Duration::ZERO, None);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.account(context, attempt)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.account(context, attempt)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    const WAIT: Duration = Duration::from_secs(1);

    /// Writes `size` bytes at a pace of 1,000 for each wait, to a reader that takes `take` at a time and then pauses.
    fn send(size: usize, take: usize, pause: Duration) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (near, mut far): (DuplexStream, DuplexStream) = duplex(100);
            let reader = tokio::spawn(async move {
                let mut bytes = vec![0; take];
                while far.read_exact(&mut bytes).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            });
            let mut paced = Paced::new(near, Pace { wait: WAIT, bytes: 1000 });
            let sent = paced.write_all(&vec![0; size]).await;
            reader.abort();
            sent
        })
    }

    #[test]
    fn a_reader_that_crawls_is_cut_off() {
        let sent = send(4000, 1, WAIT / 20);
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_reader_that_stalls_is_cut_off() {
        let sent = send(4000, 500, WAIT * 20);
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_slow_reader_that_keeps_the_pace_gets_everything() {
        send(8000, 100, WAIT / 100).unwrap();
    }
}
