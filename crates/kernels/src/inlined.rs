//! Limits the length of a kernel after a driver has inlined all calls (rule R09).

use naga::{Function, Module, Statement};

use crate::reach::{calls, reached};
use crate::wording::{self, Diagnostic};

/// Maximum number of expressions that inlining adds to a kernel. In a chain of functions that each call the previous
/// one twice, the number doubles with each function; twelve such functions take one driver four seconds.
const MAX_COPIES: u64 = 1 << 16;

/// Finds the first function reached by an entry point in which inlined calls add more expressions than the limit.
pub(crate) fn too_many_calls(module: &Module) -> Option<Diagnostic> {
    let entries = module.entry_points.iter().map(|entry| &entry.function);
    let reached: Vec<Vec<bool>> = entries.clone().map(|entry| reached(module, entry)).collect();
    // Number of expressions of each function after inlining. naga lists a function after the functions that it calls.
    let mut lengths: Vec<u64> = Vec::new();
    for (handle, function) in module.functions.iter() {
        let copied = copied(function, &lengths);
        if copied > MAX_COPIES && reached.iter().any(|reached| reached[handle.index()]) {
            return Some(finding(function, copied, &lengths));
        }
        lengths.push(copied.saturating_add(function.expressions.len() as u64));
    }
    entries
        .map(|entry| (entry, copied(entry, &lengths)))
        .find_map(|(entry, copied)| (copied > MAX_COPIES).then(|| finding(entry, copied, &lengths)))
}

/// Returns the number of expressions that inlining adds to a function.
fn copied(function: &Function, lengths: &[u64]) -> u64 {
    calls(&function.body).iter().fold(0, |sum, called| sum.saturating_add(lengths[called.index()]))
}

fn finding(function: &Function, copied: u64, lengths: &[u64]) -> Diagnostic {
    let longest = calls(&function.body).into_iter().max_by_key(|called| lengths[called.index()]);
    let is_it = |s: &Statement| matches!(s, Statement::Call { function, .. } if Some(*function) == longest);
    Diagnostic {
        message: format!(
            "the calls repeat the functions that they lead to: {copied} operations in all, and the limit on a GPU is \
             {MAX_COPIES}: call the function in a loop"
        ),
        span: wording::statement(&function.body, &is_it).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Module, ShaderLanguage, ShaderSource};

    /// Returns the mistake of a chain of functions that each call the previous one `calls` times.
    fn said(functions: usize, calls: usize) -> Option<String> {
        said_of(functions, calls, functions)
    }

    /// As [`said`], with an entry point that calls another function of the chain.
    fn said_of(functions: usize, calls: usize, called: usize) -> Option<String> {
        let one = |at: usize| {
            let sum = (0..calls).map(|i| format!("f{at}(a + {i}u)")).collect::<Vec<_>>().join(" + ");
            format!("fn f{}(a: u32) -> u32 {{ return {sum}; }}\n", at + 1)
        };
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> o: array<u32>;
fn f0(a: u32) -> u32 {{ return a * 3u; }}
{}@compute @workgroup_size(1) fn k() {{ o[0] = f{called}(o[1]); }}",
            (0..functions).map(one).collect::<String>()
        );
        let module = Module::parse(&ShaderSource::text("k", text)).expect("valid WGSL");
        let [spirv, wgsl] = [ShaderLanguage::Spirv, ShaderLanguage::Wgsl]
            .map(|to| module.translation_error(to).map(|error| error.to_string()));
        assert_eq!(spirv, wgsl);
        spirv
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
        assert_eq!(said_of(60, 2, 3), None, "the entry point reaches few of them");
        assert_eq!(said(1, 500), None);
        assert_eq!(said(200, 1), None);
    }
}
