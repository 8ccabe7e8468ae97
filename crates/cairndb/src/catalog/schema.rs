//! The schema's objects, as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairn_storage::TreeId;

use super::rules::Rules;
use super::type_id;
use super::{Definition, Live, Trigger};
use crate::inverted::{ItemClass, Unsettled};
pub use crate::types::ObjectId;
use crate::types::{DataType, Used, Value};
use crate::{Error, Result, SqlState};

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its id.
    pub id: ObjectId,
    /// The schema that it is in.
    pub schema: ObjectId,
    /// Its name.
    pub name: String,
    /// In order of definition.
    pub columns: Vec<Column>,
    /// Rows by key: the columns of `primary`, encoded; without it, a hidden 8-byte row number.
    pub tree: TreeId,
    /// The index of a PRIMARY KEY that does not wait, which is the table's own tree. One that may wait is among `indexes`.
    pub(crate) primary: Option<Arc<Index>>,
    /// Secondary indexes, unique constraints included.
    pub indexes: Vec<Arc<Index>>,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// Foreign keys of this table.
    pub foreign_keys: Vec<ForeignKey>,
    /// Foreign keys of other tables (and this one) that point here: (referencing table, position in its list).
    pub referenced_by: Vec<(ObjectId, usize)>,
    /// Version of the row layout that new rows are written with; a row says under which it was written.
    pub layout_version: u32,
    /// What is not there any more, but in rows of earlier versions.
    pub(crate) dropped: Vec<DroppedColumn>,
    /// How many columns the table ever had.
    pub(crate) columns_made: u32,
    /// Numbers the changes of the table's entry.
    pub(crate) change: u64,
    /// Tells its statistics from others.
    pub(crate) analyzed: u64,
    /// From ANALYZE.
    pub statistics: Option<Arc<TableStatistics>>,
    /// How large it is at present.
    pub(crate) live: Arc<Live>,
    /// Of a temporary table.
    pub(crate) on_commit: OnCommit,
    /// By name.
    pub(crate) triggers: Vec<Arc<Trigger>>,
    /// What it is.
    pub(crate) kind: TableKind,
    /// What becomes of its rows is kept.
    pub(crate) feed: Option<Feed>,
    /// The materialized views that are kept current by whoever changes its rows.
    pub(crate) views: Vec<ObjectId>,
    /// Its rows are documents: see [`super::collection`].
    pub(crate) is_collection: bool,
    /// What of them somebody may do who comes with claims.
    pub(crate) rules: Arc<Rules>,
}

/// What a [`Table`] is.
#[derive(Clone, Debug)]
pub(crate) enum TableKind {
    Table,
    /// A materialized view: its rows are those that a query gave.
    Materialized(Materialized),
    /// No table, but what a materialized view's groups are kept in that commits keep: their keys, of which NULL may be part, and
    /// their counters.
    Groups(Materialized),
    /// No table, but what INSTEAD OF triggers of a view see of that: its columns by their places, and its triggers.
    Face,
}

/// A table's change feed: see [`crate::change_feed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feed {
    pub(crate) tree: TreeId,
    /// The number of the table's description in it; 0 before the first.
    pub(crate) schema: u32,
}

/// What a materialized view is besides a table.
#[derive(Clone, Debug)]
pub(crate) struct Materialized {
    pub(crate) query: Definition,
    /// It has the rows that the query gave at some time; otherwise it can not be read.
    pub(crate) is_populated: bool,
    /// What keeps it current; `None`: nothing but REFRESH.
    pub(crate) maintained: Option<Maintained>,
    /// Why it is not kept current any more, and can not be read.
    pub(crate) stopped: Option<String>,
}

/// What keeps a materialized view current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maintained {
    /// The commits that change what it rests on. Its tree has groups, not rows: see [`crate::plan::Groups`].
    ByCommits,
    /// What follows the query's result and writes it here, right after the commits that change it: see `session::live::follow`. Its rows lie by
    /// what they are (`dml::row::RowPlaces`).
    ByFollower,
}

impl Maintained {
    /// As the view's option has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Maintained::ByCommits => "commit",
            Maintained::ByFollower => "after",
        }
    }
}

