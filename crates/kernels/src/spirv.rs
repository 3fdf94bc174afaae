//! Finds code that naga 30 translates wrongly or not at all to SPIR-V, the shader language of Vulkan.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Expression, Function, MathFunction, Module, Scalar, Statement};

use crate::wording::{self, Diagnostic};

/// Returns the first such place of a module.
pub(crate) fn mistake(module: &Module, info: &ModuleInfo) -> Option<Diagnostic> {
    searches(module, info).find_map(SpirvSearch::pointer_to_a_part)
}

/// Returns the first `frexp` of an `f16`: naga gives it a 16-bit exponent, which no driver language supports.
pub(crate) fn exponent_of_16_bits(module: &Module, info: &ModuleInfo) -> Option<Diagnostic> {
    searches(module, info).find_map(SpirvSearch::exponent_of_16_bits)
}

fn searches<'a>(module: &'a Module, info: &'a ModuleInfo) -> impl Iterator<Item = SpirvSearch<'a>> {
    let functions = module.functions.iter().map(|(handle, function)| (function, &info[handle]));
    let entries = module.entry_points.iter().enumerate();
    let entries = entries.map(|(at, entry)| (&entry.function, info.get_entry_point(at)));
    functions.chain(entries).map(move |(function, info)| SpirvSearch { module, function, info })
}

/// Search in one function.
#[derive(Clone, Copy)]
struct SpirvSearch<'a> {
    module: &'a Module,
    function: &'a Function,
    info: &'a FunctionInfo,
}

impl SpirvSearch<'_> {
    fn exponent_of_16_bits(self) -> Option<Diagnostic> {
        self.function.expressions.iter().find_map(|(handle, expression)| {
            let &Expression::Math { fun: MathFunction::Frexp, arg, .. } = expression else { return None };
            let of = self.info[arg].ty.inner_with(&self.module.types).scalar();
            (of == Some(Scalar::F16)).then(|| Diagnostic {
                message: "the device has no `frexp` of `f16`: use the one of `f32`, as in `frexp(f32(x))`"
                    .into(),
                span: self.function.expressions.get_span(handle),
            })
        })
    }

    /// Finds a call with a pointer to a member or an element: naga panics.
    fn pointer_to_a_part(self) -> Option<Diagnostic> {
        let is_part = |argument: &naga::Handle<Expression>| {
            let expression = &self.function.expressions[*argument];
            let ty = self.info[*argument].ty.inner_with(&self.module.types);
            matches!(expression, Expression::Access { .. } | Expression::AccessIndex { .. })
                && ty.pointer_space().is_some()
        };
        let is_it =
            |s: &Statement| matches!(s, Statement::Call { arguments, .. } if arguments.iter().any(is_part));
        let message = "the device takes no pointer to a part of a variable as an argument: pass a pointer to the whole \
                       variable, or copy the part into a variable of its own";
        wording::statement(&self.function.body, &is_it)
            .map(|span| Diagnostic { message: message.into(), span })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Module, ShaderLanguage, ShaderSource};

    fn said(body: &str) -> String {
        let text = format!(
            "struct S {{ a: u32, b: u32 }}
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
fn f(p: ptr<function, u32>) {{ *p += 7u; }}
@compute @workgroup_size(1) fn k() {{
    {body}
}}"
        );
        let module = Module::parse(&ShaderSource::text("k", text)).unwrap();
        module.translation_error(ShaderLanguage::Spirv).map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn a_pointer_to_a_part_of_a_variable_is_found_at_its_call() {
        let wanted = "k:5:29: the device takes no pointer to a part of a variable as an argument: ";
        let member = said("var s = S(1, o[0]); loop { f(&s.b); break; } o[1] = s.b;");
        assert!(member.starts_with("k:5:") && member.contains(&wanted[8..]), "{member}");
        let element = said("var s = array<u32, 3>(); f(&s[o[0] % 3u]); o[1] = s[1];");
        assert!(element.contains(&wanted[8..]), "{element}");
        assert_eq!(said("var s = S(1, o[0]); var b = s.b; f(&b); o[1] = b + s.a;"), "");
    }
}
