//! What is asked of a collection's documents, as Python says it.

use cairndb::Jsonb;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::from_python::json_of;

pub(crate) type Object<'a, 'py> = &'a Bound<'py, PyAny>;

/// What is asked of documents that are to be found.
pub(crate) struct Question {
    filter: String,
    sort: Vec<String>,
    fields: Vec<String>,
    limit: Option<u32>,
    after: Option<String>,
}

impl Question {
    pub(crate) fn of(
        filter: Option<Object<'_, '_>>,
        sort: Option<Object<'_, '_>>,
        fields: Option<Object<'_, '_>>,
        limit: Option<u32>,
        after: Option<String>,
    ) -> PyResult<Question> {
        Ok(Question { filter: self::filter(filter)?, sort: names(sort)?, fields: names(fields)?, limit, after })
    }

    pub(crate) fn find<'c>(self, of: &'c cairndb::Collection<'_>) -> cairndb::Find<'c> {
        let find = of.find(&self.filter).sort(self.sort).select(self.fields);
        let find = if let Some(limit) = self.limit { find.limit(limit) } else { find };
        if let Some(after) = self.after { find.after(after) } else { find }
    }
}

/// A filter's text; all is found where there is none.
pub(crate) fn filter(given: Option<Object<'_, '_>>) -> PyResult<String> {
    given.filter(|given| !given.is_none()).map_or_else(|| Ok("{}".to_owned()), |given| Ok(document(given)?.to_string()))
}

/// One name, or several.
pub(crate) fn names(given: Option<Object<'_, '_>>) -> PyResult<Vec<String>> {
    match given.filter(|given| !given.is_none()) {
        None => Ok(Vec::new()),
        Some(one) if one.is_instance_of::<PyString>() => Ok(vec![one.extract()?]),
        Some(several) => several.try_iter()?.map(|name| name?.extract()).collect(),
    }
}

/// Names, and the path of each.
pub(crate) fn paths(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    given.map_or_else(
        || Ok(Vec::new()),
        |given| given.iter().map(|(name, path)| Ok((name.extract()?, path.extract()?))).collect(),
    )
}

/// What `json.dumps` writes of an object.
pub(crate) fn document(object: Object<'_, '_>) -> PyResult<Jsonb> {
    json_of(object)
}
