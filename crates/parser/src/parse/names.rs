//! Names of everything.

use super::Parser;
use crate::error::{ParseError, Result, SYNTAX_ERROR};
use crate::syntax::{Indirection, Name, QualifiedName};
use crate::token::{Token, TokenKind as T};
use crate::tree::{Id, List};

impl Parser<'_> {
    /// A column's, table's, constraint's name: `ColId`.
    pub(crate) fn name(&mut self) -> Result<Id<Name>> {
        match self.kind() {
            T::Nulls if self.is_half() => Err(self.unexpected()),
            kind if kind.is_column_name() => self.any_name_token(),
            _ => Err(self.unexpected()),
        }
    }

    /// A label behind AS or a dot: `ColLabel`.
    pub(crate) fn label(&mut self) -> Result<Id<Name>> {
        match self.kind() {
            T::With | T::Not | T::Nulls if self.is_half() => Err(self.unexpected()),
            kind if kind.is_label() => self.any_name_token(),
            _ => Err(self.unexpected()),
        }
    }

    /// Whether the word at hand is one token with the next: PostgreSQL's lexer makes it one that is no name.
    fn is_half(&mut self) -> bool {
        match self.kind() {
            T::With => matches!(self.peek(), T::Time | T::Ordinality),
            T::Not => matches!(self.peek(), T::Between | T::In | T::Like | T::Ilike | T::Similar),
            T::Nulls => matches!(self.peek(), T::First | T::Last),
            _ => false,
        }
    }

    /// A function's or type's own name: `type_function_name`.
    pub(crate) fn type_function_name(&mut self) -> Result<Id<Name>> {
        match self.kind() {
            T::Nulls if self.is_half() => Err(self.unexpected()),
            kind if kind.is_function_name() => self.any_name_token(),
            _ => Err(self.unexpected()),
        }
    }

    /// Any word but a reserved one: `NonReservedWord`.
    #[allow(dead_code, reason = "for roles and settings")]
    pub(crate) fn unreserved_word(&mut self) -> Result<Id<Name>> {
        match self.kind() {
            T::Nulls if self.is_half() => Err(self.unexpected()),
            kind if kind.is_unreserved_word() => self.any_name_token(),
            _ => Err(self.unexpected()),
        }
    }

    /// The token as a name, whatever it is.
    pub(crate) fn any_name_token(&mut self) -> Result<Id<Name>> {
        let token = self.advance();
        self.name_of(token)
    }

    pub(crate) fn name_of(&mut self, mut token: Token) -> Result<Id<Name>> {
        if token.kind != T::Ident && token.kind != T::StringConst {
            let written = self.lexer.text().as_bytes().get(token.start as usize..token.end as usize);
            token.encoded = written.is_some_and(|written| written.iter().any(u8::is_ascii_uppercase));
        }
        let text = self.text(token)?;
        self.node_to(token.start, token.end, Name { text })
    }

    /// Names with commas between them: `name_list`.
    pub(crate) fn names(&mut self) -> Result<List<Name>> {
        self.comma_list(Self::name)
    }

    /// A name with dots: `any_name`.
    pub(crate) fn dotted_name(&mut self) -> Result<List<Name>> {
        let mark = self.mark();
        let first = self.name()?;
        self.push(first);
        self.more_labels()?;
        Ok(self.list_since(mark))
    }

    /// Pushes what stands behind dots.
    pub(crate) fn more_labels(&mut self) -> Result<()> {
        while self.eat(T::Dot) {
            let part = self.label()?;
            self.push(part);
        }
        Ok(())
    }

    /// A table's or the like: `qualified_name`.
    pub(crate) fn qualified_name(&mut self) -> Result<Id<QualifiedName>> {
        let start = self.start();
        let mark = self.mark();
        let first = self.name()?;
        self.push(first);
        self.more_parts()?;
        self.qualified_since(start, mark)
    }

    /// The qualified name whose parts were pushed since `mark`.
    pub(crate) fn qualified_since(&mut self, start: u32, mark: usize) -> Result<Id<QualifiedName>> {
        if self.scratch.len() - mark > 3 {
            let name = self.lexer.text().get(start as usize..self.end() as usize).unwrap_or("");
            let message = format!("improper qualified name (too many dotted names): {name}");
            return Err(ParseError::new(SYNTAX_ERROR, message, start));
        }
        let parts = self.list_since(mark);
        self.node(start, QualifiedName { parts })
    }

    /// A function's name: `func_name`.
    pub(crate) fn function_name(&mut self) -> Result<List<Name>> {
        let qualified = matches!(self.peek(), T::Dot | T::LeftBracket);
        let mark = self.mark();
        if !qualified && !self.kind().is_function_name() && self.kind().is_column_name() {
            // A name of columns alone begins one with parts.
            self.advance();
            return Err(self.unexpected());
        }
        let first = if qualified { self.name()? } else { self.type_function_name()? };
        self.push(first);
        self.more_parts()?;
        Ok(self.list_since(mark))
    }

    /// Pushes what stands behind dots. The grammar takes subscripts and stars there too, and then complains.
    pub(super) fn more_parts(&mut self) -> Result<()> {
        let mut only_names = true;
        while matches!(self.kind(), T::Dot | T::LeftBracket) {
            let step = self.enter(Self::step)?;
            match self.tree.get(step) {
                Indirection::Field { name } => self.push(name),
                _ => only_names = false,
            }
        }
        if only_names { Ok(()) } else { Err(self.near("syntax error")) }
    }

    /// Steps to a part of what was read: `opt_indirection`.
    pub(crate) fn indirection(&mut self) -> Result<List<Indirection>> {
        let mark = self.mark();
        while matches!(self.kind(), T::Dot | T::LeftBracket) {
            let step = self.enter(Self::step)?;
            self.push(step);
        }
        let steps = self.list_since(mark);
        self.star_comes_last(steps)?;
        Ok(steps)
    }

    pub(crate) fn star_comes_last(&mut self, steps: List<Indirection>) -> Result<()> {
        let before_last = self.tree.len(steps).saturating_sub(1);
        let early = self.tree.list(steps).take(before_last).any(|step| self.tree.get(step) == Indirection::All);
        if early { Err(self.near("improper use of \"*\"")) } else { Ok(()) }
    }

    fn step(&mut self) -> Result<Id<Indirection>> {
        let start = self.start();
        if self.eat(T::Dot) {
            if self.eat(T::Star) {
                return self.node(start, Indirection::All);
            }
            let name = self.label()?;
            return self.node(start, Indirection::Field { name });
        }
        self.expect(T::LeftBracket)?;
        let lower = if self.at(T::Colon) { None } else { Some(self.expr()?) };
        let step = match (self.eat(T::Colon), lower) {
            (false, Some(index)) => Indirection::Index { index },
            (_, lower) => {
                let upper = if self.at(T::RightBracket) { None } else { Some(self.expr()?) };
                Indirection::Slice { lower, upper }
            }
        };
        self.expect(T::RightBracket)?;
        self.node(start, step)
    }
}
