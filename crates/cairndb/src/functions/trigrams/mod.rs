//! The functions and operators of `pg_trgm`: how alike texts are, by the trigrams that they have in common.
//!
//! The least likeness that an operator takes is a setting of the session's: `pg_trgm.similarity_threshold` and its kin.

mod similarity;
mod trigram;

use similarity::{Extent, similarity, word_similarity};
use trigram::Trigrams;

use super::catalogue::{Catalogue, Eval};
use super::support::wrong_arguments;
use crate::types::{Array, DataType, EvalContext, SettingChange, Value};
use crate::{Error, Result};

/// The names of its functions.
pub(super) const FUNCTIONS: &[&str] = &[
    "set_limit",
    "show_limit",
    "show_trgm",
    "similarity",
    "similarity_dist",
    "similarity_op",
    "strict_word_similarity",
    "strict_word_similarity_commutator_op",
    "strict_word_similarity_dist_commutator_op",
    "strict_word_similarity_dist_op",
    "strict_word_similarity_op",
    "word_similarity",
    "word_similarity_commutator_op",
    "word_similarity_dist_commutator_op",
    "word_similarity_dist_op",
    "word_similarity_op",
];

pub(super) const OPERATORS: &[&str] = &["%", "<->", "<%", "%>", "<<->", "<->>", "<<%", "%>>", "<<<->", "<->>>"];

/// How alike two texts are; where it is given how much is enough, any likeness of at least that may be told for a greater one.
type Likeness = fn((&str, &str), Option<f64>, &EvalContext) -> Result<f32>;

/// What of a text is compared with another: a measure of likeness, and the setting that says how much of it is enough.
struct Measure {
    of: Likeness,
    threshold: &'static str,
    /// The setting's value where there is no session.
    usual: f64,
}

const WHOLE: Measure =
    Measure { of: |(a, b), _, _| Ok(similarity(a, b)), threshold: "pg_trgm.similarity_threshold", usual: 0.3 };
const EXTENT: Measure = Measure {
    of: |texts, enough, context| word_similarity(texts, Extent::Any, enough, context),
    threshold: "pg_trgm.word_similarity_threshold",
    usual: 0.6,
};
const WORDS: Measure = Measure {
    of: |texts, enough, context| word_similarity(texts, Extent::Words, enough, context),
    threshold: "pg_trgm.strict_word_similarity_threshold",
    usual: 0.5,
};

pub(super) fn register(catalogue: &mut Catalogue) {
    const TEXT: DataType = DataType::Text;
    let mut measure = |name: &'static str, eval: Eval| {
        catalogue.add(name, &[TEXT, TEXT], DataType::Real, eval).lengthy();
    };
    measure("similarity", |args, context| likeness(&WHOLE, args, context));
    measure("word_similarity", |args, context| likeness(&EXTENT, args, context));
    measure("strict_word_similarity", |args, context| likeness(&WORDS, args, context));
    for name in ["<->", "similarity_dist"] {
        measure(name, |args, context| distance(&WHOLE, args, false, context));
    }
    for name in ["<<->", "word_similarity_dist_op"] {
        measure(name, |args, context| distance(&EXTENT, args, false, context));
    }
    for name in ["<->>", "word_similarity_dist_commutator_op"] {
        measure(name, |args, context| distance(&EXTENT, args, true, context));
    }
    for name in ["<<<->", "strict_word_similarity_dist_op"] {
        measure(name, |args, context| distance(&WORDS, args, false, context));
    }
    for name in ["<->>>", "strict_word_similarity_dist_commutator_op"] {
        measure(name, |args, context| distance(&WORDS, args, true, context));
    }
    comparisons(catalogue);
    let texts = TEXT.array().unwrap_or(TEXT);
    catalogue.add("show_trgm", &[TEXT], texts, |args, _| {
        let [Value::Text(text)] = args else { return Err(wrong_arguments(args)) };
        let shown = Trigrams::of(text).shown().map(Value::text).collect();
        Ok(Array::new(TEXT, shown).into())
    });
    catalogue
        .add("show_limit", &[], DataType::Real, |_, context| Ok(Value::Real(threshold(&WHOLE, context) as f32)))
        .stable();
    catalogue.add("set_limit", &[DataType::Real], DataType::Real, set_limit).acting().parallel_unsafe();
}

fn comparisons(catalogue: &mut Catalogue) {
    const TEXT: DataType = DataType::Text;
    let mut compare = |name: &'static str, eval: Eval| {
        catalogue.add(name, &[TEXT, TEXT], DataType::Boolean, eval).stable();
    };
    for name in ["%", "similarity_op"] {
        compare(name, |args, context| is_alike(&WHOLE, args, false, context));
    }
    for name in ["<%", "word_similarity_op"] {
        compare(name, |args, context| is_alike(&EXTENT, args, false, context));
    }
    for name in ["%>", "word_similarity_commutator_op"] {
        compare(name, |args, context| is_alike(&EXTENT, args, true, context));
    }
    for name in ["<<%", "strict_word_similarity_op"] {
        compare(name, |args, context| is_alike(&WORDS, args, false, context));
    }
    for name in ["%>>", "strict_word_similarity_commutator_op"] {
        compare(name, |args, context| is_alike(&WORDS, args, true, context));
    }
}

fn likeness(measure: &Measure, args: &[Value], context: &EvalContext) -> Result<Value> {
    match args {
        [Value::Text(a), Value::Text(b)] => Ok(Value::Real((measure.of)((a, b), None, context)?)),
        _ => Err(wrong_arguments(args)),
    }
}

/// The same from the other end; `turned`: the text that is looked for stands second.
fn distance(measure: &Measure, args: &[Value], turned: bool, context: &EvalContext) -> Result<Value> {
    match args {
        [Value::Text(a), Value::Text(b)] => {
            let (a, b) = if turned { (b, a) } else { (a, b) };
            Ok(Value::Real((1.0 - f64::from((measure.of)((a, b), None, context)?)) as f32))
        }
        _ => Err(wrong_arguments(args)),
    }
}

fn is_alike(measure: &Measure, args: &[Value], turned: bool, context: &EvalContext) -> Result<Value> {
    match args {
        [Value::Text(a), Value::Text(b)] => {
            let (a, b) = if turned { (b, a) } else { (a, b) };
            let enough = threshold(measure, context);
            Ok(Value::Boolean(f64::from((measure.of)((a, b), Some(enough), context)?) >= enough))
        }
        _ => Err(wrong_arguments(args)),
    }
}

/// The least likeness that is enough, as the session has it.
fn threshold(measure: &Measure, context: &EvalContext) -> f64 {
    let changed = context.channels.as_ref().and_then(|session| session.changed_setting(measure.threshold));
    let shown = || context.settings.as_ref().and_then(|settings| settings.shown(measure.threshold));
    changed.or_else(shown).and_then(|shown| shown.parse().ok()).unwrap_or(measure.usual)
}

/// The session has it when the statement has come to its end, as with `set_config()`.
fn set_limit(args: &[Value], context: &EvalContext) -> Result<Value> {
    let [Value::Real(limit)] = args else { return Err(wrong_arguments(args)) };
    let (Some(session), Some(settings)) = (&context.channels, &context.settings) else {
        return Err(Error::unsupported("set_limit() in this place"));
    };
    let (name, value) = (WHOLE.threshold.to_owned(), limit.to_string());
    let shown = settings.shown_with(&name, &value)?;
    session.change_setting(SettingChange { name, value, local: false, shown });
    Ok(Value::Real(*limit))
}
