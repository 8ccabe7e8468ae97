//! From the tree to nodes.

use cairn_parser::{self as ast, Id, Indirection, IsTest, List, Matching, Name};

use super::constants::unknown;
use super::facts::Owner;
use super::node::{Node, Subscript, Typed};
use super::resolution::{Taken, operands};
use super::text::Deparser;
use crate::sql::{name_text, type_of_syntax};
use crate::types::{DataType, common_type};
use cairn_parser::token::quoted;

impl<'a> Deparser<'a> {
    /// What an expression is as PostgreSQL has it; `None`: that is not known.
    pub(super) fn build(&self, expr: Id<ast::Expr>) -> Option<Typed> {
        self.enter(1)?;
        let built = self.built(expr);
        self.leave(1);
        built
    }

    fn built(&self, expr: Id<ast::Expr>) -> Option<Typed> {
        use ast::Expr as E;
        let tree = self.tree;
        let own = self.facts.types.get(&expr).copied().unwrap_or(DataType::Unknown);
        let of = |node| Some(Typed::new(node, own));
        match tree.get(expr) {
            E::Null => Some(unknown(None)),
            E::String { text } => Some(unknown(Some(tree.text(text)))),
            E::Boolean { value } => Some(self.constant_of(if value { "true" } else { "false" }, DataType::Boolean)),
            E::Integer { text } | E::Number { text } => Some(self.number(tree.text(text))),
            E::TypedString { data_type, literal } => {
                let value = self.build(literal)?;
                self.cast_to(value, data_type, expr)
            }
            E::Column { names } => self.column(names, own),
            E::Cast { operand, data_type } => self.cast_of(operand, data_type, expr),
            E::Unary { operator, operand } => self.unary(operator, operand, own),
            E::Binary { operator, left, right } => self.binary(operator, left, right, own),
            E::And { operands } => of(Node::And(self.all(operands)?)),
            E::Or { operands } => of(Node::Or(self.all(operands)?)),
            E::Not { operand } => of(Node::Not(Box::new(self.condition(operand)?))),
            E::Between { operand, low, high, symmetric, negated } => {
                of(self.between(operand, [low, high], symmetric, negated)?)
            }
            E::Like { operand, pattern, escape, matching, negated } => {
                of(self.like([operand, pattern], escape, matching, negated)?)
            }
            E::IsDistinct { left, right, negated } => {
                let operands = self.compared("=", left, right)?;
                let node = Node::Between { word: " IS DISTINCT FROM ", operands };
                of(if negated { Node::Not(Box::new(node)) } else { node })
            }
            E::Is { operand, test, negated } => of(self.is(operand, test, negated)?),
            E::InList { operand, items, negated } => of(self.in_list(operand, items, negated)?),
            E::InQuery { .. } | E::Exists { .. } | E::Subquery { .. } | E::ArrayQuery { .. } => {
                of(self.subquery(expr)?)
            }
            E::Quantified { .. } | E::QuantifiedQuery { .. } => of(self.quantified(expr)?),
            E::Case { operand, whens, otherwise } => self.case_of(operand, whens, otherwise, own),
            E::Array { items } => self.array(items, None),
            E::Row { items, .. } => {
                let items =
                    tree.list(items).map(|item| Some(self.known(self.build(item)?).node)).collect::<Option<_>>()?;
                of(Node::List { open: "ROW(", items, close: ")".to_owned() })
            }
            E::Collate { operand, collation } => {
                let operand = self.known(self.build(operand)?);
                let names: Vec<String> = tree.list(collation).map(|part| quoted(name_text(tree, part))).collect();
                let data_type = operand.data_type;
                let name = names.last()?.clone();
                Some(Typed::new(Node::Collate(Box::new(operand.node), name), data_type))
            }
            E::Indirection { base, steps } => self.indirection(base, steps, own),
            E::Call { name, form, args, tail } => self.function(name, form, args, tail, own),
            E::Special { .. }
            | E::Extract { .. }
            | E::AtTimeZone { .. }
            | E::SessionValue { .. }
            | E::Grouping { .. }
            | E::Overlaps { .. } => self.form(expr, own),
            E::All { qualifier } => {
                let alias = name_text(tree, tree.list(qualifier).next_back()?);
                of(Node::Column(format!("{}.*", quoted(self.shown_relation(alias, None)?))))
            }
            _ => None,
        }
    }

    /// A truth value.
    pub(super) fn condition(&self, expr: Id<ast::Expr>) -> Option<Node> {
        Some(self.taken_as(self.build(expr)?, DataType::Boolean).node)
    }

    fn all(&self, operands: List<ast::Expr>) -> Option<Vec<Node>> {
        self.tree.list(operands).map(|operand| self.condition(operand)).collect()
    }

