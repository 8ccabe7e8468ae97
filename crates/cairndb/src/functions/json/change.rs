//! `||`, `-`, `#-`, `jsonb_set`, `jsonb_insert`: a `jsonb` made of parts of another one.

use super::{BOOLEAN, INTEGER, JSONB, TEXT, refuse, texts};
use crate::functions::Declared;
use crate::functions::catalogue::{Catalogue, Parameter};
use crate::functions::support::wrong_arguments;
use crate::types::{Array, DataType, Items, Json, JsonBuilder, JsonNode, Jsonb, Value};
use crate::{Error, Result, SqlState};

static TWO: [DataType; 2] = [JSONB, JSONB];
static KEY: [DataType; 2] = [JSONB, TEXT];
static POSITION: [DataType; 2] = [JSONB, INTEGER];

const SET: &[Parameter] = &[
    ("jsonb_in", None),
    ("path", None),
    ("replacement", None),
    ("create_if_missing", Some("true")),
    ("null_value_treatment", Some("use_json_null")),
];
const INSERT: &[Parameter] =
    &[("jsonb_in", None), ("path", None), ("replacement", None), ("insert_after", Some("false"))];

pub(super) fn register(catalogue: &mut Catalogue) {
    for name in ["||", "jsonb_concat"] {
        catalogue
            .add(name, &TWO, JSONB, |args, _| match args {
                [Value::Jsonb(a), Value::Jsonb(b)] => concatenated(a.root(), b.root()),
                _ => Err(wrong_arguments(args)),
            })
            .bounded();
    }
    let (jsonb, path, boolean) = (Declared::Type(JSONB), Declared::Type(texts()), Declared::Type(BOOLEAN));
    for name in ["-", "jsonb_delete"] {
        catalogue.add(name, &KEY, JSONB, |args, _| match args {
            [Value::Jsonb(document), Value::Text(key)] => without_keys(document, &[key]),
            _ => Err(wrong_arguments(args)),
        });
        catalogue.add(name, &POSITION, JSONB, |args, _| match args {
            [Value::Jsonb(document), Value::Integer(index)] => without_element(document, *index),
            _ => Err(wrong_arguments(args)),
        });
        catalogue.add_polymorphic(name, &[jsonb, path], jsonb, |_, args, _| match args {
            [Value::Jsonb(document), Value::Array(keys)] => {
                let keys = line(keys)?;
                without_keys(document, &keys.values().iter().filter_map(Value::as_str).collect::<Vec<_>>())
            }
            _ => Err(wrong_arguments(args)),
        });
    }
    for name in ["#-", "jsonb_delete_path"] {
        catalogue.add_polymorphic(name, &[jsonb, path], jsonb, |_, args, _| match args {
            [Value::Jsonb(document), Value::Array(path)] => changed(document, path, None, Change::Delete),
            _ => Err(wrong_arguments(args)),
        });
    }
    catalogue.add_polymorphic("jsonb_set", &[jsonb, path, jsonb], jsonb, |_, args, _| set(args)).bounded();
    catalogue
        .add_polymorphic("jsonb_set", &[jsonb, path, jsonb, boolean], jsonb, |_, args, _| set(args))
        .parameters(SET.split_at(4).0)
        .bounded();
    catalogue.add_polymorphic("jsonb_insert", &[jsonb, path, jsonb], jsonb, |_, args, _| insert(args));
    catalogue
        .add_polymorphic("jsonb_insert", &[jsonb, path, jsonb, boolean], jsonb, |_, args, _| insert(args))
        .parameters(INSERT);
    let lax = [jsonb, path, jsonb, boolean, Declared::Type(TEXT)];
    for count in 3..=5 {
        let function = catalogue.add_polymorphic("jsonb_set_lax", &lax[..count], jsonb, |_, args, _| set_lax(args));
        function.parameters(if count == lax.len() { SET } else { &[] }).called_on_null();
    }
}

fn set(args: &[Value]) -> Result<Value> {
    let change = match args.get(3) {
        Some(Value::Boolean(false)) => Change::Replace,
        _ => Change::Set,
    };
    match args {
        [Value::Jsonb(document), Value::Array(path), Value::Jsonb(new), ..] => {
            changed(document, path, Some(new), change)
        }
        _ => Err(wrong_arguments(args)),
    }
}

fn insert(args: &[Value]) -> Result<Value> {
    let change = match args.get(3) {
        Some(Value::Boolean(true)) => Change::InsertAfter,
        _ => Change::InsertBefore,
    };
    match args {
        [Value::Jsonb(document), Value::Array(path), Value::Jsonb(new), ..] => {
            changed(document, path, Some(new), change)
        }
        _ => Err(wrong_arguments(args)),
    }
}

