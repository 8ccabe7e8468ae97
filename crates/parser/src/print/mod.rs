//! From trees back to SQL: one canonical way of writing each tree, which parses to the same tree again.
//!
//! A node's printer says in order what it consists of: texts, and nodes that are printed later. What is said is put on
//! a stack, so that printing takes memory of the heap by the tree's depth, and none of the thread's stack.
//!
//! To print a new kind of node, implement [`Print`] for its family in the file of its part of the grammar.

mod dml;
mod expr;
mod from;
mod names;
mod power;
mod query;
mod statement;
mod types;
mod utility;
mod xml;

use crate::parse::Power;
use crate::syntax::Expr;
use crate::tree::{Id, List, Syntax, Text, Tree};

/// What knows how it is written.
pub(crate) trait Print: Syntax {
    /// Says what the node consists of. `id` is its own.
    fn print(self, id: Id<Self>, printer: &mut Printer<'_, '_>);
}

/// Prints the node that it is given.
type PrintNode = fn(&mut Printer<'_, '_>, u32);

/// A part of what is written.
#[derive(Clone, Copy)]
enum Part {
    Said(&'static str),
    Node(PrintNode, u32),
    Name(Text),
    Constant(Text),
    Verbatim(Text),
    Number(u32),
    /// By the number of its kind.
    Keyword(u32),
    /// A name that may not look like a keyword.
    Identifier(Text),
}

/// Writes a tree.
pub(crate) struct Printer<'t, 's> {
    pub(crate) tree: &'t Tree<'s>,
    /// What the node at hand consists of, in order.
    parts: Vec<Part>,
    out: String,
}

impl Tree<'_> {
    /// The node as SQL. Parsed again it gives the same tree, whatever its names and constants.
    #[allow(private_bounds, reason = "which nodes can be printed is this crate's business")]
    pub fn print<T: Print>(&self, id: Id<T>) -> String {
        let mut printer = Printer { tree: self, parts: Vec::new(), out: String::new() };
        printer.node(id);
        printer.write()
    }
}

impl Printer<'_, '_> {
    fn write(mut self) -> String {
        let mut work = std::mem::take(&mut self.parts);
        while let Some(part) = work.pop() {
            match part {
                Part::Said(text) => self.out.push_str(text),
                Part::Name(text) => crate::token::quote_identifier(self.tree.text(text), &mut self.out),
                Part::Constant(text) => self.constant(text),
                Part::Verbatim(text) => self.out.push_str(self.tree.text(text)),
                Part::Number(number) => self.out.push_str(&number.to_string()),
                Part::Keyword(kind) => self.out.push_str(&crate::utility::keyword_text(kind)),
                Part::Identifier(text) => self.identifier(text),
                Part::Node(print, number) => {
                    print(&mut self, number);
                    work.extend(self.parts.drain(..).rev());
                }
            }
        }
        self.out
    }

    fn constant(&mut self, text: Text) {
        self.out.push('\'');
        self.out.push_str(&self.tree.text(text).replace('\'', "''"));
        self.out.push('\'');
    }

    fn identifier(&mut self, text: Text) {
        let name = self.tree.text(text);
        match crate::token::find_keyword(name.as_bytes()) {
            Some(_) => self.out.push_str(&format!("\"{name}\"")),
            None => crate::token::quote_identifier(name, &mut self.out),
        }
    }

    /// A keyword or symbol, by the number of its kind.
    pub(crate) fn keyword(&mut self, kind: u32) {
        self.parts.push(Part::Keyword(kind));
    }

    /// A name that may not look like a keyword.
    pub(crate) fn identifier_text(&mut self, text: Text) {
        self.parts.push(Part::Identifier(text));
    }

    /// Says a text.
    pub(crate) fn say(&mut self, text: &'static str) {
        self.parts.push(Part::Said(text));
    }

    /// Says a text if the condition holds.
    pub(crate) fn say_if(&mut self, condition: bool, text: &'static str) {
        if condition {
            self.say(text);
        }
    }

    /// A name, quoted where it must be.
    pub(crate) fn name_text(&mut self, text: Text) {
        self.parts.push(Part::Name(text));
    }

    /// A string constant.
    pub(crate) fn string_text(&mut self, text: Text) {
        self.parts.push(Part::Constant(text));
    }

    /// A text as it is.
    pub(crate) fn verbatim(&mut self, text: Text) {
        self.parts.push(Part::Verbatim(text));
    }

    /// A number.
    pub(crate) fn number(&mut self, number: u32) {
        self.parts.push(Part::Number(number));
    }

    /// A node.
    pub(crate) fn node<T: Print>(&mut self, id: Id<T>) {
        fn print<T: Print>(printer: &mut Printer<'_, '_>, number: u32) {
            let id = std::num::NonZeroU32::new(number).map_or_else(|| unreachable!("a node's number"), Id::<T>::new);
            printer.tree.get(id).print(id, printer);
        }
        self.parts.push(Part::Node(print::<T>, id.0.get()));
    }

    /// A node with words before it, if it is there.
    pub(crate) fn optional<T: Print>(&mut self, before: &'static str, id: Option<Id<T>>) {
        if let Some(id) = id {
            self.say(before);
            self.node(id);
        }
    }

    /// A list's nodes with something between them.
    pub(crate) fn separated<T: Print>(&mut self, list: List<T>, between: &'static str) {
        let tree = self.tree;
        for (number, item) in tree.list(list).enumerate() {
            self.say_if(number > 0, between);
            self.node(item);
        }
    }

    /// A list's nodes with commas between them.
    pub(crate) fn list<T: Print>(&mut self, list: List<T>) {
        self.separated(list, ", ");
    }

    /// A list with commas and with words before it, unless it is empty.
    pub(crate) fn optional_list<T: Print>(&mut self, before: &'static str, list: List<T>, after: &'static str) {
        if !list.is_empty() {
            self.say(before);
            self.list(list);
            self.say(after);
        }
    }

    /// An expression as an operand: in parentheses unless it binds at least as tightly as this.
    pub(crate) fn operand(&mut self, id: Id<Expr>, power: Power) {
        let parentheses = self.power(id) < power;
        self.say_if(parentheses, "(");
        self.node(id);
        self.say_if(parentheses, ")");
    }
}
