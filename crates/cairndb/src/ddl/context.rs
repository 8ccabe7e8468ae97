//! What a schema change works with.

use std::cell::RefCell;
use std::sync::Arc;

use cairn_parser::{Expr, Id, Tree, TypeName};
use cairn_storage::TreeId;

use super::execute::Done;
use super::explain::Explaining;
use super::names::missing;
use crate::catalog::{
    Catalog, CatalogStore, Column, ObjectId, ObjectName, Relation, RelationKind, SystemTrees, TEMPORARY, Table,
    UserType,
};
use crate::command::Execute;
use crate::dml::DmlContext;
use crate::error::Feature;
use crate::exec::{ExecContext, SequenceSource};
use crate::notice::Notice;
use crate::plan::OptimizerOptions;
use crate::routine::StatementHost;
use crate::sql::{ParsedStatement, UsersTypes, type_of_syntax};
use crate::system;
use crate::types::{DataType, EvalContext};
use crate::{Error, Result, SqlState, Value};

/// What schema changes ask of who runs them: a session, or a function's statement within one.
pub(crate) trait SchemaHost {
    /// The source of sequence values under a catalog.
    fn sequences(&self, catalog: &Arc<Catalog>) -> Arc<dyn SequenceSource>;

    /// Runs functions under a catalog, as the transaction has it now.
    fn functions(&self, catalog: &Arc<Catalog>) -> Result<Arc<dyn StatementHost>>;

    /// Whether a trigger of the table is running.
    fn is_busy(&self, table: ObjectId) -> bool;

    /// There are change feeds from now on, to be kept within their limits.
    fn keep_feeds(&self) -> Result<()>;

    /// The statement that EXECUTE names, and what the statement that has the EXECUTE gives for its parameters.
    fn executed(&self, parsed: &ParsedStatement, execute: &Execute) -> Result<(Arc<ParsedStatement>, Vec<Value>)>;

    /// What is given for the statement's own parameters.
    fn parameters(&self) -> &[Value];

    /// Once this is committed, other materialized views follow their queries.
    fn follow_views(&self);
}

/// One execution of a schema change: the statement, the transaction, the catalog as it stands, and what will be reported.
pub(super) struct Ddl<'a> {
    pub(super) parsed: &'a ParsedStatement,
    pub(super) dml: &'a DmlContext<'a>,
    pub(super) trees: SystemTrees,
    pub(super) store: CatalogStore<'a>,
    pub(super) options: &'a OptimizerOptions,
    pub(super) session: &'a dyn SchemaHost,
    /// With this statement's own changes up to the last [`Ddl::reload`].
    pub(super) catalog: Arc<Catalog>,
    /// Trees of tables whose row layout of now no row has yet: this statement began it.
    fresh: Vec<TreeId>,
    /// Where the statement is EXPLAIN.
    pub(super) explaining: Option<Explaining>,
    pub(super) done: Done,
}

