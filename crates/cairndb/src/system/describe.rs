//! Definitions as SQL: `pg_get_indexdef` and its like.

use cairn_parser::token::quoted;

use super::relation::object;
use super::{BoundViews, DefinitionStyle, ExpressionOver, index_columns, names, oid_of};
use crate::catalog::{
    Catalog, Check, Column, Deferral, Definition, ForeignKey, Index, Language, ObjectId, OfDomain, ParameterMode,
    ReferentialAction, Relation, Returns, Routine, RoutineKind, RoutineParameter, Table, Trigger, TriggerEvent,
    Triggered, View,
};
use crate::functions::Volatility;
use crate::types::DataType;

/// What definitions are told by.
#[derive(Clone, Copy)]
pub(super) struct Telling<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) bound: &'a dyn BoundViews,
    /// As people read it.
    pub(super) is_pretty: bool,
}

impl<'a> Telling<'a> {
    /// With all parentheses.
    pub(super) fn new(catalog: &'a Catalog, bound: &'a dyn BoundViews) -> Telling<'a> {
        Telling { catalog, bound, is_pretty: false }
    }

    pub(super) fn pretty(self, is_pretty: bool) -> Telling<'a> {
        Telling { is_pretty, ..self }
    }

    fn style(self, wrap: usize) -> DefinitionStyle {
        DefinitionStyle { is_pretty: self.is_pretty, wrap }
    }

    fn expression(self, text: &str, over: ExpressionOver<'_>, wanted: Option<DataType>) -> Option<String> {
        self.bound.expression_text(text, over, wanted, (self.catalog, self.style(0)))
    }

    /// A condition as it is written, or as it is stored in the parentheses that PostgreSQL writes.
    pub(super) fn condition(self, text: &str, over: ExpressionOver<'_>) -> String {
        let written = self.expression(text, over, Some(DataType::Boolean));
        written.unwrap_or_else(|| match self.is_pretty {
            true => without_parentheses(text).to_owned(),
            false => in_parentheses(text),
        })
    }

    /// What may be no condition.
    pub(super) fn condition_of_any(self, text: &str, over: ExpressionOver<'_>) -> String {
        self.expression(text, over, None).unwrap_or_else(|| without_parentheses(text).to_owned())
    }

    /// What a column, a parameter of this type are by themselves.
    pub(super) fn value(self, text: &str, data_type: DataType) -> String {
        let written = self.expression(text, ExpressionOver::Nothing, Some(data_type.base()));
        written.unwrap_or_else(|| typed(text, data_type))
    }

    /// What a column is computed from.
    pub(super) fn computed(self, text: &str, table: &Table, data_type: DataType) -> String {
        let written = self.expression(text, ExpressionOver::Table(table), Some(data_type.base()));
        written.unwrap_or_else(|| in_parentheses(text))
    }

    /// An expression of an index's key: what is no call stands in parentheses of its own.
    pub(super) fn key(self, text: &str, table: &Table) -> String {
        let written = self.expression(text, ExpressionOver::Table(table), None);
        let written = written.unwrap_or_else(|| in_parentheses(text));
        let name = written.find(|c: char| !(c.is_alphanumeric() || "_.\"".contains(c))).unwrap_or_default();
        let is_call = name > 0 && written[name..].starts_with('(') && closes_at_end(&written[name..]);
        if is_call { written } else { format!("({written})") }
    }

    /// A materialized view's query; lists of more than `wrap` characters are parted.
    pub(super) fn query(self, query: &Definition, table: &Table, wrap: usize) -> String {
        let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        let written = self.bound.query_text(query, &names, self.catalog, self.style(wrap));
        format!("{};", written.unwrap_or_else(|| self.catalog.text_of(query)))
    }

    /// A view's query.
    pub(super) fn view(self, view: &View, wrap: usize) -> String {
        let text = self.bound.query_text(&view.query, &view.columns, self.catalog, self.style(wrap));
        format!("{};", text.unwrap_or_else(|| self.catalog.view_text(view)))
    }
}

