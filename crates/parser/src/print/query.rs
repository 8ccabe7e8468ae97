//! Queries.

use super::{Print, Printer};
use crate::syntax::{
    Cte, CycleClause, Direction, Exclusion, Expr, Frame, FrameBound, FrameUnit, GroupItem, Into, LimitForm,
    LockStrength, LockWait, Locking, Materialized, NullsOrder, Persistence, Query, QueryBody, Row, SearchClause,
    SelectQuantifier, SetOperation, SortKey, Target, WindowDefinition, WindowSpec, With,
};
use crate::tree::{Id, List};

impl Print for Query {
    fn print(self, _: Id<Query>, p: &mut Printer<'_, '_>) {
        p.with(self.with);
        p.node(self.body);
        p.optional_list(" ORDER BY ", self.order_by, "");
        match (self.limit_form, self.limit) {
            (LimitForm::All, _) => p.say(" LIMIT ALL"),
            (LimitForm::Plain, limit) => p.optional(" LIMIT ", limit),
            (LimitForm::WithTies, limit) => {
                p.say(" FETCH FIRST ");
                if let Some(limit) = limit {
                    p.simple(limit);
                }
                p.say(" ROWS WITH TIES");
            }
        }
        p.optional(" OFFSET ", self.offset);
        p.separated_before(self.locking);
    }
}

impl Printer<'_, '_> {
    /// WITH and a blank, if it is there.
    pub(super) fn with(&mut self, with: Option<Id<With>>) {
        self.optional("", with);
        self.say_if(with.is_some(), " ");
    }

    fn separated_before(&mut self, locking: List<Locking>) {
        self.say_if(!locking.is_empty(), " ");
        self.separated(locking, " ");
    }

    /// A side of a set operation, in parentheses where it would not be read as one side.
    fn set_operand(&mut self, query: Id<Query>, operation: SetOperation, right: bool) {
        let Query { with, body, order_by, limit, limit_form, offset, locking } = self.tree.get(query);
        let simple = with.is_none()
            && order_by.is_empty()
            && limit.is_none()
            && limit_form == LimitForm::Plain
            && offset.is_none()
            && locking.is_empty();
        let tight = |operation| operation == SetOperation::Intersect;
        let fits = match self.tree.get(body) {
            QueryBody::SetOperation { operation: inner, .. } => match right {
                true => tight(inner) && !tight(operation),
                false => tight(inner) || !tight(operation),
            },
            _ => true,
        };
        self.say_if(!(simple && fits), "(");
        self.node(query);
        self.say_if(!(simple && fits), ")");
    }

    fn select(&mut self, body: QueryBody) {
        let QueryBody::Select {
            quantifier,
            distinct_on,
            targets,
            into,
            from,
            filter,
            group_by,
            group_distinct,
            having,
            windows,
        } = body
        else {
            return;
        };
        self.say(match quantifier {
            SelectQuantifier::All => "SELECT",
            SelectQuantifier::Distinct => "SELECT DISTINCT",
            SelectQuantifier::DistinctOn => "SELECT DISTINCT ON ",
        });
        self.optional_list("(", distinct_on, ")");
        self.optional_list(" ", targets, "");
        self.optional(" INTO ", into);
        self.optional_list(" FROM ", from, "");
        self.optional(" WHERE ", filter);
        self.optional_list(if group_distinct { " GROUP BY DISTINCT " } else { " GROUP BY " }, group_by, "");
        self.optional(" HAVING ", having);
        self.optional_list(" WINDOW ", windows, "");
    }
}

impl Print for QueryBody {
    fn print(self, _: Id<QueryBody>, p: &mut Printer<'_, '_>) {
        match self {
            QueryBody::Select { .. } => p.select(self),
            QueryBody::Values { rows } => {
                p.say("VALUES ");
                p.list(rows);
            }
            QueryBody::Table { relation } => {
                p.say("TABLE ");
                p.node(relation);
            }
            QueryBody::SetOperation { operation, all, left, right } => {
                p.set_operand(left, operation, false);
                p.say(match operation {
                    SetOperation::Union => " UNION ",
                    SetOperation::Intersect => " INTERSECT ",
                    SetOperation::Except => " EXCEPT ",
                });
                p.say_if(all, "ALL ");
                p.set_operand(right, operation, true);
            }
        }
    }
}

impl Print for Row {
    fn print(self, _: Id<Row>, p: &mut Printer<'_, '_>) {
        p.bracketed("(", self.values, ")");
    }
}

impl Print for With {
    fn print(self, _: Id<With>, p: &mut Printer<'_, '_>) {
        p.say(if self.recursive { "WITH RECURSIVE " } else { "WITH " });
        p.list(self.ctes);
    }
}

impl Print for Cte {
    fn print(self, _: Id<Cte>, p: &mut Printer<'_, '_>) {
        p.node(self.name);
        p.optional_list(" (", self.columns, ")");
        p.say(match self.materialized {
            None => " AS (",
            Some(Materialized::Yes) => " AS MATERIALIZED (",
            Some(Materialized::No) => " AS NOT MATERIALIZED (",
        });
        p.node(self.statement);
        p.say(")");
        p.optional(" ", self.search);
        p.optional(" ", self.cycle);
    }
}

impl Print for SearchClause {
    fn print(self, _: Id<SearchClause>, p: &mut Printer<'_, '_>) {
        p.say(if self.breadth_first { "SEARCH BREADTH FIRST BY " } else { "SEARCH DEPTH FIRST BY " });
        p.list(self.columns);
        p.say(" SET ");
        p.node(self.sequence);
    }
}

