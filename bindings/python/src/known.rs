//! Python's types that values are made of and recognised by, looked up once.

use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::once::Once;

/// See the module.
pub(crate) struct Known {
    pub(crate) decimal: Py<PyType>,
    pub(crate) uuid: Py<PyType>,
    pub(crate) date: Py<PyType>,
    pub(crate) datetime: Py<PyType>,
    pub(crate) time: Py<PyType>,
    pub(crate) timedelta: Py<PyType>,
    pub(crate) enumeration: Py<PyType>,
    pub(crate) interval: Py<PyType>,
    pub(crate) json: Py<PyType>,
    pub(crate) utc: Py<PyAny>,
    /// `datetime.date.fromordinal`
    pub(crate) from_ordinal: Py<PyAny>,
    pub(crate) json_loads: Py<PyAny>,
    pub(crate) json_dumps: Py<PyAny>,
    /// `zoneinfo.ZoneInfo`, which keeps those that it made.
    pub(crate) zone_info: Py<PyAny>,
    /// Of a type: what makes another value of one of its own.
    pub(crate) adapters: Py<PyAny>,
    /// Of a SQL type's name: what makes a value of what it is by default.
    pub(crate) converters: Py<PyAny>,
}

static KNOWN: Once<Known> = Once::new();

impl Known {
    /// Python's types.
    #[inline]
    pub(crate) fn get(py: Python<'_>) -> PyResult<&Known> {
        KNOWN.get(py, || Known::look_up(py))
    }

    #[cold]
    fn look_up(py: Python<'_>) -> PyResult<Known> {
        let of = |module: &str, name: &str| py.import(module)?.getattr(name);
        let class = |module: &str, name: &str| Ok::<_, PyErr>(of(module, name)?.cast_into::<PyType>()?.unbind());
        Ok(Known {
            decimal: class("decimal", "Decimal")?,
            uuid: class("uuid", "UUID")?,
            date: class("datetime", "date")?,
            datetime: class("datetime", "datetime")?,
            time: class("datetime", "time")?,
            timedelta: class("datetime", "timedelta")?,
            enumeration: class("enum", "Enum")?,
            interval: class("pycairndb._types", "Interval")?,
            json: class("pycairndb._types", "Json")?,
            utc: of("datetime", "timezone")?.getattr("utc")?.unbind(),
            from_ordinal: of("datetime", "date")?.getattr("fromordinal")?.unbind(),
            json_loads: of("json", "loads")?.unbind(),
            json_dumps: of("json", "dumps")?.unbind(),
            zone_info: of("zoneinfo", "ZoneInfo")?.unbind(),
            adapters: of("pycairndb._types", "adapters")?.unbind(),
            converters: of("pycairndb._types", "converters")?.unbind(),
        })
    }
}
