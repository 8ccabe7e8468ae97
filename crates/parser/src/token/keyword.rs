//! PostgreSQL 15's keywords, each with its class and whether it may be an output column's name without AS.
//!
//! The table is what `pg_get_keywords()` tells; a name is found by a hash table that the compiler fills.

use super::kind::TokenKind;

/// Where a keyword may stand as a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordClass {
    /// Anywhere.
    Unreserved,
    /// As a column, table or similar, not as a function or type.
    ColumnName,
    /// As a function or type, not as a column or table.
    TypeFunctionName,
    /// Only as a label behind AS, or behind a dot.
    Reserved,
}

/// What is known of a keyword.
#[derive(Clone, Copy, Debug)]
pub struct Keyword {
    /// Its spelling, in lower case.
    pub name: &'static str,
    /// Its token.
    pub kind: TokenKind,
    /// Where it may be a name.
    pub class: KeywordClass,
    /// Whether it may name an output column without AS.
    pub bare_label: bool,
}

macro_rules! keywords {
    ($($kind:ident $name:literal $class:ident $bare:literal;)*) => {
        /// Every keyword, sorted by name.
        pub static KEYWORDS: &[Keyword] = &[$(Keyword {
            name: $name, kind: TokenKind::$kind, class: KeywordClass::$class, bare_label: $bare,
        }),*];

        const NAMES: &[&str] = &[$($name),*];
    };
}