/// What becomes of a temporary table when a transaction commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnCommit {
    #[default]
    Preserve,
    DeleteRows,
    Drop,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Names it for the life of the table, whatever comes and goes before it; from 1 on.
    pub(crate) number: u32,
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// The domain of which its values are besides.
    pub(crate) domain: Option<ObjectId>,
    /// NULL is refused.
    pub not_null: bool,
    /// The default expression.
    pub default: Option<Definition>,
    /// GENERATED .. AS IDENTITY.
    pub identity: Option<Identity>,
    /// GENERATED ALWAYS AS (expression): what it is computed from, whatever else is said.
    pub(crate) generated: Option<RowExpression>,
    /// VIRTUAL: that is done where it is read, and rows have NULL. Otherwise STORED: where a row is written.
    pub(crate) is_virtual: bool,
    /// The first version of the row layout that has it.
    pub(crate) since: u32,
    /// Its value in rows of earlier versions, as rows store it; `None`: NULL.
    pub(crate) missing: Option<Box<[u8]>>,
}

/// A column that was dropped, as rows may still have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DroppedColumn {
    pub(crate) number: u32,
    pub(crate) data_type: DataType,
    /// The first version of the row layout that has it.
    pub(crate) since: u32,
    /// The first one that does not.
    pub(crate) until: u32,
}

/// GENERATED .. AS IDENTITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// GENERATED ALWAYS: explicit values are refused.
    pub always: bool,
    /// Where its values come from.
    pub sequence: ObjectId,
}

/// An index tree's key: the encoded columns, then (unless unique and without NULL) the row's key. Its value: the row's
/// key where the key alone does not tell it.
#[derive(Clone, Debug)]
pub struct Index {
    /// Its id.
    pub id: ObjectId,
    /// Its name.
    pub name: String,
    /// Its entries.
    pub tree: TreeId,
    /// In key order.
    pub columns: Vec<IndexColumn>,
    /// Equal keys are refused, unless one of their columns is NULL.
    pub unique: bool,
    /// Unique keys with NULLs are refused too: NULLS NOT DISTINCT.
    pub(crate) nulls_equal: bool,
    /// Made by a UNIQUE constraint of this name (then violations name it so).
    pub constraint: bool,
    /// When the constraint is looked at. One that may wait keeps rows apart without `unique`: its entries are those of an index that
    /// is not, for two rows may have the same key for a while.
    pub(crate) deferral: Deferral,
    /// The constraint is the PRIMARY KEY.
    pub(crate) primary: bool,
    /// What its key has besides columns.
    pub(crate) expressions: Vec<KeyExpression>,
    /// Only rows for which it is true have entries.
    pub(crate) predicate: Option<RowExpression>,
    /// The positions of INCLUDEd columns, which are no part of its key: the index goes with them. Entries do not have them;
    /// whoever reads them reads the row.
    pub included: Vec<usize>,
    /// It is not in the order of its columns: see [`crate::inverted`].
    pub(crate) inverted: Option<Inverted>,
}

/// What an inverted index has besides columns and expressions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inverted {
    /// One for each column.
    pub(crate) classes: Vec<ItemClass>,
    pub(crate) unsettled: Unsettled,
}

/// An expression over a table's columns that an index rests on, or a generated column.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowExpression {
    /// The names of the table and its columns in it are those of now.
    pub(crate) definition: Definition,
    /// The numbers of the columns that it uses.
    pub(crate) columns: Vec<u32>,
}

/// An expression in the key of an index.
#[derive(Clone, Debug)]
pub(crate) struct KeyExpression {
    /// What stands for it where others have the position of a column: [`EXPRESSIONS`] and a number that no other index of the
    /// table has.
    pub(crate) column: usize,
    pub(crate) data_type: DataType,
    pub(crate) expression: RowExpression,
}

/// No table has so many columns: from here on a key's column is an expression of its index.
pub(crate) const EXPRESSIONS: usize = 1 << 24;

