//! The schema as plain data, for tools: what [`Connection::schema`](crate::Connection::schema) gives.

use std::fmt;
use std::sync::Arc;

use super::Connection;
use crate::Result;
use crate::catalog::{self, Catalog, ObjectId, Rules};
use crate::inverted::ItemClass;
use crate::types::DataType;

/// What a connection sees of the schema: a copy, which stays as it is.
///
/// ```
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute_script("CREATE TABLE planet (id int PRIMARY KEY, name text NOT NULL DEFAULT 'Vulcan')")?;
/// let schema = conn.schema()?;
/// let planet = schema.table("planet").expect("a table");
/// assert_eq!(planet.columns[1].default.as_deref(), Some("'Vulcan'"));
/// assert_eq!(planet.indexes[0].name, "planet_pkey");
/// assert!(planet.indexes[0].kind == cairndb::schema::IndexKind::PrimaryKey);
/// # Ok::<(), cairndb::Error>(())
/// ```
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL); CREATE VIEW v AS SELECT a FROM t")?;
/// let schema = conn.schema()?;
/// let names: Vec<&str> = schema.relations().iter().map(|relation| relation.name.as_str()).collect();
/// assert_eq!(names.len(), 3, "the table, its key's index, the view");
/// let table = schema.table("t").expect("it was made");
/// assert!(table.columns[1].not_null);
/// assert_eq!(schema.tables().count(), 1);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schema {
    relations: Vec<Relation>,
    catalog: Arc<Catalog>,
}

/// A table, a view, a materialized view, an index or a sequence.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let relation = schema.relation("p").expect("it was made");
/// assert_eq!((relation.schema.as_str(), relation.comment.as_deref()), ("public", Some("parents")));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Relation {
    /// The schema that it is in; `pg_temp` for what is temporary.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The name as SQL has it in this session: in quotes where it needs them, with its schema where another would be found
    /// without.
    pub shown: String,
    /// What COMMENT ON said.
    pub comment: Option<String>,
    /// What it is.
    pub kind: RelationKind,
}

/// What a relation is.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// use cairndb::schema::RelationKind;
///
/// let kind = |name: &str| schema.relation(name).map(|relation| &relation.kind);
/// assert!(matches!(kind("p"), Some(RelationKind::Table(_))) && matches!(kind("v"), Some(RelationKind::View(_))));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum RelationKind {
    /// A table.
    Table(Table),
    /// A view.
    View(View),
    /// A materialized view: what it has as a table has it, and its query.
    MaterializedView(Table, String),
    /// An index, and the table that it is of.
    Index(Index, String),
    /// A sequence.
    Sequence(Sequence),
}

/// A table.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let table = schema.table("c").expect("it was made");
/// assert_eq!((table.columns.len(), table.foreign_keys.len(), table.checks.len()), (2, 1, 1));
/// assert_eq!(schema.table("p").expect("it was made").referenced_by[0].0, "c");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// In order.
    pub columns: Vec<Column>,
    /// The primary key first. Those of UNIQUE constraints are among them.
    pub indexes: Vec<Index>,
    /// CHECK constraints: name, condition, comment.
    pub checks: Vec<Check>,
    /// Where its rows refer to.
    pub foreign_keys: Vec<ForeignKey>,
    /// Foreign keys that refer to it, with the tables that they are of.
    pub referenced_by: Vec<(String, ForeignKey)>,
    /// How many rows ANALYZE found.
    pub analyzed_rows: Option<f64>,
    /// Its rows are documents: `CREATE TABLE .. WITH (collection = on)`.
    pub is_collection: bool,
    /// What of them somebody may do who comes with claims.
    pub rules: Rules,
}

/// A column of a table.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let column = &schema.table("c").expect("it was made").columns[0];
/// assert_eq!((column.name.as_str(), column.data_type), ("id", cairndb::DataType::Integer));
/// assert_eq!((column.not_null, column.identity), (true, Some(true)));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// NULL is refused.
    pub not_null: bool,
    /// The default expression.
    pub default: Option<String>,
    /// GENERATED .. AS IDENTITY; true: ALWAYS.
    pub identity: Option<bool>,
    /// GENERATED ALWAYS AS: the expression.
    pub generated: Option<String>,
    /// VIRTUAL: it is computed where it is read, otherwise STORED.
    pub is_virtual: bool,
    /// What COMMENT ON said.
    pub comment: Option<String>,
    /// How many different values ANALYZE found.
    pub analyzed_distinct: Option<f64>,
}

