//! Groups of documents, and what is worked out of each.
//!
//! A question of groups is one statement with a GROUP BY and aggregates of SQL over what lies at paths; who comes with claims is asked the `list` rule in
//! its WHERE, before anything is counted. Each group is a document in turn, so what is asked of groups is a filter and an order as of documents.

use super::filter::{Asked, Filter, Path, condition, literal, wrong};
use super::find::Find;
use super::order;
use crate::catalog::RuleKind;
use crate::catalog::collection::DOC;
use crate::result::Rows;
use crate::{Jsonb, Result, Value};

/// Names by which documents are grouped.
const KEYS_MAX: usize = 16;
/// What is worked out of a group.
const FIELDS_MAX: usize = 64;

/// Groups of the documents that a filter finds, and what is worked out of each. Nothing is asked before one of the last methods is called.
///
/// Each group is an object: what its documents have in common under the names of [`group`](Aggregation::group), what all of them lack left out, and what is
/// worked out under the names of the others. Without a `group` there is one, of all documents.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let orders = conn.create_collection("orders")?;
/// orders.insert_many([
///     r#"{"to": {"city": "Oslo"}, "price": 2.50}"#,
///     r#"{"to": {"city": "Oslo"}, "price": 4}"#,
///     r#"{"to": {"city": "Bergen"}, "price": 1}"#,
///     r#"{"price": 7}"#,
/// ])?;
/// let groups = orders.aggregate("{}").group("city", "to.city").count("n").sum("total", "price");
/// let told: Vec<String> = groups.sort(["-total"]).having(r#"{"total": {"$gt": 1}}"#).all()?.iter().map(ToString::to_string).collect();
/// assert_eq!(told, [r#"{"n": 1, "total": 7}"#, r#"{"n": 2, "city": "Oslo", "total": 6.50}"#]);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone)]
pub struct Aggregation<'a> {
    find: Find<'a>,
    /// Names and paths.
    keys: Vec<(String, String)>,
    fields: Vec<(String, Calculation)>,
    having: String,
    sort: Vec<String>,
    limit: Option<u32>,
}

/// What is worked out of a group.
#[derive(Clone, Debug)]
enum Calculation {
    Count,
    /// Of those that have something there.
    CountOf(String),
    Sum(String),
    Average(String),
    Least(String),
    Greatest(String),
}

impl Calculation {
    /// As SQL, which gives a `jsonb`.
    fn sql(&self) -> Result<String> {
        let at = |path: &String| Ok::<_, crate::Error>(Path::parse(path)?.sql(DOC));
        let number = |at: &str| format!("(CASE WHEN jsonb_typeof({at}) = 'number' THEN {at} END)::numeric");
        let text =
            |at: &str| format!("(CASE WHEN jsonb_typeof({at}) = 'string' THEN {at} #>> '{{}}' END) COLLATE \"C\"");
        Ok(match self {
            Calculation::Count => "to_jsonb(count(*))".to_owned(),
            Calculation::CountOf(path) => format!("to_jsonb(count({}))", at(path)?),
            Calculation::Sum(path) => format!("to_jsonb(sum({}))", number(&at(path)?)),
            Calculation::Average(path) => format!("to_jsonb(avg({}))", number(&at(path)?)),
            // In the order of `jsonb` strings come before numbers.
            Calculation::Least(path) => {
                let at = at(path)?;
                format!("coalesce(to_jsonb(min({})), to_jsonb(min({})))", text(&at), number(&at))
            }
            Calculation::Greatest(path) => {
                let at = at(path)?;
                format!("coalesce(to_jsonb(max({})), to_jsonb(max({})))", number(&at), text(&at))
            }
        })
    }
}

impl<'a> Aggregation<'a> {
    pub(super) fn new(find: Find<'a>) -> Aggregation<'a> {
        let (keys, fields, sort) = (Vec::new(), Vec::new(), Vec::new());
        Aggregation { find, keys, fields, having: "{}".to_owned(), sort, limit: None }
    }

    /// A group has this name for what its documents have at the path; without it, where they have nothing there.
    pub fn group(mut self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.keys.push((name.into(), path.into()));
        self
    }

    /// How many documents a group has.
    pub fn count(self, name: impl Into<String>) -> Self {
        self.with(name, Calculation::Count)
    }

    /// How many of its documents have something at the path, be it `null`.
    pub fn count_of(self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.with(name, Calculation::CountOf(path.into()))
    }

    /// The sum of the numbers that there are at the path, exactly; `null` where there are none.
    pub fn sum(self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.with(name, Calculation::Sum(path.into()))
    }

    /// The mean of the numbers that there are at the path; `null` where there are none.
    pub fn avg(self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.with(name, Calculation::Average(path.into()))
    }

    /// The least string that there is at the path, or if there is none the least number; `null` where there is neither.
    pub fn min(self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.with(name, Calculation::Least(path.into()))
    }

    /// The greatest number that there is at the path, or if there is none the greatest string; `null` where there is neither.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let visits = conn.create_collection("visits")?;
    /// visits.insert_many([r#"{"on": "2026-01-03", "for": 2}"#, r#"{"on": "2026-02-01", "for": null}"#, "{}"])?;
    /// let groups = visits.aggregate("{}").min("first", "on").max("last", "on").avg("mean", "for").count_of("said", "for");
    /// let all = groups.all()?;
    /// let expected = r#"{"first": "2026-01-03", "last": "2026-02-01", "mean": 2.0000000000000000, "said": 2}"#;
    /// assert_eq!(all[0].to_string(), expected.parse::<cairndb::Jsonb>()?.to_string());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn max(self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.with(name, Calculation::Greatest(path.into()))
    }

