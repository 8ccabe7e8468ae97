//! The macros that define kinds of nodes: a view by value for the reader, one to several words for the tree.

/// Defines an `enum` whose variants are kinds of nodes, or a `struct` that is one. `family`: its number in
/// `syntax::FAMILIES`.
macro_rules! syntax {
    (
        family $family:literal;
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident $( { $($(#[$field_meta:meta])* $field:ident : $type:ty),* $(,)? } )? ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "fields are called by the grammar's words")]
        pub enum $name {
            $( $(#[$variant_meta])* $variant $( { $($(#[$field_meta])* $field: $type),* } )? ),*
        }

        const _: () = {
            use $crate::tree::{Draft, Field, KindInfo, Node, Syntax, Tree};

            #[repr(u16)]
            #[allow(clippy::enum_variant_names, reason = "the grammar's words")]
            enum Number { $($variant),* }

            impl $name {
                pub(crate) const KINDS: &'static [KindInfo] = &[$(KindInfo {
                    name: concat!(stringify!($name), "::", stringify!($variant)),
                    fields: &[$($((stringify!($field), <$type as Field>::SORT)),*)?],
                }),*];
            }

            impl Syntax for $name {
                #[inline]
                #[allow(unused_variables, unused_mut, unused_assignments, reason = "kinds without fields")]
                fn decode(tree: &Tree<'_>, node: &Node) -> $name {
                    debug_assert_eq!(node.kind >> 8, $family, stringify!($name));
                    let number = node.kind & 0xff;
                    $(if number == Number::$variant as u16 {
                        const COUNT: usize = { let names: &[&str] = &[$($(stringify!($field)),*)?]; names.len() };
                        let words = match COUNT {
                            0 => &[],
                            1 => std::slice::from_ref(&node.data),
                            count => tree.words(node.data, count),
                        };
                        let mut next = 0;
                        return $name::$variant $( { $($field: {
                            let word = words[next];
                            next += 1;
                            <$type as Field>::unpack(word, node)
                        }),* } )?;
                    })*
                    unreachable!("kind {number} is none of {}", stringify!($name))
                }

                #[inline]
                #[allow(unused_variables, unused_mut, reason = "kinds without fields")]
                fn encode(self, tree: &mut Tree<'_>) -> Draft {
                    match self {
                        $($name::$variant $( { $($field),* } )? => {
                            let mut depth = 0u16;
                            $($(depth = depth.max(Field::depth($field, tree));)*)?
                            let data = tree.add_fields(&[$($(Field::pack($field)),*)?]);
                            let kind = ($family << 8) | Number::$variant as u16;
                            Draft { kind, depth: depth.saturating_add(1), data }
                        })*
                    }
                }
            }
        };
    };
    (
        family $family:literal;
        $(#[$meta:meta])*
        pub struct $name:ident { $( $(#[$field_meta:meta])* $field:ident : $type:ty),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "fields are called by the grammar's words")]
        pub struct $name { $( $(#[$field_meta])* pub $field: $type),* }

        const _: () = {
            use $crate::tree::{Draft, Field, KindInfo, Node, Syntax, Tree};

            const COUNT: usize = { let names: &[&str] = &[$(stringify!($field)),*]; names.len() };

            impl $name {
                pub(crate) const KINDS: &'static [KindInfo] = &[KindInfo {
                    name: stringify!($name),
                    fields: &[$((stringify!($field), <$type as Field>::SORT)),*],
                }];
            }

            impl Syntax for $name {
                #[inline]
                #[allow(unused_assignments, reason = "the last field")]
                fn decode(tree: &Tree<'_>, node: &Node) -> $name {
                    debug_assert_eq!(node.kind, $family << 8, stringify!($name));
                    let words = match COUNT {
                        1 => std::slice::from_ref(&node.data),
                        count => tree.words(node.data, count),
                    };
                    let mut next = 0;
                    $name { $($field: {
                        let word = words[next];
                        next += 1;
                        <$type as Field>::unpack(word, node)
                    }),* }
                }

                #[inline]
                fn encode(self, tree: &mut Tree<'_>) -> Draft {
                    let mut depth = 0u16;
                    $(depth = depth.max(Field::depth(self.$field, tree));)*
                    let data = tree.add_fields(&[$(Field::pack(self.$field)),*]);
                    Draft { kind: $family << 8, depth: depth.saturating_add(1), data }
                }
            }
        };
    };
}

/// Defines a choice that is a field of a node.
macro_rules! scalar {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident ),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "choices are called by the grammar's words")]
        pub enum $name { $( $(#[$variant_meta])* $variant ),* }

        impl $name {
            const ALL: &'static [$name] = &[$($name::$variant),*];
        }

        impl $crate::tree::Field for $name {
            const SORT: $crate::tree::FieldSort = $crate::tree::FieldSort::Scalar;
            #[inline]
            fn pack(self) -> u32 {
                self as u32
            }
            #[inline]
            fn unpack(word: u32, _: &$crate::tree::Node) -> $name {
                $name::ALL[word as usize]
            }
        }

        impl $crate::tree::Field for Option<$name> {
            const SORT: $crate::tree::FieldSort = $crate::tree::FieldSort::Scalar;
            #[inline]
            fn pack(self) -> u32 {
                self.map_or(0, |choice| choice as u32 + 1)
            }
            #[inline]
            fn unpack(word: u32, _: &$crate::tree::Node) -> Option<$name> {
                word.checked_sub(1).map(|number| $name::ALL[number as usize])
            }
        }
    };
}

pub(crate) use {scalar, syntax};
