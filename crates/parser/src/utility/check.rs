//! What PostgreSQL's grammar refuses of a command although its words are in order: with its wording, where it says it.

use super::view::Parts;
use crate::error::{FEATURE_NOT_SUPPORTED, INVALID_PARAMETER_VALUE, ParseError, Result, SYNTAX_ERROR};
use crate::parse::Parser;
use crate::syntax::{Expr, Part, Relation, Statement};
use crate::token::TokenKind as T;
use crate::tree::{Id, List};

/// `reserved_name`
const RESERVED_NAME: &str = "42939";
/// `duplicate_object`
const DUPLICATE_OBJECT: &str = "42710";

/// What options of roles there are besides those with words of their own.
const ROLE_FLAGS: &[&str] = &[
    "superuser",
    "nosuperuser",
    "createrole",
    "nocreaterole",
    "replication",
    "noreplication",
    "createdb",
    "nocreatedb",
    "login",
    "nologin",
    "bypassrls",
    "nobypassrls",
    "noinherit",
];

/// Looks at what was just read for the rule of this name.
pub(super) fn check(parser: &Parser<'_>, rule: &'static str, start: u32, parts: List<Part>) -> Result<()> {
    let parts = Parts { tree: &parser.tree, name: rule, parts, start };
    match rule {
        "role" => parts.role(&["none"]),
        "new_role" | "renamed_role" => parts.role(&["none", "public"]).and_then(|()| parts.no_current_role()),
        "role_option" | "alter_role_option" => parts.lacks(
            T::Unencrypted,
            "UNENCRYPTED PASSWORD is no longer supported",
            "Remove UNENCRYPTED to store the password in encrypted form instead.",
        ),
        "role_flag" => parts.known_word(ROLE_FLAGS, "role option"),
        "policy_kind" => parts.known_word(&["permissive", "restrictive"], "row security option"),
        "match" => parts.lacks(T::Partial, "MATCH PARTIAL not yet implemented", ""),
        "extension_from" => parts.lacks(T::From, "CREATE EXTENSION ... FROM is no longer supported", ""),
        "create_assertion" => parts.lacks(T::Assertion, "CREATE ASSERTION is not yet implemented", ""),
        "set_rest_more" => parts.no_catalog(),
        "zone_interval" => parts.zone_interval(),
        "create_schema" => parts.schema_elements(),
        "alter_column" => parts.column_number(),
        "identity_option" => parts.identity_option(),
        "alter_type" if parts.rule("type_command").is_some() || parts.has(T::Attribute) => parts.short_name(),
        "create_type" if parts.has(T::As) && !parts.has(T::Enum) && !parts.has(T::Range) => parts.short_name(),
        "hash_bound" => parts.hash_bound(),
        "copy" => parts.copy(),
        "column_rule" => parts.generated(),
        "on_update" => parts.on_update(),
        "trigger_events" => parts.trigger_events(parser),
        "aggregate_argument" => parts.input_argument(),
        "aggregate_arguments" => parts.aggregate_arguments(),
        "operator_signature" => parts.two_operands(),
        "create_view" => parts.recursive_view(),
        "create_function" => parts.table_function(),
        "create_publication" | "alter_publication" => {
            parts.rule("publication_objects").map_or(Ok(()), |objects| objects.publication_objects())
        }
        "column" | "typed_element" | "create_domain" => parts.one_collation(),
        "check_rule" => parts.attributes("CHECK", &[T::Valid, T::Inherit]),
        "unique_rule" => parts.attributes("UNIQUE", &[T::Deferrable]),
        "primary_key_rule" => parts.attributes("PRIMARY KEY", &[T::Deferrable]),
        "exclude_rule" => parts.attributes("EXCLUDE", &[T::Deferrable]),
        "foreign_key_rule" => parts.attributes("FOREIGN KEY", &[T::Deferrable, T::Valid]),
        "table_command" => parts.attributes("FOREIGN KEY", &[T::Deferrable]),
        "rule_action" => parts.no_merge(parser),
        "create_constraint_trigger" => parts.constraint_trigger(),
        _ => Ok(()),
    }
}

