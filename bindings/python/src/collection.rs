//! Collections of documents: `cairndb::Collection`, on a connection and in its transaction.
//!
//! Documents, filters and patches go in as what `json.dumps` writes of them, and come out as `json.loads` reads them. What is
//! asked for is read from Python before the engine runs, which it does with the interpreter let go.

use std::sync::Arc;

use cairndb::{CollectionOptions, Jsonb, Rules, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::connection::Connection;
use crate::core::Core;
use crate::errors::{raised, refused, refused_with};
use crate::found::{Found, Told};
use crate::from_python::param;
use crate::functions::type_of;
use crate::question::{self, Object, Question, document, names, paths};
use crate::released::released;
use crate::to_python::Maker;
use crate::watch::{Watch, Watched};

/// A collection of documents, on a connection and in its transaction.
#[pyclass(frozen, subclass, weakref, module = "pycairndb")]
pub(crate) struct Collection {
    #[pyo3(get)]
    connection: Py<Connection>,
    core: Arc<Core>,
    /// As it was asked for.
    #[pyo3(get)]
    name: String,
    /// Of whom it is seen; `None`: no rules hold.
    claims: Option<Jsonb>,
}

impl Collection {
    /// It, as whoever has the claims sees it.
    fn looked_up<'c>(&self, connection: &'c cairndb::Connection) -> cairndb::Result<cairndb::Collection<'c>> {
        match &self.claims {
            Some(claims) => connection.collection_for_claims(&self.name, claims.clone()),
            None => connection.collection(&self.name),
        }
    }

    /// Runs `work` with the interpreter let go.
    fn on<T>(&self, py: Python<'_>, work: impl FnOnce(&cairndb::Connection) -> cairndb::Result<T>) -> PyResult<T> {
        self.core.with(py, |open| {
            open.begin(py, self.core.begins())?;
            let connection = open.statements.connection();
            released(py, || work(connection)).map_err(|error| raised(py, &error))
        })
    }

    /// The same, on the collection.
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&cairndb::Collection<'_>) -> cairndb::Result<T>,
    ) -> PyResult<T> {
        self.on(py, |connection| work(&self.looked_up(connection)?))
    }

    /// Paths, and the collection of each, which are of the same connection.
    fn expanded<'py>(
        &self,
        py: Python<'py>,
        given: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<(String, Bound<'py, Collection>)>> {
        let Some(given) = given else { return Ok(Vec::new()) };
        let one = |(path, other): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
            let (path, other) = (path.extract()?, other.cast_into::<Collection>()?);
            match Arc::ptr_eq(&self.core, &other.get().core) {
                true => Ok((path, other)),
                false => Err(refused(py, "55000", "a page and what it expands are of one connection")),
            }
        };
        given.iter().map(one).collect()
    }

    /// An id, as a value of the type that the collection's are of.
    fn id(&self, object: Object<'_, '_>) -> PyResult<Value> {
        let py = object.py();
        let of = self.with(py, |collection| Ok(collection.id_type()))?;
        Ok(param(object, type_of(py, of)?)?.into_value())
    }
}

#[pymethods]
impl Collection {
    /// The collection of this name, which there is. `claims`: as somebody sees it, and may change it, who comes with these.
    #[new]
    #[pyo3(signature = (connection, name, claims=None))]
    fn new(connection: &Bound<'_, Connection>, name: String, claims: Option<Object<'_, '_>>) -> PyResult<Collection> {
        let (py, core) = (connection.py(), connection.get().core.clone());
        let claims = claims.map(|claims| document(claims)).transpose()?;
        let collection = Collection { connection: connection.clone().unbind(), core, name, claims };
        collection.with(py, |_| Ok(()))?;
        Ok(collection)
    }

    /// Makes one, whose ids are of this type; whether there was none.
    #[staticmethod]
    fn _create(
        py: Python<'_>,
        connection: &Bound<'_, Connection>,
        name: &str,
        ids: String,
        change_feed: bool,
    ) -> PyResult<bool> {
        let core = &connection.get().core;
        core.with(py, |open| {
            open.begin(py, core.begins())?;
            let mut options = CollectionOptions::default();
            (options.ids, options.change_feed) = (ids, change_feed);
            let made = released(py, || open.connection.create_collection_with(name, &options));
            open.statements.forget_all();
            made.map_err(|error| raised(py, &error))
        })
    }

