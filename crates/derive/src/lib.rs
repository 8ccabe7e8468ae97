//! `#[derive(FromRow)]`: see `cairndb::FromRow`.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Field, Fields, LitStr, parse_macro_input, parse_quote};

/// Reads a struct from the columns of its fields' names, or of those that `#[cairndb(rename = "...")]` gives them.
#[proc_macro_derive(FromRow, attributes(cairndb))]
pub fn from_row(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derived(input).unwrap_or_else(Error::into_compile_error).into()
}

fn derived(input: DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let DeriveInput { ident, generics, data, .. } = input;
    let fields = match data {
        Data::Struct(of) => match of.fields {
            Fields::Named(fields) => fields.named,
            other => return Err(Error::new_spanned(other, "FromRow needs named fields; a tuple is read as such")),
        },
        _ => return Err(Error::new_spanned(ident, "FromRow can be derived for structs only")),
    };
    let reads = fields.iter().map(|field| {
        let (name, column) = (&field.ident, column(field)?);
        Ok(quote! { #name: ::cairndb::internals::column_of(row, #column)? })
    });
    let reads: Vec<_> = reads.collect::<syn::Result<_>>()?;
    let mut bounded = generics.clone();
    if generics.type_params().next().is_some() {
        let clause = bounded.make_where_clause();
        for of in fields.iter().map(|field| &field.ty) {
            clause.predicates.push(parse_quote!(#of: ::cairndb::FromValue));
        }
    }
    let (params, types, _) = generics.split_for_impl();
    let bounds = bounded.where_clause;
    Ok(quote! {
        impl #params ::cairndb::FromRow for #ident #types #bounds {
            fn from_row(row: &::cairndb::Row<'_>) -> ::cairndb::Result<Self> {
                ::core::result::Result::Ok(Self { #(#reads),* })
            }
        }
    })
}

/// The column's name of a field.
fn column(field: &Field) -> syn::Result<String> {
    let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut column = ident.strip_prefix("r#").unwrap_or(&ident).to_owned();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("cairndb")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("rename") {
                return Err(meta.error("unknown: write #[cairndb(rename = \"column\")]"));
            }
            column = meta.value()?.parse::<LitStr>()?.value();
            Ok(())
        })?;
    }
    Ok(column)
}
