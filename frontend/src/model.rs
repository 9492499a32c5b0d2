//! What a page knows, without how it looks: the loaded block, what a reader asks of its table, and a transaction in
//! words. Nothing here touches a browser, so all of it is tested natively.

pub mod block;
pub mod bound;
pub mod brief;
pub mod explain;
pub mod found;
pub mod history;
pub mod query;
pub mod scroll;
pub mod stats;
pub mod table;
pub mod tx;
pub mod witness;
