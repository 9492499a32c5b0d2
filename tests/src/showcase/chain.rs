//! Block after block from genesis on, and beside them those of miners who came too late.

use std::collections::HashSet;

use bitcoin::{Block, BlockHash, OutPoint};

use super::mining::{Task, mine, times};
use super::plan::{FORKS, Plan, TIP, TIP_TIME, fill, plan};
use super::purse::{Coin, Purse};
use super::template::{Package, Scribe};
use super::wallet::Wallet;
use crate::chain_builder::genesis;
use crate::rng::Rng;
use crate::scenes::MATURITY;

/// How many keys all people have together: so many that few addresses repeat, and no more than the archive can carry.
const KEYS: usize = 40_000;

const SEED: u64 = 0x005e_ed0f_5a70_5417;

/// The chain, genesis left out.
pub struct Showcase {
    /// All blocks in the order in which a node got them.
    pub blocks: Vec<Block>,
    /// The best chain, lowest first.
    pub best: Vec<BlockHash>,
}

/// Mines it.
pub fn showcase() -> Showcase {
    let mut rng = Rng::new(SEED);
    let wallet = Wallet::new(KEYS);
    let times = times(&mut rng, TIP, TIP_TIME);
    let (mut purse, mut coinbases) = (Purse::default(), Vec::<Coin>::new());
    let mut rival: Option<Rival> = None;
    let mut showcase = Showcase { blocks: Vec::new(), best: Vec::new() };
    for height in 1..=TIP {
        let parent = showcase.best.last().copied().unwrap_or_else(genesis);
        let grown = coinbases.iter().filter(|coin| coin.born + MATURITY == height);
        grown.for_each(|coin| purse.put(coin.clone()));
        let plan = plan(&mut rng, height);
        if let Some((_, depth)) = FORKS.iter().find(|(from, _)| *from == height) {
            rival = Some(Rival::new(parent, *depth, purse.clone()));
        }
        let mut scribe = Scribe::new(&mut rng, &wallet, &mut purse, height, plan.demand);
        fill(&mut scribe, &plan);
        let packages = scribe.finish();
        let task = Task { parent, height, time: times[height as usize] };
        if let Some(other) = &mut rival {
            // Heard of before ours, and given up when ours is built on.
            showcase.blocks.push(other.mine(&wallet, &task, &plan, &packages));
        }
        rival = rival.filter(|rival| rival.left > 0);
        let (block, coin) = mine(&mut rng, &wallet, &task, packages);
        coinbases.push(coin);
        showcase.best.push(block.block_hash());
        showcase.blocks.push(block);
    }
    showcase
}

/// A miner who has not heard of our block.
struct Rival {
    tip: BlockHash,
    left: u32,
    purse: Purse,
    rng: Rng,
    /// What is spent on this branch, or was never made on it.
    gone: HashSet<OutPoint>,
}

impl Rival {
    fn new(tip: BlockHash, left: u32, purse: Purse) -> Self {
        Self { tip, left, purse, rng: Rng::new(SEED + 1), gone: HashSet::new() }
    }

    fn mine(&mut self, wallet: &Wallet, task: &Task, plan: &Plan, ours: &[Package]) -> Block {
        let mut scribe = Scribe::new(&mut self.rng, wallet, &mut self.purse, task.height, plan.demand);
        fill(&mut scribe, &plan.few());
        let own = scribe.finish();
        let packages = self.choose(own, ours);
        let task = Task { parent: self.tip, height: task.height, time: task.time - 3 };
        let (block, _) = mine(&mut self.rng, wallet, &task, packages);
        self.tip = block.block_hash();
        self.left -= 1;
        block
    }

    /// What only this miner has seen, and nearly all that ours holds besides.
    fn choose(&mut self, own: Vec<Package>, ours: &[Package]) -> Vec<Package> {
        let mut chosen = Vec::new();
        for package in own {
            self.take(package, 1000, &mut chosen);
        }
        for package in ours {
            self.take(package.clone(), 970, &mut chosen);
        }
        chosen.sort_by_key(|package| std::cmp::Reverse(package.rate()));
        chosen
    }

    fn take(&mut self, package: Package, permille: u64, chosen: &mut Vec<Package>) {
        let spent: Vec<OutPoint> = package.spent().collect();
        if self.rng.chance(permille) && !spent.iter().any(|outpoint| self.gone.contains(outpoint)) {
            self.gone.extend(spent);
            chosen.push(package);
        } else {
            self.gone.extend(package.made());
        }
    }
}
