//! What only happens on a terminal: prompts, leaving, what is typed in several lines.
#![cfg(unix)]

mod pty;

use pty::Terminal;

#[test]
fn the_words_for_leaving_leave_and_help_is_given() {
    for word in ["exit", "quit", "exit;", "\\q  ", " \\q;", ".quit", ".exit", "\u{4}"] {
        let mut terminal = Terminal::running(&[]);
        terminal.expect("memory=> ");
        terminal.send("help\r");
        terminal.expect("SQL end with a semicolon");
        terminal.expect("memory=> ");
        terminal.send(if word == "\u{4}" { word.to_string() } else { format!("{word}\r") }.as_str());
        assert_eq!(terminal.wait(), 0, "{word:?}");
    }
}

#[test]
fn the_prompt_says_what_is_begun_and_the_ways_out_of_it_work() {
    let mut terminal = Terminal::running(&[]);
    terminal.expect("memory=> ");
    for (line, prompt) in [
        ("select 6", "memory-> "),
        ("* (7", "memory(> "),
        (") || 'a", "memory'> "),
        ("b', \"c", "memory\"> "),
        ("\", $x$", "memory$> "),
        ("$x$ /*", "memory*> "),
    ] {
        terminal.send(&format!("{line}\r"));
        terminal.expect(prompt);
    }
    terminal.send("\u{3}");
    terminal.expect("memory=> ");
    terminal.send("select 6\rexit\r");
    terminal.expect("Ctrl-C drops it");
    // Until it reads again a Ctrl-C is nobody's.
    terminal.expect("memory-> ");
    terminal.send("\u{3}");
    terminal.expect("memory=> ");
    terminal.send("begin;\r");
    terminal.expect("memory=*> ");
    terminal.send("select 40 +\r2;\r");
    terminal.expect(" 42");
    terminal.send("select\r");
    terminal.expect("memory-*> ");
    terminal.send("\u{4}");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn a_statement_of_several_lines_comes_back_whole() {
    let mut terminal = Terminal::running(&[]);
    terminal.expect("memory=> ");
    terminal.send("select 6\r* 7;\r");
    terminal.expect(" 42");
    terminal.expect("(1 row)");
    // Up, and what stands there runs again.
    terminal.send("\u{1b}[A\r");
    terminal.expect(" 42");
    terminal.send("\\q\r");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn data_of_a_copy_is_typed_behind_it() {
    let mut terminal = Terminal::running(&[]);
    terminal.expect("memory=> ");
    terminal.send("create table t (a int, b text);\rcopy t from stdin;\r");
    terminal.expect(">> ");
    terminal.send("41\tx\r1\ty\r\\.\r");
    terminal.expect("COPY 2");
    terminal.send("select sum(a) from t;\r");
    terminal.expect(" 42");
    terminal.send("exit\r");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn what_is_typed_has_colours_unless_they_are_not_wanted() {
    let mut terminal = Terminal::with_colours(&[]);
    terminal.expect("memory=> ");
    terminal.send("select 'a");
    terminal.expect("\u{1b}[1mselect\u{1b}[0m");
    terminal.expect("\u{1b}[32m'a");
    let mut plain = Terminal::running(&[]);
    plain.expect("memory=> ");
    plain.send("select 'a';\r");
    plain.expect("(1 row)");
    assert!(!plain.seen().contains("\u{1b}[1m") && !plain.seen().contains("\u{1b}[32m"), "{:?}", plain.seen());
}

/// Waits for the first picture, and leaves as a user does.
#[test]
fn a_watched_table_is_shown_until_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.cairn");
    let file = file.to_str().unwrap();
    let mut maker = Terminal::running(&[file, "-c", "CREATE TABLE t (a int); INSERT INTO t VALUES (41), (42)"]);
    assert_eq!(maker.wait(), 0);
    let mut terminal = Terminal::running(&["watch", file, "SELECT a, 'x' AS name FROM t ORDER BY a DESC"]);
    terminal.expect("| a  | name");
    terminal.expect("| 42 | x");
    terminal.expect("| 41 | x");
    terminal.expect("(2 rows) Ctrl-C leaves");
    let killed = std::process::Command::new("kill").args(["-INT", &terminal.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(terminal.wait(), 0);
    assert!(!folder.path().join("x.cairn-log").exists(), "the database was closed");
}

#[test]
fn long_results_go_through_the_pager_and_wide_ones_are_turned() {
    let mut terminal = Terminal::start(&[], &[("NO_COLOR", "1"), ("PAGER", "sed s/^/paged:/")]);
    terminal.expect("memory=> ");
    terminal.send("select n from generate_series(1, 30) as n;\r");
    terminal.expect("paged: 30");
    terminal.expect("paged:(30 rows)");
    terminal.send("select 1 as short;\r");
    terminal.expect("\n short");
    terminal.send("select repeat('x', 50) as first, repeat('y', 50) as second;\r");
    terminal.expect("-[ RECORD 1 ]");
    terminal.send("\\x off\r");
    terminal.expect("Expanded display is off.");
    terminal.send("select repeat('x', 50) as first, repeat('y', 50) as second;\r");
    terminal.expect("paged:(1 row)");
    terminal.send("\\?\r");
    terminal.expect("paged:General");
    terminal.expect("memory=> ");
    terminal.send("\\df to_*\r");
    terminal.expect("paged: pg_catalog | to_char");
    terminal.expect("memory=> ");
    terminal.send("\\pset pager off\rselect n from generate_series(1, 30) as n;\r");
    terminal.expect("\n 30");
    terminal.send("\\q\r");
    assert_eq!(terminal.wait(), 0);
}

/// A result without end in sight, of which three lines are wanted; and the time is the statement's, not the reader's.
#[test]
fn the_pager_is_fed_as_rows_come_and_may_be_left_early() {
    let mut terminal = Terminal::start(&[], &[("NO_COLOR", "1"), ("PAGER", "head -n 3")]);
    terminal.expect("memory=> ");
    terminal.send("select n, n::text as t from generate_series(1, 1000000000000) as n;\r");
    terminal.expect("1 | 1");
    terminal.expect("memory=> ");
    terminal.send("select 40 + 2 as answer;\r");
    terminal.expect("42");
    terminal.send("\\q\r");
    assert_eq!(terminal.wait(), 0);
    let folder = tempfile::tempdir().unwrap();
    let slow = folder.path().join("slow.sh");
    std::fs::write(&slow, "cat > /dev/null\nsleep 2\necho left\n").unwrap();
    let pager = format!("sh {}", slow.display());
    let mut terminal = Terminal::start(&[], &[("NO_COLOR", "1"), ("PAGER", &pager)]);
    terminal.expect("memory=> ");
    terminal.send("\\timing\rselect n from generate_series(1, 30) as n;\r");
    terminal.expect("left");
    terminal.expect("Time: ");
    terminal.expect(" ms");
    let seen = terminal.seen();
    let time = seen.rsplit("Time: ").next().and_then(|it| it.split(' ').next()?.parse::<f64>().ok());
    assert!(time.is_some_and(|time| time < 1500.0), "{seen:?}");
}

/// A plan is a text that is read from above, however wide its lines are.
#[test]
fn results_of_one_column_are_not_turned() {
    let mut terminal = Terminal::start(&[], &[("NO_COLOR", "1"), ("PAGER", "cat")]);
    terminal.expect("memory=> ");
    terminal.send("select repeat('x', 300) as long;\r");
    terminal.expect("(1 row)");
    assert!(!terminal.seen().contains("RECORD"), "{:?}", terminal.seen());
}

#[test]
fn a_file_in_the_home_folder_runs_first() {
    let folder = tempfile::tempdir().unwrap();
    let rc = folder.path().join("rc");
    std::fs::write(&rc, "\\set answer 42\n\\pset null nil\nselect 1 / 0;\n").unwrap();
    let mut terminal = Terminal::start(&[], &[("NO_COLOR", "1"), ("CAIRNRC", rc.to_str().unwrap())]);
    terminal.expect("22012");
    terminal.expect("memory=> ");
    terminal.send("select :answer, null;\r");
    terminal.expect("42 | nil");
    terminal.send("exit\r");
    assert_eq!(terminal.wait(), 0);
    std::fs::rename(&rc, folder.path().join(".cairnrc")).unwrap();
    let mut at_home = Terminal::start(&[], &[("NO_COLOR", "1"), ("HOME", folder.path().to_str().unwrap())]);
    at_home.expect("memory=> ");
    at_home.send("select :answer, null;\r");
    at_home.expect("42 | nil");
    std::fs::rename(folder.path().join(".cairnrc"), &rc).unwrap();
    let mut plain = Terminal::start(&["-X"], &[("NO_COLOR", "1"), ("CAIRNRC", rc.to_str().unwrap())]);
    plain.expect("memory=> ");
    plain.send("select :answer;\r");
    plain.expect("42601");
}

#[test]
fn a_statement_is_edited_and_runs() {
    let mut terminal = Terminal::start(&[], &[("NO_COLOR", "1"), ("EDITOR", "sed -i s/41/42/")]);
    terminal.expect("memory=> ");
    terminal.send("select 41 as n;\r");
    terminal.expect(" 41");
    terminal.expect("memory=> ");
    terminal.send("\\e\r");
    terminal.expect(" 42\r");
    terminal.expect("memory=> ");
    terminal.send("select 4141\r\\e\r");
    terminal.expect("memory-> ");
    terminal.expect("select 4241");
    terminal.expect("memory-> ");
    terminal.send("as n;\r");
    terminal.expect(" 4241");
}

#[test]
fn watching_ends_with_ctrl_c_and_tab_knows_what_fits() {
    let mut terminal = Terminal::running(&[]);
    terminal.expect("memory=> ");
    terminal.send("create table crew (seat int, name text);\r");
    terminal.expect("CREATE TABLE");
    terminal.expect("memory=> ");
    terminal.send("select c.se\u{9} from cr\u{9} c;\r");
    terminal.expect("(0 rows)");
    terminal.expect("memory=> ");
    // Words of the grammar, and a function's name, where they may stand.
    terminal.send("ins\u{9} in\u{9} crew va\u{9} (1, upp\u{9}'ada'));\r");
    terminal.expect("INSERT 0 1");
    terminal.expect("memory=> ");
    terminal.send("upd\u{9} crew se\u{9} na\u{9} = 'Grace' wh\u{9} se\u{9}a\u{9} = 1;\r");
    terminal.expect("UPDATE 1");
    terminal.expect("memory=> ");
    terminal.send("select 1 as n \\watch 0.01\r");
    terminal.expect("(1 row)");
    terminal.expect("(1 row)");
    let killed = std::process::Command::new("kill").args(["-INT", &terminal.id().to_string()]).status().unwrap();
    assert!(killed.success());
    terminal.expect("memory=> ");
    terminal.send("exit\r");
    assert_eq!(terminal.wait(), 0);
}
