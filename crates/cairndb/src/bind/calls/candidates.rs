//! What a call may mean: the functions of its name, of every kind, as candidates of one choice.
//!
//! What must hold is PostgreSQL's (section 10.3 of its manual). Of candidates that take the arguments given alike, the one counts whose schema
//! is first in the path, and `pg_catalog` is the first that does not stand there; in one schema, the one whose arguments are not taken
//! for the elements of a VARIADIC array; where neither tells them apart, choosing one is an error. All others are told apart by types
//! alone, whatever kind of function they are: what was chosen says how the call goes on.

use std::sync::Arc;

use super::overload::{Candidate, Choice, choose};
use super::routine::{Given, Named};
use crate::bind::binder::Binder;
use crate::catalog::{ParameterMode, RoutineParameter};
use crate::functions::{Declared, Function, extensions, window_overloads};
use crate::system;
use crate::types::DataType;

/// What of the arguments a call gives a function would take.
pub(super) struct Entry {
    of: Of,
    /// What it takes for each of the arguments given.
    takes: Vec<Declared>,
    /// They are elements of its VARIADIC array.
    is_spread: bool,
    /// Where its schema stands in the path.
    place: usize,
    /// There is another that nothing tells from it.
    is_ambiguous: bool,
}

enum Of {
    /// Which kind it is, binding finds by its name.
    BuiltIn,
    /// Which of the functions of the schema's, and where its arguments come from.
    Routine(usize, Arranged),
}

/// Where a routine's arguments come from.
pub(super) struct Arranged {
    /// For each parameter the call's argument; `None`: its default.
    pub(in crate::bind) arguments: Vec<Option<usize>>,
    /// The arguments that the last parameter is an array of.
    pub(in crate::bind) spread: Option<std::ops::Range<usize>>,
}

/// What was chosen.
pub(super) enum Chosen<'e> {
    /// One of the functions of the schema's, and what it takes.
    Routine(usize, &'e Arranged, &'e [Declared]),
    BuiltIn,
    None,
    Several,
}

impl Candidate for Entry {
    fn fixed(&self) -> Option<&[DataType]> {
        None
    }

    fn declared(&self, index: usize) -> Option<Declared> {
        self.takes.get(index).copied()
    }

    fn takes(&self, count: usize) -> bool {
        count == self.takes.len()
    }

    /// What takes anything is not made for it.
    fn is_exact(&self, bases: &[DataType]) -> bool {
        let each = self.takes.iter().zip(bases);
        self.takes.len() == bases.len()
            && each.into_iter().all(|(takes, base)| match takes {
                Declared::Extension(kind) => base.is_of_extension(*kind),
                takes => *takes == Declared::Type(*base),
            })
    }
}

/// The candidates for a call.
#[derive(Default)]
pub(super) struct Candidates(Vec<Arc<Entry>>);

impl Candidates {
    pub(in crate::bind) fn choose(&self, args: &[DataType]) -> Chosen<'_> {
        match choose(&self.0, args, false) {
            Choice::One(entry) if entry.is_ambiguous => Chosen::Several,
            Choice::One(entry) => match &entry.of {
                Of::BuiltIn => Chosen::BuiltIn,
                Of::Routine(at, arranged) => Chosen::Routine(*at, arranged, &entry.takes),
            },
            Choice::None => Chosen::None,
            Choice::Several => Chosen::Several,
        }
    }

    /// Adds a candidate, unless another counts before it that takes the same.
    fn add(&mut self, entry: Entry) {
        let Some(at) = self.0.iter().position(|known| known.takes == entry.takes) else {
            return self.0.push(Arc::new(entry));
        };
        let known = &mut self.0[at];
        match (entry.place, entry.is_spread).cmp(&(known.place, known.is_spread)) {
            std::cmp::Ordering::Less => *known = Arc::new(entry),
            // The built-in ones are told apart where they are called.
            std::cmp::Ordering::Equal if matches!(entry.of, Of::Routine(..)) => {
                // (Nobody else has it yet.)
                Arc::get_mut(known).into_iter().for_each(|known| known.is_ambiguous = true);
            }
            _ => {}
        }
    }

    fn add_built_in(&mut self, takes: Option<Vec<Declared>>, is_spread: bool, place: usize) {
        if let Some(takes) = takes {
            self.add(Entry { of: Of::BuiltIn, takes, is_spread, place, is_ambiguous: false });
        }
    }
}

