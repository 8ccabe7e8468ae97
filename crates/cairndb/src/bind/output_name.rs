//! What an output column is called when no alias says so: PostgreSQL's `FigureColname`.

use sqlparser::ast::{self, Expr, SelectItem, SetExpr};

use super::binder::fold;
use crate::types::DataType;

/// The column's name.
pub(super) fn output_name(expr: &Expr) -> String {
    named(expr).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// A name, and whether it is a strong one (a type's or CASE's name gives way to one from inside).
fn named(expr: &Expr) -> Option<(String, bool)> {
    let strong = |name: &str| Some((name.to_owned(), true));
    match expr {
        Expr::Identifier(ident) => Some((fold(ident), true)),
        Expr::CompoundIdentifier(idents) => idents.last().map(|ident| (fold(ident), true)),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => named(inner),
        Expr::Function(function) => function.name.0.last().and_then(|part| part.as_ident()).map(|i| (fold(i), true)),
        Expr::Cast { expr, data_type, .. } => {
            named(expr).filter(|(_, strong)| *strong).or_else(|| Some((type_name(data_type)?, false)))
        }
        Expr::TypedString(typed) => Some((type_name(&typed.data_type)?, false)),
        Expr::Interval(_) => Some(("interval".to_owned(), false)),
        Expr::Case { else_result, .. } => {
            let inner = else_result.as_deref().and_then(named).filter(|(_, strong)| *strong);
            inner.or_else(|| Some(("case".to_owned(), false)))
        }
        Expr::Exists { negated: false, .. } => strong("exists"),
        Expr::Subquery(query) => subquery_name(&query.body),
        Expr::Extract { .. } => strong("extract"),
        Expr::Substring { shorthand, .. } => strong(if *shorthand { "substr" } else { "substring" }),
        Expr::Position { .. } => strong("position"),
        Expr::Overlay { .. } => strong("overlay"),
        Expr::Ceil { .. } => strong("ceil"),
        Expr::Floor { .. } => strong("floor"),
        Expr::AtTimeZone { .. } => strong("timezone"),
        Expr::Trim { trim_where, .. } => strong(match trim_where {
            Some(ast::TrimWhereField::Leading) => "ltrim",
            Some(ast::TrimWhereField::Trailing) => "rtrim",
            _ => "btrim",
        }),
        Expr::Tuple(_) => strong("row"),
        Expr::Array(_) => strong("array"),
        _ => None,
    }
}

fn subquery_name(body: &SetExpr) -> Option<(String, bool)> {
    match body {
        SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::ExprWithAlias { alias, .. } => Some((fold(alias), true)),
            SelectItem::UnnamedExpr(expr) => named(expr),
            _ => None,
        },
        SetExpr::SetOperation { left, .. } => subquery_name(left),
        SetExpr::Query(query) => subquery_name(&query.body),
        SetExpr::Values(_) => Some(("column1".to_owned(), true)),
        _ => None,
    }
}

/// PostgreSQL's internal name of a type.
fn type_name(data_type: &ast::DataType) -> Option<String> {
    let name = match DataType::from_ast(data_type).ok()? {
        DataType::Boolean => "bool",
        DataType::SmallInt => "int2",
        DataType::Integer => "int4",
        DataType::BigInt => "int8",
        DataType::Real => "float4",
        DataType::Double => "float8",
        DataType::Numeric(_) => "numeric",
        DataType::Text => "text",
        DataType::Varchar(_) => "varchar",
        DataType::Char(_) => "bpchar",
        DataType::Bytea => "bytea",
        DataType::Date => "date",
        DataType::Time => "time",
        DataType::Timestamp => "timestamp",
        DataType::TimestampTz => "timestamptz",
        DataType::Interval => "interval",
        DataType::Uuid => "uuid",
        DataType::Unknown => return None,
    };
    Some(name.to_owned())
}