/// CREATE INDEX.
pub(super) fn index(told: Telling<'_>, table: &Table, of: &Index) -> String {
    let (catalog, pretty) = (told.catalog, told.is_pretty);
    let unique = if of.is_told_unique() { "UNIQUE " } else { "" };
    let schema = catalog.schema_name(table.schema).unwrap_or_default();
    let on = match pretty {
        true => catalog.table_name(table),
        false => format!("{}.{}", quoted(schema), quoted(&table.name)),
    };
    let columns = index_columns(told, table, of).join(", ");
    let over = ExpressionOver::Table(table);
    let predicate = of.predicate.as_ref();
    let filter = predicate.map(|of| format!(" WHERE {}", told.condition(&of.definition.text, over)));
    let filter = filter.unwrap_or_default();
    let nulls = if of.nulls_equal { " NULLS NOT DISTINCT" } else { "" };
    let included = match names(table, &of.included).as_slice() {
        [] => String::new(),
        names => format!(" INCLUDE ({})", names.join(", ")),
    };
    let method = if of.is_inverted() { "gin" } else { "btree" };
    format!("CREATE {unique}INDEX {} ON {on} USING {method} ({columns}){included}{nulls}{filter}", quoted(&of.name))
}

/// An expression as PostgreSQL writes conditions.
pub(super) fn in_parentheses(text: &str) -> String {
    let opens = text.starts_with('(') && closes_at_end(text);
    if opens { text.to_owned() } else { format!("({text})") }
}

/// An expression without the parentheses around all of it.
pub(super) fn without_parentheses(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    inner.filter(|_| closes_at_end(text)).unwrap_or(text)
}

/// Whether the parenthesis that a text begins with is closed by its last character.
fn closes_at_end(text: &str) -> bool {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && quote.is_none() {
            return at + c.len_utf8() == text.len();
        }
    }
    false
}

/// PRIMARY KEY, UNIQUE.
pub(super) fn key(table: &Table, of: &Index) -> String {
    let kind = match () {
        () if of.primary => "PRIMARY KEY",
        () if of.nulls_equal => "UNIQUE NULLS NOT DISTINCT",
        () => "UNIQUE",
    };
    let included = match names(table, &of.included).as_slice() {
        [] => String::new(),
        names => format!(" INCLUDE ({})", names.join(", ")),
    };
    format!("{kind} ({}){included}{}", names(table, of.positions()).join(", "), deferral(of.deferral))
}

fn deferral(deferral: Deferral) -> &'static str {
    match deferral {
        Deferral::Never => "",
        Deferral::Immediate => " DEFERRABLE",
        Deferral::Deferred => " DEFERRABLE INITIALLY DEFERRED",
    }
}

/// CHECK.
pub(super) fn check(told: Telling<'_>, check: &Check, over: ExpressionOver<'_>) -> String {
    let valid = if check.valid { "" } else { " NOT VALID" };
    format!("CHECK ({}){valid}", told.condition(&told.catalog.text_of(&check.condition), over))
}

/// FOREIGN KEY.
pub(super) fn foreign_key(catalog: &Catalog, table: &Table, key: &ForeignKey) -> String {
    let parent = catalog.table_by_id(key.referenced_table);
    let (to, columns) = match parent {
        Some(parent) => (catalog.table_name(parent), names(parent, &key.referenced_columns).join(", ")),
        None => Default::default(),
    };
    let mut text = format!("FOREIGN KEY ({}) REFERENCES {to}({columns})", names(table, &key.columns).join(", "));
    if key.full {
        text.push_str(" MATCH FULL");
    }
    for (event, action) in [(" ON UPDATE ", key.on_update), (" ON DELETE ", key.on_delete)] {
        if action != ReferentialAction::NoAction {
            text.extend([event, rule(action)]);
        }
    }
    if !key.set_on_delete.is_empty() {
        text.push_str(&format!(" ({})", names(table, &key.set_on_delete).join(", ")));
    }
    text.push_str(deferral(key.deferral));
    if !key.valid {
        text.push_str(" NOT VALID");
    }
    text
}

/// A default as PostgreSQL writes it: it says of what type a literal is, and that a sequence is a relation.
pub(super) fn default(told: Telling<'_>, column: &Column) -> Option<String> {
    Some(told.value(&told.catalog.text_of(column.default.as_ref()?), column.data_type))
}

fn typed(text: &str, data_type: DataType) -> String {
    let sequence = text.strip_prefix("nextval(").and_then(|rest| rest.strip_suffix(')'));
    match sequence.filter(|name| is_literal(name)) {
        Some(name) => format!("nextval({name}::regclass)"),
        None if is_literal(text) => format!("{text}::{}", data_type.base()),
        None => text.to_owned(),
    }
}

/// Whether a text is one quoted string and nothing else.
fn is_literal(text: &str) -> bool {
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    inner.is_some_and(|inner| !inner.replace("''", "").contains('\''))
}

