//! `POST /sql`: one statement with its parameters, and its rows as they come, as JSON, lines of JSON, CSV or Arrow's stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};
use cairn_server::Ran;
use cairndb::{Error, EvalContext, Field, Row, Value};
use cairndb_arrow::MEDIA_TYPE as ARROW;
use cairndb_async::{Performed, Rows};
use futures_core::Stream;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::arrow::ArrowRows;
use crate::asking::Asking;
use crate::body::NDJSON;
use crate::collections::answer;
use crate::databases::Open;
use crate::problem::{Answer, Problem};
use crate::token::Scope;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    pub(crate) sql: String,
    #[serde(default)]
    pub(crate) params: Vec<Box<RawValue>>,
}

impl Asked {
    /// The parameters, as the statement takes them.
    pub(crate) fn values(&self) -> Result<Vec<Value>, Error> {
        self.params.iter().map(|param| param_of(param.get())).collect()
    }
}

pub(crate) async fn run(asking: Asking, body: Body) -> Answer {
    let open = asking.database(Scope::Sql).await?;
    let asked: Asked = asking.said(body).await?;
    let (params, sql) = (asked.values()?, asked.sql);
    let database = if asking.principal.writes_sql() { &open.database } else { open.reading()? };
    let form = Form::of(&asking.headers)?;
    let begun = Instant::now();
    let performed = database.perform(&sql, params).await;
    let who = (asking.principal.name(), asking.names.database.as_str());
    let ran = asking.app.services.ran(who, &sql, begun.elapsed());
    let Performed { command, affected, rows, .. } = performed?;
    match rows {
        Some(rows) if form == Form::Arrow => {
            let rows = ArrowRows::begin(rows, (open, ran)).await?;
            Ok(response(Body::from_stream(rows), form))
        }
        Some(rows) => streamed(rows, form, (command, (open, ran))),
        None => Ok({
            ran.rows(affected);
            answer(StatusCode::OK, &json!({ "command": command, "affected": affected }))
        }),
    }
}

/// A parameter: numbers with all their digits, arrays and objects as `jsonb`, strings as what the statement wants there.
fn param_of(text: &str) -> Result<Value, Error> {
    Ok(match text.as_bytes().first() {
        Some(b'n') => Value::Null,
        Some(b't') => Value::Boolean(true),
        Some(b'f') => Value::Boolean(false),
        Some(b'"') => {
            let wrong = |error: serde_json::Error| {
                let code = cairndb::SqlState::INVALID_TEXT_REPRESENTATION;
                Error::new(code, "a parameter is no string of JSON").with_detail(error.to_string())
            };
            Value::text(serde_json::from_str::<String>(text).map_err(wrong)?)
        }
        Some(b'[' | b'{') => Value::Jsonb(text.parse()?),
        _ => match text.parse::<i64>() {
            Ok(number) => Value::BigInt(number),
            Err(_) => cairndb::from_text(text, cairndb::DataType::Numeric(None), &EvalContext::default())?,
        },
    })
}

/// How rows are told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Lines,
    Csv,
    Arrow,
}

impl Form {
    /// What `Accept` asks for first of what there is.
    fn of(headers: &HeaderMap) -> Result<Form, Problem> {
        let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("*/*");
        let known = |part: &str| match part.split(';').next().unwrap_or_default().trim() {
            "application/json" | "application/*" | "*/*" => Some(Form::Json),
            NDJSON => Some(Form::Lines),
            "text/csv" | "text/*" => Some(Form::Csv),
            ARROW => Some(Form::Arrow),
            _ => None,
        };
        accept.split(',').find_map(known).ok_or_else(|| {
            let (code, message) = (cairndb::SqlState::FEATURE_NOT_SUPPORTED, "rows are not told so (Accept)");
            let problem = Problem::new(StatusCode::NOT_ACCEPTABLE, code, message);
            problem.hint(
                "There are application/json, application/x-ndjson, text/csv and application/vnd.apache.arrow.stream.",
            )
        })
    }

    fn kind(self) -> &'static str {
        match self {
            Form::Json => "application/json",
            Form::Lines => NDJSON,
            Form::Csv => "text/csv; charset=utf-8",
            Form::Arrow => ARROW,
        }
    }
}

/// What a statement has while its rows are told: the database, which it keeps open, and where it is counted.
pub(crate) type Kept = (Arc<Open>, Ran);

