//! Statistics that keep up with tables by themselves.
//!
//! Who plans a statement first looks how large its tables are now: at their trees' roots and at what is in memory beside
//! them. Of a large table that nobody analyzed, or that has become another since, a few rows are read at once, spread over
//! the table, in place of what ANALYZE would have found. Both are kept in memory, for all sessions, until the table has
//! changed much. So a commit counts nothing, no thread writes statistics behind its back, and what a plan was made of is
//! told by the table's state alone (and, where pages are not in memory, by which are).
//!
//! A prepared statement is planned again when one of its tables has become twice as large, or half, or when half the leaves of
//! one that was sampled were written since: at each execution it compares the trees' stamps, and looks at the upper pages of a
//! tree whose stamp is another.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use cairn_storage::{SampleSize, TreeShape};

use super::analyze::StatisticsBuilder;
use super::cost;
use super::estimate::{is_near, table_rows};
use super::expressions::KeyExpressions;
use crate::Result;
use crate::catalog::{Index, ObjectId, Sample, Table, TableLayout, TableStatistics};
use crate::plan::scans::access::table_width;
use crate::plan::scans::indexes::BoundIndexes;
use crate::state::Reader;
use crate::types::EvalContext;

/// Tables of fewer rows are not worth a sample.
const SAMPLED_FROM: f64 = 10_000.0;
/// What is read of a table: about 1,600 rows. (Estimates of common values and of ranges then err by two or three in a
/// hundred, which no choice of plans hangs on.)
const SAMPLED: usize = 1600;
/// Of how many leaves, unless the table has fewer: two rows of a leaf lie far enough apart to be of different groups where
/// rows of a group lie together. (With eight, as many orders as there are were taken for a seventieth of them.)
const SAMPLED_LEAVES: usize = 800;
/// Pages that are read from the file for it.
const SAMPLE_LOADS: usize = 200;
/// The share of leaves that changed since, from which on a sample is of another table.
const CHANGED: f64 = 0.5;
/// Trees of as many leaves or fewer are alike.
const FEW_LEAVES: usize = 8;

/// What tells what a table's indexes rest on.
type BoundBy<'a> = dyn Fn(&Arc<Table>) -> Result<Option<Arc<BoundIndexes>>> + 'a;

/// How large the tables were that a plan was made for.
#[derive(Debug, Default)]
pub(crate) struct Sizes(Vec<Size>);

#[derive(Debug)]
struct Size {
    table: Arc<Table>,
    /// The tree's stamp then, if it was planned by a sample.
    sampled: Option<u64>,
    /// The stamp under which it was seen to be much the same.
    stamp: AtomicU64,
    shape: TreeShape,
    rows: f64,
}

