//! Expressions with a syntax of their own.

use cairn_parser::{self as ast, Id, List, SessionValue, SpecialForm, When};

use super::node::{Node, Typed};
use super::resolution::operands;
use super::text::Deparser;
use crate::sql::name_text;
use crate::types::{DataType, common_type};

impl Deparser<'_> {
    pub(super) fn in_list(&self, operand: Id<ast::Expr>, items: List<ast::Expr>, negated: bool) -> Option<Node> {
        let tree = self.tree;
        let symbol = if negated { "<>" } else { "=" };
        let joined = |mut parts: Vec<Node>| match parts.len() {
            1 => parts.pop(),
            _ if negated => Some(Node::And(parts)),
            _ => Some(Node::Or(parts)),
        };
        if let ast::Expr::Row { items: row, .. } = tree.get(operand) {
            let each = tree.list(items).map(|item| match tree.get(item) {
                ast::Expr::Row { items, .. } => self.rows_compared(symbol, row, items),
                _ => None,
            });
            return joined(each.collect::<Option<_>>()?);
        }
        let input = self.build(operand)?;
        let items = tree.list(items).map(|item| self.build(item)).collect::<Option<Vec<_>>>()?;
        let (mut together, mut apart): (Vec<Typed>, Vec<Typed>) =
            items.into_iter().partition(|item| !has_columns(&item.node));
        let mut parts = Vec::new();
        if together.len() > 1 {
            let types: Vec<DataType> =
                std::iter::once(input.data_type).chain(together.iter().map(|item| item.data_type)).collect();
            let common = common_type(&types).ok()?;
            let items = together.into_iter().map(|item| self.taken_as(item, common).node).collect();
            let list = Node::List { open: "ARRAY[", items, close: "]".to_owned() };
            let list = Typed::new(list, common.array()?);
            parts.push(self.any(symbol, negated, input.clone(), list)?);
        } else {
            apart.splice(0..0, together.drain(..));
        }
        for item in apart {
            let values = vec![input.clone(), item];
            let taken = operands(symbol, &[values[0].data_type, values[1].data_type]);
            parts.push(Node::Operator { symbol: symbol.to_owned(), operands: self.as_taken(values, taken) });
        }
        joined(parts)
    }

    /// `left symbol ANY (array)`
    fn any(&self, symbol: &str, all: bool, left: Typed, right: Typed) -> Option<Node> {
        let right = match right.is_unknown() {
            true => self.taken_as(right, left.data_type.base().array()?),
            false => right,
        };
        let element = right.data_type.element()?;
        let taken = operands(symbol, &[left.data_type, element]).unwrap_or_default();
        let right = match taken.get(1).copied().flatten() {
            Some(to) if to.base() != element.base() => self.taken_as(right, to.array()?),
            _ => right,
        };
        let left = match taken.first().copied().flatten() {
            Some(to) => self.taken_as(left, to),
            None if left.is_unknown() => self.taken_as(left, element),
            None => left,
        };
        let word = if all { "ALL" } else { "ANY" };
        let (left, right) = (Box::new(left.node), Box::new(right.node));
        Some(Node::Any { symbol: symbol.to_owned(), word, left, right })
    }

    pub(super) fn quantified(&self, expr: Id<ast::Expr>) -> Option<Node> {
        match self.tree.get(expr) {
            ast::Expr::Quantified { left, operator, all, right } => {
                self.any(self.symbol_of(operator)?, all, self.build(left)?, self.build(right)?)
            }
            ast::Expr::QuantifiedQuery { left, operator, all, query } => {
                let symbol = self.symbol_of(operator)?;
                let left = self.tested(left)?;
                let word = match (symbol, all) {
                    ("=", false) => " IN ".to_owned(),
                    (symbol, true) => format!(" {symbol} ALL "),
                    (symbol, false) => format!(" {symbol} ANY "),
                };
                Some(Node::Query { test: Some((left, word)), word: "", query, is_value: false })
            }
            _ => None,
        }
    }

    fn tested(&self, left: Id<ast::Expr>) -> Option<Vec<Node>> {
        match self.tree.get(left) {
            ast::Expr::Row { items, .. } => {
                self.tree.list(items).map(|item| Some(self.known(self.build(item)?).node)).collect()
            }
            _ => Some(vec![self.known(self.build(left)?).node]),
        }
    }

    pub(super) fn subquery(&self, expr: Id<ast::Expr>) -> Option<Node> {
        Some(match self.tree.get(expr) {
            ast::Expr::Exists { query } => Node::Query { test: None, word: "EXISTS ", query, is_value: false },
            ast::Expr::Subquery { query } => Node::Query { test: None, word: "", query, is_value: true },
            ast::Expr::ArrayQuery { query } => Node::Query { test: None, word: "ARRAY", query, is_value: true },
            ast::Expr::InQuery { operand, query, negated } => {
                let test = Some((self.tested(operand)?, " IN ".to_owned()));
                let found = Node::Query { test, word: "", query, is_value: false };
                if negated { Node::Not(Box::new(found)) } else { found }
            }
            _ => return None,
        })
    }

    pub(super) fn query_value(
        &mut self,
        test: Option<&(Vec<Node>, String)>,
        word: &str,
        query: Id<ast::Query>,
        is_value: bool,
    ) -> Option<()> {
        self.say(if is_value { word } else { "" });
        self.say("(");
        if let Some((left, word)) = test {
            self.say(if left.len() > 1 { "(" } else { "" });
            self.nodes(left)?;
            self.say(if left.len() > 1 { ")" } else { "" });
            self.say(word);
        }
        if !is_value {
            self.say(word);
            self.say("(");
        }
        self.query(query, None, false)?;
        self.say(if is_value { ")" } else { "))" });
        Some(())
    }

    pub(super) fn case_of(
        &self,
        operand: Option<Id<ast::Expr>>,
        whens: List<When>,
        otherwise: Option<Id<ast::Expr>>,
        own: DataType,
    ) -> Option<Typed> {
        let operand = match operand {
            Some(operand) => Some(self.known(self.build(operand)?)),
            None => None,
        };
        let own = if own == DataType::Unknown { DataType::Text } else { own.base() };
        let mut built = Vec::new();
        for when in self.tree.list(whens) {
            let ast::When { condition, result } = self.tree.get(when);
            let condition = match &operand {
                None => self.condition(condition)?,
                Some(operand) => {
                    let value = self.build(condition)?;
                    let taken = operands("=", &[operand.data_type, value.data_type]).unwrap_or_default();
                    match taken.get(1).copied().flatten() {
                        Some(to) => self.taken_as(value, to).node,
                        None if value.is_unknown() => self.taken_as(value, operand.data_type.base()).node,
                        None => value.node,
                    }
                }
            };
            built.push((condition, self.taken_as(self.build(result)?, own).node));
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.build(otherwise)?,
            None => super::constants::unknown(None),
        };
        let otherwise = Box::new(self.taken_as(otherwise, own).node);
        let operand = operand.map(|operand| Box::new(operand.node));
        Some(Typed::new(Node::Case { operand, whens: built, otherwise }, own))
    }

    pub(super) fn form(&self, expr: Id<ast::Expr>, own: DataType) -> Option<Typed> {
        let tree = self.tree;
        let node = match tree.get(expr) {
            ast::Expr::Special { form, args } => return self.special(form, args, own),
            ast::Expr::Extract { field, source } => {
                let source = self.build(source)?;
                let open = format!("EXTRACT({} FROM ", name_text(tree, field));
                Node::Extract(open, Box::new(self.known(source).node))
            }
            ast::Expr::AtTimeZone { operand, zone } => {
                let values = vec![self.build(zone)?, self.build(operand)?];
                let mut args = self.arguments_of("timezone", values)?;
                let zone = args.remove(0);
                args.push(zone);
                Node::Syntax { texts: vec!["", " AT TIME ZONE "], args, parentheses: true }
            }
            ast::Expr::SessionValue { value, precision } => {
                let precision = match precision.map(|precision| tree.get(precision)) {
                    Some(ast::Expr::Integer { text }) => format!("({})", tree.text(text)),
                    Some(_) => return None,
                    None => String::new(),
                };
                Node::Plain(format!("{}{precision}", session_value(value)))
            }
            ast::Expr::Grouping { args } => {
                let items = tree.list(args).map(|arg| Some(self.build(arg)?.node)).collect::<Option<_>>()?;
                Node::List { open: "GROUPING(", items, close: ")".to_owned() }
            }
            ast::Expr::Overlaps { left, right } => {
                let mut values = Vec::new();
                for side in [left, right] {
                    let ast::Expr::Row { items, .. } = tree.get(side) else { return None };
                    values.extend(tree.list(items).map(|item| self.build(item)).collect::<Option<Vec<_>>>()?);
                }
                let args = self.arguments_of("overlaps", values)?;
                Node::Syntax { texts: vec!["((", ", ", ") OVERLAPS (", ", ", "))"], args, parentheses: false }
            }
            _ => return None,
        };
        Some(Typed::new(node, own))
    }

    fn special(&self, form: SpecialForm, args: List<ast::Expr>, own: DataType) -> Option<Typed> {
        use SpecialForm as F;
        let values = self.tree.list(args).map(|arg| self.build(arg)).collect::<Option<Vec<_>>>()?;
        let types: Vec<DataType> = values.iter().map(|value| value.data_type).collect();
        let of = |node| Some(Typed::new(node, own));
        let list = |open: &'static str, values: Vec<Typed>| {
            let common = common_type(&types).ok()?;
            let items = values.into_iter().map(|value| self.taken_as(value, common).node).collect();
            Some(Typed::new(Node::List { open, items, close: ")".to_owned() }, common))
        };
        let syntax = |texts: Vec<&'static str>, name: &str, values: Vec<Typed>| {
            let args = self.arguments_of(name, values)?;
            Some(Typed::new(Node::Syntax { texts, args, parentheses: false }, own))
        };
        match form {
            F::Coalesce => list("COALESCE(", values),
            F::Greatest => list("GREATEST(", values),
            F::Least => list("LEAST(", values),
            F::NullIf => {
                let taken = operands("=", &types);
                let items = self.as_taken(values, taken);
                of(Node::List { open: "NULLIF(", items, close: ")".to_owned() })
            }
            F::Overlay if values.len() == 3 => syntax(vec!["OVERLAY(", " PLACING ", " FROM ", ")"], "overlay", values),
            F::Overlay => syntax(vec!["OVERLAY(", " PLACING ", " FROM ", " FOR ", ")"], "overlay", values),
            F::Position => {
                let mut values = values;
                values.reverse();
                let mut args = self.arguments_of("position", values)?;
                args.reverse();
                of(Node::Syntax { texts: vec!["POSITION((", ") IN (", "))"], args, parentheses: false })
            }
            F::SubstringFrom if !types.get(1)?.is_numeric() => Some(self.plain_call("substring", values, own)),
            F::SubstringFrom => syntax(vec!["SUBSTRING(", " FROM ", ")"], "substring", values),
            F::SubstringFromFor if types.get(1)?.is_numeric() => {
                syntax(vec!["SUBSTRING(", " FROM ", " FOR ", ")"], "substring", values)
            }
            F::SubstringFor => {
                let mut values = values;
                values.insert(1, self.number("1"));
                syntax(vec!["SUBSTRING(", " FROM ", " FOR ", ")"], "substring", values)
            }
            F::SubstringFromFor | F::SubstringSimilar => {
                syntax(vec!["SUBSTRING(", " SIMILAR ", " ESCAPE ", ")"], "substring", values)
            }
            F::TrimBoth => self.trimmed(["TRIM(BOTH ", "TRIM(BOTH FROM "], "btrim", values, own),
            F::TrimLeading => self.trimmed(["TRIM(LEADING ", "TRIM(LEADING FROM "], "ltrim", values, own),
            F::TrimTrailing => self.trimmed(["TRIM(TRAILING ", "TRIM(TRAILING FROM "], "rtrim", values, own),
            F::CollationFor => of(Node::Syntax {
                texts: vec!["COLLATION FOR (", ")"],
                args: values.into_iter().map(|value| value.node).collect(),
                parentheses: false,
            }),
            F::XmlConcat => None,
        }
    }

    fn trimmed(
        &self,
        [with, without]: [&'static str; 2],
        name: &str,
        values: Vec<Typed>,
        own: DataType,
    ) -> Option<Typed> {
        let mut args = self.arguments_of(name, values)?;
        args.reverse();
        let texts = if args.len() == 1 { vec![without, ")"] } else { vec![with, " FROM ", ")"] };
        Some(Typed::new(Node::Syntax { texts, args, parentheses: false }, own))
    }
}

