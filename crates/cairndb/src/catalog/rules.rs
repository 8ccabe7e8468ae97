//! The rules of a collection: what of its documents somebody may do who comes with claims, as conditions in SQL.
//!
//! They stand in the table's entry, as they were understood: so they come and go with it, and are dumped with it. What they mean is said by
//! `documents/rules.rs`, what they may be by `bind/definitions/rule.rs`.

/// Something that is done with documents, and has a rule of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleKind {
    List,
    View,
    Create,
    Update,
    Delete,
}

impl RuleKind {
    pub(crate) const ALL: [RuleKind; 5] =
        [RuleKind::List, RuleKind::View, RuleKind::Create, RuleKind::Update, RuleKind::Delete];

    /// The storage parameter that sets it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            RuleKind::List => "list_rule",
            RuleKind::View => "view_rule",
            RuleKind::Create => "create_rule",
            RuleKind::Update => "update_rule",
            RuleKind::Delete => "delete_rule",
        }
    }
}

/// What of a collection's documents somebody may do who comes with claims: for each kind a condition in SQL over `id`, `doc`, `version`
/// and `claims`, and for `update` the document as it was, `old`. Where there is none, nobody may.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let notes = conn.create_collection("notes")?;
/// let mut rules = cairndb::Rules::default();
/// rules.view = Some("doc -> 'owner' = claims -> 'sub'".to_owned());
/// notes.set_rules(&rules)?;
/// assert!(notes.rules()?.view.is_some() && notes.rules()?.list.is_none());
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// Which documents are found by filters, and counted.
    pub list: Option<String>,
    /// Which are read by their ids, told of by the change feed, and there for who changes or deletes them.
    pub view: Option<String>,
    /// Which are made: over the new one. It has no version yet, and an id only where one is said.
    pub create: Option<String>,
    /// Which are changed, and to what: over the new one and the one that is there, `old`.
    pub update: Option<String>,
    /// Which are deleted.
    pub delete: Option<String>,
}

impl Rules {
    pub(crate) fn of(&self, kind: RuleKind) -> Option<&str> {
        match kind {
            RuleKind::List => self.list.as_deref(),
            RuleKind::View => self.view.as_deref(),
            RuleKind::Create => self.create.as_deref(),
            RuleKind::Update => self.update.as_deref(),
            RuleKind::Delete => self.delete.as_deref(),
        }
    }

    pub(crate) fn set(&mut self, kind: RuleKind, rule: Option<String>) {
        *match kind {
            RuleKind::List => &mut self.list,
            RuleKind::View => &mut self.view,
            RuleKind::Create => &mut self.create,
            RuleKind::Update => &mut self.update,
            RuleKind::Delete => &mut self.delete,
        } = rule;
    }

    /// Those that there are, each with the storage parameter that sets it.
    ///
    /// ```
    /// let mut rules = cairndb::Rules::default();
    /// rules.list = Some("true".to_owned());
    /// assert_eq!(rules.options().collect::<Vec<_>>(), [("list_rule", "true")]);
    /// ```
    pub fn options(&self) -> impl Iterator<Item = (&'static str, &str)> {
        RuleKind::ALL.into_iter().filter_map(|kind| Some((kind.option(), self.of(kind)?)))
    }

    /// Whether nobody may do anything.
    ///
    /// ```
    /// assert!(cairndb::Rules::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        *self == Rules::default()
    }
}
