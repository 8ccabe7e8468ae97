//! What an operator is, apart from its operand types.

/// Operators that kernels and the optimizer know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a % b`
    Modulo,
    /// `-a`
    Negate,
    /// `a = b`
    Equal,
    /// `a <> b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterEqual,
    /// `a || b`
    Concat,
    /// `a LIKE b` (`~~`)
    Like,
    /// `a NOT LIKE b` (`!~~`)
    NotLike,
    /// `a ILIKE b` (`~~*`)
    ILike,
    /// `a NOT ILIKE b` (`!~~*`)
    NotILike,
}

impl Operator {
    /// `=`, `<>`, `<`, `<=`, `>` or `>=`.
    pub fn is_comparison(self) -> bool {
        self.commuted().is_some_and(|_| !matches!(self, Operator::Add | Operator::Multiply))
    }

    /// The operator that gives the same answer with its operands swapped.
    pub fn commuted(self) -> Option<Operator> {
        Some(match self {
            Operator::Add | Operator::Multiply | Operator::Equal | Operator::NotEqual => self,
            Operator::Less => Operator::Greater,
            Operator::LessEqual => Operator::GreaterEqual,
            Operator::Greater => Operator::Less,
            Operator::GreaterEqual => Operator::LessEqual,
            _ => return None,
        })
    }

    /// The name under which the catalogue has it.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract | Operator::Negate => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Modulo => "%",
            Operator::Equal => "=",
            Operator::NotEqual => "<>",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
            Operator::Concat => "||",
            Operator::Like => "~~",
            Operator::NotLike => "!~~",
            Operator::ILike => "~~*",
            Operator::NotILike => "!~~*",
        }
    }
}
