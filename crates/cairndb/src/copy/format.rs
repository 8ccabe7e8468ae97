//! How a copy's bytes are written and read.

/// Whether the first line holds the columns' names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Header {
    #[default]
    No,
    Yes,
    /// And they must be the columns' names.
    Match,
}

/// Text, or CSV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) csv: bool,
    pub(crate) delimiter: u8,
    /// What stands for NULL.
    pub(crate) null: String,
    pub(crate) header: Header,
    pub(crate) quote: u8,
    pub(crate) escape: u8,
}

impl Format {
    /// PostgreSQL's defaults.
    pub(crate) fn new(csv: bool) -> Format {
        let (delimiter, null) = if csv { (b',', "") } else { (b'\t', "\\N") };
        Format { csv, delimiter, null: null.to_owned(), header: Header::No, quote: b'"', escape: b'"' }
    }
}
