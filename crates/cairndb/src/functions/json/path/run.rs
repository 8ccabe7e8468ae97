//! Follows a path through a document.
//!
//! Each part of a path makes a list of items of one item. In lax mode arrays are unwrapped where a step wants something else
//! than an array, other values stand for arrays of one where it wants one, and what is missing is nothing; in strict mode
//! each of these is an error (class 22). Within a predicate an error is the answer "unknown".

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

use super::compare::{compare, starts_with};
use super::layout::objects_of;
use super::moment::Moment;
use super::template::{Template, standard};
use crate::functions::support::division_by_zero;
use crate::types::{
    BinaryOp, EvalContext, Json, JsonBuilder, JsonNode, JsonPath, Jsonb, Method, Numeric, PathExpr, Step,
};
use crate::{Error, Result, SqlState};

/// A value on the way.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    /// Of the document.
    Part(JsonNode<'a>),
    /// Bytes of a value that an expression made, or of the variables; and the number of that value.
    Made(Jsonb, Range<usize>, i64),
    /// A date or time, and its text.
    Moment(Moment, Jsonb),
}

impl Item<'_> {
    fn made(value: Jsonb, id: i64) -> Item<'static> {
        let range = 0..value.as_bytes().len();
        Item::Made(value, range, id)
    }

    fn node(&self) -> JsonNode<'_> {
        match self {
            Item::Part(node) => *node,
            Item::Made(value, range, _) => JsonNode::of(value.as_bytes().get(range.clone()).unwrap_or_default()),
            Item::Moment(_, text) => text.root(),
        }
    }

    pub(super) fn moment(&self) -> Option<Moment> {
        match self {
            Item::Moment(moment, _) => Some(*moment),
            _ => None,
        }
    }

    pub(super) fn read(&self) -> Result<Json<'_>> {
        self.node().read()
    }
}

pub(super) struct Run<'a> {
    document: &'a Jsonb,
    path: &'a JsonPath,
    /// An object, or null.
    variables: &'a Jsonb,
    /// Structural errors are passed over: in lax mode, and behind `.**`.
    lax: bool,
    /// Whether times may be in the session's zone.
    zoned: bool,
    eval: &'a EvalContext,
    steps: Cell<u32>,
    /// The number of the next object that `.keyvalue()` makes.
    next_id: Cell<i64>,
    /// Where the objects are within the value that `.keyvalue()` was asked about last, and that value's number.
    objects: RefCell<Option<(i64, HashMap<usize, i64>)>>,
    /// A template of `.datetime()` is none, which is not about the data.
    broken: Cell<bool>,
}

/// The number of the document, and that of the variables.
const DOCUMENT: i64 = 0;
const VARIABLES: i64 = 1;

/// After so many steps it looks whether the statement is to end.
const STEPS_BETWEEN_CHECKS: u32 = 4096;

