//! Collections of who comes with claims: what is answered where it is asked says what the library says, and nothing else is.

mod common;

use cairndb::{Result, Rules, SqlState, Value};
use cairndb_async::{Collection, Database};
use common::under_each_runtime;

const OWN: &str = "doc -> 'owner' = claims -> 'sub'";

async fn of_ada(db: &Database, create: &str, view: &str) -> Result<Collection> {
    let mut rules = Rules::default();
    (rules.create, rules.view) = (Some(create.to_owned()), Some(view.to_owned()));
    db.call(move |connection| connection.create_collection("notes")?.set_rules(&rules)).await?;
    Ok(db.collection("notes").await?.for_claims(r#"{"sub": "ada"}"#.parse()?))
}

/// How many statements threads of the pool were asked for by what `work` does.
async fn handed_over(db: &Database, work: impl Future<Output = Result<()>>) -> Result<u64> {
    let count = async || db.call(|connection| Ok(connection.database().stats().handed_over)).await;
    let before = count().await?;
    work.await?;
    Ok(count().await? - before)
}

#[test]
fn a_rule_of_values_alone_is_asked_where_the_document_is_written() {
    under_each_runtime(|| async {
        let db = Database::open_in_memory().await?;
        let notes = of_ada(&db, OWN, OWN).await?;
        // What is planned once is known to all.
        let first = notes.insert(r#"{"owner": "ada"}"#).await?;
        assert!(notes.get(&first.id).await?.is_some());
        let done = handed_over(&db, async {
            for n in 0..20 {
                let written = notes.insert(&format!(r#"{{"owner": "ada", "n": {n}}}"#)).await?;
                let read = notes.get(&written.id).await?.expect("it is in sight");
                assert_eq!(
                    (read.version, read.doc.to_string()),
                    (written.version, format!(r#"{{"n": {n}, "owner": "ada"}}"#))
                );
            }
            Ok(())
        });
        assert_eq!(done.await?, 0);
        for doc in [r#"{"owner": "bob"}"#, "{}", "[1]", "null"] {
            assert_eq!(notes.insert(doc).await.unwrap_err().sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE, "{doc}");
        }
        assert_eq!(notes.insert("{").await.unwrap_err().sqlstate(), SqlState::INVALID_TEXT_REPRESENTATION);
        db.call(|connection| connection.collection("notes")?.insert_as("b", r#"{"owner": "bob"}"#).map(drop)).await?;
        assert!(notes.get("b").await?.is_none() && notes.get("nobody's").await?.is_none());
        let all = db.query_row("SELECT count(*) FROM notes", (), |row| row.get::<i64>(0)).await?;
        assert_eq!(all, 22);
        db.close().await
    });
}

#[test]
fn rules_are_those_of_the_moment() {
    under_each_runtime(|| async {
        let db = Database::open_in_memory().await?;
        let notes = of_ada(&db, OWN, OWN).await?;
        for _ in 0..3 {
            notes.insert(r#"{"owner": "ada"}"#).await?;
        }
        let id = notes.insert(r#"{"owner": "ada"}"#).await?.id;
        assert!(notes.get(&id).await?.is_some());
        let of_bob = OWN.replace("claims -> 'sub'", "'\"bob\"'");
        let again = of_ada(&db, &of_bob, &of_bob).await?;
        for notes in [&notes, &again] {
            assert_eq!(
                notes.insert(r#"{"owner": "ada"}"#).await.unwrap_err().sqlstate(),
                SqlState::INSUFFICIENT_PRIVILEGE
            );
            assert!(notes.get(&id).await?.is_none());
        }
        // Another collection under the name is not the one that was found, nor are its rules.
        db.execute("DROP TABLE notes", ()).await?;
        assert!(notes.insert(r#"{"owner": "bob"}"#).await.is_err());
        db.close().await
    });
}

#[test]
fn what_looks_further_goes_the_way_of_the_library() {
    under_each_runtime(|| async {
        let db = Database::open_in_memory().await?;
        db.execute_script("CREATE TABLE quota (sub text PRIMARY KEY, most int); INSERT INTO quota VALUES ('ada', 3)")
            .await?;
        let counted = "(SELECT count(*) FROM notes) < (SELECT most FROM quota WHERE sub = claims ->> 'sub')";
        let notes = of_ada(&db, counted, "(1 / (doc -> 'n')::int) > 0").await?;
        let mut ids = Vec::new();
        for n in [1, 0, 1] {
            ids.push(notes.insert(&format!(r#"{{"n": {n}}}"#)).await?.id);
        }
        assert_eq!(notes.insert("{}").await.unwrap_err().sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE);
        assert!(notes.get(&ids[0]).await?.is_some());
        // It fails, and does not say by what.
        let failed = notes.get(&ids[1]).await.unwrap_err();
        assert_eq!(failed.sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE);
        assert!(!failed.to_string().contains("zero"), "{failed}");
        db.close().await
    });
}

#[test]
fn what_a_trigger_makes_of_a_document_is_asked_of_again() {
    under_each_runtime(|| async {
        let db = Database::open_in_memory().await?;
        let notes = of_ada(&db, OWN, OWN).await?;
        for _ in 0..3 {
            notes.insert(r#"{"owner": "ada"}"#).await?;
        }
        db.execute_script(
            "CREATE FUNCTION given() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN new.doc := jsonb_set(new.doc, '{owner}', '\"bob\"'); RETURN new; END $$;
             CREATE TRIGGER given BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION given()",
        )
        .await?;
        assert_eq!(notes.insert(r#"{"owner": "ada"}"#).await.unwrap_err().sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE);
        let owners = db.query_row("SELECT count(*), min(doc ->> 'owner') FROM notes", (), |row| {
            Ok((row.get::<i64>(0)?, Value::text(row.get::<String>(1)?)))
        });
        assert_eq!(owners.await?, (3, Value::text("ada")));
        db.close().await
    });
}
