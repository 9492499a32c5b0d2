//! A window as a journey sees it: what stands there, what is typed and clicked, and waiting for it to become so.
//!
//! Nothing here sleeps for a guess: a wait ends when what it waits for is there, and a deadline that only a hang can
//! reach tells what stood there instead.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::cdp::Cdp;
use crate::driver::Driver;

/// How long anything may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(40);

/// Between two looks at the page.
const PAUSE: Duration = Duration::from_millis(25);

pub use fantoccini::key::Key;

/// A browser window, closed on drop.
pub struct Page {
    runtime: Runtime,
    client: Option<Client>,
    base: String,
    _driver: Driver,
}

impl Page {
    /// Opens a window for pages below `base`, which ends in a slash.
    pub fn open(base: &str) -> Self {
        Self::open_through(base, None)
    }

    /// Opens a window whose every request goes through a proxy.
    pub fn open_through(base: &str, proxy: Option<SocketAddr>) -> Self {
        let driver = Driver::start();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let capabilities = driver.capabilities(proxy);
        let client = runtime.block_on(async {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            builder.capabilities(capabilities).connect(&driver.url).await
        });
        let client = client.unwrap_or_else(|error| panic!("Chromium does not start: {error}"));
        Self { runtime, client: Some(client), base: base.to_owned(), _driver: driver }
    }

    fn client(&self) -> &Client {
        self.client.as_ref().unwrap()
    }

    /// Goes to a page, by its path below the base, as if typed into the address bar.
    pub fn go(&self, path: &str) {
        self.runtime.block_on(self.client().goto(&format!("{}{path}", self.base))).unwrap();
    }

    /// The browser's back button.
    pub fn back(&self) {
        self.runtime.block_on(self.client().back()).unwrap();
    }

    /// The browser's reload button.
    pub fn reload(&self) {
        self.runtime.block_on(self.client().refresh()).unwrap();
    }

    /// What a script returns.
    #[track_caller]
    pub fn js<T: DeserializeOwned>(&self, script: &str, args: Value) -> T {
        let args = args.as_array().cloned().unwrap_or_default();
        match self.runtime.block_on(self.client().execute(script, args)) {
            Ok(value) => serde_json::from_value(value).unwrap_or_else(|error| panic!("{script}: {error}")),
            Err(error) => panic!("{script}: {error}"),
        }
    }

    /// Waits until an expression is true, null standing for not yet, and returns what it is.
    #[track_caller]
    pub fn until<T: DeserializeOwned>(&self, what: &str, expression: &str) -> T {
        let script = format!("return ({expression}) || null");
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(value) = self.js::<Option<Value>>(&script, json!([])) {
                return serde_json::from_value(value).unwrap();
            }
            assert!(Instant::now() < end, "in vain waited until {what}; instead there is {}", self.seen());
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn until_true(&self, what: &str, expression: &str) {
        let _: Value = self.until(what, expression);
    }

    /// What stands in the window, for a message.
    fn seen(&self) -> String {
        let body: String = self.js("return document.body.innerText.slice(0, 1500)", json!([]));
        let href: String = self.js("return location.href", json!([]));
        format!("{href}:\n{body}\nconsole: {:?}", self.console())
    }

    /// Waits for an element, by its selector, and returns its text.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        self.until(&format!("{selector} has text"), &format!("document.querySelector({})?.innerText", json!(selector)))
    }

    /// Waits until an element has a text.
    #[track_caller]
    pub fn until_text(&self, selector: &str, text: &str) {
        let expression = format!("document.querySelector({})?.innerText?.includes({})", json!(selector), json!(text));
        self.until_true(&format!("{selector} says {text:?}"), &expression);
    }

    /// Waits for an element, and returns an attribute of it.
    #[track_caller]
    pub fn attr(&self, selector: &str, name: &str) -> String {
        let expression = format!("document.querySelector({})?.getAttribute({})", json!(selector), json!(name));
        self.until(&format!("{selector} has {name}"), &expression)
    }

    /// Waits until there is an element.
    #[track_caller]
    pub fn until_there(&self, selector: &str) {
        self.until_true(
            &format!("{selector} is there"),
            &format!("document.querySelector({}) !== null", json!(selector)),
        );
    }

