//! Random statements compared between engines.
