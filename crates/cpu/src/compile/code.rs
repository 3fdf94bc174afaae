//! Machine code in memory.
#![allow(unsafe_code, reason = "machine code is called through its address")]

use super::context::Context;
use super::helper::Call;
use cranelift_jit::JITModule;
use std::sync::Arc;

/// Function that executes one workgroup. Returns 1 if the run was stopped, otherwise 0.
type Workgroup = unsafe extern "C" fn(*const Context) -> u32;

/// Machine code of a program, and the constants that it reads.
///
/// The memory of the code is writable while it is written, and executable afterwards, never both.
pub(super) struct Code {
    /// `None` only during the drop.
    module: Option<JITModule>,
    workgroup: Workgroup,
    /// Constants that the code reads through their addresses.
    _tables: Vec<Box<[u32]>>,
    /// Call descriptions that the code reads through their addresses.
    _calls: Vec<Arc<Call>>,
}

// SAFETY: the module is not used again before it is dropped, and code and tables never change.
unsafe impl Send for Code {}
// SAFETY: see above.
unsafe impl Sync for Code {}

impl Code {
    /// Creates the code of a module whose functions are finished. `workgroup` is the address of the function that
    /// executes a workgroup.
    pub(super) fn new(
        module: JITModule,
        workgroup: *const u8,
        tables: Vec<Box<[u32]>>,
        calls: Vec<Arc<Call>>,
    ) -> Self {
        // SAFETY: the function at this address was made with the signature of `Workgroup`.
        let workgroup = unsafe { std::mem::transmute::<*const u8, Workgroup>(workgroup) };
        Self { module: Some(module), workgroup, _tables: tables, _calls: calls }
    }

    /// Counts the call sites of a built-in function.
    #[cfg(test)]
    pub(super) fn calls(&self) -> usize {
        self._calls.len()
    }

    /// Executes a workgroup. Returns `true` if the run was stopped.
    pub(super) fn execute(&self, context: &Context) -> bool {
        // SAFETY: the code accesses only memory that the context describes, because it clamps every index, and the
        // caller checks the sizes of the buffers.
        unsafe { (self.workgroup)(context) != 0 }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the value that could call the code is being dropped, so no call is in progress.
            unsafe { module.free_memory() };
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::compile::Compiled;
    use crate::program::Program;

    /// Returns `true` if an address of this process is mapped.
    fn is_mapped(address: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux lists the mappings");
        maps.lines().any(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let (start, end) = range.expect("a line begins with a range");
            let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).expect("a number"));
            (start..end).contains(&address)
        })
    }

    #[test]
    fn the_pages_of_dropped_code_are_not_used_again() {
        let program = Program::of_text(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
            @compute @workgroup_size(4) fn k(@builtin(local_invocation_index) i: u32) { out[i] = i; }",
        );
        let is_gone = |_| {
            let compiled = Compiled::new(&program, 1).expect("the kernel is compiled");
            let address = compiled.code.workgroup as usize;
            assert!(is_mapped(address));
            drop(compiled);
            !is_mapped(address)
        };
        // Meanwhile another thread may map something at the address, but not each time.
        assert!((0..50).any(is_gone), "the address stays mapped");
    }
}
