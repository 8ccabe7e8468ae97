//! Expressions.

use super::{Print, Printer};
use crate::parse::{Power, power};
use crate::syntax::{
    CallForm, CallTail, Expr, IsTest, JsonSort, Matching, Name, NormalForm, Operator, Over, SessionValue, SpecialForm,
    When,
};
use crate::tree::{Id, List};

impl Print for Expr {
    fn print(self, _: Id<Expr>, p: &mut Printer<'_, '_>) {
        match self {
            Expr::Null => p.say("NULL"),
            Expr::Boolean { value } => p.say(if value { "TRUE" } else { "FALSE" }),
            Expr::Integer { text } | Expr::Number { text } => p.verbatim(text),
            Expr::String { text } => p.string_text(text),
            Expr::BitString { text } => {
                p.say("B");
                p.string_text(text);
            }
            Expr::HexString { text } => {
                p.say("X");
                p.string_text(text);
            }
            Expr::Parameter { number } => {
                p.say("$");
                p.number(number);
            }
            Expr::Column { names } => p.dotted(names),
            Expr::All { qualifier } => {
                p.dotted(qualifier);
                p.say(if qualifier.is_empty() { "*" } else { ".*" });
            }
            Expr::Default => p.say("DEFAULT"),
            _ => p.compound(self),
        }
    }
}

impl Printer<'_, '_> {
    fn compound(&mut self, expr: Expr) {
        match expr {
            Expr::Binary { operator, left, right } => self.binary(operator, left, right),
            Expr::Unary { operator, operand } => self.unary(operator, operand),
            Expr::And { operands } => self.operands(operands, " AND ", power::AND),
            Expr::Or { operands } => self.operands(operands, " OR ", power::OR),
            Expr::Not { operand } => {
                self.say("NOT ");
                self.operand(operand, power::NOT);
            }
            Expr::Indirection { base, steps } => {
                let bare = match self.tree.get(base) {
                    Expr::Column { .. } => self.begins_with_subscript(steps),
                    Expr::Subquery { .. } | Expr::Parameter { .. } => true,
                    _ => false,
                };
                self.enclosed_if(!bare, base);
                self.separated(steps, "");
            }
            Expr::Cast { operand, data_type } => {
                self.operand(operand, power::CAST);
                self.say("::");
                self.node(data_type);
            }
            Expr::Collate { operand, collation } => {
                self.operand(operand, power::COLLATE);
                self.say(" COLLATE ");
                self.dotted(collation);
            }
            Expr::AtTimeZone { operand, zone } => {
                self.operand(operand, power::AT);
                self.say(" AT TIME ZONE ");
                self.operand(zone, power::AT + 1);
            }
            Expr::Is { .. } | Expr::IsDistinct { .. } | Expr::IsNormalized { .. } | Expr::IsJson { .. } => {
                self.is(expr)
            }
            Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::InList { .. }
            | Expr::InQuery { .. }
            | Expr::Overlaps { .. } => self.predicate(expr),
            Expr::Quantified { left, operator, all, right } => {
                self.quantifier(left, operator, all);
                self.node(right);
                self.say(")");
            }
            Expr::QuantifiedQuery { left, operator, all, query } => {
                self.quantifier(left, operator, all);
                self.node(query);
                self.say(")");
            }
            _ => self.primary(expr),
        }
    }

    fn enclosed_if(&mut self, parentheses: bool, expr: Id<Expr>) {
        self.say_if(parentheses, "(");
        self.node(expr);
        self.say_if(parentheses, ")");
    }

    fn begins_with_subscript(&self, steps: List<crate::syntax::Indirection>) -> bool {
        use crate::syntax::Indirection as I;
        let first = self.tree.nth(steps, 0).map(|step| self.tree.get(step));
        matches!(first, Some(I::Index { .. } | I::Slice { .. }))
    }

    fn binary(&mut self, operator: Id<Operator>, left: Id<Expr>, right: Id<Expr>) {
        let power = self.infix_power(operator);
        self.left_operand(left, power);
        self.say(" ");
        self.node(operator);
        self.say(" ");
        self.operand(right, power + 1);
    }