keywords! {
    Abort "abort" Unreserved true;
    Absolute "absolute" Unreserved true;
    Access "access" Unreserved true;
    Action "action" Unreserved true;
    Add "add" Unreserved true;
    Admin "admin" Unreserved true;
    After "after" Unreserved true;
    Aggregate "aggregate" Unreserved true;
    All "all" Reserved true;
    Also "also" Unreserved true;
    Alter "alter" Unreserved true;
    Always "always" Unreserved true;
    Analyse "analyse" Reserved true;
    Analyze "analyze" Reserved true;
    And "and" Reserved true;
    Any "any" Reserved true;
    Array "array" Reserved false;
    As "as" Reserved false;
    Asc "asc" Reserved true;
    Asensitive "asensitive" Unreserved true;
    Assertion "assertion" Unreserved true;
    Assignment "assignment" Unreserved true;
    Asymmetric "asymmetric" Reserved true;
    At "at" Unreserved true;
    Atomic "atomic" Unreserved true;
    Attach "attach" Unreserved true;
    Attribute "attribute" Unreserved true;
    Authorization "authorization" TypeFunctionName true;
    Backward "backward" Unreserved true;
    Before "before" Unreserved true;
    Begin "begin" Unreserved true;
    Between "between" ColumnName true;
    Bigint "bigint" ColumnName true;
    Binary "binary" TypeFunctionName true;
    Bit "bit" ColumnName true;
    Boolean "boolean" ColumnName true;
    Both "both" Reserved true;
    Breadth "breadth" Unreserved true;
    By "by" Unreserved true;
    Cache "cache" Unreserved true;
    Call "call" Unreserved true;
    Called "called" Unreserved true;
    Cascade "cascade" Unreserved true;
    Cascaded "cascaded" Unreserved true;
    Case "case" Reserved true;
    Cast "cast" Reserved true;
    Catalog "catalog" Unreserved true;
    Chain "chain" Unreserved true;
    Char "char" ColumnName false;
    Character "character" ColumnName false;
    Characteristics "characteristics" Unreserved true;
    Check "check" Reserved true;
    Checkpoint "checkpoint" Unreserved true;
    Class "class" Unreserved true;
    Close "close" Unreserved true;
    Cluster "cluster" Unreserved true;
    Coalesce "coalesce" ColumnName true;
    Collate "collate" Reserved true;
    Collation "collation" TypeFunctionName true;
    Column "column" Reserved true;
    Columns "columns" Unreserved true;
    Comment "comment" Unreserved true;
    Comments "comments" Unreserved true;
    Commit "commit" Unreserved true;
    Committed "committed" Unreserved true;
    Compression "compression" Unreserved true;
    Concurrently "concurrently" TypeFunctionName true;
    Configuration "configuration" Unreserved true;
    Conflict "conflict" Unreserved true;
    Connection "connection" Unreserved true;
    Constraint "constraint" Reserved true;
    Constraints "constraints" Unreserved true;
    Content "content" Unreserved true;
    Continue "continue" Unreserved true;
    Conversion "conversion" Unreserved true;
    Copy "copy" Unreserved true;
    Cost "cost" Unreserved true;
    Create "create" Reserved false;
    Cross "cross" TypeFunctionName true;
    Csv "csv" Unreserved true;
    Cube "cube" Unreserved true;
    Current "current" Unreserved true;
    CurrentCatalog "current_catalog" Reserved true;
    CurrentDate "current_date" Reserved true;
    CurrentRole "current_role" Reserved true;
    CurrentSchema "current_schema" TypeFunctionName true;
    CurrentTime "current_time" Reserved true;
    CurrentTimestamp "current_timestamp" Reserved true;
    CurrentUser "current_user" Reserved true;
    Cursor "cursor" Unreserved true;
    Cycle "cycle" Unreserved true;
    Data "data" Unreserved true;
    Database "database" Unreserved true;
    Day "day" Unreserved false;
    Deallocate "deallocate" Unreserved true;
    Dec "dec" ColumnName true;
    Decimal "decimal" ColumnName true;
    Declare "declare" Unreserved true;
    Default "default" Reserved true;
    Defaults "defaults" Unreserved true;
    Deferrable "deferrable" Reserved true;
    Deferred "deferred" Unreserved true;
    Definer "definer" Unreserved true;
    Delete "delete" Unreserved true;
    Delimiter "delimiter" Unreserved true;
    Delimiters "delimiters" Unreserved true;
    Depends "depends" Unreserved true;
    Depth "depth" Unreserved true;
    Desc "desc" Reserved true;
    Detach "detach" Unreserved true;
    Dictionary "dictionary" Unreserved true;
    Disable "disable" Unreserved true;
    Discard "discard" Unreserved true;
    Distinct "distinct" Reserved true;
    Do "do" Reserved true;
    Document "document" Unreserved true;
    Domain "domain" Unreserved true;
    Double "double" Unreserved true;
    Drop "drop" Unreserved true;
    Each "each" Unreserved true;
    Else "else" Reserved true;
    Enable "enable" Unreserved true;
    Encoding "encoding" Unreserved true;
    Encrypted "encrypted" Unreserved true;
    End "end" Reserved true;
    Enum "enum" Unreserved true;
    Escape "escape" Unreserved true;
    Event "event" Unreserved true;
    Except "except" Reserved false;
    Exclude "exclude" Unreserved true;
    Excluding "excluding" Unreserved true;
    Exclusive "exclusive" Unreserved true;
    Execute "execute" Unreserved true;
    Exists "exists" ColumnName true;
    Explain "explain" Unreserved true;
    Expression "expression" Unreserved true;
    Extension "extension" Unreserved true;
    External "external" Unreserved true;
    Extract "extract" ColumnName true;
    False "false" Reserved true;
    Family "family" Unreserved true;
    Fetch "fetch" Reserved false;
    Filter "filter" Unreserved false;
    Finalize "finalize" Unreserved true;
    First "first" Unreserved true;
    Float "float" ColumnName true;
    Following "following" Unreserved true;
    For "for" Reserved false;
    Force "force" Unreserved true;
    Foreign "foreign" Reserved true;
    Forward "forward" Unreserved true;
    Freeze "freeze" TypeFunctionName true;
    From "from" Reserved false;
    Full "full" TypeFunctionName true;
    Function "function" Unreserved true;
    Functions "functions" Unreserved true;
    Generated "generated" Unreserved true;
    Global "global" Unreserved true;
    Grant "grant" Reserved false;
    Granted "granted" Unreserved true;
    Greatest "greatest" ColumnName true;
    Group "group" Reserved false;
    Grouping "grouping" ColumnName true;
    Groups "groups" Unreserved true;
    Handler "handler" Unreserved true;
    Having "having" Reserved false;
    Header "header" Unreserved true;
    Hold "hold" Unreserved true;
    Hour "hour" Unreserved false;
    Identity "identity" Unreserved true;
    If "if" Unreserved true;
    Ilike "ilike" TypeFunctionName true;
    Immediate "immediate" Unreserved true;
    Immutable "immutable" Unreserved true;
    Implicit "implicit" Unreserved true;
    Import "import" Unreserved true;
    In "in" Reserved true;
    Include "include" Unreserved true;
    Including "including" Unreserved true;
    Increment "increment" Unreserved true;
    Index "index" Unreserved true;
    Indexes "indexes" Unreserved true;
    Inherit "inherit" Unreserved true;
    Inherits "inherits" Unreserved true;
    Initially "initially" Reserved true;
    Inline "inline" Unreserved true;
    Inner "inner" TypeFunctionName true;
    Inout "inout" ColumnName true;
    Input "input" Unreserved true;
    Insensitive "insensitive" Unreserved true;
    Insert "insert" Unreserved true;
    Instead "instead" Unreserved true;
    Int "int" ColumnName true;
    Integer "integer" ColumnName true;
    Intersect "intersect" Reserved false;
    Interval "interval" ColumnName true;
    Into "into" Reserved false;
    Invoker "invoker" Unreserved true;
    Is "is" TypeFunctionName true;
    Isnull "isnull" TypeFunctionName false;
    Isolation "isolation" Unreserved true;
    Join "join" TypeFunctionName true;
    Key "key" Unreserved true;
    Label "label" Unreserved true;
    Language "language" Unreserved true;
    Large "large" Unreserved true;
    Last "last" Unreserved true;
    Lateral "lateral" Reserved true;
    Leading "leading" Reserved true;
    Leakproof "leakproof" Unreserved true;
    Least "least" ColumnName true;
    Left "left" TypeFunctionName true;
    Level "level" Unreserved true;
    Like "like" TypeFunctionName true;
    Limit "limit" Reserved false;
    Listen "listen" Unreserved true;
    Load "load" Unreserved true;
    Local "local" Unreserved true;
    Localtime "localtime" Reserved true;
    Localtimestamp "localtimestamp" Reserved true;
    Location "location" Unreserved true;
    Lock "lock" Unreserved true;
    Locked "locked" Unreserved true;
    Logged "logged" Unreserved true;
    Mapping "mapping" Unreserved true;
    Match "match" Unreserved true;
    Matched "matched" Unreserved true;
    Materialized "materialized" Unreserved true;
    Maxvalue "maxvalue" Unreserved true;
    Merge "merge" Unreserved true;
    Method "method" Unreserved true;
    Minute "minute" Unreserved false;
    Minvalue "minvalue" Unreserved true;
    Mode "mode" Unreserved true;
    Month "month" Unreserved false;
    Move "move" Unreserved true;
    Name "name" Unreserved true;
    Names "names" Unreserved true;
    National "national" ColumnName true;
    Natural "natural" TypeFunctionName true;
    Nchar "nchar" ColumnName true;
    New "new" Unreserved true;
    Next "next" Unreserved true;
    Nfc "nfc" Unreserved true;
    Nfd "nfd" Unreserved true;
    Nfkc "nfkc" Unreserved true;
    Nfkd "nfkd" Unreserved true;
    No "no" Unreserved true;
    None "none" ColumnName true;
    Normalize "normalize" ColumnName true;
    Normalized "normalized" Unreserved true;
    Not "not" Reserved true;
    Nothing "nothing" Unreserved true;
    Notify "notify" Unreserved true;
    Notnull "notnull" TypeFunctionName false;
    Nowait "nowait" Unreserved true;
    Null "null" Reserved true;
    Nullif "nullif" ColumnName true;
    Nulls "nulls" Unreserved true;
    Numeric "numeric" ColumnName true;
    Object "object" Unreserved true;
    Of "of" Unreserved true;
    Off "off" Unreserved true;
    Offset "offset" Reserved false;
    Oids "oids" Unreserved true;
    Old "old" Unreserved true;
    On "on" Reserved false;
    Only "only" Reserved true;
    Operator "operator" Unreserved true;
    Option "option" Unreserved true;
    Options "options" Unreserved true;
    Or "or" Reserved true;
    Order "order" Reserved false;
    Ordinality "ordinality" Unreserved true;
    Others "others" Unreserved true;
    Out "out" ColumnName true;
    Outer "outer" TypeFunctionName true;
    Over "over" Unreserved false;
    Overlaps "overlaps" TypeFunctionName false;
    Overlay "overlay" ColumnName true;
    Overriding "overriding" Unreserved true;
    Owned "owned" Unreserved true;
    Owner "owner" Unreserved true;
    Parallel "parallel" Unreserved true;
    Parameter "parameter" Unreserved true;
    Parser "parser" Unreserved true;
    Partial "partial" Unreserved true;
    Partition "partition" Unreserved true;
    Passing "passing" Unreserved true;
    Password "password" Unreserved true;
    Placing "placing" Reserved true;
    Plans "plans" Unreserved true;
    Policy "policy" Unreserved true;
    Position "position" ColumnName true;
    Preceding "preceding" Unreserved true;
    Precision "precision" ColumnName false;
    Prepare "prepare" Unreserved true;
    Prepared "prepared" Unreserved true;
    Preserve "preserve" Unreserved true;
    Primary "primary" Reserved true;
    Prior "prior" Unreserved true;
    Privileges "privileges" Unreserved true;
    Procedural "procedural" Unreserved true;
    Procedure "procedure" Unreserved true;
    Procedures "procedures" Unreserved true;
    Program "program" Unreserved true;
    Publication "publication" Unreserved true;
    Quote "quote" Unreserved true;
    Range "range" Unreserved true;
    Read "read" Unreserved true;
    Real "real" ColumnName true;
    Reassign "reassign" Unreserved true;
    Recheck "recheck" Unreserved true;
    Recursive "recursive" Unreserved true;
    Ref "ref" Unreserved true;
    References "references" Reserved true;
    Referencing "referencing" Unreserved true;
    Refresh "refresh" Unreserved true;
    Reindex "reindex" Unreserved true;
    Relative "relative" Unreserved true;
    Release "release" Unreserved true;
    Rename "rename" Unreserved true;
    Repeatable "repeatable" Unreserved true;
    Replace "replace" Unreserved true;
    Replica "replica" Unreserved true;
    Reset "reset" Unreserved true;
    Restart "restart" Unreserved true;
    Restrict "restrict" Unreserved true;
    Return "return" Unreserved true;
    Returning "returning" Reserved false;
    Returns "returns" Unreserved true;
    Revoke "revoke" Unreserved true;
    Right "right" TypeFunctionName true;
    Role "role" Unreserved true;
    Rollback "rollback" Unreserved true;
    Rollup "rollup" Unreserved true;
    Routine "routine" Unreserved true;
    Routines "routines" Unreserved true;
    Row "row" ColumnName true;
    Rows "rows" Unreserved true;
    Rule "rule" Unreserved true;
    Savepoint "savepoint" Unreserved true;
    Schema "schema" Unreserved true;
    Schemas "schemas" Unreserved true;
    Scroll "scroll" Unreserved true;
    Search "search" Unreserved true;
    Second "second" Unreserved false;
    Security "security" Unreserved true;
    Select "select" Reserved true;
    Sequence "sequence" Unreserved true;
    Sequences "sequences" Unreserved true;
    Serializable "serializable" Unreserved true;
    Server "server" Unreserved true;
    Session "session" Unreserved true;
    SessionUser "session_user" Reserved true;
    Set "set" Unreserved true;
    Setof "setof" ColumnName true;
    Sets "sets" Unreserved true;
    Share "share" Unreserved true;
    Show "show" Unreserved true;
    Similar "similar" TypeFunctionName true;
    Simple "simple" Unreserved true;
    Skip "skip" Unreserved true;
    Smallint "smallint" ColumnName true;
    Snapshot "snapshot" Unreserved true;
    Some "some" Reserved true;
    Sql "sql" Unreserved true;
    Stable "stable" Unreserved true;
    Standalone "standalone" Unreserved true;
    Start "start" Unreserved true;
    Statement "statement" Unreserved true;
    Statistics "statistics" Unreserved true;
    Stdin "stdin" Unreserved true;
    Stdout "stdout" Unreserved true;
    Storage "storage" Unreserved true;
    Stored "stored" Unreserved true;
    Strict "strict" Unreserved true;
    Strip "strip" Unreserved true;
    Subscription "subscription" Unreserved true;
    Substring "substring" ColumnName true;
    Support "support" Unreserved true;
    Symmetric "symmetric" Reserved true;
    Sysid "sysid" Unreserved true;
    System "system" Unreserved true;
    Table "table" Reserved true;
    Tables "tables" Unreserved true;
    Tablesample "tablesample" TypeFunctionName true;
    Tablespace "tablespace" Unreserved true;
    Temp "temp" Unreserved true;
    Template "template" Unreserved true;
    Temporary "temporary" Unreserved true;
    Text "text" Unreserved true;
    Then "then" Reserved true;
    Ties "ties" Unreserved true;
    Time "time" ColumnName true;
    Timestamp "timestamp" ColumnName true;
    To "to" Reserved false;
    Trailing "trailing" Reserved true;
    Transaction "transaction" Unreserved true;
    Transform "transform" Unreserved true;
    Treat "treat" ColumnName true;
    Trigger "trigger" Unreserved true;
    Trim "trim" ColumnName true;
    True "true" Reserved true;
    Truncate "truncate" Unreserved true;
    Trusted "trusted" Unreserved true;
    Type "type" Unreserved true;
    Types "types" Unreserved true;
    Uescape "uescape" Unreserved true;
    Unbounded "unbounded" Unreserved true;
    Uncommitted "uncommitted" Unreserved true;
    Unencrypted "unencrypted" Unreserved true;
    Union "union" Reserved false;
    Unique "unique" Reserved true;
    Unknown "unknown" Unreserved true;
    Unlisten "unlisten" Unreserved true;
    Unlogged "unlogged" Unreserved true;
    Until "until" Unreserved true;
    Update "update" Unreserved true;
    User "user" Reserved true;
    Using "using" Reserved true;
    Vacuum "vacuum" Unreserved true;
    Valid "valid" Unreserved true;
    Validate "validate" Unreserved true;
    Validator "validator" Unreserved true;
    Value "value" Unreserved true;
    Values "values" ColumnName true;
    Varchar "varchar" ColumnName true;
    Variadic "variadic" Reserved true;
    Varying "varying" Unreserved false;
    Verbose "verbose" TypeFunctionName true;
    Version "version" Unreserved true;
    View "view" Unreserved true;
    Views "views" Unreserved true;
    Volatile "volatile" Unreserved true;
    When "when" Reserved true;
    Where "where" Reserved false;
    Whitespace "whitespace" Unreserved true;
    Window "window" Reserved false;
    With "with" Reserved false;
    Within "within" Unreserved false;
    Without "without" Unreserved false;
    Work "work" Unreserved true;
    Wrapper "wrapper" Unreserved true;
    Write "write" Unreserved true;
    Xml "xml" Unreserved true;
    Xmlattributes "xmlattributes" ColumnName true;
    Xmlconcat "xmlconcat" ColumnName true;
    Xmlelement "xmlelement" ColumnName true;
    Xmlexists "xmlexists" ColumnName true;
    Xmlforest "xmlforest" ColumnName true;
    Xmlnamespaces "xmlnamespaces" ColumnName true;
    Xmlparse "xmlparse" ColumnName true;
    Xmlpi "xmlpi" ColumnName true;
    Xmlroot "xmlroot" ColumnName true;
    Xmlserialize "xmlserialize" ColumnName true;
    Xmltable "xmltable" ColumnName true;
    Year "year" Unreserved false;
    Yes "yes" Unreserved true;
    Zone "zone" Unreserved true;
}

