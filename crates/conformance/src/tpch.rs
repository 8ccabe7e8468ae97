//! A tiny TPC-H data set: eight related tables whose values meet the predicates of the 22 queries.
//!
//! Not the official generator: the point is that two engines agree, not the scale.

use crate::differential::Random;

const SUPPLIERS: i64 = 20;
const CUSTOMERS: i64 = 75;
const PARTS: i64 = 120;
const ORDERS: i64 = 700;
const ROWS_PER_STATEMENT: usize = 200;

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];
const NATIONS: [(&str, usize); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];
/// Few nations, so that the queries that name some find rows.
const LIVELY_NATIONS: [i64; 8] = [2, 3, 6, 7, 8, 12, 20, 23];
const SEGMENTS: [&str; 3] = ["BUILDING", "AUTOMOBILE", "MACHINERY"];
const PRIORITIES: [&str; 5] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
const INSTRUCTIONS: [&str; 3] = ["DELIVER IN PERSON", "COLLECT COD", "NONE"];
const CONTAINERS: [&str; 9] =
    ["SM CASE", "SM BOX", "SM PACK", "MED BAG", "MED BOX", "MED PKG", "LG CASE", "LG BOX", "LG PACK"];
const BRANDS: [&str; 4] = ["Brand#12", "Brand#23", "Brand#34", "Brand#45"];
const TYPES: [&str; 6] = [
    "ECONOMY ANODIZED STEEL",
    "STANDARD POLISHED BRASS",
    "MEDIUM POLISHED COPPER",
    "PROMO BURNISHED TIN",
    "SMALL PLATED BRASS",
    "PROMO BRUSHED COPPER",
];
const COLOURS: [&str; 6] = ["green", "forest", "almond", "blue", "ivory", "salmon"];
const COMMENTS: [&str; 4] =
    ["quick deposits", "special packages above requests", "Customer slow Complaints", "final ideas"];

/// The INSERT statements, parents first.
pub fn insert_statements(seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut statements = Vec::new();
    statements.extend(inserts("region", &regions()));
    statements.extend(inserts("nation", &nations()));
    statements.extend(inserts("supplier", &suppliers(&mut random)));
    statements.extend(inserts("customer", &customers(&mut random)));
    statements.extend(inserts("part", &parts(&mut random)));
    statements.extend(inserts("partsupp", &part_suppliers(&mut random)));
    let (orders, lines) = orders(&mut random);
    statements.extend(inserts("orders", &orders));
    statements.extend(inserts("lineitem", &lines));
    statements
}

fn inserts(table: &str, rows: &[String]) -> Vec<String> {
    rows.chunks(ROWS_PER_STATEMENT).map(|rows| format!("INSERT INTO {table} VALUES {}", rows.join(", "))).collect()
}

fn regions() -> Vec<String> {
    REGIONS.iter().enumerate().map(|(key, name)| format!("({key}, '{name}', 'a region')")).collect()
}

fn nations() -> Vec<String> {
    NATIONS.iter().enumerate().map(|(key, (name, region))| format!("({key}, '{name}', {region}, 'a nation')")).collect()
}

fn money(random: &mut Random, low: i64, high: i64) -> String {
    format!("{}.{:02}", random.between(low, high), random.below(100))
}

fn phone(random: &mut Random, nation: i64) -> String {
    format!("{}-{}-{}-{}", nation + 10, random.between(100, 999), random.between(100, 999), random.between(1000, 9999))
}

fn suppliers(random: &mut Random) -> Vec<String> {
    let row = |key: i64| {
        let nation = *random.pick(&LIVELY_NATIONS);
        let (phone, balance, comment) = (phone(random, nation), money(random, 0, 9999), random.pick(&COMMENTS));
        format!("({key}, 'Supplier#{key:09}', 'street {key}', {nation}, '{phone}', {balance}, '{comment}')")
    };
    (1..=SUPPLIERS).map(row).collect()
}

