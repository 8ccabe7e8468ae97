//! The shape of plans where other layers rely on it.

use super::fixture::{bind, plan};
use crate::bind::BoundStatement;
use crate::bind::statement::InsertSource;
use crate::plan::{Arbiter, ConflictAction, Expr, LogicalPlan};
use crate::types::DataType;

#[test]
fn an_insert_gives_every_column_in_the_tables_order() {
    let Ok(BoundStatement::Insert(insert)) = bind("insert into person (age, email) values (5, 'a'), (default, null)")
    else {
        panic!("an insert");
    };
    let InsertSource::Constants(constants) = &insert.source else { panic!("constants") };
    let LogicalPlan::Values { rows, fields } = constants.plan() else { panic!("values") };
    assert_eq!((rows.len(), fields.len()), (2, 5));
    assert!(rows.iter().all(|row| row.len() == 5 && matches!(row[0], Expr::Sequence { .. } | Expr::Cast { .. })));
}

/// INSERT has a short way for constants; UPDATE has not.
#[test]
fn a_constant_is_the_same_value_inserted_and_assigned() {
    for (column, constants) in [
        ("i2", &["1", "-1", "null", "'7'"][..]),
        ("i4", &["0", "-2147483647", "-2147483648", "2147483647", "1.5", "'12'", "null", "- - 5", "1e3"]),
        ("i8", &["7", "-7", "5000000000", "-9223372036854775808", "9223372036854775807", "2.5"]),
        ("f8", &["0", "-0.0", "1", "-1", "1.5", "-1e300", "0.1", ".3", "5.", "9007199254740993", "1e-320", "'1.5'"]),
        ("n", &["1", "1.005", "-1.5", "null"]),
        ("t", &["'a'", "''", "'it''s'", "U&'d\\0061t'", "E'\\n'", "$$x$$", "null"]),
        ("v", &["'a'", "null", "'longer than twenty characters'"]),
        ("c", &["'a'", "null"]),
        ("b", &["true", "false", "'t'", "null"]),
        ("d", &["'2020-02-29'", "null"]),
    ] {
        for constant in constants {
            let Ok(BoundStatement::Insert(insert)) = bind(&format!("insert into kinds ({column}) values ({constant})"))
            else {
                panic!("an insert of {constant} into {column}");
            };
            let Ok(BoundStatement::Update(update)) = bind(&format!("update kinds set {column} = {constant}")) else {
                panic!("an update of {column} to {constant}");
            };
            let rows = match insert.source {
                InsertSource::Constants(constants) => vec![constants.only_row().expect("a row")],
                InsertSource::Plan(LogicalPlan::Values { rows, .. }) => rows,
                InsertSource::Plan(plan) => panic!("{plan:?}"),
            };
            let LogicalPlan::Project { exprs, .. } = &update.source else { panic!("a projection") };
            let (inserted, assigned) = (&rows[0][update.assigned[0]], exprs.last().expect("a value"));
            assert_eq!(format!("{inserted:?}"), format!("{assigned:?}"), "{constant} in {column}");
        }
    }
}

#[test]
fn rows_of_nothing_but_constants_and_defaults_are_no_plan() {
    for (values, constants) in [
        ("(i4, t, d) values (1, 'a', '2020-01-01'), (-2, null, default)", true),
        ("(n, v, b) values (1.5, 'a', 't'::boolean), (2, E'\\n', true)", true),
        ("(d) values (date '2020-01-01')", true),
        ("(d) values ('today')", false),
        ("(i4) values ($1)", false),
        ("(i4) values (1), (1 + 1)", false),
        ("(t) values (upper('a'))", false),
        ("(i4) values ((select 1))", false),
    ] {
        let bound = bind(&format!("insert into kinds {values}"));
        let Ok(BoundStatement::Insert(insert)) = bound else { panic!("{values}: {bound:?}") };
        assert_eq!(matches!(insert.source, InsertSource::Constants(_)), constants, "{values}");
    }
}

