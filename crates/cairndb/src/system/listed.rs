//! The list of the system's relations, and of their columns in PostgreSQL's order: `relations.txt`.

use std::sync::LazyLock;

use super::relation::Made;
use super::{SystemRelation, information_schema, pg_catalog};
use crate::catalog::RelationKind;
use crate::types::{DataType, TYPES};

static RELATIONS: LazyLock<Vec<SystemRelation>> = LazyLock::new(|| read(include_str!("relations.txt")));

/// The relation of this name in a schema of the system's.
pub(super) fn relation(schema: &str, name: &str) -> Option<&'static SystemRelation> {
    RELATIONS.iter().find(|relation| relation.name == name && relation.schema == schema)
}

/// PostgreSQL's oid of one that others refer to.
pub(super) fn oid_of_relation(name: &str) -> Option<i64> {
    relation("pg_catalog", name)?.oid
}

/// The name of the relation with this oid.
pub(super) fn relation_of_oid(oid: i64) -> Option<&'static str> {
    RELATIONS.iter().find(|relation| relation.oid == Some(oid)).map(|relation| relation.name)
}

/// A line that is not indented begins a relation: what it is, its name, perhaps its oid, and whether it is empty. The others are its columns.
fn read(list: &'static str) -> Vec<SystemRelation> {
    let mut relations: Vec<SystemRelation> = Vec::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        match (line.starts_with(' '), words.next(), words.next()) {
            (true, Some(column), Some(data_type)) => {
                let columns = relations.last_mut().map(|relation| &mut relation.columns);
                columns.into_iter().for_each(|columns| columns.push((column, type_of(data_type))));
            }
            (false, Some(kind), Some(name)) => {
                let (schema, name) = name.split_once('.').unwrap_or_default();
                let kind = if kind == "view" { RelationKind::View } else { RelationKind::Table };
                let oid = words.next().and_then(|oid| oid.parse().ok());
                let columns = Vec::new();
                relations.push(SystemRelation { schema, name, oid, kind, columns, made: made(schema, name) });
            }
            _ => {}
        }
    }
    relations
}

/// The type by its name in `pg_type`, behind which its elements' `[]` or a length may stand. (A test holds that each is one.)
fn type_of(word: &str) -> DataType {
    if let Some(element) = word.strip_suffix("[]") {
        return type_of(element).array().unwrap_or(DataType::Unknown);
    }
    let (name, length) = word.split_once('(').unwrap_or((word, ""));
    let base = TYPES.iter().find(|info| info.catalog_name == name).map(|info| info.base);
    let vectors = [("int2vector", DataType::INT2VECTOR), ("oidvector", DataType::OIDVECTOR)];
    let vector = || vectors.into_iter().find(|(vector, _)| *vector == name).map(|(_, of)| of);
    let length: Option<u32> = length.trim_end_matches(')').parse().ok();
    match base.or_else(vector).unwrap_or(DataType::Unknown) {
        DataType::Varchar(_) => DataType::Varchar(length),
        DataType::TimestampTz(_) => DataType::TimestampTz(length.and_then(|digits| digits.try_into().ok())),
        other => other,
    }
}

fn made(schema: &str, name: &str) -> Made {
    let of_schema = if schema == "pg_catalog" { pg_catalog::MADE } else { information_schema::MADE };
    let statistics = pg_catalog::STATISTICS.iter().filter(|_| schema == "pg_catalog");
    let found = of_schema.iter().chain(statistics).find(|(relation, _)| *relation == name);
    found.map_or(Made::Nothing, |(_, made)| *made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_relation_is_there_once_with_columns_of_known_types() {
        let mut names: Vec<(&str, &str)> = RELATIONS.iter().map(|relation| (relation.schema, relation.name)).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(names.len() > 150 && twice.is_empty(), "{twice:?}");
        for relation in RELATIONS.iter() {
            assert!(matches!(relation.schema, "pg_catalog" | "information_schema"), "{relation:?}");
            assert!(!relation.columns.is_empty(), "{relation:?}");
            assert!(relation.columns.iter().all(|(_, data_type)| *data_type != DataType::Unknown), "{relation:?}");
            let mut columns: Vec<&str> = relation.columns.iter().map(|(column, _)| *column).collect();
            columns.sort_unstable();
            assert!(columns.windows(2).all(|pair| pair[0] != pair[1]), "{relation:?}");
        }
    }

    #[test]
    fn a_relation_without_rows_says_so() {
        for line in include_str!("relations.txt").lines().filter(|line| !line.starts_with(['#', ' '])) {
            let name = line.split_whitespace().nth(1).and_then(|name| name.split_once('.'));
            let relation = name.and_then(|(schema, name)| relation(schema, name)).expect(line);
            assert_eq!(line.ends_with(" empty"), matches!(relation.made, Made::Nothing), "{line}");
        }
    }

    #[test]
    fn all_that_is_made_is_listed() {
        let pg_catalog = pg_catalog::MADE.iter().chain(pg_catalog::STATISTICS).map(|(name, _)| ("pg_catalog", name));
        for (schema, name) in
            pg_catalog.chain(information_schema::MADE.iter().map(|(name, _)| ("information_schema", name)))
        {
            assert!(relation(schema, name).is_some(), "{schema}.{name}");
        }
    }
}
