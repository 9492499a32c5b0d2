//! A small blocking HTTP/1.1 client over a plain socket: tests see exactly what is on the wire, and can misbehave.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::de::DeserializeOwned;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came back.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Names in lower case, and values, in the order of the wire.
    pub headers: Vec<(String, String)>,
    /// The body, without transfer coding.
    pub body: Vec<u8>,
}

impl Response {
    /// A header's value; of several, the first.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("status {}: {error} in {}", self.status, self.text()),
        }
    }
}

/// A connection that stays open between requests.
pub struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Connection {
    /// Connects to a server.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream), host: address.to_string() })
    }

    /// Sends a request and reads the answer. `Host` is the address unless given.
    pub fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> io::Result<Response> {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.host));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.send(head.as_bytes())?;
        self.receive(method == "HEAD")
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads one answer.
    pub fn receive(&mut self, without_body: bool) -> io::Result<Response> {
        let head = self.line()?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status line: {head:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut response = Response { status, headers, body: Vec::new() };
        if !without_body && status >= 200 && status != 204 && status != 304 {
            response.body = self.body(&response)?;
        }
        Ok(response)
    }

    /// The bytes that are left until the server closes the connection.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest)?;
        Ok(rest)
    }

    /// The socket underneath.
    pub fn socket(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    fn body(&mut self, response: &Response) -> io::Result<Vec<u8>> {
        if response.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            return self.chunks();
        }
        let Some(length) = response.header("content-length") else { return self.rest() };
        let mut body = vec![0; length.parse().map_err(io::Error::other)?];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            let start = body.len();
            body.resize(start + size, 0);
            self.stream.read_exact(&mut body[start..])?;
            self.line()?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

/// One request on a connection of its own.
pub fn request(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)]) -> io::Result<Response> {
    Connection::open(address)?.request(method, path, &[&[("Connection", "close")], headers].concat())
}
