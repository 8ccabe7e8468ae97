//! The binder's state: what every part of binding needs at hand.
//!
//! Invariants: the syntax tree's depth is bounded by `sql::MAX_DEPTH`; what binding may multiply (views within views,
//! operands that are needed twice) is charged to a budget, so no statement makes a plan of absurd size.

use std::cell::RefCell;
use std::sync::Arc;

use cairn_parser::token::{Lexer, Placeholders};
use cairn_parser::{self as ast, Span, TokenKind};

use super::ParameterTypes;
use super::definitions::definition::Noted;
use super::deparse::Facts;
use super::relations::search::Carried;
use super::relations::star::Stars;
use crate::catalog::{Catalog, Definition, ObjectId, PlanDependencies, Table};
use crate::plan::{CteId, Expr, Field, walk};
use crate::sql::{ParsedStatement, with_room};
use crate::{Error, Result, SqlState};

/// The place of what the statement does not say.
pub(super) const NOWHERE: Span = Span { start: u32::MAX, end: u32::MAX };

/// How many expression nodes may be made by duplication, and how many relations read, in one statement.
const DUPLICATION_LIMIT: usize = 4_000_000;
const RELATION_LIMIT: usize = 2_000;

/// A WITH query in sight.
#[derive(Clone, Debug)]
pub(super) struct CteBinding {
    pub(super) name: String,
    pub(super) id: CteId,
    pub(super) fields: Vec<Field>,
    /// It gives rows: it is a query, or has RETURNING.
    pub(super) returns: bool,
    /// While its own terms are bound.
    pub(super) recursion: Option<Recursive>,
    /// Columns behind the others that its own terms do not see.
    pub(super) unseen: usize,
}

/// A recursive query whose terms are bound.
#[derive(Clone, Debug)]
pub(super) struct Recursive {
    /// How many of [`Binder::confines`] stand around it.
    pub(super) confines: usize,
    pub(super) is_referred_to: bool,
}

/// Where a recursive query may not be referred to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Confine {
    NonRecursiveTerm,
    Subquery,
    OuterJoin,
    Intersect,
    Except,
}

impl Confine {
    fn name(self) -> &'static str {
        match self {
            Confine::NonRecursiveTerm => "its non-recursive term",
            Confine::Subquery => "a subquery",
            Confine::OuterJoin => "an outer join",
            Confine::Intersect => "INTERSECT",
            Confine::Except => "EXCEPT",
        }
    }
}

/// The state of binding one statement.
pub(super) struct Binder<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) parameters: &'a mut ParameterTypes,
    /// What is bound.
    pub(super) tree: &'a ast::Tree<'a>,
    /// For positions; `None` inside views, defaults and checks, whose text the user did not write here.
    source: Option<&'a ParsedStatement>,
    /// How deep the trees are that are bound on this stack, one within the other.
    levels: usize,
    pub(super) ctes: Vec<CteBinding>,
    /// What stands around what is bound, outermost first.
    confines: Vec<Confine>,
    /// The statement's own WITH: the one that may change rows.
    pub(super) top: Option<ast::Id<ast::With>>,
    next_cte: usize,
    /// Relations that stand left of a subquery in FROM, which cannot see them.
    pub(super) unreachable: Vec<String>,
    /// Within RETURNING of MERGE: the column that says what was done.
    pub(super) merge_action: Option<usize>,
    /// Views being expanded, outermost first.
    pub(super) views: Vec<ObjectId>,
    /// What is bound, where it is a definition: it says what its names mean.
    pub(super) definition: Option<&'a Definition>,
    /// Where what names mean is wanted.
    pub(super) noted: Option<RefCell<Noted>>,
    /// Where what binding finds out is wanted.
    pub(super) facts: Option<RefCell<Facts>>,
    /// What the names met so far meant.
    pub(super) rests: RefCell<PlanDependencies>,
    /// Where what `*` stands for is wanted.
    pub(super) stars: Option<Stars>,
    duplicated: usize,
    /// How many operands are worked out once and referred to.
    pub(super) shared: usize,
    /// What the table is called into which the RETURNING that is bound inserts.
    pub(super) inserts: Option<String>,
    /// The INTO that is meant: what the statement makes of the rows is done elsewhere.
    pub(super) into: Option<cairn_parser::Id<cairn_parser::Into>>,
    relations: usize,
    /// The first function in FROM is what CALL calls.
    pub(super) is_call: bool,
    /// What a recursive term that is bound next hands on.
    pub(super) carried: Option<Carried>,
    /// In place of the view that it is the face of, whose rows are of no matter.
    pub(super) stands: Option<Arc<Table>>,
    /// Columns of the view that the statement changes which can be read only, and what can not be done to them.
    pub(super) computed: Option<(Vec<String>, String)>,
}

