//! Compiles `proto/` with protox, so no `protoc` is needed.

use std::error::Error;

const FILES: [&str; 6] = [
    "proto/envelope.proto",
    "proto/archive.proto",
    "proto/content.proto",
    "proto/identity.proto",
    "proto/records.proto",
    "proto/welcome.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=build.rs");
    let files = protox::compile(FILES, ["proto"])?;
    // Sorted maps: the same content must always have the same bytes, because ids are hashes of them.
    prost_build::Config::new().btree_map(["."]).disable_comments(["."]).compile_fds(files)?;
    Ok(())
}