    pub(super) fn number(&self, digits: &str) -> Typed {
        let data_type = match digits.parse::<i64>() {
            Ok(value) if i32::try_from(value).is_ok() => DataType::Integer,
            Ok(_) => DataType::BigInt,
            Err(_) => DataType::Numeric(None),
        };
        self.constant_of(digits, data_type)
    }

    fn column(&self, names: List<Name>, own: DataType) -> Option<Typed> {
        let tree = self.tree;
        let last = tree.list(names).next_back()?;
        let name = name_text(tree, last);
        if self.is_of_domain {
            return Some(Typed::new(Node::Plain("VALUE".to_owned()), own));
        }
        let count = tree.len(names);
        let unbound = || {
            // A window that is the same as another is not bound again.
            let alias = match count {
                1 => self.relation_with(name)?.to_owned(),
                _ => name_text(tree, tree.nth(names, count - 2)?).to_owned(),
            };
            Some(Owner { alias: Some(alias), domain: None })
        };
        let owner = self.facts.owners.get(&last).cloned();
        let Some(owner) = owner.or_else(|| if own == DataType::Unknown { unbound() } else { None }) else {
            // A whole row.
            let is_row = matches!(own, DataType::Composite(_));
            let shown = self.shown_relation(name, None).filter(|_| is_row)?;
            return Some(Typed::new(Node::Column(format!("{}.*", quoted(shown))), own));
        };
        let column = quoted(name);
        let text = match &owner.alias {
            Some(alias) if self.is_prefixed => match self.shown_relation(alias, Some(name)) {
                Some(shown) => format!("{}.{column}", quoted(shown)),
                // A function's only value goes by the function's alias.
                None if alias == name => {
                    let shown = quoted(self.shown_relation(alias, None)?);
                    format!("{shown}.{shown}")
                }
                None => return None,
            },
            _ => column,
        };
        Some(Typed { of_domain: owner.domain.is_some(), ..Typed::new(Node::Column(text), own) })
    }

    fn cast_of(&self, operand: Id<ast::Expr>, to: Id<ast::TypeName>, expr: Id<ast::Expr>) -> Option<Typed> {
        if let ast::Expr::Array { items } = self.tree.get(operand)
            && let Some(target) = self.type_of(to)
            && let Some(element) = target.element()
        {
            return self.array(items, Some((element, target)));
        }
        if let ast::Expr::Row { items, .. } = self.tree.get(operand)
            && let Some(DataType::Composite(of)) = self.type_of(to)
        {
            let pairs = self.tree.list(items).zip(of.attributes());
            let items = pairs.map(|(item, of)| Some(self.converted(self.build(item)?, of.data_type, false).node));
            let close = format!(")::{}", self.type_name(DataType::Composite(of)));
            let node = Node::List { open: "ROW(", items: items.collect::<Option<_>>()?, close };
            return Some(Typed::new(node, DataType::Composite(of)));
        }
        let value = self.build(operand)?;
        self.cast_to(value, to, expr)
    }

    fn cast_to(&self, value: Typed, to: Id<ast::TypeName>, expr: Id<ast::Expr>) -> Option<Typed> {
        let target = self.type_of(to).or_else(|| self.facts.types.get(&expr).copied())?;
        let base = self.tree.get(to);
        let target = match base.base {
            ast::BaseType::Character if base.modifiers.is_empty() && value.is_unknown() && base.bounds.is_empty() => {
                DataType::Char(1)
            }
            _ => target,
        };
        Some(self.converted(value, target, false))
    }

    /// A type's name as it is written here.
    pub(super) fn written_type(&self, name: Id<ast::TypeName>) -> Option<String> {
        self.type_of(name).map(|data_type| self.type_name(data_type))
    }

    /// The type that is written; `None`: one of a user's.
    fn type_of(&self, to: Id<ast::TypeName>) -> Option<DataType> {
        type_of_syntax(self.tree, to, &|schema, name| {
            let found = self.catalog.user_type(schema, name, |_, _| {})?;
            Ok(found.filter(|of| of.domain().is_none()).map(|of| of.data_type))
        })
        .ok()
    }

    fn unary(&self, operator: Id<ast::Operator>, operand: Id<ast::Expr>, own: DataType) -> Option<Typed> {
        let symbol = self.symbol_of(operator)?;
        if let (ast::Expr::Integer { text } | ast::Expr::Number { text }, "-") = (self.tree.get(operand), symbol) {
            return Some(self.number(&format!("-{}", self.tree.text(text))));
        }
        let operand = self.build(operand)?;
        let taken = operands(symbol, &[operand.data_type]);
        let operands = self.as_taken(vec![operand], taken);
        Some(Typed::new(Node::Operator { symbol: symbol.to_owned(), operands }, own))
    }

