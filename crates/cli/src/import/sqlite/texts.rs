//! The texts of SQLite's catalog as trees; the grammar is that of `turso_parser`, which speaks SQLite's dialect.

use turso_parser::ast::{
    Cmd, ColumnConstraint, CreateTableBody, Expr, Name, OneSelect, ResultColumn, Select, SortedColumn, Stmt,
    TableConstraint,
};
use turso_parser::lexer::Lexer;
use turso_parser::parser::Parser;
use turso_parser::token::TokenType;

/// What CREATE TABLE says beyond what SQLite tells of a table.
#[derive(Default)]
pub struct TableText {
    /// Conditions of CHECK constraints, and how they are written.
    pub checks: Vec<(Expr, String)>,
    /// Names of generated columns with their expressions.
    pub generated: Vec<(String, Expr)>,
    /// Names of columns that compare without looking at case.
    pub no_case: Vec<String>,
    pub auto_increment: bool,
}

/// What an index is of, and the condition of those rows that are in it.
pub struct IndexText {
    pub columns: Vec<SortedColumn>,
    pub condition: Option<Box<Expr>>,
}

fn statement(sql: &str) -> Result<Stmt, String> {
    match Parser::new(sql.as_bytes()).next_cmd() {
        Ok(Some(Cmd::Stmt(statement))) => Ok(statement),
        Ok(_) => Err("its text is not understood".to_string()),
        Err(error) => Err(format!("its text is not understood: {error}")),
    }
}

pub fn table(sql: &str) -> Result<TableText, String> {
    let Stmt::CreateTable { body: CreateTableBody::ColumnsAndConstraints { columns, constraints, .. }, .. } =
        statement(sql)?
    else {
        return Err("its text is not understood".to_string());
    };
    let mut text = TableText::default();
    for column in columns {
        for constraint in column.constraints {
            match constraint.constraint {
                ColumnConstraint::PrimaryKey { auto_increment, .. } => text.auto_increment |= auto_increment,
                ColumnConstraint::Check { expr, .. } => text.checks.push(written(*expr)),
                ColumnConstraint::Generated { expr, .. } => {
                    text.generated.push((column.col_name.as_str().to_string(), *expr))
                }
                ColumnConstraint::Collate { collation_name }
                    if collation_name.as_str().eq_ignore_ascii_case("NOCASE") =>
                {
                    text.no_case.push(column.col_name.as_str().to_string());
                }
                _ => {}
            }
        }
    }
    for constraint in constraints {
        match constraint.constraint {
            TableConstraint::PrimaryKey { auto_increment, .. } => text.auto_increment |= auto_increment,
            TableConstraint::Check { expr, .. } => text.checks.push(written(*expr)),
            _ => {}
        }
    }
    Ok(text)
}

fn written(expression: Expr) -> (Expr, String) {
    let text = expression.to_string();
    (expression, text)
}

pub fn index(sql: &str) -> Result<IndexText, String> {
    match statement(sql)? {
        Stmt::CreateIndex { columns, where_clause, .. } => Ok(IndexText { columns, condition: where_clause }),
        _ => Err("its text is not understood".to_string()),
    }
}

pub fn view(sql: &str) -> Result<Select, String> {
    match statement(sql)? {
        Stmt::CreateView { select, .. } => Ok(select),
        _ => Err("its text is not understood".to_string()),
    }
}

/// An expression by itself, as that of a default is told.
pub fn expression(sql: &str) -> Result<Expr, String> {
    let found = match statement(&format!("SELECT {sql}"))? {
        Stmt::Select(Select { body, .. }) => match body.select {
            OneSelect::Select { mut columns, from: None, .. } if columns.len() == 1 => columns.pop(),
            _ => None,
        },
        _ => None,
    };
    match found {
        Some(ResultColumn::Expr(expression, _)) => Ok(*expression),
        _ => Err("its text is not understood".to_string()),
    }
}

/// Whether the name stands in a text.
pub fn mentions(sql: &str, name: &str) -> bool {
    let is_it = |value: &[u8]| match std::str::from_utf8(value) {
        Ok(text) => Name::from_string(text).as_str().eq_ignore_ascii_case(name),
        Err(_) => false,
    };
    let names = Lexer::new(sql.as_bytes()).map_while(Result::ok);
    names
        .filter(|token| matches!(token.token_type, TokenType::TK_ID | TokenType::TK_STRING))
        .any(|token| is_it(token.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_with_its_checks_generated_columns_and_collations() {
        let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT DEFAULT (1), \"b, (c\" TEXT GENERATED ALWAYS AS (a || ')' || cast(a AS text)) STORED,
            [d] TEXT COLLATE nocase AS ((a)), \"order\" INT CHECK (\"order\" > 0), CHECK (cast(a AS int) > 0))";
        let text = table(sql).unwrap();
        let generated: Vec<(&str, String)> =
            text.generated.iter().map(|(name, expression)| (name.as_str(), expression.to_string())).collect();
        assert_eq!(generated[0], ("b, (c", "a || ')' || CAST (a AS text)".to_string()));
        assert_eq!(generated[1], ("d", "(a)".to_string()));
        assert_eq!(text.checks.len(), 2);
        assert_eq!(text.no_case, ["d"]);
        assert!(text.auto_increment);
    }

    #[test]
    fn names_are_found_as_they_are_quoted_and_in_no_string() {
        for (sql, is_there) in
            [("a + 1", true), ("\"A\" || 'x'", true), ("[a]", true), ("abc('b')", false), ("b -- a", false)]
        {
            assert_eq!(mentions(sql, "a"), is_there, "{sql}");
        }
    }
}