/// A referential action's name.
pub(super) fn rule(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

/// The constraint with this oid.
pub(super) fn constraint(told: Telling<'_>, oid: i64) -> Option<String> {
    let catalog = told.catalog;
    if let Some((table, index)) = index_by_oid(catalog, oid) {
        return index.constraint.then(|| key(table, index));
    }
    if let Some((_, _, Relation::Table(table))) = catalog.relation_of(object(oid)?) {
        let checks = table.checks.iter().find(|check| oid_of(check.id) == oid);
        let keys = || table.foreign_keys.iter().find(|key| oid_of(key.id) == oid);
        return match checks {
            Some(found) => Some(check(told, found, ExpressionOver::Table(table))),
            None => keys().map(|found| foreign_key(catalog, table, found)),
        };
    }
    let mut domains = catalog.types().filter_map(|of| of.domain());
    domains.find_map(|domain| {
        let found = domain.checks.iter().find(|check| oid_of(check.id) == oid)?;
        Some(check(told, found, ExpressionOver::Value(domain.base)))
    })
}

/// CREATE TRIGGER.
pub(super) fn trigger(told: Telling<'_>, triggered: Triggered<'_>, of: &Trigger) -> String {
    let (catalog, pretty, on) = (told.catalog, told.is_pretty, triggered);
    let time = of.timing.name();
    let kind = if of.deferral.is_some() { "CONSTRAINT TRIGGER" } else { "TRIGGER" };
    let deferral = match of.deferral {
        None => "",
        Some(Deferral::Never) => "NOT DEFERRABLE INITIALLY IMMEDIATE ",
        Some(Deferral::Immediate) => "DEFERRABLE INITIALLY IMMEDIATE ",
        Some(Deferral::Deferred) => "DEFERRABLE INITIALLY DEFERRED ",
    };
    let tables = [("OLD", &of.old_table), ("NEW", &of.new_table)].into_iter();
    let tables = tables.filter_map(|(row, name)| Some(format!(" {row} TABLE AS {}", quoted(name.as_ref()?))));
    let tables: String = tables.collect();
    let referencing = if tables.is_empty() { String::new() } else { format!("REFERENCING{tables} ") };
    let columns: Vec<String> = on.columns_of(of).into_iter().map(quoted).collect();
    let event = |event: &TriggerEvent| match event.name() {
        "UPDATE" if !columns.is_empty() => format!("UPDATE OF {}", columns.join(", ")),
        name => name.to_owned(),
    };
    let order = [TriggerEvent::Insert, TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Truncate];
    let events: Vec<String> = order.iter().filter(|known| of.events.contains(known)).map(event).collect();
    let on = match pretty {
        true => catalog.shown(on.schema(), on.name()),
        false => format!("{}.{}", quoted(catalog.schema_name(on.schema()).unwrap_or_default()), quoted(on.name())),
    };
    let each = if of.per_row { "ROW" } else { "STATEMENT" };
    let over = match triggered {
        Triggered::Table(table) => ExpressionOver::Rows(table),
        Triggered::View(_) => ExpressionOver::Nothing,
    };
    let when = of.when.as_ref().map(|when| format!("WHEN ({}) ", told.condition(when, over))).unwrap_or_default();
    let routine = catalog.routine_by_id(of.routine).and_then(|function| function.routine().cloned());
    let called = routine.map_or_else(String::new, |routine| {
        let name = catalog.shown_routine(&routine);
        name.split('(').next().unwrap_or_default().to_owned()
    });
    let args: Vec<String> = of.args.iter().map(|arg| format!("'{}'", arg.replace('\'', "''"))).collect();
    format!(
        "CREATE {kind} {} {time} {} ON {on} {deferral}{referencing}FOR EACH {each} {when}EXECUTE FUNCTION {called}({})",
        quoted(&of.name),
        events.join(" OR "),
        args.join(", ")
    )
}

/// The parameters of a routine; `defaults`: with what they are where a call does not say.
pub(super) fn arguments(told: Telling<'_>, routine: &Routine, defaults: bool) -> String {
    let catalog = told.catalog;
    let shown = |parameter: &RoutineParameter| {
        let mode = match parameter.shown_mode() {
            ParameterMode::In if routine.kind == RoutineKind::Procedure => "IN ",
            ParameterMode::In | ParameterMode::Table => "",
            ParameterMode::Out => "OUT ",
            ParameterMode::InOut => "INOUT ",
            ParameterMode::Variadic => "VARIADIC ",
        };
        let name = parameter.name.as_ref().map_or_else(String::new, |name| format!("{} ", quoted(name)));
        let default = parameter.default.as_ref().filter(|_| defaults);
        let default = default.map(|default| told.value(&catalog.text_of(default), parameter.data_type));
        let default = default.map_or_else(String::new, |default| format!(" DEFAULT {default}"));
        format!("{mode}{name}{}{default}", type_of(catalog, parameter))
    };
    let listed = routine.parameters.iter().filter(|parameter| parameter.mode != ParameterMode::Table);
    listed.map(shown).collect::<Vec<_>>().join(", ")
}

fn type_of(catalog: &Catalog, parameter: &RoutineParameter) -> String {
    let table = parameter.row_of.and_then(|table| catalog.table_by_id(table));
    match (parameter.pseudo, table) {
        _ if parameter.domain.is_some() => domain_of(catalog, parameter.domain.as_ref()).unwrap_or_default(),
        (Some(pseudo), _) => pseudo.type_name().to_owned(),
        (None, Some(table)) => catalog.table_name(table),
        (None, None) => parameter.data_type.base().to_string(),
    }
}

/// The name of a domain that a function speaks of.
fn domain_of(catalog: &Catalog, domain: Option<&OfDomain>) -> Option<String> {
    Some(catalog.shown_type(catalog.type_by_id(domain?.id)?))
}

/// What a function returns; `None`: it is a procedure.
pub(super) fn result(catalog: &Catalog, routine: &Routine) -> Option<String> {
    if routine.kind == RoutineKind::Procedure {
        return None;
    }
    let columns: Vec<String> = routine
        .parameters
        .iter()
        .filter(|parameter| parameter.mode == ParameterMode::Table)
        .map(|of| format!("{} {}", quoted(of.name.as_deref().unwrap_or_default()), type_of(catalog, of)))
        .collect();
    if !columns.is_empty() {
        return Some(format!("TABLE({})", columns.join(", ")));
    }
    let of = match routine.returns {
        _ if routine.domain.is_some() => domain_of(catalog, routine.domain.as_ref()).unwrap_or_default(),
        Returns::Void => "void".to_owned(),
        Returns::Trigger => "trigger".to_owned(),
        Returns::Type(data_type) => data_type.base().to_string(),
        Returns::Any(declared) => declared.type_name().to_owned(),
        Returns::Row | Returns::Record => "record".to_owned(),
        Returns::RowOf(id) => catalog.table_by_id(id).map_or_else(String::new, |table| catalog.table_name(table)),
    };
    Some(if routine.set { format!("SETOF {of}") } else { of })
}

/// CREATE FUNCTION, CREATE PROCEDURE.
pub(super) fn routine(told: Telling<'_>, of: &Routine) -> String {
    let catalog = told.catalog;
    let kind = if of.kind == RoutineKind::Procedure { "PROCEDURE" } else { "FUNCTION" };
    let schema = quoted(catalog.schema_name(of.schema).unwrap_or_default());
    let mut text = format!("CREATE OR REPLACE {kind} {schema}.{}({})\n", quoted(&of.name), arguments(told, of, true));
    if let Some(result) = result(catalog, of) {
        text.push_str(&format!(" RETURNS {result}\n"));
    }
    text.push_str(&format!(" LANGUAGE {}\n", language(of)));
    let volatility = match of.volatility {
        Volatility::Volatile => "",
        Volatility::Stable => " STABLE",
        Volatility::Immutable => " IMMUTABLE",
    };
    let strict = if of.strict { " STRICT" } else { "" };
    if !volatility.is_empty() || of.strict {
        text.push_str(&format!("{volatility}{strict}\n"));
    }
    if !of.search_path.is_empty() {
        let schemas: Vec<String> =
            of.search_path.iter().map(|schema| format!("'{}'", schema.replace('\'', "''"))).collect();
        text.push_str(&format!(" SET search_path TO {}\n", schemas.join(", ")));
    }
    let mark = if of.kind == RoutineKind::Procedure { "$procedure$" } else { "$function$" };
    text.push_str(&format!("AS {mark}{}{mark}\n", of.body));
    text
}

pub(super) fn language(of: &Routine) -> &'static str {
    match of.language {
        Language::Sql => "sql",
        Language::PlPgSql => "plpgsql",
    }
}

/// The table and its index with this oid.
pub(super) fn index_by_oid(catalog: &Catalog, oid: i64) -> Option<(&Table, &Index)> {
    let Relation::Index(table, index) = catalog.relation_of(object(oid)?)?.2 else { return None };
    Some((table, index))
}

/// The name, the schema and what it is, of the relation with this oid.
pub(super) fn relation_by_oid(catalog: &Catalog, oid: i64) -> Option<(ObjectId, &str, &Relation)> {
    let id = object(oid)?;
    catalog.relation_of(id).filter(|(.., relation)| relation.id() == id)
}
