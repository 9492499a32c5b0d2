//! The browser's entry: everything is in the library, so that it can be tested natively.

fn main() {
    hindsight_frontend::run();
}
