//! Constants, and conversions.

use super::node::{Cast, Constant, Node, Typed};
use super::text::Deparser;
use crate::Value;
use crate::bind::expressions::coerce::fixed_context;
use crate::sql::relation_name;
use crate::system;
use crate::types::{DataType, Reg, cast, to_text};

/// A literal of no type: what it says, or NULL.
pub(super) fn unknown(text: Option<&str>) -> Typed {
    let text = text.map_or_else(|| "NULL".to_owned(), |text| format!("'{}'", text.replace('\'', "''")));
    let constant = Constant { text, label: "text".to_owned(), is_plain: true };
    Typed { node: Node::Constant(constant), data_type: DataType::Unknown, of_domain: false }
}

/// What a literal says.
fn said(text: &str) -> Option<String> {
    Some(text.strip_prefix('\'')?.strip_suffix('\'')?.replace("''", "'"))
}

impl Typed {
    pub(super) fn new(node: Node, data_type: DataType) -> Typed {
        Typed { node, data_type, of_domain: false }
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.data_type == DataType::Unknown && matches!(self.node, Node::Constant(_))
    }
}

impl Deparser<'_> {
    pub(super) fn type_name(&self, data_type: DataType) -> String {
        system::type_text(self.catalog, data_type)
    }

    /// A value of this type as it is written.
    pub(super) fn constant_of(&self, text: &str, data_type: DataType) -> Typed {
        let base = if matches!(data_type, DataType::Interval(_)) { data_type } else { data_type.base() };
        let shown = self.canonical(text, base);
        let is_plain = match base {
            DataType::Boolean => true,
            DataType::Integer => !shown.starts_with('-'),
            DataType::Numeric(_) => shown.starts_with(|c: char| c.is_ascii_digit()) && shown.contains(['e', 'E', '.']),
            _ => false,
        };
        let text = match base {
            DataType::Boolean => shown,
            _ if is_plain => shown,
            _ => format!("'{}'", shown.replace('\'', "''")),
        };
        let label = self.type_name(base);
        Typed::new(Node::Constant(Constant { text, label, is_plain }), base)
    }

    fn canonical(&self, text: &str, base: DataType) -> String {
        if let DataType::Reg(Reg::Class) = base {
            let found = relation_name(text).ok().and_then(|name| self.catalog.relation(&name).map(|it| it.id()));
            let shown = found.and_then(|id| system::relation_text(self.catalog, id));
            return shown.unwrap_or_else(|| text.to_owned());
        }
        if base.is_string() || base.has_reg() {
            return text.to_owned();
        }
        let value = cast(&Value::text(text), DataType::Unknown, base, fixed_context());
        match value {
            Ok(Value::Boolean(value)) => if value { "true" } else { "false" }.to_owned(),
            Ok(value) => to_text(&value, fixed_context()),
            Err(_) => text.to_owned(),
        }
    }

    /// What has this type as it is, or is converted to it by nobody's word.
    pub(super) fn taken_as(&self, value: Typed, to: DataType) -> Typed {
        self.converted(value, to, true)
    }

    /// What nobody said to be of a type is text.
    pub(super) fn known(&self, value: Typed) -> Typed {
        if value.is_unknown() { self.taken_as(value, DataType::Text) } else { value }
    }

    pub(super) fn converted(&self, value: Typed, to: DataType, implicit: bool) -> Typed {
        let base = to.base();
        let is_whole = matches!(to, DataType::Interval(_));
        if value.is_unknown() {
            let typed = match &value.node {
                Node::Constant(constant) => match said(&constant.text) {
                    Some(text) => self.constant_of(&text, if is_whole { to } else { base }),
                    None => {
                        let label = self.type_name(base);
                        let constant = Constant { text: "NULL".to_owned(), label, is_plain: false };
                        Typed::new(Node::Constant(constant), base)
                    }
                },
                _ => value,
            };
            return if implicit || is_whole || to == base { typed } else { self.cast_node(typed, to, false) };
        }
        let same = value.data_type.base() == base && !value.of_domain;
        match same && (implicit || to == base || value.data_type == to) {
            true => value,
            false => self.cast_node(value, if implicit { base } else { to }, implicit),
        }
    }

    fn cast_node(&self, value: Typed, to: DataType, implicit: bool) -> Typed {
        let (from, base) = (value.data_type.base(), to.base());
        let same = matches!(value.node, Node::Constant(_)) && from == base;
        let by_function = !value.of_domain && (to != base || system::is_function_cast(from, base)) && !base.is_array();
        let arg = value.node;
        Typed::new(Node::Cast(Box::new(Cast { arg, to: self.type_name(to), implicit, by_function, same })), to)
    }
}
