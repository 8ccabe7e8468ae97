//! Finds the lock file that this program is built with: the workspace's, or the published crate's own.

use std::path::Path;

fn main() {
    let crate_folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    let lock = Path::new(&crate_folder).ancestors().map(|folder| folder.join("Cargo.lock")).find(|path| path.exists());
    let lock = lock.expect("a build has a lock file, above the crate or in it");
    println!("cargo:rerun-if-changed={}", lock.display());
    println!("cargo:rustc-env=CAIRN_BENCH_LOCK={}", lock.display());
}
