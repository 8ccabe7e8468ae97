//! Expressions as SQL-like text, as PostgreSQL's EXPLAIN writes them.

use super::expr::{Expr, QuantifiedOp, SequenceOp, SubqueryKind};
use super::window::{FrameBound, FrameExclusion, FrameUnit, WindowFrame};
use crate::functions::Operator;
use crate::plan::logical::SortKey;
use crate::plan::physical::Subplan;
use crate::types::{DataType, EvalContext, Value, to_text};

/// The names that an expression's columns have.
#[derive(Clone, Copy)]
pub(in crate::plan) struct Names<'n> {
    /// Of the row.
    pub(in crate::plan) columns: &'n [String],
    /// Of the outer rows, the nearest last.
    pub(in crate::plan) outer: &'n [Vec<String>],
}

impl Names<'_> {
    fn column(&self, index: usize) -> String {
        self.columns.get(index).cloned().unwrap_or_else(|| format!("?{index}?"))
    }

    fn outer(&self, level: usize, index: usize) -> String {
        let row = self.outer.len().checked_sub(level).and_then(|place| self.outer.get(place));
        row.and_then(|row| row.get(index)).cloned().unwrap_or_else(|| format!("outer{level}.?{index}?"))
    }

    /// The expression's text.
    pub(in crate::plan) fn print(&self, expr: &Expr) -> String {
        match expr {
            Expr::Literal { value, data_type } => literal(value, *data_type),
            Expr::Column { index, .. } => self.column(*index),
            Expr::Outer { level, index, .. } => self.outer(*level, *index),
            Expr::Parameter { index, .. } => format!("${}", index + 1),
            // Said of what was given: that a key is looked for by its own type is no part of the condition.
            Expr::Call { function, args } if function.is_nearest() => self.list(args),
            Expr::Call { function, args } => self.call(&function.name, function.op, args),
            Expr::Cast { input, to } => format!("({})::{to}", self.bare(input)),
            Expr::And(parts) => self.joined(parts, " AND "),
            Expr::Or(parts) => self.joined(parts, " OR "),
            Expr::Not(input) => self.negated(input),
            Expr::IsNull(input) => format!("({} IS NULL)", self.print(input)),
            Expr::IsNotDistinct(a, b) => format!("({} IS NOT DISTINCT FROM {})", self.print(a), self.print(b)),
            Expr::Case { branches, otherwise, .. } => self.case(branches, otherwise.as_deref()),
            Expr::Coalesce { args, .. } => format!("COALESCE({})", self.list(args)),
            Expr::InList { input, list, .. } => format!("({} = ANY ({{{}}}))", self.print(input), self.list(list)),
            Expr::Let { id, value, body } => format!("({} AS once{id}, {})", self.print(value), self.print(body)),
            Expr::Shared { id, .. } => format!("once{id}"),
            Expr::Subquery(_) => "(subquery)".into(),
            Expr::Subplan(subplan) => self.subplan(subplan),
            Expr::Sequence { op, name, value } => {
                let function = match op {
                    SequenceOp::Next => "nextval",
                    SequenceOp::Current => "currval",
                    SequenceOp::Last => return "lastval()".to_owned(),
                    SequenceOp::Set | SequenceOp::SetNext => "setval",
                    SequenceOp::LastValue => "last_value",
                    SequenceOp::LogCount => "log_cnt",
                    SequenceOp::IsCalled => "is_called",
                };
                let value = value.as_ref().map(|value| format!(", {}", self.print(value))).unwrap_or_default();
                format!("{function}({}{value})", self.print(name))
            }
        }
    }

    /// Without the outer parentheses, where nothing needs them.
    fn bare(&self, expr: &Expr) -> String {
        let text = self.print(expr);
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        match (expr, inner) {
            (Expr::Call { .. } | Expr::And(_) | Expr::Or(_) | Expr::IsNull(_), Some(inner)) => inner.to_owned(),
            _ => text,
        }
    }

    /// Several, separated by commas.
    pub(in crate::plan) fn list<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> String {
        let texts: Vec<String> = exprs.into_iter().map(|expr| self.print(expr)).collect();
        texts.join(", ")
    }

    /// A window, as OVER has it.
    pub(in crate::plan) fn window(&self, partition_by: &[Expr], order_by: &[SortKey], frame: &WindowFrame) -> String {
        let mut parts = vec![];
        if !partition_by.is_empty() {
            parts.push(format!("PARTITION BY {}", self.list(partition_by)));
        }
        if !order_by.is_empty() {
            let keys: Vec<String> = order_by.iter().map(|key| self.sort_key(key)).collect();
            parts.push(format!("ORDER BY {}", keys.join(", ")));
        }
        parts.extend(self.frame(frame));
        format!("({})", parts.join(" "))
    }

    /// What is said of a frame, unless it is as if nothing was.
    fn frame(&self, frame: &WindowFrame) -> Option<String> {
        let WindowFrame { unit, start, end, exclusion } = frame;
        let is_default = *unit == FrameUnit::Range
            && matches!((start, end), (FrameBound::UnboundedPreceding, FrameBound::CurrentRow))
            && *exclusion == FrameExclusion::NoOthers;
        if is_default {
            return None;
        }
        let unit = match unit {
            FrameUnit::Range => "RANGE",
            FrameUnit::Rows => "ROWS",
            FrameUnit::Groups => "GROUPS",
        };
        let exclusion = match exclusion {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        };
        Some(format!("{unit} BETWEEN {} AND {}{exclusion}", self.frame_bound(start), self.frame_bound(end)))
    }

    fn frame_bound(&self, bound: &FrameBound) -> String {
        match bound {
            FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
            FrameBound::Preceding(offset) => format!("{} PRECEDING", self.print(offset)),
            FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
            FrameBound::Following(offset) => format!("{} FOLLOWING", self.print(offset)),
            FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
        }
    }

    fn joined(&self, parts: &[Expr], separator: &str) -> String {
        let texts: Vec<String> = parts.iter().map(|part| self.print(part)).collect();
        format!("({})", texts.join(separator))
    }

    fn call(&self, name: &str, op: Option<Operator>, args: &[Expr]) -> String {
        match (op, args) {
            (Some(_), [left, right]) => format!("({} {name} {})", self.print(left), self.print(right)),
            _ if name == "ARRAY" => format!("ARRAY[{}]", self.list(args)),
            (None, [left, right]) if name.starts_with(is_symbol) => self.infix(left, name, right),
            (Some(_), [only]) => format!("({name} {})", self.print(only)),
            _ => format!("{name}({})", self.list(args)),
        }
    }

    /// `a @> b`, `a = ANY (b)`
    fn infix(&self, left: &Expr, name: &str, right: &Expr) -> String {
        let (left, right) = (self.print(left), self.print(right));
        match name.contains(' ') {
            true => format!("({left} {name} ({right}))"),
            false => format!("({left} {name} {right})"),
        }
    }

    fn negated(&self, input: &Expr) -> String {
        match input {
            Expr::IsNull(input) => format!("({} IS NOT NULL)", self.print(input)),
            Expr::IsNotDistinct(a, b) => format!("({} IS DISTINCT FROM {})", self.print(a), self.print(b)),
            other => format!("(NOT {})", self.print(other)),
        }
    }

    fn case(&self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> String {
        let mut text = String::from("CASE");
        for (when, then) in branches {
            text.push_str(&format!(" WHEN {} THEN {}", self.print(when), self.print(then)));
        }
        if let Some(otherwise) = otherwise {
            text.push_str(&format!(" ELSE {}", self.print(otherwise)));
        }
        text + " END"
    }

    fn subplan(&self, subplan: &Subplan) -> String {
        let name = subplan_name(subplan);
        match &subplan.kind {
            SubqueryKind::Scalar { .. } => format!("({name})"),
            SubqueryKind::Exists => format!("EXISTS({name})"),
            SubqueryKind::Quantified { left, ops, quantifier } => {
                let quantifier = match quantifier {
                    QuantifiedOp::Any => "ANY",
                    QuantifiedOp::All => "ALL",
                };
                let op = ops.first().map_or("=", |op| &*op.name);
                format!("({} {op} {quantifier} ({name}))", self.list(left))
            }
        }
    }

    /// A sort key.
    pub(in crate::plan) fn sort_key(&self, key: &SortKey) -> String {
        let mut text = self.bare(&key.expr);
        if key.descending {
            text.push_str(" DESC");
        }
        match (key.descending, key.nulls_first) {
            (false, true) => text.push_str(" NULLS FIRST"),
            (true, false) => text.push_str(" NULLS LAST"),
            _ => {}
        }
        text
    }
}

/// What EXPLAIN calls a subplan.
pub(in crate::plan) fn subplan_name(subplan: &Subplan) -> String {
    let number = subplan.id + 1;
    match (&subplan.kind, subplan.depends_on.is_empty()) {
        (SubqueryKind::Quantified { .. }, true) => format!("hashed SubPlan {number}"),
        (_, true) => format!("InitPlan {number}"),
        (_, false) => format!("SubPlan {number}"),
    }
}

/// What operators' names are made of.
fn is_symbol(c: char) -> bool {
    !c.is_alphanumeric() && !matches!(c, '_' | '"' | ' ')
}

fn literal(value: &Value, data_type: DataType) -> String {
    let context = EvalContext::default();
    match value {
        Value::Null => format!("NULL::{data_type}"),
        Value::Boolean(_) | Value::SmallInt(_) | Value::Integer(_) => text_of(value, &context),
        _ => format!("'{}'::{data_type}", text_of(value, &context).replace('\'', "''")),
    }
}

fn text_of(value: &Value, context: &EvalContext) -> String {
    match value {
        Value::Boolean(value) => value.to_string(),
        other => to_text(other, context),
    }
}
