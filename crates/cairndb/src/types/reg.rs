//! `regclass` and its kin: oids that are read and written as names.

/// What an oid is one of, where a statement's result has its name.
///
/// ```
/// use cairndb::{DataType, Reg};
///
/// assert_eq!((Reg::named("regclass"), Reg::Class.name()), (Some(Reg::Class), "regclass"));
/// assert_eq!((DataType::Reg(Reg::Class).oid(), DataType::Reg(Reg::Class).to_string().as_str()), (2205, "regclass"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reg {
    /// `regclass`: a relation.
    Class,
    /// `regtype`: a type.
    Type,
    /// `regproc`: a function, by its name alone.
    Proc,
    /// `regprocedure`: a function, with its arguments' types.
    Procedure,
    /// `regnamespace`: a schema.
    Namespace,
    /// `regrole`: a role.
    Role,
}

impl Reg {
    const ALL: [Reg; 6] = [Reg::Class, Reg::Type, Reg::Proc, Reg::Procedure, Reg::Namespace, Reg::Role];

    /// By the type's name.
    pub fn named(name: &str) -> Option<Reg> {
        Reg::ALL.into_iter().find(|reg| reg.name() == name)
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            Reg::Class => "regclass",
            Reg::Type => "regtype",
            Reg::Proc => "regproc",
            Reg::Procedure => "regprocedure",
            Reg::Namespace => "regnamespace",
            Reg::Role => "regrole",
        }
    }
}
