//! Expressions. Parentheses are not in the tree; the printer puts them where they are needed.

use super::{Name, Query, SortKey, TypeName, WindowSpec, XmlAttribute};
use crate::tree::{Id, List, Text, scalar, syntax};

syntax! {
    family 2;
    /// An expression.
    pub enum Expr {
        /// `NULL`
        Null,
        /// `TRUE`, `FALSE`
        Boolean { value: bool },
        /// An integer of at most 31 bits, as written.
        Integer { text: Text },
        /// Any other number, as written.
        Number { text: Text },
        /// A string in any of its forms.
        String { text: Text },
        /// `B'0101'`: the digits.
        BitString { text: Text },
        /// `X'1f'`: the digits.
        HexString { text: Text },
        /// `type 'text'`, `INTERVAL '1' DAY`. `literal` is a [`Expr::String`].
        TypedString { data_type: Id<TypeName>, literal: Id<Expr> },
        /// `$1`, and what was written `?` or `:name`.
        Parameter { number: u32 },
        /// `a`, `t.a`, `s.t.a`
        Column { names: List<Name> },
        /// `*`, `t.*`; a target, or an argument of `count(t.*)`.
        All { qualifier: List<Name> },
        /// `x.field`, `x[1]`, `x[1:2]`, `(x).*`
        Indirection { base: Id<Expr>, steps: List<Indirection> },
        /// `a + b`
        Binary { operator: Id<Operator>, left: Id<Expr>, right: Id<Expr> },
        /// `- a`
        Unary { operator: Id<Operator>, operand: Id<Expr> },
        /// `a AND b AND c`
        And { operands: List<Expr> },
        /// `a OR b OR c`
        Or { operands: List<Expr> },
        /// `NOT a`
        Not { operand: Id<Expr> },
        /// `a = ANY (array)`, `a < ALL (array)`
        Quantified { left: Id<Expr>, operator: Id<Operator>, all: bool, right: Id<Expr> },
        /// `a = ANY (SELECT ...)`
        QuantifiedQuery { left: Id<Expr>, operator: Id<Operator>, all: bool, query: Id<Query> },
        /// `a IS [NOT] NULL`, `TRUE`, `FALSE`, `UNKNOWN`, `DOCUMENT`
        Is { operand: Id<Expr>, test: IsTest, negated: bool },
        /// `a IS [NOT] DISTINCT FROM b`
        IsDistinct { left: Id<Expr>, right: Id<Expr>, negated: bool },
        /// `a IS [NOT] NFC NORMALIZED`
        IsNormalized { operand: Id<Expr>, form: Option<NormalForm>, negated: bool },
        /// `a IS [NOT] JSON OBJECT WITH UNIQUE KEYS`
        IsJson { operand: Id<Expr>, sort: JsonSort, unique_keys: bool, negated: bool },
        /// `a [NOT] BETWEEN [SYMMETRIC] b AND c`
        Between { operand: Id<Expr>, low: Id<Expr>, high: Id<Expr>, symmetric: bool, negated: bool },
        /// `a [NOT] LIKE b ESCAPE c`
        Like { operand: Id<Expr>, pattern: Id<Expr>, escape: Option<Id<Expr>>, matching: Matching, negated: bool },
        /// `a [NOT] IN (b, c)`
        InList { operand: Id<Expr>, items: List<Expr>, negated: bool },
        /// `a [NOT] IN (SELECT ...)`
        InQuery { operand: Id<Expr>, query: Id<Query>, negated: bool },
        /// `(a, b) OVERLAPS (c, d)`; both are [`Expr::Row`]s.
        Overlaps { left: Id<Expr>, right: Id<Expr> },
        /// `a AT TIME ZONE b`
        AtTimeZone { operand: Id<Expr>, zone: Id<Expr> },
        /// `a COLLATE c`
        Collate { operand: Id<Expr>, collation: List<Name> },
        /// `a::type`, `CAST (a AS type)`
        Cast { operand: Id<Expr>, data_type: Id<TypeName> },
        /// `TREAT (a AS type)`
        Treat { operand: Id<Expr>, data_type: Id<TypeName> },
        /// `f(a, b)`; what else may belong to a call is in `tail`.
        Call { name: List<Name>, form: CallForm, args: List<Expr>, tail: Option<Id<CallTail>> },
        /// `name => value`, among a call's arguments.
        NamedArgument { name: Id<Name>, value: Id<Expr> },
        /// A function with a syntax of its own. What each one's `args` are, [`SpecialForm`] tells.
        Special { form: SpecialForm, args: List<Expr> },
        /// `EXTRACT (field FROM a)`
        Extract { field: Id<Name>, source: Id<Expr> },
        /// `NORMALIZE (a, NFC)`
        Normalize { operand: Id<Expr>, form: Option<NormalForm> },
        /// `CURRENT_DATE`, `LOCALTIME (3)`, `CURRENT_USER`
        SessionValue { value: SessionValue, precision: Option<Id<Expr>> },
        /// `GROUPING (a, b)`
        Grouping { args: List<Expr> },
        /// `CASE a WHEN b THEN c ELSE d END`
        Case { operand: Option<Id<Expr>>, whens: List<When>, otherwise: Option<Id<Expr>> },
        /// `(a, b)`, and with `explicit` `ROW (a)`: GROUP BY tells them apart.
        Row { items: List<Expr>, explicit: bool },
        /// `ARRAY[a, b]`, and an array within it.
        Array { items: List<Expr> },
        /// `ARRAY (SELECT ...)`
        ArrayQuery { query: Id<Query> },
        /// `(SELECT ...)`
        Subquery { query: Id<Query> },
        /// `EXISTS (SELECT ...)`
        Exists { query: Id<Query> },
        /// `DEFAULT` in place of a value.
        Default,
        /// `XMLELEMENT (NAME n, XMLATTRIBUTES (...), content)`
        XmlElement { name: Id<Name>, attributes: List<XmlAttribute>, content: List<Expr> },
        /// `XMLFOREST (a AS b)`
        XmlForest { items: List<XmlAttribute> },
        /// `XMLPARSE (DOCUMENT a)`
        XmlParse { document: bool, value: Id<Expr>, preserve_whitespace: bool },
        /// `XMLPI (NAME n, a)`
        XmlPi { name: Id<Name>, content: Option<Id<Expr>> },
        /// `XMLROOT (a, VERSION b, STANDALONE YES)`; without `version`: NO VALUE.
        XmlRoot { value: Id<Expr>, version: Option<Id<Expr>>, standalone: Option<Standalone> },
        /// `XMLSERIALIZE (DOCUMENT a AS type)`
        XmlSerialize { document: bool, value: Id<Expr>, data_type: Id<TypeName> },
        /// `XMLEXISTS (a PASSING b)`
        XmlExists { path: Id<Expr>, document: Id<Expr> },
    }
}

