//! Statements that change rows.

use super::{Print, Printer};
use crate::syntax::{
    Assignment, AssignmentTarget, Delete, Expr, IndexElement, Insert, Merge, MergeAction, MergeClause, MergeMatch,
    OnConflict, Overriding, Returning, Update,
};
use crate::tree::{Id, List};

impl Print for AssignmentTarget {
    fn print(self, _: Id<AssignmentTarget>, p: &mut Printer<'_, '_>) {
        p.node(self.column);
        p.separated(self.steps, "");
    }
}

impl Print for Assignment {
    fn print(self, _: Id<Assignment>, p: &mut Printer<'_, '_>) {
        match self {
            Assignment::One { target, value } => {
                p.node(target);
                p.say(" = ");
                p.node(value);
            }
            Assignment::Many { targets, value } => {
                p.say("(");
                p.list(targets);
                p.say(") = ");
                p.node(value);
            }
        }
    }
}

impl Print for Insert {
    fn print(self, _: Id<Insert>, p: &mut Printer<'_, '_>) {
        p.with(self.with);
        p.say("INSERT INTO ");
        p.node(self.table);
        p.optional(" AS ", self.alias);
        p.optional_list(" (", self.columns, ")");
        p.overriding(self.overriding);
        p.say_if(self.source.is_none(), " DEFAULT VALUES");
        p.optional(" ", self.source);
        p.optional(" ON CONFLICT", self.conflict);
        p.optional(" RETURNING ", self.returning);
    }
}

impl Printer<'_, '_> {
    fn overriding(&mut self, overriding: Option<Overriding>) {
        self.say(match overriding {
            None => "",
            Some(Overriding::User) => " OVERRIDING USER VALUE",
            Some(Overriding::System) => " OVERRIDING SYSTEM VALUE",
        });
    }

    fn assignments(&mut self, assignments: List<Assignment>) {
        self.list(assignments);
    }
}

impl Print for OnConflict {
    fn print(self, _: Id<OnConflict>, p: &mut Printer<'_, '_>) {
        p.optional_list(" (", self.index, ")");
        p.optional(" WHERE ", self.index_filter);
        p.optional(" ON CONSTRAINT ", self.constraint);
        p.say(if self.update { " DO UPDATE SET " } else { " DO NOTHING" });
        p.assignments(self.assignments);
        p.optional(" WHERE ", self.filter);
    }
}

impl Print for IndexElement {
    fn print(self, _: Id<IndexElement>, p: &mut Printer<'_, '_>) {
        let bare = match p.tree.get(self.expr) {
            Expr::Column { names } => p.tree.len(names) == 1,
            Expr::Call { tail: None, .. } => true,
            _ => false,
        };
        p.say_if(!bare, "(");
        p.node(self.expr);
        p.say_if(!bare, ")");
        p.say_if(!self.collation.is_empty(), " COLLATE ");
        p.dotted(self.collation);
        p.say_if(!self.operator_class.is_empty(), " ");
        p.dotted(self.operator_class);
        p.optional_list(" (", self.options, ")");
        p.direction(self.direction, self.nulls);
    }
}

impl Print for Returning {
    fn print(self, _: Id<Returning>, p: &mut Printer<'_, '_>) {
        if self.old.is_some() || self.new.is_some() {
            p.say("WITH (");
            p.optional("OLD AS ", self.old);
            p.say_if(self.old.is_some() && self.new.is_some(), ", ");
            p.optional("NEW AS ", self.new);
            p.say(") ");
        }
        p.list(self.targets);
    }
}

impl Print for Update {
    fn print(self, _: Id<Update>, p: &mut Printer<'_, '_>) {
        p.with(self.with);
        p.say("UPDATE ");
        p.node(self.table);
        p.say(" SET ");
        p.assignments(self.assignments);
        p.optional_list(" FROM ", self.from, "");
        p.optional(" WHERE ", self.filter);
        p.optional(" WHERE CURRENT OF ", self.current_of);
        p.optional(" RETURNING ", self.returning);
    }
}

impl Print for Delete {
    fn print(self, _: Id<Delete>, p: &mut Printer<'_, '_>) {
        p.with(self.with);
        p.say("DELETE FROM ");
        p.node(self.table);
        p.optional_list(" USING ", self.using, "");
        p.optional(" WHERE ", self.filter);
        p.optional(" WHERE CURRENT OF ", self.current_of);
        p.optional(" RETURNING ", self.returning);
    }
}

impl Print for Merge {
    fn print(self, _: Id<Merge>, p: &mut Printer<'_, '_>) {
        p.with(self.with);
        p.say("MERGE INTO ");
        p.node(self.table);
        p.say(" USING ");
        p.node(self.source);
        p.say(" ON ");
        p.node(self.on);
        p.say(" ");
        p.separated(self.clauses, " ");
        p.optional(" RETURNING ", self.returning);
    }
}

impl Print for MergeClause {
    fn print(self, _: Id<MergeClause>, p: &mut Printer<'_, '_>) {
        p.say(match self.matched {
            MergeMatch::Matched => "WHEN MATCHED",
            MergeMatch::NotMatched => "WHEN NOT MATCHED",
            MergeMatch::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
        });
        p.optional(" AND ", self.condition);
        p.say(" THEN ");
        p.node(self.action);
    }
}

impl Print for MergeAction {
    fn print(self, _: Id<MergeAction>, p: &mut Printer<'_, '_>) {
        match self {
            MergeAction::Update { assignments } => {
                p.say("UPDATE SET ");
                p.assignments(assignments);
            }
            MergeAction::Delete => p.say("DELETE"),
            MergeAction::Insert { columns, overriding, values } => {
                p.say("INSERT");
                p.optional_list(" (", columns, ")");
                p.overriding(overriding);
                p.bracketed(" VALUES (", values, ")");
            }
            MergeAction::InsertDefaults => p.say("INSERT DEFAULT VALUES"),
            MergeAction::DoNothing => p.say("DO NOTHING"),
        }
    }
}
