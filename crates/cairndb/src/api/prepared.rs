//! A statement with its plan.

use std::sync::{Arc, OnceLock};

use cairn_parser::{Id, Query, Statement as Syntax};

use super::point::PointPlan;
use crate::Result;
use crate::bind::{BoundExplain, BoundStatement, ParameterTypes, bind_statement};
use crate::catalog::{Catalog, CatalogStamp, SearchPath};
use crate::command::{self, CommandKind};
use crate::dml;
use crate::plan::{Field, ModifiedRows, OptimizerOptions, PhysicalNode, PhysicalPlan, optimize};
use crate::sql::ParsedStatement;
use crate::types::DataType;

/// A statement bound and planned against one version of the catalog. Immutable; made anew when the catalog changed.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) parsed: Arc<ParsedStatement>,
    /// `$1` first.
    pub(crate) parameters: Vec<DataType>,
    /// The catalog that the plan rests on.
    pub(crate) stamp: CatalogStamp,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) options: OptimizerOptions,
    /// It may have a fast form: it calls nothing but what is built in.
    may_be_point: bool,
    /// Empty as long as the fast form serves.
    body: OnceLock<Body>,
    /// The result's columns, for as long as the body is empty.
    fields: Vec<Field>,
    /// The fast form, where the statement has one; empty until somebody asks.
    point: OnceLock<Option<PointPlan>>,
}

/// What to run.
#[derive(Debug)]
pub(crate) enum Body {
    Plan(Arc<PhysicalPlan>),
    Explain(Box<BoundExplain>),
    /// Executed from the syntax tree.
    Utility,
}

impl Prepared {
    pub(crate) fn new(
        parsed: &Arc<ParsedStatement>,
        stamp: CatalogStamp,
        catalog: &Arc<Catalog>,
        options: &OptimizerOptions,
    ) -> Result<Prepared> {
        let mut parameters = ParameterTypes::default();
        let mut bound = bind_statement(parsed, catalog, &mut parameters)?;
        let may_be_point = options.point_statements && !parameters.calls_users;
        let direct = match may_be_point {
            true => PointPlan::of_bound(&mut bound, catalog, options)?,
            false => None,
        };
        let (body, point, fields) = match direct {
            Some((point, fields)) => (OnceLock::new(), OnceLock::from(Some(point)), fields),
            None => (OnceLock::from(Body::plan(bound, catalog, options)?), OnceLock::new(), vec![]),
        };
        Ok(Prepared {
            parsed: parsed.clone(),
            may_be_point,
            parameters: parameters.into_types(),
            stamp,
            catalog: catalog.clone(),
            options: options.clone(),
            body,
            fields,
            point,
        })
    }

    /// A command, which has no plan.
    pub(crate) fn utility(parsed: &Arc<ParsedStatement>, stamp: CatalogStamp, catalog: &Arc<Catalog>) -> Prepared {
        Prepared {
            parsed: parsed.clone(),
            may_be_point: false,
            parameters: vec![],
            stamp,
            catalog: catalog.clone(),
            options: OptimizerOptions::default(),
            body: OnceLock::from(Body::Utility),
            fields: vec![],
            point: OnceLock::from(None),
        }
    }

    /// What the general path runs; planned now, if the fast form has served so far.
    pub(crate) fn body(&self) -> Result<&Body> {
        if let Some(body) = self.body.get() {
            return Ok(body);
        }
        let bound = bind_statement(&self.parsed, &self.catalog, &mut ParameterTypes::default())?;
        let body = Body::plan(bound, &self.catalog, &self.options)?;
        Ok(self.body.get_or_init(|| body))
    }

    /// The fast form, where the statement has one. A statement that is run once does not ask.
    #[inline]
    pub(super) fn point(&self) -> Option<&PointPlan> {
        let of_body = || {
            let body = self.body.get().filter(|_| self.may_be_point)?;
            PointPlan::of(body, self.parameters.len(), &self.catalog)
        };
        self.point.get_or_init(of_body).as_ref()
    }

    /// Whether it is an INSERT of nothing but constants.
    pub(super) fn inserts_constants(&self) -> bool {
        let Some(Body::Plan(plan)) = self.body.get() else { return false };
        matches!(plan.node, PhysicalNode::Modify { rows: ModifiedRows::Constants(_), .. })
    }

    /// Whether the plan still fits.
    pub(crate) fn is_current(&self, stamp: CatalogStamp, catalog: &Catalog, options: &OptimizerOptions) -> bool {
        self.stamp == stamp && self.options == *options && self.catalog.is_seen_like(catalog)
    }

    /// Whether names mean under this path what they meant when the plan was made.
    #[inline]
    pub(super) fn is_under(&self, path: &Arc<SearchPath>) -> bool {
        Arc::ptr_eq(self.catalog.path(), path)
    }

    /// The result's columns; empty where there are no rows.
    pub(crate) fn fields(&self) -> &[Field] {
        match self.body.get() {
            None => &self.fields,
            Some(Body::Plan(plan)) => &plan.fields,
            Some(Body::Explain(_) | Body::Utility) => &[],
        }
    }
}

impl Body {
    pub(crate) fn plan(bound: BoundStatement, catalog: &Catalog, options: &OptimizerOptions) -> Result<Body> {
        let plan = match bound {
            BoundStatement::Query(plan) => optimize(plan, catalog, options)?,
            BoundStatement::Insert(insert) => dml::plan_insert(*insert, catalog, options)?,
            BoundStatement::Update(update) => optimize(dml::update_of(*update, catalog)?, catalog, options)?,
            BoundStatement::Delete(delete) => optimize(dml::delete_of(*delete, catalog)?, catalog, options)?,
            BoundStatement::Explain(explain) => return Ok(Body::Explain(explain)),
            BoundStatement::Utility => return Ok(Body::Utility),
        };
        Ok(Body::Plan(Arc::new(plan)))
    }
}

/// How a statement must be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// BEGIN and its kin.
    TransactionControl,
    /// SET, SHOW, and statements that do nothing here.
    Session,
    /// On any state, changing nothing.
    Read,
    /// In a transaction: INSERT, UPDATE, DELETE.
    Write,
    /// In a transaction: the schema changes.
    Schema,
}

impl Access {
    pub(crate) fn of(parsed: &ParsedStatement) -> Access {
        match CommandKind::of(parsed) {
            None => Access::of_data(parsed, parsed.syntax()),
            Some(CommandKind::Transaction) => Access::TransactionControl,
            Some(CommandKind::Session) => Access::Session,
            Some(CommandKind::Schema) => Access::Schema,
            Some(CommandKind::Explain) => {
                let analyzed = command::analyzed(parsed);
                analyzed.map_or(Access::Read, |statement| Access::of_data(parsed, parsed.tree.get(statement)))
            }
        }
    }

    fn of_data(parsed: &ParsedStatement, statement: Syntax) -> Access {
        match statement {
            Syntax::Query { query } if changes_in_with(parsed, query) => Access::Write,
            Syntax::Query { .. } | Syntax::Utility { .. } => Access::Read,
            Syntax::Insert { .. } | Syntax::Update { .. } | Syntax::Delete { .. } | Syntax::Merge { .. } => {
                Access::Write
            }
        }
    }
}

/// Whether the query's WITH has statements that change rows.
fn changes_in_with(parsed: &ParsedStatement, query: Id<Query>) -> bool {
    let tree = &parsed.tree;
    let Some(with) = tree.get(query).with else { return false };
    tree.list(tree.get(with).ctes).any(|cte| !matches!(tree.get(tree.get(cte).statement), Syntax::Query { .. }))
}