/// A column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexColumn {
    /// Position in the table's columns; from [`EXPRESSIONS`] on it is one of the index's expressions.
    pub column: usize,
    /// Greater values first.
    pub descending: bool,
    /// NULL before all values.
    pub nulls_first: bool,
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct Check {
    pub(crate) id: ObjectId,
    /// The constraint's name.
    pub name: String,
    /// The condition. The names of the table and its columns in it are those of now.
    pub condition: Definition,
    /// The numbers of the columns that the condition uses.
    pub(crate) columns: Vec<u32>,
    /// It is known to hold for all rows; otherwise for those that were written since it came.
    pub valid: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    pub(crate) id: ObjectId,
    /// The constraint's name.
    pub name: String,
    /// The referring columns.
    pub columns: Vec<usize>,
    /// The table that is referred to.
    pub referenced_table: ObjectId,
    /// Its columns, in the order of `columns`.
    pub referenced_columns: Vec<usize>,
    /// When a referenced row is deleted.
    pub on_delete: ReferentialAction,
    /// Those of `columns` that ON DELETE SET NULL or SET DEFAULT sets; none: all of them.
    pub set_on_delete: Vec<usize>,
    /// When a referenced row's key changes.
    pub on_update: ReferentialAction,
    /// MATCH FULL: its columns are NULL together, or none of them is.
    pub full: bool,
    /// When it is looked at.
    pub deferral: Deferral,
    /// It is known to hold for all rows; otherwise for those that were written since it came.
    pub valid: bool,
}

/// When a constraint is looked at: at the end of the statement, or of the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deferral {
    /// At the end of the statement, whatever SET CONSTRAINTS says.
    #[default]
    Never,
    /// At the end of the statement, unless SET CONSTRAINTS says otherwise.
    Immediate,
    /// At the end of the transaction, unless SET CONSTRAINTS says otherwise.
    Deferred,
}

/// What happens to referencing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferentialAction {
    /// Refused at the end of the statement, if they still refer.
    NoAction,
    /// Refused.
    Restrict,
    /// They are deleted, or follow.
    Cascade,
    /// They refer to nothing.
    SetNull,
    /// They refer to the default.
    SetDefault,
}

/// WITH CHECK OPTION: rows that are given to a view must be rows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckOption {
    /// By its own condition.
    Local,
    /// By those of the views that it is made of, too.
    Cascaded,
}

impl CheckOption {
    /// As the view's option has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CheckOption::Local => "local",
            CheckOption::Cascaded => "cascaded",
        }
    }
}

/// A view.
#[derive(Clone, Debug)]
pub struct View {
    /// Its id.
    pub id: ObjectId,
    /// The schema that it is in.
    pub schema: ObjectId,
    /// Its name.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// What columns, by their places, hold where a row is inserted without a value for them.
    pub(crate) defaults: BTreeMap<usize, Definition>,
    /// The query.
    pub query: Definition,
    /// By name.
    pub(crate) triggers: Vec<Arc<Trigger>>,
    pub(crate) check: Option<CheckOption>,
    /// Numbers the changes of the view's entry.
    pub(crate) change: u64,
}

/// A sequence's definition; its value lives in a tree of its own.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Its id.
    pub id: ObjectId,
    /// The schema that it is in.
    pub schema: ObjectId,
    /// Its name.
    pub name: String,
    /// The type that its values fit in.
    pub data_type: DataType,
    /// Its first value.
    pub start: i64,
    /// The first value since it was restarted with another; `None`: `start`.
    pub(crate) restarted: Option<i64>,
    /// From one value to the next; never 0.
    pub increment: i64,
    /// Its least value.
    pub min: i64,
    /// Its greatest value.
    pub max: i64,
    /// After the last value comes the first.
    pub cycle: bool,
    /// The table and column position that it is dropped with (SERIAL and identity columns).
    pub owner: Option<(ObjectId, usize)>,
    /// Names the run of values: a sequence that starts over gets a new one. The value is kept under (id, generation).
    pub generation: u64,
    /// Numbers the changes of the sequence's entry.
    pub(crate) change: u64,
}

/// What ANALYZE found.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// How many rows.
    pub rows: f64,
    /// One for each column.
    pub columns: Vec<ColumnStatistics>,
    /// Of what indexes have in place of columns. (There are none of an index that came since.)
    pub(crate) expressions: Vec<ExpressionStatistics>,
}

/// What ANALYZE found of an expression in the key of an index: of the rows that have an entry.
#[derive(Clone, Debug)]
pub(crate) struct ExpressionStatistics {
    /// The index's number, and what stands for the expression in its key.
    pub(crate) key: (ObjectId, usize),
    pub(crate) data_type: DataType,
    pub(crate) found: ColumnStatistics,
}

