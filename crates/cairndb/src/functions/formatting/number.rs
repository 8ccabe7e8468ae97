//! `to_char` and `to_number` of numbers.

use std::rc::Rc;

use super::pattern::quoted;
use super::write_time::ordinal_ending;
use crate::functions::kept::Kept;
use crate::functions::support::check_length;
use crate::types::{Numeric, Value};
use crate::{Error, Result, SqlState};

/// What a numeric template asks for.
#[derive(Default)]
struct Template {
    pieces: Vec<Piece>,
    /// One of them is the point.
    point: bool,
    whole: usize,
    fraction: usize,
    fill: bool,
    sign: Sign,
    ordinal: Option<bool>,
    exponent: bool,
    /// Digits by which V multiplies.
    shift: usize,
    /// Place, among whole digits, of the first `0`.
    first_zero: Option<usize>,
    /// Place, among digits after the point, after the last `0`.
    last_zero: usize,
    roman: Option<bool>,
}

#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Digit,
    Point,
    Comma,
    Currency,
    /// A sign at its own place: `MI`, `PL`, `SG`.
    Minus,
    Plus,
    PlusMinus,
    Literal(char),
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Sign {
    /// A blank or a minus before the digits.
    #[default]
    Default,
    /// `S` before the digits.
    Leading,
    /// `S` after them.
    Trailing,
    /// `PR`: angle brackets.
    Brackets,
    /// At places of their own.
    Placed,
}

fn syntax(message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

thread_local! {
    static KEPT: Kept<Template> = const { Kept::new() };
}

/// A template cut, before or now.
fn kept(template: &str) -> Result<Rc<Template>> {
    KEPT.with(|kept| kept.get(template, "", || Template::parse(template)))
}

impl Template {
    fn parse(text: &str) -> Result<Template> {
        let mut template = Template { fill: true, ..Template::default() };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (word, length) = keyword(rest);
            rest = &rest[length.max(first.len_utf8())..];
            template.take(word, first, &mut rest)?;
            check_length(template.pieces.len() * 4)?;
        }
        Ok(template)
    }

    fn take(&mut self, word: &str, first: char, rest: &mut &str) -> Result<()> {
        match word {
            "FM" => self.fill = false,
            "9" | "0" => self.digit(word == "0"),
            "." | "D" => {
                if self.has_point() {
                    return Err(syntax("multiple decimal points"));
                }
                self.point = true;
                self.pieces.push(Piece::Point);
            }
            "," | "G" => self.pieces.push(Piece::Comma),
            "L" => self.pieces.push(Piece::Currency),
            "MI" => self.placed(Piece::Minus),
            "PL" => self.pieces.push(Piece::Plus),
            "B" => {}
            "SG" => self.placed(Piece::PlusMinus),
            "PR" => self.sign = Sign::Brackets,
            "S" => {
                let before = self.whole + self.fraction == 0;
                self.sign = if before { Sign::Leading } else { Sign::Trailing };
            }
            "TH" => self.ordinal = Some(first == 'T'),
            "EEEE" => self.exponent = true,
            "RN" => self.roman = Some(first == 'R'),
            "V" => self.shift = rest.chars().take_while(|c| matches!(c, '9' | '0')).count(),
            _ if first == '"' => *rest = quoted(rest, |c| self.pieces.push(Piece::Literal(c))),
            // Elsewhere a backslash only says of a quote that it is none.
            _ if first == '\\' && rest.starts_with('"') => {
                self.pieces.push(Piece::Literal('"'));
                *rest = &rest[1..];
            }
            _ => self.pieces.push(Piece::Literal(first)),
        }
        Ok(())
    }

    fn has_point(&self) -> bool {
        self.point
    }

    fn placed(&mut self, piece: Piece) {
        self.sign = Sign::Placed;
        self.pieces.push(piece);
    }

    fn digit(&mut self, zero: bool) {
        self.pieces.push(Piece::Digit);
        if self.has_point() {
            self.fraction += 1;
            if zero {
                self.last_zero = self.fraction;
            }
        } else {
            if zero && self.first_zero.is_none() {
                self.first_zero = Some(self.whole);
            }
            self.whole += 1;
        }
    }
}

