//! The pages: each fetches what it shows and arranges it.

pub mod address;
pub mod address_lists;
pub mod block;
pub mod block_head;
pub mod home;
pub mod ledger;
pub mod not_found;
pub mod search;
pub mod transaction;
pub mod tx_head;
pub mod tx_view;
pub mod walk;