impl Print for CycleClause {
    fn print(self, _: Id<CycleClause>, p: &mut Printer<'_, '_>) {
        p.say("CYCLE ");
        p.list(self.columns);
        p.say(" SET ");
        p.node(self.mark);
        p.optional(" TO ", self.value);
        p.optional(" DEFAULT ", self.default);
        p.say(" USING ");
        p.node(self.path);
    }
}

impl Print for Target {
    fn print(self, _: Id<Target>, p: &mut Printer<'_, '_>) {
        p.node(self.expr);
        p.optional(" AS ", self.alias);
    }
}

impl Print for Into {
    fn print(self, _: Id<Into>, p: &mut Printer<'_, '_>) {
        p.say(match self.persistence {
            Persistence::Permanent => "TABLE ",
            Persistence::Temporary => "TEMPORARY TABLE ",
            Persistence::Unlogged => "UNLOGGED TABLE ",
        });
        p.node(self.name);
    }
}

impl Print for GroupItem {
    fn print(self, _: Id<GroupItem>, p: &mut Printer<'_, '_>) {
        match self {
            GroupItem::Expr { expr } => p.node(expr),
            GroupItem::Empty => p.say("()"),
            GroupItem::Rollup { items } => p.bracketed("ROLLUP (", items, ")"),
            GroupItem::Cube { items } => p.bracketed("CUBE (", items, ")"),
            GroupItem::Sets { items } => {
                p.say("GROUPING SETS (");
                p.list(items);
                p.say(")");
            }
        }
    }
}

impl Print for SortKey {
    fn print(self, _: Id<SortKey>, p: &mut Printer<'_, '_>) {
        p.node(self.expr);
        p.optional(" USING ", self.operator);
        p.direction(self.direction, self.nulls);
    }
}

impl Printer<'_, '_> {
    /// `DESC NULLS LAST`, blanks before.
    pub(super) fn direction(&mut self, direction: Option<Direction>, nulls: Option<NullsOrder>) {
        self.say(match direction {
            None => "",
            Some(Direction::Ascending) => " ASC",
            Some(Direction::Descending) => " DESC",
        });
        self.say(match nulls {
            None => "",
            Some(NullsOrder::First) => " NULLS FIRST",
            Some(NullsOrder::Last) => " NULLS LAST",
        });
    }
}

impl Print for WindowDefinition {
    fn print(self, _: Id<WindowDefinition>, p: &mut Printer<'_, '_>) {
        p.node(self.name);
        p.say(" AS ");
        p.node(self.spec);
    }
}

impl Print for WindowSpec {
    fn print(self, _: Id<WindowSpec>, p: &mut Printer<'_, '_>) {
        let WindowSpec { base, partition_by, order_by, frame } = self;
        p.say("(");
        p.optional("", base);
        p.say_if(base.is_some() && !partition_by.is_empty(), " ");
        p.optional_list("PARTITION BY ", partition_by, "");
        let first = base.is_none() && partition_by.is_empty();
        p.optional_list(if first { "ORDER BY " } else { " ORDER BY " }, order_by, "");
        p.optional(if first && order_by.is_empty() { "" } else { " " }, frame);
        p.say(")");
    }
}

impl Print for Frame {
    fn print(self, _: Id<Frame>, p: &mut Printer<'_, '_>) {
        p.say(match self.unit {
            FrameUnit::Range => "RANGE ",
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Groups => "GROUPS ",
        });
        p.say_if(self.end.is_some(), "BETWEEN ");
        p.node(self.start);
        p.optional(" AND ", self.end);
        p.say(match self.exclusion {
            None => "",
            Some(Exclusion::CurrentRow) => " EXCLUDE CURRENT ROW",
            Some(Exclusion::Group) => " EXCLUDE GROUP",
            Some(Exclusion::Ties) => " EXCLUDE TIES",
            Some(Exclusion::NoOthers) => " EXCLUDE NO OTHERS",
        });
    }
}

impl Print for FrameBound {
    fn print(self, _: Id<FrameBound>, p: &mut Printer<'_, '_>) {
        match self {
            FrameBound::UnboundedPreceding => p.say("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => p.say("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => p.say("CURRENT ROW"),
            FrameBound::Preceding { offset } => p.frame_offset(offset, " PRECEDING"),
            FrameBound::Following { offset } => p.frame_offset(offset, " FOLLOWING"),
        }
    }
}

impl Printer<'_, '_> {
    /// An AND in an offset would be the one of BETWEEN, and a column may be called `unbounded`.
    fn frame_offset(&mut self, offset: Id<Expr>, direction: &'static str) {
        let column = matches!(self.tree.get(offset), Expr::Column { .. });
        self.say_if(column, "(");
        self.operand(offset, crate::parse::power::MATCH);
        self.say_if(column, ")");
        self.say(direction);
    }
}

impl Print for Locking {
    fn print(self, _: Id<Locking>, p: &mut Printer<'_, '_>) {
        p.say(match self.strength {
            LockStrength::Update => "FOR UPDATE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::KeyShare => "FOR KEY SHARE",
        });
        p.optional_list(" OF ", self.tables, "");
        p.say(match self.wait {
            None => "",
            Some(LockWait::NoWait) => " NOWAIT",
            Some(LockWait::SkipLocked) => " SKIP LOCKED",
        });
    }
}
