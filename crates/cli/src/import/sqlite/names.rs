//! Names: SQLite looks at no case, PostgreSQL folds what has no quotes to lower case. So names become lower case, and every
//! statement that worked finds them, quoted or not.

use std::collections::{BTreeMap, BTreeSet};

use cairn_parser::token::quoted;

use super::schema::Source;
use crate::import::report::Report;

/// Bytes of a name.
const NAME_BYTES: usize = 63;

/// What the names of a SQLite file are here.
pub struct Names {
    keep_case: bool,
    /// By their lower case.
    known: BTreeMap<String, String>,
}

impl Names {
    pub fn new(source: &Source, keep_case: bool, report: &mut Report) -> Names {
        let mut names = Names { keep_case, known: BTreeMap::new() };
        let mut folded = false;
        let tables = source.tables.iter().flat_map(|table| {
            let columns = table.columns.iter().map(|column| &column.name);
            std::iter::once(&table.name).chain(columns).chain(table.indexes.iter().map(|index| &index.name))
        });
        for name in tables.chain(source.views.iter().map(|view| &view.name)) {
            let plain = names.new_name(name);
            folded |= plain != *name && name.len() <= NAME_BYTES;
            if name.len() > NAME_BYTES {
                report.change(name, &format!("names have at most {NAME_BYTES} bytes here: it is called {plain}"));
            }
            names.known.insert(name.to_ascii_lowercase(), plain);
        }
        if folded {
            report.change("names", "are in lower case, as SQL folds what has no quotes (--keep-case keeps them)");
        }
        names
    }

    fn new_name(&self, name: &str) -> String {
        let lower = name.to_ascii_lowercase();
        if let Some(known) = self.known.get(&lower) {
            return known.clone();
        }
        let mut cased = if self.keep_case { name.to_string() } else { lower };
        if cased.len() > NAME_BYTES {
            let taken: BTreeSet<&String> = self.known.values().collect();
            let shortened = |number: usize| {
                let end = format!("_{number}");
                let cut = (0..=NAME_BYTES - end.len()).rev().find(|at| cased.is_char_boundary(*at)).unwrap_or(0);
                format!("{}{end}", &cased[..cut])
            };
            cased = (1..).map(shortened).find(|name| !taken.contains(name)).unwrap_or_default();
        }
        cased
    }

    /// What it is called here.
    pub fn plain(&self, name: &str) -> String {
        self.known.get(&name.to_ascii_lowercase()).cloned().unwrap_or_else(|| self.new_name(name))
    }

    /// The same as SQL has it, in quotes where it needs them.
    pub fn shown(&self, name: &str) -> String {
        quoted(&self.plain(name))
    }
}
