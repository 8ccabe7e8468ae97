//! Functions and procedures that SQL made, as plain data: what the catalog has of them (`catalog/routine.rs`), and what a call
//! of them is bound to.

use super::signature::{Decided, Declared};
use super::volatility::Volatility;
use crate::types::{DataType, Definition, ObjectId, oid_of, type_id};

/// A function or a procedure of the schema's. Its body is kept as it was written, and means what it means when it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Routine {
    /// Its id.
    pub(crate) id: ObjectId,
    /// The schema that it is in.
    pub(crate) schema: ObjectId,
    /// Its name; others may have it, for other argument types.
    pub(crate) name: String,
    pub(crate) kind: RoutineKind,
    pub(crate) language: Language,
    /// All of them, those of the result included.
    pub(crate) parameters: Vec<RoutineParameter>,
    pub(crate) returns: Returns,
    /// The domain that the value is of which it gives, besides its type.
    pub(crate) domain: Option<OfDomain>,
    /// It returns rows.
    pub(crate) set: bool,
    pub(crate) volatility: Volatility,
    /// NULL in, NULL out, without a call.
    pub(crate) strict: bool,
    /// The schemas in which its body looks names up; empty: those of who calls it.
    pub(crate) search_path: Vec<String>,
    pub(crate) body: String,
    /// Of an aggregate, what takes its rows in.
    pub(crate) aggregate: Option<AggregateParts>,
    /// Numbers the changes of the entry.
    pub(crate) change: u64,
}

/// What an aggregate is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AggregateParts {
    /// Takes the state and a row's values, and gives the state.
    pub(crate) transition: Callee,
    /// Makes the answer of the state, which is the answer otherwise.
    pub(crate) last: Option<Callee>,
    /// That takes NULLs of the arguments' types, too.
    pub(crate) last_extra: bool,
    /// The type of the state.
    pub(crate) state: Declared,
    /// The text of the state before the first row; `None`: NULL.
    pub(crate) initial: Option<String>,
}

/// A function that something names by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// One of the schema's.
    Routine(ObjectId),
    /// One that is built in, by its oid in PostgreSQL.
    BuiltIn(u32),
}

impl Callee {
    /// Its oid.
    pub(crate) fn oid(self) -> u32 {
        match self {
            Callee::Routine(id) => oid_of(id),
            Callee::BuiltIn(oid) => oid,
        }
    }
}

/// What CREATE made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoutineKind {
    Function,
    Procedure,
    Aggregate,
}

/// What the body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Sql,
    PlPgSql,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoutineParameter {
    pub(crate) name: Option<String>,
    pub(crate) mode: ParameterMode,
    /// Of a procedure, for which CALL says something, which it does not get.
    pub(crate) only_out: bool,
    /// Where it has a pseudo-type, that of a call; `Unknown` outside of one.
    pub(crate) data_type: DataType,
    pub(crate) pseudo: Option<Declared>,
    /// Its type is that of this table's rows, as the table is now.
    pub(crate) row_of: Option<ObjectId>,
    /// The domain that its values are of, besides their type.
    pub(crate) domain: Option<OfDomain>,
    /// What it is where a call does not say.
    pub(crate) default: Option<Definition>,
}

/// A domain that something is of, which has the domain's base type besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfDomain {
    pub(crate) id: ObjectId,
    /// The domain's name.
    pub(crate) name: String,
}

/// Which way a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterMode {
    In,
    Out,
    InOut,
    /// The last one, an array of all arguments from here on.
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

/// What a call gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    /// Nothing: a function that is called for what it does, a procedure.
    Void,
    /// What becomes of a row.
    Trigger,
    /// A value of this type.
    Type(DataType),
    /// A value of the type that a call decides.
    Any(Declared),
    /// Rows of the columns that the query says: `record`.
    Record,
    /// A row of the parameters that go out: more than one of them.
    Row,
    /// A row of this table.
    RowOf(ObjectId),
}

impl ParameterMode {
    /// Whether a call gives a value for it.
    pub(crate) fn is_in(self) -> bool {
        matches!(self, ParameterMode::In | ParameterMode::InOut | ParameterMode::Variadic)
    }

    /// Whether it is a part of what a call gives back.
    pub(crate) fn is_out(self) -> bool {
        matches!(self, ParameterMode::Out | ParameterMode::InOut | ParameterMode::Table)
    }
}

impl RoutineParameter {
    /// What goes out of a procedure has a place among the arguments of CALL, as what goes in and out has.
    pub(crate) fn take_place_in_call(&mut self) {
        if self.mode == ParameterMode::Out {
            (self.mode, self.only_out) = (ParameterMode::InOut, true);
        }
    }