fn refused(sqlstate: &'static str, message: impl Into<String>, position: u32) -> Result<()> {
    Err(ParseError::new(sqlstate, message, position))
}

impl Parts<'_, '_> {
    fn lacks(&self, keyword: T, message: &str, hint: &'static str) -> Result<()> {
        match self.has(keyword) {
            false => Ok(()),
            true if hint.is_empty() => refused(FEATURE_NOT_SUPPORTED, message, self.start),
            true => Err(ParseError::new(FEATURE_NOT_SUPPORTED, message, self.start).with_hint(hint)),
        }
    }

    fn role(&self, reserved: &[&str]) -> Result<()> {
        match self.first_name() {
            Some(name) if reserved.contains(&name) => {
                refused(RESERVED_NAME, format!("role name \"{name}\" is reserved"), self.start)
            }
            _ => Ok(()),
        }
    }

    fn no_current_role(&self) -> Result<()> {
        let known =
            [(T::CurrentRole, "CURRENT_ROLE"), (T::CurrentUser, "CURRENT_USER"), (T::SessionUser, "SESSION_USER")];
        match known.iter().find(|(kind, _)| self.has(*kind)) {
            Some((_, name)) => refused(RESERVED_NAME, format!("{name} cannot be used as a role name here"), self.start),
            None => Ok(()),
        }
    }

    fn known_word(&self, known: &[&str], what: &str) -> Result<()> {
        match self.first_name() {
            Some(word) if !known.contains(&word) => {
                refused(SYNTAX_ERROR, format!("unrecognized {what} \"{word}\""), self.start)
            }
            _ => Ok(()),
        }
    }

    fn no_catalog(&self) -> Result<()> {
        match (self.has(T::Catalog), self.each().nth(1)) {
            (true, Some(name)) => {
                refused(FEATURE_NOT_SUPPORTED, "current database cannot be changed", self.start_of(name))
            }
            _ => Ok(()),
        }
    }

    fn zone_interval(&self) -> Result<()> {
        let Some(fields) = self.rule("interval_fields") else { return Ok(()) };
        let other = [T::Year, T::Month, T::Day].iter().any(|kind| fields.has(*kind))
            || fields.rule("interval_second").is_some();
        match other {
            true => refused(SYNTAX_ERROR, "time zone interval must be HOUR or HOUR TO MINUTE", fields.start),
            false => Ok(()),
        }
    }

    fn schema_elements(&self) -> Result<()> {
        match (self.rule("if_not_exists"), self.rule("schema_element")) {
            (Some(_), Some(element)) => {
                let message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
                refused(FEATURE_NOT_SUPPORTED, message, element.start)
            }
            _ => Ok(()),
        }
    }

    fn column_number(&self) -> Result<()> {
        let Some(Part::Expr { expr }) = self.each().next().map(|part| self.tree.get(part)) else { return Ok(()) };
        let Expr::Integer { text } = self.tree.get(expr) else { return Ok(()) };
        match self.tree.text(text).parse::<i16>() {
            Ok(1..) => Ok(()),
            _ => refused(INVALID_PARAMETER_VALUE, "column number must be in range from 1 to 32767", self.start),
        }
    }

    fn identity_option(&self) -> Result<()> {
        let Some(option) = self.rule("sequence_option") else { return Ok(()) };
        let unfit = [(T::As, "as"), (T::Restart, "restart"), (T::Owned, "owned_by")];
        match unfit.iter().find(|(kind, _)| option.has(*kind)) {
            Some((_, name)) => {
                refused(SYNTAX_ERROR, format!("sequence option \"{name}\" not supported here"), option.start)
            }
            None => Ok(()),
        }
    }