/// What ANALYZE found of a column.
#[derive(Clone, Debug, Default)]
pub struct ColumnStatistics {
    /// Share of NULLs, 0 to 1.
    pub null_fraction: f64,
    /// Number of different values.
    pub distinct: f64,
    /// Values with their shares, the most common first.
    pub most_common: Vec<(Value, f64)>,
    /// Equi-depth bounds, ascending.
    pub histogram: Vec<Value>,
    /// Bytes of a value.
    pub average_width: f64,
}

/// The number of a view's column, by its place: they count from 1, and none goes.
pub(crate) fn number_at(place: usize) -> u32 {
    u32::try_from(place + 1).unwrap_or(u32::MAX)
}

impl View {
    /// A view without columns.
    pub(crate) fn new(id: ObjectId, schema: ObjectId, name: String) -> View {
        let (columns, query, triggers) = (Vec::new(), Definition::default(), Vec::new());
        View { id, schema, name, columns, defaults: BTreeMap::new(), query, triggers, check: None, change: 0 }
    }
}

impl Column {
    /// Whether its values are the sequence's alone.
    pub(crate) fn is_always_identity(&self) -> bool {
        self.identity.is_some_and(|identity| identity.always)
    }

    /// A column that may be NULL, without a default.
    pub(crate) fn new(number: u32, name: impl Into<String>, data_type: DataType) -> Column {
        let name = name.into();
        Column {
            number,
            name,
            data_type,
            domain: None,
            not_null: false,
            default: None,
            identity: None,
            generated: None,
            is_virtual: false,
            since: 0,
            missing: None,
        }
    }
}

impl Column {
    /// What it is computed from when a row is written.
    pub(crate) fn stored_expression(&self) -> Option<&RowExpression> {
        self.generated.as_ref().filter(|_| !self.is_virtual)
    }
}

impl Index {
    /// An index of columns in ascending order that holds rows to nothing, without id and name.
    pub(crate) fn new(tree: TreeId, columns: impl IntoIterator<Item = usize>) -> Index {
        Index {
            id: ObjectId(0),
            name: String::new(),
            tree,
            columns: columns.into_iter().map(IndexColumn::ascending).collect(),
            unique: false,
            nulls_equal: false,
            constraint: false,
            deferral: Deferral::Never,
            primary: false,
            expressions: Vec::new(),
            predicate: None,
            included: Vec::new(),
            inverted: None,
        }
    }

    /// That of a PRIMARY KEY over a table's own tree, without id and name.
    pub(crate) fn primary(tree: TreeId, columns: impl IntoIterator<Item = usize>) -> Index {
        Index { unique: true, constraint: true, primary: true, ..Index::new(tree, columns) }
    }

    /// The columns of its key, in order.
    pub(crate) fn positions(&self) -> impl ExactSizeIterator<Item = usize> + Clone {
        self.columns.iter().map(|part| part.column)
    }

    /// Its key is of these columns, in whatever order.
    pub(crate) fn is_over(&self, columns: &[usize]) -> bool {
        self.columns.len() == columns.len() && self.positions().all(|column| columns.contains(&column))
    }

    /// It is told as unique: it holds rows apart, at the end of a statement or later.
    pub(crate) fn is_told_unique(&self) -> bool {
        self.unique || self.is_deferrable()
    }

    /// Its key has columns only, and every row has an entry.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.expressions.is_empty() && self.predicate.is_none()
    }

    /// Every library that reads tables knows it.
    pub(crate) fn is_old(&self) -> bool {
        self.is_plain() && !self.nulls_equal && !self.is_inverted()
    }

    /// It is of a constraint that may wait.
    #[inline]
    pub(crate) fn is_deferrable(&self) -> bool {
        self.deferral != Deferral::Never
    }

    /// The same of a constraint that does not wait.
    pub(crate) fn immediate(&self) -> Index {
        Index { unique: self.constraint, deferral: Deferral::Never, ..self.clone() }
    }

    /// Its tree has items with lists of rows, and its columns are in no order.
    #[inline]
    pub(crate) fn is_inverted(&self) -> bool {
        self.inverted.is_some()
    }

    /// No two rows of the table have the same key, unless a column of it is NULL.
    pub(crate) fn is_unique_of_all(&self) -> bool {
        self.unique && self.predicate.is_none()
    }

    /// What it rests on besides its key's columns.
    pub(crate) fn row_expressions(&self) -> impl Iterator<Item = &RowExpression> {
        self.expressions.iter().map(|key| &key.expression).chain(&self.predicate)
    }
}