/// What `@` and `last` mean.
#[derive(Clone, Copy)]
struct Place<'p, 'a> {
    current: &'p Item<'a>,
    /// The length of the array around.
    length: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        (document, path): (&'a Jsonb, &'a JsonPath),
        variables: &'a Jsonb,
        zoned: bool,
        eval: &'a EvalContext,
    ) -> Run<'a> {
        let first_id = if matches!(variables.root().read(), Ok(Json::Object(_))) { VARIABLES + 1 } else { VARIABLES };
        Run {
            document,
            path,
            variables,
            lax: path.lax,
            zoned,
            eval,
            steps: Cell::new(0),
            next_id: Cell::new(first_id),
            objects: RefCell::new(None),
            broken: Cell::new(false),
        }
    }

    /// PostgreSQL's errors that `silent` passes over.
    pub(super) fn is_about_data(&self, error: &Error) -> bool {
        let code = error.sqlstate().0;
        let is_datetime = matches!(code, "22007" | "22008" | "22009");
        (code.starts_with("2203") || is_datetime || code == SqlState::DIVISION_BY_ZERO.0) && !self.broken.get()
    }

    /// What fails because of what is in the document is unknown within a predicate.
    fn known<T>(&self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.is_about_data(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A path within a path may look at each pair of a document's parts: it can be interrupted.
    fn count(&self) -> Result<()> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps % STEPS_BETWEEN_CHECKS);
        if steps == STEPS_BETWEEN_CHECKS { self.eval.check() } else { Ok(()) }
    }

    /// All that the path finds; `silent`: up to where something in the document is not as it should be.
    pub(super) fn items(&self, silent: bool) -> Result<Vec<Jsonb>> {
        let root = Item::Part(self.document.root());
        let place = Place { current: &root, length: 0 };
        let mut found = vec![];
        let done = match self.path.expr.is_predicate() {
            true => self.predicate(&self.path.expr, place).and_then(truth).map(|item| found.push(item)),
            false => self.find(&self.path.expr, place, &mut found),
        };
        match done {
            Err(error) if !silent || !self.is_about_data(&error) => Err(error),
            _ => Ok(found.into_iter().map(|item| Jsonb::of_part(item.node())).collect()),
        }
    }

    /// Whether the path finds anything: in lax mode nothing is looked at behind the first value that is found.
    pub(super) fn any(&self) -> Result<bool> {
        let root = Item::Part(self.document.root());
        let place = Place { current: &root, length: 0 };
        match self.path.expr.is_predicate() {
            true => self.predicate(&self.path.expr, place).map(|_| true),
            false => self.is_there(&self.path.expr, place),
        }
    }

    fn is_there(&self, expr: &PathExpr, place: Place<'_, 'a>) -> Result<bool> {
        match (self.path.lax, expr) {
            (true, PathExpr::Steps(first, steps)) => {
                let mut found = vec![];
                for item in self.values(first, place)? {
                    if self.follow(&item, steps, self.lax, place, true, &mut found)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (true, PathExpr::Sign(_, operand)) => {
                let items = self.unwrapped(self.values(operand, place)?)?;
                let numbers = items.iter().map(|item| Ok(matches!(item.read()?, Json::Number(_))));
                numbers.collect::<Result<Vec<bool>>>().map(|numbers| numbers.contains(&true))
            }
            _ => self.values(expr, place).map(|items| !items.is_empty()),
        }
    }

    /// Adds the values of an expression to what was found: those before an error, too.
    fn find(&self, expr: &PathExpr, place: Place<'_, 'a>, found: &mut Vec<Item<'a>>) -> Result<()> {
        let PathExpr::Steps(first, steps) = expr else {
            found.extend(self.values(expr, place)?);
            return Ok(());
        };
        for item in self.values(first, place)? {
            self.follow(&item, steps, self.lax, place, false, found)?;
        }
        Ok(())
    }

    /// The values of an expression. Values are copied where they outlive what they are a part of.
    fn values(&self, expr: &PathExpr, place: Place<'_, 'a>) -> Result<Vec<Item<'a>>> {
        let made = |build: &dyn Fn(&mut JsonBuilder)| {
            let mut out = JsonBuilder::default();
            build(&mut out);
            Ok(vec![Item::made(out.finish()?, 0)])
        };
        match expr {
            PathExpr::Root => Ok(vec![Item::Part(self.document.root())]),
            PathExpr::Current => Ok(vec![place.current.clone()]),
            PathExpr::Last => number(&Numeric::from(place.length as i64 - 1)),
            PathExpr::Variable(name) => self.variable(name).map(|item| vec![item]),
            PathExpr::Null => made(&|out| out.null()),
            PathExpr::Boolean(value) => made(&|out| out.boolean(*value)),
            PathExpr::Number(value) => number(value),
            PathExpr::String(text) => made(&|out| out.string(text)),
            PathExpr::Steps(..) => {
                let mut found = vec![];
                self.find(expr, place, &mut found)?;
                Ok(found)
            }
            PathExpr::Sign(negative, operand) => {
                let mut results = vec![];
                for item in self.unwrapped(self.values(operand, place)?)? {
                    let Json::Number(value) = item.read()? else {
                        let sign = if *negative { '-' } else { '+' };
                        let message = format!("operand of unary jsonpath operator {sign} is not a numeric value");
                        return Err(Error::new(SqlState::SQL_JSON_NUMBER_NOT_FOUND, message));
                    };
                    results.extend(number(&if *negative { value.neg() } else { value })?);
                }
                Ok(results)
            }
            PathExpr::Binary(op, left, right) if op.is_arithmetic() => self.arithmetic(*op, [left, right], place),
            predicate => Ok(vec![truth(self.predicate(predicate, place)?)?]),
        }
    }

    fn variable(&self, name: &str) -> Result<Item<'a>> {
        let found = match self.variables.root().read()? {
            Json::Object(items) => items.get(name)?,
            // Of an operator, which is given none.
            _ => None,
        };
        let found = found.ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_OBJECT, format!("could not find jsonpath variable \"{name}\""))
        })?;
        Ok(Item::Made(self.variables.clone(), range_in(self.variables, found), VARIABLES))
    }

    /// Arrays replaced by their elements, in lax mode.
    fn unwrapped(&self, items: Vec<Item<'a>>) -> Result<Vec<Item<'a>>> {
        if !self.path.lax {
            return Ok(items);
        }
        let mut results = Vec::with_capacity(items.len());
        for item in items {
            match item.read()? {
                Json::Array(_) => results.extend(parts_of(&item, inner)?),
                _ => results.push(item),
            }
        }
        Ok(results)
    }

    fn arithmetic(&self, op: BinaryOp, sides: [&PathExpr; 2], place: Place<'_, 'a>) -> Result<Vec<Item<'a>>> {
        let mut numbers = Vec::with_capacity(2);
        let [left, right] = sides.map(|side| self.values(side, place).and_then(|items| self.unwrapped(items)));
        let (left, right) = (left?, right?);
        for (items, name) in [(left, "left"), (right, "right")] {
            match items.as_slice() {
                [item] => match item.read()? {
                    Json::Number(value) => numbers.push(value),
                    _ => return Err(not_single(name, op)),
                },
                _ => return Err(not_single(name, op)),
            }
        }
        let [left, right] = numbers.as_slice() else { return Err(Error::internal("two operands")) };
        number(&match op {
            BinaryOp::Add => left.add(right)?,
            BinaryOp::Subtract => left.sub(right)?,
            BinaryOp::Multiply => left.mul(right)?,
            _ if right.is_zero() => return Err(division_by_zero()),
            BinaryOp::Divide => left.div(right)?,
            _ => left.rem(right)?,
        })
    }

    /// What the steps lead to from an item, behind what was found before. `first`: up to the first; true: there it is.
    fn follow(
        &self,
        item: &Item<'a>,
        steps: &[Step],
        lax: bool,
        place: Place<'_, 'a>,
        first: bool,
        out: &mut Vec<Item<'a>>,
    ) -> Result<bool> {
        self.count()?;
        let Some((step, rest)) = steps.split_first() else {
            out.push(item.clone());
            return Ok(first);
        };
        let takes_arrays = matches!(
            step,
            Step::AnyElement | Step::Elements(_) | Step::Levels(..) | Step::Method(Method::Type | Method::Size)
        );
        let from = match item.read()? {
            Json::Array(_) if self.path.lax && !takes_arrays => parts_of(item, inner)?,
            _ => vec![item.clone()],
        };
        // Behind `.**` there are values of all kinds.
        let lax_behind = lax || matches!(step, Step::Levels(..));
        for item in &from {
            if let Step::Method(Method::KeyValue) = step {
                if self.key_values(item, rest, lax_behind, place, first, out)? {
                    return Ok(true);
                }
                continue;
            }
            let mut next = vec![];
            self.step(item, step, lax, place, &mut next)?;
            for item in &next {
                if self.follow(item, rest, lax_behind, place, first, out)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// What the steps lead to from each key and value of an object, with the object's number.
    fn key_values(
        &self,
        item: &Item<'a>,
        rest: &[Step],
        lax: bool,
        place: Place<'_, 'a>,
        first: bool,
        out: &mut Vec<Item<'a>>,
    ) -> Result<bool> {
        let Json::Object(items) = item.read()? else {
            let message = "jsonpath item method .keyvalue() can only be applied to an object";
            return Err(Error::new(SqlState::SQL_JSON_OBJECT_NOT_FOUND, message));
        };
        if first && rest.is_empty() {
            out.extend((items.len() > 0).then(|| item.clone()));
            return Ok(items.len() > 0);
        }
        let id = Numeric::from(self.object_id(item)?);
        for pair in items.pairs() {
            let (key, value) = pair?;
            let mut made = JsonBuilder::default();
            made.begin_object()?;
            made.key("key");
            made.string(key);
            made.key("value");
            made.node(value)?;
            made.key("id");
            made.number(&id);
            made.end()?;
            let made = Item::made(made.finish()?, self.next_id.get());
            self.next_id.set(self.next_id.get() + 1);
            if self.follow(&made, rest, lax, place, first, out)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of the value that an object is of, and where it is in it, as PostgreSQL writes them.
    fn object_id(&self, object: &Item<'a>) -> Result<i64> {
        let (whole, range, id) = match object {
            Item::Part(node) => (self.document, range_in(self.document, *node), DOCUMENT),
            Item::Made(whole, range, id) => (whole, range.clone(), *id),
            Item::Moment(..) => return Err(Error::internal("a date is no object")),
        };
        let mut objects = self.objects.borrow_mut();
        if objects.as_ref().is_none_or(|(of, _)| *of != id) {
            *objects = Some((id, objects_of(whole.root())?));
        }
        let place = objects.as_ref().and_then(|(_, places)| places.get(&range.start).copied());
        let place = place.ok_or_else(|| Error::internal("an object that is nowhere"))?;
        Ok(id * 10_000_000_000 + place)
    }

    /// A string's date or time.
    fn datetime(&self, item: &Item<'a>, template: Option<&str>) -> Result<Item<'a>> {
        let text = match item.read()? {
            Json::String(text) if item.moment().is_none() => text,
            _ => {
                let message = "jsonpath item method .datetime() can only be applied to a string";
                return Err(Error::new(SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION, message));
            }
        };
        let moment = match template {
            None => standard(text)?,
            Some(template) => Template::parse(template).inspect_err(|_| self.broken.set(true))?.read(text)?,
        };
        let mut out = JsonBuilder::default();
        out.string(&moment.text());
        Ok(Item::Moment(moment, out.finish()?))
    }

    /// One step from one item; arrays that should be unwrapped are.
    fn step(
        &self,
        item: &Item<'a>,
        step: &Step,
        lax: bool,
        place: Place<'_, 'a>,
        out: &mut Vec<Item<'a>>,
    ) -> Result<()> {
        let json = item.read()?;
        let refuse =
            |code: &'static str, message: String| if lax { Ok(()) } else { Err(Error::new(SqlState(code), message)) };
        match (step, &json) {
            (Step::Key(key), Json::Object(_)) => {
                let found = parts_of(item, |json| match json {
                    Json::Object(items) => Ok(items.get(key)?.into_iter().collect()),
                    _ => Ok(vec![]),
                })?;
                if found.is_empty() {
                    return refuse("2203A", format!("JSON object does not contain key \"{key}\""));
                }
                out.extend(found);
            }
            (Step::Key(_), _) => {
                return refuse("2203A", "jsonpath member accessor can only be applied to an object".to_owned());
            }
            (Step::AnyKey, Json::Object(_)) | (Step::AnyElement, Json::Array(_)) => out.extend(parts_of(item, inner)?),
            (Step::AnyKey, _) => {
                return refuse(
                    "2203C",
                    "jsonpath wildcard member accessor can only be applied to an object".to_owned(),
                );
            }
            (Step::AnyElement, _) if self.path.lax => out.push(item.clone()),
            (Step::AnyElement, _) => {
                return refuse("22039", "jsonpath wildcard array accessor can only be applied to an array".to_owned());
            }
            (Step::Elements(parts), Json::Array(_)) => {
                self.elements(&parts_of(item, inner)?, parts, lax, place, out)?
            }
            (Step::Elements(parts), _) if self.path.lax => {
                self.elements(std::slice::from_ref(item), parts, lax, place, out)?;
            }
            (Step::Elements(_), _) => {
                return refuse("22039", "jsonpath array accessor can only be applied to an array".to_owned());
            }
            (Step::Levels(from, to), _) => levels(item, 0, (*from, *to), out)?,
            (Step::Filter(predicate), _) => {
                let inner = Place { current: item, ..place };
                if self.predicate(predicate, inner)? == Some(true) {
                    out.push(item.clone());
                }
            }
            (Step::Method(Method::Type), _) if item.moment().is_some() => {
                let mut name = JsonBuilder::default();
                name.string(item.moment().map_or("", Moment::type_name));
                out.push(Item::made(name.finish()?, 0));
            }
            (Step::Method(Method::Double), _) if item.moment().is_some() => {
                out.extend(self.method(Method::Double, &Json::Null, lax)?);
            }
            (Step::Method(method), json) => out.extend(self.method(*method, json, lax)?),
            (Step::Datetime(template), _) => out.push(self.datetime(item, template.as_deref())?),
        }
        Ok(())
    }

    fn elements(
        &self,
        items: &[Item<'a>],
        parts: &[(PathExpr, Option<PathExpr>)],
        lax: bool,
        place: Place<'_, 'a>,
        out: &mut Vec<Item<'a>>,
    ) -> Result<()> {
        let length = items.len();
        let inner = Place { current: place.current, length };
        for (from, to) in parts {
            let from = self.subscript(from, inner)?;
            let to = to.as_ref().map_or(Ok(from), |to| self.subscript(to, inner))?;
            if !lax && (from < 0 || from > to || to >= length as i64) {
                return Err(Error::new(
                    SqlState::INVALID_SQL_JSON_SUBSCRIPT,
                    "jsonpath array subscript is out of bounds",
                ));
            }
            let (from, to) = (from.max(0), to.min(length as i64 - 1));
            if from <= to {
                out.extend_from_slice(&items[from as usize..=to as usize]);
            }
        }
        Ok(())
    }

    fn subscript(&self, expr: &PathExpr, place: Place<'_, 'a>) -> Result<i64> {
        let items = self.values(expr, place)?;
        let number = match items.as_slice() {
            [item] => match item.read()? {
                Json::Number(value) => Some(value),
                _ => None,
            },
            _ => None,
        };
        let Some(number) = number else {
            let message = "jsonpath array subscript is not a single numeric value";
            return Err(Error::new(SqlState::INVALID_SQL_JSON_SUBSCRIPT, message));
        };
        let index = number.trunc(0).to_i64().filter(|index| i32::try_from(*index).is_ok());
        index.ok_or_else(|| {
            Error::new(SqlState::INVALID_SQL_JSON_SUBSCRIPT, "jsonpath array subscript is out of integer range")
        })
    }

    fn method(&self, method: Method, json: &Json<'_>, lax: bool) -> Result<Vec<Item<'a>>> {
        let name = method.name();
        let not_a_number = |what: &str| {
            let message = format!("jsonpath item method .{name}() can only be applied to a {what}");
            Err(Error::new(SqlState::NON_NUMERIC_SQL_JSON_ITEM, message))
        };
        match (method, json) {
            (Method::Type, json) => {
                let mut out = JsonBuilder::default();
                out.string(match json {
                    Json::Null => "null",
                    Json::Boolean(_) => "boolean",
                    Json::Number(_) => "number",
                    Json::String(_) => "string",
                    Json::Array(_) => "array",
                    Json::Object(_) => "object",
                });
                Ok(vec![Item::made(out.finish()?, 0)])
            }
            (Method::Size, Json::Array(items)) => number(&Numeric::from(items.len() as i64)),
            (Method::Size, _) if self.path.lax => number(&Numeric::from(1)),
            (Method::Size, _) if lax => Ok(vec![]),
            (Method::Size, _) => {
                let message = "jsonpath item method .size() can only be applied to an array";
                Err(Error::new(SqlState::SQL_JSON_ARRAY_NOT_FOUND, message))
            }
            (Method::Double, Json::Number(value)) => double(value.to_f64(), "numeric argument", name),
            (Method::Double, Json::String(text)) => match text.trim().parse::<f64>() {
                Ok(value) => double(value, "string argument", name),
                Err(_) => {
                    let message = "string argument of jsonpath item method .double() is not a valid representation of a double precision number";
                    Err(Error::new(SqlState::NON_NUMERIC_SQL_JSON_ITEM, message))
                }
            },
            (Method::Double, _) => not_a_number("string or numeric value"),
            (Method::Abs, Json::Number(value)) => number(&value.abs()),
            (Method::Floor, Json::Number(value)) => number(&value.floor()),
            (Method::Ceiling, Json::Number(value)) => number(&value.ceil()),
            (Method::KeyValue, _) => Err(Error::internal("it is followed pair by pair")),
            (Method::Abs | Method::Floor | Method::Ceiling, _) => not_a_number("numeric value"),
        }
    }

    /// A condition: `None` is unknown.
    fn predicate(&self, expr: &PathExpr, place: Place<'_, 'a>) -> Result<Option<bool>> {
        Ok(match expr {
            PathExpr::Binary(BinaryOp::And, left, right) => match self.predicate(left, place)? {
                Some(false) => Some(false),
                left => match (left, self.predicate(right, place)?) {
                    (_, Some(false)) => Some(false),
                    (Some(true), right) => right,
                    _ => None,
                },
            },
            PathExpr::Binary(BinaryOp::Or, left, right) => match self.predicate(left, place)? {
                Some(true) => Some(true),
                left => match (left, self.predicate(right, place)?) {
                    (_, Some(true)) => Some(true),
                    (Some(false), right) => right,
                    _ => None,
                },
            },
            PathExpr::Not(operand) => self.predicate(operand, place)?.map(|holds| !holds),
            PathExpr::IsUnknown(operand) => Some(self.predicate(operand, place)?.is_none()),
            PathExpr::Exists(operand) => self.known(self.is_there(operand, place))?,
            PathExpr::Binary(BinaryOp::StartsWith, left, right) => {
                self.any_pair(left, Some(right), place, |a, b| b.map_or(Ok(None), |b| starts_with(a, b)))?
            }
            PathExpr::Binary(op, left, right) => self.any_pair(left, Some(right), place, |a, b| {
                b.map_or(Ok(None), |b| compare(*op, a, b, self.zoned.then_some(self.eval)))
            })?,
            PathExpr::LikeRegex(operand, pattern) => self.any_pair(operand, None, place, |a, _| {
                let json = a.read()?;
                Ok(match json {
                    Json::String(text) if a.moment().is_none() => Some(pattern.is_match(text)),
                    _ => None,
                })
            })?,
            _ => None,
        })
    }

    /// Whether a condition holds for a pair of the two sides' items. In strict mode all are looked at, and one that is
    /// unknown is the answer.
    fn any_pair(
        &self,
        left: &PathExpr,
        right: Option<&PathExpr>,
        place: Place<'_, 'a>,
        holds: impl Fn(&Item<'_>, Option<&Item<'_>>) -> Result<Option<bool>>,
    ) -> Result<Option<bool>> {
        let side = |expr: &PathExpr| self.known(self.values(expr, place).and_then(|items| self.unwrapped(items)));
        let Some(lefts) = side(left)? else { return Ok(None) };
        let rights: Vec<Option<Item<'_>>> = match right {
            None => vec![None],
            Some(right) => match side(right)? {
                Some(items) => items.into_iter().map(Some).collect(),
                None => return Ok(None),
            },
        };
        let (mut found, mut unknown) = (false, false);
        for a in &lefts {
            for b in &rights {
                self.count()?;
                match holds(a, b.as_ref())? {
                    Some(true) if self.path.lax => return Ok(Some(true)),
                    Some(holds) => found |= holds,
                    None if !self.path.lax => return Ok(None),
                    None => unknown = true,
                }
            }
        }
        Ok(if found {
            Some(true)
        } else if unknown {
            None
        } else {
            Some(false)
        })
    }
}

/// Parts of an item: of the document where the item is.
fn parts_of<'a>(
    item: &Item<'a>,
    pick: impl for<'n> FnOnce(Json<'n>) -> Result<Vec<JsonNode<'n>>>,
) -> Result<Vec<Item<'a>>> {
    Ok(match item {
        Item::Part(node) => pick(node.read()?)?.into_iter().map(Item::Part).collect(),
        Item::Made(value, _, id) => {
            let part = |node| Item::Made(value.clone(), range_in(value, node), *id);
            pick(item.read()?)?.into_iter().map(part).collect()
        }
        Item::Moment(..) => vec![],
    })
}

/// Where a part of a value is among its bytes.
fn range_in(value: &Jsonb, part: JsonNode<'_>) -> Range<usize> {
    let start = part.bytes().as_ptr().addr() - value.as_bytes().as_ptr().addr();
    start..start + part.bytes().len()
}

/// The elements of an array, the values of an object; nothing is in anything else.
fn inner<'n>(json: Json<'n>) -> Result<Vec<JsonNode<'n>>> {
    match json {
        Json::Array(items) => items.elements().collect(),
        Json::Object(items) => items.pairs().map(|pair| Ok(pair?.1)).collect(),
        _ => Ok(vec![]),
    }
}

/// The item and what is in it, at the levels that are asked for.
fn levels<'a>(item: &Item<'a>, level: u32, range: (Option<u32>, Option<u32>), out: &mut Vec<Item<'a>>) -> Result<()> {
    let parts = parts_of(item, inner)?;
    let (from, to) = range;
    // `last` is the level of what has nothing in it.
    let wanted = match from {
        Some(from) => level >= from && to.is_none_or(|to| level <= to),
        None => level > 0 && parts.is_empty() && to.is_none_or(|to| level <= to),
    };
    if wanted {
        out.push(item.clone());
    }
    if to.is_none_or(|to| level < to) {
        for part in &parts {
            levels(part, level + 1, range, out)?;
        }
    }
    Ok(())
}

fn not_single(side: &str, op: BinaryOp) -> Error {
    let message = format!("{side} operand of jsonpath operator {} is not a single numeric value", op.symbol());
    Error::new(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, message)
}

fn double<'a>(value: f64, argument: &str, name: &str) -> Result<Vec<Item<'a>>> {
    if !value.is_finite() {
        let message = format!("{argument} of jsonpath item method .{name}() is out of range for type double precision");
        return Err(Error::new(SqlState::NON_NUMERIC_SQL_JSON_ITEM, message));
    }
    number(&Numeric::from_f64(value))
}

fn number<'a>(value: &Numeric) -> Result<Vec<Item<'a>>> {
    let mut out = JsonBuilder::default();
    out.number(value);
    Ok(vec![Item::made(out.finish()?, 0)])
}

/// A condition's answer as an item: unknown is null.
fn truth<'a>(holds: Option<bool>) -> Result<Item<'a>> {
    let mut out = JsonBuilder::default();
    match holds {
        Some(holds) => out.boolean(holds),
        None => out.null(),
    }
    Ok(Item::made(out.finish()?, 0))
}
