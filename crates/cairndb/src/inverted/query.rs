//! What an operator asks of items. It is true of no row that the query does not find; of those that it finds it must be asked
//! again.

use super::items::{ItemHash, Kind};
use super::items::{elements, key_item, no_elements, null_element, of_document, of_paths};
use super::path::path_query;
use super::{Item, ItemClass, ItemOperator};
use crate::Result;
use crate::types::{DataType, Value};

/// Which rows are asked for, by their items.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Query {
    /// Items do not tell.
    All,
    None,
    Item(Item),
    /// Two or more, none of which is `All` or `None`.
    And(Vec<Query>),
    /// As `And`.
    Or(Vec<Query>),
}

impl Query {
    pub(crate) fn and(parts: impl IntoIterator<Item = Query>) -> Query {
        let mut all = vec![];
        for part in parts {
            match part {
                Query::All => {}
                Query::None => return Query::None,
                Query::And(parts) => all.extend(parts),
                part => all.push(part),
            }
        }
        match all.len() {
            0 => Query::All,
            1 => all.remove(0),
            _ => Query::And(all),
        }
    }

    pub(crate) fn or(parts: impl IntoIterator<Item = Query>) -> Query {
        let mut all = vec![];
        for part in parts {
            match part {
                Query::All => return Query::All,
                Query::None => {}
                Query::Or(parts) => all.extend(parts),
                part => all.push(part),
            }
        }
        match all.len() {
            0 => Query::None,
            1 => all.remove(0),
            _ => Query::Or(all),
        }
    }

    fn all_of(items: impl IntoIterator<Item = Item>) -> Query {
        Query::and(items.into_iter().map(Query::Item))
    }

    fn any_of(items: impl IntoIterator<Item = Item>) -> Query {
        Query::or(items.into_iter().map(Query::Item))
    }

    /// The rows of which the operator may be true. `column`: which of the index's columns it is asked of, `data_type`: its type.
    pub(crate) fn of(
        (class, column, data_type): (ItemClass, usize, DataType),
        operator: ItemOperator,
        value: &Value,
    ) -> Result<Query> {
        use ItemOperator as O;
        Ok(match (operator, value) {
            (_, Value::Null) => Query::None,
            (O::Contains, Value::Jsonb(document)) => {
                let mut items = vec![];
                match class {
                    ItemClass::JsonbPath => of_paths(ItemHash::new(column, Kind::Path), document.root(), &mut items)?,
                    _ => of_document(column, document.root(), true, &mut items)?,
                }
                Query::all_of(distinct(items))
            }
            (O::Exists, Value::Text(name)) => Query::Item(key_item(column, name)),
            (O::ExistsAny | O::ExistsAll, Value::Array(names)) => {
                let names = names.values().iter().filter_map(Value::as_str).map(|name| key_item(column, name));
                let items = distinct(names.collect());
                match operator {
                    O::ExistsAny => Query::any_of(items),
                    _ => Query::all_of(items),
                }
            }
            (O::PathExists | O::PathMatches, Value::JsonPath(path)) => path_query(class, column, operator, path),
            (O::Contains, Value::Array(array)) => match array.values().iter().any(Value::is_null) {
                true => Query::None,
                false => Query::all_of(distinct(elements(column, array, data_type).collect())),
            },
            (O::Overlaps | O::ContainedBy, Value::Array(array)) => {
                let null = null_element(column);
                let mut items: Vec<Item> = elements(column, array, data_type).filter(|item| *item != null).collect();
                if operator == O::ContainedBy {
                    items.push(no_elements(column));
                }
                Query::any_of(distinct(items))
            }
            (O::Equal, Value::Array(array)) if array.values().is_empty() => Query::Item(no_elements(column)),
            (O::Equal, Value::Array(array)) => Query::all_of(distinct(elements(column, array, data_type).collect())),
            _ => Query::All,
        })
    }
}

fn distinct(mut items: Vec<Item>) -> Vec<Item> {
    items.sort_unstable();
    items.dedup();
    items
}
