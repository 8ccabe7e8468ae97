//! Nothing that can be written overflows the stack, hangs, or panics.

use super::fixture::bind;

#[test]
fn deep_and_long_statements_bind_or_are_refused() {
    let texts = [
        format!("select {}1{}", "(".repeat(95), ")".repeat(95)),
        format!("select 1{}", "+1".repeat(190)),
        format!("select {}true", "not ".repeat(190)),
        format!("select * from {}artist{}", "(select * from ".repeat(60), ") x".repeat(60)),
        format!("select {}1{}", "(select ".repeat(60), ")".repeat(60)),
        format!("select 1{}", " union all select 1".repeat(190)),
        format!("select {}1{}", "case when true then ".repeat(90), " end".repeat(90)),
        format!("select {}1{}", "case ".repeat(40), " when 1 then 1 end".repeat(40)),
        format!("select 1 where {}1{}", "(".repeat(30), " between 1 and 2)".repeat(30)),
        format!("select {}1{}", "coalesce(1, ".repeat(90), ")".repeat(90)),
        format!("select {}1{}", "nullif(1 + ".repeat(80), ", 2)".repeat(80)),
        format!("select 1 from artist where artist_id = 1{}", " or artist_id = 2".repeat(50_000)),
        format!("select 1 from artist where artist_id in ({}1)", "1,".repeat(50_000)),
        format!("select * from artist a{}", ", artist a".repeat(10)),
        format!("select 1 from {}", (0..180).map(|i| format!("artist a{i}")).collect::<Vec<_>>().join(" cross join ")),
    ];
    for text in &texts {
        if let Err(error) = bind(text) {
            assert!(["54001", "42712", "42883", "42804"].contains(&error.sqlstate().0), "{error:?}: {}", &text[..60]);
        }
    }
}
