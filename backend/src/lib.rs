//! Hindsight's server as a library: the data flows source → ingest → index → query → http.

pub mod chain;
pub mod index;
pub mod ingest;
pub mod query;
pub mod source;
pub mod undo;
