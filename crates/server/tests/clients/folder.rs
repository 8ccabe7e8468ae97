//! A server of a folder: its databases come, go, and are opened when somebody asks for them.

use std::fs;
use std::process::Command;
use std::time::Duration;

use cairn_conformance::engine::program;
use cairn_server::{Ceilings, Options, Running, Server};
use postgres::{Client, Config, NoTls};
use tempfile::TempDir;

use crate::{PATIENCE, code, until};

pub struct Folder {
    place: TempDir,
    running: Running,
}

impl Folder {
    pub fn new(options: Options) -> Folder {
        Folder::over(TempDir::new().unwrap(), options)
    }

    fn over(place: TempDir, options: Options) -> Folder {
        let socket = Some((place.path().to_owned(), 5432));
        let server =
            Server::of_folder(place.path(), cairndb::Options::default().memory(cairndb::Memory::shared(8 << 20)))
                .unwrap();
        let running = server.with(Options { socket, trusts_all: true, ..options }).start().unwrap();
        Folder { place, running }
    }

    /// How many databases are open.
    pub fn open(&self) -> usize {
        self.running.open_databases()
    }

    pub fn path(&self) -> &std::path::Path {
        self.place.path()
    }

    /// The same folder, by another server.
    fn restart(self) -> Folder {
        let Folder { place, running } = self;
        running.stop();
        Folder::over(place, Options::default())
    }

    pub fn try_connect(&self, database: &str) -> Result<Client, postgres::Error> {
        let mut config = Config::new();
        config.host_path(self.place.path()).user("me").dbname(database).connect_timeout(PATIENCE).connect(NoTls)
    }

    pub fn connect(&self, database: &str) -> Client {
        self.try_connect(database).unwrap_or_else(|error| panic!("{database}: {error:?}"))
    }
}

#[test]
fn databases_are_made_and_dropped_by_statements_of_the_servers_own() {
    let folder = Folder::new(Options::default());
    let refused = |client: &mut Client, sql: &str| code(&client.batch_execute(sql).expect_err(sql)).to_owned();
    let mut own = folder.connect("postgres");
    own.batch_execute("CREATE DATABASE Shop").unwrap();
    own.execute("CREATE DATABASE \"other\" ENCODING 'UTF8' TEMPLATE template0", &[]).unwrap();
    for (sql, expected) in [
        ("CREATE DATABASE shop", "42P04"),
        ("CREATE DATABASE \"../shop\"", "42602"),
        ("CREATE DATABASE x OWNER you", "0A000"),
        ("DROP DATABASE nothing", "3D000"),
        ("DROP DATABASE cairn", "42501"),
        ("BEGIN; CREATE DATABASE x", "25001"),
        ("SELECT 1; CREATE DATABASE x", "25001"),
        ("DO $$ BEGIN EXECUTE 'CREATE DATABASE x'; END $$", "0A000"),
        ("ALTER DATABASE shop RENAME TO other", "42P04"),
    ] {
        assert_eq!(refused(&mut own, sql), expected, "{sql}");
        own.batch_execute("ROLLBACK").unwrap();
    }
    let mut shop = folder.connect("shop");
    shop.batch_execute("CREATE TABLE t AS SELECT 1 AS a").unwrap();
    assert_eq!(refused(&mut shop, "CREATE DATABASE x"), "0A000");
    assert_eq!(refused(&mut own, "DROP DATABASE shop"), "55006");
    assert_eq!(refused(&mut own, "ALTER DATABASE shop RENAME TO store"), "55006");
    drop(shop);
    until("it is renamed", || own.batch_execute("ALTER DATABASE shop RENAME TO store").is_ok());
    assert_eq!(code(&folder.try_connect("shop").err().unwrap()), "3D000");
    let mut store = folder.connect("store");
    assert_eq!(store.query_one("SELECT a FROM t", &[]).unwrap().get::<_, i32>(0), 1);
    // Whoever is in the way is told.
    own.batch_execute("DROP DATABASE store WITH (FORCE)").unwrap();
    assert!(store.batch_execute("SELECT 1").is_err());
    own.batch_execute("DROP DATABASE IF EXISTS store; DROP DATABASE other").ok();
    own.batch_execute("DROP DATABASE IF EXISTS store").unwrap();
    own.batch_execute("DROP DATABASE other").unwrap();
    let left: Vec<String> =
        fs::read_dir(folder.place.path()).unwrap().map(|of| of.unwrap().file_name().into_string().unwrap()).collect();
    assert!(
        left.iter().all(|name| name.starts_with("cairn.cairn") || name.starts_with(".s.") || name.ends_with(".audit")),
        "{left:?}"
    );
}

#[test]
fn databases_are_opened_when_asked_for_closed_when_idle_and_there_again_after_a_restart() {
    let folder = Folder::new(Options { idle_close: Duration::ZERO, ..Options::default() });
    folder.connect("postgres").batch_execute("CREATE DATABASE a").unwrap();
    folder.connect("postgres").batch_execute("CREATE DATABASE b").unwrap();
    fs::write(folder.place.path().join("bad.cairn"), "no database ".repeat(4096)).unwrap();
    until("what nobody uses is closed", || folder.running.open_databases() == 0);
    let mut a = folder.connect("a");
    a.batch_execute("CREATE TABLE t AS SELECT 1 AS a").unwrap();
    assert_eq!(folder.running.open_databases(), 1);
    let refused = folder.try_connect("bad").err().unwrap();
    assert!(refused.as_db_error().unwrap().message().contains("database \"bad\" can not be opened"), "{refused:?}");
    for name in ["nothing", "../a", "A", ""] {
        assert!(folder.try_connect(name).is_err(), "{name}");
    }
    assert_eq!(a.query_one("SELECT a FROM t", &[]).unwrap().get::<_, i32>(0), 1);
    let second = Server::of_folder(folder.place.path(), cairndb::Options::default()).err().expect("one at a time");
    assert_eq!(second.sqlstate().as_str(), "55006");
    let Folder { place, running } = folder;
    running.stop();
    let folder = Folder::over(place, Options::default());
    assert_eq!(folder.connect("a").query_one("SELECT a FROM t", &[]).unwrap().get::<_, i32>(0), 1);
}