impl IndexColumn {
    /// In the order that is said by nothing.
    pub(crate) fn ascending(column: usize) -> IndexColumn {
        IndexColumn { column, descending: false, nulls_first: false }
    }
}

impl KeyExpression {
    /// As a definition of an index has it: in parentheses, unless it is a call.
    pub(crate) fn shown(&self) -> String {
        self.expression.definition.text.clone()
    }
}

impl Table {
    /// As a column: the hidden number of a row of a table without primary key, which is its key.
    pub(crate) const ROW_NUMBER: usize = usize::MAX;

    /// Whether anything of it has to be evaluated for a row that is written: CHECKs, domains, generated columns, indexes' expressions.
    pub(crate) fn has_expressions(&self) -> bool {
        !self.checks.is_empty()
            || self.columns.iter().any(|column| column.domain.is_some() || column.generated.is_some())
            || !self.indexes.iter().all(|index| index.is_plain())
    }

    /// A table without columns.
    pub(crate) fn new(id: ObjectId, name: impl Into<String>, tree: TreeId) -> Table {
        Table {
            id,
            schema: ObjectId::PUBLIC,
            name: name.into(),
            columns: Vec::new(),
            tree,
            primary: None,
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            layout_version: 0,
            dropped: Vec::new(),
            columns_made: 0,
            change: 0,
            analyzed: 0,
            statistics: None,
            live: Arc::default(),
            on_commit: OnCommit::Preserve,
            triggers: Vec::new(),
            kind: TableKind::Table,
            feed: None,
            views: Vec::new(),
            is_collection: false,
            rules: Arc::default(),
        }
    }

    /// What triggers of a view see of it, whose columns have these types.
    pub(crate) fn face_of(view: &View, types: impl Iterator<Item = DataType>) -> Table {
        let column = |(at, (name, data_type)): (usize, (&String, DataType))| Column {
            default: view.defaults.get(&at).cloned(),
            ..Column::new(number_at(at), name, data_type)
        };
        Table {
            schema: view.schema,
            columns: view.columns.iter().zip(types).enumerate().map(column).collect(),
            triggers: view.triggers.clone(),
            change: view.change,
            kind: TableKind::Face,
            ..Table::new(view.id, view.name.clone(), TreeId::CATALOG)
        }
    }

    /// All its indexes, the one that is its tree first.
    pub(crate) fn all_indexes(&self) -> impl Iterator<Item = &Arc<Index>> + Clone {
        self.primary.iter().chain(&self.indexes)
    }

    /// What is counted where rows are found by an index; `None`: by the key that they lie by.
    pub(crate) fn used_by(&self, index: Option<&Index>) -> Used {
        Used::of(index.or(self.primary.as_deref()).map(|index| index.id))
    }

    /// What is counted where the table is read without an index.
    pub(crate) fn used_whole(&self) -> Used {
        Used::of(Some(self.id))
    }

    /// The same, to change them.
    pub(crate) fn all_indexes_mut(&mut self) -> impl Iterator<Item = &mut Arc<Index>> {
        self.primary.iter_mut().chain(&mut self.indexes)
    }

    /// Those of which no two rows have the same key, unless a column of it is NULL.
    pub(crate) fn unique_indexes(&self) -> impl Iterator<Item = &Arc<Index>> + Clone {
        self.all_indexes().filter(|index| index.is_unique_of_all())
    }

    /// The first of those over these columns, in whatever order.
    pub(crate) fn unique_index_of(&self, columns: &[usize]) -> Option<&Arc<Index>> {
        self.unique_indexes().find(|index| index.is_over(columns))
    }

    /// The index of its constraint of this name.
    pub(crate) fn index_of_constraint(&self, name: &str) -> Option<&Arc<Index>> {
        self.all_indexes().find(|index| index.constraint && index.name == name)
    }

