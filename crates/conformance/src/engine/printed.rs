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

impl Session for PrintedSession<'_> {
    fn run(&mut self, sql: &str) -> Result<Answer, Failure> {
        let Some(text) = printed(sql) else { return self.session.run(sql) };
        self.printed.set(self.printed.get() + u64::from(text != sql));
        self.session.run(&text)
    }
}

/// All statements of the text as they are printed; none where one does not parse: the engine is to say so.
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
