//! Functions and operators of addresses of networks and of cards. What takes an `inet` takes a `cidr`: a network is an address.

use super::catalogue::Catalogue;
use super::support::call;
use crate::types::{DataType, Value};

const INET: DataType = DataType::Inet;
const CIDR: DataType = DataType::Cidr;
const MAC: DataType = DataType::Macaddr;
const MAC8: DataType = DataType::Macaddr8;
const INT: DataType = DataType::Integer;
const BIG: DataType = DataType::BigInt;
const TEXT: DataType = DataType::Text;
const BOOLEAN: DataType = DataType::Boolean;

pub(super) fn register(catalogue: &mut Catalogue) {
    parts(catalogue);
    texts(catalogue);
    masks(catalogue);
    containment(catalogue);
    bits(catalogue);
    distances(catalogue);
    cards(catalogue);
}

fn parts(catalogue: &mut Catalogue) {
    catalogue.add("family", &[INET], INT, call!((Inet a) Ok(Value::Integer(a.family().into())))).bounded();
    catalogue.add("masklen", &[INET], INT, call!((Inet a) Ok(Value::Integer(a.bits().into())))).bounded();
    catalogue.add("broadcast", &[INET], INET, call!((Inet a) Ok(Value::Inet(a.broadcast())))).bounded();
    catalogue.add("network", &[INET], CIDR, call!((Inet a) Ok(Value::Cidr(a.network())))).bounded();
    catalogue.add("netmask", &[INET], INET, call!((Inet a) Ok(Value::Inet(a.netmask())))).bounded();
    catalogue.add("hostmask", &[INET], INET, call!((Inet a) Ok(Value::Inet(a.hostmask())))).bounded();
}

fn texts(catalogue: &mut Catalogue) {
    catalogue.add("host", &[INET], TEXT, call!((Inet a) Ok(written(|out| a.write_host(out)))));
    catalogue.add("text", &[INET], TEXT, call!((Inet a) Ok(Value::text(a.to_whole()))));
    catalogue.add("abbrev", &[INET], TEXT, call!((Inet a) Ok(Value::text(a.to_string()))));
    catalogue.add("abbrev", &[CIDR], TEXT, call!((Cidr a) Ok(written(|out| a.write_abbreviated(out)))));
}

/// The text that is written. (Writing to a string cannot fail.)
fn written(write: impl FnOnce(&mut String) -> std::fmt::Result) -> Value {
    let mut out = String::new();
    _ = write(&mut out);
    Value::text(out)
}

fn masks(catalogue: &mut Catalogue) {
    let set = call!((Inet a, Integer bits) a.with_bits(*bits).map(Value::Inet));
    catalogue.add("set_masklen", &[INET, INT], INET, set).bounded();
    let set = call!((Cidr a, Integer bits) Ok(Value::Cidr(a.with_bits(*bits)?.network())));
    catalogue.add("set_masklen", &[CIDR, INT], CIDR, set).bounded();
    let pair = &[INET, INET];
    catalogue.add("inet_merge", pair, CIDR, call!((Inet a, Inet b) a.merge(b).map(Value::Cidr))).bounded();
    let same = call!((Inet a, Inet b) Ok(Value::Boolean(a.is_same_family(b))));
    catalogue.add("inet_same_family", pair, BOOLEAN, same).bounded();
}

fn containment(catalogue: &mut Catalogue) {
    let pair = &[INET, INET];
    catalogue.add("<<", pair, BOOLEAN, call!((Inet a, Inet b) Ok(Value::Boolean(b.contains_properly(a))))).bounded();
    catalogue.add("<<=", pair, BOOLEAN, call!((Inet a, Inet b) Ok(Value::Boolean(b.contains(a))))).bounded();
    catalogue.add(">>", pair, BOOLEAN, call!((Inet a, Inet b) Ok(Value::Boolean(a.contains_properly(b))))).bounded();
    catalogue.add(">>=", pair, BOOLEAN, call!((Inet a, Inet b) Ok(Value::Boolean(a.contains(b))))).bounded();
    catalogue.add("&&", pair, BOOLEAN, call!((Inet a, Inet b) Ok(Value::Boolean(a.overlaps(b))))).bounded();
}

fn bits(catalogue: &mut Catalogue) {
    catalogue.add("~", &[INET], INET, call!((Inet a) Ok(Value::Inet(a.not())))).bounded();
    catalogue.add("&", &[INET, INET], INET, call!((Inet a, Inet b) a.and(b).map(Value::Inet))).bounded();
    catalogue.add("|", &[INET, INET], INET, call!((Inet a, Inet b) a.or(b).map(Value::Inet))).bounded();
}

fn distances(catalogue: &mut Catalogue) {
    catalogue.add("+", &[INET, BIG], INET, call!((Inet a, BigInt n) a.plus((*n).into()).map(Value::Inet))).bounded();
    catalogue.add("+", &[BIG, INET], INET, call!((BigInt n, Inet a) a.plus((*n).into()).map(Value::Inet))).bounded();
    catalogue
        .add("-", &[INET, BIG], INET, call!((Inet a, BigInt n) a.plus(-i128::from(*n)).map(Value::Inet)))
        .bounded();
    catalogue.add("-", &[INET, INET], BIG, call!((Inet a, Inet b) a.minus(b).map(Value::BigInt))).bounded();
}

macro_rules! bits_of_cards {
    ($catalogue:ident, $data_type:ident, $variant:ident) => {{
        let not = call!(($variant a) Ok(Value::$variant(a.map(|byte| !byte))));
        $catalogue.add("~", &[$data_type], $data_type, not).bounded();
        let and = call!(($variant a, $variant b) Ok(Value::$variant(std::array::from_fn(|at| a[at] & b[at]))));
        $catalogue.add("&", &[$data_type, $data_type], $data_type, and).bounded();
        let or = call!(($variant a, $variant b) Ok(Value::$variant(std::array::from_fn(|at| a[at] | b[at]))));
        $catalogue.add("|", &[$data_type, $data_type], $data_type, or).bounded();
        // The maker's bytes.
        let trunc = call!(($variant a) Ok(Value::$variant(std::array::from_fn(|at| if at < 3 { a[at] } else { 0 }))));
        $catalogue.add("trunc", &[$data_type], $data_type, trunc).bounded();
    }};
}

fn cards(catalogue: &mut Catalogue) {
    bits_of_cards!(catalogue, MAC, Macaddr);
    bits_of_cards!(catalogue, MAC8, Macaddr8);
    let set = call!((Macaddr8 a) {
        let mut bytes = *a;
        bytes[0] |= 2;
        Ok(Value::Macaddr8(bytes))
    });
    catalogue.add("macaddr8_set7bit", &[MAC8], MAC8, set).bounded();
}