fn customers(random: &mut Random) -> Vec<String> {
    let row = |key: i64| {
        let nation = *random.pick(&LIVELY_NATIONS);
        let (phone, balance) = (phone(random, nation), money(random, -900, 9999));
        let (segment, comment) = (random.pick(&SEGMENTS), random.pick(&COMMENTS));
        format!("({key}, 'Customer#{key:09}', 'road {key}', {nation}, '{phone}', {balance}, '{segment}', '{comment}')")
    };
    (1..=CUSTOMERS).map(row).collect()
}

fn parts(random: &mut Random) -> Vec<String> {
    let row = |key: i64| {
        let name = format!("{} {}", random.pick(&COLOURS), random.pick(&COLOURS));
        let (brand, kind) = (random.pick(&BRANDS), random.pick(&TYPES));
        let (size, container) = (random.pick(&[1, 3, 5, 9, 14, 15, 19, 23, 36, 45, 49]), random.pick(&CONTAINERS));
        let price = money(random, 900, 1100);
        format!("({key}, '{name}', 'Manufacturer#1', '{brand}', '{kind}', {size}, '{container}', {price}, 'a part')")
    };
    (1..=PARTS).map(row).collect()
}

/// Four suppliers for each part.
fn supplier_of(part: i64, number: i64) -> i64 {
    (part + number * (SUPPLIERS / 4)) % SUPPLIERS + 1
}

fn part_suppliers(random: &mut Random) -> Vec<String> {
    let mut rows = Vec::new();
    for part in 1..=PARTS {
        for number in 0..4 {
            let (supplier, available) = (supplier_of(part, number), random.between(1, 9999));
            rows.push(format!("({part}, {supplier}, {available}, {}, 'a supply')", money(random, 1, 1000)));
        }
    }
    rows
}

fn orders(random: &mut Random) -> (Vec<String>, Vec<String>) {
    let (mut orders, mut lines) = (Vec::new(), Vec::new());
    for key in 1..=ORDERS {
        // A third of the customers never order.
        let customer = random.between(1, CUSTOMERS / 3) * 3 - random.between(1, 2);
        let day = random.between(0, 2400);
        let before = lines.len();
        for line in 1..=random.between(1, 7) {
            lines.push(line_item(random, key, line, day));
        }
        let status = random.pick(&["F", "O", "P"]);
        let total = money(random, 1000, 400_000 * (lines.len() - before) as i64 / 7);
        let (priority, comment) = (random.pick(&PRIORITIES), random.pick(&COMMENTS));
        orders.push(format!(
            "({key}, {customer}, '{status}', {total}, DATE '1992-01-01' + {day}, '{priority}', 'Clerk#1', 0, '{comment}')"
        ));
    }
    (orders, lines)
}

fn line_item(random: &mut Random, order: i64, line: i64, ordered: i64) -> String {
    let part = random.between(1, PARTS);
    let supplier = supplier_of(part, random.between(0, 3));
    // Some orders are large: query 18 wants sums above 300.
    let quantity = if order % 50 == 0 { random.between(48, 50) } else { random.between(1, 50) };
    let (price, discount, tax) = (money(random, 900, 55_000), random.between(0, 10), random.between(0, 8));
    let shipped = ordered + random.between(1, 121);
    let (committed, received) = (ordered + random.between(30, 90), shipped + random.between(1, 30));
    let (flag, status) = (random.pick(&["R", "A", "N"]), random.pick(&["O", "F"]));
    let (instruction, mode) = (random.pick(&INSTRUCTIONS), random.pick(&MODES));
    format!(
        "({order}, {part}, {supplier}, {line}, {quantity}, {price}, 0.{discount:02}, 0.{tax:02}, '{flag}', '{status}', \
         DATE '1992-01-01' + {shipped}, DATE '1992-01-01' + {committed}, DATE '1992-01-01' + {received}, \
         '{instruction}', '{mode}', 'a line')"
    )
}