impl Binder<'_> {
    /// All that a call may mean. Of what is built in nothing, where the call says a schema or was decided before.
    pub(super) fn candidates(
        &self,
        called: Named<'_>,
        stored: &[Arc<Function>],
        given: &[Given<'_>],
        variadic: bool,
    ) -> Candidates {
        let mut all = Candidates::default();
        let is_plain = !variadic && given.iter().all(|given| given.name.is_none());
        if called.schema.is_none() && is_plain && !self.is_decided() {
            self.add_built_in(&mut all, called.name, given.len());
        }
        let searched = self.catalog.searched();
        for (at, function) in stored.iter().enumerate() {
            let schema = function.routine().map(|routine| routine.schema);
            let place = searched.iter().position(|known| Some(*known) == schema).map_or(0, |at| at * 2 + 1);
            if let Some((takes, arranged)) = arrange(function, given, variadic) {
                let is_spread = arranged.spread.is_some();
                let of = Of::Routine(at, arranged);
                all.add(Entry { of, takes, is_spread, place, is_ambiguous: false });
            }
        }
        all
    }

    /// An extension's stand where it was made, behind what is there, and before none where it was not.
    fn place_of_built_in(&self, name: &str) -> usize {
        let Some(extension) = extensions::extension_of(name) else { return self.catalog.searched_before_system() * 2 };
        let made = self.catalog.extension(extension.name).map(|made| made.schema);
        let at = self.catalog.searched().iter().position(|schema| Some(*schema) == made);
        at.map_or(usize::MAX, |at| at * 2 + 2)
    }

    /// The built-in functions of a name that take so many arguments.
    fn add_built_in(&self, all: &mut Candidates, name: &str, count: usize) {
        let place = self.place_of_built_in(name);
        let each = |declared: &dyn Fn(usize) -> Option<Declared>| (0..count).map(declared).collect();
        let (functions, aggregates) = (self.overloads(name), self.aggregate_overloads(name));
        for function in functions.iter().filter(|function| Candidate::takes(&***function, count)) {
            all.add_built_in(each(&|at| function.declared(at)), function.variadic, place);
        }
        for aggregate in aggregates.iter().filter(|aggregate| aggregate.args.len() == count) {
            all.add_built_in(each(&|at| aggregate.declared(at)), false, place);
        }
        for function in window_overloads(name).iter().filter(|function| function.args.len() == count) {
            all.add_built_in(each(&|at| function.declared(at)), false, place);
        }
        for entry in system::entries(name).iter().filter(|entry| entry.function.args.len() == count) {
            all.add_built_in(each(&|at| entry.function.declared(at)), false, place);
        }
    }
}

/// What a function takes for the arguments of a call, and where its own come from; `None`: it cannot be called with these.
fn arrange(function: &Arc<Function>, given: &[Given<'_>], variadic: bool) -> Option<(Vec<Declared>, Arranged)> {
    let inputs: Vec<&RoutineParameter> = function.routine()?.inputs().collect();
    let is_variadic = inputs.last().is_some_and(|last| last.mode == ParameterMode::Variadic);
    if variadic && !is_variadic {
        return None;
    }
    let has_names = given.iter().any(|given| given.name.is_some());
    match is_variadic && !variadic {
        // The elements have no names.
        true if has_names => None,
        true if given.len() >= inputs.len() => spread(&inputs, given.len()),
        _ => in_places(&inputs, given),
    }
}

/// The last parameter is an array of the arguments from there on.
fn spread(inputs: &[&RoutineParameter], count: usize) -> Option<(Vec<Declared>, Arranged)> {
    let (last, fixed) = inputs.split_last()?;
    let element = last.declared().element()?;
    let rest = fixed.len()..count;
    let takes = fixed.iter().map(|input| input.declared()).chain(rest.clone().map(|_| element)).collect();
    let arguments = (0..fixed.len()).map(Some).chain([None]).collect();
    Some((takes, Arranged { arguments, spread: Some(rest) }))
}

/// Each argument is a parameter's, by its place or its name; the others have defaults.
fn in_places(inputs: &[&RoutineParameter], given: &[Given<'_>]) -> Option<(Vec<Declared>, Arranged)> {
    let mut arguments: Vec<Option<usize>> = vec![None; inputs.len()];
    let mut takes = Vec::with_capacity(given.len());
    for (at, given) in given.iter().enumerate() {
        let to = match given.name {
            None => at,
            Some(name) => inputs.iter().position(|input| input.name.as_deref() == Some(name))?,
        };
        if arguments.get(to)?.is_some() {
            return None;
        }
        arguments[to] = Some(at);
        takes.push(inputs[to].declared());
    }
    let is_there =
        |(input, argument): (&&RoutineParameter, &Option<usize>)| argument.is_some() || input.default.is_some();
    let is_whole = inputs.iter().zip(&arguments).all(is_there);
    is_whole.then_some((takes, Arranged { arguments, spread: None }))
}
