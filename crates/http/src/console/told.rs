//! What is told of a result that is kept.

use cairndb::{Error, Field};
use serde_json::{Map, Value, json};

use crate::problem::Problem;
use crate::sql::columns;

/// How far a statement is.
pub(super) enum Stage {
    Running,
    /// It has done all.
    Done,
    /// It has more rows than are kept, for this reason.
    Cut(&'static str),
    Failed(Error),
}

/// What is known of it beside its rows.
#[derive(Default)]
pub(super) struct Head {
    pub(super) command: &'static str,
    pub(super) affected: u64,
    /// `None`: it gives no rows, or has not come to that yet.
    pub(super) columns: Option<Vec<Field>>,
}

/// All of it as JSON, without its end: rows follow.
pub(super) fn told(id: &str, head: &Head, stage: &Stage, (rows, ms): (u64, u128)) -> String {
    let mut told = Map::new();
    let state = match stage {
        Stage::Running => "running",
        Stage::Done => "done",
        Stage::Cut(why) => {
            told.insert("why".to_owned(), json!(why));
            "cut"
        }
        Stage::Failed(error) => {
            told.insert("error".to_owned(), Problem::from(error.clone()).body());
            "failed"
        }
    };
    told.insert("id".to_owned(), json!(id));
    told.insert("state".to_owned(), json!(state));
    told.insert("command".to_owned(), json!(head.command));
    told.insert("affected".to_owned(), json!(head.affected));
    told.insert("columns".to_owned(), head.columns.as_deref().map_or(Value::Null, columns));
    told.insert("rows".to_owned(), json!(rows));
    told.insert("ms".to_owned(), json!(u64::try_from(ms).unwrap_or(u64::MAX)));
    let mut text = Value::Object(told).to_string();
    text.pop();
    text
}
