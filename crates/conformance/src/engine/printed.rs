//! An engine that is given every statement as our parser prints it, to show that the way back changes no meaning.

use std::cell::Cell;

use cairn_parser::{Options, parse_statements};

use super::{Answer, Engine, Failure, Session};

/// See the module's description.
pub struct PrintedEngine<E> {
    engine: E,
    printed: Cell<u64>,
}

impl<E: Engine> PrintedEngine<E> {
    /// Stands before `engine`.
    pub fn before(engine: E) -> PrintedEngine<E> {
        PrintedEngine { engine, printed: Cell::new(0) }
    }

    /// Statements that went through the printer and came out in other words.
    pub fn printed(&self) -> u64 {
        self.printed.get()
    }
}

impl<E: Engine> Engine for PrintedEngine<E> {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(PrintedSession { session: self.engine.session()?, printed: &self.printed }))
    }
}

struct PrintedSession<'a> {
    session: Box<dyn Session + 'a>,
    printed: &'a Cell<u64>,
}

impl PrintedSession<'_> {
    /// The statements as they are printed, or as they stand, where one does not parse: the engine is to say so.
    fn as_printed(&self, sql: &str) -> String {
        let text = printed(sql).unwrap_or_else(|| sql.to_owned());
        self.printed.set(self.printed.get() + u64::from(text != sql));
        text
    }
}

impl Session for PrintedSession<'_> {
    fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        self.session.run(&self.as_printed(sql))
    }

    fn copy_in(&mut self, sql: &str, data: &[u8]) -> Result<Answer, Failure> {
        self.session.copy_in(&self.as_printed(sql), data)
    }

    fn copy_out(&mut self, sql: &str) -> Result<Vec<u8>, Failure> {
        self.session.copy_out(&self.as_printed(sql))
    }
}

/// All statements of the text as they are printed; none where one does not parse.
fn printed(sql: &str) -> Option<String> {
    let mut text = String::new();
    for parsed in parse_statements(sql, Options::default()) {
        let parsed = parsed.ok()?;
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&parsed.tree.print(parsed.statement));
    }
    Some(text)
}
