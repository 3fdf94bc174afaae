//! The interface of tools that observe a run.

use naga::{Expression, Handle};

/// Instruction that an invocation executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// Number of the function, as in [`Interpreter::function`](super::Interpreter::function).
    pub(crate) function: usize,
    /// Number of the instruction in its function.
    pub(crate) op: usize,
    /// Expression that the instruction computes, or the pointer of a load, a store or an atomic operation.
    pub(crate) expression: Option<Handle<Expression>>,
    /// Number of the invocation in its workgroup.
    pub(crate) invocation: u32,
}

/// Bytes that an invocation accesses, or slots of its own variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// Bytes of a region. The buffers come first, then the uniform block, then the variables of the workgroup.
    Memory { region: u16, byte: u64, bytes: u64 },
    /// Slots of the invocation's own variables.
    Stack { slot: usize, count: usize },
}

/// Reason why an invocation does not reach a barrier at which others of its workgroup wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It waits at another barrier, or at the same one in another call.
    Waits(Site),
    /// It has ended. This is its number in the workgroup.
    Ended(u32),
}

/// Observer of a run. Each method is called before the operation takes effect.
///
/// The interpreter is compiled separately for each observer type, without calls if the observer is inactive.
pub(crate) trait Observer {
    /// `false` for an observer whose methods are not called.
    const ACTIVE: bool = true;

    /// Observes the start of a workgroup, whose variables are zero.
    fn group(&mut self, workgroup: [u32; 3]);

    /// Observes a load.
    fn load(&mut self, site: Site, touched: Touched);

    /// Observes a store.
    fn store(&mut self, site: Site, touched: Touched);

    /// Observes an atomic load, store or change.
    fn atomic(&mut self, site: Site, touched: Touched);

    /// Observes an index before it is clamped to an array, a matrix or a vector of `len` elements.
    fn index(&mut self, site: Site, index: u64, len: u64);

    /// Observes the operands of an operator or a function for one component, or all arguments of a function. The
    /// operand of a unary operator is passed twice.
    fn compute(&mut self, site: Site, operands: &[u64]);

    /// Observes that all invocations of the workgroup wait at a barrier.
    fn barrier(&mut self, site: Site);

    /// Observes that an invocation does not reach the barrier at which another one waits. Then the run ends.
    fn split(&mut self, _waits: Site, _missing: Missing) {}
}

/// Observes nothing.
impl Observer for () {
    const ACTIVE: bool = false;

    fn group(&mut self, _: [u32; 3]) {}
    fn load(&mut self, _: Site, _: Touched) {}
    fn store(&mut self, _: Site, _: Touched) {}
    fn atomic(&mut self, _: Site, _: Touched) {}
    fn index(&mut self, _: Site, _: u64, _: u64) {}
    fn compute(&mut self, _: Site, _: &[u64]) {}
    fn barrier(&mut self, _: Site) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::Interpreter;
    use crate::{Cells, GridRun, Program};
    use std::sync::atomic::AtomicBool;

    /// Observer that writes down all calls.
    #[derive(Default)]
    struct Record {
        seen: Vec<String>,
        sites: Vec<Site>,
    }

    impl Record {
        fn note(&mut self, site: Site, text: String) {
            self.seen.push(format!("{}: {text}", site.invocation));
            self.sites.push(site);
        }
    }

    impl Observer for Record {
        fn group(&mut self, workgroup: [u32; 3]) {
            self.seen.push(format!("group {}", workgroup[0]));
        }
        fn load(&mut self, site: Site, touched: Touched) {
            if let Touched::Memory { region, byte, bytes } = touched {
                self.note(site, format!("load {region} {byte} {bytes}"));
            }
        }
        fn store(&mut self, site: Site, touched: Touched) {
            match touched {
                Touched::Memory { region, byte, bytes } => {
                    self.note(site, format!("store {region} {byte} {bytes}"));
                }
                Touched::Stack { count, .. } => self.note(site, format!("set {count}")),
            }
        }
        fn atomic(&mut self, site: Site, touched: Touched) {
            let Touched::Memory { region, byte, .. } = touched else { return };
            self.note(site, format!("atomic {region} {byte}"));
        }
        fn index(&mut self, site: Site, index: u64, len: u64) {
            self.note(site, format!("index {index} of {len}"));
        }
        fn compute(&mut self, site: Site, operands: &[u64]) {
            self.note(site, format!("compute {operands:?}"));
        }
        fn barrier(&mut self, site: Site) {
            self.note(site, "barrier".into());
        }
    }

    /// Records a run of one workgroup with one buffer of 4 words.
    fn record(wgsl: &str) -> (Interpreter, Record) {
        let interpreter = Interpreter::new(Program::of_text(wgsl)).unwrap();
        let mut words = [0_u128];
        let cells = [Cells::new(bytemuck::bytes_of_mut(&mut words))];
        let stop = AtomicBool::new(false);
        let groups = [1; 3];
        let range = 0..1;
        let run = GridRun { groups, range, params: &[], buffers: &cells, seed: 0, stop: &stop };
        let mut record = Record::default();
        interpreter.run_observed(&run, &mut record).unwrap();
        (interpreter, record)
    }

    const HEAD: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;";

    #[test]
    fn an_observer_is_told_of_indices_before_they_are_moved_into_bounds() {
        let text = "@compute @workgroup_size(1) fn k() { var i = 2u; x[i + 7u] = x[1] / x[0]; }";
        let (interpreter, record) = record(&format!("{HEAD}{text}"));
        let expected = [
            "group 0",
            "0: compute [2, 7]",
            "0: index 9 of 4",
            "0: index 1 of 4",
            "0: load 0 4 4",
            "0: index 0 of 4",
            "0: load 0 0 4",
            "0: compute [0, 0]",
            "0: store 0 12 4",
        ];
        assert_eq!(record.seen, expected);
        let site = record.sites[6];
        let function = interpreter.function(site.function);
        let division = &function.expressions[site.expression.unwrap()];
        assert!(matches!(division, Expression::Binary { op: naga::BinaryOperator::Divide, .. }));
        assert_eq!(
            interpreter.place(site).unwrap().column,
            text.find("x[1] / x[0]").unwrap() + HEAD.len() + 1
        );
    }

    #[test]
    fn an_observer_is_told_of_barriers_atomics_and_variables_of_the_workgroup() {
        let text = "
            struct S { a: vec3<f32>, b: atomic<u32> }
            var<workgroup> w: array<S, 2>;
            @compute @workgroup_size(2) fn k(@builtin(local_invocation_index) i: u32) {
                w[i].a = vec3(1.0);
                workgroupBarrier();
                atomicAdd(&w[1].b, 1u);
                var v: vec2<u32>;
                v.y = i;
            }";
        let (_, record) = record(&format!("{HEAD}{text}"));
        let expected = [
            "group 0",
            "0: index 0 of 2",
            "0: store 2 0 12",
            "1: index 1 of 2",
            "1: store 2 16 12",
            "0: barrier",
            "0: atomic 2 28",
            "0: set 1",
            "1: atomic 2 28",
            "1: set 1",
        ];
        assert_eq!(record.seen, expected);
    }
}
