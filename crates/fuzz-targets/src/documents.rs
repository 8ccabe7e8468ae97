//! Documents, patches and questions, as somebody sends them to a collection.
//!
//! ```text
//! kind u8 | texts with a byte 0 between them
//! ```
//! Promised besides: a document comes back as the JSON that was sent; a merge patch that is applied again changes nothing; a patch that fails has
//! changed nothing; a filter finds of a table what it finds of each document by itself, and its negation the others; pages are the whole in parts;
//! what is counted in groups is as many as are found.

use std::sync::LazyLock;

use cairn_storage::io::{DiskImage, SimDisk};
use cairndb::{Collection, Document, Error, Jsonb};

use crate::machine::{assert_typed, connect, open_database};
use crate::sql_text::image;

const PAGE_BYTES: usize = 4096;
const SCHEMA: &str = r#"
    CREATE TABLE notes () WITH (collection = on);
    CREATE INDEX ON notes ((doc -> 'a'));
    CREATE INDEX ON notes USING gin ((doc -> 'tags') jsonb_path_ops);
    INSERT INTO notes (id, doc) VALUES
        ('a', '{"a": 1, "b": {"c": "x", "0": null}, "tags": ["s", "t", 1]}'), ('b', '{"a": 1.0, "b": [1, [2, {"c": 3}]], "tags": []}'),
        ('c', '{"a": "x", "b": null, "tags": "s"}'), ('d', '{"a": null}'), ('e', '{"a": [1, "x", null], "tags": [["s"], {"a": 1}]}'),
        ('f', '[1, "a", {"a": 2}]'), ('g', '"a"'), ('h', '123456789012345678901234567890.50'), ('i', '{}'), ('j', '{"a": true, "": {"": 1}}'),
        ('k', '{"a": -1e3, "b": {"c": "\u00e9'' \\ \""}}'), ('l', 'null')"#;

static IMAGE: LazyLock<DiskImage> = LazyLock::new(|| image(PAGE_BYTES, SCHEMA));

/// The target.
pub fn documents(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let mut texts = text.split('\0');
    let mut next = || texts.next().unwrap_or_default();
    let disk = SimDisk::from_image(&IMAGE, 1);
    let database = open_database(&disk, PAGE_BYTES).expect("an undamaged database opens");
    let connection = connect(&database).expect("a connection");
    let notes = connection.collection("notes").expect("a collection");
    let done = match kind % 6 {
        0 => kept(&notes, next()),
        1 => merged(&notes, (next(), next())),
        2 => patched(&notes, (next(), next())),
        3 => found(&notes, next()),
        4 => paged(&notes, (next(), next(), next())),
        _ => grouped(&notes, (next(), next(), next())),
    };
    if let Err(error) = done {
        assert_typed(&error, &text);
        let class = error.sqlstate().as_str().get(..2).unwrap_or_default();
        assert!(["22", "53", "54", "57", "2B"].contains(&class), "{text:?}: {error:?}");
    }
}

fn document(notes: &Collection<'_>, id: &str) -> Option<Document> {
    notes.get(id).expect("a document is read")
}

fn kept(notes: &Collection<'_>, doc: &str) -> Result<(), Error> {
    let sent = doc.parse::<Jsonb>();
    let put = notes.put("x", doc);
    assert_eq!(put.is_ok(), sent.is_ok(), "{doc:?}: {put:?} {sent:?}");
    put?;
    let there = document(notes, "x").expect("it was put there").doc.to_string();
    assert_eq!(there, sent?.to_string());
    assert_eq!(there.parse::<Jsonb>()?.to_string(), there, "what is told is what is meant");
    Ok(())
}

fn merged(notes: &Collection<'_>, (doc, patch): (&str, &str)) -> Result<(), Error> {
    notes.put("x", doc)?;
    let before = document(notes, "x").expect("it was put there");
    if let Err(error) = notes.update("x", patch) {
        assert_eq!(document(notes, "x").expect("it is there").version, before.version);
        return Err(error);
    }
    let once = document(notes, "x").expect("it is there").doc.to_string();
    notes.update("x", patch)?;
    assert_eq!(document(notes, "x").expect("it is there").doc.to_string(), once, "{doc} {patch}");
    Ok(())
}

fn patched(notes: &Collection<'_>, (doc, patch): (&str, &str)) -> Result<(), Error> {
    notes.put("x", doc)?;
    let before = document(notes, "x").expect("it was put there");
    let patched = notes.patch("x", patch);
    let after = document(notes, "x").expect("it is there");
    match patched {
        Err(error) => {
            assert_eq!((after.version, after.doc.to_string()), (before.version, before.doc.to_string()));
            Err(error)
        }
        Ok(version) => {
            assert_eq!(version, Some(after.version));
            after.doc.to_string().parse::<Jsonb>().map(drop)
        }
    }
}

fn ids(documents: &[Document]) -> Vec<String> {
    documents.iter().map(Document::id_text).collect()
}

fn found(notes: &Collection<'_>, filter: &str) -> Result<(), Error> {
    let all = notes.find("{}").all()?;
    let find = notes.find(filter);
    let found = ids(&find.all()?);
    let mut each = Vec::new();
    for document in &all {
        if find.finds(&document.id, document.version, &document.doc)? {
            each.push(document.id_text());
        }
    }
    assert_eq!(found, each, "{filter} {:?}", find.sql());
    assert_eq!(find.count()?, found.len() as u64);
    let others = ids(&notes.find(&format!("{{\"$nor\": [{filter}]}}")).all()?);
    let rest: Vec<String> = ids(&all).into_iter().filter(|id| !found.contains(id)).collect();
    assert_eq!(others, rest, "{filter}");
    Ok(())
}

fn paged(notes: &Collection<'_>, (filter, sort, cursor): (&str, &str, &str)) -> Result<(), Error> {
    let find = notes.find(filter).sort(sort.split(',').filter(|path| !path.is_empty()));
    // Whatever it is, it is one or none.
    if let Err(error) = find.clone().after(cursor).all() {
        assert_typed(&error, cursor);
    }
    let whole = ids(&find.all()?);
    let (mut parts, mut next) = (Vec::new(), None::<String>);
    loop {
        let find = next.iter().fold(find.clone(), |find, next| find.after(next)).limit(5);
        let page = find.page()?;
        parts.extend(ids(&page.documents));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(parts, whole, "{filter} by {sort}");
    Ok(())
}

fn grouped(notes: &Collection<'_>, (filter, path, name): (&str, &str, &str)) -> Result<(), Error> {
    let groups =
        notes.aggregate(filter).group(name, path).count("count of the group").min("least", path).sum("sum", path);
    let counted = groups.clone().all()?.len();
    let all = notes.aggregate(filter).count("n").all()?;
    let found = notes.find(filter).count()?;
    assert_eq!(all[0].to_string(), format!("{{\"n\": {found}}}"));
    assert!(counted as u64 <= found && (counted == 0) == (found == 0), "{filter} by {path}");
    Ok(())
}