    /// A composite type's name is a table's: at most a database, a schema and a name.
    fn short_name(&self) -> Result<()> {
        let Some(name) = self.rule("any_name") else { return Ok(()) };
        let parts = name.each().filter_map(|part| self.name_text(part));
        let parts: Vec<&str> = parts.collect();
        match parts.len() {
            ..=3 => Ok(()),
            _ => {
                let message = format!("improper qualified name (too many dotted names): {}", parts.join("."));
                refused(SYNTAX_ERROR, message, name.start)
            }
        }
    }

    fn hash_bound(&self) -> Result<()> {
        let mut seen = Vec::new();
        for element in self.rules("hash_bound_element") {
            let name = element.first_name().unwrap_or("");
            if !["modulus", "remainder"].contains(&name) {
                let message = format!("unrecognized hash partition bound specification \"{name}\"");
                return refused(SYNTAX_ERROR, message, element.start);
            }
            if seen.contains(&name) {
                let message = format!("{name} for hash partition provided more than once");
                return refused(DUPLICATE_OBJECT, message, element.start);
            }
            seen.push(name);
        }
        match ["modulus", "remainder"].iter().find(|name| !seen.contains(name)) {
            Some(name) => refused(SYNTAX_ERROR, format!("{name} for hash partition must be specified"), self.start),
            None => Ok(()),
        }
    }

    fn copy(&self) -> Result<()> {
        if let Some(file) = self.rule("copy_file")
            && file.has(T::Program)
            && (file.has(T::Stdin) || file.has(T::Stdout))
        {
            let behind = [T::Using, T::Delimiters, T::To].iter().find_map(|kind| self.keyword(*kind));
            let position = behind.map_or(file.start, |part| self.start_of(part));
            return refused(SYNTAX_ERROR, "STDIN/STDOUT not allowed with PROGRAM", position);
        }
        match self.rule("copy_where") {
            Some(filter) if self.has(T::To) => {
                refused(SYNTAX_ERROR, "WHERE clause not allowed with COPY TO", filter.start)
            }
            _ => Ok(()),
        }
    }

    fn generated(&self) -> Result<()> {
        match (self.rule("generated_from"), self.rule("generated_when")) {
            (Some(_), Some(when)) if when.has(T::By) => {
                let message = "for a generated column, GENERATED ALWAYS must be specified";
                refused(SYNTAX_ERROR, message, when.start)
            }
            _ => Ok(()),
        }
    }

    fn on_update(&self) -> Result<()> {
        let Some(action) = self.rule("key_action") else { return Ok(()) };
        if action.rule("columns").is_none() {
            return Ok(());
        }
        let what = if action.has(T::Null) { "SET NULL" } else { "SET DEFAULT" };
        let message = format!("a column list with {what} is only supported for ON DELETE actions");
        refused(FEATURE_NOT_SUPPORTED, message, self.start)
    }

    /// PostgreSQL tells of the token that it has looked at: behind UPDATE the next one, for OF might follow.
    fn trigger_events(&self, parser: &Parser<'_>) -> Result<()> {
        let mut seen = Vec::new();
        let events: Vec<Parts<'_, '_>> = self.rules("trigger_event").collect();
        for (number, event) in events.iter().enumerate() {
            let Some(first) = event.each().next() else { continue };
            let kind = self.tree.get(first);
            if seen.contains(&kind) {
                let update = self.is_keyword(first, T::Update);
                let place = match (update, self.each().nth(2 * number + 1)) {
                    (false, _) => Some(self.start_of(first)),
                    (true, next) => next.map(|part| self.start_of(part)),
                };
                let what = "duplicate trigger events specified";
                return Err(place.map_or_else(|| parser.near(what), |place| parser.near_word(what, place)));
            }
            seen.push(kind);
        }
        Ok(())
    }

    /// Arguments that give something back.
    fn output_argument(&self) -> Option<u32> {
        let gives = |argument: &Parts<'_, '_>| {
            argument.rule("argument_mode").is_some_and(|mode| mode.has(T::Out) || mode.has(T::Inout))
        };
        self.rules("argument").find(gives).map(|argument| argument.start)
    }

