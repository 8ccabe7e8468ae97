//! One statement with many sets of parameters, which outlast the call.

use cairndb::internals::text_for;
use cairndb::{Connection, Params, Result, Value};

use crate::shared::owned;

/// See the module.
pub(crate) struct Batch {
    /// The statement; where parameters have names, with numbers in the names' order, once for each order there is.
    texts: Vec<String>,
    /// The names that the last text is for.
    names: Option<Vec<String>>,
    /// The sets, each with the place of its text.
    sets: Vec<(usize, Vec<Value>)>,
}

impl Batch {
    /// SQLSTATE 42P02 where the statement's names and a set's are not the same.
    pub(crate) fn of<P: Params>(sql: &str, sets: impl IntoIterator<Item = P>) -> Result<Batch> {
        let mut batch = Batch { texts: Vec::new(), names: None, sets: Vec::new() };
        for set in sets {
            if batch.texts.is_empty() || !batch.has_names_of(&set) {
                batch.texts.push(text_for(sql, &set)?.into_owned());
                batch.names = set.names().map(|names| names.iter().map(ToString::to_string).collect());
            }
            batch.sets.push((batch.texts.len() - 1, owned(&set)));
        }
        if batch.texts.is_empty() {
            batch.texts.push(sql.to_owned());
        }
        Ok(batch)
    }

    fn has_names_of(&self, set: &impl Params) -> bool {
        match (set.names(), &self.names) {
            (None, None) => true,
            (Some(names), Some(known)) => names.iter().eq(known),
            _ => false,
        }
    }

    /// Runs it; the number of rows it changed.
    pub(crate) fn run(&self, connection: &Connection) -> Result<u64> {
        let (mut text, mut affected) = (0, 0);
        let mut statement = connection.prepare(&self.texts[0])?;
        for (of, set) in &self.sets {
            if *of != text {
                (text, statement) = (*of, connection.prepare(&self.texts[*of])?);
            }
            affected += statement.execute(set)?;
        }
        Ok(affected)
    }
}
