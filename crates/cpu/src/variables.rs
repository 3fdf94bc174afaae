//! The memory for the variables of invocations, and its limit (rule R09).

use crate::error::{Error, Result};
use crate::program::Program;
use crate::statements::visit;
use naga::{AddressSpace, Function, Handle, Span, Statement, Type};

/// Maximum size of the variables of all invocations that one thread runs at once. The interpreter needs up to four
/// times as much, because it uses 8 bytes for each number.
const MOST_BYTES: u64 = 32 << 20;

/// Number of invocations that a thread runs at once, if there are no barriers.
const TOGETHER: u64 = 16;

/// Checks that the private variables, and the variables of functions that are active at the same time, fit into the
/// limit.
///
/// # Errors
/// [`Error::TooMuchMemory`], with the largest variable.
pub(crate) fn check(program: &Program) -> Result<()> {
    let module = program.module();
    let entry = program.entry();
    let uses = program.info().get_entry_point(program.entry_index());
    let mut largest = Largest { bytes: 0, variable: String::new(), span: Span::UNDEFINED };
    let size = |ty: Handle<Type>| u64::from(program.layouter()[ty].size);
    let mut bytes = 0;
    for (handle, variable) in module.global_variables.iter() {
        if variable.space == AddressSpace::Private && !uses[handle].is_empty() {
            let span = module.global_variables.get_span(handle);
            bytes += largest.or(variable.name.as_deref(), size(variable.ty), span);
        }
    }
    let mut frames: Vec<Frame> = Vec::new();
    for (_, function) in module.functions.iter() {
        let frame = frame(function, &frames, &size);
        frames.push(frame);
    }
    let frame = frame(&entry.function, &frames, &size);
    bytes += frame.bytes;
    largest.or(Some(&frame.largest.variable), frame.largest.bytes, frame.largest.span);
    let all: u64 = program.workgroup().iter().map(|&count| u64::from(count)).product();
    let invocations = if frame.waits { all } else { all.min(TOGETHER) };
    let needed = bytes.saturating_mul(invocations);
    if needed <= MOST_BYTES {
        return Ok(());
    }
    Err(Error::TooMuchMemory {
        kernel: program.name().into(),
        variable: largest.variable,
        bytes: largest.bytes,
        invocations,
        needed,
        limit: MOST_BYTES,
        place: program.place(largest.span).map(Box::new),
    })
}

/// The largest variable.
#[derive(Clone)]
struct Largest {
    bytes: u64,
    variable: String,
    span: Span,
}

impl Largest {
    /// Records a variable if it is the largest so far, and returns its size.
    fn or(&mut self, name: Option<&str>, bytes: u64, span: Span) -> u64 {
        if bytes > self.bytes {
            *self = Self { bytes, variable: name.unwrap_or("a variable").into(), span };
        }
        bytes
    }
}

/// Memory that a call of a function needs, including nested calls.
#[derive(Clone)]
struct Frame {
    bytes: u64,
    largest: Largest,
    /// `true` if invocations may wait for each other.
    waits: bool,
}

/// Returns the needs of a function. naga lists a function after the functions that it calls.
fn frame(function: &Function, frames: &[Frame], size: &impl Fn(Handle<Type>) -> u64) -> Frame {
    let mut own = Frame {
        bytes: 0,
        largest: Largest { bytes: 0, variable: String::new(), span: Span::UNDEFINED },
        waits: false,
    };
    for (handle, variable) in function.local_variables.iter() {
        let span = function.local_variables.get_span(handle);
        own.bytes += own.largest.or(variable.name.as_deref(), size(variable.ty), span);
    }
    let mut called = 0;
    visit(&function.body, &mut |statement| match statement {
        Statement::Call { function, .. } => {
            let inner = &frames[function.index()];
            called = called.max(inner.bytes);
            own.waits |= inner.waits;
            own.largest.or(Some(&inner.largest.variable), inner.largest.bytes, inner.largest.span);
        }
        Statement::ControlBarrier(_)
        | Statement::WorkGroupUniformLoad { .. }
        | Statement::SubgroupBallot { .. }
        | Statement::SubgroupCollectiveOperation { .. }
        | Statement::SubgroupGather { .. } => own.waits = true,
        _ => {}
    });
    own.bytes += called;
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernels::{Module, ShaderSource};

    fn prepared(declarations: &str, statements: &str, workgroup: u32) -> Result<Program> {
        let text = format!(
            "{declarations}
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size({workgroup}) fn k() {{ {statements} }}"
        );
        let module = Module::parse(&ShaderSource::text("k.wgsl", text)).expect("valid WGSL");
        Program::new(&module, &module.entry("k", &[]).expect("it has the entry point"))
    }

    fn message(declarations: &str, statements: &str, workgroup: u32) -> Option<String> {
        prepared(declarations, statements, workgroup).err().map(|error| error.to_string())
    }

    #[test]
    fn memory_over_the_limit_is_an_error_with_the_variable_the_bytes_and_the_remedy() {
        let private = "var<private> small: u32; var<private> a: array<u32, 65536>;";
        let waits = "small = 1; workgroupBarrier(); a[out[1]] = 1; out[0] = a[0];";
        let error = message(private, waits, 256).expect("64 MiB are too many");
        let parts = [
            "k.wgsl:1:26: kernel `k`: the variables of 256 invocations need 67109888 bytes",
            "`a` alone 262144 bytes in each",
            "the limit on the CPU is 33554432 bytes",
            "use a smaller array or workgroup, or a storage buffer",
        ];
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(message(private, waits, 64), None);
        assert_eq!(message(private, &waits.replace("workgroupBarrier();", ""), 256), None, "16 run at once");
    }

    #[test]
    fn variables_of_functions_that_are_active_at_once_count_together() {
        let call = |size: u32| {
            format!(
                "fn deep() -> u32 {{ var a: array<u32, {size}>; a[out[1]] = 1; return a[0]; }}
                 fn other() -> u32 {{ var b: array<u32, {size}>; b[out[1]] = 1; return b[0]; }}
                 fn f() -> u32 {{ var c: array<u32, 10>; c[out[1]] = 1; return deep() + other() + c[2]; }}"
            )
        };
        let body = "out[0] = f();";
        assert_eq!(message(&call((2 << 20) / 4 - 10), body, 16), None);
        let error = message(&call((2 << 20) / 4 - 9), body, 16).expect("it is over the limit");
        assert!(error.contains("`a` alone"), "{error}");
    }

    #[test]
    fn types_of_hundreds_of_megabytes_are_refused_at_once() {
        for (declarations, statements) in [
            ("var<private> a: array<u32, 100000000>;", "a[out[1]] = 1; out[0] = a[0];"),
            ("", "var a: array<array<vec4f, 1000>, 10000>; out[0] = u32(a[out[1]][out[2]].x);"),
            ("struct S { @size(400000000) a: u32, b: u32 }", "var s: S; s.b = out[1]; out[0] = s.b;"),
        ] {
            let error = message(declarations, statements, 1).expect("it is over the limit");
            assert!(error.contains("the limit on the CPU"), "{error}");
        }
    }
}
