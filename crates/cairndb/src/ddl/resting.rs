//! What is stored of functions: entries of indexes, which rows have any, values of generated columns. Where a statement changes what a
//! function gives, all that rests on it is made anew, in the statement's transaction, so that it is always what the functions of now give.
//!
//! - What rests on a function is found through whatever it is called by: other functions, by the names in their bodies (wherever
//!   these stand, in strings and comments too: what is made anew in vain costs time and no more), defaults of parameters, conditions of
//!   domains. A name that a body puts together while it runs is not found: what a function gives that calls so is the user's matter,
//!   as that of one is that is said to be IMMUTABLE and is not.
//! - PostgreSQL leaves CHECKs, domains' conditions and the values of columns of domains as they are, and so is it here. A domain that is
//!   altered changes no value: what was cast to it is in its index as it was.
//! - Where it finds rows that are not as unique as an index wants them, or a function fails, the statement fails. But what calls a
//!   function that is not there (yet) is left as it is, for functions are dropped and made again one by one; nobody can write a
//!   row of such a table until it is there, and then it is made anew.

use std::sync::Arc;

use super::alter_table::contains_null;
use super::context::Ddl;
use super::dependency::definitions_of;
use crate::bind::bind_generated;
use crate::catalog::{Catalog, Definition, Index, ObjectId, Table, UserType};
use crate::dml::DmlContext;
use crate::dml::row::settle;
use crate::exec::{ExecContext, eval_row};
use crate::plan::Datum;
use crate::routine::calls_of;
use crate::{Error, Result, SqlState};

/// Functions whose meaning changes, and with them domains, with all by whose meaning they change theirs.
struct Changed<'c> {
    catalog: &'c Catalog,
    routines: Vec<ObjectId>,
    types: Vec<ObjectId>,
    names: Vec<String>,
}

impl<'c> Changed<'c> {
    fn of(catalog: &'c Catalog, (routines, types): (&[ObjectId], &[ObjectId]), names: &[&str]) -> Changed<'c> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let mut changed = Changed { catalog, routines: routines.to_vec(), types: types.to_vec(), names };
        while changed.grow() {}
        changed
    }

    /// Adds what calls some of it; whether there was anything.
    fn grow(&mut self) -> bool {
        let before = self.routines.len() + self.types.len();
        for routine in self.catalog.routines().filter_map(|function| function.routine()) {
            let mut defaults = routine.parameters.iter().filter_map(|parameter| parameter.default.as_ref());
            let calls = || self.names.iter().any(|name| mentions(&routine.body, name));
            if !self.routines.contains(&routine.id) && (calls() || defaults.any(|default| self.is_in(default))) {
                self.routines.push(routine.id);
                self.names.push(routine.name.clone());
            }
        }
        let is_of = |of: &&Arc<UserType>| {
            of.rests_on().any(|on| self.types.contains(&on))
                || of.definitions().any(|definition| self.is_in(definition))
        };
        let is_new = |of: &&Arc<UserType>| !self.types.contains(&of.id);
        let types: Vec<_> = self.catalog.types().filter(is_new).filter(is_of).cloned().collect();
        self.names.extend(types.iter().map(|of| of.name.clone()));
        self.types.extend(types.iter().map(|of| of.id));
        self.routines.len() + self.types.len() > before
    }

    /// Whether what the text says may mean something else now.
    fn is_in(&self, definition: &Definition) -> bool {
        let is_of = |id: ObjectId| {
            let routine = self.catalog.routine_by_id(id).and_then(|function| function.routine());
            self.types.contains(&id)
                || routine.is_some_and(|of| of.domains().any(|domain| self.types.contains(&domain.id)))
        };
        self.changes(definition) || definition.references().iter().any(|known| is_of(known.object))
    }

    /// Whether it may give another value: it is not only a domain that looks at it.
    fn changes(&self, definition: &Definition) -> bool {
        match &definition.references {
            Some(references) => references.iter().any(|known| self.routines.contains(&known.object)),
            None => self.names.iter().any(|name| mentions(&definition.text, name)),
        }
    }

    fn indexes<'t>(&self, table: &'t Table) -> impl Iterator<Item = &'t Arc<Index>> {
        let rests = |index: &&Arc<Index>| index.row_expressions().any(|of| self.changes(&of.definition));
        table.indexes.iter().filter(rests)
    }

    /// The positions of stored columns that are computed by it.
    fn columns(&self, table: &Table) -> Vec<usize> {
        let rests = |at: &usize| table.columns[*at].stored_expression().is_some_and(|of| self.changes(&of.definition));
        (0..table.columns.len()).filter(rests).collect()
    }
}

/// Whether a name stands in a text as a word of its own, in whatever letters.
fn mentions(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$');
    text.match_indices(&name)
        .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + name.len()..].chars().next()))
}