/// What an index is there for.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let index = &schema.table("p").expect("it was made").indexes[0];
/// assert_eq!(index.kind, cairndb::schema::IndexKind::PrimaryKey);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// The rows are kept in its order.
    PrimaryKey,
    /// A UNIQUE constraint.
    UniqueConstraint,
    /// CREATE UNIQUE INDEX.
    Unique,
    /// CREATE INDEX.
    Plain,
    /// CREATE INDEX .. USING gin: by what is in documents and arrays.
    Inverted,
}

/// An index.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let index = &schema.table("c").expect("it was made").indexes[0];
/// assert_eq!((index.name.as_str(), index.filter.as_deref()), ("by_p", Some("(p > 1)")));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Index {
    /// Its name, which is also the constraint's.
    pub name: String,
    /// What it is there for.
    pub kind: IndexKind,
    /// In key order.
    pub columns: Vec<IndexedColumn>,
    /// The names of its INCLUDEd columns.
    pub included: Vec<String>,
    /// Unique keys with NULLs are refused too: NULLS NOT DISTINCT.
    pub nulls_equal: bool,
    /// Only rows for which it is true are in the index; `None`: all are.
    pub filter: Option<String>,
    /// SET CONSTRAINTS may say that its constraint is looked at when the transaction commits.
    pub deferrable: bool,
    /// It is, unless SET CONSTRAINTS says otherwise.
    pub initially_deferred: bool,
}

/// A column of an index.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let column = &schema.table("c").expect("it was made").indexes[0].columns[0];
/// assert!(column.name == "p" && column.descending && !column.is_expression);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IndexedColumn {
    /// Its name; an expression as CREATE INDEX has it.
    pub name: String,
    /// Whether it is an expression over the table's columns.
    pub is_expression: bool,
    /// Its type.
    pub data_type: DataType,
    /// Greater values first.
    pub descending: bool,
    /// NULL before all values.
    pub nulls_first: bool,
    /// The operator class of an inverted index's column, where it is not the one that its type has anyway.
    pub class: Option<&'static str>,
}

/// A CHECK constraint.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let check = &schema.table("c").expect("it was made").checks[0];
/// assert_eq!((check.name.as_str(), check.condition.as_str(), check.valid), ("c_p_check", "p > 0", true));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Check {
    /// The constraint's name.
    pub name: String,
    /// The condition.
    pub condition: String,
    /// It is known to hold for all rows.
    pub valid: bool,
}

/// A FOREIGN KEY constraint.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let key = &schema.table("c").expect("it was made").foreign_keys[0];
/// assert_eq!((key.columns.join(", "), key.referenced_table.as_str()), ("p".to_string(), "p"));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: String,
    /// The referring columns.
    pub columns: Vec<String>,
    /// The table that is referred to, as SQL names it.
    pub referenced_table: String,
    /// Its columns, in the order of `columns`.
    pub referenced_columns: Vec<String>,
    /// When a referenced row is deleted.
    pub on_delete: ForeignKeyAction,
    /// Those of `columns` that are set then, where the action sets only some.
    pub set_on_delete: Vec<String>,
    /// When a referenced row's key changes.
    pub on_update: ForeignKeyAction,
    /// MATCH FULL: its columns are NULL together, or none of them is.
    pub match_full: bool,
    /// SET CONSTRAINTS may say that it is looked at when the transaction commits.
    pub deferrable: bool,
    /// It is, unless SET CONSTRAINTS says otherwise.
    pub initially_deferred: bool,
    /// It is known to hold for all rows.
    pub valid: bool,
}

