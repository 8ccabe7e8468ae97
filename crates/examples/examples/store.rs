//! What a web service keeps: people and their notes. Handlers on several threads share a pool.
//!
//! `cargo run -p cairndb-examples --example store`

use cairndb::{Database, FromRow, Pool, Result, SqlState};
use jiff::Timestamp;
use uuid::Uuid;

#[derive(Debug, FromRow)]
struct Note {
    id: Uuid,
    title: String,
    tags: Vec<String>,
    extra: serde_json::Value,
    #[cairndb(rename = "created_at")]
    created: Timestamp,
}

struct Store(Pool);

impl Store {
    fn open(database: &Database) -> Result<Store> {
        database.connect()?.execute_script(
            "CREATE TABLE IF NOT EXISTS person (name text PRIMARY KEY);
             CREATE TABLE IF NOT EXISTS note (
                 id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
                 person text NOT NULL REFERENCES person,
                 title text NOT NULL CHECK (title <> ''),
                 tags text[] NOT NULL DEFAULT '{}',
                 extra jsonb NOT NULL DEFAULT '{}',
                 created_at timestamptz NOT NULL DEFAULT now()
             );
             CREATE INDEX IF NOT EXISTS note_by_person ON note (person, created_at);",
        )?;
        Ok(Store(database.pool(4)))
    }

    fn sign_up(&self, name: &str) -> Result<bool> {
        match self.0.get()?.execute("INSERT INTO person VALUES ($1)", (name,)) {
            Ok(_) => Ok(true),
            Err(error) if error.sqlstate() == SqlState::UNIQUE_VIOLATION => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn add(&self, person: &str, title: &str, tags: &[&str], extra: &serde_json::Value) -> Result<Note> {
        let insert = "INSERT INTO note (person, title, tags, extra) VALUES ($1, $2, $3, $4) RETURNING *";
        self.0.get()?.query_row_as(insert, (person, title, tags, extra))
    }

    fn newest(&self, person: &str, tag: Option<&str>) -> Result<Vec<Note>> {
        let select = "SELECT * FROM note WHERE person = $1 AND ($2::text IS NULL OR $2 = ANY (tags))
             ORDER BY created_at DESC LIMIT 10";
        self.0.get()?.query_as(select, (person, tag))?.collect()
    }
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("notes.cairn"))?;
    let store = Store::open(&database)?;
    assert!(store.sign_up("ada")? && !store.sign_up("ada")?);
    std::thread::scope(|scope| {
        for n in 1..=3 {
            let store = &store;
            let extra = serde_json::json!({ "stars": n, "draft": n == 3 });
            scope.spawn(move || store.add("ada", &format!("Note {n}"), &["math"], &extra).expect("a note"));
        }
    });
    store.add("ada", "Engines", &["math", "steam"], &serde_json::json!({}))?;
    for note in store.newest("ada", Some("math"))? {
        println!("{} {:8} {:?} {} {}", note.created, note.title, note.tags, note.extra, note.id);
    }
    assert_eq!(store.newest("ada", Some("steam"))?.len(), 1);
    let nobody = store.add("eve", "Hello", &[], &serde_json::json!(null)).unwrap_err();
    println!("{nobody}");
    assert_eq!(nobody.sqlstate(), SqlState::FOREIGN_KEY_VIOLATION);
    drop(store);
    database.close()
}
