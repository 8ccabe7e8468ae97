//! The values of results as a session sends them: in text, and in binary.

use std::cell::{LazyCell, OnceCell};

use super::binary::write_binary;
use super::datetime::Zone;
use super::text::{Short, put_number, put_time, write_long};
use super::{DataType, EvalContext, ValueRef, from_text};
use crate::Result;

/// Writes the values of a result one behind the other, in the session's style.
///
/// ```
/// use cairndb::{DataType, EvalContext, Form, Value, ValueRef};
///
/// let (mut form, mut out) = (Form::new(&EvalContext::now), Vec::new());
/// form.text(ValueRef::Date(59), &mut out);
/// form.text(ValueRef::from(&Value::text("!")), &mut out);
/// assert_eq!(out, b"2000-02-29!");
/// form.binary(ValueRef::Date(59), DataType::Date, &mut out)?;
/// assert_eq!(out[11..], [0, 0, 0, 4, 0, 0, 0, 59]);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Form<'c> {
    context: LazyCell<EvalContext, &'c dyn Fn() -> EvalContext>,
    /// The session's time zone, found when it is asked for.
    zone: OnceCell<Zone>,
    long: String,
}

impl<'c> Form<'c> {
    /// The forms of a session. `context`: gives its [`Connection::text_context`](crate::Connection::text_context), for which it is asked
    /// once there are values whose form depends on it.
    pub fn new(context: &'c dyn Fn() -> EvalContext) -> Form<'c> {
        Form { context: LazyCell::new(context), zone: OnceCell::new(), long: String::new() }
    }

    /// Appends the text form of a value; nothing for NULL.
    #[inline]
    pub fn text(&mut self, value: ValueRef<'_>, out: &mut Vec<u8>) {
        if let ValueRef::Text(text) | ValueRef::Json(text) = value {
            return out.extend_from_slice(text.as_bytes());
        }
        let put = |short: &mut Short<'_>| put_number(value, short) || put_time(value, &self.context, &self.zone, short);
        if !Short::append_to(out, put) {
            self.long.clear();
            write_long(value, &self.context, &mut self.long);
            out.extend_from_slice(self.long.as_bytes());
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