/// The longest keyword.
const LENGTH_MAX: usize = 17;

/// A power of two, large enough that most names are found at the first look.
const SLOTS: usize = 4096;

/// Keyword numbers plus one by hash; a taken slot sends on to the next.
static SLOT_TABLE: [u16; SLOTS] = fill_slots();

const fn fill_slots() -> [u16; SLOTS] {
    let mut slots = [0u16; SLOTS];
    let mut number = 0;
    while number < NAMES.len() {
        let mut slot = hash(NAMES[number].as_bytes());
        while slots[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = number as u16 + 1;
        number += 1;
    }
    slots
}

/// Of a name's length and four of its letters, their case left out.
const fn hash(name: &[u8]) -> usize {
    let length = name.len();
    let letters = [name[0], name[1], name[length / 2], name[length - 1]];
    let key = (u32::from_le_bytes(letters) | 0x2020_2020) as u64 | (length as u64) << 32;
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as usize % SLOTS
}

/// The keyword that `name` spells, in any case.
#[inline]
pub fn find_keyword(name: &[u8]) -> Option<&'static Keyword> {
    if name.len() < 2 || name.len() > LENGTH_MAX {
        return None;
    }
    let mut slot = hash(name);
    loop {
        let number = SLOT_TABLE[slot];
        if number == 0 {
            return None;
        }
        let keyword = &KEYWORDS[usize::from(number) - 1];
        if keyword.name.as_bytes().eq_ignore_ascii_case(name) {
            return Some(keyword);
        }
        slot = (slot + 1) % SLOTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case_and_nothing_else_is() {
        for keyword in KEYWORDS {
            let found = find_keyword(keyword.name.to_ascii_uppercase().as_bytes()).map(|found| found.kind);
            assert_eq!(found, Some(keyword.kind), "{}", keyword.name);
            assert!(
                find_keyword(format!("{}x", keyword.name).as_bytes()).is_none_or(|other| other.name != keyword.name)
            );
        }
        assert!(find_keyword(b"cairn").is_none() && find_keyword(b"").is_none());
    }

    #[test]
    fn keywords_and_their_tokens_are_in_the_same_order() {
        for (number, keyword) in KEYWORDS.iter().enumerate() {
            assert_eq!(keyword.kind.keyword().map(|found| found.name), Some(KEYWORDS[number].name));
        }
    }
}
