//! A salvage from beginning to end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cairn_storage::{Environment, Store};

use super::report::{SalvageProgress, Salvaged, SavedTable};
use super::uncertain::UncertainRows;
use super::{catalog, indexes, rows, uncertain, words};
use crate::api::Database;
use crate::catalog::{Catalog, Table};
use crate::exec::ExecContext;
use crate::session::{Durability, Options};
use crate::types::EvalContext;
use crate::verify::dangling_references;
use crate::{Error, Result, SqlState};

/// Saves what is left of the damaged database at `from` into a new one at `to`, and says what is not. The damaged files
/// are only read. Rows of which it can not be told whether they are live go to a database beside `to`, whose name ends in
/// `-uncertain`.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, saved) = (folder.path().join("damaged.cairn"), folder.path().join("saved.cairn"));
/// # let made = cairndb::Database::open(&path)?;
/// # made.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")?;
/// # made.close()?;
/// let report = cairndb::salvage(&path, &saved)?;
/// assert!(report.is_complete());
/// # Ok::<(), cairndb::Error>(())
/// ```
pub fn salvage(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Salvaged> {
    salvage_with_progress(from, to, |_| ())
}

/// As [`salvage`]; `progress` hears how far it is.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let (path, saved) = (folder.path().join("damaged.cairn"), folder.path().join("saved.cairn"));
/// # let made = cairndb::Database::open(&path)?;
/// # made.connect()?.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")?;
/// # made.close()?;
/// use cairndb::salvage::{SalvageProgress, salvage_with_progress};
///
/// salvage_with_progress(&path, &saved, |step| match step {
///     SalvageProgress::Pages(read, of) => println!("{read} of {of} pages"),
///     SalvageProgress::Table(name) => println!("table {name}"),
///     _ => println!("foreign keys"),
/// })?;
/// # Ok::<(), cairndb::Error>(())
/// ```
pub fn salvage_with_progress(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    mut progress: impl FnMut(SalvageProgress),
) -> Result<Salvaged> {
    salvage_in(from, to, cairn_storage::Options::default(), Environment::real(), &mut progress)
}

/// As [`salvage`], in surroundings of the caller's choice.
pub fn salvage_in(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    mut options: cairn_storage::Options,
    env: Environment,
    progress: &mut dyn FnMut(SalvageProgress),
) -> Result<Salvaged> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let apart = beside(to, "-uncertain");
    options.durability = Durability::Off;
    let place = Place { options, env };
    if place.env.files.exists(&apart).unwrap_or(false) {
        let message = format!("\"{}\" exists already; a salvage never overwrites", apart.display());
        return Err(Error::new(SqlState("58P01"), message));
    }
    let mut pages = |read, of| progress(SalvageProgress::Pages(read, of));
    let mut found = cairn_storage::salvage_with(from, to, place.options.clone(), place.env.clone(), &mut pages)?;
    let repaired = repair(to, &apart, &place, &mut found, progress);
    if repaired.is_err() {
        // Half of what could be saved must not pass for all of it.
        for path in [to, &apart] {
            let _ = place.env.files.remove(path);
            let _ = place.env.files.remove(&beside(path, "-log"));
        }
    }
    repaired
}

/// Where the new databases are made, and how.
pub(super) struct Place {
    options: cairn_storage::Options,
    env: Environment,
}

impl Place {
    fn store(&self, path: &Path) -> Result<Store> {
        Ok(Store::open_with(path, self.options.clone(), self.env.clone())?)
    }

    pub(super) fn open(&self, path: &Path) -> Result<Database> {
        over(self.store(path)?)
    }
}

fn over(store: Store) -> Result<Database> {
    Database::over(store, Options::default().durability(Durability::Off))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes a database of the trees that were saved.
fn repair(
    path: &Path,
    apart: &Path,
    place: &Place,
    found: &mut cairn_storage::Salvage,
    progress: &mut dyn FnMut(SalvageProgress),
) -> Result<Salvaged> {
    let mut report = Salvaged {
        notes: std::mem::take(&mut found.notes),
        pages_replaced: found.pages_replaced,
        ..Salvaged::default()
    };
    let mut apart = UncertainRows::new(apart.to_path_buf(), place);
    let store = place.store(path)?;
    catalog::repair(&store, &mut report, &mut apart)?;
    let database = over(store.clone())?;
    let catalog = database.connect()?.catalog()?;
    let eval = Arc::new(EvalContext::now());
    let context = || Ok::<_, Error>(ExecContext::new(store.snapshot()?.reader().into(), eval.clone()));
    for table in catalog.tables().filter(|table| !table.is_kept_by_commits()) {
        progress(SalvageProgress::Table(table.name.clone()));
        rows::check(&store, &catalog, table, &context()?, &mut apart)?;
        let count = indexes::build(&store, (table, &catalog), &context()?, &mut apart)?;
        let indexes = table.indexes.iter().map(|index| index.name.clone()).collect();
        report.tables.push(SavedTable { name: table.name.clone(), rows: count, indexes });
    }
    catalog::unknown_trees(&store, &catalog, &mut apart)?;
    // They get other trees.
    refill_views(&database, &catalog, &mut report)?;
    words::losses(&store, &catalog, &eval, &found.losses, &mut report)?;
    progress(SalvageProgress::References);
    report.dangling = dangling_references(&database.connect()?.session, &catalog)?;
    catalog::repair_sequences(&database, &catalog, &found.losses, &mut report)?;
    if let Some(entries) = &mut found.uncertain {
        uncertain::take(entries, &catalog, &mut apart)?;
    }
    report.uncertain = apart.finish()?;
    drop(store);
    database.close()?;
    Ok(report)
}

/// Makes the groups of materialized views that commits keep anew, out of the rows that were saved.
fn refill_views(database: &Database, catalog: &Catalog, report: &mut Salvaged) -> Result<()> {
    let is_kept = |view: &&Arc<Table>| view.is_kept_by_commits() && view.refuse_unpopulated().is_ok();
    for view in catalog.tables().filter(is_kept) {
        let name = catalog.table_name(view);
        match database.connect()?.execute(&format!("REFRESH MATERIALIZED VIEW {name}"), ()) {
            Ok(_) => {}
            Err(error) => report.notes.push(format!("{name}: REFRESH MATERIALIZED VIEW failed: {}", error.message())),
        }
    }
    Ok(())
}
