//! From syntax to meaning: names, types, overloads, coercions, as PostgreSQL resolves them.
