//! Random typed expressions over the columns in scope.
//!
//! Expressions mostly succeed: divisors are protected by NULLIF, numbers are small. What still fails, fails with a
//! data exception (SQLSTATE class 22).

use super::literal::literal;
use super::schema::TableSpec;
use super::{Dialect, Kind, Random, functions};

/// A column that an expression may use.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    pub text: String,
    pub kind: Kind,
}

/// Generates expressions.
pub(super) struct Expressions<'a> {
    pub random: &'a mut Random,
    pub dialect: Dialect,
    /// Tables that subqueries may read.
    pub tables: &'a [TableSpec],
    pub visible: Vec<Visible>,
    /// Aliases given to tables so far.
    pub aliases: usize,
}

const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

impl Expressions<'_> {
    /// A random type of the dialect.
    pub fn kind(&mut self) -> Kind {
        match self.dialect {
            Dialect::Postgres => *self.random.pick(&Kind::ALL),
            Dialect::Sqlite => *self.random.pick(&[Kind::Integer, Kind::Text]),
        }
    }

    /// A column in scope of this type.
    pub fn column(&mut self, kind: Kind) -> Option<String> {
        let fitting: Vec<&Visible> = self.visible.iter().filter(|column| column.kind == kind).collect();
        if fitting.is_empty() { None } else { Some(self.random.pick(&fitting).text.clone()) }
    }

    /// Any column in scope.
    pub fn any_column(&mut self) -> Option<Visible> {
        if self.visible.is_empty() { None } else { Some(self.random.pick(&self.visible).clone()) }
    }

    /// A column or a literal.
    pub fn leaf(&mut self, kind: Kind) -> String {
        if self.random.percent(70)
            && let Some(column) = self.column(kind)
        {
            return column;
        }
        literal(self.random, kind, self.dialect)
    }

    /// An expression of this type.
    pub fn value(&mut self, kind: Kind, depth: usize) -> String {
        if depth == 0 || self.random.percent(35) {
            return self.leaf(kind);
        }
        if kind == Kind::Boolean {
            return self.condition(depth);
        }
        match self.random.below(10) {
            0 => self.case(kind, depth - 1),
            1 => format!("COALESCE({}, {})", self.value(kind, depth - 1), self.value(kind, depth - 1)),
            2 => format!("NULLIF({}, {})", self.value(kind, depth - 1), self.leaf(kind)),
            3 if self.dialect == Dialect::Postgres => {
                let function = *self.random.pick(&["GREATEST", "LEAST"]);
                format!("{function}({}, {})", self.value(kind, depth - 1), self.leaf(kind))
            }
            4 if depth > 1 => self.scalar_subquery(kind).unwrap_or_else(|| self.leaf(kind)),
            _ => functions::apply(self, kind, depth - 1),
        }
    }

    /// A condition.
    pub fn condition(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.comparison(0);
        }
        match self.random.below(12) {
            0 | 1 => format!("({} AND {})", self.condition(depth - 1), self.condition(depth - 1)),
            2 | 3 => format!("({} OR {})", self.condition(depth - 1), self.condition(depth - 1)),
            4 => format!("(NOT {})", self.condition(depth - 1)),
            5 => self.in_list(depth),
            6 => self.between(depth),
            7 => self.like(depth),
            8 if self.dialect == Dialect::Postgres => self.boolean_test(depth),
            10 if self.dialect == Dialect::Postgres => functions::test(self, depth - 1),
            9 => self.subquery_test().unwrap_or_else(|| self.comparison(depth)),
            _ => self.comparison(depth - 1),
        }
    }

    fn comparison(&mut self, depth: usize) -> String {
        let kind = self.comparable();
        if self.random.percent(20) {
            let test = *self.random.pick(&["IS NULL", "IS NOT NULL"]);
            return format!("({} {test})", self.value(kind, depth));
        }
        let operator = match self.dialect {
            Dialect::Postgres if self.random.percent(15) => {
                *self.random.pick(&["IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
            }
            _ => *self.random.pick(&COMPARISONS),
        };
        let other = self.beside(kind);
        format!("({} {operator} {})", self.value(kind, depth), self.value(other, depth))
    }

    /// What is compared with a value of a type: now and then another of the character types, whose blanks may count or not.
    pub fn beside(&mut self, kind: Kind) -> Kind {
        match self.dialect {
            Dialect::Postgres if kind.is_text() && self.random.percent(40) => {
                *self.random.pick(&[Kind::Text, Kind::Varchar, Kind::Char])
            }
            _ => kind,
        }
    }

    /// Mostly a type that some column has.
    fn comparable(&mut self) -> Kind {
        match self.any_column() {
            Some(column) if self.random.percent(80) => column.kind,
            _ => self.kind(),
        }
    }

    fn in_list(&mut self, depth: usize) -> String {
        let kind = self.comparable();
        let items: Vec<String> = (0..1 + self.random.below(4))
            .map(|_| {
                let other = self.beside(kind);
                self.leaf(other)
            })
            .collect();
        let not = *self.random.pick(&["", "NOT "]);
        format!("({} {not}IN ({}))", self.value(kind, depth - 1), items.join(", "))
    }

    fn between(&mut self, depth: usize) -> String {
        let kind = self.comparable();
        let not = *self.random.pick(&["", "NOT "]);
        let (low, high) = (self.beside(kind), self.beside(kind));
        format!("({} {not}BETWEEN {} AND {})", self.value(kind, depth - 1), self.leaf(low), self.leaf(high))
    }

    fn like(&mut self, depth: usize) -> String {
        let operator = match self.dialect {
            Dialect::Postgres => *self.random.pick(&["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"]),
            Dialect::Sqlite => *self.random.pick(&["LIKE", "NOT LIKE"]),
        };
        let pattern =
            *self.random.pick(&["a%", "%b%", "_b%", "%", "", "x_y", "A%", "%c", "__", "%\u{e9}", "_____", "%  "]);
        let kind = self.beside(Kind::Text);
        format!("({} {operator} '{pattern}')", self.value(kind, depth - 1))
    }

    fn boolean_test(&mut self, depth: usize) -> String {
        let test =
            *self.random.pick(&["IS TRUE", "IS FALSE", "IS UNKNOWN", "IS NOT TRUE", "IS NOT FALSE", "IS NOT UNKNOWN"]);
        format!("({} {test})", self.value(Kind::Boolean, depth - 1))
    }

    fn case(&mut self, kind: Kind, depth: usize) -> String {
        let condition = self.condition(depth.min(1));
        let (then, otherwise) = (self.value(kind, depth), self.value(kind, depth));
        match self.random.below(3) {
            0 => format!("CASE WHEN {condition} THEN {then} END"),
            1 => {
                let subject = self.comparable();
                let (value, compared) = (self.leaf(subject), self.leaf(subject));
                format!("CASE {value} WHEN {compared} THEN {then} ELSE {otherwise} END")
            }
            _ => format!("CASE WHEN {condition} THEN {then} ELSE {otherwise} END"),
        }
    }

    /// A table under a fresh alias, its columns put in scope for `body`.
    fn with_table<T>(&mut self, body: impl FnOnce(&mut Self, &str, &[Visible]) -> T) -> T {
        let table = self.random.pick(self.tables).clone();
        self.aliases += 1;
        let alias = format!("s{}", self.aliases);
        let columns = visible_columns(&table, &alias);
        let outer = self.visible.clone();
        // Correlated half of the time.
        if self.random.percent(50) {
            self.visible.clear();
        }
        self.visible.extend(columns.iter().cloned());
        let result = body(self, &format!("{} AS {alias}", table.name), &columns);
        self.visible = outer;
        result
    }

    fn scalar_subquery(&mut self, kind: Kind) -> Option<String> {
        if self.tables.is_empty() {
            return None;
        }
        self.with_table(|this, from, columns| {
            let fitting: Vec<&Visible> = columns.iter().filter(|column| column.kind == kind).collect();
            if fitting.is_empty() || !kind.has_minimum() {
                return None;
            }
            let column = this.random.pick(&fitting).text.clone();
            let function = *this.random.pick(&["min", "max"]);
            let condition = this.condition(1);
            Some(format!("(SELECT {function}({column}) FROM {from} WHERE {condition})"))
        })
    }

    fn subquery_test(&mut self) -> Option<String> {
        if self.tables.is_empty() {
            return None;
        }
        let not = *self.random.pick(&["", "NOT "]);
        if self.random.percent(50) {
            return Some(self.with_table(|this, from, _| {
                let condition = this.condition(1);
                format!("({not}EXISTS (SELECT 1 FROM {from} WHERE {condition}))")
            }));
        }
        let tested = self.any_column()?;
        self.with_table(|this, from, columns| {
            let fitting: Vec<&Visible> = columns.iter().filter(|column| column.kind == tested.kind).collect();
            if fitting.is_empty() {
                return None;
            }
            let column = this.random.pick(&fitting).text.clone();
            let condition = this.condition(1);
            let quantified = match this.dialect {
                Dialect::Postgres if this.random.percent(20) => {
                    *this.random.pick(&["= ANY", "<> ALL", "< ANY", ">= ALL"])
                }
                _ => {
                    if not.is_empty() {
                        "IN"
                    } else {
                        "NOT IN"
                    }
                }
            };
            Some(format!("({} {quantified} (SELECT {column} FROM {from} WHERE {condition}))", tested.text))
        })
    }
}

/// The columns of a table under an alias.
pub(super) fn visible_columns(table: &TableSpec, alias: &str) -> Vec<Visible> {
    let column =
        |column: &super::schema::ColumnSpec| Visible { text: format!("{alias}.{}", column.name), kind: column.kind };
    table.columns.iter().map(column).collect()
}
