//! CREATE EXTENSION.

use super::context::Ddl;
use crate::command::CreateExtension;
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    /// There is nothing to do for what is built in. A schema that makes its extensions for the first time is to be taken; only
    /// `plpgsql` is there in PostgreSQL too.
    pub(super) fn create_extension(&mut self, create: &CreateExtension) -> Result<&'static str> {
        let name = &create.name;
        let message = format!("extension \"{name}\" already exists");
        match create.if_not_exists {
            true => self.notice(SqlState::DUPLICATE_OBJECT, format!("{message}, skipping")),
            false if name == "plpgsql" => return Err(Error::new(SqlState::DUPLICATE_OBJECT, message)),
            false => {}
        }
        Ok("CREATE EXTENSION")
    }
}
