//! What a `jsonpath` asks of items.
//!
//! What a path finds in a document is a part of it, as long as no method made it. A predicate is true of some part that its
//! paths find, in lax mode of an element of it where it is an array: both have an item of their own. An error is not true.

use super::items::{ItemHash, Kind, at_end, key_item, null_item, number_item, text_item, truth_item, way_on};
use super::{ItemClass, ItemOperator, Query};
use crate::types::{BinaryOp, Json, JsonPath, PathExpr, Step};

/// Which rows `document operator path` may be true of.
pub(super) fn path_query(class: ItemClass, column: usize, operator: ItemOperator, path: &JsonPath) -> Query {
    let asked = Asked { class, column };
    let root = Place { way: Some(ItemHash::new(column, Kind::Path)), is_part: true };
    match (operator, path.expr.is_predicate()) {
        (ItemOperator::PathMatches, true) => asked.holds(&path.expr, root),
        (ItemOperator::PathMatches, false) => asked.equals(&path.expr, &Json::Boolean(true), root),
        // The answer of a predicate is there, whatever it is.
        (_, true) => Query::All,
        (_, false) => asked.finds(&path.expr, root).0,
    }
}

#[derive(Clone, Copy)]
struct Asked {
    class: ItemClass,
    column: usize,
}

/// What `$` or `@` means.
#[derive(Clone, Copy)]
struct Place {
    /// The keys that lead to it; `None`: any.
    way: Option<ItemHash>,
    /// It is a part of the document.
    is_part: bool,
}

const ELSEWHERE: Place = Place { way: None, is_part: false };

impl Asked {
    /// What must be so for the expression to find anything, and where that is.
    fn finds(self, expr: &PathExpr, current: Place) -> (Query, Place) {
        match expr {
            PathExpr::Root => (Query::All, Place { way: Some(ItemHash::new(self.column, Kind::Path)), is_part: true }),
            PathExpr::Current => (Query::All, current),
            PathExpr::Steps(first, steps) => {
                let (query, mut place) = self.finds(first, current);
                let mut parts = vec![query];
                for step in steps {
                    match step {
                        Step::Key(name) => {
                            if place.is_part && self.class == ItemClass::Jsonb {
                                parts.push(Query::Item(key_item(self.column, name)));
                            }
                            place.way = place.way.map(|way| way_on(way, name));
                        }
                        Step::AnyElement | Step::Elements(_) => {}
                        Step::AnyKey | Step::Levels(..) => place.way = None,
                        Step::Filter(predicate) => parts.push(self.holds(predicate, place)),
                        Step::Method(_) | Step::Datetime(_) => place = ELSEWHERE,
                    }
                }
                (Query::and(parts), place)
            }
            _ => (Query::All, ELSEWHERE),
        }
    }

    /// What must be so for the predicate to be true.
    fn holds(self, predicate: &PathExpr, current: Place) -> Query {
        match predicate {
            PathExpr::Binary(BinaryOp::And, left, right) => {
                Query::and([self.holds(left, current), self.holds(right, current)])
            }
            PathExpr::Binary(BinaryOp::Or, left, right) => {
                Query::or([self.holds(left, current), self.holds(right, current)])
            }
            PathExpr::Binary(BinaryOp::Equal, left, right) => match (scalar(left), scalar(right)) {
                (None, Some(scalar)) => self.equals(left, &scalar, current),
                (Some(scalar), None) => self.equals(right, &scalar, current),
                _ => Query::and([self.finds(left, current).0, self.finds(right, current).0]),
            },
            PathExpr::Binary(op, left, right) if !op.is_arithmetic() => {
                Query::and([self.finds(left, current).0, self.finds(right, current).0])
            }
            PathExpr::Exists(expr) if !expr.is_predicate() => self.finds(expr, current).0,
            PathExpr::LikeRegex(expr, _) => self.finds(expr, current).0,
            _ => Query::All,
        }
    }

    /// What must be so for the expression to find the scalar.
    fn equals(self, expr: &PathExpr, scalar: &Json<'_>, current: Place) -> Query {
        let (found, place) = self.finds(expr, current);
        if !place.is_part {
            return found;
        }
        let column = self.column;
        let value = match (self.class, scalar) {
            (ItemClass::JsonbPath, scalar) => {
                let item = place.way.and_then(|way| at_end(way, scalar));
                item.map_or(Query::All, Query::Item)
            }
            (_, Json::String(text)) => {
                Query::or([Query::Item(key_item(column, text)), Query::Item(text_item(column, text))])
            }
            (_, Json::Number(number)) => Query::Item(number_item(column, number)),
            (_, Json::Boolean(value)) => Query::Item(truth_item(column, *value)),
            (_, Json::Null) => Query::Item(null_item(column)),
            _ => Query::All,
        };
        Query::and([found, value])
    }
}

/// `$name` is null where operators ask; what it is compared with is nobody's business here.
fn scalar(expr: &PathExpr) -> Option<Json<'_>> {
    Some(match expr {
        PathExpr::Null => Json::Null,
        PathExpr::Boolean(value) => Json::Boolean(*value),
        PathExpr::Number(number) => Json::Number(number.clone()),
        PathExpr::String(text) => Json::String(text),
        _ => return None,
    })
}