/// The keyword with which `text` begins, in capitals, and its length; `""` where it is literal text.
fn keyword(text: &str) -> (&'static str, usize) {
    const WORDS: [&str; 18] =
        ["EEEE", "FM", "MI", "PL", "SG", "PR", "TH", "RN", "9", "0", ".", ",", "D", "G", "L", "S", "V", "B"];
    let begins = |word: &&&str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    WORDS.iter().find(begins).map_or(("", 0), |word| (word, word.len()))
}

/// A number that is shown.
pub(super) enum Shown<'a> {
    Exact(&'a Numeric),
    /// Of a binary float no more than its sure digits are shown.
    Float {
        value: f64,
        digits: usize,
    },
}

/// A number's digits, as many behind the point as are to be had.
struct Written {
    whole: String,
    fraction: String,
    negative: bool,
    /// It is no number: `whole` is its name.
    is_name: bool,
}

impl Shown<'_> {
    pub(super) fn double(value: f64) -> Shown<'static> {
        Shown::Float { value, digits: f64::DIGITS as usize }
    }

    pub(super) fn real(value: f32) -> Shown<'static> {
        Shown::Float { value: value.into(), digits: f32::DIGITS as usize }
    }

    fn is_finite(&self) -> bool {
        match self {
            Shown::Exact(value) => value.is_finite(),
            Shown::Float { value, .. } => value.is_finite(),
        }
    }

    fn is_negative(&self) -> bool {
        match self {
            Shown::Exact(value) => value.signum() < 0,
            Shown::Float { value, .. } => value.is_sign_negative() && !value.is_nan(),
        }
    }

    /// Times ten to the `shift`, with `fraction` digits behind the point.
    fn written(&self, shift: usize, fraction: usize) -> Result<Written> {
        let (text, negative) = match self {
            Shown::Exact(value) => {
                let scaled = match shift {
                    0 => (*value).clone(),
                    _ => value.mul(&Numeric::small(10, 0).power(&Numeric::from(shift as i64))?)?,
                };
                let rounded = scaled.round(fraction as i32);
                (rounded.abs().to_string(), rounded.signum() < 0)
            }
            Shown::Float { value, digits } => {
                let value = value * 10_f64.powi(shift as i32);
                let places = fraction.min(digits.saturating_sub(float_text(value, 0).len()));
                (float_text(value, places), self.is_negative())
            }
        };
        let is_name = !self.is_finite();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        Ok(Written { whole: whole.trim_start_matches('0').into(), fraction: fraction.into(), negative, is_name })
    }

    fn rounded(&self) -> Result<Option<i64>> {
        let refused = |what| Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot convert {what} to integer"));
        match self {
            Shown::Exact(value) if value.is_nan() => Err(refused("NaN")),
            Shown::Exact(value) if !value.is_finite() => Err(refused("infinity")),
            Shown::Exact(value) => Ok(value.round(0).to_i64()),
            Shown::Float { value, .. } => match value.round_ties_even() {
                whole if (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&whole) => Ok(Some(whole as i64)),
                _ => Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range")),
            },
        }
    }
}

/// The magnitude of a float, or its name.
fn float_text(value: f64, places: usize) -> String {
    match value {
        _ if value.is_nan() => "NaN".into(),
        _ if value.is_infinite() => "Infinity".into(),
        _ => format!("{:.places$}", value.abs()),
    }
}