#[test]
fn an_update_yields_old_columns_then_row_number_then_new_values_then_extras() {
    let text =
        "update kinds set i4 = a.artist_id, t = a.name from artist a where kinds.i4 = a.artist_id returning a.name, i4";
    let Ok(BoundStatement::Update(update)) = bind(text) else { panic!("an update: {:?}", bind(text)) };
    assert_eq!(update.assigned, [2, 7]);
    assert_eq!(update.source.fields().len(), 17 + 1 + 2 + 2);
    let returning = update.returning.expect("returning");
    assert!(matches!(returning.exprs[0], Expr::Column { index: 18, .. }), "{:?}", returning.exprs);
    assert!(matches!(returning.exprs[1], Expr::Column { index: 2, .. }), "{:?}", returning.exprs);
}

#[test]
fn a_delete_yields_the_tables_columns() {
    let Ok(BoundStatement::Delete(delete)) = bind("delete from artist where artist_id = 1") else { panic!("a delete") };
    assert_eq!(delete.source.fields().len(), 2);
}

#[test]
fn on_conflict_sees_both_rows() {
    let text =
        "insert into person (email) values ('a') on conflict (email) do update set age = person.age + excluded.age";
    let Ok(BoundStatement::Insert(insert)) = bind(text) else { panic!("an insert: {:?}", bind(text)) };
    let conflict = insert.on_conflict.expect("on conflict");
    assert_eq!(conflict.arbiter, Arbiter::Keys { primary_key: false, indexes: vec![0] });
    let ConflictAction::Update { assignments, .. } = conflict.action else { panic!("update") };
    let columns = format!("{assignments:?}");
    assert!(columns.contains("index: 2") && columns.contains("index: 7"), "{columns}");
}

#[test]
fn correlated_columns_count_queries_outwards() {
    let text = "select 1 from artist a where exists (select 1 from album b where exists \
                (select 1 from track c where c.album_id = b.album_id and c.track_id = a.artist_id))";
    let plan = format!("{:?}", plan(text));
    assert!(plan.contains("Outer { level: 1, index: 0") && plan.contains("Outer { level: 2, index: 0"), "{plan}");
}

#[test]
fn a_lateral_item_that_does_not_look_left_is_an_ordinary_join() {
    let lateral = |text: &str| format!("{:?}", plan(text)).contains("lateral: true");
    assert!(lateral("select * from artist a, lateral (select * from album b where b.artist_id = a.artist_id) x"));
    assert!(!lateral("select * from artist a, lateral (select * from album) x"));
    assert!(lateral("select * from artist a, generate_series(1, a.artist_id) g"));
    assert!(!lateral("select * from artist a, generate_series(1, 3) g"));
}

#[test]
fn columns_that_depend_on_grouped_keys_are_groups() {
    let LogicalPlan::Project { input, .. } = plan("select name, count(*) from artist group by artist_id") else {
        panic!("a projection");
    };
    let LogicalPlan::Aggregate { group_by, aggregates, .. } = *input else { panic!("an aggregate") };
    assert_eq!((group_by.len(), aggregates.len()), (2, 1));
}

#[test]
fn columns_compare_without_conversion_where_types_agree() {
    let plan = format!("{:?}", plan("select 1 from track where name = 'x' and track_id = 5 and unit_price = 1.5"));
    assert!(!plan.contains("Cast"), "{plan}");
}

#[test]
fn parameters_take_types_from_where_they_stand() {
    use crate::bind::{ParameterTypes, bind_statement};
    let cases = [
        ("select * from track where name = ? and track_id < ? limit ?", "text integer bigint"),
        ("insert into track (track_id, name, unit_price) values ($1, $2, $3)", "integer character varying numeric"),
        ("update person set age = $2 where id = $1", "integer smallint"),
        ("select $1, $2::date, $3 + 1", "text date integer"),
        ("select coalesce($1, 2), case when $2 then 1 end", "integer boolean"),
        ("select * from track where bytes in ($1, $2)", "bigint bigint"),
    ];
    for (text, expected) in cases {
        let mut types = ParameterTypes::default();
        let parsed = crate::sql::parse_one(text).expect(text);
        bind_statement(&parsed, &super::fixture::catalog(), &mut types).expect(text);
        let names: Vec<&str> = types.types().iter().map(|data_type: &DataType| data_type.type_name()).collect();
        assert_eq!(names.join(" "), expected, "{text}");
    }
}
