//! XML's functions and tables.

use super::Parser;
use crate::error::{ParseError, Result, SYNTAX_ERROR};
use crate::syntax::{Expr, Name, Standalone, XmlAttribute, XmlColumn, XmlNamespace, XmlTable};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

/// Reads a function's arguments and its closing parenthesis.
pub(super) type Reader<'a> = fn(&mut Parser<'a>, u32, Id<Name>) -> Result<Expr>;

impl<'a> Parser<'a> {
    /// How the XML function at hand is read, if it is one.
    pub(super) fn xml_function(&mut self) -> Option<Reader<'a>> {
        match self.kind() {
            T::Xmlelement => Some(Self::xml_element),
            T::Xmlexists => Some(Self::xml_exists),
            T::Xmlforest => Some(Self::xml_forest),
            T::Xmlparse => Some(Self::xml_parse),
            T::Xmlpi => Some(Self::xml_pi),
            T::Xmlroot => Some(Self::xml_root),
            T::Xmlserialize => Some(Self::xml_serialize),
            _ => None,
        }
    }

    fn close_xml(&mut self, expr: Expr) -> Result<Expr> {
        self.expect(T::RightParen)?;
        Ok(expr)
    }

    fn xml_element(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        self.expect(T::Name)?;
        let name = self.label()?;
        let (mut attributes, mut content) = (List::EMPTY, List::EMPTY);
        if self.eat(T::Comma) {
            if self.at_two(T::Xmlattributes, T::LeftParen) {
                self.advance();
                attributes = self.parenthesized(Self::xml_attribute)?;
                content = self.optional_more_exprs()?;
            } else {
                content = self.exprs()?;
            }
        }
        self.close_xml(Expr::XmlElement { name, attributes, content })
    }

    fn xml_attribute(&mut self) -> Result<Id<XmlAttribute>> {
        let start = self.start();
        let value = self.expr()?;
        let name = if self.eat(T::As) { Some(self.label()?) } else { None };
        self.node(start, XmlAttribute { value, name })
    }

    fn xml_exists(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        let path = self.simple_expr()?;
        let document = self.xml_passing()?;
        self.close_xml(Expr::XmlExists { path, document })
    }

    /// `PASSING BY REF document BY VALUE`
    fn xml_passing(&mut self) -> Result<Id<Expr>> {
        self.expect(T::Passing)?;
        // Or else BY is a column.
        if matches!(self.peek(), T::Ref | T::Value) {
            self.passing_mechanism()?;
        }
        let document = self.simple_expr()?;
        self.passing_mechanism()?;
        Ok(document)
    }

    fn passing_mechanism(&mut self) -> Result<()> {
        if !self.eat(T::By) || self.eat(T::Ref) {
            return Ok(());
        }
        self.expect(T::Value).map(|_| ())
    }

    fn xml_forest(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        let items = self.comma_list(Self::xml_attribute)?;
        self.close_xml(Expr::XmlForest { items })
    }

    fn document_or_content(&mut self) -> Result<bool> {
        match self.kind() {
            T::Document | T::Content => Ok(self.advance().kind == T::Document),
            _ => Err(self.unexpected()),
        }
    }

    fn xml_parse(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        let document = self.document_or_content()?;
        let value = self.expr()?;
        let preserve_whitespace = self.at(T::Preserve);
        if preserve_whitespace || self.at(T::Strip) {
            self.advance();
            self.expect(T::Whitespace)?;
        }
        self.close_xml(Expr::XmlParse { document, value, preserve_whitespace })
    }

    fn xml_pi(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        self.expect(T::Name)?;
        let name = self.label()?;
        let content = if self.eat(T::Comma) { Some(self.expr()?) } else { None };
        self.close_xml(Expr::XmlPi { name, content })
    }

    fn xml_root(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        let value = self.expr()?;
        self.expect_all(&[T::Comma, T::Version])?;
        let version = if self.eat_two(T::No, T::Value) { None } else { Some(self.expr()?) };
        let standalone = if self.eat(T::Comma) { Some(self.standalone()?) } else { None };
        self.close_xml(Expr::XmlRoot { value, version, standalone })
    }

    fn standalone(&mut self) -> Result<Standalone> {
        self.expect(T::Standalone)?;
        if self.eat(T::Yes) {
            return Ok(Standalone::Yes);
        }
        self.expect(T::No)?;
        Ok(if self.eat(T::Value) { Standalone::NoValue } else { Standalone::No })
    }

    fn xml_serialize(&mut self, _: u32, _: Id<Name>) -> Result<Expr> {
        let document = self.document_or_content()?;
        let value = self.expr()?;
        self.expect(T::As)?;
        let data_type = self.simple_type_name()?;
        self.close_xml(Expr::XmlSerialize { document, value, data_type })
    }

    /// `XMLTABLE (...)`
    pub(super) fn xml_table(&mut self) -> Result<Id<XmlTable>> {
        let start = self.start();
        self.expect_all(&[T::Xmltable, T::LeftParen])?;
        let mut namespaces = List::EMPTY;
        if self.at_two(T::Xmlnamespaces, T::LeftParen) {
            self.advance();
            namespaces = self.parenthesized(Self::xml_namespace)?;
            self.expect(T::Comma)?;
        }
        let row = self.simple_expr()?;
        let document = self.xml_passing()?;
        self.expect(T::Columns)?;
        let columns = self.comma_list(Self::xml_column)?;
        self.expect(T::RightParen)?;
        self.node(start, XmlTable { namespaces, row, document, columns })
    }

    fn xml_namespace(&mut self) -> Result<Id<XmlNamespace>> {
        let start = self.start();
        let default = self.eat(T::Default);
        let uri = self.restricted_expr()?;
        let name = if default { None } else { Some(self.behind_as()?) };
        self.node(start, XmlNamespace { uri, name })
    }

    fn behind_as(&mut self) -> Result<Id<Name>> {
        self.expect(T::As)?;
        self.label()
    }

    fn xml_column(&mut self) -> Result<Id<XmlColumn>> {
        let start = self.start();
        let name = self.name()?;
        let mut column = XmlColumn { name, data_type: None, path: None, default: None, not_null: false };
        if self.eat(T::For) {
            self.expect(T::Ordinality)?;
        } else {
            column.data_type = Some(self.type_name()?);
            self.xml_column_options(&mut column)?;
        }
        self.node(start, column)
    }

    fn xml_column_options(&mut self, column: &mut XmlColumn) -> Result<()> {
        let mut nullability_seen = false;
        loop {
            let start = self.start();
            let wrong = |message: &str| Err(ParseError::new(SYNTAX_ERROR, message, start));
            match self.kind() {
                T::Default => {
                    self.advance();
                    if column.default.replace(self.restricted_expr()?).is_some() {
                        return wrong("only one DEFAULT value is allowed");
                    }
                }
                T::Not | T::Null => {
                    column.not_null = self.eat(T::Not);
                    self.expect(T::Null)?;
                    if std::mem::replace(&mut nullability_seen, true) {
                        let name = self.tree.get(column.name).text;
                        let name = self.tree.text(name);
                        return wrong(&format!(
                            "conflicting or redundant NULL / NOT NULL declarations for column \"{name}\""
                        ));
                    }
                }
                T::Ident => {
                    let option = self.any_name_token()?;
                    let value = self.restricted_expr()?;
                    let text = self.tree.get(option).text;
                    let option = self.tree.text(text);
                    if option != "path" {
                        let message = format!("unrecognized column option \"{option}\"");
                        return wrong(&message);
                    }
                    if column.path.replace(value).is_some() {
                        return wrong("only one PATH value per column is allowed");
                    }
                }
                _ => return Ok(()),
            }
        }
    }
}
