//! Statements that are accepted for what they say of objects that must exist: COMMENT ON; and ANALYZE.

use sqlparser::ast;

use super::context::Ddl;
use super::create_view::is_readable;
use super::names::{missing, relation_name};
use crate::catalog::RelationKind;
use crate::{Error, Result};

impl Ddl<'_> {
    /// Comments are not kept.
    pub(super) fn comment(&mut self, statement: &ast::Statement) -> Result<&'static str> {
        let ast::Statement::Comment { object_type, object_name, .. } = statement else {
            return Err(Error::internal("not a COMMENT"));
        };
        if matches!(object_type, ast::CommentObject::Table | ast::CommentObject::View) {
            let name = relation_name(object_name)?;
            if !self.catalog.relation_kind(&name).is_some_and(is_readable) {
                return Err(missing(&self.catalog, &name, RelationKind::Table));
            }
        }
        Ok("COMMENT")
    }

    pub(super) fn analyze(&mut self, analyze: &ast::Analyze) -> Result<&'static str> {
        let tables = match &analyze.table_name {
            Some(name) => vec![self.table(&relation_name(name)?)?],
            None => self.catalog.tables.values().cloned().collect(),
        };
        for table in tables {
            self.analyze_table(&table)?;
        }
        Ok("ANALYZE")
    }

    fn analyze_table(&mut self, _table: &crate::catalog::Table) -> Result<()> {
        Ok(())
    }
}
