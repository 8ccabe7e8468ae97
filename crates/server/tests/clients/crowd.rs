//! Very many at once.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cairn_server::{Options, Verifier};
use postgres::NoTls;
use tempfile::TempDir;

use crate::process::Process;
use crate::{Served, code, until};

/// What a process has: threads, descriptors, resident KiB.
#[cfg(target_os = "linux")]
fn has(id: u32) -> (usize, usize, usize) {
    let count = |what: &str| std::fs::read_dir(format!("/proc/{id}/{what}")).map_or(0, Iterator::count);
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let resident = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    (count("task"), count("fd"), resident)
}

/// Says a text, and hears the row that comes of it.
fn ask(stream: &mut UnixStream, text: &str) -> Vec<u8> {
    let length = (text.len() as u32 + 5).to_be_bytes();
    stream.write_all(&[b"Q", &length[..], text.as_bytes(), b"\0"].concat()).unwrap();
    hear_ready(stream)
}

/// Up to ReadyForQuery.
fn hear_ready(stream: &mut UnixStream) -> Vec<u8> {
    let (mut heard, mut bytes) = (Vec::new(), [0; 4096]);
    while !heard.ends_with(b"Z\0\0\0\x05I") {
        match stream.read(&mut bytes).unwrap() {
            0 => panic!("it ended: {}", heard.escape_ascii()),
            count => heard.extend(&bytes[..count]),
        }
    }
    heard
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_are_there_at_once_and_leave_nothing_behind() {
    let limit = nix::sys::resource::Resource::RLIMIT_NOFILE;
    let (_, most) = nix::sys::resource::getrlimit(limit).unwrap();
    if most < 8_000 || nix::sys::resource::setrlimit(limit, most, most).is_err() {
        eprintln!("LEFT OUT: no more than {most} descriptors are allowed");
        return;
    }
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path(), &folder.path().join("shop.cairn"));
    process.connect().batch_execute("CREATE TABLE t (id int PRIMARY KEY)").unwrap();
    let sessions = |client: &mut postgres::Client| -> i64 {
        client.query_one("SELECT count(*) FROM pg_stat_activity", &[]).unwrap().get(0)
    };
    let mut client = process.connect();
    until("one is left", || sessions(&mut client) == 1);
    let before = has(process.id());
    let come = |number: usize| {
        let mut stream = UnixStream::connect(process.path()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(b"\0\0\0\x1f\0\x03\0\0user\0me\0database\0shop\0\0").unwrap();
        hear_ready(&mut stream);
        ask(&mut stream, &format!("INSERT INTO t VALUES ({number})"));
        stream
    };
    let mut streams: Vec<UnixStream> = std::thread::scope(|scope| {
        let come = &come;
        let part = |at: usize| scope.spawn(move || (at * 50..(at + 1) * 50).map(come).collect::<Vec<_>>());
        let threads: Vec<_> = (0..20).map(part).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(sessions(&mut client), 1_001);
    let row = |number: usize| format!("SELECT {number} FROM t WHERE id = {number}");
    for (number, stream) in streams.iter_mut().enumerate() {
        let (heard, expected) = (ask(stream, &row(number)), "SELECT 1\0".to_owned());
        assert!(heard.windows(expected.len()).any(|tag| tag == expected.as_bytes()), "{number}");
    }
    let crowded = has(process.id());
    drop(streams);
    until("they are gone", || sessions(&mut client) == 1);
    until("their threads and sockets, too", || {
        let after = has(process.id());
        after.0 <= before.0 && after.1 <= before.1
    });
    // In a build that is not optimised, with all that each has run.
    let each = crowded.2.saturating_sub(before.2) / 1_000;
    assert!(each < 512, "{each} KiB each");
}

#[test]
fn a_storm_of_logins_leaves_those_who_are_in_alone() {
    let users = HashMap::from([("known".to_owned(), Verifier::of_password("right", &[1; 16]).into())]);
    let served = Served::with(Options { users, connections_max: 20, ..Options::default() });
    let config = |user: &str, password: &str| {
        let mut config = served.config();
        config.user(user).password(password);
        config
    };
    let mut client = config("known", "right").connect(NoTls).unwrap();
    let (came, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for at in 0..24 {
            let (config, came, left) = (&config, &came, &left);
            scope.spawn(move || {
                for _ in 0..5 {
                    // Some know the password, some do not, and some are nobody.
                    let (user, password) =
                        [("known", "right"), ("known", "right"), ("known", "wrong"), ("x", "y")][at % 4];
                    match config(user, password).connect(NoTls) {
                        Ok(_) if password == "right" => _ = came.fetch_add(1, Ordering::Relaxed),
                        Ok(_) => panic!("{user} came in by {password}"),
                        Err(error) => {
                            assert!(["28P01", "53300"].contains(&code(&error)), "{error:?}");
                            left.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        for _ in 0..20 {
            let begun = Instant::now();
            client.batch_execute("SELECT 1").unwrap();
            // Less than the last of those who guess is kept waiting.
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let (came, left) = (came.into_inner(), left.into_inner());
    assert!(came > 0 && left >= 60 && came + left == 120, "{came} came, {left} did not");
    drop(client);
    until("all have left", || served.running.sessions() == 0);
}