    /// With its schema.
    #[getter]
    fn full_name(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |collection| Ok(collection.info().name().to_owned()))
    }

    /// The type of its ids: 'text', 'uuid' or 'bigint'.
    #[getter]
    fn id_type(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |collection| Ok(collection.id_type()))
    }

    /// A new document, under this id or one that it gets.
    #[pyo3(signature = (doc, /, *, id=None))]
    fn insert<'py>(&self, doc: Object<'_, 'py>, id: Option<Object<'_, 'py>>) -> PyResult<Bound<'py, PyAny>> {
        let (py, doc) = (doc.py(), document(doc)?);
        let id = id.map(|id| self.id(id)).transpose()?;
        let written = self.with(py, |collection| match id {
            Some(id) => collection.insert_as(id, doc),
            None => collection.insert(doc),
        })?;
        Told::get(py)?.written.bind(py).call1((Maker::new(py, None)?.value(&written.id)?, written.version))
    }

    /// New documents, as one statement: all of them, or none; how many.
    #[pyo3(signature = (docs, /, *, ids=None))]
    fn insert_many(&self, docs: Object<'_, '_>, ids: Option<Object<'_, '_>>) -> PyResult<u64> {
        let py = docs.py();
        let docs = docs.try_iter()?.map(|doc| document(&doc?)).collect::<PyResult<Vec<_>>>()?;
        let Some(ids) = ids else { return self.with(py, |collection| collection.insert_many(docs)) };
        let of = type_of(py, self.id_type(py)?)?;
        let ids = ids.try_iter()?.map(|id| Ok(param(&id?, of)?.into_value())).collect::<PyResult<Vec<_>>>()?;
        if ids.len() != docs.len() {
            return Err(refused(py, "22023", format!("there are {} documents and {} ids", docs.len(), ids.len())));
        }
        self.with(py, |collection| collection.insert_many_as(ids.into_iter().zip(docs)))
    }

    /// The document of an id, or None.
    #[pyo3(signature = (id, /))]
    fn get<'py>(&self, id: Object<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, id) = (id.py(), self.id(id)?);
        let found = self.with(py, |collection| collection.get(id))?;
        found.map(|found| Told::get(py)?.document(py, &found)).transpose()
    }

    /// A document under this id, new or in place of the one that is there; its version.
    #[pyo3(signature = (id, doc, /))]
    fn put(&self, id: Object<'_, '_>, doc: Object<'_, '_>) -> PyResult<i64> {
        let (py, id, doc) = (id.py(), self.id(id)?, document(doc)?);
        self.with(py, |collection| collection.put(id, doc))
    }

    /// Another document in place of the one that is there; its version. None: there is none, or it has not the version that is said.
    #[pyo3(signature = (id, doc, /, *, version=None))]
    fn replace(&self, id: Object<'_, '_>, doc: Object<'_, '_>, version: Option<i64>) -> PyResult<Option<i64>> {
        let (py, id, doc) = (id.py(), self.id(id)?, document(doc)?);
        self.with(py, |collection| match version {
            Some(version) => collection.replace_if(id, doc, version),
            None => collection.replace(id, doc),
        })
    }

    /// Changes parts of a document by a merge patch (RFC 7396); its version, or None as of `replace`.
    #[pyo3(signature = (id, patch, /, *, version=None))]
    fn update(&self, id: Object<'_, '_>, patch: Object<'_, '_>, version: Option<i64>) -> PyResult<Option<i64>> {
        let (py, id, patch) = (id.py(), self.id(id)?, document(patch)?);
        self.with(py, |collection| match version {
            Some(version) => collection.update_if(id, patch, version),
            None => collection.update(id, patch),
        })
    }

    /// Changes parts of a document by a JSON patch (RFC 6902), all or nothing; its version, or None as of `replace`.
    #[pyo3(signature = (id, patch, /, *, version=None))]
    fn patch(&self, id: Object<'_, '_>, patch: Object<'_, '_>, version: Option<i64>) -> PyResult<Option<i64>> {
        let (py, id, patch) = (id.py(), self.id(id)?, document(patch)?);
        self.with(py, |collection| match version {
            Some(version) => collection.patch_if(id, patch, version),
            None => collection.patch(id, patch),
        })
    }

    /// Whether there was a document of this id, and of the version that is said.
    #[pyo3(signature = (id, /, *, version=None))]
    fn delete(&self, id: Object<'_, '_>, version: Option<i64>) -> PyResult<bool> {
        let (py, id) = (id.py(), self.id(id)?);
        self.with(py, |collection| match version {
            Some(version) => collection.delete_if(id, version),
            None => collection.delete(id),
        })
    }

    /// The documents that a filter finds, as they are read.
    #[pyo3(signature = (filter=None, *, sort=None, fields=None, limit=None, after=None))]
    fn find(
        &self,
        py: Python<'_>,
        filter: Option<Object<'_, '_>>,
        sort: Option<Object<'_, '_>>,
        fields: Option<Object<'_, '_>>,
        limit: Option<u32>,
        after: Option<String>,
    ) -> PyResult<Found> {
        let question = Question::of(filter, sort, fields, limit, after)?;
        let documents = self.with(py, |collection| question.find(collection).iter())?;
        let found = Found::new(self.core.clone(), documents);
        self.core.with(py, |open| {
            open.keep(found.held());
            Ok(())
        })?;
        Ok(found)
    }

    /// The first of them, or None.
    #[pyo3(signature = (filter=None, *, sort=None, fields=None))]
    fn find_one<'py>(
        &self,
        py: Python<'py>,
        filter: Option<Object<'_, '_>>,
        sort: Option<Object<'_, '_>>,
        fields: Option<Object<'_, '_>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let question = Question::of(filter, sort, fields, None, None)?;
        let found = self.with(py, |collection| question.find(collection).one())?;
        found.map(|found| Told::get(py)?.document(py, &found)).transpose()
    }

    /// As many of them as `limit` says, and what `after` takes for those behind them.
    /// `expand`: collections by the paths at which documents name those of them, which are beside the page.
    #[pyo3(signature = (filter=None, *, sort=None, fields=None, limit=100, after=None, expand=None))]
    #[allow(clippy::too_many_arguments)]
    fn page<'py>(
        &self,
        py: Python<'py>,
        filter: Option<Object<'_, '_>>,
        sort: Option<Object<'_, '_>>,
        fields: Option<Object<'_, '_>>,
        limit: u32,
        after: Option<String>,
        expand: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let question = Question::of(filter, sort, fields, Some(limit), after)?;
        let expand = self.expanded(py, expand)?;
        let page = self.on(py, |connection| {
            let others = expand.iter().map(|(_, other)| other.get().looked_up(connection));
            let (collection, others) = (self.looked_up(connection)?, others.collect::<cairndb::Result<Vec<_>>>()?);
            let find = question.find(&collection);
            expand.iter().zip(&others).fold(find, |find, ((path, _), other)| find.expand(path, other)).page()
        })?;
        Told::get(py)?.page(py, &page)
    }

    /// How many there are.
    #[pyo3(signature = (filter=None))]
    fn count(&self, py: Python<'_>, filter: Option<Object<'_, '_>>) -> PyResult<u64> {
        let filter = question::filter(filter)?;
        self.with(py, |collection| collection.find(&filter).count())
    }

    /// Groups of the documents that a filter finds, and what is worked out of each.
    #[pyo3(signature = (filter=None, *, group=None, count=None, count_of=None, sum=None, avg=None, min=None, max=None, having=None, sort=None, limit=None))]
    #[allow(clippy::too_many_arguments)]
    fn aggregate<'py>(
        &self,
        py: Python<'py>,
        filter: Option<Object<'_, '_>>,
        group: Option<&Bound<'_, PyDict>>,
        count: Option<String>,
        count_of: Option<&Bound<'_, PyDict>>,
        sum: Option<&Bound<'_, PyDict>>,
        avg: Option<&Bound<'_, PyDict>>,
        min: Option<&Bound<'_, PyDict>>,
        max: Option<&Bound<'_, PyDict>>,
        having: Option<Object<'_, '_>>,
        sort: Option<Object<'_, '_>>,
        limit: Option<u32>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (filter, having, sort) = (question::filter(filter)?, question::filter(having)?, names(sort)?);
        let (group, count_of, sum, avg) = (paths(group)?, paths(count_of)?, paths(sum)?, paths(avg)?);
        let (min, max) = (paths(min)?, paths(max)?);
        let groups = self.with(py, |collection| {
            let mut asked = collection.aggregate(&filter).having(having).sort(sort);
            asked = group.into_iter().fold(asked, |asked, (name, path)| asked.group(name, path));
            asked = count.into_iter().fold(asked, |asked, name| asked.count(name));
            asked = count_of.into_iter().fold(asked, |asked, (name, path)| asked.count_of(name, path));
            asked = sum.into_iter().fold(asked, |asked, (name, path)| asked.sum(name, path));
            asked = avg.into_iter().fold(asked, |asked, (name, path)| asked.avg(name, path));
            asked = min.into_iter().fold(asked, |asked, (name, path)| asked.min(name, path));
            asked = max.into_iter().fold(asked, |asked, (name, path)| asked.max(name, path));
            asked = limit.into_iter().fold(asked, |asked, limit| asked.limit(limit));
            asked.all()
        })?;
        let maker = Maker::new(py, None)?;
        PyList::new(
            py,
            groups.into_iter().map(|group| maker.value(&Value::Jsonb(group))).collect::<PyResult<Vec<_>>>()?,
        )
    }

    /// A live query over them; `pycairndb` wraps it.
    #[pyo3(signature = (filter=None))]
    fn _watch(&self, py: Python<'_>, filter: Option<Object<'_, '_>>) -> PyResult<Watch> {
        let filter = question::filter(filter)?;
        self.core.watch(py, |open| {
            let connection = open.statements.connection();
            let live = released(py, || self.looked_up(connection)?.find(&filter).watch());
            Ok(Watched::Live(Box::new(live.map_err(|error| raised(py, &error))?)))
        })
    }

    /// What becomes of documents, of all collections and tables; SQLSTATE 55000 where this one has no change feed.
    #[pyo3(signature = (from_token=None))]
    fn _changes(&self, py: Python<'_>, from_token: Option<&str>) -> PyResult<Watch> {
        if self.claims.is_some() {
            let hint = "watch() tells what becomes of the documents that they let see.";
            return Err(refused_with(py, "0A000", "a change feed knows no claims", hint));
        }
        let from = from_token.map(str::parse).transpose().map_err(|error| raised(py, &error))?;
        self.core.watch(py, |open| {
            let (connection, database) = (open.statements.connection(), open.handle.database());
            let begun = released(py, || match connection.collection(&self.name)?.changed_table()? {
                Some(_) => database.changes(from).map(Some),
                None => Ok(None),
            });
            match begun.map_err(|error| raised(py, &error))? {
                Some(changes) => Ok(Watched::Changes(Box::new(changes))),
                None => {
                    let hint = "ALTER TABLE .. SET (change_feed = on) gives it one.";
                    Err(refused_with(py, "55000", format!("collection \"{}\" has no change feed", self.name), hint))
                }
            }
        })
    }

    /// An index over what documents have at a path. `unique`: no two have the same there.
    #[pyo3(signature = (path, /, *, unique=false))]
    fn create_index(&self, py: Python<'_>, path: &str, unique: bool) -> PyResult<()> {
        self.with(py, |collection| match unique {
            true => collection.create_unique_index(path),
            false => collection.create_index(path),
        })
    }

    /// An index over the elements of arrays at a path, for `{path: {"$elemMatch": {"$eq": value}}}`.
    #[pyo3(signature = (path, /))]
    fn create_elements_index(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.with(py, |collection| collection.create_elements_index(path))
    }

    /// Documents have to be as a JSON Schema asks from now on; None: as they like.
    #[pyo3(signature = (schema, /))]
    fn set_schema(&self, py: Python<'_>, schema: Option<Object<'_, '_>>) -> PyResult<()> {
        let schema = schema.map(|schema| document(schema)).transpose()?.map(|schema| schema.to_string());
        self.with(py, |collection| collection.set_schema(schema.as_deref()))
    }

    /// Who may do what with its documents from now on, if he comes with claims: conditions of SQL over `id`, `doc`, `version`, `claims` and,
    /// of `update`, `old`. What is not said nobody may.
    #[pyo3(signature = (*, list=None, view=None, create=None, update=None, delete=None))]
    fn set_rules(
        &self,
        py: Python<'_>,
        list: Option<String>,
        view: Option<String>,
        create: Option<String>,
        update: Option<String>,
        delete: Option<String>,
    ) -> PyResult<()> {
        let mut rules = Rules::default();
        (rules.list, rules.view, rules.create, rules.update, rules.delete) = (list, view, create, update, delete);
        self.with(py, |collection| collection.set_rules(&rules))
    }

    /// What was set so, by name.
    #[getter]
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rules = self.with(py, |collection| collection.rules())?;
        let made = PyDict::new(py);
        let Rules { list, view, create, update, delete, .. } = rules;
        let all = [("list", list), ("view", view), ("create", create), ("update", update), ("delete", delete)];
        for (name, rule) in all.into_iter().filter_map(|(name, rule)| Some((name, rule?))) {
            made.set_item(name, rule)?;
        }
        Ok(made)
    }

    /// What was set so.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let schema = self.with(py, |collection| collection.schema())?;
        let made = |schema: String| Maker::new(py, None)?.value(&Value::Json(schema.into()));
        schema.map(made).transpose()
    }

    fn __repr__(&self) -> String {
        format!("<pycairndb.Collection '{}'>", self.name)
    }
}
