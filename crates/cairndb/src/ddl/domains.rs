//! CREATE DOMAIN, ALTER DOMAIN.

use cairn_parser::{Expr, Id, TypeName};

use super::context::Ddl;
use super::create_table::check_collated;
use super::names::first_free_name;
use super::types::already_exists;
use crate::bind::{DomainRules, resolve_default, resolve_domain_check};
use crate::catalog::{Check, Definition, Domain, ObjectId, ObjectName, Table, TypeKind, UserType};
use crate::command::{AlterDomain, CreateDomain, DomainChange, DomainCheck};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_domain(&mut self, create: &CreateDomain) -> Result<&'static str> {
        let name = &create.name;
        let schema = self.schema_of_type(name)?;
        let (base, parent) = self.domain_base(create.base)?;
        if create.is_collated {
            check_collated(base)?;
        }
        let [id, array_id] = [self.store.allocate_id(schema)?, self.store.allocate_id(schema)?];
        let default = match (create.default, parent.as_deref().and_then(UserType::domain)) {
            (Some(default), _) => self.domain_default(default, base, &name.name)?,
            // As it is now: what becomes of it later is another matter.
            (None, parent) => parent.and_then(|parent| parent.default.clone()),
        };
        let (parent, not_null, checks) = (parent.map(|parent| parent.id), create.not_null, Vec::new());
        let mut domain = Domain { base, parent, default, not_null, checks };
        for check in &create.checks {
            self.add_domain_check(&mut domain, &name.name, check)?;
        }
        let (name, data_type, kind) = (name.name.clone(), base, TypeKind::Domain(domain));
        self.store.put_type(&UserType { id, schema, name, array_id, kind, change: 0, data_type })?;
        self.reload()?;
        self.remake_resting((&[], &[id]), &[&create.name.name])?;
        Ok("CREATE DOMAIN")
    }

    fn domain_base(&self, name: Id<TypeName>) -> Result<(DataType, Option<std::sync::Arc<UserType>>)> {
        self.typed(name)
    }

    fn domain_default(&self, default: Id<Expr>, base: DataType, name: &str) -> Result<Option<Definition>> {
        let definition = resolve_default(self.text(default), (name, base), &self.catalog, self.maker())?;
        Ok((self.parsed.tree.get(default) != Expr::Null).then_some(definition))
    }

    fn add_domain_check(&self, domain: &mut Domain, name: &str, check: &DomainCheck) -> Result<()> {
        let condition = resolve_domain_check(self.text(check.condition), domain.base, &self.catalog, self.maker())?;
        let taken = |wanted: &str| domain.checks.iter().any(|known| known.name == wanted);
        let check_name = match &check.name {
            Some(wanted) if taken(wanted) => {
                let message = format!("constraint \"{wanted}\" for domain \"{name}\" already exists");
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            Some(wanted) => wanted.clone(),
            None => first_free_name(name, "check", taken),
        };
        let id = self.store.allocate_id(ObjectId::PUBLIC)?;
        domain.checks.push(Check { id, name: check_name, condition, columns: Vec::new(), valid: check.valid });
        Ok(())
    }

    pub(super) fn alter_domain(&mut self, alter: &AlterDomain) -> Result<&'static str> {
        const TAG: &str = "ALTER DOMAIN";
        let mut new = UserType::clone(&*self.user_type(&alter.name)?);
        let (name, id) = (new.name.clone(), new.id);
        let TypeKind::Domain(domain) = &mut new.kind else {
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{} is not a domain", alter.name)));
        };
        let missing = |constraint: &str| {
            let message = format!("constraint \"{constraint}\" of domain \"{name}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        };
        match &alter.change {
            DomainChange::Owner => return Ok(TAG),
            DomainChange::RenameTo(to) => return self.rename_type(&new, to).map(|()| TAG),
            DomainChange::SetSchema(schema) => return self.move_type(&new, schema).map(|()| TAG),
            DomainChange::Default(default) => {
                let base = domain.base;
                let default = default.map(|default| self.domain_default(default, base, &name)).transpose()?;
                domain.default = default.flatten();
            }
            DomainChange::NotNull(not_null) => domain.not_null = *not_null,
            DomainChange::AddCheck(check) => self.add_domain_check(domain, &name, check)?,
            DomainChange::DropCheck { name: constraint, if_exists } => {
                let before = domain.checks.len();
                domain.checks.retain(|check| check.name != *constraint);
                if domain.checks.len() == before {
                    if !if_exists {
                        return Err(missing(constraint));
                    }
                    self.notice(
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("{}, skipping", missing(constraint).message()),
                    );
                    return Ok(TAG);
                }
            }
            DomainChange::ValidateCheck(constraint) => {
                let check = domain.checks.iter_mut().find(|check| check.name == *constraint);
                check.ok_or_else(|| missing(constraint))?.valid = true;
            }
            DomainChange::RenameCheck { from, to } => {
                if domain.checks.iter().any(|check| check.name == *to) {
                    let message = format!("constraint \"{to}\" for domain {name} already exists");
                    return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
                }
                let check = domain.checks.iter_mut().find(|check| check.name == *from);
                check.ok_or_else(|| missing(from))?.name.clone_from(to);
            }
        }
        self.store.put_type(&new)?;
        self.touch_dependents(id)?;
        self.remake_resting((&[], &self.catalog.types_resting_on(id)), &[&name])?;
        match &alter.change {
            DomainChange::NotNull(true) => self.verify_domain(id, None)?,
            DomainChange::AddCheck(DomainCheck { valid: true, .. }) => {
                let TypeKind::Domain(Domain { checks, .. }) = &new.kind else { return Ok(TAG) };
                self.verify_domain(id, checks.last())?;
            }
            DomainChange::ValidateCheck(constraint) => {
                let TypeKind::Domain(Domain { checks, .. }) = &new.kind else { return Ok(TAG) };
                self.verify_domain(id, checks.iter().find(|check| check.name == *constraint))?;
            }
            _ => {}
        }
        Ok(TAG)
    }

    /// Takes a condition out of a domain that stays.
    pub(super) fn remove_condition(&mut self, id: ObjectId, check: ObjectId) -> Result<()> {
        self.reload()?;
        let Some(of) = self.catalog.type_by_id(id) else { return Ok(()) };
        let mut new = UserType::clone(of);
        if let TypeKind::Domain(domain) = &mut new.kind {
            domain.checks.retain(|known| known.id != check);
        }
        self.store.put_type(&new)?;
        self.touch_dependents(id)
    }

    /// SQLSTATE 23502, 23514 where a value of the domain is NULL, or does not satisfy the condition that is given.
    fn verify_domain(&self, id: ObjectId, check: Option<&Check>) -> Result<()> {
        let types = self.catalog.types_resting_on(id);
        for table in self.catalog.tables() {
            for (position, column) in table.columns.iter().enumerate() {
                if column.domain.is_some_and(|domain| types.contains(&domain)) {
                    self.verify_values(table, position, id, check)?;
                }
            }
        }
        Ok(())
    }

    fn verify_values(&self, table: &Table, position: usize, id: ObjectId, check: Option<&Check>) -> Result<()> {
        let domain = self.catalog.type_by_id(id).ok_or_else(|| Error::internal("a domain is missing"))?;
        let mut rules = DomainRules::of(domain, position, &self.catalog)?;
        rules.not_null = check.is_none();
        rules.conditions.retain(|(name, _)| check.is_some_and(|check| check.name == *name));
        let (column, name) = (&table.columns[position].name, &table.name);
        self.for_each_row(table, |_, row| {
            rules.check(position, &row, &self.dml.exec.eval).map_err(|error| match error.sqlstate() {
                SqlState::NOT_NULL_VIOLATION => {
                    let message = format!("column \"{column}\" of table \"{name}\" contains null values");
                    Error::new(SqlState::NOT_NULL_VIOLATION, message)
                }
                SqlState::CHECK_VIOLATION => {
                    let message = format!(
                        "column \"{column}\" of table \"{name}\" contains values that violate the new constraint"
                    );
                    Error::new(SqlState::CHECK_VIOLATION, message)
                }
                _ => error,
            })
        })
    }

    /// SQLSTATE 23502, 23514 where a value of the column is not of its domain.
    pub(super) fn verify_column(&self, table: &Table, position: usize) -> Result<()> {
        let Some(rules) = self.domain_rules(table, position)? else { return Ok(()) };
        self.for_each_row(table, |_, row| rules.check(position, &row, &self.dml.exec.eval))
    }

    /// What a column's values must be, over the table's columns.
    pub(super) fn domain_rules(&self, table: &Table, position: usize) -> Result<Option<DomainRules>> {
        let domain = table.columns[position].domain.and_then(|id| self.catalog.type_by_id(id));
        domain.map(|domain| DomainRules::of(domain, position, &self.catalog)).transpose()
    }

    /// Where a new type of this name goes; SQLSTATE 42710 where it is taken.
    pub(super) fn schema_of_type(&self, name: &ObjectName) -> Result<ObjectId> {
        let schema = self.schema_for(name, false)?;
        if schema.is_temporary() {
            return Err(Error::unsupported("a type in a temporary schema"));
        }
        self.refuse_taken_type(schema, &name.name, || already_exists(&name.name))?;
        Ok(schema)
    }
}