    fn input_argument(&self) -> Result<()> {
        match self.output_argument() {
            Some(position) => refused(FEATURE_NOT_SUPPORTED, "aggregates cannot have output arguments", position),
            None => Ok(()),
        }
    }

    fn aggregate_arguments(&self) -> Result<()> {
        let Some(order) = self.keyword(T::Order) else { return Ok(()) };
        let behind = self.start_of(order);
        let arguments = self.rules("aggregate_argument").filter_map(|argument| argument.rule("argument"));
        let (ordered, direct): (Vec<_>, Vec<_>) = arguments.partition(|argument| argument.start > behind);
        let (Some(last), Some(first)) = (direct.last(), ordered.first()) else { return Ok(()) };
        if !last.is_variadic() || (ordered.len() == 1 && first.is_variadic() && last.same_type(first)) {
            return Ok(());
        }
        let message = "an ordered-set aggregate with a VARIADIC direct argument must have one VARIADIC aggregated \
                       argument of the same data type";
        let position = first.each().next_back().map_or(first.start, |data_type| self.start_of(data_type));
        refused(FEATURE_NOT_SUPPORTED, message, position)
    }

    fn is_variadic(&self) -> bool {
        self.rule("argument_mode").is_some_and(|mode| mode.has(T::Variadic))
    }

    fn same_type(&self, other: &Parts<'_, '_>) -> bool {
        match (self.each().next_back(), other.each().next_back()) {
            (Some(mine), Some(theirs)) => {
                self.tree.same(self.tree.reference(mine), other.tree, other.tree.reference(theirs))
            }
            _ => false,
        }
    }

    fn two_operands(&self) -> Result<()> {
        match (self.has(T::Comma), self.each().next_back()) {
            (false, Some(close)) => Err(ParseError::new(SYNTAX_ERROR, "missing argument", self.start_of(close))
                .with_hint("Use NONE to denote the missing argument of a unary operator.")),
            _ => Ok(()),
        }
    }

    fn recursive_view(&self) -> Result<()> {
        match (self.has(T::Recursive), self.rule("check_option")) {
            (true, Some(option)) => {
                let message = "WITH CHECK OPTION not supported on recursive views";
                refused(FEATURE_NOT_SUPPORTED, message, option.start)
            }
            _ => Ok(()),
        }
    }

    fn table_function(&self) -> Result<()> {
        let parameters =
            self.rule("parameters").into_iter().flat_map(|list| list.rules("parameter").collect::<Vec<_>>());
        let gives = parameters.into_iter().find_map(|parameter| parameter.output_argument());
        match (self.rule("result_column"), gives) {
            (Some(_), Some(position)) => {
                refused(SYNTAX_ERROR, "OUT and INOUT arguments aren't allowed in TABLE functions", position)
            }
            _ => Ok(()),
        }
    }

    /// A name alone goes on with what the object before it was.
    fn publication_objects(&self) -> Result<()> {
        let mut schemas = None;
        for object in self.rules("publication_object") {
            let named = object.has(T::Table) || object.has(T::Tables);
            match (named, schemas) {
                (true, _) => schemas = Some(object.has(T::Tables)),
                (false, None) => return refused(SYNTAX_ERROR, "invalid publication object list", object.start),
                (false, Some(schemas)) => object.publication_object(schemas)?,
            }
        }
        Ok(())
    }

    fn publication_object(&self, schemas: bool) -> Result<()> {
        let current = self.has(T::CurrentSchema);
        if !schemas {
            return if current { refused(SYNTAX_ERROR, "invalid table name", self.start) } else { Ok(()) };
        }
        if self.has(T::Where) {
            return refused(SYNTAX_ERROR, "WHERE clause not allowed for schema", self.start);
        }
        if self.rule("columns").is_some() {
            return refused(SYNTAX_ERROR, "column specification not allowed for schema", self.start);
        }
        let plain = self.each().next().is_some_and(|part| match self.tree.get(part) {
            Part::Relation { relation } => self.is_one_name(relation),
            _ => true,
        });
        if plain { Ok(()) } else { refused(SYNTAX_ERROR, "invalid schema name", self.start) }
    }