    /// The left operand of an operator; comparisons do not associate.
    fn left_operand(&mut self, left: Id<Expr>, power: Power) {
        let chain = !matches!(power, power::COMPARISON | power::MATCH);
        self.operand(left, if chain { power } else { power + 1 });
    }

    fn unary(&mut self, operator: Id<Operator>, operand: Id<Expr>) {
        let power = self.prefix_power(operator);
        let own = self.is_prefix_symbol(operator);
        self.say_if(!own, "OPERATOR(");
        self.node(operator);
        self.say_if(!own, ")");
        // Two signs in a row would be a comment, an operator and a sign another operator.
        let sign_follows = matches!(self.tree.get(operand), Expr::Unary { .. });
        self.say_if(power != power::SIGN || sign_follows, " ");
        self.operand(operand, if power == power::SIGN { power } else { power + 1 });
    }

    fn operands(&mut self, operands: List<Expr>, between: &'static str, power: Power) {
        let tree = self.tree;
        for (number, operand) in tree.list(operands).enumerate() {
            self.say_if(number > 0, between);
            self.operand(operand, power + 1);
        }
    }

    fn quantifier(&mut self, left: Id<Expr>, operator: Id<Operator>, all: bool) {
        let power = self.infix_power(operator);
        self.left_operand(left, power);
        self.say(" ");
        self.node(operator);
        self.say(if all { " ALL (" } else { " ANY (" });
    }

    fn is(&mut self, expr: Expr) {
        let (operand, negated) = match expr {
            Expr::Is { operand, negated, .. }
            | Expr::IsNormalized { operand, negated, .. }
            | Expr::IsJson { operand, negated, .. }
            | Expr::IsDistinct { left: operand, negated, .. } => (operand, negated),
            _ => return,
        };
        self.operand(operand, power::IS + 1);
        self.say(if negated { " IS NOT " } else { " IS " });
        match expr {
            Expr::Is { test, .. } => self.say(match test {
                IsTest::Null => "NULL",
                IsTest::True => "TRUE",
                IsTest::False => "FALSE",
                IsTest::Unknown => "UNKNOWN",
                IsTest::Document => "DOCUMENT",
            }),
            Expr::IsNormalized { form, .. } => {
                self.normal_form(form, " ");
                self.say("NORMALIZED");
            }
            Expr::IsJson { sort, unique_keys, .. } => {
                self.say(match sort {
                    JsonSort::Any => "JSON",
                    JsonSort::Value => "JSON VALUE",
                    JsonSort::Array => "JSON ARRAY",
                    JsonSort::Object => "JSON OBJECT",
                    JsonSort::Scalar => "JSON SCALAR",
                });
                self.say_if(unique_keys, " WITH UNIQUE KEYS");
            }
            Expr::IsDistinct { right, .. } => {
                self.say("DISTINCT FROM ");
                self.operand(right, power::IS + 1);
            }
            _ => {}
        }
    }

    fn normal_form(&mut self, form: Option<NormalForm>, after: &'static str) {
        let Some(form) = form else { return };
        self.say(match form {
            NormalForm::Nfc => "NFC",
            NormalForm::Nfd => "NFD",
            NormalForm::Nfkc => "NFKC",
            NormalForm::Nfkd => "NFKD",
        });
        self.say(after);
    }

    fn predicate(&mut self, expr: Expr) {
        let above = power::MATCH + 1;
        match expr {
            Expr::Between { operand, low, high, symmetric, negated } => {
                self.operand(operand, above);
                self.say(if negated { " NOT BETWEEN " } else { " BETWEEN " });
                self.say_if(symmetric, "SYMMETRIC ");
                self.simple(low);
                self.say(" AND ");
                self.operand(high, above);
            }
            Expr::Like { operand, pattern, escape, matching, negated } => {
                self.operand(operand, above);
                self.say(if negated { " NOT " } else { " " });
                self.say(match matching {
                    Matching::Like => "LIKE ",
                    Matching::ILike => "ILIKE ",
                    Matching::SimilarTo => "SIMILAR TO ",
                });
                self.operand(pattern, above);
                if let Some(escape) = escape {
                    self.say(" ESCAPE ");
                    self.operand(escape, above);
                }
            }
            Expr::InList { operand, items, negated } => {
                self.operand(operand, above);
                self.say(if negated { " NOT IN (" } else { " IN (" });
                self.list(items);
                self.say(")");
            }
            Expr::InQuery { operand, query, negated } => {
                self.operand(operand, above);
                self.say(if negated { " NOT IN (" } else { " IN (" });
                self.node(query);
                self.say(")");
            }
            Expr::Overlaps { left, right } => {
                self.node(left);
                self.say(" OVERLAPS ");
                self.node(right);
            }
            _ => {}
        }
    }