    fn with(mut self, name: impl Into<String>, calculation: Calculation) -> Self {
        self.fields.push((name.into(), calculation));
        self
    }

    /// Only those groups that this filter finds: its paths begin with the names of what a group has.
    pub fn having(mut self, filter: impl Into<String>) -> Self {
        self.having = filter.into();
        self
    }

    /// By what groups have under these names, of which those with a `-` before them descend; at last by what they are grouped by.
    pub fn sort(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.sort = names.into_iter().map(Into::into).collect();
        self
    }

    /// At most so many.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The SQL that this is, and its parameters.
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// let (sql, params) = notes.aggregate(r#"{"day": 3}"#).group("by", "by").count("n").sql()?;
    /// assert!(sql.contains("WHERE ((doc -> 'day') = $1) GROUP BY 1") && params.len() == 1);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn sql(&self) -> Result<(String, Vec<Value>)> {
        let (condition, mut asked) = self.find.condition(RuleKind::List)?;
        self.check()?;
        let keys =
            self.keys.iter().map(|(name, path)| Ok((name, Path::parse(path)?.sql(DOC)))).collect::<Result<Vec<_>>>()?;
        let fields = self.fields.iter().map(|(name, of)| Ok((name, of.sql()?))).collect::<Result<Vec<_>>>()?;
        let columns: Vec<String> =
            (keys.iter().map(|(_, key)| key).enumerate().map(|(at, key)| format!("{key} AS k{at}")))
                .chain(fields.iter().map(|(_, field)| field).enumerate().map(|(at, field)| format!("{field} AS f{at}")))
                .collect();
        let grouped = match keys.len() {
            0 => String::new(),
            count => format!(" GROUP BY {}", (1..=count).map(|at| at.to_string()).collect::<Vec<_>>().join(", ")),
        };
        let parts = keys.iter().enumerate().map(|(at, (name, _))| {
            format!("CASE WHEN k{at} IS NULL THEN '{{}}' ELSE jsonb_build_object({}, k{at}) END", literal(name))
        });
        let fields = fields.iter().enumerate().map(|(at, (name, _))| format!("{}, f{at}", literal(name)));
        let object = format!("jsonb_build_object({})", fields.collect::<Vec<_>>().join(", "));
        let object = parts.chain([object]).collect::<Vec<_>>().join(" || ");
        let having = self.of_groups(&mut asked)?;
        let order =
            order::listed(&order::keys_of_groups(&self.sort)?, self.keys.iter().map(|(name, _)| Path::of_name(name)));
        let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {order}") };
        let limit = match self.limit {
            Some(limit) => format!(" LIMIT {}", asked.param(Value::BigInt(limit.into()))),
            None => String::new(),
        };
        let (table, columns) = (self.find.from(), columns.join(", "));
        let grouped = format!("(SELECT {columns} FROM {table} WHERE {condition}{grouped}) AS grouped");
        let sql = format!(
            "SELECT {DOC} FROM (SELECT {object} AS {DOC} FROM {grouped}) AS groups WHERE {having}{order}{limit}"
        );
        Ok((sql, asked.params))
    }

    fn check(&self) -> Result<()> {
        if self.keys.len() > KEYS_MAX || self.fields.len() > FIELDS_MAX {
            return Err(wrong(format!("documents are grouped by {KEYS_MAX} names at most, with {FIELDS_MAX} fields")));
        }
        if self.keys.is_empty() && self.fields.is_empty() {
            return Err(wrong("it is said neither by what to group nor what to work out"));
        }
        let mut names: Vec<&str> = self
            .keys
            .iter()
            .map(|(name, _)| name)
            .chain(self.fields.iter().map(|(name, _)| name))
            .map(String::as_str)
            .collect();
        if let Some(name) = names.iter().find(|name| name.is_empty() || name.starts_with('$') || name.contains('\0')) {
            return Err(wrong(format!("\"{}\" is no name of what a group has", name.escape_debug())));
        }
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(wrong(format!("a group has \"{}\" twice", pair[0]))),
            None => Ok(()),
        }
    }

    /// What has to be so of a group.
    fn of_groups(&self, asked: &mut Asked) -> Result<String> {
        let having = Filter::parse(&self.having)?;
        match having.is_of_columns() {
            true => Err(wrong("a group has neither $id nor $version")),
            false => condition(&having, asked),
        }
    }

    /// The groups. SQLSTATE 22023: what is asked for is not said as it has to be.
    pub fn all(&self) -> Result<Vec<Jsonb>> {
        let (sql, params) = self.sql()?;
        let read = |mut rows: Rows| {
            let mut groups = Vec::new();
            while let Some(row) = rows.next()? {
                groups.push(super::document::jsonb(row.get(0)?)?);
            }
            Ok(groups)
        };
        self.find.connection().query(&sql, params).and_then(read).map_err(|error| self.find.told(error))
    }
}

impl super::Collection<'_> {
    /// Groups of the documents that a filter finds, and what is worked out of each. See [`Aggregation`].
    ///
    /// ```
    /// # let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let notes = conn.create_collection("notes")?;
    /// notes.insert_many([r#"{"by": "ada"}"#, r#"{"by": "ada"}"#, r#"{"by": "bob"}"#])?;
    /// let groups = notes.aggregate("{}").group("who", "by").count("n").sort(["-n"]).limit(1).all()?;
    /// assert_eq!(groups[0].to_string(), r#"{"n": 2, "who": "ada"}"#);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn aggregate(&self, filter: &str) -> Aggregation<'_> {
        Aggregation::new(self.find(filter))
    }
}
