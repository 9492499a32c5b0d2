//! What pages are made of: plain values in, view out. None of them asks the network or writes an address.

pub mod amount;
pub mod balance;
pub mod block_row;
pub mod checks;
pub mod copy;
pub mod fact;
pub mod filters;
pub mod frame;
pub mod history_row;
pub mod hits;
pub mod icon;
pub mod input_row;
pub mod keys;
pub mod loaded;
pub mod notice;
pub mod output_row;
pub mod qr;
pub mod script;
pub mod search_box;
pub mod server;
pub mod stats;
pub mod switches;
pub mod time;
pub mod tx_row;
pub mod tx_table;
pub mod virtual_list;
