//! What a connection is made with.

use std::time::Duration;

use cairndb::{Connection, Durability, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Settings of a session, which others of the same program's have, too.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    durability: Option<Durability>,
    time_zone: Option<String>,
    statement_timeout: Option<Duration>,
}

impl Setup {
    /// Of what `connect` is given, times in seconds.
    pub(crate) fn of(
        durability: Option<&str>,
        time_zone: Option<String>,
        statement_timeout: Option<f64>,
    ) -> PyResult<Setup> {
        let durability = durability.map(self::durability).transpose()?;
        let timeout = statement_timeout.map(Duration::try_from_secs_f64).transpose();
        let statement_timeout =
            timeout.map_err(|error| PyValueError::new_err(format!("statement_timeout: {error}")))?;
        Ok(Setup { durability, time_zone, statement_timeout })
    }

    /// Sets them.
    pub(crate) fn apply(&self, connection: &Connection) -> Result<()> {
        if let Some(durability) = self.durability {
            connection.set_durability(durability)?;
        }
        if let Some(zone) = &self.time_zone {
            connection.query("SELECT set_config('TimeZone', $1, false)", (zone.as_str(),))?.into_iter().count();
        }
        connection.set_statement_timeout(self.statement_timeout)
    }
}

fn durability(name: &str) -> PyResult<Durability> {
    match name {
        "full" => Ok(Durability::Full),
        "group" => Ok(Durability::Group),
        "interval" => Ok(Durability::Interval),
        "off" => Ok(Durability::Off),
        _ => Err(PyValueError::new_err("durability is 'full', 'group', 'interval' or 'off'")),
    }
}
