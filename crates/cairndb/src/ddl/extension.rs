//! CREATE EXTENSION and DROP EXTENSION.

use super::context::Ddl;
use crate::command::{CreateExtension, DropExtensions, is_built_in};
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

    /// What is built in stays. SQLSTATE 42704.
    pub(super) fn drop_extensions(&mut self, drop: &DropExtensions) -> Result<&'static str> {
        for name in &drop.names {
            let missing = format!("extension \"{name}\" does not exist");
            match (is_built_in(name), drop.if_exists) {
                (true, _) => {
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("extension \"{name}\" is built in, and stays"))
                }
                (false, true) => self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{missing}, skipping")),
                (false, false) => return Err(Error::new(SqlState::UNDEFINED_OBJECT, missing)),
            }
        }
        Ok("DROP EXTENSION")
    }
}
