//! Window functions: the answers of each row's partition, peers and frame, beside the row.

mod aggregate;
mod buffer;
mod build;
mod call;
mod frame;
mod operator;
mod place;
#[cfg(test)]
mod tests;

pub(crate) use build::window;