impl<'a> Binder<'a> {
    pub(super) fn new(
        catalog: &'a Catalog,
        parameters: &'a mut ParameterTypes,
        tree: &'a ast::Tree<'a>,
        source: Option<&'a ParsedStatement>,
        levels: usize,
    ) -> Binder<'a> {
        let is_call = parameters.variables.as_ref().is_some_and(|variables| variables.is_call());
        Binder {
            catalog,
            parameters,
            tree,
            source,
            levels,
            ctes: vec![],
            confines: vec![],
            top: None,
            next_cte: 0,
            unreachable: vec![],
            merge_action: None,
            views: vec![],
            definition: None,
            noted: None,
            facts: None,
            rests: RefCell::default(),
            stars: None,
            duplicated: 0,
            shared: 0,
            into: None,
            inserts: None,
            relations: 0,
            is_call,
            carried: None,
            stands: None,
            computed: None,
        }
    }

    /// Binds what stands where a recursive query may not be referred to, if it does.
    pub(super) fn within<T>(
        &mut self,
        confine: Option<Confine>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let around = self.confines();
        self.confine(confine);
        let bound = bind(self);
        self.unconfine(around);
        bound
    }

    pub(super) fn confines(&self) -> usize {
        self.confines.len()
    }

    pub(super) fn confine(&mut self, confine: Option<Confine>) {
        self.confines.extend(confine);
    }

    /// So many stand around what comes next.
    pub(super) fn unconfine(&mut self, around: usize) {
        self.confines.truncate(around);
    }

    /// Notes a reference to a WITH query; an error where it is to one that is being defined, and may not stand here.
    pub(super) fn refer(&mut self, cte: usize) -> Result<()> {
        let CteBinding { name, recursion, .. } = &mut self.ctes[cte];
        let Some(recursion) = recursion else { return Ok(()) };
        let wrong = match self.confines[recursion.confines..].last() {
            Some(confine) => format!("within {}", confine.name()),
            None if std::mem::replace(&mut recursion.is_referred_to, true) => "more than once".to_owned(),
            None => return Ok(()),
        };
        let message = format!("recursive reference to query \"{name}\" must not appear {wrong}");
        Err(Error::new(SqlState::INVALID_RECURSION, message))
    }

    pub(super) fn new_cte_id(&mut self) -> CteId {
        self.next_cte += 1;
        CteId::Query(self.next_cte)
    }

    /// Binds a definition of this tree, this deep, without positions and without the WITH queries in sight: a view's
    /// query stands for itself.
    pub(super) fn isolated<T: Send>(
        &mut self,
        definition: &Definition,
        (tree, depth): (&ast::Tree<'_>, usize),
        work: impl FnOnce(&mut Binder<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        let mut inner = Binder {
            catalog: self.catalog,
            parameters: &mut *self.parameters,
            tree,
            source: None,
            levels: 0,
            ctes: vec![],
            confines: vec![],
            top: None,
            next_cte: self.next_cte,
            unreachable: std::mem::take(&mut self.unreachable),
            merge_action: None,
            views: std::mem::take(&mut self.views),
            definition: Some(definition),
            noted: None,
            facts: None,
            rests: RefCell::new(self.rests.take()),
            stars: None,
            duplicated: self.duplicated,
            shared: self.shared,
            into: None,
            inserts: None,
            relations: self.relations,
            is_call: false,
            carried: None,
            stands: self.stands.clone(),
            computed: None,
        };
        let result = with_room(self.levels, depth, |levels| {
            inner.levels = levels;
            work(&mut inner)
        });
        let Binder { next_cte, unreachable, views, duplicated, shared, relations, rests, .. } = inner;
        self.rests = rests;
        (self.next_cte, self.unreachable, self.views) = (next_cte, unreachable, views);
        (self.duplicated, self.shared, self.relations) = (duplicated, shared, relations);
        result?
    }

    /// Whether what is bound stands in what a client says itself, and not in what it makes to be kept: see
    /// [`Server`](crate::Server).
    pub(super) fn is_clients(&self) -> bool {
        self.source.is_some_and(|source| source.is_clients) && self.stars.is_none() && self.definition.is_none()
    }

    /// The error, at the place where `span` starts.
    pub(super) fn at(&self, error: Error, span: Span) -> Error {
        match self.source {
            Some(source) if span != NOWHERE => error.at(source.position_of(span.start as usize)),
            _ => error,
        }
    }

    /// The error, at `place`, or where that is none behind the operand.
    pub(super) fn at_place(&self, error: Error, place: Option<Span>, operand: Span) -> Error {
        match place {
            Some(place) => self.at(error, place),
            None => self.at_behind(error, operand),
        }
    }

    /// The error, at the first word behind an operand: at an operator that has no node of its own (LIKE, BETWEEN, IN).
    pub(super) fn at_behind(&self, error: Error, operand: Span) -> Error {
        if self.source.is_none() || operand == NOWHERE {
            return error;
        }
        let mut lexer = Lexer::new(self.tree.source(), operand.end as usize, Placeholders::default());
        let mut word = lexer.next_token();
        while word.kind == TokenKind::RightParen {
            word = lexer.next_token();
        }
        self.at(error, Span { start: word.start, end: word.end })
    }

    /// A second copy of an expression, charged to the budget.
    pub(super) fn duplicate(&mut self, expr: &Expr) -> Result<Expr> {
        let mut nodes = 0;
        walk::walk(expr, 0, &mut |_, _| nodes += 1);
        self.duplicated += nodes;
        if self.duplicated > DUPLICATION_LIMIT {
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "statement is too complex"));
        }
        Ok(expr.clone())
    }

    /// Counts a relation in FROM.
    pub(super) fn charge_relation(&mut self) -> Result<()> {
        self.relations += 1;
        if self.relations > RELATION_LIMIT {
            let message = format!("a statement may read at most {RELATION_LIMIT} relations");
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        Ok(())
    }
}
