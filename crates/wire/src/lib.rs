//! PostgreSQL's wire protocol, versions 3.0 and 3.2, as a state machine: bytes in, what to run, what came of it, bytes out.
//!
//! There is no socket, thread, clock or runtime in here: see [`Conversation`].

mod block;
mod conversation;
mod copy;
mod error;
mod extended;
mod input;
mod output;
mod parameters;
mod request;
mod scram;
mod script;
mod slots;
mod startup;

pub use conversation::Conversation;
pub use copy::CopyInput;
pub use parameters::Parameters;
pub use request::{Bind, Execute, Find, FindPortal, Limits, Login, Prepare, Query, Request, Started, Status};
pub use scram::{Challenge, Verifier};