/// What happens to rows that refer to one that goes, or whose key changes.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let key = &schema.table("c").expect("it was made").foreign_keys[0];
/// assert_eq!(key.on_delete, cairndb::schema::ForeignKeyAction::Cascade);
/// assert_eq!(key.on_delete.to_string(), "CASCADE");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignKeyAction {
    /// It is refused at the end of the statement, if they still refer.
    NoAction,
    /// It is refused.
    Restrict,
    /// They are deleted, or follow.
    Cascade,
    /// They refer to nothing.
    SetNull,
    /// They refer to the default.
    SetDefault,
}

/// A view. The types of its columns are those that a query of it has.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let Some(cairndb::schema::RelationKind::View(view)) = schema.relation("v").map(|relation| &relation.kind) else {
///     panic!("it was made");
/// };
/// assert_eq!((view.columns[0].0.as_str(), view.query.as_str()), ("id", "SELECT id FROM p"));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct View {
    /// Names, with what COMMENT ON said.
    pub columns: Vec<(String, Option<String>)>,
    /// Names of columns that have a default of their own, with that.
    pub defaults: Vec<(String, String)>,
    /// The query, as it would be written now.
    pub query: String,
}

/// A sequence.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script(
///     "CREATE TABLE p (id int PRIMARY KEY); COMMENT ON TABLE p IS 'parents';
///      CREATE TABLE c (id int GENERATED ALWAYS AS IDENTITY, p int REFERENCES p ON DELETE CASCADE CHECK (p > 0));
///      CREATE INDEX by_p ON c (p DESC) WHERE p > 1; CREATE SEQUENCE s INCREMENT 5; CREATE VIEW v AS SELECT id FROM p",
/// )?;
/// let schema = conn.schema()?;
///
/// let Some(cairndb::schema::RelationKind::Sequence(sequence)) = schema.relation("s").map(|relation| &relation.kind) else {
///     panic!("it was made");
/// };
/// assert_eq!((sequence.start, sequence.increment, sequence.cycle), (1, 5, false));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sequence {
    /// What its values are.
    pub data_type: DataType,
    /// Its first value.
    pub start: i64,
    /// From one value to the next.
    pub increment: i64,
    /// Its least value.
    pub min: i64,
    /// Its greatest value.
    pub max: i64,
    /// After the last value comes the first.
    pub cycle: bool,
    /// The column that it is dropped with: its table's schema and name, and its own.
    pub owner: Option<[String; 3]>,
}

impl Connection {
    /// Where a sequence stands, which SQL names so: the value that it gave out last and `true`, or the one that it gives out
    /// first and `false`. It is not a matter of transactions, nor of what they see.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute_script("CREATE SEQUENCE s START 5")?;
    /// assert_eq!(conn.sequence_value("s")?, (5, false));
    /// conn.query_row("SELECT nextval('s')", (), |row| row.get::<i64>(0))?;
    /// assert_eq!(conn.sequence_value("s")?, (5, true));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn sequence_value(&self, name: &str) -> Result<(i64, bool)> {
        self.session.sequence_value(name)
    }

    /// The schema as this connection sees it now.
    pub fn schema(&self) -> Result<Schema> {
        let catalog = self.session.catalog()?;
        Ok(Schema { relations: Describe(&catalog).relations(), catalog })
    }
}

impl Schema {
    /// Every relation, by schema and name.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The relation that a name means, which is as it is stored: `name`, or `schema.name`.
    pub fn relation(&self, name: &str) -> Option<&Relation> {
        let found = |schema: Option<&str>, name: &str| {
            let (schema, name) = match schema {
                Some(schema) => (schema.to_owned(), name.to_owned()),
                None => {
                    let searched = self.catalog.searched().iter();
                    let first = searched.copied().find(|schema| self.catalog.relation_in(*schema, name).is_some())?;
                    (self.catalog.schema_name(first)?.to_owned(), name.to_owned())
                }
            };
            self.relations.iter().find(|relation| relation.schema == schema && relation.name == name)
        };
        found(None, name).or_else(|| name.split_once('.').and_then(|(schema, name)| found(Some(schema), name)))
    }