/// `to_char(number, template)`
pub(super) fn to_char(value: &Shown<'_>, template: &str) -> Result<Value> {
    let template = kept(template)?;
    if let Some(upper) = template.roman {
        return Ok(Value::from(roman(value.rounded()?, upper, template.fill)));
    }
    if template.exponent {
        return Ok(Value::from(scientific(value, &template)));
    }
    let number = value.written(template.shift, template.fraction)?;
    let whole = number.whole.as_str();
    let digits = if whole.len().max(1) > template.whole {
        Digits { whole: "#".repeat(template.whole), fraction: "#".repeat(template.fraction), is_name: false }
    } else {
        let bare = !template.fill && template.last_zero == 0 && number.fraction.trim_end_matches('0').is_empty();
        let whole = if whole.is_empty() && bare { "0" } else { whole };
        Digits { whole: padded(whole, &template), fraction: number.fraction, is_name: number.is_name }
    };
    Ok(Value::from(digits.lay_out(&template, number.negative)))
}

/// Blanks and zeros before the digits, as the template has places.
fn padded(whole: &str, template: &Template) -> String {
    let blanks = template.whole - whole.len();
    // A lone zero shows in its last place, unless a point follows.
    let lone = whole.is_empty() && !template.has_point() && template.whole > 0;
    let zero_from = template.first_zero.unwrap_or(template.whole - usize::from(lone));
    let pad = (0..blanks).map(|place| if place >= zero_from { '0' } else { ' ' });
    pad.chain(whole.chars()).collect()
}

struct Digits {
    /// One character per place, blanks in front.
    whole: String,
    fraction: String,
    /// `NaN`, `Infinity`: nothing comes behind it.
    is_name: bool,
}

impl Digits {
    fn lay_out(&self, template: &Template, negative: bool) -> String {
        let mut body = String::new();
        let mut whole = self.whole.chars();
        let mut fraction = self.kept_fraction(template).chars().collect::<Vec<_>>().into_iter();
        let (mut after_point, mut begun) = (false, false);
        // Where a minus goes: before the first character that is not blank. A plus's blank: before the first place.
        let (mut sign_at, mut places_at) = (None, None);
        // PostgreSQL's text ends where the template wants more digits than there are.
        let cut = template.fill && self.fraction.len() < template.fraction;
        for piece in &template.pieces {
            if matches!(piece, Piece::Digit | Piece::Point) {
                places_at.get_or_insert(body.len());
            }
            let shown = match piece {
                Piece::Point if self.is_name => break,
                Piece::Digit if after_point && cut && fraction.len() == 0 => break,
                Piece::Digit if after_point => fraction.next(),
                Piece::Digit => whole.next(),
                Piece::Comma if begun => Some(','),
                Piece::Comma => Some(' '),
                Piece::Point => {
                    after_point = true;
                    (!self.fraction.is_empty()).then_some('.')
                }
                Piece::Currency => Some(' '),
                Piece::Minus => Some(if negative { '-' } else { ' ' }),
                Piece::Plus => Some(if negative { ' ' } else { '+' }),
                Piece::PlusMinus => Some(if negative { '-' } else { '+' }),
                Piece::Literal(c) => Some(*c),
            };
            let Some(c) = shown else { continue };
            let numeric = matches!(piece, Piece::Digit | Piece::Point) && c != ' ';
            if numeric && !begun {
                begun = true;
                sign_at = Some(body.len());
            }
            let placed_sign = matches!(piece, Piece::Minus | Piece::Plus);
            if c != ' ' || template.fill || matches!(piece, Piece::Literal(_)) && !placed_sign {
                body.push(c);
            }
        }
        let places_at = places_at.unwrap_or(0);
        self.add_sign(body, sign_at.unwrap_or(places_at), places_at, template, negative)
    }

    /// FM drops trailing zeros, but not those the template demands.
    fn kept_fraction(&self, template: &Template) -> &str {
        if template.fill {
            return &self.fraction;
        }
        let trimmed = self.fraction.trim_end_matches('0').len();
        &self.fraction[..trimmed.max(template.last_zero.min(self.fraction.len()))]
    }

