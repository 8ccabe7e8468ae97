//! Looks at a command's tree.

use super::grammar::{Grammar, SYMBOLS};
use crate::syntax::{Part, Statement};
use crate::token::{KEYWORDS, TokenKind};
use crate::tree::{Id, List, NodeRef, Tree};

/// The parts of a command, or of a rule in it, by the names of the grammar's rules.
///
/// ```
/// use cairn_parser::{Options, Parts, TokenKind, parse_statement};
///
/// let parsed = parse_statement("CREATE UNIQUE INDEX i ON t (a, b)", Options::default())?.expect("a statement");
/// let command = Parts::of_statement(&parsed.tree, parsed.statement).expect("a utility command");
/// assert_eq!(command.name(), "create_index");
/// assert!(command.has(TokenKind::Unique) && !command.has(TokenKind::Concurrently));
/// assert_eq!(command.rules("index_element").count(), 2);
/// # Ok::<(), Box<cairn_parser::ParseError>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Parts<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) name: &'static str,
    pub(super) parts: List<Part>,
    pub(super) start: u32,
}

impl<'t, 'a> Parts<'t, 'a> {
    /// The parts of a statement, where it is a utility command.
    pub fn of_statement(tree: &'t Tree<'a>, statement: Id<Statement>) -> Option<Parts<'t, 'a>> {
        match tree.get(statement) {
            Statement::Utility { command } => Parts::of(tree, command),
            _ => None,
        }
    }

    /// The parts of a part, where it is a rule.
    pub fn of(tree: &'t Tree<'a>, part: Id<Part>) -> Option<Parts<'t, 'a>> {
        match tree.get(part) {
            Part::Rule { rule, parts } => {
                Some(Parts { tree, name: Grammar::get().name(rule), parts, start: tree.span(part).start })
            }
            _ => None,
        }
    }

    /// As [`Parts::of`], by a node of any kind.
    pub fn of_reference(tree: &'t Tree<'a>, node: NodeRef) -> Option<Parts<'t, 'a>> {
        Parts::of(tree, tree.part(node)?)
    }

    /// The rule's name in the grammar: of a command `create_table`, of its parts `column_constraint`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The first byte.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Each part in order.
    pub fn each(&self) -> impl DoubleEndedIterator<Item = Id<Part>> + 't + use<'t, 'a> {
        self.tree.list(self.parts)
    }

    /// Whether this keyword or symbol stands among the parts.
    pub fn has(&self, kind: TokenKind) -> bool {
        self.keyword(kind).is_some()
    }

    /// The parts of this rule, each right below.
    pub fn rules(&self, name: &'t str) -> impl Iterator<Item = Parts<'t, 'a>> + 't + use<'t, 'a> {
        let tree = self.tree;
        self.each().filter_map(move |part| Parts::of(tree, part)).filter(move |parts| parts.name == name)
    }

    /// The first part of this rule right below.
    pub fn rule(&self, name: &'t str) -> Option<Parts<'t, 'a>> {
        self.rules(name).next()
    }

    /// What the first part says, where it is a name.
    pub fn first_name(&self) -> Option<&'t str> {
        self.name_text(self.each().next()?)
    }

    /// What the part says, where it is a name.
    pub(super) fn name_text(&self, part: Id<Part>) -> Option<&'t str> {
        let name = match self.tree.get(part) {
            Part::Name { name } | Part::Ident { name } | Part::Label { name } | Part::FunctionWord { name } => name,
            _ => return None,
        };
        Some(self.tree.text(self.tree.get(name).text))
    }

    pub(super) fn keyword(&self, kind: TokenKind) -> Option<Id<Part>> {
        self.each().find(|part| self.is_keyword(*part, kind))
    }

    pub(super) fn is_keyword(&self, part: Id<Part>, kind: TokenKind) -> bool {
        self.tree.get(part) == Part::Keyword { kind: kind as u32 }
    }

    pub(super) fn start_of(&self, part: Id<Part>) -> u32 {
        self.tree.span(part).start
    }
}

/// A keyword, in capitals, or a symbol, by the number of its kind.
pub(crate) fn keyword_text(kind: u32) -> String {
    let keyword = KEYWORDS.iter().find(|keyword| keyword.kind as u32 == kind);
    let symbol = || SYMBOLS.iter().find(|(symbol, _)| *symbol as u32 == kind).map_or("", |(_, text)| *text);
    keyword.map_or_else(|| symbol().to_owned(), |keyword| keyword.name.to_ascii_uppercase())
}
