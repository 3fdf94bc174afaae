//! Reads the fields of the struct: each is a buffer or a value.

use crate::attribute::Returned;
use fencepost_kernels::{ArgKind, DType, Scalar};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Expr, Fields, GenericArgument, Ident, Lit, PathArguments, Result, Type};

/// One field of the struct.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// Name without `r#`; the shader has the same name.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) pass: Pass,
}

/// Way in which the field passes its argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Read,
    ReadWrite,
    Value,
    /// The kernel returns the value; the struct has no field for it.
    Returned,
}

impl Pass {
    pub(crate) fn kind(self, dtype: DType) -> ArgKind {
        match self {
            Self::Read => ArgKind::Read(dtype),
            Self::ReadWrite | Self::Returned => ArgKind::ReadWrite(dtype),
            Self::Value => ArgKind::Value(dtype),
        }
    }
}

impl Field {
    /// Returns the type of the value, or the type that the reference points to.
    pub(crate) fn target(&self) -> &Type {
        match &self.ty {
            Type::Reference(reference) => &reference.elem,
            ty => ty,
        }
    }

    /// Returns the element type if the tokens show it: the first type argument of an array type, or the type of a
    /// value.
    pub(crate) fn element(&self) -> Option<&Type> {
        match self.pass {
            Pass::Value | Pass::Returned => Some(&self.ty),
            Pass::Read | Pass::ReadWrite => first_type_argument(self.target()),
        }
    }
}

impl Field {
    /// Returns the replacement for a type that WGSL does not have.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        let Type::Path(path) = self.element()? else { return None };
        let known = [("usize", "u32"), ("isize", "i32"), ("u128", "[u32; 4]"), ("i128", "[u32; 4]")];
        known.into_iter().find(|(host, _)| path.path.is_ident(host)).map(|(_, remedy)| remedy)
    }
}

impl Field {
    /// Returns `true` if the field is an array instead of a reference to one.
    fn is_array(&self) -> bool {
        let Type::Path(path) = &self.ty else { return false };
        path.path.segments.last().is_some_and(|last| last.ident == "DeviceArray")
    }

    /// Returns `true` if an argument can have the field's type, as far as the tokens show it.
    pub(crate) fn is_argument(&self) -> bool {
        self.remedy().is_none() && !self.is_array()
    }
}

/// Returns the tokens of a type as they are usually written.
pub(crate) fn spelled(ty: &Type) -> String {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '\'');
    let mut spelled = String::new();
    for token in quote::ToTokens::to_token_stream(ty).to_string().split(' ') {
        let last = spelled.chars().next_back();
        if (is_word(last) && is_word(token.chars().next())) || matches!(last, Some(',' | ';')) {
            spelled.push(' ');
        }
        spelled += token;
    }
    spelled
}

/// Returns an error for every field whose type no shader has, and for every array that is not a reference.
pub(crate) fn no_arguments(fields: &[Field]) -> Option<Error> {
    let errors = fields.iter().filter_map(|field| {
        if field.is_array() {
            let ty = spelled(&field.ty);
            if field.pass == Pass::Returned {
                let message = format!("a kernel returns one element: `returns({}: f32)`", field.name);
                return Some(Error::new_spanned(&field.ty, message));
            }
            let message = format!(
                "an array is a reference: write `{}: &'a {ty}` if the shader reads it, `{}: &'a mut {ty}` if it writes it",
                field.name, field.name
            );
            return Some(Error::new_spanned(&field.ty, message));
        }
        let element = field.element()?;
        let remedy = field.remedy()?;
        let name = spelled(element);
        Some(Error::new_spanned(element, format!("WGSL has no `{name}`: use `{remedy}`")))
    });
    errors.reduce(|mut all, error| {
        all.combine(error);
        all
    })
}

/// Returns the fields of a struct, followed by the value that its kernel returns.
pub(crate) fn with_returned(input: &DeriveInput, returned: Option<&Returned>) -> Result<Vec<Field>> {
    let mut fields = read(input)?;
    fields.extend(returned.map(|Returned { name, ty }| Field {
        name: name.unraw().to_string(),
        ident: name.clone(),
        ty: ty.clone(),
        pass: Pass::Returned,
    }));
    Ok(fields)
}

fn read(input: &DeriveInput) -> Result<Vec<Field>> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "kernel arguments are a struct"));
    };
    let fields = match &data.fields {
        Fields::Named(fields) => &fields.named,
        Fields::Unit => return Ok(Vec::new()),
        Fields::Unnamed(_) => {
            return Err(Error::new(input.ident.span(), "kernel arguments have names: those of the shader"));
        }
    };
    Ok(fields.iter().filter_map(|field| Some(read_field(field.ident.clone()?, field.ty.clone()))).collect())
}

fn read_field(ident: Ident, ty: Type) -> Field {
    let pass = match &ty {
        Type::Reference(reference) if reference.mutability.is_some() => Pass::ReadWrite,
        Type::Reference(_) => Pass::Read,
        _ => Pass::Value,
    };
    Field { name: ident.unraw().to_string(), ident, ty, pass }
}

/// Returns the element type if the tokens of `ty` name one.
pub(crate) fn dtype(ty: &Type) -> Option<DType> {
    match ty {
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let scalar = Scalar::from_name(&last.ident.to_string())?;
            let bare = path.path.segments.len() == 1 || scalar == Scalar::F16;
            (bare && last.arguments.is_none()).then_some(DType::Scalar(scalar))
        }
        Type::Array(array) => {
            let Expr::Lit(length) = &array.len else { return None };
            let Lit::Int(length) = &length.lit else { return None };
            let DType::Scalar(scalar) = dtype(&array.elem)? else { return None };
            Some(DType::Array(scalar.dtype(), length.base10_parse().ok()?))
        }
        Type::Paren(inner) => dtype(&inner.elem),
        Type::Group(inner) => dtype(&inner.elem),
        _ => None,
    }
}

fn first_type_argument(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// Returns `true` if a type is the bare name of this type parameter.
pub(crate) fn is_parameter(ty: &Type, parameter: &Ident) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(parameter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_spelled_without_the_spaces_between_its_tokens() {
        for text in
            ["DeviceArray<f32>", "&'a mut crate::Pair<'a, [f32; 3], (u32, T)>", "<T as Name>::Of", "dyn Any"]
        {
            let ty: Type = syn::parse_str(text).expect("it is a type");
            assert_eq!(spelled(&ty), text);
        }
    }
}
