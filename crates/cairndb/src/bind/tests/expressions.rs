//! What PostgreSQL's grammar takes: expressions that mean something here, and those that are refused by name.

use super::fixture::{bind, catalog, plan};
use crate::types::DataType;

/// The SQLSTATE and message of a statement in which `^` stands before the place that the error should name.
fn refusal(marked: &str) -> (String, String) {
    let at = marked.find('^').expect("a place");
    let text = format!("{}{}", &marked[..at], &marked[at + 1..]);
    let error = bind(&text).expect_err(&text);
    assert_eq!(error.position(), Some(at + 1), "{marked}: {error:?}");
    (error.sqlstate().0.to_owned(), error.message().to_owned())
}

fn type_and_name(expr: &str) -> String {
    let fields = plan(&format!("select {expr}")).fields();
    let told: Vec<String> =
        fields.iter().map(|field| format!("{} {}", field.data_type.type_name(), field.name)).collect();
    told.join(", ")
}

#[test]
fn expressions_have_their_types_and_names() {
    for (expr, expected) in [
        ("U&'d\\0061t\\+000061'", "text ?column?"),
        ("n'AC/DC', char 'abc'", "character bpchar, character bpchar"),
        ("text 'a', int8 '5', varchar(2) 'abc'", "text text, bigint int8, character varying varchar"),
        ("pg_catalog.int4 '5'", "integer int4"),
        ("interval '1' day, interval '3 months'", "interval interval, interval interval"),
        ("1 operator(pg_catalog.+) 2", "integer ?column?"),
        ("2 between symmetric 3 and 1, 2 not between symmetric 3 and 1", "boolean ?column?, boolean ?column?"),
        ("extract('year' from date '2020-01-01')", "numeric extract"),
        ("current_timestamp(6), current_date", "timestamp with time zone current_timestamp, date current_date"),
        ("'a' collate \"C\", (1)::bigint::text", "text ?column?, text text"),
        ("case when true then 1 end, case 1 when 1 then 2 else id end", "integer case, integer id"),
        ("trim(leading 'x' from 'xa'), substring('abc' for 2)", "text ltrim, text substring"),
        ("coalesce(1, 2), nullif(1, 2), greatest(1, 2)", "integer coalesce, integer nullif, integer greatest"),
        ("exists (select 1), (select 1 as one), (values (1))", "boolean exists, integer one, integer column1"),
    ] {
        let from = if expr.contains("id") { " from (select 1 as id) x" } else { "" };
        assert_eq!(type_and_name(&format!("{expr}{from}")), expected, "{expr}");
    }
}

#[test]
fn what_the_engine_lacks_is_refused_by_its_name_at_its_place() {
    for (text, what) in [
        ("select ^b'01'", "a bit string"),
        ("select ^x'1f'", "a bit string"),
        ("select 'a' ^is normalized", "IS NORMALIZED"),
        ("select 'a' ^is json", "IS JSON"),
        ("select ^'a' is document", "IS DOCUMENT"),
        ("select ^treat('a' as text)", "TREAT"),
        ("select ^normalize('a')", "NORMALIZE"),
        ("select ^collation for ('a')", "COLLATION FOR"),
        ("select ^xmlforest(1 as a)", "XMLFOREST"),
        ("select ^xmlconcat('a', 'b')", "XMLCONCAT"),
        ("select 1 ^<<| 2", "operator <<|"),
        ("select ^!! 2", "operator !!"),
        ("select '1'::^tsquery", "type tsquery"),
        ("select '1'::^bit varying(3)", "type bit varying(3)"),
    ] {
        assert_eq!(refusal(text), ("0A000".to_owned(), format!("{what} is not supported")), "{text}");
    }
}

#[test]
fn errors_stand_where_postgresql_has_them() {
    for (text, code, message) in [
        ("select (1) ^+ 'a'::text", "42883", "operator does not exist: integer + text"),
        ("select ^- 'a'::text", "42883", "operator does not exist: - text"),
        ("select (1 /* + */) ^like 'a'", "42883", "operator does not exist: integer ~~ unknown"),
        ("select 1 ^in ('2020-01-01'::date)", "42883", "operator does not exist: integer = date"),
        ("select 1 ^between '2020-01-01'::date and null", "42883", "operator does not exist: integer >= date"),
        ("select (1, 2) ^= (3, 4, 5)", "42601", "unequal number of entries in row expressions"),
        ("select (1, 2) ^= (select 1)", "42601", "subquery has too few columns"),
        ("select case 1 ^when date '2020-01-01' then 2 end", "42883", "operator does not exist: integer = date"),
        ("select true^::date", "42846", "cannot cast type boolean to date"),
        ("select ^cast(true as date)", "42846", "cannot cast type boolean to date"),
        ("select cast(^'x' as int)", "22P02", "invalid input syntax for type integer: \"x\""),
        ("select ((^1 + 2) * 3) and true", "42804", "argument of AND must be type boolean, not type integer"),
        ("select 'a'::^foo", "42704", "type \"foo\" does not exist"),
        ("select ^foo 'a'", "42704", "type \"foo\" does not exist"),
        ("select 'a'::^text(3)", "42601", "type modifier is not allowed for type \"text\""),
        ("select 'a'::^varchar(0)", "22023", "length for type varchar must be at least 1"),
        ("select 1 ^operator(s.+) 2", "42883", "operator does not exist: s.+"),
        ("select ^s.abs(1)", "3F000", "schema \"s\" does not exist"),
        ("select ^default", "42601", "DEFAULT is not allowed in this context"),
        ("select 1 where ^grouping(1) = 1", "42803", "grouping operations are not allowed in WHERE"),
        ("select ^$0", "42P02", "there is no parameter $0"),
    ] {
        assert_eq!(refusal(text), (code.to_owned(), message.to_owned()), "{text}");
    }
}

/// What an older version's parser took may be nothing to this one's; the place in it is not one in the user's text.
#[test]
fn a_stored_expression_that_can_not_be_read_is_told_as_such() {
    let error =
        crate::bind::bind_default(&"1 = 1 = true".into(), DataType::Boolean, &catalog()).expect_err("no default");
    assert_eq!((error.sqlstate().0, error.position()), ("42601", None));
    assert!(error.message().starts_with("the stored expression 1 = 1 = true can not be read"), "{error:?}");
}