    fn add_sign(&self, mut body: String, at: usize, places_at: usize, template: &Template, negative: bool) -> String {
        let has_places = template.whole + template.fraction > 0;
        match template.sign {
            Sign::Default if negative => body.insert(at, '-'),
            Sign::Default if template.fill && has_places => body.insert(places_at, ' '),
            Sign::Leading => body.insert(at, if negative { '-' } else { '+' }),
            Sign::Trailing => body.push(if negative { '-' } else { '+' }),
            Sign::Brackets if negative => {
                body.insert(at, '<');
                body.push('>');
            }
            Sign::Brackets if template.fill => {
                body.insert(0, ' ');
                body.push(' ');
            }
            _ => {}
        }
        let no_ordinal = negative || template.has_point() || self.whole.contains('#');
        if let (Some(upper), false) = (template.ordinal, no_ordinal) {
            let ending = ordinal_ending(self.whole.trim());
            body.push_str(&if upper { ending.to_uppercase() } else { ending.to_string() });
        }
        body
    }
}

/// `9.99EEEE`
fn scientific(value: &Shown<'_>, template: &Template) -> String {
    let sign = match value.is_negative() {
        true => "-",
        false if template.fill => " ",
        false => "",
    };
    if !value.is_finite() {
        return format!("{sign}{}.{}", "#".repeat(template.whole), "#".repeat(template.fraction + 4));
    }
    let (mantissa, exponent) = match value {
        Shown::Exact(value) => exact_mantissa(&value.abs(), template.fraction),
        Shown::Float { value, .. } => {
            let text = format!("{:.*e}", template.fraction, value.abs());
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            (mantissa.to_owned(), exponent.parse().unwrap_or(0))
        }
    };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{mantissa}e{exponent_sign}{:02}", exponent.abs())
}

/// A magnitude as a number below ten and a power of ten.
fn exact_mantissa(value: &Numeric, places: usize) -> (String, i32) {
    let text = value.to_string();
    let exponent = match text.split_once('.') {
        _ if value.is_zero() => 0,
        Some((whole, fraction)) if whole.trim_start_matches('0').is_empty() => {
            -(fraction.chars().take_while(|c| *c == '0').count() as i32) - 1
        }
        Some((whole, _)) => whole.len() as i32 - 1,
        None => text.len() as i32 - 1,
    };
    let shifted = Numeric::parse(&format!("{}e{}", text, -exponent)).unwrap_or(Numeric::NAN);
    let mantissa = shifted.round(places as i32);
    if mantissa >= Numeric::small(10, 0) {
        return (Numeric::small(1, 0).with_scale(places as u16).to_string(), exponent + 1);
    }
    (mantissa.to_string(), exponent)
}

fn roman(value: Option<i64>, upper: bool, fill: bool) -> String {
    const STEPS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let Some(mut left) = value.filter(|n| (1..=3999).contains(n)) else { return "#".repeat(15) };
    let mut text = String::new();
    for (size, letters) in STEPS {
        while left >= size {
            text.push_str(letters);
            left -= size;
        }
    }
    let text = if upper { text } else { text.to_lowercase() };
    if fill { format!("{text:>15}") } else { text }
}

/// `to_number(text, template)`: digits where the template has places, signs and the point where they stand.
pub(super) fn to_number(text: &str, template: &str) -> Result<Numeric> {
    let template = kept(template)?;
    let places = template.whole + template.fraction;
    let (mut digits, mut count, mut negative) = (String::new(), 0, false);
    let mut after_point = 0;
    for c in text.chars() {
        match c {
            '0'..='9' if count < places => {
                digits.push(c);
                count += 1;
                after_point += usize::from(digits.contains('.'));
                if digits.contains('.') && after_point > template.fraction {
                    digits.pop();
                }
            }
            '.' if template.has_point() && !digits.contains('.') => digits.push('.'),
            '-' | '<' => negative = true,
            _ => {}
        }
    }
    if !digits.contains(|c: char| c.is_ascii_digit()) {
        return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type numeric: \" \""));
    }
    let number = Numeric::parse(&digits)?;
    Ok(if negative { number.neg() } else { number })
}
