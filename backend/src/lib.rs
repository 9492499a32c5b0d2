#![doc = include_str!("../README.md")]

pub mod app;
pub mod chain;
pub mod check;
pub mod config;
pub mod demo;
pub mod http;
pub mod index;
pub mod ingest;
pub mod query;
pub mod runs;
pub mod source;
pub mod undo;
