//! Expressions as PostgreSQL's trees have them, and how these are written.

use cairn_parser::{Id, Query};

use super::text::Deparser;
use crate::types::DataType;

/// An expression with its type. Of no type yet is a literal that nothing told.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) node: Node,
    pub(super) data_type: DataType,
    /// The domain's name, where it is of one.
    pub(super) of_domain: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Column(String),
    Constant(Constant),
    /// What is written as it stands: `CURRENT_DATE`, `GROUPING(a)`, `VALUE`.
    Plain(String),
    /// A binary operator, or a prefix.
    Operator {
        symbol: String,
        operands: Vec<Node>,
    },
    /// Between two operands, and never simple: `IS DISTINCT FROM`.
    Between {
        word: &'static str,
        operands: Vec<Node>,
    },
    Any {
        symbol: String,
        word: &'static str,
        left: Box<Node>,
        right: Box<Node>,
    },
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// `f(a, b)`, an aggregate, a window function.
    Call(Box<Call>),
    /// A function with a syntax of its own; its operands, and what stands around each. `parentheses`: around all of it.
    Syntax {
        texts: Vec<&'static str>,
        args: Vec<Node>,
        parentheses: bool,
    },
    /// `EXTRACT(year FROM a)`, by what stands before the operand.
    Extract(String, Box<Node>),
    Cast(Box<Cast>),
    Case {
        operand: Option<Box<Node>>,
        whens: Vec<(Node, Node)>,
        otherwise: Box<Node>,
    },
    /// `COALESCE(a, b)`, `ROW(a, b)`, `ARRAY[a, b]`, and what is said behind it.
    List {
        open: &'static str,
        items: Vec<Node>,
        close: String,
    },
    Query {
        test: Option<(Vec<Node>, String)>,
        word: &'static str,
        query: Id<Query>,
        is_value: bool,
    },
    /// `IS NULL`; of truth values (`of_boolean`) conversions are not told.
    Is {
        operand: Box<Node>,
        word: String,
        of_boolean: bool,
    },
    Collate(Box<Node>, String),
    Subscript(Box<Node>, Vec<Subscript>),
    Field(Box<Node>, String),
}

/// `[1]`, `[1:2]`
#[derive(Clone, Debug)]
pub(super) enum Subscript {
    At(Node),
    From(Option<Node>, Option<Node>),
}

/// A constant, as it is written and of which type.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub(super) text: String,
    /// What a label would say.
    pub(super) label: String,
    /// It is not told of which type it is, unless that is asked for.
    pub(super) is_plain: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Cast {
    pub(super) arg: Node,
    pub(super) to: String,
    pub(super) implicit: bool,
    /// A function does it.
    pub(super) by_function: bool,
    /// The constant is of the type already, but for its length.
    pub(super) same: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub(super) name: String,
    /// `DISTINCT `
    pub(super) before: &'static str,
    /// With what stands before each: `VARIADIC `, `name => `.
    pub(super) args: Vec<(String, Node)>,
    pub(super) star: bool,
    pub(super) order_by: Vec<Sorted>,
    pub(super) within_group: Vec<Sorted>,
    pub(super) filter: Option<Node>,
    pub(super) over: Option<Over>,
}

#[derive(Clone, Debug)]
pub(super) enum Over {
    Name(String),
    Window(Window),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    pub(super) base: Option<String>,
    pub(super) partition_by: Vec<Node>,
    pub(super) order_by: Vec<Sorted>,
    pub(super) frame: Option<(String, Vec<Node>, Vec<String>)>,
}

/// A key of ORDER BY, and what stands behind it.
#[derive(Clone, Debug)]
pub(super) struct Sorted {
    pub(super) key: Node,
    pub(super) direction: String,
}

impl Node {
    fn is_like_function(&self) -> bool {
        matches!(self, Node::Call(_) | Node::Syntax { .. } | Node::Extract(..))
            || matches!(self, Node::Cast(cast) if cast.by_function)
    }

