//! Functions that ask the catalog of the statement that calls them.

use std::sync::Arc;

use super::catalogue::Kernel;
use super::support::wrong_arguments;
use super::{ANY, Function, Volatility};
use crate::catalog::Catalog;
use crate::system::{Eval, Reg, SystemFunction, Takes};
use crate::types::{DataType, EvalContext, Value};
use crate::{Error, Result};

/// What is asked, and of which catalog.
#[derive(Clone)]
pub struct Asked {
    what: What,
    catalog: Arc<Catalog>,
}

#[derive(Clone, Copy)]
enum What {
    Function(&'static SystemFunction),
    /// A name's oid.
    Read(Reg),
    /// An oid, as it is.
    Marked(Reg),
    /// An oid's name.
    Write(Reg),
    /// A type's name, as it is.
    TypeName,
}

impl What {
    /// Tells it from all other functions; the same at each call, of whatever catalog.
    fn entry(self) -> u64 {
        ASKING
            | match self {
                What::Function(of) => std::ptr::from_ref(of).addr() as u64,
                What::Read(reg) => reg as u64,
                What::Marked(reg) => 1 << 8 | reg as u64,
                What::Write(reg) => 2 << 8 | reg as u64,
                What::TypeName => 3 << 8,
            }
    }
}

/// Set in the entries of functions that ask the catalog; the engine's others have small numbers.
const ASKING: u64 = 1 << 61;

impl Asked {
    pub(super) fn run(&self, args: &[Value], context: &EvalContext) -> Result<Value> {
        match (self.what, args) {
            (What::Function(function), args) => match function.eval {
                Eval::Catalog(eval) => eval(&self.catalog, args),
                Eval::Database(eval) => match &context.channels {
                    Some(database) => eval(&self.catalog, args, &**database),
                    None => Err(Error::unsupported(format!("{}() in this place", function.name))),
                },
            },
            (What::Read(reg), [Value::Text(text)]) => reg.read(&self.catalog, text).map(Value::BigInt),
            (What::Marked(_) | What::TypeName, [value]) => Ok(value.clone()),
            (What::Write(reg), [Value::BigInt(oid)]) => Ok(Value::text(reg.write(&self.catalog, *oid))),
            _ => Err(wrong_arguments(args)),
        }
    }
}

impl Function {
    /// Whether it looks at the database as it is when it is called, not as its statement reads it.
    pub(crate) fn looks_at_database(&self) -> bool {
        let Kernel::Asked(Asked { what: What::Function(function), .. }) = &self.kernel else { return false };
        matches!(function.eval, Eval::Database(_))
    }

    fn asking(
        name: &'static str,
        args: Vec<DataType>,
        returns: DataType,
        what: What,
        catalog: Arc<Catalog>,
    ) -> Function {
        // A plan that holds an answer rests on the schema; what is stored rests on none, so nothing of this is immutable.
        let entry = what.entry();
        Function {
            entry,
            immutable: false,
            ..Function::new(name, args, returns, Kernel::Asked(Asked { what, catalog }))
        }
    }

    /// One of the system's functions, for arguments of these types.
    pub(crate) fn of_system(of: &'static SystemFunction, types: Vec<DataType>, catalog: Arc<Catalog>) -> Function {
        let args = types.iter().zip(of.takes).map(|(given, takes)| if *takes == Takes::Any { ANY } else { *given });
        let function = Function::asking(of.name, args.collect(), of.returns, What::Function(of), catalog);
        let volatility = of.volatility();
        Function {
            strict: of.strict,
            immutable: volatility == Volatility::Immutable,
            folds: matches!(of.eval, Eval::Catalog(_)),
            volatile: volatility == Volatility::Volatile,
            ..function
        }
    }

    /// `text::regclass`
    pub(crate) fn read_reg(reg: Reg, catalog: Arc<Catalog>) -> Function {
        Function::asking(reg.name(), vec![DataType::Text], DataType::Oid, What::Read(reg), catalog)
    }

    /// `oid::regclass`
    pub(crate) fn marked_reg(reg: Reg, catalog: Arc<Catalog>) -> Function {
        Function::asking(reg.name(), vec![DataType::Oid], DataType::Oid, What::Marked(reg), catalog)
    }

    /// `regclass::text`
    pub(crate) fn write_reg(reg: Reg, catalog: Arc<Catalog>) -> Function {
        Function::asking("text", vec![DataType::Oid], DataType::Text, What::Write(reg), catalog)
    }

    /// `pg_typeof`, of a name that is known.
    pub(crate) fn type_name(catalog: Arc<Catalog>) -> Function {
        Function::asking("pg_typeof", vec![DataType::Text], DataType::Text, What::TypeName, catalog)
    }

    /// Whether it is that.
    pub(crate) fn names_type(&self) -> bool {
        matches!(&self.kernel, Kernel::Asked(Asked { what: What::TypeName, .. }))
    }

    /// Whether its answer follows the schema.
    pub(crate) fn asks_catalog(&self) -> bool {
        matches!(&self.kernel, Kernel::Asked(Asked { what: What::Function(_) | What::Read(_) | What::Write(_), .. }))
    }

    /// What the value is an oid of, where it is to be written as a name.
    pub(crate) fn reg(&self) -> Option<Reg> {
        let Kernel::Asked(Asked { what, .. }) = &self.kernel else { return None };
        match what {
            What::Function(function) => function.reg,
            What::Read(reg) | What::Marked(reg) => Some(*reg),
            What::Write(_) | What::TypeName => None,
        }
    }

    /// Whether it reads a name as the oid of what has it.
    pub(crate) fn reads_reg(&self) -> bool {
        matches!(&self.kernel, Kernel::Asked(Asked { what: What::Read(_), .. }))
    }

    /// Whether the value is its argument, and the call only says what it is of.
    pub(crate) fn marks_reg(&self) -> bool {
        matches!(&self.kernel, Kernel::Asked(Asked { what: What::Marked(_), .. }))
    }
}
