//! The worker: fetches a payload, decodes and checks it off the page's thread, and hands over the bytes and rows
//! without copying them again.
//!
//! A request is bytes in postcard's form; a reply is an array of such bytes and, for a finished block, its buffers,
//! transferred.

pub mod client;
pub mod serve;

use bitcoin::BlockHash;
use serde::{Deserialize, Serialize};

use crate::api::ApiError;
use crate::model::block::Report;

/// What the page asks.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Request {
    /// Fetch, decode and check a block.
    Load {
        /// The number that answers carry.
        job: u32,
        /// Where the payload is.
        url: String,
        /// The hash that the reader asked for, if it was one.
        asked: Option<BlockHash>,
        /// Whether the browser's cache is passed by, because what it holds may be cut or damaged.
        fresh: bool,
    },
    /// Nobody waits for it any more.
    Cancel {
        /// Its number.
        job: u32,
    },
}

/// What the worker answers.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Reply {
    /// Bytes have arrived.
    Progress {
        /// The number of the request.
        job: u32,
        /// How many bytes.
        received: u64,
        /// Of how many, where the server said so.
        total: Option<u64>,
    },
    /// All bytes are there, decoding starts.
    Decoding {
        /// The number of the request.
        job: u32,
    },
    /// The block is decoded; payload, packed rows and the packed row of its statistics (empty where there are none)
    /// follow in the same message.
    Done {
        /// The number of the request.
        job: u32,
        /// Checks and times.
        report: Report,
    },
    /// There is no block.
    Failed {
        /// The number of the request.
        job: u32,
        /// Why.
        error: ApiError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_return() {
        let request = Request::Load { job: 1, url: "api/v1/block/5/payload".to_owned(), asked: None, fresh: true };
        let bytes = postcard::to_allocvec(&request).unwrap();
        assert_eq!(postcard::from_bytes::<Request>(&bytes).unwrap(), request);
        let error = ApiError::Refused { status: 404, sentence: "there is no block 5".to_owned() };
        let reply = Reply::Failed { job: 1, error };
        let bytes = postcard::to_allocvec(&reply).unwrap();
        assert_eq!(postcard::from_bytes::<Reply>(&bytes).unwrap(), reply);
    }
}