    fn is_one_name(&self, relation: Id<Relation>) -> bool {
        let Relation { name, only, .. } = self.tree.get(relation);
        let has_star = self.tree.span(relation).end != self.tree.span(name).end;
        !only && !has_star && self.tree.len(self.tree.get(name).parts) == 1
    }

    fn one_collation(&self) -> Result<()> {
        let constraints = self.rules("column_constraint").filter_map(|constraint| constraint.rule("collate"));
        let direct = self.rules("collate");
        match constraints.chain(direct).nth(1) {
            Some(second) => refused(SYNTAX_ERROR, "multiple COLLATE clauses not allowed", second.start),
            None => Ok(()),
        }
    }

    fn no_merge(&self, parser: &Parser<'_>) -> Result<()> {
        let first = self.each().next();
        let Some(Part::Statement { statement }) = first.map(|part| self.tree.get(part)) else { return Ok(()) };
        match self.tree.get(statement) {
            Statement::Merge { .. } => Err(parser.near_word("syntax error", self.start)),
            _ => Ok(()),
        }
    }

    fn constraint_trigger(&self) -> Result<()> {
        let said = self.said()?;
        if self.rule("or_replace").is_some() {
            let message = "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported";
            return refused(FEATURE_NOT_SUPPORTED, message, self.start);
        }
        self.allowed(&said, "TRIGGER", &[T::Deferrable])
    }

    /// Attributes of a constraint: none against another, and only those that its kind may have.
    fn attributes(&self, kind: &str, allowed: &[T]) -> Result<()> {
        let said = self.said()?;
        self.allowed(&said, kind, allowed)
    }

    fn said(&self) -> Result<Attributes> {
        let mut said = Attributes::default();
        for attribute in self.rules("rule_attribute") {
            said.add(&attribute)?;
        }
        Ok(said)
    }

    fn allowed(&self, said: &Attributes, kind: &str, allowed: &[T]) -> Result<()> {
        let refusals = [
            (said.deferrable || said.initially_deferred, T::Deferrable, "DEFERRABLE"),
            (said.not_valid, T::Valid, "NOT VALID"),
            (said.no_inherit, T::Inherit, "NO INHERIT"),
        ];
        match refusals.iter().find(|(said, attribute, _)| *said && !allowed.contains(attribute)) {
            Some((_, _, name)) => {
                refused(FEATURE_NOT_SUPPORTED, format!("{kind} constraints cannot be marked {name}"), self.start)
            }
            None => Ok(()),
        }
    }
}

#[derive(Default)]
struct Attributes {
    deferrable: bool,
    not_deferrable: bool,
    initially_deferred: bool,
    initially_immediate: bool,
    not_valid: bool,
    no_inherit: bool,
}

impl Attributes {
    fn add(&mut self, attribute: &Parts<'_, '_>) -> Result<()> {
        let negated = attribute.has(T::Not);
        self.deferrable |= attribute.has(T::Deferrable) && !negated;
        self.not_deferrable |= attribute.has(T::Deferrable) && negated;
        self.initially_deferred |= attribute.has(T::Deferred);
        self.initially_immediate |= attribute.has(T::Immediate);
        self.not_valid |= attribute.has(T::Valid);
        self.no_inherit |= attribute.has(T::Inherit);
        if self.not_deferrable && self.initially_deferred {
            return refused(SYNTAX_ERROR, "constraint declared INITIALLY DEFERRED must be DEFERRABLE", attribute.start);
        }
        let conflict = self.deferrable && self.not_deferrable || self.initially_deferred && self.initially_immediate;
        if conflict { refused(SYNTAX_ERROR, "conflicting constraint properties", attribute.start) } else { Ok(()) }
    }
}
