//! Rules of collections: what they may be, and the SQL that asks one.
//!
//! A rule is one expression. It is kept as the parser prints it, so whatever text it is put into, it is one expression there. `claims` is a word of
//! its own in it: a parameter, wherever it stands without something before a dot. It is asked of values, never of a table's further columns,
//! so that it means the same wherever a document comes from.

use cairn_parser::token::Lexer;
use cairn_parser::{Placeholders, TokenKind};

use super::super::{BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::{Catalog, RuleKind};
use crate::plan::{is_volatile_plan, looks_elsewhere};
use crate::sql::{self, ParsedStatement};
use crate::{Error, Result, SqlState};

/// The longest rule.
const BYTES_MAX: usize = 16 << 10;

/// A rule as it is kept. `ids`: the name of the type of the collection's ids.
///
/// # Errors
///
/// 54000: it is too long. 42P17: it may do more than look. Those of its text and of what it names.
pub(crate) fn resolve_rule(text: &str, kind: RuleKind, ids: &str, catalog: &Catalog) -> Result<String> {
    if text.len() > BYTES_MAX {
        let message = format!("a rule has at most {BYTES_MAX} bytes");
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    // (Its place is one in another text.)
    let told = |error: Error| {
        let told = Error::new(error.sqlstate(), error.message());
        let told = told.with_detail(format!("It is in what \"{}\" says.", kind.option()));
        error.hint().map_or_else(|| told.clone(), |hint| told.clone().with_hint(hint))
    };
    let parsed = sql::parse_expression(text).map_err(told)?;
    let printed = parsed.tree.print(parsed.expr);
    if has_parameter(&printed) {
        return Err(told(Error::new(SqlState::UNDEFINED_PARAMETER, "a rule has no parameters")));
    }
    let statement = ParsedStatement::parse(&asked_of_values(&printed, kind, ids), 0)?;
    let bound = bind_statement(&statement, catalog, &mut ParameterTypes::default());
    let BoundStatement::Query(plan) = bound.map_err(told)? else {
        return Err(Error::internal("a rule that is no query"));
    };
    if is_volatile_plan(&plan) {
        let error = Error::new(SqlState::INVALID_OBJECT_DEFINITION, "functions in a rule must not be VOLATILE");
        return Err(told(error.with_hint("A rule looks, and does nothing.")));
    }
    Ok(printed)
}

/// The statement that gives a row where the rule is so of `$2` (id), `$3` (version), `$4` (doc), and for `update` of `$5`, `$6`, `$7` as it was;
/// `$1` are the claims.
pub(crate) fn asked_of_values(rule: &str, kind: RuleKind, ids: &str) -> String {
    let values = |first: usize, name: &str| {
        let (version, doc) = (first + 1, first + 2);
        format!("(SELECT ${first}::{ids} AS id, ${version}::bigint AS version, ${doc}::jsonb AS doc) AS {name}")
    };
    let (rule, document) = (with_claims(rule, 1), values(2, "document"));
    match kind {
        // What is not said to be of `old` is of the new one: that is nearer.
        RuleKind::Update => {
            let old = values(5, "old");
            format!("SELECT true FROM {old} WHERE EXISTS (SELECT 1 FROM {document} WHERE ({rule}))")
        }
        _ => format!("SELECT true FROM {document} WHERE ({rule})"),
    }
}

/// Whether a rule that is kept looks at nothing but the values that it is asked of: what is written meanwhile changes nothing in what it says.
pub(crate) fn is_of_values_alone(rule: &str, kind: RuleKind, ids: &str, catalog: &Catalog) -> Result<bool> {
    let statement = ParsedStatement::parse(&asked_of_values(rule, kind, ids), 0)?;
    let BoundStatement::Query(plan) = bind_statement(&statement, catalog, &mut ParameterTypes::default())? else {
        return Err(Error::internal("a rule that is no query"));
    };
    Ok(!looks_elsewhere(&plan))
}

/// The rule with a parameter for its claims; one that does not look at them has it all the same, so that it is always given.
pub(crate) fn with_claims(rule: &str, parameter: usize) -> String {
    let (mut text, mut copied, mut before) = (String::with_capacity(rule.len() + 16), 0, TokenKind::Eof);
    for (kind, start, end) in tokens(rule) {
        if kind == TokenKind::Ident && before != TokenKind::Dot && &rule[start..end] == "claims" {
            text.push_str(&rule[copied..start]);
            text.push_str(&format!("(${parameter}::jsonb)"));
            copied = end;
        }
        before = kind;
    }
    if copied == 0 {
        return format!("({rule}) AND (${parameter}::jsonb) IS NOT NULL");
    }
    text + &rule[copied..]
}

fn has_parameter(rule: &str) -> bool {
    tokens(rule).any(|(kind, ..)| kind == TokenKind::Param)
}

fn tokens(text: &str) -> impl Iterator<Item = (TokenKind, usize, usize)> {
    let mut lexer = Lexer::new(text, 0, Placeholders::default());
    std::iter::from_fn(move || {
        let token = lexer.next_token();
        (token.kind != TokenKind::Eof).then_some((token.kind, token.start as usize, token.end as usize))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_a_word_of_their_own() {
        for (rule, expected) in [
            ("claims ->> 'sub' = 'claims'", "($2::jsonb) ->> 'sub' = 'claims'"),
            ("o.claims = claims", "o.claims = ($2::jsonb)"),
            ("doc ? 'claims' OR preclaims", "(doc ? 'claims' OR preclaims) AND ($2::jsonb) IS NOT NULL"),
            ("f(claims,claims)", "f(($2::jsonb),($2::jsonb))"),
            ("$$claims$$ = claims ->> 'claims'", "$$claims$$ = ($2::jsonb) ->> 'claims'"),
        ] {
            assert_eq!(with_claims(rule, 2), expected);
        }
    }
}
