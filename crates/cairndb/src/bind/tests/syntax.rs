//! What PostgreSQL's grammar takes: forms of queries that mean something here, and those that are refused by name.

use super::fixture::{bind, plan};
use crate::plan::LogicalPlan;

/// The columns of a query's result.
fn columns(text: &str) -> String {
    let names: Vec<String> = plan(text).fields().into_iter().map(|field| field.name).collect();
    names.join(" ")
}

/// The error of a statement in which `^` stands before the place that the error should name.
fn refusal(marked: &str) -> (String, String) {
    let text = marked.replace('^', "");
    let error = bind(&text).expect_err(&text);
    assert_eq!(error.position(), marked.find('^').map(|byte| byte + 1), "{marked}: {error:?}");
    (error.sqlstate().0.to_owned(), error.message().to_owned())
}

#[test]
fn queries_stand_within_parentheses_at_any_place() {
    for text in [
        "((select 2) union select 2)",
        "(((select 1 as a)) order by a) limit 1",
        "select * from ((select 1) union all (select 2)) x",
        "select 1 where 1 in ((select 1) union select 2)",
        "(table artist) union (values (1, 'a'))",
        "with a as (values (1)) (table a)",
        "select (((select 1)))",
    ] {
        plan(text);
    }
}

#[test]
fn a_table_alone_is_a_query_of_all_its_columns() {
    assert_eq!(columns("table artist order by artist_id + 1 limit 3"), "artist_id name");
    assert_eq!(columns("table artist_albums"), "artist albums");
    assert_eq!(columns("with a (x) as (select 1) table a"), "x");
    let LogicalPlan::Project { input, .. } = plan("table artist") else { panic!("a projection") };
    assert!(matches!(*input, LogicalPlan::Scan { .. }), "{input:?}");
}

#[test]
fn fetch_first_limits() {
    for text in ["table artist fetch first row only", "table artist offset 1 row fetch next 2 rows only"] {
        assert!(matches!(plan(text), LogicalPlan::Limit { limit: Some(_), .. }), "{text}");
    }
    assert!(matches!(plan("table artist limit all"), LogicalPlan::Project { .. }));
}

#[test]
fn the_merged_columns_of_a_join_may_have_a_name_together() {
    let joined = "from artist a join album b using (artist_id) as x";
    assert_eq!(columns(&format!("select x.artist_id, x.* {joined}")), "artist_id artist_id");
    assert_eq!(columns(&format!("select * {joined}")), "artist_id name album_id title");
    assert_eq!(refusal(&format!("select ^x.title {joined}")).0, "42703");
    let twice = refusal("select 1 from artist a join album b using (artist_id) as ^a");
    assert_eq!(twice, ("42712".into(), "table name \"a\" specified more than once".into()));
}

#[test]
fn joins_nest_on_either_side() {
    for text in [
        "select b.title from artist a join (album b join track c on c.album_id = b.album_id) on true",
        "select b.title from ((artist a cross join album b) cross join track c)",
        "select j.title from (artist a join album b using (artist_id)) as j (id)",
        "select 1 from artist a join album b join track c using (album_id) on a.artist_id = b.artist_id",
        "select 1 from artist a join (generate_series(1, a.artist_id) g join album b on true) on true",
    ] {
        plan(text);
    }
}

#[test]
fn grouping_by_distinct_sets_counts_each_once() {
    let sets = |text: &str| format!("{:?}", plan(text)).matches("Aggregate {").count();
    assert_eq!(sets("select 1 from line group by rollup (order_id, line_no), rollup (order_id, qty)"), 9);
    assert_eq!(sets("select 1 from line group by distinct rollup (order_id, line_no), rollup (order_id, qty)"), 5);
    assert_eq!(sets("select 1 from line group by grouping sets (order_id, rollup (line_no), ())"), 4);
    assert_eq!(sets("select order_id, qty from line group by (order_id, (qty, line_no))"), 1);
}

#[test]
fn what_cannot_be_done_is_refused_by_its_name_at_its_place() {
    for (text, what) in [
        ("select ^ctid from artist", "the system column \"ctid\""),
        ("select 1 from artist as a where ^a.xmin is null", "the system column \"xmin\""),
        (
            "update artist set artist_id = 1 where current of ^c",
            "an assignment to the primary key WHERE CURRENT OF a cursor",
        ),
        ("select (^a).* + 1 from artist a", "a row's fields in this place"),
    ] {
        let expected = ("0A000".to_owned(), format!("{what} is not supported"));
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn a_statement_that_changes_rows_has_its_with_queries() {
    for text in [
        "with a as (select 7 as i) insert into artist (artist_id) select i from a",
        "with a as (select 7 as i) update artist set artist_id = i from a",
        "with a as (select 7 as i) delete from artist using a where artist_id = i",
        "insert into artist with a as (select 7 as i) select i from a",
    ] {
        let bound = format!("{:?}", bind(text).expect(text));
        assert!(bound.contains("With { id: Query(1), name: \"a\""), "{bound}");
    }
}

#[test]
fn recursion_is_found_by_what_the_term_reads_from() {
    let is_recursive = |text: &str| matches!(plan(text), LogicalPlan::RecursiveWith { .. });
    assert!(is_recursive("with recursive r as (select 1 as n union select n + 1 from \"r\") table r"));
    assert!(is_recursive(
        "with recursive r as (select 1 as n union select n from artist, (select * from R) x) table r"
    ));
    assert!(!is_recursive("with recursive n as (select 1 as n union select artist_id as n from artist) table n"));
}
