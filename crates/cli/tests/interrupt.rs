//! Ctrl-C stops the running statement, not the shell.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn shell(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    let killed = Command::new("sh").args(["-c", "kill -INT $0", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn a_running_statement_is_cancelled_and_the_script_goes_on() {
    let mut child = shell(&["--keep-going", "--no-header"]);
    let mut stdin = child.stdin.take().unwrap();
    let long = "SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b";
    writeln!(stdin, "SELECT 'ready';\n{long};\nSELECT 'still here';").unwrap();
    drop(stdin);

    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, " ready\n");
    // The long statement is the very next thing that the shell does.
    sleep(Duration::from_secs(1));
    let interrupted = Instant::now();
    interrupt(&child);

    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    child.wait().unwrap();
    assert!(rest.contains("still here"), "{rest}{errors}");
    assert!(errors.contains("57014"), "{errors}");
    assert!(interrupted.elapsed() < Duration::from_secs(60), "the statement went on");
}

/// Tags may wait for others, but not for somebody who waits for them.
#[test]
fn what_was_done_is_told_before_more_is_read() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        while stdout.read_line(&mut line).is_ok_and(|read| read > 0) {
            told.send(std::mem::take(&mut line)).unwrap();
        }
    });
    for (statement, tag) in
        [("CREATE TABLE t (a int);\nBEGIN", "CREATE TABLE\nBEGIN\n"), ("INSERT INTO t VALUES (1)", "INSERT 0 1\n")]
    {
        write!(stdin, "{statement};\nSELECT").unwrap();
        let lines = (0..tag.lines().count()).map(|_| heard.recv_timeout(Duration::from_secs(60)));
        assert_eq!(lines.collect::<Result<String, _>>().unwrap(), tag, "{statement}");
        writeln!(stdin, " 1;").unwrap();
        for _ in 0..5 {
            heard.recv_timeout(Duration::from_secs(60)).unwrap();
        }
    }
    drop(stdin);
    child.wait().unwrap();
}

/// SUBSCRIBE: its rows are seen as they come, and Ctrl-C ends it and not the shell.
#[test]
fn a_subscription_is_shown_as_it_comes_and_ended_by_ctrl_c() {
    let mut child = shell(&["--keep-going"]);
    let mut stdin = child.stdin.take().unwrap();
    writeln!(
        stdin,
        "CREATE TABLE t (a int, b text);\nINSERT INTO t VALUES (1, 'one'), (2, NULL);\n\
         SUBSCRIBE SELECT a, b FROM t ORDER BY a;\nSELECT 'still here';"
    )
    .unwrap();
    drop(stdin);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut lines = (0..6).map(|_| {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        line
    });
    assert_eq!((lines.next().unwrap(), lines.next().unwrap()), ("CREATE TABLE\n".into(), "INSERT 0 2\n".into()));
    let header = lines.next().unwrap();
    assert!(header.trim_start().starts_with("position ") && header.contains(" | change | a |  b"), "{header}");
    assert!(lines.next().unwrap().starts_with("-----"));
    let rows: Vec<String> = lines.collect();
    assert!(rows[0].ends_with(" | insert | 1 | one\n") && rows[1].ends_with(" | insert | 2 | \n"), "{rows:?}");
    interrupt(&child);
    let (mut rest, mut errors) = (String::new(), String::new());
    stdout.read_to_string(&mut rest).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    child.wait().unwrap();
    assert!(rest.contains("still here"), "{rest}{errors}");
    assert!(errors.contains("57014"), "{errors}");
}
