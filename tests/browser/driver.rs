//! Chromium and the program that steers it: one pair for each journey, so that none sees another's history.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Names under which Chromium and its relatives are installed.
const BROWSERS: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// Where macOS keeps them.
const APPLICATIONS: [&str; 2] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/// A running chromedriver, killed on drop, and the profile of the browser that it starts.
pub struct Driver {
    child: Child,
    profile: TempDir,
    /// Where it listens for WebDriver commands.
    pub url: String,
}

impl Driver {
    /// Starts one on a port of its own choice.
    pub fn start() -> Self {
        let program = in_path("chromedriver")
            .expect("chromedriver is not installed, and these tests need it (Debian: apt-get install chromium-driver)");
        // What Chromium leaves behind in the temporary folder goes with the profile.
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command.arg("--port=0").env("TMPDIR", profile.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let port = loop {
            let mut line = String::new();
            let read = lines.read_line(&mut line).unwrap();
            assert!(read > 0, "chromedriver ended before it said on which port it listens");
            let said = line.trim().trim_end_matches('.').rsplit_once("successfully on port ");
            if let Some(port) = said.and_then(|(_, port)| port.parse::<u16>().ok()) {
                break port;
            }
        };
        // A full pipe would stop it.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self { child, profile, url: format!("http://127.0.0.1:{port}") }
    }

    /// What the browser is asked to be. With a proxy every request goes there, those to this machine too.
    pub fn capabilities(&self, proxy: Option<SocketAddr>) -> Map<String, Value> {
        let browser = BROWSERS.iter().find_map(|name| in_path(name));
        let browser = browser.or_else(|| APPLICATIONS.iter().map(PathBuf::from).find(|path| path.exists()));
        let browser =
            browser.expect("no Chromium is installed, and these tests need it (Debian: apt-get install chromium)");
        let mut args: Vec<String> = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--window-size=1440,900",
        ]
        .map(str::to_owned)
        .into();
        args.push(format!("--user-data-dir={}", self.profile.path().join("profile").display()));
        if let Some(proxy) = proxy {
            args.push(format!("--proxy-server=http://{proxy}"));
            args.push("--proxy-bypass-list=<-loopback>".to_owned());
        }
        let capabilities = json!({
            "goog:chromeOptions": { "binary": browser, "args": args },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        capabilities.as_object().cloned().unwrap()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| Path::is_file(file))
}
