//! Views as the system's relations and functions tell of them.

use std::sync::Arc;

use super::from::named_as_view;
use crate::bind::changes::updatable::{is_deletable, updatable_columns};
use crate::bind::definitions::definition::definition_fields;
use crate::bind::deparse::{expression_text, query_text};
use crate::catalog::{Catalog, Definition, View};
use crate::plan::Field;
use crate::system::{BoundViews, DefinitionStyle, ExpressionOver};
use crate::types::DataType;

/// Bound anew each time: see the trait.
#[derive(Debug)]
pub(in crate::bind) struct Views;

impl BoundViews for Views {
    fn columns(&self, view: &View, catalog: &Catalog) -> Vec<Field> {
        let fields = definition_fields(&view.query, catalog);
        fields.and_then(|fields| named_as_view(view, fields)).unwrap_or_default()
    }

    fn updatable_columns(&self, view: &Arc<View>, catalog: &Catalog) -> Option<Vec<bool>> {
        updatable_columns(view, catalog)
    }

    fn is_deletable(&self, view: &Arc<View>, catalog: &Catalog) -> bool {
        is_deletable(view, catalog)
    }

    fn query_text(
        &self,
        query: &Definition,
        names: &[String],
        catalog: &Catalog,
        style: DefinitionStyle,
    ) -> Option<String> {
        query_text(query, names, catalog, style)
    }

    fn expression_text(
        &self,
        text: &str,
        over: ExpressionOver<'_>,
        wanted: Option<DataType>,
        of: (&Catalog, DefinitionStyle),
    ) -> Option<String> {
        expression_text(text, over, wanted, of)
    }
}