    /// The PRIMARY KEY, whether it may wait or not.
    pub(crate) fn primary_key(&self) -> Option<&Arc<Index>> {
        self.all_indexes().find(|index| index.primary)
    }

    /// The columns that rows lie by; none: they lie by number.
    #[inline]
    pub(crate) fn row_key(&self) -> &[IndexColumn] {
        self.primary.as_ref().map_or(&[], |index| &index.columns)
    }

    /// Whether the index is the table's own tree.
    #[inline]
    pub(crate) fn lies_by(&self, index: &Index) -> bool {
        self.primary.as_ref().is_some_and(|primary| primary.id == index.id)
    }

    /// Whether the column is one that rows lie by.
    #[inline]
    pub(crate) fn is_in_row_key(&self, column: usize) -> bool {
        self.row_key().iter().any(|part| part.column == column)
    }

    /// The columns that tell a row from all others: those that it lies by, or its number.
    pub(crate) fn row_identity(&self) -> Vec<usize> {
        self.primary.as_ref().map_or_else(|| vec![Table::ROW_NUMBER], |index| index.positions().collect())
    }

    /// Whether a column of it is computed where it is read.
    pub(crate) fn has_virtual(&self) -> bool {
        self.columns.iter().any(|column| column.is_virtual)
    }

    /// Whether a constraint that keeps rows apart may wait.
    pub(crate) fn has_deferrable_keys(&self) -> bool {
        self.indexes.iter().any(|index| index.is_deferrable())
    }

    /// Whether it is a materialized view.
    pub(crate) fn is_materialized(&self) -> bool {
        self.materialized().is_some()
    }

    /// What a materialized view, or what keeps one's groups, is besides a table.
    pub(crate) fn materialized(&self) -> Option<&Materialized> {
        match &self.kind {
            TableKind::Materialized(of) | TableKind::Groups(of) => Some(of),
            TableKind::Table | TableKind::Face => None,
        }
    }

    /// The same, to change it.
    pub(crate) fn materialized_mut(&mut self) -> Option<&mut Materialized> {
        match &mut self.kind {
            TableKind::Materialized(of) | TableKind::Groups(of) => Some(of),
            TableKind::Table | TableKind::Face => None,
        }
    }

    /// Whether it is what INSTEAD OF triggers of a view see of that.
    pub(crate) fn is_face(&self) -> bool {
        matches!(self.kind, TableKind::Face)
    }

    /// Whether it is what a materialized view's groups are kept in.
    pub(crate) fn is_of_groups(&self) -> bool {
        matches!(self.kind, TableKind::Groups(_))
    }

    /// Whether it is a materialized view that commits keep: its tree has groups, and rows are made of them where they are
    /// read.
    pub(crate) fn is_kept_by_commits(&self) -> bool {
        matches!(&self.kind, TableKind::Materialized(of) if of.maintained == Some(Maintained::ByCommits))
    }

    /// Whether it is a materialized view that follows its query.
    pub(crate) fn is_follower(&self) -> bool {
        self.materialized().is_some_and(|of| of.maintained == Some(Maintained::ByFollower))
    }

    /// Whether a change of its rows leaves more behind than the rows and their entries.
    pub(crate) fn is_derived_from(&self) -> bool {
        self.feed.is_some() || !self.views.is_empty()
    }

    /// Whether no row has NULL in the column at this position.
    pub(crate) fn is_not_null(&self, column: usize) -> bool {
        let in_key = || !self.is_of_groups() && self.is_in_row_key(column);
        self.columns.get(column).is_some_and(|column| column.not_null) || in_key()
    }

