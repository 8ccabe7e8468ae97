//! Functions that every case has, and random triggers.

use super::literal::stored;
use super::schema::TableSpec;
use super::{Dialect, Random};

/// Types of columns; what random expressions call; and where triggers write what they saw.
pub(super) const FUNCTIONS: [&str; 8] = [
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'so so')",
    "CREATE DOMAIN amount AS integer CHECK (VALUE >= -1000)",
    "CREATE TYPE pair AS (a integer, b text)",
    "CREATE TABLE audit (relation text, operation text, before integer, after integer)",
    "CREATE FUNCTION f_words(n integer, word text) RETURNS text LANGUAGE sql IMMUTABLE AS \
     $$ SELECT CASE WHEN n % 2 = 0 THEN word || n ELSE upper(word) END $$",
    "CREATE FUNCTION f_steps(n integer) RETURNS integer LANGUAGE plpgsql STRICT AS $$ \
     DECLARE total integer := 0; \
     BEGIN \
     FOR i IN 1 .. least(abs(n % 7), 5) LOOP \
     CONTINUE WHEN i = 2; \
     total := total + i; \
     END LOOP; \
     IF total > 9 THEN RETURN NULL; ELSIF n < 0 THEN RETURN -total; END IF; \
     RETURN total; \
     END $$",
    "CREATE FUNCTION f_rows(n integer) RETURNS integer LANGUAGE plpgsql STABLE AS $$ \
     DECLARE found_rows integer; \
     BEGIN \
     SELECT count(*) INTO found_rows FROM audit WHERE after > n; \
     BEGIN \
     RETURN found_rows / (n % 3); \
     EXCEPTION WHEN division_by_zero THEN RETURN -1; \
     END; \
     END $$",
    "CREATE FUNCTION f_series(n integer) RETURNS SETOF integer LANGUAGE sql AS \
     $$ SELECT i * n FROM generate_series(1, n % 3) i $$",
];

/// Triggers of a table, and their functions.
pub(super) fn triggers(random: &mut Random, spec: &TableSpec) -> Vec<String> {
    let mut statements = Vec::new();
    let name = &spec.name;
    let free: Vec<_> = spec.columns.iter().filter(|column| !column.in_key && !column.generated).collect();
    if let Some(column) = free.first()
        && random.percent(60)
    {
        let value = stored(random, column.kind, Dialect::Postgres, column.nullable);
        let (left_alone, changed) = (random.between(-9, 30), random.between(2, 5));
        statements.push(format!(
            "CREATE FUNCTION {name}_before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF NEW.k = {left_alone} THEN RETURN NULL; END IF; \
             IF NEW.k % {changed} = 0 THEN NEW.{} := {value}; END IF; \
             RETURN NEW; END $$",
            column.name
        ));
        let events = *random.pick(&["INSERT", "UPDATE", "INSERT OR UPDATE"]);
        let of = match events {
            "UPDATE" if random.percent(50) => format!(" OF {}", random.pick(&free).name),
            _ => String::new(),
        };
        statements.push(format!(
            "CREATE TRIGGER {name}_b BEFORE {events}{of} ON {name} FOR EACH ROW EXECUTE FUNCTION {name}_before()"
        ));
    }
    // Where foreign keys delete and update, PostgreSQL fires a statement's triggers once for each row referred to.
    let level = match spec.parent {
        None => *random.pick(&["ROW", "ROW", "STATEMENT"]),
        Some(_) => "ROW",
    };
    let (before, after) = if level == "ROW" { ("OLD.k", "NEW.k") } else { ("NULL", "NULL") };
    statements.push(format!(
        "CREATE FUNCTION {name}_after() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO audit VALUES (TG_TABLE_NAME, TG_OP, {before}, {after}); \
         RETURN NULL; END $$"
    ));
    let events = *random.pick(&["INSERT", "UPDATE", "DELETE", "INSERT OR UPDATE OR DELETE", "UPDATE OR DELETE"]);
    let when = match events {
        "UPDATE" if level == "ROW" && random.percent(40) => " WHEN (OLD.* IS DISTINCT FROM NEW.*)",
        "DELETE" if level == "ROW" && random.percent(40) => " WHEN (OLD.k > 4)",
        _ => "",
    };
    statements.push(format!(
        "CREATE TRIGGER {name}_a AFTER {events} ON {name} FOR EACH {level}{when} EXECUTE FUNCTION {name}_after()"
    ));
    statements
}
