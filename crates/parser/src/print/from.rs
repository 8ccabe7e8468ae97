//! What FROM has.

use super::{Print, Printer};
use crate::syntax::{Alias, Expr, FunctionColumn, FunctionItem, JoinKind, Relation, TableRef, TableSample};
use crate::tree::Id;

impl Print for TableRef {
    fn print(self, _: Id<TableRef>, p: &mut Printer<'_, '_>) {
        match self {
            TableRef::Table { name, only, alias, sample } => {
                p.say_if(only, "ONLY ");
                p.node(name);
                p.optional(" AS ", alias);
                p.optional(" ", sample);
            }
            TableRef::Function { functions, rows_from, ordinality, lateral, alias } => {
                p.say_if(lateral, "LATERAL ");
                p.say_if(rows_from, "ROWS FROM (");
                p.list(functions);
                p.say_if(rows_from, ")");
                p.say_if(ordinality, " WITH ORDINALITY");
                p.optional(" AS ", alias);
            }
            TableRef::Subquery { query, lateral, alias } => {
                p.say(if lateral { "LATERAL (" } else { "(" });
                p.node(query);
                p.say(")");
                p.optional(" AS ", alias);
            }
            TableRef::Xml { table, lateral, alias } => {
                p.say_if(lateral, "LATERAL ");
                p.node(table);
                p.optional(" AS ", alias);
            }
            TableRef::Join { alias, .. } => {
                p.say_if(alias.is_some(), "(");
                p.join(self);
                p.say_if(alias.is_some(), ")");
                p.optional(" AS ", alias);
            }
        }
    }
}

impl Printer<'_, '_> {
    fn join(&mut self, join: TableRef) {
        let TableRef::Join { kind, natural, left, right, on, using, using_alias, .. } = join else { return };
        self.node(left);
        self.say(if natural { " NATURAL" } else { "" });
        self.say(match kind {
            JoinKind::Inner => " JOIN ",
            JoinKind::Left => " LEFT JOIN ",
            JoinKind::Right => " RIGHT JOIN ",
            JoinKind::Full => " FULL JOIN ",
            JoinKind::Cross => " CROSS JOIN ",
        });
        let parentheses = matches!(self.tree.get(right), TableRef::Join { alias: None, .. });
        self.say_if(parentheses, "(");
        self.node(right);
        self.say_if(parentheses, ")");
        self.optional(" ON ", on);
        self.optional_list(" USING (", using, ")");
        self.optional(" AS ", using_alias);
    }

    /// An expression where only a function may stand.
    fn function(&mut self, function: Id<Expr>) {
        match self.tree.get(function) {
            Expr::Cast { operand, data_type } => self.cast_function("CAST(", operand, data_type),
            _ => self.node(function),
        }
    }
}

impl Print for FunctionItem {
    fn print(self, _: Id<FunctionItem>, p: &mut Printer<'_, '_>) {
        p.function(self.function);
        p.optional_list(" AS (", self.columns, ")");
    }
}

impl Print for FunctionColumn {
    fn print(self, _: Id<FunctionColumn>, p: &mut Printer<'_, '_>) {
        p.node(self.name);
        p.say(" ");
        p.node(self.data_type);
        p.say_if(!self.collation.is_empty(), " COLLATE ");
        p.dotted(self.collation);
    }
}

impl Print for Alias {
    fn print(self, _: Id<Alias>, p: &mut Printer<'_, '_>) {
        p.optional("", self.name);
        let blank = self.name.is_some();
        p.optional_list(if blank { " (" } else { "(" }, self.columns, ")");
        p.optional_list(if blank { " (" } else { "(" }, self.definitions, ")");
    }
}

impl Print for TableSample {
    fn print(self, _: Id<TableSample>, p: &mut Printer<'_, '_>) {
        p.say("TABLESAMPLE ");
        p.dotted(self.method);
        p.bracketed(" (", self.args, ")");
        p.optional(" REPEATABLE (", self.repeatable);
        p.say_if(self.repeatable.is_some(), ")");
    }
}

impl Print for Relation {
    fn print(self, _: Id<Relation>, p: &mut Printer<'_, '_>) {
        p.say_if(self.only, "ONLY ");
        p.node(self.name);
        p.optional(" AS ", self.alias);
    }
}
