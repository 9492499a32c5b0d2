//! Holds the server against a running node: every REST answer that both have, and every field of `getblockstats`.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use bitcoin::BlockHash;
use serde_json::{Map, Value, json};

use crate::core_rest::{Answer, Asker, about_block, about_body, about_header, bad_and_odd};
use crate::node::Node;

/// How much has been compared, and what was different.
#[derive(Debug, Default)]
pub struct Compared {
    /// REST requests.
    pub requests: usize,
    /// Fields of `getblockstats`.
    pub fields: usize,
    different: Vec<String>,
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answers and {} fields of statistics compared with Bitcoin Core's", self.requests, self.fields)
    }
}

impl Compared {
    /// One answer.
    pub fn answer(&mut self, request: &str, cores: &Answer, ours: &Answer) {
        self.requests += 1;
        if cores != ours {
            self.different.push(format!("{request}\n    Core: {cores:?}\n    ours: {ours:?}"));
        }
    }

    /// All statistics of one block.
    pub fn stats(&mut self, cores: &Map<String, Value>, ours: &Map<String, Value>) {
        for name in cores.keys().chain(ours.keys()).collect::<BTreeSet<_>>() {
            self.fields += 1;
            let (cores_value, ours) = (cores.get(name), ours.get(name));
            if cores_value != ours {
                let block = &cores["blockhash"];
                self.different.push(format!("{name} of {block}: Core {cores_value:?}, ours {ours:?}"));
            }
        }
    }

    /// Fails with all that was different, not only the first.
    #[track_caller]
    pub fn nothing_is_different(&self) {
        let shown: Vec<_> = self.different.iter().take(30).cloned().collect();
        assert!(shown.is_empty(), "{} differences:\n  {}\n", self.different.len(), shown.join("\n  "));
    }
}

/// A node and a server that should be of one mind.
pub struct Pair<'a> {
    node: &'a Node,
    core: Asker,
    ours: Asker,
    /// What came of it.
    pub compared: Compared,
}

impl<'a> Pair<'a> {
    /// Of a node and the server at an address.
    pub fn new(node: &'a Node, server: SocketAddr) -> Self {
        let core = Asker::new(node.address());
        Self { node, core, ours: Asker::new(server), compared: Compared::default() }
    }

    /// The same requests to both.
    pub fn ask(&mut self, method: &str, paths: &[String]) {
        for path in paths {
            let (core, ours) = (self.core.ask(method, path), self.ours.ask(method, path));
            let request = format!("{method} {path}{}", first_difference(&core.body, &ours.body));
            self.compared.answer(&request, &Answer::of(&core), &Answer::of(&ours));
        }
    }

    /// Everything about one block of the best chain.
    pub fn block(&mut self, height: u32, hash: BlockHash) {
        let size = self.size(hash);
        self.ask("GET", &about_block(height, hash, size));
        self.stats(&json!(height), hash);
    }

    /// Everything about the blocks of the best chain from a height on, and all that can go wrong.
    pub fn chain_from(&mut self, height: u32) {
        for (height, hash) in self.node.chain_from(height) {
            self.block(height, hash);
        }
        self.bad();
    }

    /// All that can go wrong, and other methods.
    pub fn bad(&mut self) {
        let (height, hash) = (self.node.height() - 3, self.node.tip());
        self.ask("GET", &bad_and_odd(height, self.node.hash_at(height)));
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            self.ask(method, &[format!("/rest/block/{hash}.bin"), format!("/rest/headers/{hash}.json")]);
        }
    }

    /// A block that the best chain does not go through: what Core still has of it.
    pub fn stale(&mut self, hash: BlockHash) {
        self.body(hash);
        self.ask("GET", &["bin", "hex", "json"].map(|suffix| format!("/rest/headers/{hash}.{suffix}")));
        self.stats(&json!(hash), hash);
    }

    /// A block and what it spends: nothing that takes its ancestors.
    pub fn body(&mut self, hash: BlockHash) {
        let size = self.size(hash);
        self.ask("GET", &about_body(hash, size));
    }

    /// The same, and its statistics, which take its height and ten ancestors.
    pub fn body_and_stats(&mut self, hash: BlockHash) {
        self.body(hash);
        self.stats(&json!(hash), hash);
    }

    /// What can be said of a block of the best chain without its body.
    pub fn header(&mut self, height: u32, hash: BlockHash) {
        self.ask("GET", &about_header(height, hash));
    }

    /// What is left of a block whose file may be gone.
    pub fn pruned_or_not(&mut self, hash: BlockHash) {
        self.ask("GET", &about_body(hash, 100));
    }

    fn size(&mut self, hash: BlockHash) -> usize {
        let response = self.core.ask("GET", &format!("/rest/block/{hash}.bin"));
        assert_eq!(response.status, 200, "{hash}: {}", response.text());
        response.body.len()
    }

    fn stats(&mut self, id: &Value, hash: BlockHash) {
        let cores = self.node.call("getblockstats", std::slice::from_ref(id));
        let ours = core_stats(&mut self.ours, hash);
        self.compared.stats(cores.as_object().unwrap(), &ours);
    }

    /// Says what was compared; fails if anything was different.
    #[track_caller]
    pub fn done(self) {
        println!("{}", self.compared);
        self.compared.nothing_is_different();
    }
}

/// What stands in both bodies where they part, to be read by people.
fn first_difference(core: &[u8], ours: &[u8]) -> String {
    let common = core.iter().zip(ours).take_while(|(core, ours)| core == ours).count();
    if common == core.len().max(ours.len()) {
        return String::new();
    }
    let shown = |body: &[u8]| {
        let body = &body[common.saturating_sub(60).min(body.len())..(common + 60).min(body.len())];
        String::from_utf8_lossy(body).into_owned()
    };
    format!("\n    Core: …{}…\n    ours: …{}…", shown(core), shown(ours))
}

/// What the server says in Core's terms of a block.
#[track_caller]
pub fn core_stats(server: &mut Asker, hash: BlockHash) -> Map<String, Value> {
    let response = server.ask("GET", &format!("/api/v1/block/{hash}/stats"));
    assert_eq!(response.status, 200, "{hash}: {}", response.text());
    response.json::<Value>()["core"].as_object().unwrap().clone()
}
