//! What statements have in common that differ in constants only.

use crate::tree::{FieldSort, Id, NodeRef, Syntax, Tree};

/// FNV-1a's offset and prime: a hash that is the same wherever and whenever it is computed.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// What stands in for a constant or a parameter.
const CONSTANT: u64 = u64::MAX;

/// A hash over a tree's nodes, first to last.
struct Fingerprint(u64);

impl Fingerprint {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }
}

impl Tree<'_> {
    /// A number that is the same for statements that differ in constants, parameters, blanks, comments, the way names and
    /// operators are written, or in how many constants IN, ARRAY and VALUES list. It is the same on every machine.
    pub fn fingerprint<T: Syntax>(&self, id: Id<T>) -> u64 {
        let mut hash = Fingerprint(OFFSET);
        let mut work = vec![self.reference(id)];
        while let Some(node) = work.pop() {
            self.hash_node(node, &mut hash, &mut work);
        }
        hash.0
    }

    fn hash_node(&self, node: NodeRef, hash: &mut Fingerprint, work: &mut Vec<NodeRef>) {
        if self.is_constant(node) {
            return hash.number(CONSTANT);
        }
        let info = self.kind(node);
        hash.bytes(info.name.as_bytes());
        let below = work.len();
        for ((_, sort), word) in info.fields.iter().zip(self.field_words(node, info)) {
            match sort {
                FieldSort::Scalar => hash.number(u64::from(*word)),
                FieldSort::Text => {
                    let text = self.text_of(node, *word);
                    hash.number(text.len() as u64);
                    hash.bytes(text.as_bytes());
                }
                FieldSort::Node | FieldSort::Optional => {
                    hash.number(u64::from(*word != 0));
                    work.extend((*word != 0).then_some(NodeRef(*word)));
                }
                FieldSort::List => self.hash_list(node, *word, hash, work),
            }
        }
        work[below..].reverse();
    }

    /// A list, of which constants (or rows of constants) behind the first are left out where their number says nothing.
    fn hash_list(&self, owner: NodeRef, word: u32, hash: &mut Fingerprint, work: &mut Vec<NodeRef>) {
        let items = self.list_words(word);
        let data = self.lists_data(owner) && items.iter().all(|item| self.is_data(NodeRef(*item)));
        let items = if data { items.get(..1).unwrap_or(items) } else { items };
        hash.number(items.len() as u64);
        work.extend(items.iter().map(|item| NodeRef(*item)));
    }

    fn is_constant(&self, node: NodeRef) -> bool {
        const KINDS: [&str; 8] = [
            "Expr::Null",
            "Expr::Boolean",
            "Expr::Integer",
            "Expr::Number",
            "Expr::String",
            "Expr::BitString",
            "Expr::HexString",
            "Expr::Parameter",
        ];
        KINDS.contains(&self.kind(node).name)
    }

    /// Whether it is a constant, or a row of nothing else.
    fn is_data(&self, node: NodeRef) -> bool {
        if self.is_constant(node) {
            return true;
        }
        let mut constants = matches!(self.kind(node).name, "Row" | "Expr::Row");
        self.children(node, |child| constants &= self.is_constant(child));
        constants
    }

    /// Whether the node's lists hold data of any number.
    fn lists_data(&self, node: NodeRef) -> bool {
        matches!(self.kind(node).name, "Expr::InList" | "Expr::Array" | "QueryBody::Values")
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, parse_statement};

    fn fingerprint(text: &str) -> u64 {
        let parsed = parse_statement(text, Options::default()).expect("it parses").expect("a statement");
        parsed.tree.fingerprint(parsed.statement)
    }

    #[test]
    fn constants_and_the_way_of_writing_do_not_count() {
        let same = [
            ("SELECT a FROM t WHERE b = 1", "select  A from \"t\" where b = 'x' -- c"),
            ("SELECT a FROM t WHERE b IN (1, 2)", "SELECT a FROM t WHERE b IN ($1, $2, $3)"),
            ("INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (2, NULL), (3, 'c')"),
            ("SELECT a != 1", "SELECT (a <> 2)"),
            ("SELECT a FROM t LIMIT 1", "SELECT a FROM t LIMIT 2"),
        ];
        for (left, right) in same {
            assert_eq!(fingerprint(left), fingerprint(right), "{left} / {right}");
        }
    }

    #[test]
    fn everything_else_counts() {
        let different = [
            ("SELECT a", "SELECT b"),
            ("SELECT a.b", "SELECT ab"),
            ("SELECT a + 1", "SELECT a - 1"),
            ("SELECT f(1, 2)", "SELECT f(1)"),
            ("SELECT a IN (1)", "SELECT a NOT IN (1)"),
            ("SELECT a IN (1, b)", "SELECT a IN (1)"),
            ("SELECT a FROM t", "SELECT a FROM t LIMIT 1"),
            ("SELECT a, b", "SELECT a AS b"),
            ("SELECT a OR b AND c", "SELECT (a OR b) AND c"),
            ("INSERT INTO t VALUES (1, 2)", "INSERT INTO t VALUES (1)"),
        ];
        for (left, right) in different {
            assert_ne!(fingerprint(left), fingerprint(right), "{left} / {right}");
        }
    }

    /// Statistics are kept under these numbers: they do not change from build to build.
    #[test]
    fn it_is_the_same_everywhere() {
        assert_eq!(fingerprint("SELECT 1"), fingerprint("SELECT 2"));
        assert_eq!(fingerprint("SELECT a FROM t"), EXPECTED);
    }

    const EXPECTED: u64 = 3_448_089_170_136_469_307;
}
