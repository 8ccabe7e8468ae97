//! The members of a JSON object as they are written.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// In their order, those of equal names too.
pub struct Members<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'a>, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = vec![];
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Each).map(Members)
    }
}

impl<'a> Members<'a> {
    /// `None`: it is no object.
    pub fn of(text: &'a str) -> Result<Option<Members<'a>>, serde_json::Error> {
        if text.trim_start().starts_with('{') { serde_json::from_str(text).map(Some) } else { Ok(None) }
    }

    /// Of equal names the last one counts, as everywhere.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rfind(|(known, _)| known == name).map(|(_, value)| *value)
    }
}
