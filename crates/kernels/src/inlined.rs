//! The length of a kernel after a driver has put each called function in the place of its call, and its limit (rule R09).

use naga::{Function, Handle, Module, Statement};

use crate::reach::calls;
use crate::wording::{self, Finding};

/// Most expressions that repeated calls add to a kernel. A chain of functions, each of which calls the one before twice, has
/// twice as many with each function: twelve of them take one driver four seconds.
const MOST_COPIES: u64 = 1 << 16;

/// Finds the first function whose calls copy more expressions than the limit.
pub(crate) fn too_many_calls(module: &Module) -> Option<Finding> {
    let mut lengths: Vec<Length> = Vec::new();
    // naga lists a function behind those that it calls.
    for (_, function) in module.functions.iter() {
        let length = Length::of(function, &lengths);
        lengths.push(length);
    }
    let entries = module.entry_points.iter().map(|entry| &entry.function);
    let mut functions = module.functions.iter().map(|(_, function)| function).chain(entries);
    functions.find_map(|function| {
        let length = Length::of(function, &lengths);
        let longest = calls(&function.body).into_iter().max_by_key(|called| lengths[called.index()].inlined)?;
        let is_it = |s: &Statement| matches!(s, Statement::Call { function, .. } if *function == longest);
        (length.copied > MOST_COPIES).then(|| Finding {
            message: format!(
                "the calls repeat the functions that they lead to: {} operations in all, and the limit on a GPU is \
                 {MOST_COPIES}: call the function in a loop",
                length.copied
            ),
            span: wording::statement(&function.body, &is_it).unwrap_or_default(),
        })
    })
}

/// Number of expressions of a function.
#[derive(Clone, Copy)]
struct Length {
    /// With those of its calls, each as often as it is called.
    inlined: u64,
    /// Those that are there because a function is called.
    copied: u64,
}

impl Length {
    fn of(function: &Function, lengths: &[Self]) -> Self {
        let length = |called: Handle<Function>| lengths[called.index()].inlined;
        let copied = calls(&function.body).into_iter().map(length).fold(0, u64::saturating_add);
        Self { inlined: copied.saturating_add(function.expressions.len() as u64), copied }
    }
}

#[cfg(test)]
mod tests {
    use crate::{BackEnd, Module, ShaderSource};

    /// Returns the mistake of a chain of functions, each of which calls the one before `calls` times.
    fn said(functions: usize, calls: usize) -> Option<String> {
        let one = |at: usize| {
            let sum = (0..calls).map(|i| format!("f{at}(a + {i}u)")).collect::<Vec<_>>().join(" + ");
            format!("fn f{}(a: u32) -> u32 {{ return {sum}; }}\n", at + 1)
        };
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
fn f0(a: u32) -> u32 {{ return a * 3u; }}
{}@compute @workgroup_size(1) fn k() {{ o[0] = f{functions}(o[1]); }}",
            (0..functions).map(one).collect::<String>()
        );
        let module = Module::parse(&ShaderSource::text("k", text)).expect("valid WGSL");
        assert!(module.mistake_on(BackEnd::Wgsl).is_none());
        module.mistake_on(BackEnd::Spirv).map(|error| error.to_string())
    }

    #[test]
    fn calls_that_double_the_code_again_and_again_are_an_error_at_the_call() {
        let found = said(60, 2).expect("2^60 calls");
        assert!(found.contains("the limit on a GPU is 65536: call the function in a loop"), "{found}");
        assert!(
            found.contains("fn f14(") || found.contains("fn f13("),
            "it shows where the limit is passed: {found}"
        );
        assert_eq!(said(10, 2), None);
        assert_eq!(said(1, 500), None);
        assert_eq!(said(200, 1), None);
    }
}
