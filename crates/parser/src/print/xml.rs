//! XML.

use super::{Print, Printer};
use crate::syntax::{Expr, Standalone, XmlAttribute, XmlColumn, XmlNamespace, XmlTable};
use crate::tree::Id;

impl Printer<'_, '_> {
    pub(super) fn xml(&mut self, expr: Expr) {
        match expr {
            Expr::XmlElement { name, attributes, content } => {
                self.say("XMLELEMENT(NAME ");
                self.node(name);
                self.optional_list(", XMLATTRIBUTES(", attributes, ")");
                self.optional_list(", ", content, "");
            }
            Expr::XmlForest { items } => {
                self.say("XMLFOREST(");
                self.list(items);
            }
            Expr::XmlParse { document, value, preserve_whitespace } => {
                self.say(if document { "XMLPARSE(DOCUMENT " } else { "XMLPARSE(CONTENT " });
                self.node(value);
                self.say_if(preserve_whitespace, " PRESERVE WHITESPACE");
            }
            Expr::XmlPi { name, content } => {
                self.say("XMLPI(NAME ");
                self.node(name);
                self.optional(", ", content);
            }
            Expr::XmlRoot { value, version, standalone } => {
                self.say("XMLROOT(");
                self.node(value);
                self.optional(", VERSION ", version);
                self.say_if(version.is_none(), ", VERSION NO VALUE");
                self.say(match standalone {
                    None => "",
                    Some(Standalone::Yes) => ", STANDALONE YES",
                    Some(Standalone::No) => ", STANDALONE NO",
                    Some(Standalone::NoValue) => ", STANDALONE NO VALUE",
                });
            }
            Expr::XmlSerialize { document, value, data_type } => {
                let open = if document { "XMLSERIALIZE(DOCUMENT " } else { "XMLSERIALIZE(CONTENT " };
                return self.cast_function(open, value, data_type);
            }
            Expr::XmlExists { path, document } => {
                self.say("XMLEXISTS(");
                self.simple(path);
                self.say(" PASSING ");
                self.simple(document);
            }
            _ => return,
        }
        self.say(")");
    }
}

impl Print for XmlAttribute {
    fn print(self, _: Id<XmlAttribute>, p: &mut Printer<'_, '_>) {
        p.node(self.value);
        p.optional(" AS ", self.name);
    }
}

impl Print for XmlTable {
    fn print(self, _: Id<XmlTable>, p: &mut Printer<'_, '_>) {
        p.say("XMLTABLE(");
        p.optional_list("XMLNAMESPACES(", self.namespaces, "), ");
        p.simple(self.row);
        p.say(" PASSING ");
        p.simple(self.document);
        p.say(" COLUMNS ");
        p.list(self.columns);
        p.say(")");
    }
}

impl Print for XmlNamespace {
    fn print(self, _: Id<XmlNamespace>, p: &mut Printer<'_, '_>) {
        p.say_if(self.name.is_none(), "DEFAULT ");
        p.simple(self.uri);
        p.optional(" AS ", self.name);
    }
}

impl Print for XmlColumn {
    fn print(self, _: Id<XmlColumn>, p: &mut Printer<'_, '_>) {
        p.node(self.name);
        p.say_if(self.data_type.is_none(), " FOR ORDINALITY");
        p.optional(" ", self.data_type);
        for (word, value) in [(" PATH ", self.path), (" DEFAULT ", self.default)] {
            if let Some(value) = value {
                p.say(word);
                p.simple(value);
            }
        }
        p.say_if(self.not_null, " NOT NULL");
    }
}
