//! What a filter says, as a condition of SQL over the columns of a collection.
//!
//! A comparison is that of `jsonb`, so that an index of the path answers it. Where something is missing it is NULL, which `AND` and `OR` hand on
//! as far as the WHERE, to which it is no more than false; NOT is the one that has to say so (`IS NOT TRUE`).

use std::fmt::Write as _;

use super::parse::{Condition, Filter, Operand, Place, Range};
use super::{literal, wrong};
use crate::catalog::collection::{DOC, ID, VERSION};
use crate::documents::id::IdKind;
use crate::types::{JsonKind as Kind, Jsonb};
use crate::{Result, Value};

/// The parameters of a statement that is being written.
pub(crate) struct Asked {
    pub(crate) ids: IdKind,
    pub(crate) params: Vec<Value>,
    /// Of arrays so far, which have names of their own.
    elements: usize,
}

impl Asked {
    pub(crate) fn new(ids: IdKind) -> Asked {
        Asked { ids, params: Vec::new(), elements: 0 }
    }

    /// A value, as SQL names it.
    pub(crate) fn param(&mut self, value: Value) -> String {
        let mut name = String::new();
        self.write_param(value, &mut name);
        name
    }

    /// Writes the same.
    pub(crate) fn write_param(&mut self, value: Value, sql: &mut String) {
        self.params.push(value);
        sql.push('$');
        // A String takes all that is written to it.
        let _ = write!(sql, "{}", self.params.len());
    }
}

/// The filter of whole documents as a condition.
pub(crate) fn condition(filter: &Filter, asked: &mut Asked) -> Result<String> {
    let mut sql = String::new();
    write(&filter.0, DOC, asked, &mut sql)?;
    Ok(sql)
}

/// `document`: what paths begin in. (What is asked most is written where it is to stand.)
fn write(of: &Condition, document: &str, asked: &mut Asked, sql: &mut String) -> Result<()> {
    let Condition::Equal(place, operand) = of else {
        sql.push_str(&written(of, document, asked)?);
        return Ok(());
    };
    match asked.value_of(place, operand)? {
        Some(value) => {
            sql.push('(');
            write_value_at(place, document, sql);
            sql.push_str(" = ");
            asked.write_param(value, sql);
            sql.push(')');
        }
        None => sql.push_str("false"),
    }
    Ok(())
}

fn written(of: &Condition, document: &str, asked: &mut Asked) -> Result<String> {
    let list = |all: &[Condition], word: &str, none: &str, asked: &mut Asked| {
        let mut list = String::new();
        for each in all {
            list.push_str(if list.is_empty() { "(" } else { word });
            write(each, document, asked, &mut list)?;
        }
        list.push_str(if all.is_empty() { none } else { ")" });
        Ok(list)
    };
    match of {
        Condition::All(all) => list(all, " AND ", "true", asked),
        Condition::Any(all) => list(all, " OR ", "false", asked),
        Condition::Not(inner) => Ok(format!("({} IS NOT TRUE)", written(inner, document, asked)?)),
        Condition::Exists(place) => Ok(format!("({} IS NOT NULL)", value_at(place, document))),
        Condition::Equal(..) => {
            let mut equal = String::new();
            write(of, document, asked, &mut equal)?;
            Ok(equal)
        }
        Condition::In(place, operands) => {
            let values = operands.iter().filter_map(|operand| asked.operand(place, operand).transpose());
            let values = values.collect::<Result<Vec<_>>>()?;
            Ok(match values.is_empty() {
                true => "false".to_owned(),
                false => format!("({} IN ({}))", value_at(place, document), values.join(", ")),
            })
        }
        Condition::Range(place, range, operand) => in_range(place, *range, operand, document, asked),
        Condition::Matches { place, pattern, ignore_case } => {
            let (at, pattern) = (value_at(place, document), asked.param(Value::text(pattern.as_str())));
            let operator = if *ignore_case { "~*" } else { "~" };
            Ok(format!("(jsonb_typeof({at}) = 'string' AND ({at} #>> '{{}}') {operator} {pattern})"))
        }
        Condition::Element(place, inner) => element(place, inner, document, asked),
    }
}

fn in_range(place: &Place, range: Range, operand: &Operand, document: &str, asked: &mut Asked) -> Result<String> {
    let (at, value) = (value_at(place, document), asked.operand(place, operand)?);
    let Some(value) = value else { return Err(wrong("$id is compared with what is no id of the collection")) };
    let operator = match range {
        Range::Less => "<",
        Range::LessOrEqual => "<=",
        Range::Greater => ">",
        Range::GreaterOrEqual => ">=",
    };
    Ok(match place {
        Place::Id | Place::Version => format!("({at} {operator} {value})"),
        // Values of another kind come before or behind all of this one.
        Place::Path(_) | Place::Whole => {
            format!("({at} {operator} {value} AND jsonb_typeof({at}) = {})", literal(operand.kind.name()))
        }
    })
}

fn element(place: &Place, inner: &Condition, document: &str, asked: &mut Asked) -> Result<String> {
    let at = value_at(place, document);
    // Which an inverted index finds.
    if let Condition::Equal(Place::Whole, operand) = inner
        && operand.kind.is_scalar()
    {
        let array = Value::Jsonb(format!("[{}]", operand.value).parse::<Jsonb>()?);
        return Ok(format!("({at} @> {})", asked.param(array)));
    }
    asked.elements += 1;
    let element = format!("e{}", asked.elements);
    let inner = written(inner, &format!("{element}.{DOC}"), asked)?;
    Ok(format!(
        "EXISTS (SELECT 1 FROM jsonb_array_elements(CASE WHEN jsonb_typeof({at}) = 'array' THEN {at} END) AS {element} ({DOC}) WHERE {inner})"
    ))
}

/// What lies at a place, in SQL.
pub(crate) fn value_at(place: &Place, document: &str) -> String {
    let mut sql = String::new();
    write_value_at(place, document, &mut sql);
    sql
}

fn write_value_at(place: &Place, document: &str, sql: &mut String) {
    match place {
        Place::Path(path) => path.write_sql(document, sql),
        Place::Whole => sql.push_str(document),
        Place::Id => sql.push_str(ID),
        Place::Version => sql.push_str(VERSION),
    }
}

impl Asked {
    /// What a place is compared with, as a parameter; `None`: nothing there is equal to it.
    fn operand(&mut self, place: &Place, operand: &Operand) -> Result<Option<String>> {
        Ok(self.value_of(place, operand)?.map(|value| self.param(value)))
    }

    fn value_of(&self, place: &Place, operand: &Operand) -> Result<Option<Value>> {
        let text = || operand.value.to_string();
        Ok(match (place, operand.kind) {
            (Place::Path(_) | Place::Whole, _) => Some(Value::Jsonb(operand.value.clone())),
            (Place::Version, _) => match text().parse::<i64>() {
                Ok(version) => Some(Value::BigInt(version)),
                Err(_) => return Err(wrong("$version is compared with what is no whole number")),
            },
            (Place::Id, Kind::String) => self.ids.of_text(&operand.string()?),
            (Place::Id, _) => self.ids.of_number(&text()),
        })
    }
}
