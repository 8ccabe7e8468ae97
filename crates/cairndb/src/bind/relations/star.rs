//! `*` written out: a view keeps the columns that it had when it was made, whatever its tables get later.

use cairn_parser::Span;
use cairn_parser::token::quoted;

use super::scope::{Relation, Scope};
use crate::plan::{Expr, same_expr};

/// What stands for each `*`, `t.*` and `TABLE t` of a query, by its place in the text.
#[derive(Debug, Default)]
pub(in crate::bind) struct Stars {
    written: Vec<(Span, String)>,
}

impl Stars {
    /// Notes what `*` stands for. One that cannot be said by names is left: only a subquery whose columns share a name
    /// needs that, and its own `*` is written out.
    pub(in crate::bind) fn note(&mut self, span: Span, columns: Option<Vec<String>>) {
        if let Some(columns) = columns {
            self.replace(span, columns.join(", "));
        }
    }

    /// Notes what `TABLE relation` stands for.
    pub(in crate::bind) fn note_table(&mut self, span: Span, columns: Option<Vec<String>>, relation: &str) {
        if let Some(columns) = columns {
            self.replace(span, format!("SELECT {} FROM {relation}", columns.join(", ")));
        }
    }

    /// What is bound twice is noted once.
    fn replace(&mut self, span: Span, text: String) {
        if self.written.iter().all(|(noted, _)| *noted != span) {
            self.written.push((span, text));
        }
    }

    /// The part of `source` at `whole` with every `*` written out.
    pub(in crate::bind) fn written_out(mut self, source: &str, whole: Span) -> String {
        self.written.sort_by_key(|(span, _)| span.start);
        let mut out = String::new();
        let mut at = whole.start as usize;
        for (span, columns) in &self.written {
            out.push_str(source.get(at..span.start as usize).unwrap_or_default());
            out.push_str(columns);
            at = span.end as usize;
        }
        out.push_str(source.get(at..whole.end as usize).unwrap_or_default());
        out
    }
}

/// The columns that `*` sees, by name.
pub(in crate::bind) fn every_name(scope: &Scope) -> Option<Vec<String>> {
    let of_relation = |name: &str, expr: &Expr| {
        let mut relations = scope.relations.iter();
        relations.find_map(|relation| qualified(relation, name).filter(|_| has(relation, name, expr)))
    };
    let is_only = |name: &str| scope.columns().filter(|(other, _)| *other == name).count() == 1;
    let columns = scope.columns().map(|(name, expr)| {
        // Two columns that USING made one have no relation.
        of_relation(name, &expr).or_else(|| is_only(name).then(|| quoted(name)))
    });
    columns.collect()
}

/// The columns that `alias.*` sees, by name.
pub(in crate::bind) fn names_of(relation: &Relation) -> Option<Vec<String>> {
    relation.columns().map(|(name, _)| qualified(relation, name)).collect()
}

fn has(relation: &Relation, name: &str, expr: &Expr) -> bool {
    relation.columns().any(|(other, other_expr)| other == name && same_expr(&other_expr, expr))
}

/// `alias.name`, if that means one column.
fn qualified(relation: &Relation, name: &str) -> Option<String> {
    let is_one = relation.columns().filter(|(other, _)| *other == name).count() == 1;
    (is_one && !relation.alias.is_empty()).then(|| format!("{}.{}", quoted(&relation.alias), quoted(name)))
}