/// What rests on the functions, by its table.
struct Resting {
    table: ObjectId,
    indexes: Vec<ObjectId>,
    columns: Vec<usize>,
}

impl Ddl<'_> {
    /// The meaning of these functions is another one from now on, or of these types, or of calls by these names.
    pub(super) fn remake_resting(&mut self, changed: (&[ObjectId], &[ObjectId]), names: &[&str]) -> Result<()> {
        let catalog = self.catalog.clone();
        let changed = Changed::of(&catalog, changed, names);
        // Plans have what domains ask for, with the functions that this calls.
        for of in catalog.types().filter(|of| changed.types.contains(&of.id)) {
            self.store.put_type(of)?;
        }
        if !changed.types.is_empty() {
            self.reload()?;
        }
        for table in catalog.tables().filter(|table| definitions_of(table).any(|of| changed.is_in(of))) {
            let indexes = changed.indexes(table).map(|index| index.id).collect();
            let resting = Resting { table: table.id, indexes, columns: changed.columns(table) };
            self.remake_as_far_as_it_goes(&resting)?;
        }
        Ok(())
    }

    fn remake_as_far_as_it_goes(&mut self, resting: &Resting) -> Result<()> {
        let before = self.dml.tx.savepoint()?;
        let Err(error) = self.remake(resting) else { return Ok(()) };
        if !is_missing(&error) {
            return Err(error);
        }
        self.dml.tx.rollback_to(&before)?;
        self.reload()?;
        let table = self.table_of(resting.table)?;
        let message =
            format!("what rests on functions in table \"{}\" is not made anew: {}", table.name, error.message());
        self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        self.store.put_table(&table)?;
        self.reload()
    }

    fn remake(&mut self, resting: &Resting) -> Result<()> {
        let table = self.table_of(resting.table)?;
        match (resting.indexes.as_slice(), resting.columns.as_slice()) {
            // Plans have what its rules were.
            ([], []) => {
                self.store.put_table(&table)?;
                self.reload()
            }
            (indexes, []) => self.rebuild(&table, |index| indexes.contains(&index.id)),
            (_, columns) => self.recompute(&table, columns),
        }
    }

    /// Computes stored columns anew, and builds the indexes.
    fn recompute(&mut self, table: &Arc<Table>, columns: &[usize]) -> Result<()> {
        self.refuse_pending(table, "alter what computes columns of")?;
        let new = Table::clone(table);
        let bound = |&at: &usize| {
            let column = &new.columns[at];
            let expression =
                column.stored_expression().ok_or_else(|| Error::internal("a column that is not computed"))?;
            Ok((at, bind_generated(expression, column, &new, &self.catalog)?))
        };
        let computed = columns.iter().map(bound).collect::<Result<Vec<_>>>()?;
        let exec = self.calling()?;
        self.rewrite_table(table, new, |mut row| {
            for (at, expr) in &computed {
                let column = &table.columns[*at];
                let value = settle(Datum::Own(eval_row(expr, &row, &exec)?), column.data_type, &exec.eval)?;
                if column.not_null && value.is_null() {
                    return Err(contains_null(table, column));
                }
                row[*at] = value;
            }
            Ok(row)
        })?;
        let table = self.table_of(table.id)?;
        self.verify_references(&table, |column| columns.contains(&column))?;
        // What commits keep of it rests on the values that were.
        self.keep_anew(table.id)
    }

    /// For calling functions as they are by now.
    fn calling(&self) -> Result<ExecContext> {
        let exec = self.exec_with_new_sequences();
        if !self.catalog.has_routines() {
            return Ok(exec);
        }
        let caller = self.session.functions(&self.catalog)?;
        let eval = Arc::new(exec.eval.with_calls(Some(calls_of(caller))));
        Ok(ExecContext { eval, ..exec })
    }

    /// Works under the catalog as it stands now, and with the functions of now.
    pub(super) fn calling_rows<T>(&self, work: impl FnOnce(&DmlContext<'_>) -> Result<T>) -> Result<T> {
        let exec = self.calling()?;
        work(&DmlContext { exec: &exec, ..self.rows() })
    }
}

/// Whether a function, a type or a schema is not there.
fn is_missing(error: &Error) -> bool {
    matches!(
        error.sqlstate(),
        SqlState::UNDEFINED_FUNCTION | SqlState::UNDEFINED_OBJECT | SqlState::INVALID_SCHEMA_NAME
    )
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn a_name_is_mentioned_as_a_word_of_its_own() {
        for text in ["SELECT g($1)", "g(1)", "x.G (1)", "EXECUTE 'SELECT g(1)'", "\"g\"(1)", "g"] {
            assert!(mentions(text, "g"), "{text}");
        }
        for text in ["SELECT gg($1)", "_g(1)", "g1(1)", "", "ög()"] {
            assert!(!mentions(text, "g"), "{text}");
        }
        assert!(mentions("SELECT \"My Own\"(1)", "My Own"));
    }
}
