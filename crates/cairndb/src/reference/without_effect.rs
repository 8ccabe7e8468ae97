//! What is accepted and changes nothing. A walk over the commands finds it (`command/said.rs`), and fails where this list does
//! not have it, or has what means something meanwhile.

/// Something that may be said and changes nothing.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE t (a integer PRIMARY KEY, b text)", ())?;
/// let grants = &cairndb::reference::WITHOUT_EFFECT[0];
/// conn.execute(grants.example, ())?;
/// println!("{} do nothing: {}", grants.what, grants.why);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WithoutEffect {
    /// What.
    pub what: &'static str,
    /// A statement with it, behind `CREATE TABLE t (a integer PRIMARY KEY, b text)`.
    pub example: &'static str,
    /// The reason.
    pub why: &'static str,
    /// For the rules of the parser's grammar, or the commands, the words; none: whatever a command of this name says.
    #[cfg_attr(not(test), expect(dead_code, reason = "the walk asks for it"))]
    pub(crate) said: &'static [(&'static str, &'static [&'static str])],
}

const fn of(
    what: &'static str,
    example: &'static str,
    why: &'static str,
    said: &'static [(&'static str, &'static [&'static str])],
) -> WithoutEffect {
    WithoutEffect { what, example, why, said }
}

const TRANSACTION_MODES: &[&str] = &[
    "DEFERRABLE",
    "ISOLATION LEVEL READ COMMITTED",
    "ISOLATION LEVEL READ UNCOMMITTED",
    "ISOLATION LEVEL REPEATABLE READ",
    "ISOLATION LEVEL SERIALIZABLE",
    "NOT DEFERRABLE",
];