impl<'a> Ddl<'a> {
    pub(super) fn new(
        parsed: &'a ParsedStatement,
        dml: &'a DmlContext<'a>,
        trees: SystemTrees,
        options: &'a OptimizerOptions,
        session: &'a dyn SchemaHost,
    ) -> Result<Ddl<'a>> {
        let store = CatalogStore::new(dml.tx);
        let (catalog, fresh, done) = (dml.catalog.clone(), Vec::new(), Done::default());
        Ok(Ddl { parsed, dml, trees, store, options, session, catalog, fresh, explaining: None, done })
    }

    /// Sees to it that no row has the table's layout of now, so that its columns may change; false: the rows must be written
    /// anew for that.
    pub(super) fn begin_layout(&mut self, table: &mut Table) -> bool {
        if self.fresh.contains(&table.tree) {
            return true;
        }
        let is_begun = table.begin_layout();
        if is_begun {
            self.fresh.push(table.tree);
        }
        is_begun
    }

    /// Whether no row has the column: all have what is there instead.
    pub(super) fn is_in_no_row(&self, table: &Table, column: &Column) -> bool {
        self.fresh.contains(&table.tree) && column.since == table.layout_version
    }

    /// An expression's text, as it is kept.
    pub(super) fn text(&self, expr: Id<Expr>) -> String {
        self.parsed.tree.print(expr)
    }

    /// A type where no domain may stand.
    pub(super) fn data_type(&self, name: Id<TypeName>) -> Result<DataType> {
        match self.typed(name)? {
            (data_type, None) => Ok(data_type),
            (_, Some(_)) => {
                let place = self.parsed.position_of(self.parsed.tree.span(name).start as usize);
                Err(Error::unsupported("a domain in this place").at(place))
            }
        }
    }

    /// A type, and the domain that it is of.
    pub(super) fn typed(&self, name: Id<TypeName>) -> Result<(DataType, Option<Arc<UserType>>)> {
        self.typed_by(name, type_of_syntax)
    }

    /// The same, as what a type's name means is read.
    pub(super) fn typed_by(
        &self,
        name: Id<TypeName>,
        read: fn(&Tree<'_>, Id<TypeName>, UsersTypes<'_>) -> Result<DataType>,
    ) -> Result<(DataType, Option<Arc<UserType>>)> {
        let domain = RefCell::new(None);
        let tree = &self.parsed.tree;
        let place = || self.parsed.position_of(tree.span(name).start as usize);
        let users = |schema: Option<&str>, name: &str| {
            let found = self.catalog.user_type(schema, name, |_, _| {})?;
            domain.replace(found.filter(|of| of.domain().is_some()).cloned());
            Ok(found.map(|of| of.data_type))
        };
        let found = read(tree, name, &users).map_err(|error| error.at(place()))?;
        let domain = domain.into_inner();
        match domain.is_some() && !tree.get(name).bounds.is_empty() {
            true => Err(Error::lacking(Feature::ArraysOfDomains, "an array of a domain").at(place())),
            false => Ok((found, domain)),
        }
    }

    /// Makes the changes so far visible to the rest of the statement.
    pub(super) fn reload(&mut self) -> Result<()> {
        self.catalog = Arc::new(self.store.load(&self.catalog)?);
        Ok(())
    }

    /// The relation that a name means, to be changed or rested on: SQLSTATE 42501 for one of the system's.
    pub(super) fn relation(&self, name: &ObjectName) -> Result<Option<&Relation>> {
        match system::named(name, &self.catalog) {
            Some(_) => Err(system::permission_denied(name)),
            None => Ok(self.catalog.relation(name)),
        }
    }

    pub(super) fn table(&self, name: &ObjectName) -> Result<Arc<Table>> {
        let table = self.relation(name)?.and_then(Relation::table).filter(|table| !table.is_materialized());
        table.cloned().ok_or_else(|| missing(&self.catalog, name, RelationKind::Table))
    }

    /// A table, or a materialized view.
    pub(super) fn table_or_materialized(&self, name: &ObjectName) -> Result<Arc<Table>> {
        let table = self.relation(name)?.and_then(Relation::table);
        table.cloned().ok_or_else(|| missing(&self.catalog, name, RelationKind::Table))
    }

    /// SQLSTATE 55006 where a trigger of the relation is what runs.
    pub(super) fn refuse_busy(&self, relation: ObjectId, name: &str, what: &str) -> Result<()> {
        if !self.session.is_busy(relation) {
            return Ok(());
        }
        let message = format!("cannot {what} \"{name}\" because it is being used by active queries in this session");
        Err(Error::new(SqlState::OBJECT_IN_USE, message))
    }

    /// SQLSTATE 55006 where rows of the table wait for COMMIT to be looked at.
    pub(super) fn refuse_pending(&self, table: &Table, what: &str) -> Result<()> {
        self.refuse_busy(table.id, &table.name, what)?;
        let rows = self.rows();
        if !self.dml.deferred.is_some_and(|deferred| deferred.is_pending(table.id, &rows)) {
            return Ok(());
        }
        let message = format!("cannot {what} \"{}\" because it has pending trigger events", table.name);
        Err(Error::new(SqlState::OBJECT_IN_USE, message))
    }

    /// A table that is there, as it is now.
    pub(super) fn table_of(&self, id: ObjectId) -> Result<Arc<Table>> {
        self.catalog.table_by_id(id).cloned().ok_or_else(|| Error::internal("a table is missing"))
    }

    /// The schema that a new relation of this name goes to; SQLSTATE 3F000, 42P16.
    pub(super) fn schema_for(&self, name: &ObjectName, temporary: bool) -> Result<ObjectId> {
        let schema = match &name.schema {
            Some(schema) if schema == TEMPORARY => Ok(ObjectId::TEMPORARY),
            Some(schema) if system::is_schema(schema) => {
                let message = format!("permission denied to create \"{name}\"");
                Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                    .with_detail("System catalog modifications are currently disallowed."))
            }
            Some(_) if temporary => {
                let message = "cannot create temporary relation in non-temporary schema";
                Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
            }
            None if temporary || self.catalog.path().begins_temporary() => Ok(ObjectId::TEMPORARY),
            Some(schema) => self.schema(schema),
            None => self
                .catalog
                .current_schema()
                .ok_or_else(|| Error::new(SqlState::INVALID_SCHEMA_NAME, "no schema has been selected to create in")),
        };
        schema.map_err(|error| match name.place {
            Some(place) => error.at(self.parsed.position_of(place as usize)),
            None => error,
        })
    }

    pub(super) fn notice(&mut self, code: SqlState, message: String) {
        self.done.notices.push(Notice { severity: "NOTICE", code, message, detail: None });
    }

    /// Whose session definitions are made in.
    pub(super) fn maker(&self) -> Option<&EvalContext> {
        Some(&self.dml.exec.eval)
    }

    /// For evaluating what may name sequences that this statement made.
    pub(super) fn exec_with_new_sequences(&self) -> ExecContext {
        let mut exec = self.dml.exec.clone();
        exec.sequences = Some(self.session.sequences(&self.catalog));
        exec
    }

    /// A context for writing rows under the catalog as it stands now.
    pub(super) fn rows(&self) -> DmlContext<'_> {
        DmlContext {
            tx: self.dml.tx,
            catalog: &self.catalog,
            exec: self.dml.exec,
            store: self.dml.store,
            row_numbers: self.dml.row_numbers,
            deferred: None,
            room: self.dml.room,
        }
    }
}
