//! Rows as Arrow's stream format, as they come.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use cairndb::{Batch, Error, Field};
use cairndb_arrow::{Encoder, Shape};
use cairndb_async::Rows;
use futures_core::Stream;

use crate::sql::Kept;

/// A body: a batch at a time, and no more before that is taken. An error in the middle ends it without its end, which a client sees.
pub(crate) struct ArrowRows {
    rows: Rows,
    columns: Vec<Field>,
    stage: Stage,
    /// What was made before the answer began.
    first: Option<Bytes>,
    kept: Kept,
}

/// How far it is.
enum Stage {
    /// The first batch is looked at before it is said what comes.
    Begins(Option<Batch>),
    Goes(Box<Encoder>),
    Over,
}

impl ArrowRows {
    /// The body of these rows. What is wrong with the first of them is an answer of its own.
    pub(crate) async fn begin(rows: Rows, kept: Kept) -> Result<ArrowRows, Error> {
        let columns = rows.columns().to_vec();
        let mut body = ArrowRows { rows, columns, stage: Stage::Begins(None), first: None, kept };
        let first = std::future::poll_fn(|context| Pin::new(&mut body).poll_next(context)).await;
        body.first = first.transpose()?;
        Ok(body)
    }

    /// What comes of a batch; nothing where more has to be seen. `None`: there are no more.
    fn told(&mut self, batch: Option<Batch>) -> Result<Vec<u8>, Error> {
        let is_end = batch.is_none();
        let (_, ran) = &self.kept;
        ran.rows(batch.as_ref().map_or(0, Batch::len) as u64);
        let mut encoder = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Over => return Ok(Vec::new()),
            Stage::Goes(encoder) => encoder,
            Stage::Begins(None) if !is_end => {
                self.stage = Stage::Begins(batch);
                return Ok(Vec::new());
            }
            Stage::Begins(first) => {
                let mut encoder = Box::new(Encoder::new(Shape::of(&self.columns, first.as_ref(), is_end))?);
                first.map(|first| encoder.write(first)).transpose()?;
                encoder
            }
        };
        let Some(batch) = batch else { return encoder.finish() };
        encoder.write(batch)?;
        let told = encoder.take();
        self.stage = Stage::Goes(encoder);
        Ok(told)
    }
}

impl Stream for ArrowRows {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        while !matches!(self.stage, Stage::Over) {
            let rows = std::task::ready!(Pin::new(&mut self.rows).poll_next(context)).transpose();
            let batch = rows.and_then(|rows| match rows {
                Some(mut rows) => rows.next_batch(usize::MAX),
                None => Ok(None),
            });
            let told = batch.and_then(|batch| self.told(batch));
            match told {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(Bytes::from(bytes)))),
                Err(error) => {
                    self.stage = Stage::Over;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        Poll::Ready(None)
    }
}
