//! Expressions.

use turso_parser::ast::{Expr, Literal, Name, Type, UnaryOperator};

use super::moments;
use super::scope::{Relation, Scope};
use super::value::{Form, Found, Kind, Value, level, quoted_bytes};
use crate::import::sqlite::names::Names;

/// Translates what stands in one statement.
pub struct Translator<'a> {
    pub(super) names: &'a Names,
    /// What is there already.
    pub(super) relations: &'a [Relation],
    /// Of WITH, the innermost last.
    pub(super) with: Vec<Relation>,
    /// Of the queries around, the innermost last.
    pub(super) scopes: Vec<Scope>,
    changes: Vec<String>,
}

impl<'a> Translator<'a> {
    pub fn new(names: &'a Names, relations: &'a [Relation]) -> Translator<'a> {
        Translator { names, relations, with: Vec::new(), scopes: Vec::new(), changes: Vec::new() }
    }

    /// For expressions over the rows of one table.
    pub fn of_table(names: &'a Names, relation: &'a Relation) -> Translator<'a> {
        let mut translator = Translator::new(names, std::slice::from_ref(relation));
        let source =
            super::scope::Source { alias: relation.name.clone(), relation: relation.clone(), merged: Vec::new() };
        translator.scopes.push(Scope { sources: vec![source], aliases: Vec::new() });
        translator
    }

    /// How the meaning differs, as far as it does.
    pub fn changes(self) -> Vec<String> {
        self.changes
    }

    pub(super) fn change(&mut self, change: &str) {
        if !self.changes.iter().any(|known| known == change) {
            self.changes.push(change.to_string());
        }
    }

    pub fn expression(&mut self, expression: &Expr) -> Found {
        match expression {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Id(name) | Expr::Name(name) => self.name(name),
            Expr::Qualified(table, column) => self.column(table, column),
            Expr::DoublyQualified(_, table, column) => self.column(table, column),
            Expr::Parenthesized(inner) => match inner.as_slice() {
                [inner] => self.expression(inner),
                _ => Err("a row of several values has no translation".to_string()),
            },
            Expr::Binary(left, operator, right) => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                self.binary(left, *operator, right)
            }
            Expr::Unary(operator, operand) => self.unary(*operator, operand),
            Expr::Between { lhs, not, start, end } => {
                let (value, start, end) = (self.expression(lhs)?, self.expression(start)?, self.expression(end)?);
                self.between(value, *not, start, end)
            }
            Expr::InList { lhs, not, rhs } => {
                let (value, list) = (self.expression(lhs)?, self.expressions(rhs)?);
                self.in_list(value, *not, list)
            }
            Expr::InSelect { lhs, not, rhs } => self.in_query(lhs, *not, rhs),
            Expr::Like { lhs, not, op, rhs, escape } => {
                let escape = escape.as_ref().map(|escape| self.expression(escape)).transpose()?;
                let (value, pattern) = (self.expression(lhs)?, self.expression(rhs)?);
                self.like(value, *not, *op, pattern, escape)
            }
            Expr::IsNull(operand) => self.null_test(operand, "IS NULL"),
            Expr::NotNull(operand) => self.null_test(operand, "IS NOT NULL"),
            Expr::Case { base, when_then_pairs, else_expr } => {
                self.case(base.as_deref(), when_then_pairs, else_expr.as_deref())
            }
            Expr::Cast { expr, type_name } => self.cast(expr, type_name.as_ref()),
            Expr::Collate(operand, collation) => {
                if !collation.as_str().eq_ignore_ascii_case("BINARY") {
                    self.change(&format!("compares by characters, without COLLATE {}", collation.as_str()));
                }
                self.expression(operand)
            }
            Expr::Exists(query) => Ok(Value::atom(format!("EXISTS ({})", self.query(query)?.text), Kind::Boolean)),
            Expr::Subquery(query) => self.scalar_query(query),
            Expr::FunctionCall { .. } | Expr::FunctionCallStar { .. } => self.function(expression),
            _ => Err("an expression of this kind has no translation".to_string()),
        }
    }

    pub(super) fn expressions(&mut self, list: &[Box<Expr>]) -> Found<Vec<Value>> {
        list.iter().map(|one| self.expression(one)).collect()
    }

    fn literal(&mut self, literal: &Literal) -> Found {
        Ok(match literal {
            Literal::Numeric(text) => return Value::number(text),
            Literal::String(text) => {
                let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text);
                Value::string(&inner.replace("''", "'"))
            }
            Literal::Blob(text) => {
                let bytes: Vec<u8> = turso_parser::ast::blob_literal_bytes(text).collect();
                Value::atom(quoted_bytes(&bytes), Kind::Blob)
            }
            Literal::Null => Value::null(),
            Literal::True => Value::atom("TRUE", Kind::Boolean),
            Literal::False => Value::atom("FALSE", Kind::Boolean),
            Literal::CurrentDate => moments::now("date"),
            Literal::CurrentTime => moments::now("time"),
            Literal::CurrentTimestamp => moments::now("datetime"),
            Literal::Keyword(word) => return Err(format!("{word} has no translation")),
        })
    }

    /// A column; in double quotes SQLite takes for a string what names none.
    fn name(&mut self, name: &Name) -> Found {
        let found = self.scopes.iter().rev().find_map(|scope| {
            scope.column(None, name.as_str(), self.names).or_else(|| scope.alias(name.as_str(), self.names))
        });
        match found {
            Some(value) => Ok(value),
            None if name.quoted_with('"') || name.quoted_with('\'') => Ok(Value::string(name.as_str())),
            None if name.as_str().eq_ignore_ascii_case("true") => Ok(Value::atom("TRUE", Kind::Boolean)),
            None if name.as_str().eq_ignore_ascii_case("false") => Ok(Value::atom("FALSE", Kind::Boolean)),
            None => Err(format!("{} names no column that is known", name.as_str())),
        }
    }

    fn column(&mut self, table: &Name, column: &Name) -> Found {
        let (table, column) = (table.as_str(), column.as_str());
        let found = self.scopes.iter().rev().find_map(|scope| scope.column(Some(table), column, self.names));
        found.ok_or_else(|| format!("{table}.{column} names no column that is known"))
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expr) -> Found {
        let value = self.expression(operand)?;
        match operator {
            UnaryOperator::Not => {
                let condition = value.condition()?;
                let text = format!("NOT {}", condition.left(level::NOT));
                Ok(Value::of(text, Kind::Boolean, level::NOT).made_of([&condition]))
            }
            // It takes a column's affinity away, and nothing else.
            UnaryOperator::Positive => match value.form {
                Form::Column { .. } => Ok(value.in_form(Form::Other)),
                _ => Ok(value),
            },
            UnaryOperator::Negative => match value.form {
                Form::Number(_) if !value.text.starts_with('-') => Value::number(&format!("-{}", value.text)),
                _ => {
                    let number = value.as_number()?.plain();
                    Ok(Value::of(format!("-{}", number.right(level::SIGN)), number.kind, level::SIGN)
                        .made_of([&number]))
                }
            },
            UnaryOperator::BitwiseNot => {
                let number = value.as_integer()?.cast("bigint", Kind::Integer);
                Ok(Value::of(format!("~{}", number.left(level::ATOM)), Kind::Integer, level::OTHER).made_of([&number]))
            }
        }
    }

    fn null_test(&mut self, operand: &Expr, test: &str) -> Found {
        let value = self.expression(operand)?;
        let text = format!("{} {test}", value.left(level::COMPARISON + 1));
        Ok(Value::of(text, Kind::Boolean, level::COMPARISON).made_of([&value]))
    }

    fn case(&mut self, base: Option<&Expr>, pairs: &[(Box<Expr>, Box<Expr>)], or_else: Option<&Expr>) -> Found {
        let base = base.map(|base| self.expression(base)).transpose()?;
        let mut conditions = Vec::with_capacity(pairs.len());
        let mut results = Vec::with_capacity(pairs.len() + 1);
        for (when, then) in pairs {
            let when = self.expression(when)?;
            conditions.push(match &base {
                None => when.condition()?,
                Some(base) => {
                    let (left, when) = self.comparable(base.clone(), when)?;
                    if left.text != base.text {
                        return Err("CASE compares with values of several kinds".to_string());
                    }
                    when
                }
            });
            results.push(self.expression(then)?);
        }
        results.push(or_else.map_or(Ok(Value::null()), |or_else| self.expression(or_else))?);
        let (results, kind) = self.alike(results)?;
        let mut text = match &base {
            Some(base) => format!("CASE {}", base.text),
            None => "CASE".to_string(),
        };
        for (condition, result) in conditions.iter().zip(&results) {
            text.push_str(&format!(" WHEN {} THEN {}", condition.text, result.text));
        }
        if let Some(last) = results.last().filter(|_| or_else.is_some()) {
            text.push_str(&format!(" ELSE {}", last.text));
        }
        text.push_str(" END");
        Ok(Value::atom(text, kind).made_of(conditions.iter().chain(&results).chain(&base)))
    }

    /// CAST, by the affinity that SQLite reads off the type's name.
    fn cast(&mut self, operand: &Expr, type_name: Option<&Type>) -> Found {
        let value = self.expression(operand)?;
        let upper = type_name.map(|name| name.name.to_ascii_uppercase()).unwrap_or_default();
        let has = |parts: &[&str]| parts.iter().any(|part| upper.contains(part));
        let wrong = || format!("CAST of {} to {upper} has no translation", value.kind.name());
        if value.is_null() {
            return Ok(value);
        }
        match value.kind {
            _ if has(&["INT"]) => match (value.kind, &value.form) {
                (_, Form::String(text)) if text.parse::<i64>().is_ok() => Value::number(text),
                (Kind::Integer | Kind::Boolean, _) => value.as_integer(),
                (Kind::Real | Kind::Numeric, _) => Ok(Value::atom(format!("trunc({})", value.text), value.kind)
                    .cast("bigint", Kind::Integer)
                    .made_of([&value])),
                _ => Err(wrong()),
            },
            _ if has(&["CHAR", "CLOB", "TEXT"]) => value.as_text(),
            Kind::Blob if upper.is_empty() || has(&["BLOB"]) => Ok(value),
            _ if upper.is_empty() || has(&["BLOB"]) => Err(wrong()),
            _ if has(&["REAL", "FLOA", "DOUB"]) => match value.kind {
                Kind::Integer | Kind::Real | Kind::Numeric | Kind::Boolean => {
                    Ok(value.as_number()?.cast("double precision", Kind::Real))
                }
                _ => Err(wrong()),
            },
            // Everything else is NUMERIC, which numbers are.
            _ => value.as_number().map_err(|_| wrong()),
        }
    }
}