    fn primary(&mut self, expr: Expr) {
        match expr {
            Expr::Call { name, form, args, tail } => self.call(name, form, args, tail),
            Expr::NamedArgument { name, value } => {
                self.node(name);
                self.say(" => ");
                self.node(value);
            }
            Expr::Special { form, args } => self.special(form, args),
            Expr::Extract { field, source } => {
                self.say("EXTRACT(");
                let word = self.tree.get(field).text;
                match self.tree.text(word) {
                    // Only a string can be empty.
                    "" => self.string_text(word),
                    _ => self.node(field),
                }
                self.say(" FROM ");
                self.node(source);
                self.say(")");
            }
            Expr::Normalize { operand, form } => {
                self.say("NORMALIZE(");
                self.node(operand);
                self.say_if(form.is_some(), ", ");
                self.normal_form(form, "");
                self.say(")");
            }
            Expr::SessionValue { value, precision } => {
                self.say(session_value(value));
                self.optional("(", precision);
                self.say_if(precision.is_some(), ")");
            }
            Expr::TypedString { data_type, literal } => self.typed_string(data_type, literal),
            Expr::Treat { operand, data_type } => self.cast_function("TREAT(", operand, data_type),
            Expr::Grouping { args } => self.bracketed("GROUPING(", args, ")"),
            Expr::Row { items, explicit } => self.bracketed(if explicit { "ROW(" } else { "(" }, items, ")"),
            Expr::Array { items } => self.bracketed("ARRAY[", items, "]"),
            Expr::Case { operand, whens, otherwise } => {
                self.say("CASE ");
                self.optional("", operand);
                self.say_if(operand.is_some(), " ");
                self.separated(whens, " ");
                self.optional(" ELSE ", otherwise);
                self.say(" END");
            }
            Expr::ArrayQuery { query } => self.query_in("ARRAY(", query),
            Expr::Subquery { query } => self.query_in("(", query),
            Expr::Exists { query } => self.query_in("EXISTS (", query),
            _ => self.xml(expr),
        }
    }

    pub(super) fn bracketed(&mut self, open: &'static str, items: List<Expr>, close: &'static str) {
        self.say(open);
        self.list(items);
        self.say(close);
    }

    fn query_in(&mut self, open: &'static str, query: Id<crate::syntax::Query>) {
        self.say(open);
        self.node(query);
        self.say(")");
    }

    /// A cast in the form of a function.
    pub(super) fn cast_function(&mut self, open: &'static str, operand: Id<Expr>, to: Id<crate::syntax::TypeName>) {
        self.say(open);
        self.node(operand);
        self.say(" AS ");
        self.node(to);
        self.say(")");
    }

    fn call(&mut self, name: List<Name>, form: CallForm, args: List<Expr>, tail: Option<Id<CallTail>>) {
        self.dotted(name);
        self.say(match form {
            CallForm::Plain | CallForm::Variadic => "(",
            CallForm::Star => "(*",
            CallForm::All => "(ALL ",
            CallForm::Distinct => "(DISTINCT ",
        });
        let tree = self.tree;
        let last = tree.len(args).saturating_sub(1);
        for (number, arg) in tree.list(args).enumerate() {
            self.say_if(number > 0, ", ");
            self.say_if(form == CallForm::Variadic && number == last, "VARIADIC ");
            self.node(arg);
        }
        let Some(tail) = tail.map(|tail| tree.get(tail)) else { return self.say(")") };
        self.optional_list(" ORDER BY ", tail.order_by, "");
        self.say(")");
        self.optional_list(" WITHIN GROUP (ORDER BY ", tail.within_group, ")");
        self.optional(" FILTER (WHERE ", tail.filter);
        self.say_if(tail.filter.is_some(), ")");
        self.optional(" OVER ", tail.over);
    }

