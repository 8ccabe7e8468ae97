//! Functions that binding answers itself, or makes something else of: entries of the catalogue as others are, which say what.

use super::catalogue::{Catalogue, Kernel, Parameter};
use super::json::Populate;
use super::{Declared, Function};
use crate::types::{DataType, Reg, Value};

/// What binding makes of a call. All entries of a name say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `nextval`
    NextValue,
    /// `currval`
    CurrentValue,
    /// `setval`
    SetValue,
    /// `lastval`
    LastValue,
    /// `pg_typeof`: the type is known.
    TypeOf,
    /// `current_schema`: the path is known.
    CurrentSchema,
    /// `merge_action`: a column of MERGE.
    MergeAction,
    /// Rows of documents: what they are of stands in the call.
    Populate(Populate),
}

pub(super) fn register(catalogue: &mut Catalogue) {
    use DataType::{BigInt, Boolean, Name};
    const SEQUENCE: DataType = DataType::Reg(Reg::Class);
    let mut add = |name, args: &[DataType], returns, special| {
        let declared: Vec<Declared> = args.iter().copied().map(Declared::Type).collect();
        catalogue.add_special(name, &declared, Declared::Type(returns), special).volatile().parallel_unsafe();
    };
    add("nextval", &[SEQUENCE], BigInt, Special::NextValue);
    add("currval", &[SEQUENCE], BigInt, Special::CurrentValue);
    add("setval", &[SEQUENCE, BigInt], BigInt, Special::SetValue);
    add("setval", &[SEQUENCE, BigInt, Boolean], BigInt, Special::SetValue);
    add("lastval", &[], BigInt, Special::LastValue);
    let (text, name) = (Declared::Type(DataType::Text), Declared::Type(Name));
    catalogue.add_special("merge_action", &[], text, Special::MergeAction).volatile();
    catalogue.add_special("current_schema", &[], name, Special::CurrentSchema).stable().parallel_unsafe();
    let of_type = Declared::Type(DataType::Reg(Reg::Type));
    catalogue.add_special("pg_typeof", &[Declared::Any], of_type, Special::TypeOf).called_on_null().stable();
    add_populates(catalogue);
}

/// (The last says nothing any more.)
const POPULATE: &[Parameter] = &[("base", None), ("from_json", None), ("use_json_as_text", Some("false"))];

fn add_populates(catalogue: &mut Catalogue) {
    let names = [
        (DataType::Json, ["json_populate_record", "json_populate_recordset", "json_to_record", "json_to_recordset"]),
        (
            DataType::Jsonb,
            ["jsonb_populate_record", "jsonb_populate_recordset", "jsonb_to_record", "jsonb_to_recordset"],
        ),
    ];
    for (document, [record, records, to_record, to_records]) in names {
        let (of_base, alone) = ([Declared::Element, Declared::Type(document)], [Declared::Type(document)]);
        for (name, set) in [(record, false), (records, true)] {
            let special = Special::Populate(Populate { document, set, has_base: true });
            let parameters = if document == DataType::Json { POPULATE } else { &[] };
            let function = catalogue.add_special(name, &of_base, Declared::Element, special);
            function.parameters(parameters).called_on_null().stable();
        }
        for (name, set) in [(to_record, false), (to_records, true)] {
            let special = Special::Populate(Populate { document, set, has_base: false });
            let function = catalogue.add_special(name, &alone, Declared::Record, special).stable();
            if set {
                function.called_on_null();
            }
        }
    }
}

impl Catalogue {
    fn add_special(
        &mut self,
        name: &'static str,
        args: &[Declared],
        returns: Declared,
        special: Special,
    ) -> &mut Function {
        let function = self.add_polymorphic(name, args, returns, |_, _, _| Ok(Value::Null));
        function.kernel = Kernel::Special(special);
        if args.iter().chain([&returns]).all(|declared| declared.fixed().is_some()) {
            function.polymorphic = None;
        }
        function.folds = false;
        function
    }
}

impl Function {
    /// What binding makes of its calls; `None`: a call.
    pub(crate) fn special(&self) -> Option<Special> {
        if let Kernel::Special(special) = self.kernel { Some(special) } else { None }
    }

    /// Whether a call of it is a value that is worked out when a statement runs: neither rows, nor what binding makes something of.
    #[cfg(test)]
    pub(crate) fn is_value(&self) -> bool {
        !matches!(self.kernel, Kernel::Special(_) | Kernel::Rows(_))
    }

    /// Whether a call of it gives rows.
    pub(crate) fn is_set(&self) -> bool {
        match &self.kernel {
            Kernel::Rows(_) => true,
            Kernel::Special(Special::Populate(populate)) => populate.set,
            Kernel::Stored(routine) => routine.set,
            _ => false,
        }
    }
}
