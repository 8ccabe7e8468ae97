//! Documents on their way to Python: read some at a time with the interpreter let go, and made into objects one by one.
//!
//! As the rows of a result they outlive their transaction: whoever ends one has what was not taken read before.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use cairndb::{Document, Documents, Page, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::core::Core;
use crate::errors::{raised, refused};
use crate::feed::Held;
use crate::functions::{self, with_cause};
use crate::once::Once;
use crate::released::released;
use crate::to_python::Maker;

/// So many are read together at most.
const AHEAD_MAX: usize = 256;

/// The documents of a question: an iterator.
#[pyclass(frozen, weakref, module = "pycairndb")]
pub(crate) struct Found {
    core: Arc<Core>,
    reading: Arc<Reading>,
}

/// The part that its connection knows, to end it.
pub(crate) struct Reading(Mutex<State>);

struct State {
    /// `None`: there are no more to be read.
    documents: Option<Documents>,
    ready: VecDeque<Document>,
    ahead: usize,
}

impl State {
    /// Reads up to so many.
    fn read(&mut self, count: usize) -> cairndb::Result<()> {
        let Some(documents) = &mut self.documents else { return Ok(()) };
        for _ in 0..count {
            match documents.next() {
                Some(Ok(document)) => self.ready.push_back(document),
                Some(Err(error)) => {
                    self.documents = None;
                    return Err(error);
                }
                None => {
                    self.documents = None;
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Reading {
    fn next(&self, py: Python<'_>) -> PyResult<Option<Document>> {
        let mut state = match self.0.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(refused(py, "55006", "the documents are being read by somebody else"));
            }
        };
        if state.ready.is_empty() && state.documents.is_some() {
            // Who wants one of them does not wait for many.
            let ahead = state.ahead;
            state.ahead = (ahead * 4).min(AHEAD_MAX);
            functions::begin();
            released(py, || state.read(ahead)).map_err(|error| with_cause(py, raised(py, &error)))?;
        }
        Ok(state.ready.pop_front())
    }
}

impl Held for Reading {
    fn hold(&self, py: Python<'_>) -> PyResult<()> {
        let read = released(py, || self.0.lock().unwrap_or_else(PoisonError::into_inner).read(usize::MAX));
        read.map_err(|error| raised(py, &error))
    }

    fn close(&self, py: Python<'_>) {
        released(py, || {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (state.documents, state.ready) = (None, VecDeque::new());
        });
    }

    fn is_open(&self) -> bool {
        self.0.try_lock().map_or(true, |state| state.documents.is_some())
    }
}

impl Found {
    pub(crate) fn new(core: Arc<Core>, documents: Documents) -> Found {
        let state = State { documents: Some(documents), ready: VecDeque::new(), ahead: 1 };
        Found { core, reading: Arc::new(Reading(Mutex::new(state))) }
    }

    /// What its connection is to hold when the transaction ends.
    pub(crate) fn held(&self) -> Arc<Reading> {
        self.reading.clone()
    }
}

#[pymethods]
impl Found {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.core.is_closed(py)? {
            return Err(refused(py, "08003", "the connection is closed"));
        }
        let next = self.reading.next(py)?;
        next.map(|found| Told::get(py)?.document(py, &found)).transpose()
    }

    /// Lets go of what was not taken.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.core.check_process(py)?;
        self.reading.close(py);
        Ok(())
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        if !self.core.is_here() {
            // Its locks may be held by threads that are not there.
            std::mem::forget(self.reading.clone());
            return;
        }
        if self.reading.is_open() {
            let _ = Python::try_attach(|py| self.reading.close(py));
        }
    }
}

/// The classes of what is told of documents.
pub(crate) struct Told {
    pub(crate) written: Py<PyAny>,
    page: Py<PyAny>,
    document: Py<PyAny>,
}

static TOLD: Once<Told> = Once::new();

impl Told {
    pub(crate) fn get(py: Python<'_>) -> PyResult<&Told> {
        TOLD.get(py, || {
            let module = py.import("pycairndb._documents")?;
            let class = |name: &str| PyResult::Ok(module.getattr(name)?.unbind());
            Ok(Told { written: class("Written")?, page: class("Page")?, document: class("Document")? })
        })
    }

    /// A page's object: what its documents name is a dict by paths of a list, which has of each document a document, None or a list.
    pub(crate) fn page<'py>(&self, py: Python<'py>, page: &Page) -> PyResult<Bound<'py, PyAny>> {
        let list = |documents: &[Document]| {
            let made = documents.iter().map(|found| self.document(py, found)).collect::<PyResult<Vec<_>>>()?;
            PyResult::Ok(PyList::new(py, made)?.into_any())
        };
        let expanded = PyDict::new(py);
        for at in &page.expanded {
            let named = at.named.iter().map(|named| match (named.is_list, named.documents.first()) {
                (true, _) => list(&named.documents),
                (false, Some(found)) => self.document(py, found),
                (false, None) => Ok(py.None().into_bound(py)),
            });
            expanded.set_item(&at.path, PyList::new(py, named.collect::<PyResult<Vec<_>>>()?)?)?;
        }
        self.page.bind(py).call1((list(&page.documents)?, &page.next, expanded))
    }

    /// A document's object.
    pub(crate) fn document<'py>(&self, py: Python<'py>, found: &Document) -> PyResult<Bound<'py, PyAny>> {
        let maker = Maker::new(py, None)?;
        let doc = maker.value(&Value::Jsonb(found.doc.clone()))?;
        self.document.bind(py).call1((maker.value(&found.id)?, found.version, doc))
    }
}
