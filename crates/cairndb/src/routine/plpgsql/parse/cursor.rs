//! Cursors: their declaration, OPEN, FETCH, MOVE, CLOSE, FOR.

use cairn_parser::TokenKind;

use super::Parser;
use crate::routine::plpgsql::fragment::Fragment;
use crate::routine::plpgsql::tree::{BoundCursor, Count, Into, Kind, Opening, Over, Query, Statement, Way, WayKind};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

fn syntax(message: impl std::convert::Into<String>) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

impl Parser<'_> {
    /// `[NO SCROLL | SCROLL] CURSOR [(name type, ...)] FOR query;` behind the name.
    pub(super) fn cursor_declaration(
        &mut self,
        name: &str,
        declares: &mut Vec<(usize, Option<Fragment>)>,
    ) -> Result<()> {
        let scroll = self.scroll()?;
        self.expect("cursor")?;
        let outer = self.enter(None);
        let mut arguments = Vec::new();
        if self.eat("(") {
            loop {
                let argument = self.identifier()?;
                let (kind, domain) = self.kind_until(&[",", ")"])?;
                let variable = self.add(&argument, kind);
                self.variables[variable].domain = domain;
                arguments.push(variable);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if !self.eat("for") {
            self.expect("is")?;
        }
        let text = self.text_until(&[";"])?;
        let query = Query::Plain(Fragment::statement(text, self.scope, &self.names)?);
        self.scope = outer;
        self.expect(";")?;
        let variable = self.add(name, Kind::Value(DataType::Text));
        // Until something else is assigned, the cursor is called as the variable is.
        let quoted = format!("'{}'", name.replace('\'', "''"));
        declares.push((variable, Some(Fragment::expression(&quoted, self.scope, &self.names)?)));
        self.cursors.push(BoundCursor { variable, scroll, arguments, query });
        Ok(())
    }

    fn scroll(&mut self) -> Result<Option<bool>> {
        if self.eat("no") {
            self.expect("scroll")?;
            return Ok(Some(false));
        }
        Ok(self.eat("scroll").then_some(true))
    }

    /// A variable that holds a cursor's name.
    fn cursor(&mut self) -> Result<usize> {
        let said = self.ahead(0);
        let name = match self.token().kind {
            TokenKind::Param => {
                self.advance();
                said.to_owned()
            }
            _ => self.identifier()?,
        };
        let variable = self.scopes.find(self.scope, None, &name);
        let variable = variable.ok_or_else(|| syntax(format!("\"{said}\" is not a known variable")))?;
        match self.variables[variable].kind {
            Kind::Value(DataType::Text | DataType::Varchar(_)) => Ok(variable),
            _ => {
                let message = format!("variable \"{name}\" must be of type cursor or refcursor");
                Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
            }
        }
    }

    fn bound(&self, variable: usize) -> Option<&super::BoundCursor> {
        self.cursors.iter().find(|bound| bound.variable == variable)
    }

    pub(super) fn open(&mut self) -> Result<Statement> {
        self.advance();
        let variable = self.cursor()?;
        if self.bound(variable).is_some() {
            let args = self.cursor_arguments(variable)?;
            return Ok(Statement::Open(variable, Opening::Bound(args)));
        }
        let scroll = self.scroll()?;
        self.expect("for")?;
        if self.eat("execute") {
            let (query, _) = self.dynamic(&[";"])?;
            return Ok(Statement::Open(variable, Opening::Query(scroll, query)));
        }
        let text = self.text_until(&[";"])?;
        let query = Query::Plain(Fragment::statement(text, self.scope, &self.names)?);
        Ok(Statement::Open(variable, Opening::Query(scroll, query)))
    }

    /// Values of a bound cursor's arguments, in parentheses: by place, or by name.
    fn cursor_arguments(&mut self, variable: usize) -> Result<Vec<(usize, Fragment)>> {
        let name = self.variables[variable].name.clone();
        let wanted = self.bound(variable).map(|bound| bound.arguments.clone()).unwrap_or_default();
        if !self.is("(") {
            return match wanted.is_empty() {
                true => Ok(vec![]),
                false => Err(syntax(format!("cursor \"{name}\" has arguments"))),
            };
        }
        if wanted.is_empty() {
            return Err(syntax(format!("cursor \"{name}\" has no arguments")));
        }
        self.expect("(")?;
        let mut given: Vec<(usize, Fragment)> = Vec::new();
        loop {
            let at = match matches!(self.ahead(1), ":=" | "=>") {
                true => {
                    let said = self.identifier()?;
                    self.advance();
                    let found = wanted.iter().position(|argument| self.variables[*argument].name == said);
                    found.ok_or_else(|| syntax(format!("cursor \"{name}\" has no argument named \"{said}\"")))?
                }
                false => given.len(),
            };
            let Some(argument) = wanted.get(at) else {
                return Err(syntax(format!("too many arguments for cursor \"{name}\"")));
            };
            if given.iter().any(|(known, _)| known == argument) {
                let twice = &self.variables[*argument].name;
                let message = format!("value for parameter \"{twice}\" of cursor \"{name}\" specified more than once");
                return Err(syntax(message));
            }
            given.push((*argument, self.expression(&[",", ")"])?));
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        match given.len() == wanted.len() {
            true => Ok(given),
            false => Err(syntax(format!("not enough arguments for cursor \"{name}\""))),
        }
    }

    pub(super) fn fetch(&mut self) -> Result<Statement> {
        self.advance();
        let (way, several) = self.way()?;
        if several {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "FETCH statement cannot return multiple rows"));
        }
        let variable = self.cursor()?;
        self.expect("into")?;
        let into = Into { places: self.places()?, strict: false };
        Ok(Statement::Fetch(variable, way, Some(into)))
    }

    pub(super) fn moved(&mut self) -> Result<Statement> {
        self.advance();
        let (way, _) = self.way()?;
        Ok(Statement::Fetch(self.cursor()?, way, None))
    }

    pub(super) fn close(&mut self) -> Result<Statement> {
        self.advance();
        Ok(Statement::Close(self.cursor()?))
    }

    /// The direction and FROM or IN behind it, where they are said; and whether it may come to several rows.
    fn way(&mut self) -> Result<(Way, bool)> {
        let one = |kind, number| (Way { kind, count: Count::Number(number) }, false);
        let is_cursor = matches!(self.ahead(1), ";") || self.ahead(1).eq_ignore_ascii_case("into");
        let (way, several) = match self.ahead(0).to_ascii_lowercase().as_str() {
            _ if is_cursor => return Ok(one(WayKind::Forward, 1)),
            "from" | "in" => one(WayKind::Forward, 1),
            "next" => self.said(one(WayKind::Forward, 1)),
            "prior" => self.said(one(WayKind::Backward, 1)),
            "first" => self.said(one(WayKind::Absolute, 1)),
            "last" => self.said(one(WayKind::Absolute, -1)),
            "all" => self.said((Way { kind: WayKind::Forward, count: Count::All }, true)),
            "absolute" => {
                self.advance();
                (Way { kind: WayKind::Absolute, count: self.count()? }, false)
            }
            "relative" => {
                self.advance();
                (Way { kind: WayKind::Relative, count: self.count()? }, false)
            }
            "forward" => self.some(WayKind::Forward)?,
            "backward" => self.some(WayKind::Backward)?,
            _ => (Way { kind: WayKind::Forward, count: self.count()? }, true),
        };
        if !self.eat("from") && !self.eat("in") {
            // Without them a cursor's name may follow a direction that ends here.
            let is_name = matches!(way.count, Count::Number(_) | Count::All) && self.token().kind.is_label();
            if !is_name && self.ahead(1) != ";" && !self.ahead(1).eq_ignore_ascii_case("into") {
                return Err(syntax("expected FROM or IN"));
            }
        }
        Ok((way, several))
    }

    fn said(&mut self, way: (Way, bool)) -> (Way, bool) {
        self.advance();
        way
    }

    /// Behind FORWARD and BACKWARD.
    fn some(&mut self, kind: WayKind) -> Result<(Way, bool)> {
        self.advance();
        let follows = self.ahead(1).eq_ignore_ascii_case("into") || self.ahead(1) == ";";
        if self.is("from") || self.is("in") || follows {
            return Ok((Way { kind, count: Count::Number(1) }, false));
        }
        if self.eat("all") {
            return Ok((Way { kind, count: Count::All }, true));
        }
        Ok((Way { kind, count: self.count()? }, true))
    }

    fn count(&mut self) -> Result<Count> {
        self.expression(&["from", "in"]).map(Count::Given)
    }

    /// `row IN cursor [(arguments)]` of FOR, whose row is the loop's own; `None`: the loop is over something else.
    pub(super) fn over_cursor(&mut self) -> Result<Option<Over>> {
        let start = self.at;
        let is_simple = self.ahead(1).eq_ignore_ascii_case("in")
            && (self.ahead(3) == "(" || self.ahead(3).eq_ignore_ascii_case("loop"));
        if !is_simple {
            return Ok(None);
        }
        let row = self.identifier()?;
        self.expect("in")?;
        let variable = self.identifier().ok().and_then(|name| self.scopes.find(self.scope, None, &name));
        let Some(variable) = variable else {
            self.at = start;
            return Ok(None);
        };
        if self.bound(variable).is_none() {
            self.at = start;
            return match self.variables[variable].kind {
                Kind::Value(DataType::Text) if self.ahead(3).eq_ignore_ascii_case("loop") => {
                    Err(syntax("cursor FOR loop must use a bound cursor variable"))
                }
                _ => Ok(None),
            };
        }
        let args = self.cursor_arguments(variable)?;
        let row = self.add(&row, Kind::Row(None));
        Ok(Some(Over::Cursor(row, variable, args)))
    }
}
