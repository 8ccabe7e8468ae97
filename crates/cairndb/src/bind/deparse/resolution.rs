//! Which of PostgreSQL's functions and operators is meant, and so as what their arguments are taken.

use std::sync::Arc;

use crate::bind::calls::overload::{Candidate, Choice, choose};
use crate::functions::{Declared, decide};
use crate::system;
use crate::types::DataType;

/// What one of them takes.
#[derive(Debug)]
pub(super) struct Signature {
    takes: Vec<Declared>,
    fixed: Option<Vec<DataType>>,
    /// The last may be given several times.
    variadic: bool,
}

impl Signature {
    pub(super) fn new(takes: Vec<Declared>, variadic: bool) -> Signature {
        let fixed = takes.iter().map(|declared| declared.fixed()).collect::<Option<Vec<_>>>();
        Signature { takes, fixed: fixed.filter(|_| !variadic), variadic }
    }
}

impl Candidate for Signature {
    fn declared(&self, index: usize) -> Option<Declared> {
        let last = self.takes.len().checked_sub(1)?;
        self.takes.get(if self.variadic { index.min(last) } else { index }).copied()
    }

    fn takes(&self, count: usize) -> bool {
        if self.variadic { count >= self.takes.len() } else { count == self.takes.len() }
    }

    fn fixed(&self) -> Option<&[DataType]> {
        self.fixed.as_deref()
    }
}

/// As what each argument is taken; `None`: as it is.
pub(super) type Taken = Vec<Option<DataType>>;

/// Of those that take these types the one that PostgreSQL takes.
pub(super) fn chosen(candidates: Vec<Signature>, args: &[DataType], operator: bool) -> Option<Taken> {
    let candidates: Vec<Arc<Signature>> = candidates.into_iter().map(Arc::new).collect();
    let Choice::One(signature) = choose(&candidates, args, operator) else { return None };
    let declared: Vec<Declared> = (0..args.len()).map_while(|at| signature.declared(at)).collect();
    let given = declared.iter().copied().zip(args.iter().copied());
    let decided = decide(given)?.or_text();
    let taken = |(declared, given): (&Declared, &DataType)| match declared {
        // A string beside an array is read as one.
        Declared::Element | Declared::PlainElement | Declared::Array | Declared::Enum
            if *given != DataType::Unknown =>
        {
            None
        }
        declared => declared.resolved_argument(decided),
    };
    Some(declared.iter().zip(args).map(taken).collect())
}

/// As what an operator takes its operands.
pub(super) fn operands(symbol: &str, args: &[DataType]) -> Option<Taken> {
    // Patterns are matched with what fills a `char(n)` up.
    if let ([DataType::Char(_), _], true) = (args, symbol.contains('~')) {
        return Some(vec![None, Some(DataType::Text)]);
    }
    let takes = |declared: Vec<Declared>| Signature::new(declared, false);
    chosen(system::operator_signatures(symbol, args.len()).map(takes).collect(), args, true)
}
