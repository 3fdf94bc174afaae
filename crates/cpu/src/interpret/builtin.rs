//! The built-in values of an invocation.

use super::decode::Input;
use super::subgroup::LANES;
use naga::BuiltIn;

/// Place of an invocation in its grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// Number of workgroups of the grid along each axis.
    pub(super) groups: [u32; 3],
    /// Number of invocations of a workgroup along each axis.
    pub(super) size: [u32; 3],
    /// Index of the workgroup along each axis.
    pub(super) group: [u32; 3],
    /// Number of the invocation in the workgroup.
    pub(super) number: u32,
}

impl Position {
    fn local(&self) -> [u32; 3] {
        let [x, y, _] = self.size;
        [self.number % x, self.number / x % y, self.number / x / y]
    }

    /// Returns a built-in value and its number of components. The value of a scalar is in the first component.
    fn value(&self, builtin: BuiltIn) -> ([u32; 3], usize) {
        let scalar = |value: u32| ([value, 0, 0], 1);
        match builtin {
            BuiltIn::GlobalInvocationId => {
                let local = self.local();
                let axis =
                    |axis: usize| self.group[axis].wrapping_mul(self.size[axis]).wrapping_add(local[axis]);
                ([axis(0), axis(1), axis(2)], 3)
            }
            BuiltIn::LocalInvocationId => (self.local(), 3),
            BuiltIn::LocalInvocationIndex => scalar(self.number),
            BuiltIn::WorkGroupId => (self.group, 3),
            BuiltIn::WorkGroupSize => (self.size, 3),
            BuiltIn::NumWorkGroups => (self.groups, 3),
            BuiltIn::NumSubgroups => scalar(self.size.iter().product::<u32>().div_ceil(LANES)),
            BuiltIn::SubgroupId => scalar(self.number / LANES),
            BuiltIn::SubgroupSize => scalar(LANES),
            BuiltIn::SubgroupInvocationId => scalar(self.number % LANES),
            _ => ([0; 3], 0),
        }
    }

    /// Puts the built-in values into the slots of the entry point, which begin at `base`.
    pub(super) fn fill(&self, inputs: &[Input], stack: &mut [u64], base: usize) {
        for input in inputs {
            let (values, count) = self.value(input.builtin);
            for (at, &value) in values[..count].iter().enumerate() {
                stack[base + input.slot + at] = u64::from(value);
            }
        }
    }
}

/// Returns `true` for the built-in values that an entry point may take.
pub(super) fn is_known(builtin: BuiltIn) -> bool {
    matches!(
        builtin,
        BuiltIn::GlobalInvocationId
            | BuiltIn::LocalInvocationId
            | BuiltIn::LocalInvocationIndex
            | BuiltIn::WorkGroupId
            | BuiltIn::WorkGroupSize
            | BuiltIn::NumWorkGroups
            | BuiltIn::NumSubgroups
            | BuiltIn::SubgroupId
            | BuiltIn::SubgroupSize
            | BuiltIn::SubgroupInvocationId
    )
}