    /// Waits until there is no such element.
    #[track_caller]
    pub fn until_gone(&self, selector: &str) {
        let expression = format!("document.querySelector({}) === null", json!(selector));
        self.until_true(&format!("{selector} is gone"), &expression);
    }

    /// How many elements there are now.
    pub fn count(&self, selector: &str) -> usize {
        self.js("return document.querySelectorAll(arguments[0]).length", json!([selector]))
    }

    /// The texts of all such elements now.
    pub fn texts(&self, selector: &str) -> Vec<String> {
        self.js("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", json!([selector]))
    }

    #[track_caller]
    fn element(&self, selector: &str) -> Element {
        self.until_there(selector);
        self.runtime.block_on(self.client().find(Locator::Css(selector))).unwrap()
    }

    /// Clicks on an element, once it is there, where a mouse would.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        if let Err(error) = self.runtime.block_on(element.click()) {
            panic!("{selector} cannot be clicked: {error}");
        }
    }

    /// Puts a text into a field in place of what stands there, as if typed.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        let select = "arguments[0].select()";
        self.runtime.block_on(async {
            let field = serde_json::to_value(&element).unwrap();
            self.client().execute(select, vec![field]).await.unwrap();
            let text = if text.is_empty() { String::from(char::from(Key::Backspace)) } else { text.to_owned() };
            element.send_keys(&text).await.unwrap();
        });
    }

    /// Presses keys, one after another, wherever the focus is.
    pub fn press(&self, keys: &str) {
        let actions = keys.chars().fold(KeyActions::new("keyboard".to_owned()), |actions, value| {
            actions.then(KeyAction::Down { value }).then(KeyAction::Up { value })
        });
        self.runtime.block_on(self.client().perform_actions(actions)).unwrap();
    }

    /// Presses a key that has no character.
    pub fn press_key(&self, key: Key) {
        self.press(&char::from(key).to_string());
    }

    /// Waits until the address bar shows a path below the base.
    #[track_caller]
    pub fn until_path(&self, path: &str) {
        let url = format!("{}{path}", self.base);
        self.until_true(&format!("the address is {url}"), &format!("location.href === {}", json!(url)));
    }

    /// Waits until the window has a title.
    #[track_caller]
    pub fn until_title(&self, title: &str) {
        self.until_true(&format!("the title is {title}"), &format!("document.title === {}", json!(title)));
    }

    /// A command of Chromium's own protocol.
    pub fn cdp(&self, command: &'static str, parameters: Value) -> Value {
        self.runtime.block_on(self.client().issue_cmd(Cdp::Execute(command, parameters))).unwrap()
    }

    /// Gives the window a size, that of a phone with a phone's ways.
    pub fn resize(&self, width: u32, height: u32) {
        let phone = width < 600;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        self.cdp("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Lets the system have `dark` or `light` colours.
    pub fn system_colours(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// The window as a PNG.
    pub fn picture(&self) -> Vec<u8> {
        self.runtime.block_on(self.client().screenshot()).unwrap()
    }

    /// A log's entries since it was last asked for.
    pub fn log(&self, kind: &'static str) -> Vec<Value> {
        let entries = self.runtime.block_on(self.client().issue_cmd(Cdp::Log(kind))).unwrap();
        serde_json::from_value(entries).unwrap()
    }

    /// Warnings and errors on the console since it was last asked for; violations of the policy are among them.
    pub fn console(&self) -> Vec<String> {
        let entries = self.log("browser").into_iter();
        let bad = entries.filter(|entry| matches!(entry["level"].as_str(), Some("WARNING" | "SEVERE")));
        bad.map(|entry| format!("{}: {}", entry["level"], entry["message"])).collect()
    }

    /// Nothing went wrong that only the console knows of.
    #[track_caller]
    pub fn assert_quiet(&self) {
        assert_eq!(self.console(), Vec::<String>::new(), "the console should be quiet");
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // Closing ends Chromium; if it has ended by itself, so much the better.
            let _ = self.runtime.block_on(client.close());
        }
    }
}

/// The selector of what is marked for tests.
pub fn test(name: &str) -> String {
    format!("[data-test=\"{name}\"]")
}
