//! Turns a `var<immediate>` into the uniform block of its entry points.

use naga::{AddressSpace, Module, ResourceBinding};

use crate::tokens::{Token, Tokens};
use crate::types;

/// Maximum size of immediates in bytes; naga's validator panics for more.
pub(crate) const MAX_BYTES: u32 = 256;

/// Returns the bytes of the largest `var<immediate>` of a module; `None` if it has none.
pub(crate) fn bytes(module: &Module) -> Option<u32> {
    let variables = module.global_variables.iter();
    let immediates = variables.filter(|(_, variable)| variable.space == AddressSpace::Immediate);
    immediates.map(|(_, variable)| types::size(module, variable.ty)).max()
}

/// Gives each `var<immediate>` of a module the address space and a binding of a uniform block, so that a launch passes
/// its values in the same way. The binding is the lowest free number in group 0.
///
/// All of them get the same number, because an entry point uses only one of them.
pub(crate) fn adopt(module: &mut Module) {
    let free = free_binding(module);
    for (_, variable) in module.global_variables.iter_mut() {
        if variable.space == AddressSpace::Immediate {
            variable.space = AddressSpace::Uniform;
            variable.binding = Some(ResourceBinding { group: 0, binding: free });
        }
    }
}

/// Returns the lowest free binding of group 0.
fn free_binding(module: &Module) -> u32 {
    let taken = |number: &u32| {
        let mut bindings = module.global_variables.iter().filter_map(|(_, variable)| variable.binding);
        bindings.any(|at| at.group == 0 && at.binding == *number)
    };
    (0..).find(|number| !taken(number)).expect("a module has fewer variables than there are numbers")
}

/// Returns a text in which each `var<immediate>` is a uniform block at `binding` of group 0. No line moves.
pub fn with_uniform_block(text: &str, binding: u32) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut from = 0;
    let mut last: [Option<Token<'_>>; 2] = [None, None];
    for token in Tokens::of(text) {
        if token.text == "immediate"
            && let [Some(var), Some(open)] = last
            && (var.text, open.text) == ("var", "<")
        {
            changed += &text[from..var.at];
            changed += &format!("@group(0) @binding({binding}) ");
            changed += &text[var.at..token.at];
            changed += "uniform";
            from = token.end();
        }
        last = [last[1], Some(token)];
    }
    changed + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Module, ShaderSource};

    #[test]
    fn each_immediate_becomes_a_uniform_block() {
        for (text, changed) in [
            ("var<immediate> a: T;", "@group(0) @binding(7) var<uniform> a: T;"),
            (
                "/* é */ var < immediate > a: u32; var<immediate>b: f32;",
                "/* é */ @group(0) @binding(7) var < uniform > a: u32; @group(0) @binding(7) var<uniform>b: f32;",
            ),
        ] {
            assert_eq!(with_uniform_block(text, 7), changed);
        }
    }

    #[test]
    fn other_variables_names_and_comments_stay() {
        for text in [
            "@group(0) @binding(1) var<uniform> immediate: u32; var<private> a: i32;",
            "// var<immediate> a\nfn f(immediate: u32) -> bool { return 1u < immediate; }",
        ] {
            assert_eq!(with_uniform_block(text, 7), text);
        }
    }

    #[test]
    fn the_changed_text_has_the_interface_of_the_text() {
        let text = "struct P { a: vec3<f32>, n: u32 }
            var<immediate> p: P;
            var<immediate> q: u32;
            @group(0) @binding(0) var<storage, read_write> x: array<f32>;
            @compute @workgroup_size(1) fn first() { x[p.n] = p.a.y; }
            @compute @workgroup_size(1) fn second() { x[q] = 1.0; }";
        let parsed =
            |text: &str| Module::parse(&ShaderSource::text("k", text.to_owned())).expect("valid WGSL");
        let module = parsed(text);
        let index = |module: &Module, entry: &str| {
            let params = module.arguments(entry).expect("an entry point").params.expect("values");
            (params.index, params.size)
        };
        let (binding, _) = index(&module, "first");
        let changed = with_uniform_block(text, binding);
        assert!(!changed.contains("immediate"));
        let changed = parsed(&changed);
        for entry in ["first", "second"] {
            assert_eq!(index(&changed, entry), index(&module, entry), "{entry}");
        }
    }
}
