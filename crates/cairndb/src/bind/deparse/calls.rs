//! Calls of functions, aggregates and window functions.

use cairn_parser::token::quoted;
use cairn_parser::{self as ast, CallForm, Id, List, Name};

use super::node::{Call, Node, Over, Sorted, Typed, Window};
use super::resolution::{Signature, Taken, chosen};
use super::text::Deparser;
use crate::catalog::{ObjectId, ParameterMode};
use crate::functions::Declared;
use crate::sql::name_text;
use crate::system;
use crate::types::DataType;

impl Deparser<'_> {
    /// A call of a built-in function, which is not written.
    pub(super) fn plain_call(&self, name: &str, values: Vec<Typed>, own: DataType) -> Typed {
        let types: Vec<DataType> = values.iter().map(|value| value.data_type).collect();
        let args = self.as_taken(values, built_in(name, &types));
        let args = args.into_iter().map(|arg| (String::new(), arg)).collect();
        Typed::new(Node::Call(Box::new(Call { name: quoted(name), args, ..Call::default() })), own)
    }

    /// Arguments as a built-in function takes them.
    pub(super) fn arguments_of(&self, name: &str, values: Vec<Typed>) -> Option<Vec<Node>> {
        let types: Vec<DataType> = values.iter().map(|value| value.data_type).collect();
        Some(self.as_taken(values, built_in(name, &types)))
    }

    pub(super) fn function(
        &self,
        names: List<Name>,
        form: CallForm,
        args: List<ast::Expr>,
        tail: Option<Id<ast::CallTail>>,
        own: DataType,
    ) -> Option<Typed> {
        let tree = self.tree;
        let parts: Vec<&str> = tree.list(names).map(|name| name_text(tree, name)).collect();
        let (name, schema) = match parts.as_slice() {
            [name] => (*name, None),
            [schema, name] => (*name, Some(*schema)),
            _ => return None,
        };
        let mut given = Vec::new();
        for arg in tree.list(args) {
            given.push(match tree.get(arg) {
                ast::Expr::NamedArgument { name, value } => {
                    (format!("{} => ", quoted(name_text(tree, name))), self.build(value)?)
                }
                _ => (String::new(), self.build(arg)?),
            });
        }
        if form == CallForm::Variadic
            && let Some((before, _)) = given.last_mut()
        {
            before.insert_str(0, "VARIADIC ");
        }
        let tail = tail.map(|tail| tree.get(tail));
        let mut call = Call { star: form == CallForm::Star, ..Call::default() };
        call.before = if form == CallForm::Distinct { "DISTINCT " } else { "" };
        let mut within = Vec::new();
        if let Some(tail) = tail {
            call.order_by = self.sort_keys(tail.order_by, &[])?;
            for key in tree.list(tail.within_group) {
                within.push((self.direction(key)?, self.build(tree.get(key).expr)?));
            }
            call.filter = match tail.filter {
                Some(filter) => Some(self.condition(filter)?),
                None => None,
            };
            call.over = match tail.over.map(|over| tree.get(over)) {
                Some(ast::Over::Window { name }) => Some(Over::Name(quoted(name_text(tree, name)))),
                Some(ast::Over::Spec { spec }) => Some(Over::Window(self.window(spec)?)),
                None => None,
            };
        }
        let (befores, values): (Vec<String>, Vec<Typed>) = given.into_iter().unzip();
        let (directions, sorted): (Vec<String>, Vec<Typed>) = within.into_iter().unzip();
        let count = values.len();
        let all: Vec<Typed> = values.into_iter().chain(sorted).collect();
        let types: Vec<DataType> = all.iter().map(|value| value.data_type).collect();
        let is_plain = befores.iter().all(String::is_empty);
        let (shown, taken) = self.called(schema, name, &types, is_plain)?;
        let mut nodes = self.as_taken(all, taken);
        let sorted = nodes.split_off(count);
        call.name = shown;
        let fixed = if is_plain { self.before_variadic(schema, name, count) } else { None };
        call.args = befores.into_iter().zip(nodes).collect();
        if let Some(fixed) = fixed {
            let items = call.args.split_off(fixed).into_iter().map(|(_, arg)| arg).collect();
            let list = Node::List { open: "ARRAY[", items, close: "]".to_owned() };
            call.args.push(("VARIADIC ".to_owned(), list));
        }
        call.within_group =
            sorted.into_iter().zip(directions).map(|(key, direction)| Sorted { key, direction }).collect();
        Some(Typed::new(Node::Call(Box::new(call)), own))
    }

    /// How the function is called that is meant, and as what it takes its arguments.
    fn called(
        &self,
        schema: Option<&str>,
        name: &str,
        types: &[DataType],
        is_plain: bool,
    ) -> Option<(String, Option<Taken>)> {
        let schemas: Vec<ObjectId> = match schema {
            None => self.catalog.searched().to_vec(),
            Some(schema) => self.catalog.schema(schema).into_iter().collect(),
        };
        let all = schemas.iter().flat_map(|schema| self.catalog.routines_in(*schema, name));
        let routines: Vec<_> = all.filter_map(|function| function.routine().cloned()).collect();
        for routine in &routines {
            let takes: Vec<Declared> = routine.inputs().take(types.len()).map(|it| it.declared()).collect();
            let fits = chosen(vec![Signature::new(takes, false)], types, false);
            if fits.is_some() || routines.len() == 1 && built_in(name, types).is_none() {
                return Some((self.catalog.routine_name(routine), fits));
            }
        }
        let taken = if is_plain { built_in(name, types) } else { None };
        Some((quoted(name), taken))
    }

    /// How many arguments stand before those of which a user's function takes any number.
    fn before_variadic(&self, schema: Option<&str>, name: &str, count: usize) -> Option<usize> {
        let schemas: Vec<ObjectId> = match schema {
            None => self.catalog.searched().to_vec(),
            Some(schema) => self.catalog.schema(schema).into_iter().collect(),
        };
        let routine = schemas.iter().find_map(|schema| self.catalog.routines_in(*schema, name).first())?.routine()?;
        let last = routine.parameters.iter().position(|it| it.mode == ParameterMode::Variadic)?;
        (last < count).then_some(last)
    }

    pub(super) fn sort_keys(
        &self,
        keys: List<ast::SortKey>,
        targets: &[(String, Id<ast::Expr>)],
    ) -> Option<Vec<Sorted>> {
        let mut sorted = Vec::new();
        for key in self.tree.list(keys) {
            let expr = self.meant(self.tree.get(key).expr, targets, true);
            sorted.push(Sorted { key: self.known(self.build(expr)?).node, direction: self.direction(key)? });
        }
        Some(sorted)
    }

    /// What stands behind a key.
    pub(super) fn direction(&self, key: Id<ast::SortKey>) -> Option<String> {
        let ast::SortKey { direction, operator, nulls, .. } = self.tree.get(key);
        let is_descending = match operator.map(|operator| self.symbol_of(operator)) {
            None => direction == Some(ast::Direction::Descending),
            Some(symbol) => symbol? == ">",
        };
        let first = match nulls {
            Some(ast::NullsOrder::First) => true,
            Some(ast::NullsOrder::Last) => false,
            None => is_descending,
        };
        Some(match (is_descending, first) {
            (false, false) => String::new(),
            (false, true) => " NULLS FIRST".to_owned(),
            (true, true) => " DESC".to_owned(),
            (true, false) => " DESC NULLS LAST".to_owned(),
        })
    }

    pub(super) fn window(&self, spec: Id<ast::WindowSpec>) -> Option<Window> {
        let tree = self.tree;
        let ast::WindowSpec { base, partition_by, order_by, frame } = tree.get(spec);
        let partition_by = tree.list(partition_by).map(|expr| Some(self.known(self.build(expr)?).node));
        Some(Window {
            base: base.map(|base| quoted(name_text(tree, base))),
            partition_by: partition_by.collect::<Option<_>>()?,
            order_by: self.sort_keys(order_by, &[])?,
            frame: match frame {
                Some(frame) => Some(self.frame(tree.get(frame))?),
                None => None,
            },
        })
    }

    /// What is said before, between and behind the offsets, and these.
    fn frame(&self, frame: ast::Frame) -> Option<(String, Vec<Node>, Vec<String>)> {
        let unit = match frame.unit {
            ast::FrameUnit::Range => "RANGE ",
            ast::FrameUnit::Rows => "ROWS ",
            ast::FrameUnit::Groups => "GROUPS ",
        };
        let mut open = unit.to_owned();
        open.push_str(if frame.end.is_some() { "BETWEEN " } else { "" });
        let (mut offsets, mut behind) = (Vec::new(), Vec::new());
        let ends = [Some(frame.start), frame.end];
        for (at, end) in ends.into_iter().flatten().enumerate() {
            let text = match self.tree.get(end) {
                ast::FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING",
                ast::FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING",
                ast::FrameBound::CurrentRow => "CURRENT ROW",
                ast::FrameBound::Preceding { offset } | ast::FrameBound::Following { offset } => {
                    let last = behind.last_mut().unwrap_or(&mut open);
                    last.push_str(if at > 0 { " AND " } else { "" });
                    offsets.push(self.known(self.build(offset)?).node);
                    let is_before = matches!(self.tree.get(end), ast::FrameBound::Preceding { .. });
                    behind.push(if is_before { " PRECEDING" } else { " FOLLOWING" }.to_owned());
                    continue;
                }
            };
            let last = behind.last_mut().unwrap_or(&mut open);
            last.push_str(if at > 0 { " AND " } else { "" });
            last.push_str(text);
        }
        behind.last_mut().unwrap_or(&mut open).push_str(match frame.exclusion {
            None | Some(ast::Exclusion::NoOthers) => "",
            Some(ast::Exclusion::CurrentRow) => " EXCLUDE CURRENT ROW",
            Some(ast::Exclusion::Group) => " EXCLUDE GROUP",
            Some(ast::Exclusion::Ties) => " EXCLUDE TIES",
        });
        Some((open, offsets, behind))
    }

    pub(super) fn call(&mut self, call: &Call) -> Option<()> {
        self.say(&format!("{}({}", call.name, call.before));
        self.say(if call.star { "*" } else { "" });
        for (at, (before, arg)) in call.args.iter().enumerate() {
            self.say(if at > 0 { ", " } else { "" });
            self.say(before);
            self.node(arg, true)?;
        }
        if !call.order_by.is_empty() {
            self.say(" ORDER BY ");
            self.sorted(&call.order_by)?;
        }
        self.say(")");
        if !call.within_group.is_empty() {
            self.say(" WITHIN GROUP (ORDER BY ");
            self.sorted(&call.within_group)?;
            self.say(")");
        }
        if let Some(filter) = &call.filter {
            self.say(" FILTER (WHERE ");
            self.node(filter, false)?;
            self.say(")");
        }
        match &call.over {
            None => {}
            Some(Over::Name(name)) => self.say(&format!(" OVER {name}")),
            Some(Over::Window(window)) => {
                self.say(" OVER ");
                self.window_text(window)?;
            }
        }
        Some(())
    }

    pub(super) fn window_text(&mut self, window: &Window) -> Option<()> {
        let mut between = "";
        self.say("(");
        if let Some(base) = &window.base {
            self.say(base);
            between = " ";
        }
        if !window.partition_by.is_empty() {
            self.say(between);
            self.say("PARTITION BY ");
            self.keys(&window.partition_by)?;
            between = " ";
        }
        if !window.order_by.is_empty() {
            self.say(between);
            self.say("ORDER BY ");
            self.sorted(&window.order_by)?;
            between = " ";
        }
        if let Some((open, offsets, behind)) = &window.frame {
            self.say(between);
            self.say(open);
            for (offset, text) in offsets.iter().zip(behind) {
                self.node(offset, false)?;
                self.say(text);
            }
        }
        self.say(")");
        Some(())
    }
}

/// As what a built-in function of this name takes these.
fn built_in(name: &str, types: &[DataType]) -> Option<Taken> {
    let signatures = system::routine_signatures(name);
    chosen(signatures.map(|(takes, variadic)| Signature::new(takes, variadic)).collect(), types, false)
}
