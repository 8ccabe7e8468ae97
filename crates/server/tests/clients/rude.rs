//! Clients that do what no client should, and a machine that has not enough.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cairn_server::{Options, Server};
use postgres::NoTls;
use tempfile::TempDir;

use crate::folder::Folder;
use crate::idle::{last_words, raw, raw_at, say};
use crate::process::Process;
use crate::{PATIENCE, Served, code, is_running, until};

const STARTUP: &[u8; 31] = b"\0\0\0\x1f\0\x03\0\0user\0me\0database\0shop\0\0";

fn socket(served: &Served) -> UnixStream {
    socket_at(&served.folder.path().join(".s.PGSQL.5432"))
}

fn socket_at(path: &Path) -> UnixStream {
    let socket = UnixStream::connect(path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

#[test]
fn who_drops_in_the_middle_of_a_transaction_or_of_copy_leaves_nothing() {
    let served = Served::new();
    served.connect().batch_execute("CREATE TABLE t (id int)").unwrap();
    let open = raw(&served, "BEGIN; INSERT INTO t VALUES (1)");
    let mut copies = raw(&served, "COPY t FROM STDIN");
    copies.write_all(b"d\0\0\0\x0c1\n2\n3\n4\n").unwrap();
    let mut in_block = raw(&served, "BEGIN; INSERT INTO t VALUES (2)");
    say(&mut in_block, "COPY t FROM STDIN");
    in_block.write_all(b"d\0\0\0\x0c1\n2\n3\n4\nd\0\0\0\x20half").unwrap();
    until("they are in", || served.running.sessions() == 3);
    drop((open, copies, in_block));
    until("their sessions end", || served.running.sessions() == 0);
    assert_eq!(served.rows("t"), 0);
}

#[test]
fn who_says_a_byte_at_a_time_is_understood_and_keeps_nobody_waiting() {
    let served = Served::new();
    let mut slow = socket(&served);
    let said = [&STARTUP[..], b"Q\0\0\0\x0dSELECT 7\0", b"X\0\0\0\x04"].concat();
    for byte in said {
        slow.write_all(&[byte]).unwrap();
        let begun = Instant::now();
        served.connect().batch_execute("SELECT 1").unwrap();
        // Less than the slow one may take to log in.
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
    assert!(last_words(slow).contains("SELECT 1\0"));
}

#[test]
fn who_says_nothing_or_half_a_greeting_has_his_time_and_no_more() {
    let login_timeout = Duration::from_millis(300);
    let served = Served::with(Options { trusts_all: true, login_timeout, ..Options::default() });
    let silent = socket(&served);
    let mut half = socket(&served);
    half.write_all(&STARTUP[..20]).unwrap();
    // A byte now and then does not make it longer.
    let mut slow = socket(&served);
    let begun = Instant::now();
    for byte in STARTUP {
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    assert!(begun.elapsed() < PATIENCE);
    for mut socket in [silent, half, slow] {
        let mut heard = Vec::new();
        // What was not read when it was closed may be told as an error.
        let _ = socket.read_to_end(&mut heard);
        assert!(!heard.windows(3).any(|of| of == b"Z\0\0"), "{}", heard.escape_ascii());
    }
    assert_eq!(served.running.sessions(), 0);
}

#[test]
fn a_gigabyte_is_believed_as_it_comes() {
    // In a process of its own, whose memory is the server's only.
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path(), &folder.path().join("shop.cairn"));
    let mut stranger = socket_at(&process.path());
    stranger.write_all(b"\x3f\xff\xff\xff\0\x03\0\0user\0").unwrap();
    assert!(!last_words(stranger).contains("Z\0\0"), "who is not in is not waited for");
    // Who is in may announce what he likes: it takes no memory before it is there.
    let mut known: Vec<_> = (0..20).map(|_| raw_at(&process.path(), "SELECT 1")).collect();
    known.iter_mut().for_each(|socket| drop(answer(socket)));
    let before = resident(process.id());
    for socket in &mut known {
        socket.write_all(b"Q\x3f\xff\xff\xffSELECT").unwrap();
    }
    let mut client = process.connect();
    client.batch_execute("SELECT 1").unwrap();
    let now = resident(process.id());
    assert!(now < before + (200 << 10), "{now} KiB, before {before}");
    drop(known);
    until("they are gone", || client.query("SELECT pid FROM pg_stat_activity", &[]).unwrap().len() == 1);
}

/// KiB of a process; 0 where it can not be told.
fn resident(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

#[test]
fn who_does_not_read_lets_go_of_his_snapshot() {
    let output_timeout = Duration::from_secs(3);
    let served = Served::with(Options { trusts_all: true, output_timeout, ..Options::default() });
    let mut client = served.connect();
    client
        .batch_execute("CREATE TABLE t AS SELECT a, repeat('x', 1000) AS b FROM generate_series(1, 5000) AS a")
        .unwrap();
    let deaf = raw(&served, "SELECT * FROM t, generate_series(1, 1000)");
    let kept = || served.database.stats().snapshot_age_versions;
    until("a snapshot is kept for it", || {
        client.batch_execute("UPDATE t SET a = a + 1 WHERE a = 1").unwrap();
        kept() > 0
    });
    until("it is let go", || served.running.sessions() == 1);
    until("nothing is kept for it", || kept() == 0);
    drop(deaf);
}

/// The process and the key that a server told.
fn key_of(heard: &[u8]) -> (u32, Vec<u8>) {
    let at = heard.windows(5).position(|head| head[0] == b'K' && head[1..4] == [0; 3]).unwrap();
    let end = at + 1 + usize::from(heard[at + 4]);
    (u32::from_be_bytes(heard[at + 5..at + 9].try_into().unwrap()), heard[at + 9..end].to_vec())
}

fn cancel(served: &Served, process: u32, key: &[u8]) {
    let mut stream = socket(served);
    let length = 12 + key.len() as u32;
    let body = [&length.to_be_bytes()[..], &80_877_102_u32.to_be_bytes(), &process.to_be_bytes(), key].concat();
    stream.write_all(&body).unwrap();
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    assert!(heard.is_empty(), "who cancels hears nothing");
}

#[test]
fn to_cancel_takes_ones_own_key_and_a_statement_that_runs() {
    let served = Served::new();
    let mut victim = raw(&served, "SELECT 1");
    let heard = answer(&mut victim);
    let (process, key) = key_of(&heard);
    // Between statements there is nothing to cancel, and what comes next is not.
    for _ in 0..20 {
        cancel(&served, process, &key);
        say(&mut victim, "SELECT 2");
        answer(&mut victim);
    }
    say(&mut victim, "SELECT pg_sleep(0.5)");
    let mut looks = served.connect();
    until("it runs", || is_running(&mut looks, "SELECT pg_sleep (?)"));
    let other: Vec<u8> = key.iter().map(|byte| byte ^ 1).collect();
    for (process, key) in [(process, &other[..]), (process + 1, &key), (process, &key[..2]), (process, &[])] {
        cancel(&served, process, key);
    }
    say(&mut victim, "SELECT pg_sleep(600), 'again'");
    until("it runs", || is_running(&mut looks, "SELECT pg_sleep (?), ?"));
    until("it is stopped", || {
        cancel(&served, process, &key);
        !is_running(&mut looks, "SELECT pg_sleep (?), ?")
    });
    victim.write_all(b"X\0\0\0\x04").unwrap();
    let words = last_words(victim);
    assert_eq!(words.matches("C57014").count(), 1, "{words}");
    assert_eq!(words.matches("SELECT 1\0").count(), 1, "{words}");
}

/// What is said until a row was given.
fn answer(stream: &mut (impl Read + ?Sized)) -> Vec<u8> {
    let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
    while !heard.windows(9).any(|tag| tag == b"SELECT 1\0") {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend(&piece[..count]);
    }
    heard
}

#[test]
fn statements_that_eat_memory_or_never_end_are_ended_and_others_go_on() {
    let served = Served::new();
    let eats =
        "SET statement_mem = '1MB'; SELECT length(string_agg(n::text, ',')) FROM generate_series(1, 3000000) AS n";
    let never = "SET statement_timeout = '2s'; SELECT count(*) FROM generate_series(1, 100000000000)";
    let loops = "SET statement_timeout = '2s'; DO $$ BEGIN LOOP NULL; END LOOP; END $$";
    let spills = "SET work_mem = '64kB'; SET temp_file_limit = '1MB';
         SELECT count(*) FROM (SELECT a FROM generate_series(1, 1000000) AS a ORDER BY a DESC OFFSET 1) AS t";
    std::thread::scope(|scope| {
        for (sql, expected) in [(eats, "53200"), (never, "57014"), (loops, "57014"), (spills, "53400"), (eats, "53200")]
        {
            let served = &served;
            scope.spawn(move || {
                let mut client = served.connect();
                assert_eq!(code(&client.batch_execute(sql).expect_err(sql)), expected, "{sql}");
                client.batch_execute("RESET ALL; SELECT 1").unwrap();
            });
        }
        let mut client = served.connect();
        for _ in 0..10 {
            client.batch_execute("SELECT 1").unwrap();
        }
    });
}

#[test]
fn a_database_that_is_damaged_within_disturbs_none_beside_it() {
    let folder = Folder::new(Options { idle_close: Duration::ZERO, ..Options::default() });
    for name in ["hurt", "shop"] {
        folder.connect("postgres").batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        let fill = "CREATE TABLE t AS SELECT a, repeat('x', 500) AS b FROM generate_series(1, 4000) AS a";
        folder.connect(name).batch_execute(fill).unwrap();
    }
    until("they are closed", || folder.open() == 0);
    let path = folder.path().join("hurt.cairn");
    let mut bytes = std::fs::read(&path).unwrap();
    // The beginning, which says what it is, stays.
    let middle = bytes.len() / 8;
    bytes[middle..].fill(0xA5);
    std::fs::write(&path, bytes).unwrap();
    let mut shop = folder.connect("shop");
    match folder.try_connect("hurt") {
        Err(error) => assert!(error.as_db_error().unwrap().message().contains("\"hurt\""), "{error:?}"),
        Ok(mut hurt) => {
            let error = hurt.query("SELECT sum(length(b)) FROM t", &[]).expect_err("it is damaged");
            assert!(code(&error).starts_with("XX"), "{error:?}");
        }
    }
    let sum: i64 = shop.query_one("SELECT sum(length(b)) FROM t", &[]).unwrap().get(0);
    assert_eq!(sum, 2_000_000);
    folder.connect("postgres").batch_execute("CREATE DATABASE more").unwrap();
}

#[test]
fn a_second_server_of_a_folder_is_told_who_the_first_is() {
    let folder = TempDir::new().unwrap();
    let process = Process::start(folder.path(), folder.path());
    let second = Server::of_folder(folder.path(), cairndb::Options::default()).err().expect("refused");
    assert_eq!(second.sqlstate().as_str(), "55006");
    assert!(second.message().contains(&process.id().to_string()), "{}", second.message());
    assert!(process.try_connect("postgres").is_ok());
    // It is free again once that one is gone, however it went.
    process.kill();
    assert!(Server::of_folder(folder.path(), cairndb::Options::default()).is_ok());
}

#[test]
fn a_folder_that_is_renamed_below_its_server_loses_nothing() {
    let place = TempDir::new().unwrap();
    let [old, new] = ["old", "new"].map(|name| place.path().join(name));
    std::fs::create_dir(&old).unwrap();
    let process = Process::start(place.path(), &old);
    process.try_connect("postgres").unwrap().batch_execute("CREATE DATABASE shop").unwrap();
    let mut client = process.connect();
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, b text)").unwrap();
    let write = |client: &mut postgres::Client, ids: std::ops::Range<i32>| -> Vec<i32> {
        let insert = "INSERT INTO t VALUES ($1, repeat('x', 2000))";
        ids.filter(|id| client.execute(insert, &[id]).is_ok()).collect()
    };
    let before = write(&mut client, 0..200);
    assert_eq!(before.len(), 200);
    std::fs::rename(&old, &new).unwrap();
    // It may go on or refuse; what it acknowledges it has.
    let after = write(&mut client, 200..2_000);
    let other = process.try_connect("postgres").and_then(|mut own| own.batch_execute("CREATE DATABASE other"));
    assert!(other.as_ref().is_ok_and(|()| new.join("other.cairn").exists()) || other.is_err());
    drop(client);
    process.kill();
    let process = Process::start(place.path(), &new);
    let rows = process.connect().query("SELECT id FROM t", &[]).unwrap();
    let there: std::collections::HashSet<i32> = rows.iter().map(|row| row.get(0)).collect();
    let lost: Vec<_> = before.iter().chain(&after).filter(|id| !there.contains(id)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_fails_what_needs_room_and_nothing_else() {
    // A file system of its own, which the server alone sees.
    let may = Command::new("unshare").args(["-rm", "true"]).output().is_ok_and(|done| done.status.success());
    if !may {
        eprintln!("LEFT OUT: no file system can be mounted for a test here");
        return;
    }
    let folder = TempDir::new().unwrap();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut command = Command::new("unshare");
    let mount = format!("mount -t tmpfs -o size=48m none {} && exec \"$@\"", disk.display());
    command.args(["-rm", "sh", "-c", &mount, "sh"]).arg(std::env::current_exe().unwrap());
    let process = Process::by(command, folder.path(), &disk.join("shop.cairn"));
    let (mut client, mut reader) = (process.connect(), process.connect());
    client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, b text); CREATE TABLE u (id int)").unwrap();
    let insert = "INSERT INTO t SELECT $1::int * 100 + a, repeat(md5(a::text), 300) FROM generate_series(1, 100) AS a";
    let mut inserted = 0;
    let full = loop {
        match client.execute(insert, &[&inserted]) {
            Ok(_) => inserted += 1,
            Err(error) => break error,
        }
        assert!(inserted < 1_000, "the disk has no end");
    };
    assert_eq!(code(&full), "53100", "{full:?}");
    let count =
        |client: &mut postgres::Client| -> i64 { client.query_one("SELECT count(*) FROM t", &[]).unwrap().get(0) };
    assert_eq!(count(&mut reader), i64::from(inserted) * 100);
    assert!(process.try_connect("shop").is_ok(), "there is room for a session");
    // What is dropped makes room.
    until("it goes on", || {
        let _ = client.batch_execute("TRUNCATE t");
        client.execute(insert, &[&0]).is_ok()
    });
    assert_eq!(count(&mut reader), 100);
}

#[test]
fn bytes_before_tls_are_not_taken_for_what_came_under_it() {
    let served = Served::new();
    let mut client = socket(&served);
    client.write_all(&[b"\0\0\0\x08\x04\xd2\x16\x2f", &STARTUP[..]].concat()).unwrap();
    let mut answer = [0];
    client.read_exact(&mut answer).unwrap();
    // Over the Unix socket there is none, and what follows is plain.
    assert_eq!(answer, *b"N");
    client.write_all(b"X\0\0\0\x04").unwrap();
    let _ = last_words(client);
    assert!(served.config().connect(NoTls).is_ok());
}