/// What has no effect, other than words that may be left out and what would be so without being said.
pub static WITHOUT_EFFECT: &[WithoutEffect] = &[
    of(
        "GRANT, REVOKE, ALTER DEFAULT PRIVILEGES",
        "GRANT SELECT ON t TO PUBLIC",
        "there are no roles, which a NOTICE says; what they name must be there",
        &[
            ("alter_default_privileges", &[]),
            ("grant_on", &[]),
            ("grant_role", &[]),
            ("revoke_on", &[]),
            ("revoke_role", &[]),
        ],
    ),
    of(
        "CREATE, ALTER, DROP PUBLICATION and SUBSCRIPTION",
        "CREATE PUBLICATION p FOR TABLE t",
        "nothing is replicated, which a NOTICE says; the change feed of tables tells what changes",
        &[
            ("alter_publication", &[]),
            ("alter_subscription", &[]),
            ("create_publication", &[]),
            ("create_subscription", &[]),
            ("drop_subscription", &[]),
        ],
    ),
    of(
        "CREATE, ALTER, DROP STATISTICS",
        "CREATE STATISTICS s ON a, b FROM t",
        "statistics keep themselves, by column, which a NOTICE says",
        &[("alter_statistics", &[]), ("create_statistics", &[])],
    ),
    of(
        "UNLOGGED",
        "CREATE UNLOGGED TABLE u (a integer)",
        "a table is as durable as the others, which a NOTICE says; what need not last is TEMPORARY, or committed with a weaker durability",
        &[("create_sequence", &["UNLOGGED"]), ("create_table", &["UNLOGGED"]), ("create_table_as", &["UNLOGGED"])],
    ),
    of(
        "TABLESPACE",
        "CREATE TABLE u (a integer) TABLESPACE fast",
        "a database is one file, which a NOTICE says",
        &[
            ("column_rule", &["USING INDEX TABLESPACE a"]),
            ("create_index", &["TABLESPACE a"]),
            ("create_materialized_view", &["TABLESPACE a"]),
            ("create_table", &["TABLESPACE a"]),
            ("create_table_as", &["TABLESPACE a"]),
            ("primary_key_rule", &["USING INDEX TABLESPACE a"]),
            ("unique_rule", &["USING INDEX TABLESPACE a"]),
        ],
    ),
    of(
        "COMPRESSION of a column",
        "CREATE TABLE u (a text COMPRESSION pglz)",
        "how values are compressed is the engine's business, which a NOTICE says",
        &[("column", &["COMPRESSION DEFAULT"])],
    ),
    of(
        "Settings of a function, of how statements run: plans, memory, what is told",
        "CREATE FUNCTION f() RETURNS integer LANGUAGE sql SET work_mem = '1MB' RETURN 1",
        "calls run as their sessions do, which a NOTICE says; of settings that make a difference, a function may have search_path",
        &[
            ("create_function", &["RESET TIME ZONE", "RESET TRANSACTION ISOLATION LEVEL"]),
            ("create_procedure", &["RESET TIME ZONE", "RESET TRANSACTION ISOLATION LEVEL"]),
        ],
    ),
    of(
        "security_barrier and security_invoker of a view",
        "CREATE VIEW v WITH (security_barrier) AS SELECT 1 AS a",
        "there is one role, which sees all rows, as a NOTICE says",
        &[],
    ),
    of(
        "Isolation levels and DEFERRABLE of a transaction",
        "BEGIN ISOLATION LEVEL READ COMMITTED",
        "every transaction is serializable, and waits for no other to begin",
        &[
            ("begin", TRANSACTION_MODES),
            ("start_transaction", TRANSACTION_MODES),
            ("transaction_mode", &["NOT"]),
            ("transaction_modes", TRANSACTION_MODES),
        ],
    ),
    of(
        "NO INHERIT of a CHECK",
        "ALTER TABLE t ADD CHECK (a > 0) NO INHERIT",
        "no table has children",
        &[("check_rule", &["NO INHERIT"]), ("column_rule", &["NO INHERIT"])],
    ),
    of(
        "SECURITY DEFINER, SECURITY INVOKER, LEAKPROOF of a function",
        "CREATE FUNCTION f() RETURNS integer LANGUAGE sql SECURITY DEFINER RETURN 1",
        "there is one user, with all rights",
        &[
            ("create_function", &["EXTERNAL SECURITY DEFINER", "SECURITY DEFINER", "SECURITY INVOKER"]),
            ("create_function", &["LEAKPROOF", "NOT LEAKPROOF"]),
            ("create_procedure", &["EXTERNAL SECURITY DEFINER", "SECURITY DEFINER", "SECURITY INVOKER"]),
            ("function_property", &["NOT"]),
        ],
    ),
    of(
        "COST and ROWS of a function",
        "CREATE FUNCTION f() RETURNS integer LANGUAGE sql COST 10 RETURN 1",
        "estimates for another planner",
        &[("create_function", &["COST + 2", "COST 2", "ROWS + 2", "ROWS 2"])],
    ),
    of(
        "CACHE of a sequence",
        "CREATE SEQUENCE s CACHE 20",
        "how many numbers are reserved ahead is the engine's business, which a NOTICE says (of more than 1)",
        &[
            ("alter_column", &["( CACHE + 2 )", "( CACHE 2 )"]),
            ("column_rule", &["( CACHE + 2 )", "( CACHE 2 )"]),
            ("create_sequence", &["CACHE + 2", "CACHE 2"]),
        ],
    ),
    of(
        "INCLUDING STORAGE, COMPRESSION, STATISTICS of LIKE",
        "CREATE TABLE u (LIKE t INCLUDING STORAGE)",
        "a table has none of its own",
        &[("like", &["INCLUDING COMPRESSION", "INCLUDING STATISTICS", "INCLUDING STORAGE"])],
    ),
    of(
        "SET STATISTICS of a column",
        "ALTER TABLE t ALTER b SET STATISTICS -1",
        "statistics keep themselves, which a NOTICE says",
        &[("signed_integer", &["-"])],
    ),
    of(
        "FULL, FREEZE, VERBOSE of VACUUM",
        "VACUUM FULL",
        "space comes back by itself, of which there is nothing to tell",
        &[("vacuum", &["FREEZE", "FULL", "VERBOSE"])],
    ),
];
