//! The values of results as a session sends them: in text, and in binary.

use std::cell::OnceCell;

use super::binary::write_binary;
use super::datetime::Zone;
use super::text::{Short, put_short, write_long};
use super::{DataType, EvalContext, ValueRef, from_text};
use crate::Result;

/// Writes the values of a result one behind the other, in the session's style.
///
/// ```
/// use cairndb::{DataType, EvalContext, Form, Value, ValueRef};
///
/// let (mut form, mut out) = (Form::new(EvalContext::now()), Vec::new());
/// form.text(ValueRef::Date(59), &mut out);
/// form.text(ValueRef::from(&Value::text("!")), &mut out);
/// assert_eq!(out, b"2000-02-29!");
/// form.binary(ValueRef::Date(59), DataType::Date, &mut out)?;
/// assert_eq!(out[11..], [0, 0, 0, 4, 0, 0, 0, 59]);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Debug)]
pub struct Form {
    context: EvalContext,
    /// The session's time zone, found when it is asked for.
    zone: OnceCell<Zone>,
    short: Short,
    long: String,
}

impl Form {
    /// The forms of a session: those of [`Connection::text_context`](crate::Connection::text_context).
    pub fn new(context: EvalContext) -> Form {
        Form { context, zone: OnceCell::new(), short: Short::new(), long: String::new() }
    }

    /// Appends the text form of a value; nothing for NULL.
    #[inline]
    pub fn text(&mut self, value: ValueRef<'_>, out: &mut Vec<u8>) {
        if let ValueRef::Text(text) | ValueRef::Json(text) = value {
            return out.extend_from_slice(text.as_bytes());
        }
        self.short.clear();
        match put_short(value, &self.context, &self.zone, &mut self.short) {
            true => out.extend_from_slice(self.short.as_bytes()),
            false => {
                self.long.clear();
                write_long(value, &self.context, &mut self.long);
                out.extend_from_slice(self.long.as_bytes());
            }
        }
    }

    /// Appends a value of a type in binary, behind its length; of NULL the length only.
    ///
    /// # Errors
    ///
    /// 54000 where it is too long.
    #[inline]
    pub fn binary(&self, value: ValueRef<'_>, data_type: DataType, out: &mut Vec<u8>) -> Result<()> {
        match value {
            // A result has the name; what the format wants is the oid.
            ValueRef::Text(name) if let DataType::RegName(of) = data_type => {
                let value = from_text(name, DataType::Reg(of), &self.context)?;
                write_binary(&value, DataType::Reg(of), out)
            }
            value => write_binary(value, data_type, out),
        }
    }
}
