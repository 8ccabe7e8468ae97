//! A process that dies without closing: every commit that was acknowledged is there when the files are opened again.

use std::path::{Path, PathBuf};

use cairn_storage::{Options, Store, TreeId};

/// Copies the database's files as a crash would leave them; what was acknowledged is in them.
fn files_after_a_kill(path: &Path, to: &Path) -> PathBuf {
    let log = |path: &Path| PathBuf::from(format!("{}-log", path.display()));
    std::fs::copy(path, to).unwrap();
    std::fs::copy(log(path), log(to)).unwrap();
    to.to_path_buf()
}

fn value(store: &Store, key: u32) -> Option<Vec<u8>> {
    store.snapshot().unwrap().reader().get(TreeId::CATALOG, &key.to_be_bytes()).unwrap()
}

#[test]
fn small_commits_that_share_a_block_of_the_log_all_survive() {
    let folder = Folder::new("killed-small");
    let path = folder.0.join("x.cairn");
    let store = Store::open(&path, Options::default()).unwrap();
    for key in 0..200u32 {
        let transaction = store.begin().unwrap();
        transaction.put(TreeId::CATALOG, &key.to_be_bytes(), &vec![key as u8; (key % 90) as usize]).unwrap();
        transaction.commit(None).unwrap();
        if key % 40 < 3 {
            let copy = files_after_a_kill(&path, &folder.0.join(format!("{key}.cairn")));
            let copy = Store::open(copy, Options::default()).unwrap();
            for key in 0..=key {
                assert_eq!(value(&copy, key), Some(vec![key as u8; (key % 90) as usize]), "key {key}");
            }
        }
    }
}

/// A folder of the test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("cairn-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
