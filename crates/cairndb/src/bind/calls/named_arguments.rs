//! Arguments that are given by name.

use cairn_parser::{self as ast, List};

use super::functions::Call;
use super::routine::{Given, Named, no_such};
use crate::bind::binder::Binder;
use crate::bind::context::Context;
use crate::bind::expressions::literal;
use crate::bind::expressions::operators::Operand;
use crate::bind::queries::select::contains_stand_in;
use crate::functions::Parameter;
use crate::plan::{Expr, StandIn};
use crate::sql::name_text;
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// A call's arguments.
pub(in crate::bind) enum Arguments<'t> {
    /// As they are written.
    Written(List<ast::Expr>),
    /// Bound already, to choose a function by their types.
    Bound(Vec<Given<'t>>),
}

/// Arguments that were bound before it was known of what.
pub(in crate::bind) struct Bound<'t> {
    pub(in crate::bind) given: Vec<Given<'t>>,
    /// How many columns the context had met before.
    pub(in crate::bind) mentioned: usize,
}

/// What has rules of its own for what stands in its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::bind) enum Within {
    Aggregate,
    Window,
}

/// What may not stand there: what stands in for it, the code, and the message.
type Refused = (fn(StandIn) -> bool, SqlState, &'static str);

impl Within {
    fn refused(self) -> &'static [Refused] {
        const GROUPING: SqlState = SqlState::GROUPING_ERROR;
        match self {
            Within::Aggregate => &[
                (StandIn::is_aggregate, GROUPING, "aggregate function calls cannot be nested"),
                (StandIn::is_grouping, GROUPING, "aggregate function calls cannot contain grouping operations"),
                (StandIn::is_window, GROUPING, "aggregate function calls cannot contain window function calls"),
                (
                    StandIn::is_rows,
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "aggregate function calls cannot contain set-returning function calls",
                ),
            ],
            Within::Window => &[
                (StandIn::is_window, SqlState::WINDOWING_ERROR, "window function calls cannot be nested"),
                (
                    StandIn::is_rows,
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "window function calls cannot contain set-returning function calls",
                ),
            ],
        }
    }
}

impl<'a> Binder<'a> {
    /// The arguments of an aggregate, or of a window function, whose context says so. Where they were bound before that was known, what
    /// may not stand there is looked for now.
    pub(in crate::bind) fn operands_within(
        &mut self,
        call: &Call<'a>,
        within: Within,
        context: &mut Context,
    ) -> Result<Vec<Operand>> {
        let Some(Bound { given, mentioned }) = call.bound.take() else { return self.operands_of(call.args, context) };
        if within == Within::Aggregate {
            context.mentions.truncate(mentioned);
        }
        for (is_such, code, message) in within.refused() {
            let refused = |given: &&Given<'_>| contains_stand_in(&given.value, is_such);
            if let Some(given) = given.iter().find(refused) {
                return Err(self.at(Error::new(*code, *message), given.span));
            }
        }
        self.operands(Arguments::Bound(given), context)
    }

    /// The arguments of a function whose parameters have no names.
    pub(in crate::bind) fn operands(&mut self, args: Arguments<'a>, context: &mut Context) -> Result<Vec<Operand>> {
        match args {
            Arguments::Written(args) => self.operands_of(args, context),
            Arguments::Bound(given) => match given.iter().find(|given| given.name.is_some()) {
                Some(named) => Err(self.at(Error::unsupported("an argument by name in this place"), named.span)),
                None => Ok(given.into_iter().map(|given| (given.value, given.span)).collect()),
            },
        }
    }

    /// The arguments of a call as they are written.
    pub(in crate::bind) fn given(&mut self, args: List<ast::Expr>, context: &mut Context) -> Result<Vec<Given<'a>>> {
        let tree = self.tree;
        let mut given: Vec<Given<'a>> = Vec::with_capacity(tree.len(args));
        for arg in tree.list(args) {
            let (name, value) = match tree.get(arg) {
                ast::Expr::NamedArgument { name, value } => (Some(name_text(tree, name)), value),
                _ => (None, arg),
            };
            let (value, span) = self.operand(value, context)?;
            // JDBC's drivers write what only comes out among the arguments, and say of it that it is `void`: PostgreSQL passes it over.
            if matches!(value, Expr::Parameter { data_type: DataType::Void, .. }) {
                continue;
            }
            let wrong = match name {
                None if given.iter().any(|given| given.name.is_some()) => {
                    "positional argument cannot follow named argument".to_owned()
                }
                Some(name) if given.iter().any(|given| given.name == Some(name)) => {
                    format!("argument name \"{name}\" used more than once")
                }
                _ => {
                    given.push(Given { name, value, span });
                    continue;
                }
            };
            return Err(self.at(Error::new(SqlState::SYNTAX_ERROR, wrong), span));
        }
        Ok(given)
    }

    /// The arguments of a built-in function in the order of its parameters.
    pub(in crate::bind) fn arguments(
        &mut self,
        called: Named<'_>,
        args: Arguments<'a>,
        context: &mut Context,
    ) -> Result<Vec<Operand>> {
        let given = match args {
            Arguments::Written(args) => self.given(args, context)?,
            Arguments::Bound(given) => given,
        };
        if given.iter().all(|given| given.name.is_none()) {
            return Ok(given.into_iter().map(|given| (given.value, given.span)).collect());
        }
        // The elements of what repeats have no names.
        let known = self.overloads(called.name);
        let mut named = known.iter().filter(|function| !function.variadic);
        let order = named.find_map(|function| in_order(function.parameters, &given));
        let Some(order) = order else { return Err(self.at(no_such(called, &given), called.span)) };
        let mut given: Vec<Option<Given<'_>>> = given.into_iter().map(Some).collect();
        let operand = |from: Argument| match from {
            Argument::Given(at) => given[at].take().map(|given| (given.value, given.span)),
            Argument::Default(text) => Some((literal::untyped(text), called.span)),
        };
        Ok(order.into_iter().filter_map(operand).collect())
    }
}

enum Argument {
    /// The one at this position of the call.
    Given(usize),
    Default(&'static str),
}

/// Where each parameter's argument comes from; `None`: these are not the function's.
fn in_order(parameters: &[Parameter], given: &[Given<'_>]) -> Option<Vec<Argument>> {
    let positional = given.iter().take_while(|given| given.name.is_none()).count();
    let mut order = Vec::with_capacity(parameters.len());
    let mut used = 0;
    for (at, (name, default)) in parameters.iter().enumerate() {
        let named = given.iter().position(|given| given.name == Some(*name));
        order.push(match (at < positional, named, default) {
            (true, None, _) => Argument::Given(at),
            (false, Some(named), _) => Argument::Given(named),
            (false, None, Some(default)) => Argument::Default(default),
            _ => return None,
        });
        used += usize::from(matches!(order.last(), Some(Argument::Given(_))));
    }
    (used == given.len()).then_some(order)
}
