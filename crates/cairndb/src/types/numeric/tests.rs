//! Results are PostgreSQL 15's.

use std::hash::{BuildHasher, RandomState};

use super::Numeric;

fn n(text: &str) -> Numeric {
    Numeric::parse(text).unwrap()
}

#[test]
fn text_round_trips_with_its_scale() {
    for text in ["0", "0.00", "-1.50", "123456789012345678901234567890.123", "NaN", "-Infinity", "0.000001", "-0.1"] {
        assert_eq!(n(text).to_string(), text);
    }
    assert_eq!(n(" 1.5e3 ").to_string(), "1500");
    assert_eq!(n("1e-5").to_string(), "0.00001");
    assert_eq!(n("1e30").to_string(), "1000000000000000000000000000000");
    assert_eq!(n(".5").to_string(), "0.5");
    for bad in ["", ".", "1e", "1.2.3", "abc", "--1", "1 2", "0x10", "+-1", "e5"] {
        assert_eq!(Numeric::parse(bad).unwrap_err().sqlstate().0, "22P02", "{bad}");
    }
    for huge in ["1e200000", "1e-20000", "1e99999999999999999999"] {
        assert_eq!(Numeric::parse(huge).unwrap_err().sqlstate().0, "22003", "{huge}");
    }
}

#[test]
fn arithmetic_has_postgresql_scales() {
    let quotients = [
        ("1", "3", "0.33333333333333333333"),
        ("10", "3", "3.3333333333333333"),
        ("2", "3", "0.66666666666666666667"),
        ("100000", "7", "14285.714285714286"),
        ("1.0", "8", "0.12500000000000000000"),
        ("-7", "2", "-3.5000000000000000"),
        ("12345678901234567890", "7", "1763668414462081127"),
        ("0.0001", "3", "0.000033333333333333333333"),
        ("9999", "10000", "0.99990000000000000000"),
    ];
    for (a, b, expected) in quotients {
        assert_eq!(n(a).div(&n(b)).unwrap().to_string(), expected, "{a} / {b}");
    }
    assert_eq!(n("1.10").add(&n("2.2")).unwrap().to_string(), "3.30");
    assert_eq!(n("1.10").mul(&n("2.2")).unwrap().to_string(), "2.420");
    assert_eq!(n("9223372036854775807").add(&n("1")).unwrap().to_string(), "9223372036854775808");
    assert_eq!(n("-7.5").rem(&n("2")).unwrap().to_string(), "-1.5");
    assert_eq!(n("1").div(&n("0")).unwrap_err().sqlstate().0, "22012");
}

#[test]
fn rounding_is_half_away_from_zero() {
    assert_eq!(n("2.5").round(0).to_string(), "3");
    assert_eq!(n("-2.5").round(0).to_string(), "-3");
    assert_eq!(n("1234.567").round(-2).to_string(), "1200");
    assert_eq!(n("1.005").round(2).to_string(), "1.01");
    assert_eq!(n("-1.5").floor().to_string(), "-2");
    assert_eq!(n("-1.5").ceil().to_string(), "-1");
    assert_eq!(n("1.999").trunc(1).to_string(), "1.9");
}

#[test]
fn functions_have_postgresql_digits() {
    assert_eq!(n("2").sqrt().unwrap().to_string(), "1.414213562373095");
    assert_eq!(n("1").exp().unwrap().to_string(), "2.7182818284590452");
    assert_eq!(n("2").ln().unwrap().to_string(), "0.6931471805599453");
    assert_eq!(n("100").log(&n("10")).unwrap().to_string(), "2.0000000000000000");
    assert_eq!(n("2").power(&n("10")).unwrap().to_string(), "1024.0000000000000000");
    assert_eq!(n("2").power(&n("0.5")).unwrap().to_string(), "1.4142135623730950");
    assert_eq!(n("2").power(&n("-3")).unwrap().to_string(), "0.1250000000000000");
}

#[test]
fn equal_values_of_different_scale_are_one() {
    let hasher = RandomState::new();
    for (a, b) in [("1.0", "1.000"), ("0", "0.00"), ("1e30", "1000000000000000000000000000000.00"), ("-5", "-5.0")] {
        assert_eq!(n(a), n(b));
        assert_eq!(hasher.hash_one(n(a)), hasher.hash_one(n(b)));
    }
    assert!(n("NaN") > n("Infinity") && n("-Infinity") < n("-1e100") && n("1.1") > n("1.09"));
}

#[test]
fn a_field_that_is_too_narrow_overflows_with_the_limit_in_the_detail() {
    let error = n("1234.5").fit(5, 2).unwrap_err();
    assert_eq!((error.sqlstate().0, error.message()), ("22003", "numeric field overflow"));
    let detail = "A field with precision 5, scale 2 must round to an absolute value less than 10^3.";
    assert_eq!(error.detail(), Some(detail));
    assert_eq!(n("999.994").fit(5, 2).unwrap().to_string(), "999.99");
    assert!(n("999.995").fit(5, 2).is_err());
}

#[test]
fn bytes_round_trip_and_garbage_is_refused() {
    let texts = ["0", "0.00", "1", "-1", "127", "128", "-128", "-129", "9223372036854775807", "-9223372036854775808"];
    let more = ["123456789012345678901234567890.5", "-1e300", "1e-200", "NaN", "Infinity", "-Infinity"];
    for text in texts.iter().chain(&more) {
        let mut bytes = Vec::new();
        n(text).write_bytes(&mut bytes);
        assert_eq!(n(text).byte_len(), bytes.len());
        let back = Numeric::from_bytes(&bytes).unwrap();
        assert_eq!(back.to_string(), n(text).to_string());
    }
    assert!(Numeric::from_bytes(&[]).is_none());
    assert!(Numeric::from_bytes(&[200]).is_none());
    assert!(Numeric::from_bytes(&[128, 255, 255, 1]).is_none());
}