    pub(super) fn symbol_of(&self, operator: Id<ast::Operator>) -> Option<&'a str> {
        match self.tree.get(operator) {
            ast::Operator::Plain { text } => Some(self.tree.text(text)),
            ast::Operator::Qualified { names } => Some(name_text(self.tree, self.tree.list(names).next_back()?)),
            ast::Operator::Like => Some("~~"),
            ast::Operator::NotLike => Some("!~~"),
            ast::Operator::ILike => Some("~~*"),
            ast::Operator::NotILike => Some("!~~*"),
        }
    }

    /// Operands as an operator takes them, or as they are.
    pub(super) fn as_taken(&self, values: Vec<Typed>, taken: Option<Taken>) -> Vec<Node> {
        let taken = taken.unwrap_or_default();
        let each = values.into_iter().enumerate().map(|(at, value)| match taken.get(at) {
            Some(Some(to)) => self.taken_as(value, *to).node,
            _ if taken.is_empty() => self.known(value).node,
            _ => value.node,
        });
        each.collect()
    }

    /// Both operands of a comparison.
    pub(super) fn compared(&self, symbol: &str, left: Id<ast::Expr>, right: Id<ast::Expr>) -> Option<Vec<Node>> {
        let values = vec![self.build(left)?, self.build(right)?];
        let taken = operands(symbol, &[values[0].data_type, values[1].data_type]);
        Some(self.as_taken(values, taken))
    }

    fn binary(
        &self,
        operator: Id<ast::Operator>,
        left: Id<ast::Expr>,
        right: Id<ast::Expr>,
        own: DataType,
    ) -> Option<Typed> {
        let symbol = self.symbol_of(operator)?;
        let rows = (self.tree.get(left), self.tree.get(right));
        if let (ast::Expr::Row { items: lefts, .. }, ast::Expr::Row { items: rights, .. }) = rows {
            return Some(Typed::new(self.rows_compared(symbol, lefts, rights)?, own));
        }
        if let (ast::Expr::Row { items, .. }, ast::Expr::Subquery { query }) = rows {
            let tests = self.tree.list(items).map(|item| Some(self.known(self.build(item)?).node));
            let test = Some((tests.collect::<Option<Vec<_>>>()?, format!(" {symbol} ")));
            return Some(Typed::new(Node::Query { test, word: "", query, is_value: false }, own));
        }
        let operands = self.compared(symbol, left, right)?;
        Some(Typed::new(Node::Operator { symbol: symbol.to_owned(), operands }, own))
    }

    pub(super) fn rows_compared(&self, symbol: &str, lefts: List<ast::Expr>, rights: List<ast::Expr>) -> Option<Node> {
        let pairs = self.tree.list(lefts).zip(self.tree.list(rights));
        let pairs = pairs.map(|(left, right)| self.compared(symbol, left, right)).collect::<Option<Vec<_>>>()?;
        let each = |operands: Vec<Node>| Node::Operator { symbol: symbol.to_owned(), operands };
        Some(match symbol {
            "=" => Node::And(pairs.into_iter().map(each).collect()),
            "<>" => Node::Or(pairs.into_iter().map(each).collect()),
            _ => {
                let side = |at: usize| {
                    let items = pairs.iter().filter_map(|pair| pair.get(at).cloned()).collect();
                    Node::List { open: "ROW(", items, close: ")".to_owned() }
                };
                let symbol = [" < ", " <= ", " > ", " >= "].into_iter().find(|known| known.trim() == symbol)?;
                Node::Syntax { texts: vec!["", symbol, ""], args: vec![side(0), side(1)], parentheses: true }
            }
        })
    }

    fn between(
        &self,
        operand: Id<ast::Expr>,
        [low, high]: [Id<ast::Expr>; 2],
        symmetric: bool,
        negated: bool,
    ) -> Option<Node> {
        let (above, below) = if negated { ("<", ">") } else { (">=", "<=") };
        let way = |low, high| {
            let one = |symbol: &str, bound| {
                let operands = self.compared(symbol, operand, bound)?;
                Some(Node::Operator { symbol: symbol.to_owned(), operands })
            };
            let both = vec![one(above, low)?, one(below, high)?];
            Some(if negated { Node::Or(both) } else { Node::And(both) })
        };
        let first = way(low, high)?;
        if !symmetric {
            return Some(first);
        }
        let ways = vec![first, way(high, low)?];
        Some(if negated { Node::And(ways) } else { Node::Or(ways) })
    }

    fn like(
        &self,
        [operand, pattern]: [Id<ast::Expr>; 2],
        escape: Option<Id<ast::Expr>>,
        matching: Matching,
        negated: bool,
    ) -> Option<Node> {
        let symbol = match (matching, negated) {
            (Matching::Like, false) => "~~",
            (Matching::Like, true) => "!~~",
            (Matching::ILike, false) => "~~*",
            (Matching::ILike, true) => "!~~*",
            (Matching::SimilarTo, false) => "~",
            (Matching::SimilarTo, true) => "!~",
        };
        let is_similar = matching == Matching::SimilarTo;
        let pattern = match (escape, is_similar) {
            (None, false) => self.build(pattern)?,
            (escape, _) => {
                let name = if is_similar { "similar_to_escape" } else { "like_escape" };
                let args = [Some(pattern), escape].into_iter().flatten();
                let args = args.map(|arg| self.build(arg)).collect::<Option<Vec<_>>>()?;
                self.plain_call(name, args, DataType::Text)
            }
        };
        let values = vec![self.build(operand)?, pattern];
        let taken = operands(symbol, &[values[0].data_type, values[1].data_type]);
        Some(Node::Operator { symbol: symbol.to_owned(), operands: self.as_taken(values, taken) })
    }

    fn is(&self, operand: Id<ast::Expr>, test: IsTest, negated: bool) -> Option<Node> {
        let word = match test {
            IsTest::Null => "NULL",
            IsTest::True => "TRUE",
            IsTest::False => "FALSE",
            IsTest::Unknown => "UNKNOWN",
            IsTest::Document => return None,
        };
        let of_boolean = test != IsTest::Null;
        let operand = match of_boolean {
            true => self.condition(operand)?,
            false => self.known(self.build(operand)?).node,
        };
        let word = format!(" IS {}{word}", if negated { "NOT " } else { "" });
        Some(Node::Is { operand: Box::new(operand), word, of_boolean })
    }

    /// An array of items, of this element's type where it is told.
    pub(super) fn array(&self, items: List<ast::Expr>, to: Option<(DataType, DataType)>) -> Option<Typed> {
        let is_array = |item| matches!(self.tree.get(item), ast::Expr::Array { .. });
        if self.tree.list(items).any(is_array) {
            let inner = self.tree.list(items).map(|item| match self.tree.get(item) {
                ast::Expr::Array { items } => self.array(items, to),
                _ => self.build(item),
            });
            let inner = inner.collect::<Option<Vec<_>>>()?;
            let data_type = inner.first()?.data_type;
            let items = inner.into_iter().map(|item| item.node).collect();
            return Some(Typed::new(Node::List { open: "ARRAY[", items, close: "]".to_owned() }, data_type));
        }
        let items = self.tree.list(items).map(|item| self.build(item)).collect::<Option<Vec<_>>>()?;
        let types: Vec<DataType> = items.iter().map(|item| item.data_type).collect();
        let (element, whole) = match to {
            Some((element, whole)) => (element, whole),
            None => {
                let element = common_type(&types).ok()?;
                (element, element.array()?)
            }
        };
        let close = if items.is_empty() { format!("]::{}", self.type_name(whole)) } else { "]".to_owned() };
        let explicit = to.is_some();
        let items = items.into_iter().map(|item| self.converted(item, element, !explicit).node).collect();
        Some(Typed::new(Node::List { open: "ARRAY[", items, close }, whole))
    }

    fn indirection(&self, base: Id<ast::Expr>, steps: List<Indirection>, own: DataType) -> Option<Typed> {
        let Typed { mut node, data_type: mut of, .. } = self.build(base)?;
        let mut subscripts = Vec::new();
        for step in self.tree.list(steps) {
            let index = |index| {
                let built = self.build(index)?;
                // Documents and pairs have keys; documents places, too.
                let to = match of {
                    DataType::Hstore(_) => DataType::Text,
                    DataType::Jsonb if !built.data_type.is_integer() => DataType::Text,
                    _ => DataType::Integer,
                };
                Some(self.taken_as(built, to).node)
            };
            match self.tree.get(step) {
                Indirection::Index { index: at } => subscripts.push(Subscript::At(index(at)?)),
                Indirection::Slice { lower, upper } => {
                    let bound = |bound: Option<Id<ast::Expr>>| match bound {
                        Some(bound) => Some(Some(index(bound)?)),
                        None => Some(None),
                    };
                    subscripts.push(Subscript::From(bound(lower)?, bound(upper)?));
                }
                Indirection::Field { name } => {
                    if !subscripts.is_empty() {
                        node = Node::Subscript(Box::new(node), std::mem::take(&mut subscripts));
                    }
                    node = Node::Field(Box::new(node), quoted(name_text(self.tree, name)));
                    of = DataType::Unknown;
                }
                Indirection::All => return None,
            }
        }
        if !subscripts.is_empty() {
            node = Node::Subscript(Box::new(node), subscripts);
        }
        Some(Typed::new(node, own))
    }
}