/// Whether a row is looked at.
fn has_columns(node: &Node) -> bool {
    match node {
        Node::Column(_) => true,
        Node::Constant(_) | Node::Plain(_) => false,
        Node::Operator { operands, .. } | Node::Between { operands, .. } => operands.iter().any(has_columns),
        Node::List { items, .. } => items.iter().any(has_columns),
        Node::Cast(cast) => has_columns(&cast.arg),
        Node::Call(call) => call.args.iter().any(|(_, arg)| has_columns(arg)),
        Node::Syntax { args, .. } => args.iter().any(has_columns),
        Node::Not(operand) | Node::Collate(operand, _) | Node::Extract(_, operand) | Node::Field(operand, _) => {
            has_columns(operand)
        }
        _ => true,
    }
}

fn session_value(value: SessionValue) -> &'static str {
    match value {
        SessionValue::CurrentDate => "CURRENT_DATE",
        SessionValue::CurrentTime => "CURRENT_TIME",
        SessionValue::CurrentTimestamp => "CURRENT_TIMESTAMP",
        SessionValue::LocalTime => "LOCALTIME",
        SessionValue::LocalTimestamp => "LOCALTIMESTAMP",
        SessionValue::CurrentRole => "CURRENT_ROLE",
        SessionValue::CurrentUser => "CURRENT_USER",
        SessionValue::SessionUser => "SESSION_USER",
        SessionValue::User => "USER",
        SessionValue::CurrentCatalog => "CURRENT_CATALOG",
        SessionValue::CurrentSchema => "CURRENT_SCHEMA",
    }
}
