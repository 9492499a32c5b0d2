#![doc = include_str!("../README.md")]

pub mod address;
pub mod api;
pub mod block;
pub mod bytes;
pub mod calendar;
pub mod error;
pub mod found_tx;
pub mod network;
pub mod payload;
pub mod prevouts;
pub mod script;
pub mod search;
pub mod stats;
pub mod summary;
pub mod tx_payload;
pub mod verify;

pub use error::DecodeError;
pub use network::Height;