/// As `jsonb_set`, where the fifth argument says what a new value of NULL means.
fn set_lax(args: &[Value]) -> Result<Value> {
    let [document, path, new, rest @ ..] = args else { return Err(wrong_arguments(args)) };
    if document.is_null() || path.is_null() || rest.first().is_some_and(Value::is_null) {
        return Ok(Value::Null);
    }
    let treatment = match rest.get(1) {
        None => "use_json_null",
        Some(Value::Text(treatment)) => treatment,
        Some(_) => {
            return refuse(
                "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"",
            );
        }
    };
    if !new.is_null() {
        return set(&args[..args.len().min(4)]);
    }
    match (treatment, document, path) {
        ("raise_exception", ..) => {
            let error = Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "JSON value must not be null");
            let detail = "Exception was raised because null_value_treatment is \"raise_exception\".";
            let hint =
                "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.";
            Err(error.with_detail(detail).with_hint(hint))
        }
        ("use_json_null", ..) => {
            let mut null = JsonBuilder::default();
            null.null();
            let new = Value::Jsonb(null.finish()?);
            let given = [document.clone(), path.clone(), new];
            let given: Vec<Value> = given.into_iter().chain(rest.first().cloned()).collect();
            set(&given)
        }
        ("delete_key", Value::Jsonb(document), Value::Array(path)) => changed(document, path, None, Change::Delete),
        ("return_target", document, _) => Ok(document.clone()),
        _ => refuse(
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"",
        ),
    }
}

/// Objects united, the right one's values counting; else arrays behind each other, what is no array as an array of one.
fn concatenated(a: JsonNode<'_>, b: JsonNode<'_>) -> Result<Value> {
    let mut out = JsonBuilder::default();
    match (a.read()?, b.read()?) {
        (Json::Object(a), Json::Object(b)) => {
            out.begin_object()?;
            for pair in a.pairs().chain(b.pairs()) {
                let (key, value) = pair?;
                out.key(key);
                out.node(value)?;
            }
        }
        (left, right) => {
            out.begin_array()?;
            for (node, json) in [(a, left), (b, right)] {
                match json {
                    Json::Array(items) => items.elements().try_for_each(|element| out.node(element?))?,
                    _ => out.node(node)?,
                }
            }
        }
    }
    out.end()?;
    out.finish().map(Value::Jsonb)
}

fn without_keys(document: &Jsonb, keys: &[&str]) -> Result<Value> {
    let mut out = JsonBuilder::default();
    match document.root().read()? {
        Json::Object(items) => {
            out.begin_object()?;
            for pair in items.pairs() {
                let (key, value) = pair?;
                if !keys.contains(&key) {
                    out.key(key);
                    out.node(value)?;
                }
            }
        }
        Json::Array(items) => {
            out.begin_array()?;
            for element in items.elements() {
                let element = element?;
                if !matches!(element.read()?, Json::String(text) if keys.contains(&text)) {
                    out.node(element)?;
                }
            }
        }
        _ => return refuse("cannot delete from scalar"),
    }
    out.end()?;
    out.finish().map(Value::Jsonb)
}

fn without_element(document: &Jsonb, index: i32) -> Result<Value> {
    let items = match document.root().read()? {
        Json::Array(items) => items,
        Json::Object(_) => return refuse("cannot delete from object using integer index"),
        _ => return refuse("cannot delete from scalar"),
    };
    let index = if index < 0 { i64::from(index) + items.len() as i64 } else { index.into() };
    let mut out = JsonBuilder::default();
    out.begin_array()?;
    for at in (0..items.len()).filter(|at| *at as i64 != index) {
        out.node(items.element(at)?)?;
    }
    out.end()?;
    out.finish().map(Value::Jsonb)
}

/// What is done at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Delete,
    /// Only what there is.
    Replace,
    /// What there is, or anew.
    Set,
    InsertBefore,
    InsertAfter,
    /// `SET j['a'][2] = x`: as `Set`, and what is missing on the way there is made.
    Assign,
}

impl Change {
    /// A value may be put where there was none.
    fn adds(self) -> bool {
        !matches!(self, Change::Delete | Change::Replace)
    }
}

fn line(array: &Array) -> Result<&Array> {
    if array.dimensions().len() > 1 {
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
    }
    Ok(array)
}

fn changed(document: &Jsonb, path: &Array, new: Option<&Jsonb>, change: Change) -> Result<Value> {
    let path = line(path)?;
    let root = document.root().read()?;
    if !matches!(root, Json::Array(_) | Json::Object(_)) {
        return refuse(if change == Change::Delete {
            "cannot delete path in scalar"
        } else {
            "cannot set path in scalar"
        });
    }
    let is_empty = matches!(&root, Json::Array(items) | Json::Object(items) if items.len() == 0);
    if path.values().is_empty() || is_empty && !change.adds() {
        return Ok(Value::Jsonb(document.clone()));
    }
    let step = |(at, step): (usize, &'_ Value)| {
        step.as_str().map(str::to_owned).ok_or_else(|| {
            let message = format!("path element at position {} is null", at + 1);
            Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
        })
    };
    let path = path.values().iter().enumerate().map(step).collect::<Result<Vec<_>>>()?;
    change_at(document.root(), &path, new.map(Jsonb::root), change)
}

