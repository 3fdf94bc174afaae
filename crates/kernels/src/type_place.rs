//! Finds the place of a type in a shader. naga records places only for structs and variables.

use crate::tokens::{Token, Tokens, declarations};
use naga::{Handle, Module, Span, Type, TypeInner};

/// Returns the first declaration in the shader with the type, or with a type that contains it.
pub(crate) fn first_use(module: &Module, text: &str, ty: Handle<Type>) -> Option<Span> {
    let types = module.types.iter().map(|(handle, _)| (handle, module.types.get_span(handle)));
    let globals = &module.global_variables;
    let globals = globals.iter().map(|(handle, global)| (global.ty, globals.get_span(handle)));
    let functions = module.functions.iter().map(|(_, function)| function);
    let functions = functions.chain(module.entry_points.iter().map(|entry| &entry.function));
    let locals = functions.flat_map(|function| {
        let locals = &function.local_variables;
        locals.iter().map(|(handle, local)| (local.ty, locals.get_span(handle)))
    });
    let uses = types.chain(globals).chain(locals);
    let containing = containing(module, ty);
    let spans =
        uses.filter(|(used, span)| span.is_defined() && containing[used.index()]).map(|(_, span)| span);
    spans.min_by_key(|span| span.to_range().map(|range| range.start)).or_else(|| alias(module, text, ty))
}

/// Returns `true` for each type that is `ty` or contains it. A type comes after its parts.
fn containing(module: &Module, ty: Handle<Type>) -> Vec<bool> {
    let mut containing = Vec::with_capacity(module.types.len());
    for (handle, outer) in module.types.iter() {
        let part = |part: Handle<Type>| containing[part.index()];
        let contains = match &outer.inner {
            TypeInner::Array { base, .. } | TypeInner::Pointer { base, .. } => part(*base),
            TypeInner::Struct { members, .. } => members.iter().any(|member| part(member.ty)),
            _ => false,
        };
        containing.push(handle == ty || contains);
    }
    containing
}

/// Returns the place of the alias of a type.
fn alias(module: &Module, text: &str, ty: Handle<Type>) -> Option<Span> {
    let name = module.types[ty].name.as_deref()?;
    let tokens: Vec<Token<'_>> = Tokens::of(text).collect();
    let declared = declarations(&tokens).into_iter().find(|declared| declared.name.text == name)?;
    Some(Span::new(declared.name.at as u32, declared.name.end() as u32))
}
