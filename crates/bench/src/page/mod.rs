//! A report as one page that needs nothing but itself, and its first chart as a picture of its own.
//!
//! Charts are inline SVG whose colours are CSS variables, so that they follow the reader's light or dark theme. What is lost
//! stands in the same charts and tables as what is won, in the same size, and once more on top.

mod bars;
mod charts;
mod html;
mod plot;
mod scale;
mod style;
mod svg;
mod tables;

pub use bars::{Rows, picture};
pub use html::page;
pub use style::of_picture as style_of_picture;
pub use svg::{Anchor, Svg};
