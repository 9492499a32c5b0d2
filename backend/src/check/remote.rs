//! A server elsewhere, asked over plain HTTP.
//!
//! Nothing here is asynchronous: a comparison waits for each answer anyway, several at a time on threads of its own.

use std::fmt::Display;
use std::time::Duration;

use bitcoin::BlockHash;
use hindsight_shared::Height;
use hindsight_shared::api::{
    BlockFacts, ErrorBody, STATUS, Status, blocks_path, payload_path, stats_path, summaries_path,
};
use hindsight_shared::search::{BlockId, ListStart};
use serde::de::DeserializeOwned;
use ureq::Agent;
use ureq::http::{Response, StatusCode};

use super::answers::{Answer, Answers, PAGE};

/// Most bytes of an answer that are taken: a block and its undo are no more than half of that.
const MOST: u64 = 64 << 20;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a server that has no room for an answer is asked again, and after what time.
const AGAIN: (u32, Duration) = (10, Duration::from_secs(1));

/// Media type of rows of statistics.
const ROWS: &str = "application/vnd.hindsight.summary";

/// Why an instance cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// Not a URL that can be asked.
    #[error(
        "'{0}' cannot be asked: give http://HOST:PORT/ (https is not spoken here: ask the server behind the proxy, or \
         through a tunnel), or a directory"
    )]
    NotHttp(String),
    /// The server does not answer.
    #[error("{url} does not answer: {error}: is the server running?")]
    Silent {
        /// What was asked.
        url: String,
        /// What came of it.
        error: Box<ureq::Error>,
    },
    /// It answers, but not as Hindsight would.
    #[error("{url} answers, but not as hindsight would: {what}")]
    NotHindsight {
        /// What was asked.
        url: String,
        /// What is wrong with the answer.
        what: String,
    },
    /// The instance does not come to an end of reading its directory.
    #[error("the instance cannot read its directory: {0}")]
    Unwell(String),
    /// The instances have nothing in common.
    #[error("the instances are of different networks: {here} here, {there} there")]
    OtherNetwork {
        /// The first one's network and magic.
        here: String,
        /// The second one's.
        there: String,
    },
}

/// A running server.
#[derive(Debug)]
pub struct Remote {
    base: String,
    agent: Agent,
}

impl Remote {
    /// A server by its URL, with any prefix that it is served under. Nothing is asked yet.
    ///
    /// # Errors
    /// [`RemoteError::NotHttp`] where it does not begin with `http://`.
    pub fn new(url: &str) -> Result<Self, RemoteError> {
        let rest = url.strip_prefix("http://").filter(|rest| !rest.trim_matches('/').is_empty());
        let rest = rest.ok_or_else(|| RemoteError::NotHttp(url.to_owned()))?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // The request goes where it says, and nowhere else.
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("hindsight/", env!("CARGO_PKG_VERSION")));
        Ok(Self { base: format!("http://{}", rest.trim_end_matches('/')), agent: config.build().into() })
    }

    fn get(&self, path: &str, accept: &str) -> Result<(StatusCode, Vec<u8>), RemoteError> {
        let url = format!("{}/{path}", self.base);
        let silent = |error: ureq::Error| RemoteError::Silent { url: url.clone(), error: error.into() };
        let ask =
            || -> Result<Response<ureq::Body>, ureq::Error> { self.agent.get(&url).header("accept", accept).call() };
        let mut response = ask().map_err(silent)?;
        for _ in 0..AGAIN.0 {
            if response.status() != StatusCode::SERVICE_UNAVAILABLE {
                break;
            }
            std::thread::sleep(AGAIN.1);
            response = ask().map_err(silent)?;
        }
        let body = response.body_mut().with_config().limit(MOST).read_to_vec().map_err(silent)?;
        Ok((response.status(), body))
    }

    fn bytes(&self, path: &str, accept: &str) -> Result<Answer, RemoteError> {
        let (status, body) = self.get(path, accept)?;
        Ok(if status == StatusCode::OK { Answer::Bytes(body) } else { Answer::Refused(reason(status, &body)) })
    }

    fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        let (status, body) = self.get(path, "application/json")?;
        let odd = |what: String| RemoteError::NotHindsight { url: format!("{}/{path}", self.base), what };
        if status != StatusCode::OK {
            return Err(odd(reason(status, &body)));
        }
        serde_json::from_slice(&body).map_err(|error| odd(error.to_string()))
    }
}

/// A status with the sentence in the body, if there is one.
fn reason(status: impl Display, body: &[u8]) -> String {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(body) => format!("{status}: {}", body.error),
        Err(_) => status.to_string(),
    }
}

impl Answers for Remote {
    fn status(&self) -> Result<Status, RemoteError> {
        self.json(STATUS)
    }

    fn blocks(&self, from: Option<Height>) -> Result<Vec<(Height, BlockHash)>, RemoteError> {
        let facts: Vec<BlockFacts> = self.json(&blocks_path(from.map(ListStart::Height), PAGE))?;
        Ok(facts.into_iter().filter_map(|facts| Some((facts.height?, facts.hash))).collect())
    }

    fn payload(&self, block: BlockHash) -> Result<Answer, RemoteError> {
        self.bytes(&payload_path(BlockId::Hash(block)), "*/*")
    }

    fn summaries(&self, from: Height, count: u32) -> Result<Answer, RemoteError> {
        self.bytes(&summaries_path(Some(ListStart::Height(from)), count), "*/*")
    }

    fn summary(&self, block: BlockHash) -> Result<Answer, RemoteError> {
        self.bytes(&stats_path(BlockId::Hash(block)), ROWS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_is_spoken() {
        for wrong in ["https://example.com/", "example.com", "http://", "ftp://x", "http:///"] {
            let error = Remote::new(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("'{wrong}'")) && error.contains("http://HOST:PORT/"), "{error}");
        }
        assert_eq!(Remote::new("http://127.0.0.1:3110/explorer//").unwrap().base, "http://127.0.0.1:3110/explorer");
    }
}
