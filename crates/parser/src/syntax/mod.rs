//! What the tree's nodes are. Each `syntax!` is a family of kinds; [`FAMILIES`] lists them by number.

mod dml;
mod expr;
mod from;
mod names;
mod query;
mod statement;
mod types;
mod utility;
mod xml;

pub use dml::*;
pub use expr::*;
pub use from::*;
pub use names::*;
pub use query::*;
pub use statement::*;
pub use types::*;
pub use utility::*;
pub use xml::*;

use crate::tree::KindInfo;

/// The kinds of every family, at the family's number. A kind's number is its family's times 256 plus its place.
static FAMILIES: &[&[KindInfo]] = &[
    Name::KINDS,
    Statement::KINDS,
    Expr::KINDS,
    Operator::KINDS,
    Indirection::KINDS,
    When::KINDS,
    CallTail::KINDS,
    Over::KINDS,
    WindowSpec::KINDS,
    Frame::KINDS,
    FrameBound::KINDS,
    TypeName::KINDS,
    ArrayBound::KINDS,
    Query::KINDS,
    QueryBody::KINDS,
    With::KINDS,
    Cte::KINDS,
    SearchClause::KINDS,
    CycleClause::KINDS,
    Target::KINDS,
    Into::KINDS,
    Row::KINDS,
    GroupItem::KINDS,
    WindowDefinition::KINDS,
    SortKey::KINDS,
    Locking::KINDS,
    QualifiedName::KINDS,
    TableRef::KINDS,
    FunctionItem::KINDS,
    FunctionColumn::KINDS,
    Alias::KINDS,
    TableSample::KINDS,
    XmlTable::KINDS,
    XmlNamespace::KINDS,
    XmlColumn::KINDS,
    XmlAttribute::KINDS,
    Relation::KINDS,
    AssignmentTarget::KINDS,
    Assignment::KINDS,
    Insert::KINDS,
    OnConflict::KINDS,
    IndexElement::KINDS,
    Returning::KINDS,
    Update::KINDS,
    Delete::KINDS,
    Merge::KINDS,
    MergeClause::KINDS,
    MergeAction::KINDS,
    StorageOption::KINDS,
    OptionValue::KINDS,
    Part::KINDS,
];

/// Every kind of node that a tree may have.
pub fn kinds() -> impl Iterator<Item = &'static KindInfo> {
    FAMILIES.iter().copied().flatten()
}

/// What is known of the kind with this number.
pub(crate) fn kind_info(kind: u16) -> &'static KindInfo {
    &FAMILIES[usize::from(kind >> 8)][usize::from(kind & 0xff)]
}
