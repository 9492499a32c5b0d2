//! What a real node answered about the regtest fixture, written down: it stands in where no node is at hand.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use bitcoin::BlockHash;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::core_rest::{Answer, Asker, about_block, bad_and_odd};
use crate::node::Node;
use crate::node_judge::{Compared, core_stats};

/// Answers of one node on one chain.
#[derive(Debug, Deserialize, Serialize)]
pub struct Recording {
    /// The node's version, as it says itself.
    pub source: String,
    /// When it was asked, as its answers say.
    pub date: String,
    /// Path and answer of each `GET`.
    pub answers: Vec<(String, Answer)>,
    /// `getblockstats` of each block from genesis on.
    pub stats: Vec<Map<String, Value>>,
}

/// Where the recording of `fixtures::regtest` lies.
pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/regtest-kernel-206.answers.json.gz")
}

impl Recording {
    /// Asks a node everything.
    pub fn of(node: &Node) -> Self {
        let mut asker = Asker::new(node.address());
        let chain = node.chain_from(0);
        let mut paths = Vec::new();
        for &(height, hash) in &chain {
            let block = asker.ask("GET", &format!("/rest/block/{hash}.bin"));
            paths.extend(about_block(height, hash, block.body.len()));
        }
        let (height, hash) = chain[chain.len() / 2];
        paths.extend(bad_and_odd(height, hash));
        let date = asker.ask("GET", &paths[0]).header("date").unwrap().to_owned();
        let answers = paths.into_iter().map(|path| {
            let answer = Answer::of(&asker.ask("GET", &path));
            (path, answer)
        });
        let answers = answers.collect();
        let stats = |&(height, _)| node.call("getblockstats", &[json!(height)]).as_object().unwrap().clone();
        Self { source: node.version(), date, answers, stats: chain.iter().map(stats).collect() }
    }

    /// Writes it down.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = GzEncoder::new(File::create(path)?, Compression::best());
        serde_json::to_writer(&mut file, self)?;
        file.finish().map(drop)
    }

    /// Reads one.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_reader(io::BufReader::new(GzDecoder::new(File::open(path)?)))?)
    }

    /// Asks a server the same.
    pub fn compare(&self, server: &mut Asker) -> Compared {
        let mut compared = Compared::default();
        for (path, cores) in &self.answers {
            compared.answer(path, cores, &Answer::of(&server.ask("GET", path)));
        }
        for cores in &self.stats {
            let hash: BlockHash = cores["blockhash"].as_str().unwrap().parse().unwrap();
            compared.stats(cores, &core_stats(server, hash));
        }
        compared
    }
}
