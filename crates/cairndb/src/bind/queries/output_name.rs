//! What an output column is called when no alias says so: PostgreSQL's `FigureColname`.

use cairn_parser::{
    BaseType, Expr, Id, Indirection, List, Name, Query, QueryBody, SessionValue, SpecialForm, Tree, TypeName,
};

use crate::sql::name_text;

/// A name, and whether it is a strong one (a type's or CASE's name gives way to one from inside).
type Named<'t> = Option<(&'t str, bool)>;

/// The column's name.
pub(in crate::bind) fn output_name(tree: &Tree<'_>, expr: Id<Expr>) -> String {
    named(tree, expr).map_or("?column?", |(name, _)| name).to_owned()
}

fn named<'t>(tree: &'t Tree<'_>, expr: Id<Expr>) -> Named<'t> {
    let inner = |expr: Id<Expr>| named(tree, expr).filter(|(_, strong)| *strong);
    let strong = match tree.get(expr) {
        Expr::Column { names } | Expr::Call { name: names, .. } => return last_of(tree, names),
        Expr::Indirection { base, steps } => return field_of(tree, steps).or_else(|| named(tree, base)),
        Expr::Collate { operand, .. } => return named(tree, operand),
        Expr::Cast { operand, data_type } => {
            return inner(operand).or_else(|| Some((type_name(tree, data_type)?, false)));
        }
        Expr::TypedString { data_type, .. } => return Some((type_name(tree, data_type)?, false)),
        Expr::Case { otherwise, .. } => return otherwise.and_then(inner).or(Some(("case", false))),
        Expr::Subquery { query } => return subquery_name(tree, query),
        Expr::Special { form, .. } => special_name(form),
        Expr::SessionValue { value, .. } => session_value_name(value),
        Expr::Treat { data_type, .. } => type_name(tree, data_type)?,
        Expr::Exists { .. } => "exists",
        Expr::Extract { .. } => "extract",
        Expr::AtTimeZone { .. } => "timezone",
        Expr::Grouping { .. } => "grouping",
        Expr::Normalize { .. } => "normalize",
        Expr::IsNormalized { .. } => "is_normalized",
        Expr::Overlaps { .. } => "overlaps",
        Expr::Row { .. } => "row",
        Expr::Array { .. } | Expr::ArrayQuery { .. } => "array",
        Expr::XmlElement { .. } => "xmlelement",
        Expr::XmlForest { .. } => "xmlforest",
        Expr::XmlParse { .. } => "xmlparse",
        Expr::XmlPi { .. } => "xmlpi",
        Expr::XmlRoot { .. } => "xmlroot",
        Expr::XmlSerialize { .. } => "xmlserialize",
        Expr::XmlExists { .. } => "xmlexists",
        Expr::Null
        | Expr::Boolean { .. }
        | Expr::Integer { .. }
        | Expr::Number { .. }
        | Expr::String { .. }
        | Expr::BitString { .. }
        | Expr::HexString { .. }
        | Expr::Parameter { .. }
        | Expr::All { .. }
        | Expr::Binary { .. }
        | Expr::Unary { .. }
        | Expr::And { .. }
        | Expr::Or { .. }
        | Expr::Not { .. }
        | Expr::Quantified { .. }
        | Expr::QuantifiedQuery { .. }
        | Expr::Is { .. }
        | Expr::IsDistinct { .. }
        | Expr::IsJson { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::InList { .. }
        | Expr::InQuery { .. }
        | Expr::NamedArgument { .. }
        | Expr::Default => return None,
    };
    Some((strong, true))
}

fn last_of<'t>(tree: &'t Tree<'_>, names: List<Name>) -> Named<'t> {
    tree.list(names).next_back().map(|name| (name_text(tree, name), true))
}

fn field_of<'t>(tree: &'t Tree<'_>, steps: List<Indirection>) -> Named<'t> {
    tree.list(steps).rev().find_map(|step| match tree.get(step) {
        Indirection::Field { name } => Some((name_text(tree, name), true)),
        Indirection::All | Indirection::Index { .. } | Indirection::Slice { .. } => None,
    })
}

fn subquery_name<'t>(tree: &'t Tree<'_>, query: Id<Query>) -> Named<'t> {
    match tree.get(tree.get(query).body) {
        QueryBody::Select { targets, .. } => {
            let target = tree.get(tree.nth(targets, 0)?);
            target.alias.map_or_else(|| named(tree, target.expr), |alias| Some((name_text(tree, alias), true)))
        }
        QueryBody::SetOperation { left, .. } => subquery_name(tree, left),
        QueryBody::Values { .. } => Some(("column1", true)),
        QueryBody::Table { .. } => None,
    }
}

fn special_name(form: SpecialForm) -> &'static str {
    match form {
        SpecialForm::Coalesce => "coalesce",
        SpecialForm::NullIf => "nullif",
        SpecialForm::Greatest => "greatest",
        SpecialForm::Least => "least",
        SpecialForm::Overlay => "overlay",
        SpecialForm::Position => "position",
        SpecialForm::SubstringFrom
        | SpecialForm::SubstringFromFor
        | SpecialForm::SubstringFor
        | SpecialForm::SubstringSimilar => "substring",
        SpecialForm::TrimBoth => "btrim",
        SpecialForm::TrimLeading => "ltrim",
        SpecialForm::TrimTrailing => "rtrim",
        SpecialForm::CollationFor => "pg_collation_for",
        SpecialForm::XmlConcat => "xmlconcat",
    }
}

fn session_value_name(value: SessionValue) -> &'static str {
    match value {
        SessionValue::CurrentDate => "current_date",
        SessionValue::CurrentTime => "current_time",
        SessionValue::CurrentTimestamp => "current_timestamp",
        SessionValue::LocalTime => "localtime",
        SessionValue::LocalTimestamp => "localtimestamp",
        SessionValue::CurrentRole => "current_role",
        SessionValue::CurrentUser => "current_user",
        SessionValue::SessionUser => "session_user",
        SessionValue::User => "user",
        SessionValue::CurrentCatalog => "current_catalog",
        SessionValue::CurrentSchema => "current_schema",
    }
}

/// PostgreSQL's internal name of a type.
fn type_name<'t>(tree: &'t Tree<'_>, data_type: Id<TypeName>) -> Option<&'t str> {
    let TypeName { base, names, modifiers, .. } = tree.get(data_type);
    Some(match base {
        BaseType::Named => return last_of(tree, names).map(|(name, _)| name),
        BaseType::Boolean => "bool",
        BaseType::SmallInt => "int2",
        BaseType::Integer => "int4",
        BaseType::BigInt => "int8",
        BaseType::Real => "float4",
        BaseType::DoublePrecision => "float8",
        BaseType::Float => {
            let bits = tree.nth(modifiers, 0).and_then(|bits| tree.written(bits).parse::<u32>().ok());
            if bits.is_some_and(|bits| bits <= 24) { "float4" } else { "float8" }
        }
        BaseType::Numeric => "numeric",
        BaseType::Bit => "bit",
        BaseType::BitVarying => "varbit",
        BaseType::Character => "bpchar",
        BaseType::CharacterVarying => "varchar",
        BaseType::Time => "time",
        BaseType::TimeWithTimeZone => "timetz",
        BaseType::Timestamp => "timestamp",
        BaseType::TimestampWithTimeZone => "timestamptz",
        BaseType::Interval => "interval",
    })
}