#[test]
fn who_reads_only_makes_no_databases_and_tools_of_postgresql_do() {
    let ceilings = Ceilings { reads_only: true, ..Ceilings::default() };
    let folder = Folder::new(Options { ceilings: Some(ceilings), ..Options::default() });
    for sql in ["CREATE DATABASE x", "DROP DATABASE x"] {
        assert_eq!(code(&folder.connect("cairn").batch_execute(sql).unwrap_err()), "42501", "{sql}");
    }
    let folder = Folder::new(Options::default());
    for (tool, is_there) in [("createdb", true), ("dropdb", false)] {
        let Some(tool) = program(tool) else {
            eprintln!("LEFT OUT: {tool} is not installed");
            return;
        };
        let done =
            Command::new(tool).arg("-h").arg(folder.place.path()).args(["-U", "me", "by_tool"]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(folder.place.path().join("by_tool.cairn").exists(), is_there);
    }
}

#[test]
fn sessions_begin_with_what_alter_database_has_said_of_theirs() {
    let folder = Folder::new(Options::default());
    let mut own = folder.connect("postgres");
    own.batch_execute("CREATE DATABASE shop").unwrap();
    for sql in [
        "ALTER DATABASE shop SET statement_timeout = '7s'",
        "ALTER DATABASE shop SET search_path TO other, public",
        "ALTER DATABASE shop SET TIME ZONE 'Europe/Rome'",
        "ALTER DATABASE shop SET my.own = 'x ''y'''",
    ] {
        own.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    let shown = |folder: &Folder, sql: &str| -> String { folder.connect("shop").query_one(sql, &[]).unwrap().get(0) };
    let settings = "SELECT current_setting('statement_timeout') || '|' || current_setting('search_path') || '|'
         || current_setting('timezone') || '|' || current_setting('my.own', true)";
    assert_eq!(shown(&folder, settings), "7s|other, public|Europe/Rome|x 'y'");
    let listed =
        "SELECT array_to_string(setconfig, ';') FROM pg_db_role_setting s JOIN pg_database d ON d.oid = setdatabase
         WHERE datname = 'shop' AND setrole = 0";
    assert!(shown(&folder, listed).contains("statement_timeout=7s"));
    // The session's own come first, and RESET goes back to what it began with.
    let mut shop = folder.connect("shop");
    shop.batch_execute("SET statement_timeout = '1s'; RESET statement_timeout").unwrap();
    assert_eq!(shop.query_one("SHOW statement_timeout", &[]).unwrap().get::<_, String>(0), "7s");
    for (sql, expected) in [
        ("ALTER DATABASE nothing SET statement_timeout = '7s'", "3D000"),
        ("ALTER DATABASE shop SET no_such_setting = 1", "42704"),
        ("ALTER DATABASE shop SET statement_timeout = 'soon'", "22023"),
        ("ALTER DATABASE shop SET work_mem = '100GB'", "22023"),
        ("ALTER DATABASE shop SET synchronous_commit = off", "42501"),
        ("ALTER SYSTEM SET work_mem = '1MB'", "0A000"),
        ("ALTER ROLE me SET work_mem = '1MB'", "0A000"),
        ("ALTER DATABASE shop OWNER TO me", "0A000"),
    ] {
        assert_eq!(code(&own.batch_execute(sql).expect_err(sql)), expected, "{sql}");
    }
    assert_eq!(code(&shop.batch_execute("ALTER DATABASE shop RESET ALL").unwrap_err()), "0A000");
    drop(shop);
    own.batch_execute("SET datestyle = 'German'").unwrap();
    own.batch_execute("ALTER DATABASE shop SET datestyle FROM CURRENT").unwrap();
    own.batch_execute("ALTER DATABASE shop RESET statement_timeout").unwrap();
    own.batch_execute("ALTER DATABASE shop SET search_path TO DEFAULT").unwrap();
    until("it is not in use", || own.batch_execute("ALTER DATABASE shop RENAME TO store").is_ok());
    drop(own);
    // They outlive the server, and go with the database.
    let folder = folder.restart();
    let mut store = folder.connect("store");
    let show = |client: &mut Client, sql: &str| -> String { client.query_one(sql, &[]).unwrap().get(0) };
    assert_eq!(show(&mut store, "SHOW datestyle"), "German, DMY");
    assert_eq!(show(&mut store, "SHOW timezone"), "Europe/Rome");
    assert_eq!(show(&mut store, "SHOW statement_timeout"), "0");
    drop(store);
    let mut own = folder.connect("cairn");
    until("it is not in use", || own.batch_execute("DROP DATABASE store").is_ok());
    own.batch_execute("CREATE DATABASE store").unwrap();
    assert_eq!(show(&mut folder.connect("store"), "SHOW timezone"), "UTC");
}
