//! Names and operators.

use super::{Print, Printer};
use crate::syntax::{Indirection, Name, Operator, OptionValue, QualifiedName, StorageOption};
use crate::tree::{Id, List};

impl Printer<'_, '_> {
    /// Names with dots between them.
    pub(crate) fn dotted(&mut self, names: List<Name>) {
        self.separated(names, ".");
    }
}

impl Print for Name {
    fn print(self, _: Id<Name>, p: &mut Printer<'_, '_>) {
        p.name_text(self.text);
    }
}

impl Print for QualifiedName {
    fn print(self, _: Id<QualifiedName>, p: &mut Printer<'_, '_>) {
        p.dotted(self.parts);
    }
}

impl Print for Operator {
    fn print(self, _: Id<Operator>, p: &mut Printer<'_, '_>) {
        match self {
            Operator::Plain { text } => p.verbatim(text),
            Operator::Qualified { names } => {
                p.say("OPERATOR(");
                let tree = p.tree;
                let last = tree.len(names).saturating_sub(1);
                for (number, name) in tree.list(names).enumerate() {
                    if number == last {
                        p.verbatim(tree.get(name).text);
                    } else {
                        p.node(name);
                        p.say(".");
                    }
                }
                p.say(")");
            }
            Operator::Like => p.say("LIKE"),
            Operator::NotLike => p.say("NOT LIKE"),
            Operator::ILike => p.say("ILIKE"),
            Operator::NotILike => p.say("NOT ILIKE"),
        }
    }
}

impl Print for Indirection {
    fn print(self, _: Id<Indirection>, p: &mut Printer<'_, '_>) {
        match self {
            Indirection::Field { name } => {
                p.say(".");
                p.node(name);
            }
            Indirection::All => p.say(".*"),
            Indirection::Index { index } => {
                p.say("[");
                p.node(index);
                p.say("]");
            }
            Indirection::Slice { lower, upper } => {
                p.say("[");
                p.optional("", lower);
                p.say(" : ");
                p.optional("", upper);
                p.say("]");
            }
        }
    }
}

impl Print for StorageOption {
    fn print(self, _: Id<StorageOption>, p: &mut Printer<'_, '_>) {
        p.dotted(self.name);
        p.optional(" = ", self.value);
    }
}

impl Print for OptionValue {
    fn print(self, _: Id<OptionValue>, p: &mut Printer<'_, '_>) {
        match self {
            OptionValue::Type { data_type } => p.node(data_type),
            // A reserved word in quotes would be a name.
            OptionValue::Word { word } => p.verbatim(p.tree.get(word).text),
            OptionValue::Operator { operator } => p.node(operator),
            OptionValue::Constant { value } => p.node(value),
        }
    }
}
