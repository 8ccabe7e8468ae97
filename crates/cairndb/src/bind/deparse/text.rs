//! What is being written, and how.

use std::cell::Cell;

use cairn_parser::{Id, TableRef, Tree};

use super::facts::Facts;
use crate::catalog::Catalog;
use crate::system::DefinitionStyle;

/// What stands in the lists that names go by.
pub(super) const INDENT: i32 = 8;
/// What is deeper is not written.
const DEPTH_MAX: usize = 400;
/// From here on lines are moved to the right by less.
const INDENT_LIMIT: i32 = 40;

/// Writes one definition.
pub(super) struct Deparser<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) tree: &'a Tree<'a>,
    pub(super) facts: &'a Facts,
    pub(super) style: DefinitionStyle,
    /// The relations in sight, of the query that is written last.
    pub(super) levels: Vec<Level>,
    /// The WITH queries in sight.
    pub(super) ctes: Vec<String>,
    /// Columns say whose they are.
    pub(super) is_prefixed: bool,
    /// The only column is a domain's value.
    pub(super) is_of_domain: bool,
    pub(super) out: String,
    pub(super) indent: i32,
    /// How deep what is written stands: long chains are flat for the parser, and deep here.
    pub(super) depth: Cell<usize>,
}

/// The relations of one query's FROM.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) relations: Vec<Named>,
    /// What is written is a part that does not see them.
    pub(super) is_hidden: bool,
}

/// An item of FROM.
#[derive(Debug)]
pub(super) struct Named {
    /// `None`: one that every view has.
    pub(super) item: Option<Id<TableRef>>,
    /// As the query calls it.
    pub(super) alias: String,
    /// As it is called here, where no query around it has the name.
    pub(super) shown: String,
    /// `None`: not known.
    pub(super) columns: Option<Vec<String>>,
}

impl Deparser<'_> {
    pub(super) fn say(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// A word of a query's that begins a line, which moves by `before`, and what comes behind it by `after`; `plus` is its alone.
    pub(super) fn keyword(&mut self, text: &str, before: i32, after: i32, plus: i32) {
        self.indent += before;
        self.strip_blanks();
        self.out.push('\n');
        let amount = match self.indent < INDENT_LIMIT {
            true => self.indent.max(0) + plus,
            false => (INDENT_LIMIT + (self.indent - INDENT_LIMIT) / (INDENT / 2)) % INDENT_LIMIT + plus,
        };
        self.out.extend(std::iter::repeat_n(' ', usize::try_from(amount).unwrap_or_default()));
        self.say(text);
        self.indent = (self.indent + after).max(0);
    }

    pub(super) fn strip_blanks(&mut self) {
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
    }

    /// What `write` writes, apart.
    pub(super) fn apart(&mut self, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<String> {
        let around = std::mem::take(&mut self.out);
        let written = write(self);
        let text = std::mem::replace(&mut self.out, around);
        written.map(|()| text)
    }

    /// Puts an item behind others: on a line of its own where that would be too long, or one of those before it has several.
    pub(super) fn put_wrapped(&mut self, item: &str, is_first: bool, after_lines: bool) {
        if item.starts_with('\n') {
            self.strip_blanks();
        } else {
            let line = self.out.rsplit('\n').next().unwrap_or_default().len() + item.len();
            let is_long = line > self.style.wrap;
            if !is_first && (is_long || after_lines) {
                self.keyword("", -INDENT, INDENT, 4);
            }
        }
        self.say(item);
    }

    /// The name under which a column's relation stands; `None`: none is in sight.
    pub(super) fn shown_relation(&self, alias: &str, column: Option<&str>) -> Option<&str> {
        let mut visible = self.levels.iter().rev().filter(|level| !level.is_hidden).flat_map(|level| &level.relations);
        let has = |named: &&Named| {
            let columns = named.columns.as_ref();
            named.alias == alias && column.is_none_or(|name| columns.is_none_or(|all| all.iter().any(|it| it == name)))
        };
        visible.find(has).map(|named| named.shown.as_str())
    }

    /// The relation of the innermost query whose column this is.
    pub(super) fn relation_with(&self, column: &str) -> Option<&str> {
        let has = |named: &&Named| named.columns.iter().flatten().any(|name| name == column);
        self.levels.last()?.relations.iter().find(has).map(|named| named.alias.as_str())
    }

    /// Goes so many levels down, if there is room for them; who goes there comes back by [`Self::leave`].
    pub(super) fn enter(&self, levels: usize) -> Option<()> {
        let depth = self.depth.get().saturating_add(levels);
        if depth > DEPTH_MAX {
            return None;
        }
        self.depth.set(depth);
        Some(())
    }

    pub(super) fn leave(&self, levels: usize) {
        self.depth.set(self.depth.get().saturating_sub(levels));
    }

    /// A name that no relation has that is written around it.
    pub(super) fn free_name(&self, wanted: &str, taken: &[Named]) -> String {
        let all = || self.levels.iter().flat_map(|level| &level.relations).chain(taken);
        let is_free = |name: &String| all().all(|named| named.shown != *name);
        let numbered = (1..).map(|number: u32| format!("{wanted}_{number}"));
        std::iter::once(wanted.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
    }
}
