//! The stand-in for libsecp256k1's new contexts in the browser (see `build.rs`): nothing here signs, and with it goes
//! the table for signing.

use std::ffi::c_void;

/// Takes the place of `rustsecp256k1_v0_10_0_context_preallocated_create`, whose parameters these are.
#[expect(unsafe_code, reason = "the linker finds it by its name; the function itself does nothing unsafe")]
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_rustsecp256k1_v0_10_0_context_preallocated_create(_: *mut c_void, _: u32) -> *mut c_void {
    unreachable!("the browser makes no secp256k1 context")
}