    /// SQLSTATE 55000 for a materialized view that no query has filled yet.
    pub(crate) fn refuse_unpopulated(&self) -> Result<()> {
        match self.materialized() {
            Some(Materialized { stopped: Some(reason), .. }) => {
                let message = format!("materialized view \"{}\" is not kept current any more", self.name);
                Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                    .with_detail(reason.clone())
                    .with_hint("Change what is in the way, then use the REFRESH MATERIALIZED VIEW command."))
            }
            Some(Materialized { is_populated: false, .. }) => {
                let message = format!("materialized view \"{}\" has not been populated", self.name);
                Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                    .with_hint("Use the REFRESH MATERIALIZED VIEW command."))
            }
            _ => Ok(()),
        }
    }

    /// Whether it is the session's own.
    pub(crate) fn is_temporary(&self) -> bool {
        self.schema.is_temporary()
    }

    /// Whether a column, or a key, is of a type that users made.
    pub(crate) fn has_user_types(&self) -> bool {
        self.types().any(|of| type_id(of).is_some()) || self.columns.iter().any(|column| column.domain.is_some())
    }

    /// Those of its columns, of columns that rows of before have, and of what indexes compute.
    pub(crate) fn types(&self) -> impl Iterator<Item = DataType> {
        let keys = self.indexes.iter().flat_map(|index| &index.expressions).map(|key| key.data_type);
        let dropped = self.dropped.iter().map(|column| column.data_type);
        self.columns.iter().map(|column| column.data_type).chain(dropped).chain(keys)
    }

    /// The number of the next column that is added.
    pub(crate) fn next_column_number(&mut self) -> u32 {
        self.columns_made += 1;
        self.columns_made
    }

    /// The position of the column of this number.
    pub(crate) fn position_of_number(&self, number: u32) -> Option<usize> {
        self.columns.iter().position(|column| column.number == number)
    }

    /// The position of the column of this name.
    pub fn column_position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The type of a column of a key: of the table's, or an index's expression.
    pub(crate) fn key_type(&self, column: usize) -> Option<DataType> {
        match self.columns.get(column) {
            Some(column) => Some(column.data_type),
            None => self.key_expression(column).map(|expression| expression.data_type),
        }
    }

    /// The expression that stands at this place of an index's key.
    pub(crate) fn key_expression(&self, column: usize) -> Option<&KeyExpression> {
        let mut all = self.indexes.iter().flat_map(|index| &index.expressions);
        all.find(|expression| expression.column == column)
    }

    /// What was found of the expression that stands at this place of an index's key, if it still is what it was found of.
    pub(crate) fn key_statistics<'s>(
        &self,
        column: usize,
        known: &'s TableStatistics,
    ) -> Option<(&'s ColumnStatistics, DataType)> {
        let is_of = |index: &&Arc<Index>| index.expressions.iter().any(|expression| expression.column == column);
        let key = (self.indexes.iter().find(is_of)?.id, column);
        let data_type = self.key_type(column)?;
        let found = known.expressions.iter().find(|found| found.key == key && found.data_type == data_type)?;
        Some((&found.found, data_type))
    }

    /// The name of a column of a key, as messages tell it: of the table's, or an index's expression.
    pub(crate) fn key_name(&self, column: usize) -> String {
        match self.columns.get(column) {
            Some(column) => column.name.clone(),
            None => self.key_expression(column).map_or_else(|| "?".to_owned(), KeyExpression::shown),
        }
    }

    /// The positions of the columns that an index rests on, by its key, its expressions or its predicate.
    pub(crate) fn index_columns(&self, index: usize) -> impl Iterator<Item = usize> {
        let index = &self.indexes[index];
        let numbers = index.row_expressions().flat_map(|expression| &expression.columns);
        let of_key = index.positions().filter(|column| *column < EXPRESSIONS);
        of_key.chain(numbers.filter_map(|number| self.position_of_number(*number)))
    }

    /// Changes every expression over the table's columns.
    pub(crate) fn change_definitions(&mut self, mut change: impl FnMut(&mut Definition)) {
        self.checks.iter_mut().for_each(|check| change(&mut check.condition));
        let generated = self.columns.iter_mut().filter_map(|column| column.generated.as_mut());
        generated.for_each(|expression| change(&mut expression.definition));
        for index in self.indexes.iter_mut().filter(|index| !index.is_plain()) {
            let index = Arc::make_mut(index);
            let expressions = index.expressions.iter_mut().map(|key| &mut key.expression);
            expressions.chain(&mut index.predicate).for_each(|expression| change(&mut expression.definition));
        }
    }

    /// The types of the given columns.
    pub fn types_of(&self, columns: &[usize]) -> Vec<DataType> {
        columns.iter().filter_map(|&c| self.columns.get(c)).map(|column| column.data_type).collect()
    }
}
