//! The memory for the variables of an invocation on a GPU, and its limit (rule R09).

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{AddressSpace, Expression, Function, Handle, Module, Span, Type, TypeInner};
use std::collections::HashSet;

use crate::reach::reached;
use crate::wording::Diagnostic;

/// Maximum size of the variables of an invocation. Above that, the compiler of a software driver ends the process.
const MAX_VARIABLE_BYTES: u64 = 64 << 10;

/// Finds the first entry point whose private variables and function variables together exceed the limit, and returns
/// the largest of them. A driver keeps the variables of all functions at the same time. An array value with a dynamic
/// index counts as a variable too.
pub(crate) fn too_large(module: &Module, info: &ModuleInfo) -> Option<Diagnostic> {
    (0..module.entry_points.len()).find_map(|at| of_entry(module, info, at))
}

fn of_entry(module: &Module, info: &ModuleInfo, at: usize) -> Option<Diagnostic> {
    let entry = &module.entry_points[at].function;
    let uses = info.get_entry_point(at);
    let mut sum = VariableSum { module, bytes: 0, largest: (0, String::new(), Span::UNDEFINED) };
    for (handle, variable) in module.global_variables.iter() {
        if variable.space == AddressSpace::Private && !uses[handle].is_empty() {
            sum.add(variable.ty, variable.name.as_deref(), module.global_variables.get_span(handle));
        }
    }
    sum.add_function(entry, uses);
    let reached = reached(module, entry);
    for (handle, function) in module.functions.iter().filter(|(handle, _)| reached[handle.index()]) {
        sum.add_function(function, &info[handle]);
    }
    let (bytes, name, span) = sum.largest;
    let message = format!(
        "the variables of an invocation need {} bytes, {name} alone {bytes}, and the limit on a GPU is {MAX_VARIABLE_BYTES} bytes: \
         use an array in a buffer, or a smaller one",
        sum.bytes
    );
    (sum.bytes > MAX_VARIABLE_BYTES).then_some(Diagnostic { message, span })
}

/// Sum of the variables, and the largest one.
struct VariableSum<'a> {
    module: &'a Module,
    bytes: u64,
    largest: (u64, String, Span),
}

impl VariableSum<'_> {
    fn add(&mut self, ty: Handle<Type>, name: Option<&str>, span: Span) {
        let bytes = u64::from(self.module.types[ty].inner.size(self.module.to_ctx()));
        self.bytes += bytes;
        if bytes > self.largest.0 {
            self.largest = (bytes, name.map_or("one value".into(), |name| format!("`{name}`")), span);
        }
    }

    fn add_function(&mut self, function: &Function, info: &FunctionInfo) {
        for (handle, variable) in function.local_variables.iter() {
            self.add(variable.ty, variable.name.as_deref(), function.local_variables.get_span(handle));
        }
        let mut values = HashSet::new();
        for (_, expression) in function.expressions.iter() {
            let &Expression::Access { base, .. } = expression else { continue };
            // The target of a pointer is a variable that is already counted.
            if let Some(ty) = info[base].ty.handle()
                && matches!(self.module.types[ty].inner, TypeInner::Array { .. })
                && values.insert(base)
            {
                let name = match function.expressions[base] {
                    Expression::Constant(constant) => self.module.constants[constant].name.as_deref(),
                    _ => function.named_expressions.get(&base).map(String::as_str),
                };
                self.add(ty, name, function.expressions.get_span(base));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Module, ShaderLanguage, ShaderSource};

    fn said(declarations: &str, body: &str) -> Option<String> {
        let text = format!(
            "{declarations}
@group(0) @binding(0) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(1) fn k() {{ {body} }}"
        );
        let module = Module::parse(&ShaderSource::text("k", text)).expect("valid WGSL");
        let [spirv, glsl, wgsl] = [ShaderLanguage::Spirv, ShaderLanguage::Glsl, ShaderLanguage::Wgsl]
            .map(|to| module.translation_error(to).map(|error| error.to_string()));
        assert_eq!(spirv, glsl);
        assert_eq!(spirv, wgsl);
        spirv
    }

    #[test]
    fn more_memory_than_the_limit_is_an_error_at_the_largest_variable() {
        let found =
            said("", "var a: array<u32, 16385>; a[o[1]] = 1; o[0] = a[o[2]];").expect("64 KiB and 4 bytes");
        assert!(
            found.starts_with("k:3:38: the variables of an invocation need 65540 bytes, `a` alone 65540"),
            "{found}"
        );
        assert!(found.contains("the limit on a GPU is 65536 bytes"), "{found}");
        let vast = "var a: array<u32, 536870911>; var b: array<u32, 536870911>; a[o[1]] = 1; o[0] = a[o[2]] + b[o[3]];";
        assert!(said("", vast).is_some_and(|error| error.contains("need 4294967288 bytes")));
        assert_eq!(said("", "var a: array<u32, 16384>; a[o[1]] = 1; o[0] = a[o[2]];"), None);
    }

    #[test]
    fn private_variables_functions_and_constants_count_together() {
        let function = "fn f(i: u32) -> u32 { var a: array<u32, 6000>; a[i] = 1; return a[o[1]]; }";
        let private = "var<private> p: array<u32, 6000>;";
        let numbers = "1, ".repeat(6000);
        let constant = format!("const c = array<u32, 6000>({numbers});");
        let uses = ["o[0] = f(1) + f(2);", "p[o[1]] = 1; o[2] = p[o[3]];", "o[4] = c[o[5]];"];
        let all = [function, private, &constant].join("\n");
        for unused in 0..3 {
            let body: Vec<&str> = (0..3).filter(|&at| at != unused).map(|at| uses[at]).collect();
            assert_eq!(said(&all, &body.concat()), None, "without {}", uses[unused]);
        }
        let found = said(&all, &uses.concat()).expect("72,000 bytes");
        assert!(found.contains("need 72000 bytes"), "{found}");
    }
}
