//! A part of a command, with what making types from it takes: its names, its expressions, and errors with places.

use cairn_parser::{Expr, Id, Name, Part, Parts, QualifiedName, Query, Relation, Statement, TokenKind, Tree, TypeName};

use crate::catalog::ObjectName;
use crate::error::Feature;
use crate::sql::{ParsedStatement, name_text, object_name};
use crate::{Error, Result};

/// A command or a rule in it.
#[derive(Clone, Copy)]
pub(super) struct Clause<'p> {
    parsed: &'p ParsedStatement,
    parts: Parts<'p, 'static>,
}

impl<'p> Clause<'p> {
    pub(super) fn of_statement(parsed: &'p ParsedStatement) -> Option<Clause<'p>> {
        parsed.command().map(|parts| Clause { parsed, parts })
    }

    pub(super) fn tree(self) -> &'p Tree<'static> {
        &self.parsed.tree
    }

    /// Its name in the grammar.
    pub(super) fn rule(self) -> &'static str {
        self.parts.name()
    }

    /// Whether this keyword stands in it.
    pub(super) fn has(self, keyword: TokenKind) -> bool {
        self.parts.has(keyword)
    }

    /// The first part of this rule.
    pub(super) fn part(self, rule: &'static str) -> Option<Clause<'p>> {
        self.parts.rule(rule).map(|parts| Clause { parts, ..self })
    }

    /// The parts of this rule.
    pub(super) fn parts(self, rule: &'static str) -> impl Iterator<Item = Clause<'p>> {
        self.parts.rules(rule).map(move |parts| Clause { parts, ..self })
    }

    /// Which of these keywords are right in it, in their order.
    pub(super) fn keywords_of(self, wanted: &'static [TokenKind]) -> impl Iterator<Item = TokenKind> + 'p {
        self.each().filter_map(|part| wanted.iter().copied().find(|kind| is_keyword(part, *kind)))
    }

    /// The parts of this rule on either side of a keyword; without it, all are before it.
    pub(super) fn parts_around(self, keyword: TokenKind, rule: &'static str) -> (Vec<Clause<'p>>, Vec<Clause<'p>>) {
        let tree = self.tree();
        let place = self.parts.each().find(|part| is_keyword(tree.get(*part), keyword));
        let place = place.map_or(u32::MAX, |part| tree.span(part).start);
        self.parts(rule).partition(|part| part.start() < place)
    }

    /// The first part that is a rule of its own.
    pub(super) fn first_part(self) -> Result<Clause<'p>> {
        let rule = self.parts.each().find_map(|part| Parts::of(self.tree(), part));
        rule.map(|parts| Clause { parts, ..self }).ok_or_else(|| self.incomplete())
    }

    /// The parts that are rules of their own.
    pub(super) fn rules(self) -> impl Iterator<Item = Clause<'p>> {
        self.parts
            .each()
            .filter_map(move |part| Parts::of(self.tree(), part))
            .map(move |parts| Clause { parts, ..self })
    }

    /// The rules within the parts of this rule, each as it is written and with how many characters precede it.
    pub(super) fn written_within(self, rule: &'static str) -> impl Iterator<Item = (Clause<'p>, &'p str, usize)> {
        let tree = self.tree();
        self.parts.each().filter_map(move |part| {
            let parts = Parts::of(tree, part).filter(|parts| parts.name() == rule)?;
            let within = Clause { parts, ..self }.first_part().ok()?;
            let before = self.parsed.position_of(tree.span(part).start as usize) - 1;
            Some((within, tree.written(part), before))
        })
    }

    pub(super) fn each(self) -> impl DoubleEndedIterator<Item = Part> + 'p {
        let tree = self.tree();
        self.parts.each().map(move |part| tree.get(part))
    }

    /// What `wanted` finds first.
    fn first<T>(self, wanted: impl Fn(Part) -> Option<T>) -> Result<T> {
        self.each().find_map(wanted).ok_or_else(|| self.incomplete())
    }

