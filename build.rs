//! Compiles `proto/` with protox, so no `protoc` is needed.

fn main() {}