/// The document with the change made at the end of the path.
pub(super) fn change_at(
    root: JsonNode<'_>,
    path: &[String],
    new: Option<JsonNode<'_>>,
    change: Change,
) -> Result<Value> {
    let mut out = JsonBuilder::default();
    Changing { path, new, change }.node(root, 0, &mut out)?;
    out.finish().map(Value::Jsonb)
}

struct Changing<'a> {
    path: &'a [String],
    new: Option<JsonNode<'a>>,
    change: Change,
}

impl Changing<'_> {
    fn is_last(&self, level: usize) -> bool {
        level + 1 == self.path.len()
    }

    fn node(&self, node: JsonNode<'_>, level: usize, out: &mut JsonBuilder) -> Result<()> {
        match node.read()? {
            Json::Object(items) => self.object(items, level, out),
            Json::Array(items) => self.array(items, level, out),
            _ if self.change == Change::Assign => {
                let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, "cannot replace existing key");
                Err(error.with_detail("The path assumes key is a composite object, but it is a scalar value."))
            }
            _ => {
                out.node(node)?;
                Ok(())
            }
        }
    }

    fn put_new(&self, out: &mut JsonBuilder) -> Result<()> {
        self.new.map_or(Ok(()), |new| out.node(new))
    }

    fn object(&self, items: Items<'_>, level: usize, out: &mut JsonBuilder) -> Result<()> {
        let wanted = self.path[level].as_str();
        let mut found = false;
        out.begin_object()?;
        for pair in items.pairs() {
            let (key, value) = pair?;
            if key != wanted {
                out.key(key);
                out.node(value)?;
                continue;
            }
            found = true;
            match (self.is_last(level), self.change) {
                (false, _) => {
                    out.key(key);
                    self.node(value, level + 1, out)?;
                }
                (true, Change::InsertBefore | Change::InsertAfter) => {
                    let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, "cannot replace existing key");
                    return Err(error.with_hint("Try using the function jsonb_set to replace key value."));
                }
                (true, Change::Delete) => {}
                (true, _) => {
                    out.key(key);
                    self.put_new(out)?;
                }
            }
        }
        if !found && self.is_last(level) && self.change.adds() {
            out.key(wanted);
            self.put_new(out)?;
        } else if !found && self.change == Change::Assign {
            out.key(wanted);
            self.missing(level + 1, out)?;
        }
        out.end()
    }

    fn array(&self, items: Items<'_>, level: usize, out: &mut JsonBuilder) -> Result<()> {
        let (step, len, last) = (&self.path[level], items.len(), self.is_last(level));
        let given: i32 = step.trim_start().parse().map_err(|_| {
            let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
            Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
        })?;
        let filling = self.change == Change::Assign;
        // `None`: before the first one.
        let index = match usize::try_from(given) {
            Ok(index) if filling => Some(index),
            Ok(index) => Some(index.min(len)),
            Err(_) => len.checked_sub(given.unsigned_abs() as usize),
        };
        if index.is_none() && filling {
            return refuse(format!("path element at position {} is out of range: {given}", level + 1));
        }
        out.begin_array()?;
        if index.is_none() && last && self.change.adds() {
            self.put_new(out)?;
        }
        for (at, element) in items.elements().enumerate() {
            let element = element?;
            match (Some(at) == index, last, self.change) {
                (false, ..) => out.node(element)?,
                (true, false, _) => self.node(element, level + 1, out)?,
                (true, true, Change::Delete) => {}
                (true, true, Change::InsertBefore) => {
                    self.put_new(out)?;
                    out.node(element)?;
                }
                (true, true, Change::InsertAfter) => {
                    out.node(element)?;
                    self.put_new(out)?;
                }
                (true, true, _) => self.put_new(out)?,
            }
        }
        if let Some(behind) = index.filter(|index| *index >= len) {
            if filling {
                crate::functions::support::check_length((behind - len).saturating_mul(2))?;
                (len..behind).for_each(|_| out.null());
                self.missing(level + 1, out)?;
            } else if last && self.change.adds() {
                self.put_new(out)?;
            }
        }
        out.end()
    }

    /// The new value, in the arrays and objects that the rest of the path asks for.
    fn missing(&self, level: usize, out: &mut JsonBuilder) -> Result<()> {
        let Some(step) = self.path.get(level) else {
            return self.put_new(out);
        };
        match step.parse::<i32>() {
            Ok(index) => {
                let count = usize::try_from(index).unwrap_or(0);
                crate::functions::support::check_length(count.saturating_mul(2))?;
                out.begin_array()?;
                (0..count).for_each(|_| out.null());
            }
            Err(_) => {
                out.begin_object()?;
                out.key(step);
            }
        }
        self.missing(level + 1, out)?;
        out.end()
    }
}