    fn incomplete(self) -> Error {
        Error::internal(format!("a part of {} is missing", self.rule()))
    }

    /// The names right in it.
    pub(super) fn names(self) -> impl Iterator<Item = String> + 'p {
        self.each().filter_map(name_of).map(move |name| name_text(self.tree(), name).to_owned())
    }

    pub(super) fn name(self) -> Result<String> {
        self.names().next().ok_or_else(|| self.incomplete())
    }

    /// The name right behind a keyword.
    pub(super) fn name_behind(self, keyword: TokenKind) -> Option<String> {
        let mut behind = self.each().skip_while(|part| !is_keyword(*part, keyword)).skip(1);
        behind.next().and_then(name_of).map(|name| name_text(self.tree(), name).to_owned())
    }

    /// The name that stands somewhere before a keyword.
    pub(super) fn name_before(self, keyword: TokenKind) -> Option<String> {
        let mut before = self.each().take_while(|part| !is_keyword(*part, keyword));
        before.find_map(name_of).map(|name| name_text(self.tree(), name).to_owned())
    }

    /// The names of the part of this rule, `(a, b)`; none without it.
    pub(super) fn names_in(self, rule: &'static str) -> Vec<String> {
        self.part(rule).into_iter().flat_map(Clause::names).collect()
    }

    pub(super) fn expr(self) -> Result<Id<Expr>> {
        self.first(|part| match part {
            Part::Expr { expr } | Part::RestrictedExpr { expr } | Part::Call { expr } => Some(expr),
            _ => None,
        })
    }

    pub(super) fn data_type(self) -> Result<Id<TypeName>> {
        self.first(|part| if let Part::Type { data_type } = part { Some(data_type) } else { None })
    }

    /// The types right in it.
    pub(super) fn data_types(self) -> impl Iterator<Item = Id<TypeName>> + 'p {
        self.each().filter_map(|part| if let Part::Type { data_type } = part { Some(data_type) } else { None })
    }

    /// The expressions right in it.
    pub(super) fn exprs(self) -> impl Iterator<Item = Id<Expr>> + 'p {
        self.each().filter_map(|part| if let Part::Expr { expr } = part { Some(expr) } else { None })
    }

    /// The names of the types right in it.
    pub(super) fn type_names(self) -> Result<Vec<ObjectName>> {
        self.data_types().map(|data_type| self.type_name(data_type)).collect()
    }

    fn type_name(self, data_type: Id<TypeName>) -> Result<ObjectName> {
        let (tree, place) = (self.tree(), self.tree().span(data_type).start);
        let TypeName { names, modifiers, bounds, .. } = tree.get(data_type);
        if names.is_empty() || !modifiers.is_empty() || !bounds.is_empty() {
            // Grammar's own: none that users make.
            return Ok(ObjectName {
                place: Some(place),
                ..ObjectName::new(Some("pg_catalog"), tree.written(data_type))
            });
        }
        let parts = tree.list(names).map(|part| name_text(tree, part).to_owned()).collect();
        let name = object_name(parts).map_err(|error| self.at(error, place))?;
        Ok(ObjectName { place: Some(place), ..name })
    }

    fn statements(self) -> impl Iterator<Item = Id<Statement>> + 'p {
        self.each().filter_map(|part| if let Part::Statement { statement } = part { Some(statement) } else { None })
    }

    pub(super) fn statement(self) -> Option<Id<Statement>> {
        self.statements().next()
    }

    pub(super) fn query(self) -> Option<Id<Query>> {
        self.statements().find_map(|statement| match self.tree().get(statement) {
            Statement::Query { query } => Some(query),
            _ => None,
        })
    }

    /// The names of tables and their like right in it.
    pub(super) fn relations(self) -> Result<Vec<ObjectName>> {
        let relation = |relation: Id<Relation>| self.tree().get(relation).name;
        let named = self.each().filter_map(|part| match part {
            Part::Table { name } => Some(name),
            Part::Relation { relation: id } => Some(relation(id)),
            _ => None,
        });
        named.map(|name| self.relation_name(name)).collect()
    }

    pub(super) fn relation(self) -> Result<ObjectName> {
        self.relations()?.into_iter().next().ok_or_else(|| self.incomplete())
    }

    fn relation_name(self, name: Id<QualifiedName>) -> Result<ObjectName> {
        let tree = self.tree();
        let parts: Vec<String> = tree.list(tree.get(name).parts).map(|part| name_text(tree, part).to_owned()).collect();
        let place = tree.span(name).start;
        let name = object_name(parts).map_err(|error| self.at(error, place))?;
        Ok(ObjectName { place: Some(place), ..name })
    }

    /// A function's name.
    pub(super) fn called_name(self) -> Result<ObjectName> {
        let tree = self.tree();
        let names = self.first(|part| match part {
            Part::Names { names } => Some(names),
            _ => None,
        })?;
        let parts: Vec<String> = tree.list(names).map(|part| name_text(tree, part).to_owned()).collect();
        let name = object_name(parts).map_err(|error| self.here(error))?;
        Ok(ObjectName { place: Some(self.start()), ..name })
    }

    /// The parts of an `any_name`.
    pub(super) fn dotted_names(self) -> impl Iterator<Item = Vec<String>> + 'p {
        self.parts("any_name").map(|name| name.names().collect())
    }

    /// The relations that are named by `any_name`s.
    pub(super) fn named_relations(self) -> Result<Vec<ObjectName>> {
        self.parts("any_name").map(|name| name.relation_of(&name.names().collect::<Vec<_>>())).collect()
    }

    /// The relation that these parts of a name mean.
    pub(super) fn relation_of(self, parts: &[String]) -> Result<ObjectName> {
        object_name(parts.to_vec()).map_err(|error| self.here(error))
    }

    /// Whether CASCADE is said; RESTRICT is the default.
    pub(super) fn is_cascade(self) -> bool {
        self.part("behavior").is_some_and(|behavior| behavior.has(TokenKind::Cascade))
    }

    /// What a constant, a word or a number among an option's parts says.
    pub(super) fn value_text(self) -> String {
        let tree = self.tree();
        let mut text = String::new();
        for part in self.parts.each() {
            match tree.get(part) {
                Part::Expr { expr } => match tree.get(expr) {
                    Expr::String { text: said } => text.push_str(tree.text(said)),
                    _ => text.push_str(tree.written(expr)),
                },
                Part::Keyword { .. } => text.push_str(&tree.written(part).to_ascii_lowercase()),
                Part::Type { .. } => text.push_str(tree.written(part)),
                Part::Rule { .. } => {
                    let inner = Parts::of(tree, part).map(|parts| Clause { parts, ..self }.value_text());
                    text.push_str(&inner.unwrap_or_default());
                }
                other => text.push_str(name_of(other).map_or("", |name| name_text(tree, name))),
            }
        }
        text
    }

    /// What a string right in it says.
    pub(super) fn constant_text(self) -> Option<String> {
        self.constants().next()
    }

    /// What the strings right in it say.
    pub(super) fn constants(self) -> impl Iterator<Item = String> + 'p {
        let tree = self.tree();
        self.each().filter_map(move |part| match part {
            Part::Expr { expr } => match tree.get(expr) {
                Expr::String { text } => Some(tree.text(text).to_owned()),
                _ => None,
            },
            _ => None,
        })
    }

    /// Its words up to the first name or the first part of its own, without those that may be left out.
    pub(super) fn first_words(self) -> String {
        const PASSED: &[&str] = &["UNIQUE", "DEFAULT", "CONCURRENTLY"];
        const OPTIONAL: &[&str] = &["or_replace", "temporary", "if_exists", "if_not_exists"];
        const KINDS: &[&str] =
            &["object_with_any_name", "object_with_name", "droppable_by_name", "text_search", "analyze_word"];
        let tree = self.tree();
        let mut words: Vec<String> = Vec::new();
        for part in self.parts.each() {
            match (self.keyword(part), Parts::of(tree, part)) {
                (Some(word), _) if PASSED.contains(&word.as_str()) => {}
                (Some(word), _) => words.push(word),
                (_, Some(rule)) if OPTIONAL.contains(&rule.name()) => {}
                (_, Some(rule)) if KINDS.contains(&rule.name()) => {
                    words.push(Clause { parts: rule, ..self }.first_words());
                    break;
                }
                _ => break,
            }
        }
        words.join(" ")
    }

    /// The words right behind the first name.
    pub(super) fn words_behind_name(self) -> String {
        let is_name = |part: &Id<Part>| {
            let part = self.tree().get(*part);
            name_of(part).is_some() || matches!(part, Part::Table { .. } | Part::Relation { .. } | Part::Expr { .. })
        };
        let mut words: Vec<String> = Vec::new();
        for part in self.parts.each().skip_while(|part| !is_name(part)).skip(1) {
            let Some(word) = self.keyword(part) else {
                let rule = Parts::of(self.tree(), part);
                words.extend(rule.map(|parts| Clause { parts, ..self }.first_words()));
                break;
            };
            words.push(word);
        }
        words.join(" ").trim_end().to_owned()
    }

    /// A keyword in capitals; none where the part is a symbol or no keyword.
    fn keyword(self, part: Id<Part>) -> Option<String> {
        let written = self.tree().written(part).to_ascii_uppercase();
        let is_word = written.starts_with(|first: char| first.is_ascii_alphabetic());
        (matches!(self.tree().get(part), Part::Keyword { .. }) && is_word).then_some(written)
    }

    /// Its place in the statement.
    pub(super) fn start(self) -> u32 {
        self.parts.start()
    }

    /// The error, at a byte of the statement.
    pub(super) fn at(self, error: Error, byte: u32) -> Error {
        error.at(self.parsed.position_of(byte as usize))
    }

    /// The error, where this begins.
    pub(super) fn here(self, error: Error) -> Error {
        self.at(error, self.start())
    }

    /// SQLSTATE 0A000, where this begins.
    pub(super) fn unsupported(self, what: impl std::fmt::Display) -> Error {
        self.here(Error::unsupported(what))
    }

    /// The same of a feature that something is said of.
    pub(super) fn lacking(self, feature: Feature, what: impl std::fmt::Display) -> Error {
        self.here(Error::lacking(feature, what))
    }

    /// As [`Clause::refuse`], of a feature that something is said of.
    pub(super) fn refuse_feature(self, rule: &'static str, feature: Feature, what: &str) -> Result<()> {
        self.part(rule).map_or(Ok(()), |part| Err(part.lacking(feature, what)))
    }

    /// As [`Clause::refuse_word`], of a feature that something is said of.
    pub(super) fn refuse_feature_word(self, keyword: TokenKind, feature: Feature, what: &str) -> Result<()> {
        self.place_of_word(keyword).map_or(Ok(()), |place| Err(self.at(Error::lacking(feature, what), place)))
    }

    /// Refuses the part of this rule.
    pub(super) fn refuse(self, rule: &'static str, what: &str) -> Result<()> {
        self.part(rule).map_or(Ok(()), |part| Err(part.unsupported(what)))
    }

    /// Refuses this keyword.
    pub(super) fn refuse_word(self, keyword: TokenKind, what: &str) -> Result<()> {
        self.place_of_word(keyword).map_or(Ok(()), |place| Err(self.at(Error::unsupported(what), place)))
    }

    fn place_of_word(self, keyword: TokenKind) -> Option<u32> {
        let is = |part: &Id<Part>| is_keyword(self.tree().get(*part), keyword);
        self.parts.each().find(is).map(|part| self.tree().span(part).start)
    }
}

fn is_keyword(part: Part, keyword: TokenKind) -> bool {
    part == Part::Keyword { kind: keyword as u32 }
}

fn name_of(part: Part) -> Option<Id<Name>> {
    match part {
        Part::Name { name } | Part::Ident { name } | Part::Label { name } | Part::FunctionWord { name } => Some(name),
        _ => None,
    }
}
