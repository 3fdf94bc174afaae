//! The check that no compute entry point has a `@location`.

use naga::{Binding, Module, ShaderStage, Span, TypeInner};

use crate::tokens::{Token, Tokens, declarations};
use crate::wording::Diagnostic;

/// Finds a compute entry point with a `@location`, which naga accepts but drivers crash on.
pub(crate) fn location(module: &Module, text: &str) -> Option<Diagnostic> {
    let compute = module.entry_points.iter().filter(|entry| entry.stage == ShaderStage::Compute);
    compute.into_iter().find_map(|entry| {
        let results = entry.function.result.iter().map(|result| (&result.binding, result.ty));
        let arguments = entry.function.arguments.iter().map(|argument| (&argument.binding, argument.ty));
        let (result, (_, ty)) = results
            .map(|found| (true, found))
            .chain(arguments.map(|found| (false, found)))
            .find(|(result, (binding, ty))| *result || is_location(binding) || has_location(module, *ty))?;
        let remedy = if result {
            "returns nothing: write results into a `var<storage, read_write>`"
        } else {
            "takes `@builtin(...)` values alone: pass others in a `var<storage>` or `var<uniform>`"
        };
        let message = format!("`{}` is a compute entry point, which {remedy}", entry.name);
        let structure = module.types[ty].name.as_deref().unwrap_or_default();
        Some(Diagnostic { message, span: place(text, &entry.name, structure) })
    })
}

fn is_location(binding: &Option<Binding>) -> bool {
    matches!(binding, Some(Binding::Location { .. }))
}

fn has_location(module: &Module, ty: naga::Handle<naga::Type>) -> bool {
    let TypeInner::Struct { members, .. } = &module.types[ty].inner else { return false };
    members.iter().any(|member| is_location(&member.binding))
}

/// Returns the place of the first `@location` of an entry point or of its argument struct, otherwise that of the entry
/// point's name.
fn place(text: &str, entry: &str, structure: &str) -> Span {
    let tokens: Vec<Token<'_>> = Tokens::of(text).collect();
    let all = declarations(&tokens);
    let named = |name: &str| all.iter().find(|declared| declared.name.text == name);
    let span = |from: Token<'_>, to: Token<'_>| Span::new(from.at as u32, to.end() as u32);
    for declared in [named(entry), named(structure)].into_iter().flatten() {
        let body = declared.rest.iter().position(|token| token.text == "{" && declared.keyword.text == "fn");
        let head = &declared.rest[..body.unwrap_or(declared.rest.len())];
        if let Some(at) = head.windows(2).position(|two| two[0].text == "@" && two[1].text == "location") {
            let end = head[at..].iter().position(|token| token.text == ")").unwrap_or(1);
            return span(head[at], head[at + end]);
        }
    }
    named(entry).map_or(Span::UNDEFINED, |declared| span(declared.name, declared.name))
}
