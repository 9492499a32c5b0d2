//! Core's kernel and the server side by side: after each block everything that both say is compared.

use std::collections::HashMap;

use bitcoin::block::Header;
use bitcoin::blockdata::constants::genesis_block;
use bitcoin::consensus::serialize;
use bitcoin::p2p::Magic;
use bitcoin::{Block, BlockHash, Network};

use crate::chain_builder;
use crate::core_files::age;
use crate::judge::{Compared, Expected, compare_on, is_not_connected};
use crate::kernel_chain::KernelChain;
use crate::stats_compare::{self, Truth};
use crate::test_server::{Setup, TestServer};
use crate::wait::until_true;

/// The most headers that one request gives (`MAX_REST_HEADERS_RESULTS` of Core's `src/rest.cpp`).
const MOST_HEADERS: usize = 2000;

/// How much has been compared.
#[derive(Debug, Default)]
pub struct Counts {
    /// Blocks with what they spend, several times where it was asked several times.
    pub blocks: Compared,
    /// Their statistics.
    pub statistics: stats_compare::Compared,
    /// Header chains.
    pub chains: u64,
    /// Headers of all of them.
    pub headers: u64,
    /// Blocks that were stored and never connected.
    pub never_connected: u64,
}

/// A node and a server that reads its directory while it grows.
pub struct Differential {
    /// The judge.
    pub kernel: KernelChain,
    setup: Setup,
    server: TestServer,
    magic: Magic,
    headers: HashMap<BlockHash, Header>,
    chain: Vec<BlockHash>,
    refused: Vec<Block>,
    counts: Counts,
}

impl Differential {
    /// A new node of regtest.
    pub fn regtest() -> Self {
        let kernel = KernelChain::new().unwrap();
        let setup = Setup::new(kernel.datadir());
        Self::of(kernel, setup, Network::Regtest.magic())
    }

    /// A node, and how its directory is served.
    pub fn of(kernel: KernelChain, setup: Setup, magic: Magic) -> Self {
        let server = setup.clone().start().unwrap();
        server.wait_until_read();
        let genesis = genesis_block(kernel.network());
        let headers = HashMap::from([(genesis.block_hash(), genesis.header)]);
        let (chain, refused) = (Vec::new(), Vec::new());
        Self { kernel, setup, server, magic, headers, chain, refused, counts: Counts::default() }
    }

    /// The server that follows.
    pub fn server(&self) -> &TestServer {
        &self.server
    }

    /// Hands over blocks one by one and compares after each.
    #[track_caller]
    pub fn submit(&mut self, blocks: &[Block]) {
        for block in blocks {
            self.give(block);
            self.compare();
        }
    }

    /// Hands over blocks and compares after the last.
    #[track_caller]
    pub fn submit_at_once(&mut self, blocks: &[Block]) {
        blocks.iter().for_each(|block| self.give(block));
        self.compare();
    }

    /// Hands over a block that the node stores and never connects.
    #[track_caller]
    pub fn submit_unconnected(&mut self, block: &Block) {
        self.give(block);
        assert!(!self.kernel.is_best(block.block_hash()).unwrap(), "{} is connected", block.block_hash());
        self.refused.push(block.clone());
        self.compare();
    }

    /// Hands over a block that the node does not even store.
    #[track_caller]
    pub fn refuse(&mut self, block: &Block) {
        self.kernel.refuse(block).unwrap();
        self.compare();
        assert_eq!(self.server.get(&format!("/api/v1/block/{}", block.block_hash())).status, 404);
    }

    #[track_caller]
    fn give(&mut self, block: &Block) {
        self.kernel.submit(block).unwrap();
        self.headers.insert(block.block_hash(), block.header);
    }

    /// Header chain and tip, and every block that has come to the best chain or left it since the last time.
    #[track_caller]
    fn compare(&mut self) {
        let (height, tip) = self.kernel.tip().unwrap();
        let facts = self.server.wait_for_tip(tip);
        assert_eq!((facts.height.map(|height| height.0), facts.confirmations, facts.next), (Some(height), 1, None));
        let chain: Vec<BlockHash> = (0..=height).map(|height| self.kernel.hash_at(height).unwrap()).collect();
        self.compare_headers(&chain);
        let common = chain.iter().zip(&self.chain).take_while(|(new, old)| new == old).count();
        let left = std::mem::replace(&mut self.chain, chain);
        let changed: Vec<BlockHash> = left[common..].iter().chain(&self.chain[common..]).copied().collect();
        changed.into_iter().for_each(|hash| self.compare_block(hash));
    }

    /// The best chain from genesis on, as far as the server gives headers.
    #[track_caller]
    fn compare_headers(&mut self, chain: &[BlockHash]) {
        let path = format!("/rest/headers/{}.bin?count={MOST_HEADERS}", chain[0]);
        let theirs: Vec<u8> = chain.iter().take(MOST_HEADERS).flat_map(|hash| serialize(&self.headers[hash])).collect();
        assert!(self.server.get_ok(&path) == theirs, "the header chain differs");
        self.counts.chains += 1;
        self.counts.headers += (theirs.len() / 80) as u64;
    }

    #[track_caller]
    fn compare_block(&mut self, hash: BlockHash) {
        let expected = Expected::of_kernel(&self.kernel, hash);
        self.counts.blocks.add(compare_on(&self.server, &expected, self.magic));
        let subsidy = match self.kernel.network() {
            Network::Regtest => chain_builder::subsidy(expected.height).to_sat(),
            _ => 50_0000_0000,
        };
        let truth = Truth::of(&expected, subsidy, Some(self.median_time(hash)));
        stats_compare::compare(&self.server, &truth, &mut self.counts.statistics);
    }

    /// Of a block and the ten before it.
    fn median_time(&self, hash: BlockHash) -> u32 {
        let header = self.headers.get(&hash);
        let chain = std::iter::successors(header, |header| self.headers.get(&header.prev_blockhash));
        let mut times: Vec<u32> = chain.take(11).map(|header| header.time).collect();
        times.sort_unstable();
        times[times.len() / 2]
    }

    /// What was never connected is said not to be; and a server that opens the directory only now, and so has seen
    /// nothing of what happened, gives the same answers about every block whose height is at least `from`.
    #[track_caller]
    pub fn finish(mut self, from: u32) -> Counts {
        age(&self.kernel.blocks_dir());
        self.compare_unconnected();
        let later = self.setup.clone().start().unwrap();
        later.wait_until_read();
        self.server = later;
        let chain = std::mem::take(&mut self.chain);
        self.chain = chain[..from as usize].to_vec();
        self.compare();
        self.compare_unconnected();
        println!("{:?}", self.counts);
        self.counts
    }

    #[track_caller]
    fn compare_unconnected(&mut self) {
        for block in &self.refused {
            let path = format!("/api/v1/block/{}", block.block_hash());
            until_true("the block is known", || self.server.get(&path).status == 200);
            is_not_connected(&self.server, block);
            self.counts.never_connected += 1;
        }
        let tip = self.kernel.tip().unwrap().1;
        assert_eq!((self.server.tip().map(|tip| tip.hash), self.server.status().tied_with), (Some(tip), None));
    }
}