    fn special(&mut self, form: SpecialForm, args: List<Expr>) {
        use SpecialForm as F;
        let tree = self.tree;
        let (open, between): (&'static str, [&'static str; 3]) = match form {
            F::Coalesce => return self.bracketed("COALESCE(", args, ")"),
            F::NullIf => return self.bracketed("NULLIF(", args, ")"),
            F::Greatest => return self.bracketed("GREATEST(", args, ")"),
            F::Least => return self.bracketed("LEAST(", args, ")"),
            F::XmlConcat => return self.bracketed("XMLCONCAT(", args, ")"),
            F::CollationFor => return self.bracketed("COLLATION FOR (", args, ")"),
            F::TrimBoth => return self.trim("TRIM(BOTH ", args),
            F::TrimLeading => return self.trim("TRIM(LEADING ", args),
            F::TrimTrailing => return self.trim("TRIM(TRAILING ", args),
            F::Overlay => ("OVERLAY(", [" PLACING ", " FROM ", " FOR "]),
            F::Position => ("POSITION(", [" IN ", "", ""]),
            F::SubstringFrom => ("SUBSTRING(", [" FROM ", "", ""]),
            F::SubstringFromFor => ("SUBSTRING(", [" FROM ", " FOR ", ""]),
            F::SubstringFor => ("SUBSTRING(", [" FOR ", "", ""]),
            F::SubstringSimilar => ("SUBSTRING(", [" SIMILAR ", " ESCAPE ", ""]),
        };
        self.say(open);
        for (number, arg) in tree.list(args).enumerate() {
            if number > 0 {
                self.say(between.get(number - 1).copied().unwrap_or(", "));
            }
            match form {
                F::Position => self.simple(arg),
                // What is searched would take SIMILAR for its own operator behind a comparison.
                F::SubstringSimilar => self.operand(arg, power::MATCH + 1),
                _ => self.node(arg),
            }
        }
        self.say(")");
    }

    /// All but the last are trimmed; the last is what is trimmed off, unless it is alone.
    fn trim(&mut self, open: &'static str, args: List<Expr>) {
        let tree = self.tree;
        self.say(open);
        let count = tree.len(args);
        if count > 1
            && let Some(characters) = tree.nth(args, count - 1)
        {
            self.node(characters);
            self.say(" ");
        }
        self.say("FROM ");
        for (number, arg) in tree.list(args).take(count.max(2) - 1).enumerate() {
            self.say_if(number > 0, ", ");
            self.node(arg);
        }
        self.say(")");
    }
}

fn session_value(value: SessionValue) -> &'static str {
    match value {
        SessionValue::CurrentDate => "CURRENT_DATE",
        SessionValue::CurrentTime => "CURRENT_TIME",
        SessionValue::CurrentTimestamp => "CURRENT_TIMESTAMP",
        SessionValue::LocalTime => "LOCALTIME",
        SessionValue::LocalTimestamp => "LOCALTIMESTAMP",
        SessionValue::CurrentRole => "CURRENT_ROLE",
        SessionValue::CurrentUser => "CURRENT_USER",
        SessionValue::SessionUser => "SESSION_USER",
        SessionValue::User => "USER",
        SessionValue::CurrentCatalog => "CURRENT_CATALOG",
        SessionValue::CurrentSchema => "CURRENT_SCHEMA",
    }
}

impl Print for When {
    fn print(self, _: Id<When>, p: &mut Printer<'_, '_>) {
        p.say("WHEN ");
        p.node(self.condition);
        p.say(" THEN ");
        p.node(self.result);
    }
}

impl Print for Over {
    fn print(self, _: Id<Over>, p: &mut Printer<'_, '_>) {
        match self {
            Over::Window { name } => p.node(name),
            Over::Spec { spec } => p.node(spec),
        }
    }
}