scalar! {
    /// What IS asks for.
    pub enum IsTest { Null, True, False, Unknown, Document }
}

scalar! {
    /// What IS JSON asks for.
    pub enum JsonSort { Any, Value, Array, Object, Scalar }
}

scalar! {
    /// Unicode's normal forms.
    pub enum NormalForm { Nfc, Nfd, Nfkc, Nfkd }
}

scalar! {
    /// How a pattern is matched.
    pub enum Matching { Like, ILike, SimilarTo }
}

scalar! {
    /// What stands before a call's arguments, or instead of them.
    pub enum CallForm {
        Plain,
        /// `f(*)`
        Star,
        /// `f(ALL a)`
        All,
        /// `f(DISTINCT a)`
        Distinct,
        /// `f(a, VARIADIC b)`: the last argument.
        Variadic,
    }
}

scalar! {
    /// `XMLROOT`'s STANDALONE.
    pub enum Standalone { Yes, No, NoValue }
}

scalar! {
    /// Functions with a syntax of their own, with their arguments in the order in which the tree has them.
    pub enum SpecialForm {
        /// `COALESCE (a, b)`
        Coalesce,
        /// `NULLIF (a, b)`
        NullIf,
        /// `GREATEST (a, b)`
        Greatest,
        /// `LEAST (a, b)`
        Least,
        /// `OVERLAY (a PLACING b FROM c FOR d)`: a, b, c, and d if it is there.
        Overlay,
        /// `POSITION (a IN b)`: a, b.
        Position,
        /// `SUBSTRING (a FROM b)`
        SubstringFrom,
        /// `SUBSTRING (a FROM b FOR c)`
        SubstringFromFor,
        /// `SUBSTRING (a FOR b)`
        SubstringFor,
        /// `SUBSTRING (a SIMILAR b ESCAPE c)`
        SubstringSimilar,
        /// `TRIM (BOTH b FROM a)`: a, and b if it is there.
        TrimBoth,
        /// `TRIM (LEADING b FROM a)`: a, and b if it is there.
        TrimLeading,
        /// `TRIM (TRAILING b FROM a)`: a, and b if it is there.
        TrimTrailing,
        /// `COLLATION FOR (a)`
        CollationFor,
        /// `XMLCONCAT (a, b)`
        XmlConcat,
    }
}

scalar! {
    /// Values of the session that are written without parentheses.
    pub enum SessionValue {
        CurrentDate,
        CurrentTime,
        CurrentTimestamp,
        LocalTime,
        LocalTimestamp,
        CurrentRole,
        CurrentUser,
        SessionUser,
        User,
        CurrentCatalog,
        CurrentSchema,
    }
}

syntax! {
    family 3;
    /// An operator.
    pub enum Operator {
        /// Its text; `!=` reads `<>`.
        Plain { text: Text },
        /// `OPERATOR (schema.+)`: the schema's names, and the operator's text as the last.
        Qualified { names: List<Name> },
        /// `LIKE` before ANY or ALL.
        Like,
        /// `NOT LIKE` before ANY or ALL.
        NotLike,
        /// `ILIKE` before ANY or ALL.
        ILike,
        /// `NOT ILIKE` before ANY or ALL.
        NotILike,
    }
}

syntax! {
    family 4;
    /// A step from a value to a part of it.
    pub enum Indirection {
        /// `.name`
        Field { name: Id<Name> },
        /// `.*`
        All,
        /// `[1]`
        Index { index: Id<Expr> },
        /// `[1:2]`
        Slice { lower: Option<Id<Expr>>, upper: Option<Id<Expr>> },
    }
}

syntax! {
    family 5;
    /// `WHEN condition THEN result`
    pub struct When { condition: Id<Expr>, result: Id<Expr> }
}

syntax! {
    family 6;
    /// What may stand in a call behind its arguments, and behind the call.
    pub struct CallTail {
        /// `f(a ORDER BY b)`
        order_by: List<SortKey>,
        /// `f(a) WITHIN GROUP (ORDER BY b)`
        within_group: List<SortKey>,
        /// `f(a) FILTER (WHERE b)`
        filter: Option<Id<Expr>>,
        /// `f(a) OVER ...`
        over: Option<Id<Over>>,
    }
}

syntax! {
    family 7;
    /// What OVER says.
    pub enum Over {
        /// `OVER w`
        Window { name: Id<Name> },
        /// `OVER (...)`
        Spec { spec: Id<WindowSpec> },
    }
}
