//! One HTTP request by hand: enough to fetch the bytes that are compared.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The body of `path`; an error for any status but 200.
pub fn get(address: SocketAddr, path: &str) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").context("an answer without an end of its head")?;
    let body = answer.split_off(end + 4);
    let head = String::from_utf8_lossy(&answer);
    let status = head.lines().next().unwrap_or_default();
    if !status.contains(" 200 ") {
        bail!("{path}: {status}: {}", String::from_utf8_lossy(&body).chars().take(200).collect::<String>());
    }
    Ok(body)
}
