//! Clients that are slow, silent, oversized or gone cost a bounded amount for a bounded time, and others never notice.

use std::io::Write;
use std::net::{Shutdown, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use bitcoin::{Amount, TxOut};
use hindsight_tests::chain_builder::spend;
use hindsight_tests::client::{Connection, request};
use hindsight_tests::fixtures;
use hindsight_tests::kernel_chain::KernelChain;
use hindsight_tests::locks::op_return;
use hindsight_tests::process::Process;
use hindsight_tests::scenes::{MATURITY, Scene};
use hindsight_tests::test_server::{Setup, TestServer};
use hindsight_tests::wait::until_true;

const BRIEF: Duration = Duration::from_secs(1);

/// A server that has little patience.
fn impatient(connections: usize) -> (fixtures::Fixture, TestServer) {
    let fixture = fixtures::regtest();
    let mut setup = Setup::new(&fixture.datadir());
    setup.limits.connections = connections;
    setup.limits.head = BRIEF;
    setup.limits.stalled = BRIEF;
    let server = setup.start().unwrap();
    server.wait_until_read();
    (fixture, server)
}

/// Somebody else is answered, and soon.
#[track_caller]
fn others_are_answered(address: SocketAddr) {
    let start = Instant::now();
    for path in ["/api/v1/tip", "/api/v1/block/1/payload"] {
        assert_eq!(request(address, "GET", path, &[]).unwrap().status, 200);
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn idle_connections_cost_nothing_lasting() {
    let (_fixture, server) = impatient(1000);
    let mut idle: Vec<Connection> = (0..400).map(|_| Connection::open(server.address).unwrap()).collect();
    others_are_answered(server.address);
    // Those that have asked something before are idle too.
    for connection in &mut idle[..100] {
        let _ = connection.request("GET", "/api/v1/tip", &[]);
    }
    for connection in &mut idle {
        connection.rest().unwrap();
    }
    others_are_answered(server.address);
}

#[test]
fn more_connections_than_allowed_wait_for_their_turn() {
    let (_fixture, server) = impatient(8);
    let _idle: Vec<Connection> = (0..8).map(|_| Connection::open(server.address).unwrap()).collect();
    let start = Instant::now();
    assert_eq!(server.get("/api/v1/tip").status, 200);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// A byte now and then does not keep a connection: the head as a whole has its time.
#[test]
fn slow_heads_are_cut_off() {
    let (_fixture, server) = impatient(1000);
    let start = Instant::now();
    let slow = |_| {
        let address = server.address;
        thread::spawn(move || {
            let mut connection = Connection::open(address).unwrap();
            let head = format!("GET /api/v1/tip HTTP/1.1\r\nX-Slow: {}", "a".repeat(10_000));
            head.bytes().find(|byte| {
                thread::sleep(Duration::from_millis(20));
                connection.send(&[*byte]).is_err()
            })
        })
    };
    let slow: Vec<_> = (0..50).map(slow).collect();
    others_are_answered(server.address);
    for client in slow {
        assert!(client.join().unwrap().is_some(), "the whole head was taken");
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn oversized_heads_are_refused() {
    let (_fixture, server) = impatient(100);
    let long = "a".repeat(100_000);
    let many = "A: b\r\n".repeat(5000);
    for head in [
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: {long}\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"),
        format!("{long} / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ] {
        let mut connection = Connection::open(server.address).unwrap();
        // The server may have closed it before all was sent.
        let _ = connection.send(head.as_bytes());
        if let Ok(response) = connection.receive(false) {
            assert!([400, 414, 431].contains(&response.status), "{}", response.status);
        }
        others_are_answered(server.address);
    }
}

#[test]
fn what_is_no_http_is_refused() {
    let (_fixture, server) = impatient(100);
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\0\0\0\0",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nA\0B: c\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nzzzzz",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut connection = Connection::open(server.address).unwrap();
        let _ = connection.send(bytes);
        let _ = connection.socket().shutdown(Shutdown::Write);
        let _ = connection.rest();
        others_are_answered(server.address);
    }
}

#[test]
fn pipelined_requests_are_answered_in_turn() {
    let (_fixture, server) = impatient(100);
    let mut connection = Connection::open(server.address).unwrap();
    let one = |height: u32| format!("GET /api/v1/block/{height}/payload HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let all: String = (0..50).map(one).collect();
    connection.send(all.as_bytes()).unwrap();
    for height in 0..50 {
        assert_eq!(connection.receive(false).unwrap().body, server.payload(height));
    }
}

#[test]
fn a_body_that_was_announced_and_never_comes() {
    let (_fixture, server) = impatient(100);
    let mut connection = Connection::open(server.address).unwrap();
    connection.send(b"GET /api/v1/tip HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n").unwrap();
    assert_eq!(connection.receive(false).unwrap().status, 200);
    others_are_answered(server.address);
}

#[test]
fn clients_that_leave_in_the_middle_of_an_answer() {
    let chain = testnet();
    let server = TestServer::start(&chain.datadir());
    for round in 0..300 {
        let mut connection = Connection::open(server.address).unwrap();
        let head = "GET /api/v1/blocks/0/2016/payload HTTP/1.1\r\nHost: localhost\r\n\r\n";
        connection.send(head.as_bytes()).unwrap();
        if round % 2 == 0 {
            let mut some = [0; 500];
            std::io::Read::read_exact(&mut connection.socket(), &mut some).unwrap();
        }
    }
    others_are_answered(server.address);
    assert_eq!(server.get("/api/v1/blocks/0/2016/payload").status, 200);
}

fn testnet() -> fixtures::Fixture {
    fixtures::testnet3()
}

/// 30 full blocks, about 30 MB.
fn full_blocks() -> KernelChain {
    let mut scene = Scene::empty(MATURITY + 30);
    for index in 0..30_u8 {
        let coin = scene.take_coinbase();
        let fee = coin.value;
        let output = TxOut { value: Amount::ZERO, script_pubkey: op_return(&vec![index; 990_000]) };
        let block = scene.builder.mine(scene.tip(), vec![spend(&[coin], vec![output])], fee);
        scene.blocks.push(block);
    }
    let kernel = KernelChain::new().unwrap();
    kernel.extend(&scene.blocks).unwrap();
    kernel
}

/// Forty clients ask for 30 MB each and read nothing: what lies ready for them is a block or two, not all of it.
#[test]
fn clients_that_never_read_what_they_asked_for() {
    let kernel = full_blocks();
    let index = tempfile::tempdir().unwrap();
    let server = Process::start(kernel.datadir(), index.path());
    until_true("the directory has been read", || server.get("/api/v1/block/160").status == 200);
    let Some(before) = server.memory() else {
        println!("skipped: this system does not tell how much memory a process uses");
        return;
    };
    let mut clients: Vec<Connection> = (0..40).map(|_| Connection::open(server.address).unwrap()).collect();
    for client in &mut clients {
        client.send(b"GET /api/v1/blocks/101/160/payload HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    }
    // Each answer has begun, so that the server has come as far as it can with a reader that does not read.
    for client in &clients {
        let mut start = [0; 12];
        std::io::Read::read_exact(&mut client.socket(), &mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
    }
    for _ in 0..20 {
        others_are_answered(server.address);
    }
    let grown = server.memory().unwrap().saturating_sub(before) >> 20;
    println!("40 clients that do not read cost {grown} MiB");
    assert!(grown < 250, "{grown} MiB");
    drop(clients);
    others_are_answered(server.address);
}

/// An answer that nobody takes is given up, and its connection closed.
#[test]
fn stalled_answers_are_given_up() {
    let kernel = full_blocks();
    let mut setup = Setup::new(kernel.datadir());
    setup.limits.stalled = BRIEF;
    setup.limits.connections = 4;
    let server = setup.start().unwrap();
    server.wait_until_read();
    let mut clients: Vec<Connection> = (0..4).map(|_| Connection::open(server.address).unwrap()).collect();
    for client in &mut clients {
        client.send(b"GET /api/v1/blocks/101/160/payload HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        client.socket().flush().unwrap();
    }
    // All four places are taken until the server has given up on their clients, one after another.
    let mut others = Vec::new();
    for _ in 0..4 {
        let mut other = Connection::open(server.address).unwrap();
        other.send(b"GET /api/v1/tip HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert_eq!(other.receive(false).unwrap().status, 200);
        others.push(other);
    }
    for client in &mut clients {
        // What is left in the buffers ends before the answer does.
        assert!(client.receive(false).is_err());
    }
}
