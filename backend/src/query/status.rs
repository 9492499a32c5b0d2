//! How the server is doing, in words for everybody who can reach it: without its paths and its users' names.

use std::sync::Weak;

use bitcoin::p2p::Magic;
use hindsight_shared::api::{HeightRange, IndexLevel, IndexProgress, Status};
use hindsight_shared::network::NetworkExt;
use hindsight_shared::payload::VERSION;

use super::{Explorer, facts};
use crate::index::SCHEMA_VERSION;

/// What the explorer says of itself in [`Status`].
#[derive(Clone, Debug)]
pub struct About {
    /// The network's magic.
    pub magic: Magic,
    /// Where the blocks come from, in words.
    pub source: String,
    /// What the demo chain is, if it is one.
    pub demo: Option<String>,
    /// What is indexed beside blocks.
    pub levels: Vec<IndexLevel>,
    /// Held by the thread that follows the source, as long as it runs.
    pub follower: Weak<()>,
}

impl Explorer {
    /// How the server is doing.
    pub fn status(&self) -> Status {
        let progress = self.report.progress();
        let index = self.levels(progress.complete);
        let chain = self.chain.read();
        let ranges =
            chain.best().segments().iter().map(|segment| HeightRange { from: segment.from(), to: segment.to() });
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            payload_version: VERSION,
            index_version: SCHEMA_VERSION,
            network: chain.network().chain_name().to_owned(),
            magic: self.about.magic.to_string(),
            source: self.about.source.clone(),
            demo: self.about.demo.clone(),
            chains: Vec::new(),
            tip: chain.tip().map(|tip| facts(&chain, tip)),
            tied_with: chain.best().tied(),
            ranges: ranges.collect(),
            progress,
            index,
            unknown: [
                "blocks that the node was told to reject or to prefer (invalidateblock, preciousblock)",
                "headers whose blocks the node has not received",
                "unconfirmed transactions and peers",
            ]
            .map(str::to_owned)
            .to_vec(),
            warnings: self.warnings(),
        }
    }

    /// How far each level of the index is. Where it cannot be read, none is whole.
    fn levels(&self, complete: bool) -> Vec<IndexProgress> {
        let is_whole = |level| self.gaps_in(level).is_ok_and(|gaps| !self.have_blocks(&gaps));
        let told = self.report.index().into_iter();
        told.map(|told| IndexProgress { whole: complete && is_whole(told.level), ..told }).collect()
    }

    /// Whether the blocks directory can be read.
    pub fn reads_source(&self) -> bool {
        self.report.reads_source()
    }

    /// Whether new blocks are still being looked for.
    pub fn follows_source(&self) -> bool {
        self.about.follower.strong_count() > 0
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.report.warnings().iter().map(|text| for_everybody(text)).collect();
        if !self.follows_source() {
            warnings.push("new blocks are no longer looked for: the server has to be started again".to_owned());
        }
        warnings
    }
}

/// A warning without the folders in it, and without what it says about their owners: that is in the log.
fn for_everybody(warning: &str) -> String {
    let (warning, rest) = match warning.split_once(", which belongs to ") {
        Some((warning, _)) => (warning, ": the server's log says whose it is and what to do"),
        None => (warning, ""),
    };
    let mut shown: Vec<&str> = Vec::new();
    let mut in_path = false;
    for word in warning.split(' ') {
        let starts = word.trim_start_matches(['\'', '"', '(']).starts_with('/');
        // Folders may have a space in their names; an "I/O error" is none.
        let goes_on = in_path && !starts && word.contains('/') && word != "I/O";
        if goes_on {
            shown.pop();
        }
        in_path = starts || goes_on;
        let name = word.rsplit_once('/').map(|(_, name)| name).filter(|_| in_path);
        shown.push(match name {
            Some("") => "a folder",
            Some(name) => name,
            None => word,
        });
    }
    shown.join(" ") + rest
}

#[cfg(test)]
mod tests {
    use super::for_everybody;

    #[test]
    fn warnings_name_files_but_neither_folders_nor_users() {
        for (warning, shown) in [
            ("/home/satoshi/.bitcoin/blocks does not exist: is it mounted?", "blocks does not exist: is it mounted?"),
            ("/Users/x/Library/Application Support/Bitcoin/blocks/xor.dat holds 7 bytes", "xor.dat holds 7 bytes"),
            (
                "bad; it was moved to /a/b/index.damaged and is built anew",
                "bad; it was moved to index.damaged and is built anew",
            ),
            (
                "/data/ holds none: give the one with blocks/ in it",
                "a folder holds none: give the one with blocks/ in it",
            ),
            (
                "the index /var/my index/index.redb: I/O error: no luck; it is tried again",
                "the index index.redb: I/O error: no luck; it is tried again",
            ),
            (
                "cannot read /b/blk00000.dat: permission denied by /b, which belongs to user satoshi (uid 1). Run as that",
                "cannot read blk00000.dat: permission denied by b: the server's log says whose it is and what to do",
            ),
        ] {
            assert_eq!(for_everybody(warning), shown);
        }
    }
}
