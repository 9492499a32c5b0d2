//! A chain of regtest whose last blocks look like today's mainnet: the showcase that the demo opens first.
//!
//! Real blocks of mainnet could only be shown with all that went before them. Here people who do not exist pay one
//! another in every way that is seen on mainnet, in thousands of transactions that are signed, validated and written by
//! Bitcoin Core's kernel. Every number comes from integers and one seed, so that the same code makes the same bytes.

mod archive;
mod chain;
mod dice;
mod drafts;
mod everyday;
mod mining;
mod odd;
mod packages;
mod plan;
mod purse;
mod template;
mod texts;
mod wallet;

pub use archive::archive;
pub use chain::{Showcase, showcase};
pub use plan::{FULL, TIP, TIP_TIME};
