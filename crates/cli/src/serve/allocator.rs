//! How the allocator of the system keeps what was given back to it.

/// Has blocks of a MiB and more go back to the system at once: so much that a statement held does not stay with its thread, which would
/// have the process take more than its databases share. Whoever starts the process may say otherwise (mallopt(3)).
pub fn give_back_what_is_large() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if std::env::var_os("MALLOC_MMAP_THRESHOLD_").is_none() {
        // SAFETY: it sets a number of the allocator's. One that it does not take leaves it as it is.
        unsafe { nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, 1 << 20) };
    }
}
