//! What becomes of documents, told to any number of streams: a database's change feeds are read once, by one thread, while anybody listens.
//!
//! What must hold:
//! - A stream hears of each change once, in the order of commits, from the place on at which it begins. It is a subscriber before it looks where that is; what
//!   lies before what is told from then on it reads from the feed by itself ([`Backlog`]), and what it has by then it passes ([`Place`]).
//! - Nobody waits for a slow stream. For one that takes less than there is, some changes are kept; then it is no subscriber any more, and goes on as one
//!   that comes back does.
//! - A stream whose filter asks for a value to be equal is found by that value ([`Subscribers`]): others' filters are not tried.
//! - Whether a rule, or another filter, lets a document be seen is asked once of a change for all streams that ask the same ([`Question`]).
//! - The thread ends with the last stream, and lets go of the database.

mod backlog;
mod question;
mod reader;
mod subscribers;
mod told;

pub(crate) use backlog::{Backlog, Batch};
pub(crate) use question::{InSight, Question};
pub(crate) use reader::{Feed, News, Subscription};
pub(crate) use told::{Becomes, Document, Place, Told, What};
