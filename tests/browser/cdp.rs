//! The two commands of chromedriver that WebDriver does not have: any command of Chromium's own protocol, and logs.

use fantoccini::wd::WebDriverCompatibleCommand;
use http::Method;
use serde_json::{Value, json};
use url::{ParseError, Url};

/// A command beyond WebDriver.
#[derive(Debug)]
pub enum Cdp {
    /// Any command of the DevTools protocol.
    Execute(&'static str, Value),
    /// What a log has got since it was last asked for.
    Log(&'static str),
}

impl WebDriverCompatibleCommand for Cdp {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        let command = match self {
            Self::Execute(..) => "goog/cdp/execute",
            Self::Log(_) => "se/log",
        };
        base.join(&format!("session/{}/{command}", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        let body = match self {
            Self::Execute(cmd, params) => json!({ "cmd": cmd, "params": params }),
            Self::Log(kind) => json!({ "type": kind }),
        };
        (Method::POST, Some(body.to_string()))
    }
}
