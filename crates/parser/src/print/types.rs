//! Names of types.

use super::{Print, Printer};
use crate::syntax::{ArrayBound, BaseType, Expr, IntervalFields, TypeName};
use crate::tree::Id;

impl Print for TypeName {
    fn print(self, _: Id<TypeName>, p: &mut Printer<'_, '_>) {
        p.say_if(self.set_of, "SETOF ");
        p.type_before_fields(&self);
        p.type_fields(&self);
        p.say_if(self.of_column, "%TYPE");
        p.separated(self.bounds, "");
    }
}

impl Print for ArrayBound {
    fn print(self, _: Id<ArrayBound>, p: &mut Printer<'_, '_>) {
        p.say("[");
        p.optional("", self.size);
        p.say("]");
    }
}

impl Printer<'_, '_> {
    fn type_before_fields(&mut self, data_type: &TypeName) {
        let (before, behind) = words(data_type.base);
        self.say(before);
        self.dotted(data_type.names);
        if data_type.fields.is_none() {
            self.optional_list("(", data_type.modifiers, ")");
        }
        self.say(behind);
    }

    fn type_fields(&mut self, data_type: &TypeName) {
        if let Some(fields) = data_type.fields {
            self.say(interval_fields(fields));
            self.optional_list("(", data_type.modifiers, ")");
        }
    }

    /// `type 'text'`; an interval's fields stand behind the text.
    pub(super) fn typed_string(&mut self, data_type: Id<TypeName>, literal: Id<Expr>) {
        let data_type = self.tree.get(data_type);
        self.type_before_fields(&data_type);
        self.say(" ");
        self.node(literal);
        self.type_fields(&data_type);
    }
}

/// What is said before and behind a type's modifiers.
fn words(base: BaseType) -> (&'static str, &'static str) {
    match base {
        BaseType::Named => ("", ""),
        BaseType::Integer => ("integer", ""),
        BaseType::SmallInt => ("smallint", ""),
        BaseType::BigInt => ("bigint", ""),
        BaseType::Real => ("real", ""),
        BaseType::Float => ("float", ""),
        BaseType::DoublePrecision => ("double precision", ""),
        BaseType::Numeric => ("numeric", ""),
        BaseType::Boolean => ("boolean", ""),
        BaseType::Bit => ("bit", ""),
        BaseType::BitVarying => ("bit varying", ""),
        BaseType::Character => ("character", ""),
        BaseType::CharacterVarying => ("character varying", ""),
        BaseType::Time => ("time", ""),
        BaseType::TimeWithTimeZone => ("time", " with time zone"),
        BaseType::Timestamp => ("timestamp", ""),
        BaseType::TimestampWithTimeZone => ("timestamp", " with time zone"),
        BaseType::Interval => ("interval", ""),
    }
}

fn interval_fields(fields: IntervalFields) -> &'static str {
    match fields {
        IntervalFields::Year => " year",
        IntervalFields::Month => " month",
        IntervalFields::Day => " day",
        IntervalFields::Hour => " hour",
        IntervalFields::Minute => " minute",
        IntervalFields::Second => " second",
        IntervalFields::YearToMonth => " year to month",
        IntervalFields::DayToHour => " day to hour",
        IntervalFields::DayToMinute => " day to minute",
        IntervalFields::DayToSecond => " day to second",
        IntervalFields::HourToMinute => " hour to minute",
        IntervalFields::HourToSecond => " hour to second",
        IntervalFields::MinuteToSecond => " minute to second",
    }
}
