//! Pictures of the three pages, on a desk and on a phone, dark and light, for people to look at.

use std::fs;
use std::path::{Path, PathBuf};

use crate::expect::Judged;
use crate::page::{Page, test};
use crate::server::Server;

/// Windows: a desk and a phone.
const SIZES: [(u32, u32); 2] = [(1440, 1000), (390, 844)];

/// `HINDSIGHT_SCREENSHOTS`, else a folder beside what is built.
fn folder() -> PathBuf {
    let given = std::env::var_os("HINDSIGHT_SCREENSHOTS").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots"))
}

#[test]
fn pictures_are_taken() {
    let demo = Server::demo();
    // Without the real blocks the demo's will do.
    let mainnet = Server::mainnet();
    let (blocks, height) = mainnet.as_ref().map_or((&demo, 2000), |server| (server, 866_342));
    let judged = Judged::of(&blocks.payload(height));
    // Something with a little of everything, but small enough to be seen whole.
    let tx = (1..judged.txs.len()).find(|&at| {
        let tx = &judged.txs[at].tx;
        (2..6).contains(&tx.input.len()) && tx.output.iter().any(|output| output.script_pubkey.is_op_return())
    });
    let block = format!("block/{height}");
    let tx = judged.page(tx.unwrap_or(0));
    let folder = folder();
    fs::create_dir_all(&folder).unwrap();
    for (server, name, path, ready) in
        [(&demo, "home", "", "block-row"), (blocks, "block", &*block, "stats-verdict"), (blocks, "tx", &*tx, "input")]
    {
        let page = Page::open(&server.url());
        for (width, height) in SIZES {
            page.resize(width, height);
            for scheme in ["dark", "light"] {
                page.system_colours(scheme);
                page.go(path);
                page.until_there(&test(ready));
                page.until_there(&test("network"));
                let picture = page.picture();
                assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_000, "{name} is a blank picture");
                fs::write(folder.join(format!("{name}-{width}-{scheme}.png")), picture).unwrap();
            }
        }
    }
}
