use super::*;
use crate::types::testing::{Random, random_value};
use crate::types::{DataType, EvalContext, Value, from_text, key, to_text};

fn written(text: &str, data_type: DataType) -> String {
    match from_text(text, data_type, &EvalContext::default()) {
        Ok(value) => to_text(&value, &EvalContext::default()),
        Err(error) => error.sqlstate().as_str().to_owned(),
    }
}

#[test]
fn the_order_of_keys_is_that_of_addresses() {
    for data_type in [DataType::Inet, DataType::Cidr, DataType::Macaddr, DataType::Macaddr8] {
        let mut random = Random::new(40);
        let values: Vec<Value> = (0..300).map(|_| random_value(&mut random, data_type)).collect();
        let key_of = |value: &Value| {
            let mut out = Vec::new();
            key::encode_value(value, data_type, false, false, &mut out);
            out
        };
        let keys: Vec<Vec<u8>> = values.iter().map(key_of).collect();
        for (a, of_a) in values.iter().zip(&keys) {
            assert_eq!(key::decode_value(&mut &of_a[..], data_type, false, false).unwrap(), *a);
            for (b, of_b) in values.iter().zip(&keys) {
                assert_eq!(of_a.cmp(of_b), a.compare(b), "{a} {b}");
            }
        }
    }
}

/// PostgreSQL's `network_cmp`, said as it is there.
#[test]
fn addresses_are_ordered_by_the_bits_both_networks_have_first() {
    let mut random = Random::new(7);
    let mut inet = || match random_value(&mut random, DataType::Inet) {
        Value::Inet(value) => value,
        other => panic!("{other:?}"),
    };
    let bit = |of: &Inet, at: u8| of.octets()[usize::from(at / 8)] >> (7 - at % 8) & 1;
    let all = |of: &Inet, count: u8| (0..count).map(|at| bit(of, at)).collect::<Vec<_>>();
    for _ in 0..20_000 {
        let (a, b) = (inet(), inet());
        let least = a.bits().min(b.bits());
        let expected = match a.is_same_family(&b) {
            true => (all(&a, least).cmp(&all(&b, least)))
                .then(a.bits().cmp(&b.bits()))
                .then(all(&a, a.bits_max()).cmp(&all(&b, b.bits_max()))),
            false => a.family().cmp(&b.family()),
        };
        assert_eq!(a.cmp(&b), expected, "{a} {b}");
    }
}

#[test]
fn networks_of_few_octets_are_of_their_class() {
    let written = |text| written(text, DataType::Cidr);
    assert_eq!(written("10"), "10.0.0.0/8");
    assert_eq!(written("128.1"), "128.1.0.0/16");
    assert_eq!(written("192.168"), "192.168.0.0/24");
    assert_eq!(written("192.168.1.5"), "192.168.1.5/32");
    assert_eq!(written("224"), "224.0.0.0/4");
    assert_eq!(written("0x0a0b"), "10.11.0.0/16");
    assert_eq!(written("192.168.1.5/24"), "22P02");
    assert_eq!(written("1.2.3.4."), "22P02");
}

#[test]
fn addresses_are_read_as_postgresql_reads_them() {
    let written = |text| written(text, DataType::Inet);
    for same in ["0.0.0.0/0", "10.1.2.3", "::1/10", "fe80::1", "::ffff:1.2.3.4", "::1.2.3.4/96", "1:2:3:4:5:6:7:8"] {
        assert_eq!(written(same), same);
    }
    assert_eq!(written("10/8"), "10.0.0.0/8");
    assert_eq!(written("1.2.3.4."), "1.2.3.4");
    assert_eq!(written("1:0:0:2:0:0:0:3"), "1:0:0:2::3");
    assert_eq!(written("1:2:3:4:5:6:7::"), "1:2:3:4:5:6:7:0");
    assert_eq!(written("::1.2"), "::1.2.0.0");
    assert_eq!(written("FE80::/128"), "fe80::");
    for refused in
        ["", "10", "1.2.3.256", "1.2.3.4/33", "1.2.3.4/", " 1.2.3.4", "1::2::3", ":1", "::1/129", "::1/010", "1:"]
    {
        assert_eq!(written(refused), "22P02", "{refused}");
    }
}

#[test]
fn cards_are_read_in_all_their_forms() {
    let forms = [
        "08:00:2b:01:02:03",
        "8:0:2B:1:2:3",
        "08-00-2b-01-02-03",
        "08002b:010203",
        "08002b-010203",
        "0800.2b01.0203",
        "0800-2b01-0203",
        "08002b010203",
        " 08:00:2b:01:02:03 ",
    ];
    for form in forms {
        assert_eq!(written(form, DataType::Macaddr), "08:00:2b:01:02:03", "{form}");
    }
    assert_eq!(written("0800:2b01:0203", DataType::Macaddr), "22P02");
    assert_eq!(written("08:00:2b:01:02:100", DataType::Macaddr), "22003");
    assert_eq!(written("08:00:2b:01:02:03 x", DataType::Macaddr), "22P02");
    assert_eq!(written("0800.2b01.0203", DataType::Macaddr8), "08:00:2b:ff:fe:01:02:03");
    assert_eq!(written("08-00-2b-01-02-03-04-05", DataType::Macaddr8), "08:00:2b:01:02:03:04:05");
    assert_eq!(written("08:00-2b:01:02:03", DataType::Macaddr8), "22P02");
    assert_eq!(written("08:00:2b:01:02:03:04", DataType::Macaddr8), "22P02");
}
