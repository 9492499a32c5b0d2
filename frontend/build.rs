//! Leaves out of the browser's module what it never runs.
//!
//! `secp256k1-sys` exports its function for new contexts, so the linker keeps the 32 KB table that signing with one
//! would need: bytes that no compression shrinks. The pages only unpack public keys, which takes no context of their
//! own, so references to the function that uses the table go to a stand-in (`src/no_signing.rs`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        println!("cargo::rustc-link-arg-bins=--wrap=rustsecp256k1_v0_10_0_context_preallocated_create");
    }
}