    /// The mode as it was declared.
    pub(crate) fn shown_mode(&self) -> ParameterMode {
        if self.only_out { ParameterMode::Out } else { self.mode }
    }

    /// Its type as it is declared.
    pub(crate) fn declared(&self) -> Declared {
        self.pseudo.unwrap_or(Declared::Type(self.data_type.base()))
    }

    /// The number of its type, or of the domain that it is of.
    pub(crate) fn oid(&self) -> i64 {
        self.domain.as_ref().map_or_else(|| self.declared().oid(), |domain| oid_of(domain.id)).into()
    }

    /// That, and the domain that it is of.
    pub(crate) fn named(&self) -> (Declared, Option<ObjectId>) {
        (self.declared(), self.domain.as_ref().map(|domain| domain.id))
    }

    /// The name of that.
    pub(crate) fn type_name(&self) -> &str {
        let base = || self.pseudo.map_or_else(|| self.data_type.type_name(), Declared::type_name);
        self.domain.as_ref().map_or_else(base, |domain| &domain.name)
    }
}

impl Routine {
    /// What a call gives values for.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &RoutineParameter> {
        self.parameters.iter().filter(|parameter| parameter.mode.is_in())
    }

    /// What a call gives back, by parameters.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &RoutineParameter> {
        self.parameters.iter().filter(|parameter| parameter.mode.is_out())
    }

    /// What it gives is a parameter that goes out.
    pub(crate) fn is_output(&self) -> bool {
        self.outputs().next().is_some()
    }

    /// The types of a call's arguments, which tell it from others of its name.
    pub(crate) fn argument_types(&self) -> Vec<Declared> {
        self.inputs().map(RoutineParameter::declared).collect()
    }

    /// The domains among them.
    pub(crate) fn argument_domains(&self) -> Vec<Option<ObjectId>> {
        self.inputs().map(|input| input.domain.as_ref().map(|domain| domain.id)).collect()
    }

    /// Of a procedure with parameters that only go out, the types of the others: who names it may leave those out.
    pub(crate) fn types_in(&self) -> Option<Vec<(Declared, Option<ObjectId>)>> {
        let has_only_out = self.parameters.iter().any(|parameter| parameter.only_out);
        let others = self.inputs().filter(|parameter| !parameter.only_out);
        has_only_out.then(|| others.map(RoutineParameter::named).collect())
    }

    /// As it is in a call that has decided what its pseudo-types are; `None`: nothing decides one of them.
    pub(crate) fn specialised(&self, decided: Decided) -> Option<Routine> {
        let mut of = self.clone();
        for parameter in &mut of.parameters {
            parameter.data_type = parameter.declared().resolved(decided)?;
        }
        if let Returns::Any(declared) = self.returns {
            of.returns = Returns::Type(declared.resolved(decided)?);
        }
        Some(of)
    }

    /// Whether it takes rows of tables.
    pub(crate) fn takes_rows(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.row_of.is_some())
    }

    /// Whether calls decide what it takes.
    pub(crate) fn is_polymorphic(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.pseudo.is_some())
    }

    /// The types that users made of which it takes or gives values.
    pub(crate) fn user_types(&self) -> impl Iterator<Item = ObjectId> {
        let returns = if let Returns::Type(data_type) = self.returns { Some(data_type) } else { None };
        let state = self.aggregate.as_ref().and_then(|parts| parts.state.fixed());
        let values = self.parameters.iter().map(|parameter| parameter.data_type).chain(returns).chain(state);
        values.filter_map(type_id).chain(self.domains().map(|domain| domain.id))
    }

    /// The domains of which it takes or gives values.
    pub(crate) fn domains(&self) -> impl Iterator<Item = &OfDomain> {
        self.parameters.iter().filter_map(|parameter| parameter.domain.as_ref()).chain(&self.domain)
    }

    /// `name(types)`
    pub(crate) fn signature(&self) -> String {
        let types: Vec<&str> = self.inputs().map(RoutineParameter::type_name).collect();
        format!("{}({})", self.name, types.join(", "))
    }

    /// `function`, `procedure` or `aggregate`
    pub(crate) fn noun(&self) -> &'static str {
        match self.kind {
            RoutineKind::Function => "function",
            RoutineKind::Procedure => "procedure",
            RoutineKind::Aggregate => "aggregate",
        }
    }

    /// Whether it may change rows, as far as its declaration says.
    pub(crate) fn may_write(&self) -> bool {
        self.volatility == Volatility::Volatile
    }
}