    /// The table that a name means.
    pub fn table(&self, name: &str) -> Option<&Table> {
        match &self.relation(name)?.kind {
            RelationKind::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Every table, by schema and name.
    pub fn tables(&self) -> impl Iterator<Item = (&Relation, &Table)> {
        self.relations.iter().filter_map(|relation| match &relation.kind {
            RelationKind::Table(table) => Some((relation, table)),
            _ => None,
        })
    }
}

impl fmt::Display for ForeignKeyAction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            ForeignKeyAction::NoAction => "NO ACTION",
            ForeignKeyAction::Restrict => "RESTRICT",
            ForeignKeyAction::Cascade => "CASCADE",
            ForeignKeyAction::SetNull => "SET NULL",
            ForeignKeyAction::SetDefault => "SET DEFAULT",
        })
    }
}

impl From<catalog::ReferentialAction> for ForeignKeyAction {
    fn from(action: catalog::ReferentialAction) -> ForeignKeyAction {
        match action {
            catalog::ReferentialAction::NoAction => ForeignKeyAction::NoAction,
            catalog::ReferentialAction::Restrict => ForeignKeyAction::Restrict,
            catalog::ReferentialAction::Cascade => ForeignKeyAction::Cascade,
            catalog::ReferentialAction::SetNull => ForeignKeyAction::SetNull,
            catalog::ReferentialAction::SetDefault => ForeignKeyAction::SetDefault,
        }
    }
}

/// Makes descriptions from the catalog.
struct Describe<'c>(&'c Catalog);

impl Describe<'_> {
    fn relations(&self) -> Vec<Relation> {
        let catalog = self.0;
        let mut all = Vec::new();
        for (schema_name, schema) in catalog.schemas() {
            for (name, relation) in catalog.relations_in(schema) {
                all.push(Relation {
                    schema: schema_name.to_owned(),
                    name: name.to_owned(),
                    shown: catalog.shown(schema, name),
                    comment: catalog.comment_on(relation).map(str::to_owned),
                    kind: self.kind(relation),
                });
            }
        }
        all
    }

    fn kind(&self, relation: &catalog::Relation) -> RelationKind {
        use catalog::Relation as R;
        match relation {
            R::Table(table) => match table.materialized() {
                Some(of) => RelationKind::MaterializedView(self.table(relation, table), self.0.text_of(&of.query)),
                None => RelationKind::Table(self.table(relation, table)),
            },
            R::View(view) => RelationKind::View(self.view(relation, view)),
            R::Index(table, index) => RelationKind::Index(described(table, index), self.0.table_name(table)),
            R::Sequence(sequence) => RelationKind::Sequence(self.sequence(sequence)),
        }
    }

    fn table(&self, relation: &catalog::Relation, table: &catalog::Table) -> Table {
        let column = |(at, column): (usize, &catalog::Column)| Column {
            name: column.name.clone(),
            data_type: column.data_type,
            not_null: column.not_null,
            default: column.default.as_ref().map(|default| self.0.text_of(default)),
            identity: column.identity.map(|identity| identity.always),
            generated: column.generated.as_ref().map(|generated| self.0.text_of(&generated.definition)),
            is_virtual: column.is_virtual,
            comment: self.0.comment_on_column(relation, at).map(str::to_owned),
            analyzed_distinct: table.statistics.as_ref().and_then(|found| Some(found.columns.get(at)?.distinct)),
        };
        let check = |check: &catalog::Check| Check {
            name: check.name.clone(),
            condition: self.0.text_of(&check.condition),
            valid: check.valid,
        };
        let referenced_by = table.referenced_by.iter().filter_map(|(id, at)| {
            let child = self.0.table_by_id(*id)?;
            Some((self.0.table_name(child), self.foreign_key(child, child.foreign_keys.get(*at)?)))
        });
        Table {
            columns: table.columns.iter().enumerate().map(column).collect(),
            indexes: table.all_indexes().map(|index| described(table, index)).collect(),
            checks: table.checks.iter().map(check).collect(),
            foreign_keys: table.foreign_keys.iter().map(|key| self.foreign_key(table, key)).collect(),
            referenced_by: referenced_by.collect(),
            analyzed_rows: table.statistics.as_ref().map(|found| found.rows),
            is_collection: table.is_collection,
            rules: Rules::clone(&table.rules),
        }
    }

    fn foreign_key(&self, table: &catalog::Table, key: &catalog::ForeignKey) -> ForeignKey {
        let referenced = self.0.table_by_id(key.referenced_table);
        ForeignKey {
            name: key.name.clone(),
            columns: names(table, &key.columns),
            referenced_table: referenced.map(|table| self.0.table_name(table)).unwrap_or_default(),
            referenced_columns: referenced.map(|table| names(table, &key.referenced_columns)).unwrap_or_default(),
            on_delete: key.on_delete.into(),
            set_on_delete: names(table, &key.set_on_delete),
            on_update: key.on_update.into(),
            match_full: key.full,
            valid: key.valid,
            deferrable: key.deferral != catalog::Deferral::Never,
            initially_deferred: key.deferral == catalog::Deferral::Deferred,
        }
    }

    fn view(&self, relation: &catalog::Relation, view: &catalog::View) -> View {
        let column =
            |(at, name): (usize, &String)| (name.clone(), self.0.comment_on_column(relation, at).map(str::to_owned));
        let default = |(place, default): (&usize, &catalog::Definition)| {
            Some((view.columns.get(*place)?.clone(), self.0.text_of(default)))
        };
        View {
            columns: view.columns.iter().enumerate().map(column).collect(),
            defaults: view.defaults.iter().filter_map(default).collect(),
            query: self.0.view_text(view),
        }
    }

    fn sequence(&self, sequence: &catalog::Sequence) -> Sequence {
        let owner = sequence.owner.and_then(|(table, column)| {
            let table = self.0.table_by_id(table)?;
            Some([self.schema_name(table.schema), table.name.clone(), table.columns.get(column)?.name.clone()])
        });
        let catalog::Sequence { data_type, start, increment, min, max, cycle, .. } = *sequence;
        Sequence { data_type, start, increment, min, max, cycle, owner }
    }

    fn schema_name(&self, id: ObjectId) -> String {
        self.0.schema_name(id).unwrap_or_default().to_owned()
    }
}

