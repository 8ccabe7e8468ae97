//! Results as text: psql's tables, CSV, JSON, Markdown.

mod cell;
mod cells;
mod csv;
mod expanded;
mod json;
mod markdown;
mod result;
mod table;
mod unaligned;

pub use cell::shown;
pub use json::row_object as json_object;
pub use result::{Column, Expanded, Format, Grid, Style, cells_of, write_grid, write_rows};
