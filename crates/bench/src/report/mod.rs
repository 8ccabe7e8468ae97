//! What was measured: kept while the workloads run, written as JSON lines, read again to be shown or compared.
//!
//! ```text
//! workload --add, add_latencies, add_course, add_load, ...--> Report --to_lines--> FILE --parse--> Report
//!                                                                |
//!                                                                +--> table, page, compare
//! ```

mod groups;
mod lines;
mod record;
#[expect(clippy::module_inception)]
mod report;
mod series;

pub use groups::{Group, Measure};
pub use record::{Counters, CourseRecord, Curve, EngineRecord, HistogramRecord, Run, Subject};
pub use report::{Axes, Place, Report};
pub use series::{Better, Series};