impl Sizes {
    /// Looks at the tables, for a plan that is about to be made. `bound`: what a table's indexes rest on.
    pub(crate) fn look<'t>(
        tables: impl Iterator<Item = &'t Arc<Table>>,
        reader: &Reader,
        bound: &BoundBy<'_>,
    ) -> Result<Sizes> {
        let mut sizes: Vec<Size> = vec![];
        for table in tables {
            if !sizes.iter().any(|known| known.table.id == table.id) {
                sizes.push(Size::look(table, reader, bound)?);
            }
        }
        Ok(Sizes(sizes))
    }

    /// Whether the tables are about as large as they were, whatever their rows have become.
    pub(crate) fn are_alike(&self, reader: &Reader) -> Result<bool> {
        for size in &self.0 {
            let is_same = reader.tree_stamp(size.table.tree)? == size.stamp.load(Relaxed);
            if !is_same && !size.is_as_large(reader)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// As `are_alike`, and a sample would not tell something else.
    pub(crate) fn hold(&self, reader: &Reader) -> Result<bool> {
        for size in &self.0 {
            if !size.holds(reader)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Size {
    fn look(table: &Arc<Table>, reader: &Reader, bound: &BoundBy<'_>) -> Result<Size> {
        let stamp = reader.tree_stamp(table.tree)?;
        if table.live.rows_at(stamp).is_none() {
            table.live.set_rows(stamp, estimated_rows(table, reader)?);
        }
        let is_current = table
            .statistics
            .as_ref()
            .is_some_and(|known| is_near(known.rows, table_rows(table)) && tells_of_expressions(table, known));
        // Rows are made of groups where they are read: nothing else can read these.
        let by_sample = !table.is_kept_by_commits() && !is_current && table_rows(table) >= SAMPLED_FROM;
        if by_sample && !has_sample(table, stamp, reader)? {
            table.live.set_sample(sample(table, stamp, reader, bound(table)?.as_deref())?);
        }
        Ok(Size {
            table: table.clone(),
            sampled: by_sample.then_some(stamp),
            stamp: AtomicU64::new(stamp),
            shape: reader.tree_shape(table.tree)?,
            rows: table_rows(table),
        })
    }

    fn holds(&self, reader: &Reader) -> Result<bool> {
        let stamp = reader.tree_stamp(self.table.tree)?;
        if stamp == self.stamp.load(Relaxed) {
            return Ok(true);
        }
        let holds = self.is_as_large(reader)? && !self.is_another(reader)?;
        if holds {
            self.stamp.store(stamp, Relaxed);
        }
        Ok(holds)
    }

    fn is_as_large(&self, reader: &Reader) -> Result<bool> {
        if is_alike(self.shape, reader.tree_shape(self.table.tree)?) {
            return Ok(true);
        }
        let rows = estimated_rows(&self.table, reader)?;
        Ok(rows.max(self.rows) <= 2.0 * rows.min(self.rows))
    }

    /// Whether a new sample may tell something else.
    fn is_another(&self, reader: &Reader) -> Result<bool> {
        let Some(stamp) = self.sampled else { return Ok(false) };
        Ok(reader.tree_changed(self.table.tree, stamp)? >= CHANGED)
    }
}

/// How many rows there are, about.
pub(crate) fn estimated_rows(table: &Arc<Table>, reader: &Reader) -> Result<f64> {
    Ok(reader.tree_entries(table.tree, table_width(table) + cost::ROW_OVERHEAD)?)
}

fn is_alike(then: TreeShape, now: TreeShape) -> bool {
    let (least, most) = (then.fan_out.min(now.fan_out), then.fan_out.max(now.fan_out));
    let few = then.level == 0 || (then.level == 1 && most <= FEW_LEAVES);
    then.level == now.level && (few || 2 * most <= 3 * least)
}

/// The ordered indexes that have expressions in their keys.
fn with_expressions(table: &Table) -> impl Iterator<Item = ObjectId> + '_ {
    let has_some = |index: &&Arc<Index>| !index.expressions.is_empty() && !index.is_inverted();
    table.indexes.iter().filter(has_some).map(|index| index.id)
}

/// Whether ANALYZE, when it was there last, knew all expressions of indexes.
fn tells_of_expressions(table: &Table, known: &TableStatistics) -> bool {
    with_expressions(table).all(|index| known.expressions.iter().any(|found| found.key.0 == index))
}

/// Whether there is a sample that is still of the same table and its indexes, more or less.
fn has_sample(table: &Table, stamp: u64, reader: &Reader) -> Result<bool> {
    let Some(sample) = table.live.sample() else { return Ok(false) };
    if !with_expressions(table).all(|index| sample.indexes.contains(&index)) {
        return Ok(false);
    }
    if sample.stamp == stamp {
        return Ok(true);
    }
    Ok(is_near(sample.statistics.rows, table_rows(table)) && reader.tree_changed(table.tree, sample.stamp)? < CHANGED)
}

/// (What calls functions of users is not evaluated by who plans a statement: ANALYZE does that.)
fn sample(table: &Arc<Table>, stamp: u64, reader: &Reader, bound: Option<&BoundIndexes>) -> Result<Sample> {
    let layout = TableLayout::new(table);
    let types: Vec<_> = table.columns.iter().map(|column| column.data_type).collect();
    let (expressions, context) = (KeyExpressions::of(table, bound).for_planning(), EvalContext::default());
    let mut builder = StatisticsBuilder::new(&types, &expressions);
    let shape = reader.tree_shape(table.tree)?;
    let leaves = if shape.level == 1 { shape.fan_out.min(SAMPLED_LEAVES) } else { SAMPLED_LEAVES };
    let size = SampleSize { leaves, entries: SAMPLED.div_ceil(leaves.max(1)), loads: SAMPLE_LOADS };
    let mut taken = Ok(());
    reader.sample(table.tree, size, &mut |key, value| {
        if taken.is_ok() {
            taken = builder.add_row(|| layout.decode(key, value), &context);
        }
    })?;
    taken?;
    // By now there are more pages in memory that tell it.
    let rows = estimated_rows(table, reader)?;
    table.live.set_rows(stamp, rows);
    let indexes = with_expressions(table).collect();
    Ok(Sample { stamp, statistics: Arc::new(builder.finish_of(rows)), indexes })
}
