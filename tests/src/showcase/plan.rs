//! What goes into which block: a hundred of nothing but coinbases, then more and more, and six full ones with a mood
//! each.

use super::template::Scribe;
use crate::rng::Rng;

/// The height of the last block: its subsidy is that of mainnet in these years, 3.125 coins.
pub const TIP: u32 = 640;

/// Noon of 31 October 2026, UTC.
pub const TIP_TIME: u32 = 1_793_448_000;

/// How many blocks at the end are full.
pub const FULL: u32 = 6;

/// Where another miner's blocks were in front for a while: height and how many of them.
pub const FORKS: &[(u32, u32)] = &[(TIP - 33, 2), (TIP - 2, 1)];

/// Coinbases before this height have nobody's company.
const FIRST_SPEND: u32 = 101;

/// As much as miners fill, their own coinbase left out.
const FULL_WEIGHT: u64 = 3_996_000;

/// A way to make transactions.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// One pays another.
    Payment,
    /// One pays up to so many.
    Batch(u64),
    /// Up to so many coins become one.
    Consolidation(u64),
    /// So many people spend together.
    Join(usize),
    /// A token moves.
    Token,
    /// A payment with a note.
    Note,
    /// A note of pages.
    LongNote,
    /// A child pays for its parent.
    Bumped,
    /// So many in line.
    Line(usize),
    /// An anchor of nothing.
    Anchored,
    /// A payment channel ends.
    ChannelEnd,
    /// Somebody's content.
    Inscription,
    /// Tokens are minted.
    Mint,
    /// What few do.
    Oddity,
}

impl Way {
    /// Adds transactions of this way, if there are coins for it.
    pub fn write(self, scribe: &mut Scribe<'_>) -> Option<()> {
        match self {
            Self::Payment => scribe.payment(),
            Self::Batch(most) => scribe.batch(most),
            Self::Consolidation(most) => scribe.consolidation(most),
            Self::Join(people) => scribe.join(people),
            Self::Token => scribe.token(),
            Self::Note => scribe.note(false),
            Self::LongNote => scribe.note(true),
            Self::Bumped => scribe.bumped(),
            Self::Line(length) => scribe.line(length),
            Self::Anchored => scribe.anchored(),
            Self::ChannelEnd => scribe.channel_end(),
            Self::Inscription => scribe.inscription(),
            Self::Mint => scribe.mint(),
            Self::Oddity => scribe.oddity(),
        }
    }
}

/// Ways, and how many of all transactions take each.
type Mix = &'static [(u64, Way)];

/// Coins of miners become those of many.
const EARLY: Mix = &[(50, Way::Payment), (30, Way::Batch(60)), (4, Way::Oddity), (3, Way::Note), (3, Way::Line(3))];

const GROWING: Mix = &[
    (700, Way::Payment),
    (60, Way::Batch(100)),
    (20, Way::Batch(250)),
    (60, Way::Token),
    (40, Way::Note),
    (20, Way::Bumped),
    (20, Way::Line(4)),
    (10, Way::Anchored),
    (8, Way::ChannelEnd),
    (15, Way::Inscription),
    (20, Way::Mint),
    (40, Way::Oddity),
];

const ORDINARY: Mix = &[
    (700, Way::Payment),
    (110, Way::Token),
    (40, Way::Note),
    (7, Way::Batch(80)),
    (2, Way::Batch(300)),
    (4, Way::Consolidation(40)),
    (2, Way::Join(5)),
    (34, Way::Bumped),
    (14, Way::Line(4)),
    (6, Way::Anchored),
    (8, Way::ChannelEnd),
    (9, Way::Inscription),
    (10, Way::Mint),
    (10, Way::Oddity),
];

/// Content and tokens.
const CREATIVE: Mix = &[
    (540, Way::Payment),
    (150, Way::Token),
    (30, Way::Note),
    (4, Way::Batch(80)),
    (3, Way::Consolidation(40)),
    (20, Way::Bumped),
    (10, Way::Line(4)),
    (5, Way::Anchored),
    (5, Way::ChannelEnd),
    (75, Way::Inscription),
    (25, Way::Mint),
    (8, Way::Oddity),
];

