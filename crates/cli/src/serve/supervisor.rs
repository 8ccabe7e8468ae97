//! Tells who has started the server how it is with it: systemd and its like, by a datagram to a socket that they name.

/// The server lets clients in.
pub fn ready() {
    tell("READY=1");
}

/// It reads its configuration again; [`ready`] tells that it has.
pub fn reloading() {
    tell(&format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_us()));
}

/// It ends.
pub fn stopping() {
    tell("STOPPING=1");
}

/// Where nobody has asked, or nobody listens any more, there is nobody to tell.
#[cfg(target_os = "linux")]
fn tell(what: &str) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&name),
    };
    if let (Ok(address), Ok(socket)) = (address, UnixDatagram::unbound()) {
        let _ = socket.send_to_addr(what.as_bytes(), &address);
    }
}

#[cfg(not(target_os = "linux"))]
fn tell(_: &str) {}

#[cfg(target_os = "linux")]
fn monotonic_us() -> i64 {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| time.tv_sec() * 1_000_000 + time.tv_nsec() / 1_000)
}

#[cfg(not(target_os = "linux"))]
fn monotonic_us() -> i64 {
    0
}