fn streamed(rows: Rows, form: Form, (command, kept): (&str, Kept)) -> Answer {
    let names: Vec<String> = rows.columns().iter().map(|column| column.name.clone()).collect();
    let begins = match form {
        Form::Json => {
            format!("{{\"command\":{},\"columns\":{},\"rows\":[", json!(command), columns(rows.columns()))
        }
        Form::Lines | Form::Arrow => String::new(),
        Form::Csv => names.iter().map(|name| csv(name)).collect::<Vec<_>>().join(",") + "\r\n",
    };
    let rows = Told { rows, form, names, begins: Some(begins), count: 0, is_over: false, kept };
    Ok(response(Body::from_stream(rows), form))
}

fn response(rows: Body, form: Form) -> Response<Body> {
    let mut response = Response::new(rows);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(form.kind()));
    response
}

/// Rows as a body: a batch at a time, and no more before that is taken. An error in the middle ends it before its end, which a client sees.
struct Told {
    rows: Rows,
    form: Form,
    names: Vec<String>,
    /// What stands before the rows, until it is told.
    begins: Option<String>,
    count: u64,
    is_over: bool,
    kept: Kept,
}

impl Stream for Told {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let batch = std::task::ready!(Pin::new(&mut self.rows).poll_next(context)).transpose();
        let told = batch.and_then(|batch| self.told(batch));
        self.is_over |= told.is_err();
        Poll::Ready(Some(told.map(Bytes::from)))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let (_, ran) = &self.kept;
        ran.rows(self.count);
    }
}

impl Told {
    /// `None`: there are no more rows.
    fn told(&mut self, batch: Option<cairndb::Rows>) -> Result<String, Error> {
        let mut text = self.begins.take().unwrap_or_default();
        let Some(mut batch) = batch else {
            self.is_over = true;
            text.push_str(if self.form == Form::Json { "]}" } else { "" });
            return Ok(text);
        };
        while let Some(row) = batch.next()? {
            let first = if self.form == Form::Json && self.count > 0 { "," } else { "" };
            text.push_str(first);
            self.write_row(&mut text, row);
            self.count += 1;
        }
        Ok(text)
    }

    fn write_row(&self, text: &mut String, row: Row<'_>) {
        if self.form == Form::Json {
            return write_array(text, row);
        }
        let values = (0..self.names.len()).map(|at| row.value(at));
        if self.form == Form::Csv {
            let cells: Vec<String> =
                values.map(|value| cell(value).map_or_else(String::new, |cell| csv(&cell))).collect();
            text.push_str(&cells.join(","));
            text.push_str("\r\n");
            return;
        }
        text.push('{');
        for (at, value) in values.enumerate() {
            text.push_str(if at > 0 { "," } else { "" });
            text.push_str(&json!(self.names[at]).to_string());
            text.push(':');
            write_json(text, value);
        }
        text.push_str("}\n");
    }
}

/// What columns are called, and of which types they are.
pub(crate) fn columns(columns: &[Field]) -> serde_json::Value {
    columns.iter().map(|column| json!({ "name": column.name, "type": column.data_type.to_string() })).collect()
}

/// A row as a JSON array.
pub(crate) fn write_array(text: &mut String, row: Row<'_>) {
    text.push('[');
    for at in 0..row.columns().len() {
        text.push_str(if at > 0 { "," } else { "" });
        write_json(text, row.value(at));
    }
    text.push(']');
}

/// A value as text; `None`: NULL.
fn cell(value: &Value) -> Option<String> {
    (!matches!(value, Value::Null)).then(|| cairndb::to_text(value, &EvalContext::default()))
}

/// A value as JSON: numbers with all their digits, `jsonb` as it is, what JSON has no kind for as the text that it has.
pub(crate) fn write_json(text: &mut String, value: &Value) {
    let Some(cell) = cell(value) else { return text.push_str("null") };
    let is_number = cell.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit());
    match value {
        Value::Boolean(is_so) => text.push_str(if *is_so { "true" } else { "false" }),
        Value::Jsonb(_) => text.push_str(&cell),
        Value::SmallInt(_) | Value::Integer(_) | Value::BigInt(_) => text.push_str(&cell),
        Value::Numeric(_) | Value::Real(_) | Value::Double(_) if is_number => text.push_str(&cell),
        _ => text.push_str(&json!(cell).to_string()),
    }
}

/// As COPY writes it: the empty string in quotes, which NULL is not.
pub(crate) fn csv(cell: &str) -> String {
    match cell.is_empty() || cell.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}