/// Everybody is in a hurry, exchanges above all.
const RUSH: Mix = &[
    (860, Way::Payment),
    (50, Way::Token),
    (30, Way::Note),
    (16, Way::Batch(60)),
    (4, Way::Batch(400)),
    (3, Way::Join(5)),
    (70, Way::Bumped),
    (20, Way::Line(6)),
    (8, Way::Anchored),
    (10, Way::ChannelEnd),
    (3, Way::Inscription),
    (8, Way::Oddity),
];

/// A quiet hour, in which those come who have waited for it.
const QUIET: Mix = &[
    (660, Way::Payment),
    (90, Way::Token),
    (40, Way::Note),
    (4, Way::Batch(50)),
    (16, Way::Consolidation(30)),
    (5, Way::Consolidation(120)),
    (5, Way::Join(5)),
    (15, Way::Bumped),
    (12, Way::Line(4)),
    (10, Way::Inscription),
    (12, Way::Mint),
    (10, Way::Oddity),
];

/// What every full block holds, whatever its mood.
const ALWAYS: &[Way] = &[
    Way::Batch(1_000),
    Way::Consolidation(260),
    Way::Join(60),
    Way::Line(25),
    Way::LongNote,
    Way::Anchored,
    Way::Anchored,
    Way::ChannelEnd,
    Way::Bumped,
    Way::Inscription,
    Way::Mint,
];

/// The moods of the full blocks, and what people pay then, in thousandths of what they usually do.
const MOODS: [(Mix, u64); FULL as usize] =
    [(ORDINARY, 900), (CREATIVE, 1_000), (RUSH, 1_900), (ORDINARY, 1_300), (QUIET, 600), (ORDINARY, 1_000)];

/// A block to be filled.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Weight of its transactions, the coinbase left out.
    pub weight: u64,
    /// What people pay at the time, in thousandths of what they usually pay.
    pub demand: u64,
    mix: Mix,
    always: &'static [Way],
}

impl Plan {
    /// The same, as far as a single miner has seen things that nobody else has.
    pub fn few(self) -> Self {
        Self { weight: self.weight / 50, always: &[], ..self }
    }
}

/// Quantiles of how full a block is, in thousandths of what its time makes usual.
const FULLNESS: &[u64] = &[20, 150, 300, 450, 600, 800, 1_000, 1_300, 1_700, 2_600];

/// What a height's block is to be.
pub fn plan(rng: &mut Rng, height: u32) -> Plan {
    let demand = rng.between(700, 1_500);
    let part = |weight, mix| Plan { weight, demand, mix, always: &[] };
    if let Some(at) = (height + FULL).checked_sub(TIP + 1) {
        let (mix, demand) = MOODS[at as usize];
        return Plan { weight: FULL_WEIGHT, demand, mix, always: ALWAYS };
    }
    let usual = match TIP - FULL - height {
        0 => return part(1_950_000, ORDINARY),
        1 => return part(0, EARLY),
        before @ 2..=20 => 800_000 - 30_000 * u64::from(before),
        before @ 21..=120 => 150_000 - 1_000 * u64::from(before),
        _ if height < FIRST_SPEND => 0,
        _ => 8_000,
    };
    let weight = usual * rng.quantile(FULLNESS) / 1000;
    part(weight, if usual < 20_000 { EARLY } else { GROWING })
}

/// Misses, by want of coins or of room, after which a block is as full as it gets.
const MISSES: u32 = 40;

/// Fills a template as planned.
pub fn fill(scribe: &mut Scribe<'_>, plan: &Plan) {
    for way in plan.always {
        let written = (0..MISSES).find_map(|_| way.write(scribe));
        assert!(written.is_some(), "no coins for {way:?}");
    }
    let mut misses = 0;
    while scribe.weight() + 400 < plan.weight && misses < MISSES {
        let tight = plan.weight - scribe.weight() < 60_000;
        let way = if tight { Way::Payment } else { scribe.rng.weighted(plan.mix) };
        let written = way.write(scribe);
        if scribe.weight() > plan.weight {
            scribe.undo();
            misses += 1;
        } else if written.is_none() {
            misses += 1;
        }
    }
}
