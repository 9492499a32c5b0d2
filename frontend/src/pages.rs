//! The pages: each fetches what it shows and arranges it.

pub mod block;
pub mod block_head;
pub mod home;
pub mod not_found;
pub mod transaction;
pub mod tx_head;
