//! What may stand between a browser and the server: a proxy that takes a URL prefix off, notes every request, and does
//! to payloads what a bad line or a bad server would.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use hindsight_tests::client::{Response, request};

/// Changes a payload's bytes.
pub type Change = Arc<dyn Fn(&mut Vec<u8>) + Send + Sync>;

/// What happens to a payload on its way.
#[derive(Clone, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Its bytes are changed, and all of them arrive.
    Changed(Change),
    /// Half of it arrives before the connection breaks.
    Broken,
    /// Half of it arrives, the rest when the gate opens.
    Held(Arc<Gate>),
}

/// Closed until it is opened.
#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Lets everything through from now on.
    pub fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        drop(self.opened.wait_while(self.open.lock().unwrap(), |open| !*open).unwrap());
    }
}

struct Shared {
    upstream: SocketAddr,
    prefix: &'static str,
    log: Mutex<Vec<String>>,
    fault: Mutex<Fault>,
    stopped: AtomicBool,
}

/// A running proxy; it takes no more connections once it is dropped.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Starts one that serves what lies at `upstream` below `prefix`, which starts with a slash or is empty.
    pub fn start(upstream: SocketAddr, prefix: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            upstream,
            prefix,
            log: Mutex::default(),
            fault: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let known = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if known.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, Ok(stream)) = (Arc::clone(&known), stream) else { continue };
                // A browser that goes away in the middle is no failure of the proxy's.
                thread::spawn(move || drop(answer(&shared, &stream)));
            }
        });
        Self { address, shared }
    }

    /// The page's address.
    pub fn url(&self) -> String {
        format!("http://{}{}/", self.address, self.shared.prefix)
    }

    /// What happens to payloads from now on.
    pub fn set(&self, fault: Fault) {
        *self.shared.fault.lock().unwrap() = fault;
    }

    /// The targets of all requests so far, as they stood on the wire.
    pub fn log(&self) -> Vec<String> {
        self.shared.log.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener.
        drop(TcpStream::connect(self.address));
    }
}

fn answer(shared: &Shared, stream: &TcpStream) -> io::Result<()> {
    let (mut line, mut reader) = (String::new(), BufReader::new(stream));
    reader.read_line(&mut line)?;
    let Some(target) = line.split(' ').nth(1).map(str::to_owned) else { return Ok(()) };
    let headers = headers(&mut reader)?;
    shared.log.lock().unwrap().push(target.clone());
    // A browser that uses it as its proxy asks for whole URLs.
    let own = format!("http://{}", shared.upstream);
    let path = target.strip_prefix(&own).unwrap_or(&target);
    let Some(path) = path.strip_prefix(shared.prefix).filter(|path| path.starts_with('/')) else {
        return write(stream, &plain(404, "there is nothing outside of the prefix"));
    };
    let forwarded: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    let Ok(response) = request(shared.upstream, "GET", path, &forwarded) else {
        return write(stream, &plain(502, "the server behind this proxy does not answer"));
    };
    let fault = if path.ends_with("/payload") { shared.fault.lock().unwrap().clone() } else { Fault::None };
    respond(stream, response, &fault)
}

/// What the server's answer depends on.
fn headers(reader: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { return Ok(headers) };
        if ["accept", "accept-encoding", "if-none-match"].contains(&&*name.to_ascii_lowercase()) {
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
}

fn respond(stream: &TcpStream, mut response: Response, fault: &Fault) -> io::Result<()> {
    if let Fault::Changed(change) = fault {
        change(&mut response.body);
    }
    let half = response.body.len() / 2;
    match fault {
        Fault::None | Fault::Changed(_) => write(stream, &response),
        Fault::Broken => write_part(stream, &response, half),
        Fault::Held(gate) => {
            write_part(stream, &response, half)?;
            gate.wait();
            let mut stream = stream;
            stream.write_all(&response.body[half..])
        }
    }
}

fn write(stream: &TcpStream, response: &Response) -> io::Result<()> {
    write_part(stream, response, response.body.len())
}

fn write_part(mut stream: &TcpStream, response: &Response, part: usize) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} .\r\nContent-Length: {}\r\n", response.status, response.body.len());
    for (name, value) in &response.headers {
        if !["content-length", "transfer-encoding", "connection"].contains(&name.as_str()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    head.push_str("Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(&response.body[..part])
}

fn plain(status: u16, text: &str) -> Response {
    let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
    Response { status, headers, body: text.as_bytes().to_vec() }
}
