//! Every table of the index and the version of their form.

use redb::{Table, TableDefinition};

use crate::runs::hashes::Prefix;
use crate::runs::run::Kind;

/// Raised whenever a table or an entry changes its form. An index of another version is refused.
pub const SCHEMA_VERSION: u32 = 4;

/// `schema`, `magic`, `blocks`: what the index is and what it belongs to.
pub const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");

/// Number of a `blk*.dat` → its stamp and every block in it (`entries::block_file`).
pub const BLK_FILE_TO_RECORDS: TableDefinition<u32, &[u8]> = TableDefinition::new("blk_file_to_records");

/// Number of a `rev*.dat` → its stamp and every undo record that has a block (`entries::undo_file`).
pub const REV_FILE_TO_RECORDS: TableDefinition<u32, &[u8]> = TableDefinition::new("rev_file_to_records");

/// Height → statistics of a block (`hindsight_shared::stats::row::Summary`), which names its block.
pub const HEIGHT_TO_SUMMARY: TableDefinition<u32, &[u8]> = TableDefinition::new("height_to_summary");

/// Number of a chunk of 2,016 heights → the block hash that each height's statistics are of, zeros where there are none
/// (`entries::chunk`). What is there is known from these at the start, without reading the statistics.
pub const CHUNK_TO_BLOCKS: TableDefinition<u32, &[u8]> = TableDefinition::new("chunk_to_blocks");

/// [`LIVE_RUNS`] → which runs there are (`run_list::RunList`).
pub const LIVE: TableDefinition<&str, &[u8]> = TableDefinition::new("live");

/// The only key of [`LIVE`].
pub const LIVE_RUNS: &str = "runs";

/// Number of a run → its head (`runs::run::Run`).
pub const RUN_TO_HEAD: TableDefinition<u32, &[u8]> = TableDefinition::new("run_to_head");

/// The lowest height of a group of blocks → the sizes of their transactions (`runs::sizes`).
pub const HEIGHT_TO_SIZES: TableDefinition<u32, &[u8]> = TableDefinition::new("height_to_sizes");

/// Pages of runs: run, first prefix, number among the run's pages with that first prefix.
pub type PageTable<'t> = Table<'t, (u32, Prefix, u32), &'static [u8]>;

/// Where pages of a kind are.
pub const fn page_table(kind: Kind) -> TableDefinition<'static, (u32, Prefix, u32), &'static [u8]> {
    TableDefinition::new(match kind {
        Kind::Txids => "txid_pages",
        Kind::Scripts => "script_pages",
        Kind::Spends => "spend_pages",
    })
}
