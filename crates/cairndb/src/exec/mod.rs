//! Runs physical plans on batches of column vectors.