fn names(table: &catalog::Table, columns: &[usize]) -> Vec<String> {
    columns.iter().filter_map(|&column| table.columns.get(column)).map(|column| column.name.clone()).collect()
}

fn indexed(table: &catalog::Table, part: &catalog::IndexColumn) -> Option<IndexedColumn> {
    let (name, data_type) = (table.key_name(part.column), table.key_type(part.column)?);
    let is_expression = table.columns.get(part.column).is_none();
    let (descending, nulls_first) = (part.descending, part.nulls_first);
    Some(IndexedColumn { name, is_expression, data_type, descending, nulls_first, class: None })
}

fn described(table: &catalog::Table, index: &catalog::Index) -> Index {
    let kind = match (index.unique, index.constraint) {
        _ if index.primary => IndexKind::PrimaryKey,
        _ if index.is_deferrable() => IndexKind::UniqueConstraint,
        (true, true) => IndexKind::UniqueConstraint,
        (true, false) => IndexKind::Unique,
        (false, _) if index.is_inverted() => IndexKind::Inverted,
        (false, _) => IndexKind::Plain,
    };
    let mut columns: Vec<IndexedColumn> = index.columns.iter().filter_map(|part| indexed(table, part)).collect();
    let classes = index.inverted.iter().flat_map(|inverted| &inverted.classes);
    for (column, class) in columns.iter_mut().zip(classes) {
        column.class = (ItemClass::default_of(column.data_type) != Some(*class)).then(|| class.name());
    }
    let filter = index.predicate.as_ref().map(|predicate| predicate.definition.text.clone());
    let included = index.included.iter().map(|&column| table.key_name(column)).collect();
    let (name, nulls_equal) = (index.name.clone(), index.nulls_equal);
    let deferrable = index.is_deferrable();
    let initially_deferred = index.deferral == catalog::Deferral::Deferred;
    Index { name, kind, columns, included, nulls_equal, filter, deferrable, initially_deferred }
}