    /// Of one character, by which its strength is known.
    fn strength(&self) -> Option<bool> {
        match self {
            Node::Operator { symbol, operands } if operands.len() == 2 => match symbol.as_str() {
                "+" | "-" => Some(false),
                "*" | "/" | "%" => Some(true),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it needs no parentheses within `parent`.
    fn is_simple(&self, parent: &Node, is_first: bool) -> bool {
        match self {
            Node::Column(_) | Node::Constant(_) | Node::Plain(_) | Node::Call(_) | Node::Syntax { .. } => true,
            Node::Case { .. } | Node::List { .. } | Node::Subscript(..) | Node::Extract(..) => true,
            Node::Cast(cast) => cast.by_function || cast.arg.is_simple(self, true),
            Node::Field(..) => !matches!(parent, Node::Field(..)),
            Node::Operator { .. } => match (self.strength(), parent) {
                (Some(own), Node::Operator { .. }) => match parent.strength() {
                    Some(around) => own && !around || own == around && is_first,
                    None => false,
                },
                _ => stands_apart(parent) || matches!(parent, Node::And(_) | Node::Or(_) | Node::Not(_)),
            },
            Node::Between { .. } | Node::Query { .. } | Node::Is { .. } => {
                stands_apart(parent) || matches!(parent, Node::And(_) | Node::Or(_) | Node::Not(_))
            }
            Node::And(_) | Node::Not(_) => stands_apart(parent) || matches!(parent, Node::And(_) | Node::Or(_)),
            Node::Or(_) => stands_apart(parent) || matches!(parent, Node::Or(_)),
            Node::Any { .. } | Node::Collate(..) => false,
        }
    }
}

/// Whether commas or brackets part what stands within.
fn stands_apart(parent: &Node) -> bool {
    matches!(parent, Node::Call(_) | Node::List { .. } | Node::Subscript(..) | Node::Case { .. })
}

impl Deparser<'_> {
    /// Writes an expression. `implicit`: with a conversion that nobody wrote.
    pub(super) fn node(&mut self, node: &Node, implicit: bool) -> Option<()> {
        match node {
            Node::Column(text) | Node::Plain(text) => self.say(text),
            Node::Constant(constant) => self.constant(constant, false),
            Node::Operator { symbol, operands } => self.around(|it| {
                if let [left, _] = operands.as_slice() {
                    it.within(left, true, node, true)?;
                    it.say(" ");
                }
                it.say(symbol);
                it.say(" ");
                it.within(operands.last()?, true, node, false)
            })?,
            Node::Between { word, operands } => self.around(|it| {
                it.within(operands.first()?, true, node, true)?;
                it.say(word);
                it.within(operands.last()?, true, node, false)
            })?,
            Node::Any { symbol, word, left, right } => self.around(|it| {
                it.within(left, true, node, true)?;
                it.say(&format!(" {symbol} {word} ("));
                it.within(right, true, node, false)?;
                it.say(")");
                Some(())
            })?,
            Node::And(operands) => self.chain(operands, " AND ", node)?,
            Node::Or(operands) => self.chain(operands, " OR ", node)?,
            Node::Not(operand) => self.around(|it| {
                it.say("NOT ");
                it.within(operand, false, node, true)
            })?,
            Node::Call(call) => self.call(call)?,
            Node::Syntax { texts, args, parentheses } => {
                self.say(if *parentheses { "(" } else { "" });
                for (at, text) in texts.iter().enumerate() {
                    self.say(text);
                    match args.get(at) {
                        Some(arg) if *parentheses => self.within(arg, false, node, false)?,
                        Some(arg) => self.node(arg, false)?,
                        None => {}
                    }
                }
                self.say(if *parentheses { ")" } else { "" });
            }
            Node::Extract(open, operand) => {
                self.say(open);
                self.node(operand, false)?;
                self.say(")");
            }
            Node::Cast(cast) if cast.implicit && !implicit => self.within(&cast.arg, false, node, true)?,
            Node::Cast(cast) => self.cast(cast, node)?,
            Node::Case { operand, whens, otherwise } => self.case(operand.as_deref(), whens, otherwise)?,
            Node::List { open, items, close } => {
                self.say(open);
                self.nodes(items)?;
                self.say(close);
            }
            Node::Query { test, word, query, is_value } => self.query_value(test.as_ref(), word, *query, *is_value)?,
            Node::Is { operand, word, of_boolean } => self.around(|it| {
                it.within(operand, !of_boolean, node, true)?;
                it.say(word);
                Some(())
            })?,
            Node::Collate(operand, collation) => self.around(|it| {
                it.within(operand, implicit, node, true)?;
                it.say(&format!(" COLLATE {collation}"));
                Some(())
            })?,
            Node::Subscript(base, subscripts) => self.subscripts(base, subscripts, implicit)?,
            Node::Field(base, name) => {
                let bare = matches!(**base, Node::Subscript(..) | Node::Field(..));
                self.say(if bare { "" } else { "(" });
                self.node(base, true)?;
                self.say(if bare { "." } else { ")." });
                self.say(name);
            }
        }
        Some(())
    }

    /// In parentheses, unless only those are written that are needed.
    fn around(&mut self, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let all = !self.style.is_pretty;
        self.say(if all { "(" } else { "" });
        write(self)?;
        self.say(if all { ")" } else { "" });
        Some(())
    }

    fn within(&mut self, node: &Node, implicit: bool, parent: &Node, is_first: bool) -> Option<()> {
        let needed = self.style.is_pretty && !node.is_simple(parent, is_first);
        self.say(if needed { "(" } else { "" });
        self.node(node, implicit)?;
        self.say(if needed { ")" } else { "" });
        Some(())
    }

    fn chain(&mut self, operands: &[Node], word: &str, node: &Node) -> Option<()> {
        self.around(|it| {
            for (at, operand) in operands.iter().enumerate() {
                it.say(if at > 0 { word } else { "" });
                it.within(operand, false, node, at == 0)?;
            }
            Some(())
        })
    }

    /// With commas.
    pub(super) fn nodes(&mut self, nodes: &[Node]) -> Option<()> {
        for (at, node) in nodes.iter().enumerate() {
            self.say(if at > 0 { ", " } else { "" });
            self.node(node, true)?;
        }
        Some(())
    }

    fn constant(&mut self, constant: &Constant, labelled: bool) {
        self.say(&constant.text);
        if labelled || !constant.is_plain {
            self.say(&format!("::{}", constant.label));
        }
    }

    fn cast(&mut self, cast: &Cast, node: &Node) -> Option<()> {
        match &cast.arg {
            Node::Constant(constant) if cast.same => self.say(&constant.text),
            arg if self.style.is_pretty => self.within(arg, false, node, true)?,
            arg => {
                self.say("(");
                self.node(arg, false)?;
                self.say(")");
            }
        }
        self.say(&format!("::{}", cast.to));
        Some(())
    }

    fn case(&mut self, operand: Option<&Node>, whens: &[(Node, Node)], otherwise: &Node) -> Option<()> {
        self.keyword("CASE", 0, 4, 0);
        if let Some(operand) = operand {
            self.say(" ");
            self.node(operand, true)?;
        }
        for (condition, result) in whens {
            self.keyword("WHEN ", 0, 0, 0);
            self.node(condition, false)?;
            self.say(" THEN ");
            self.node(result, true)?;
        }
        self.keyword("ELSE ", 0, 0, 0);
        self.node(otherwise, true)?;
        self.keyword("END", -4, 0, 0);
        Some(())
    }

    fn subscripts(&mut self, base: &Node, subscripts: &[Subscript], implicit: bool) -> Option<()> {
        let bare = matches!(base, Node::Column(_) | Node::Field(..));
        self.say(if bare { "" } else { "(" });
        self.node(base, implicit)?;
        self.say(if bare { "" } else { ")" });
        for subscript in subscripts {
            self.say("[");
            match subscript {
                Subscript::At(index) => self.node(index, false)?,
                Subscript::From(lower, upper) => {
                    lower.iter().try_for_each(|lower| self.node(lower, false))?;
                    self.say(":");
                    upper.iter().try_for_each(|upper| self.node(upper, false))?;
                }
            }
            self.say("]");
        }
        Some(())
    }

    /// What is grouped, told apart or sorted by.
    pub(super) fn key(&mut self, node: &Node) -> Option<()> {
        match node {
            Node::Constant(constant) => self.constant(constant, true),
            Node::Column(_) => self.node(node, true)?,
            _ => {
                let needed = self.style.is_pretty || node.is_like_function();
                self.say(if needed { "(" } else { "" });
                self.node(node, true)?;
                self.say(if needed { ")" } else { "" });
            }
        }
        Some(())
    }

    /// With commas.
    pub(super) fn keys(&mut self, keys: &[Node]) -> Option<()> {
        for (at, key) in keys.iter().enumerate() {
            self.say(if at > 0 { ", " } else { "" });
            self.key(key)?;
        }
        Some(())
    }

    pub(super) fn sorted(&mut self, keys: &[Sorted]) -> Option<()> {
        for (at, Sorted { key, direction }) in keys.iter().enumerate() {
            self.say(if at > 0 { ", " } else { "" });
            self.key(key)?;
            self.say(direction);
        }
        Some(())
    }
}
