//! The names of invocations, places and elements in findings.

use super::finding::{Access, AccessKind, Element, InvocationId, Race, Step};
use super::path;
use super::sets::Actor;
use super::sites::{self, Sites};
use crate::error::Place;
use crate::interpret::{AtomicAccess, Interpreter, Site};
use crate::program::Program;
use naga::valid::FunctionInfo;
use naga::{Expression, Function, GlobalVariable, Handle};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// An access, with numbers instead of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Raw {
    pub(super) site: u32,
    pub(super) kind: AccessKind,
    pub(super) actor: Actor,
}

/// Lookup of the names of a launch.
pub(super) struct Names<'k> {
    pub(super) program: &'k Program,
    pub(super) interpreter: &'k Interpreter,
    pub(super) sites: &'k Sites,
    groups: [u32; 3],
    /// Cache of places, because finding one costs a walk through the shader's text.
    places: RefCell<FxHashMap<u32, Option<Place>>>,
}

impl<'k> Names<'k> {
    /// Prepares the names of a launch with this number of workgroups along each axis.
    pub(super) fn new(
        program: &'k Program,
        interpreter: &'k Interpreter,
        sites: &'k Sites,
        groups: [u32; 3],
    ) -> Self {
        Self { program, interpreter, sites, groups, places: RefCell::default() }
    }

    /// Returns the function of an instruction.
    pub(super) fn function(&self, site: &Site) -> &'k Function {
        self.interpreter.function(site.function)
    }

    /// Returns naga's analysis of the function of an instruction.
    pub(super) fn info(&self, site: &Site) -> &'k FunctionInfo {
        sites::info(self.program, site.function)
    }

    /// Returns the kind of an instruction's access to an atomic variable.
    pub(super) fn atomic_kind(&self, site: &Site) -> AccessKind {
        match self.interpreter.atomic_access(site.function, site.op) {
            Some(AtomicAccess::Load) => AccessKind::AtomicRead,
            Some(AtomicAccess::Store) => AccessKind::AtomicWrite,
            Some(AtomicAccess::Change) | None => AccessKind::AtomicChange,
        }
    }

    /// Lists the indexing steps that compute a pointer. Only pointers to an invocation's own variables are passed to
    /// functions, so a pointer to shared memory is computed entirely in the function of the access.
    pub(super) fn chain(
        &self,
        site: &Site,
        pointer: Handle<Expression>,
    ) -> impl Iterator<Item = Handle<Expression>> {
        let expressions = &self.function(site).expressions;
        let mut at = Some(pointer);
        std::iter::from_fn(move || {
            let own = at?;
            at = match expressions[own] {
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => Some(base),
                _ => None,
            };
            Some(own)
        })
    }

    /// Returns the number of invocations of a workgroup.
    pub(super) fn group_size(&self) -> u64 {
        self.program.workgroup().iter().map(|&size| u64::from(size)).product()
    }

    /// Returns the number of the first invocation of a workgroup.
    pub(super) fn first(&self, [x, y, z]: [u32; 3]) -> Actor {
        let [columns, rows, _] = self.groups.map(u64::from);
        (u64::from(x) + columns * (u64::from(y) + rows * u64::from(z))) * self.group_size()
    }

    /// Returns the place of an instruction.
    pub(super) fn place(&self, site: u32) -> Option<Place> {
        let mut places = self.places.borrow_mut();
        places.entry(site).or_insert_with(|| self.program.place(self.sites.span(site))).clone()
    }

    /// Returns the step of an invocation at an instruction.
    pub(super) fn step(&self, site: u32, actor: Actor) -> Step {
        Step { invocation: self.invocation(actor), place: self.place(site) }
    }

    /// Returns the identity of an invocation.
    pub(super) fn invocation(&self, actor: Actor) -> InvocationId {
        let group = actor / self.group_size();
        let local = actor % self.group_size();
        let size = self.program.workgroup();
        let workgroup = split(group, self.groups);
        let local = split(local, size);
        let axis = |axis: usize| workgroup[axis].wrapping_mul(size[axis]).wrapping_add(local[axis]);
        InvocationId { global: [axis(0), axis(1), axis(2)], workgroup }
    }

    /// Describes an access.
    pub(super) fn access(&self, raw: Raw) -> Access {
        Access { kind: raw.kind, step: self.step(raw.site, raw.actor) }
    }

    /// Describes a race.
    pub(super) fn race(&self, region: u16, byte: u64, one: Raw, other: Raw) -> Race {
        let one = self.access(one);
        let other = self.access(other);
        let at = |access: &Access| access.step.place.as_ref().map(|place| (place.line, place.column));
        let (one, other) = if at(&one) <= at(&other) { (one, other) } else { (other, one) };
        let in_buffer = usize::from(region) < self.program.buffers().len();
        Race { element: self.element(region, byte), in_buffer, one, other }
    }

    /// Names the scalar at a byte of a region.
    pub(super) fn element(&self, region: u16, byte: u64) -> Element {
        let Some((variable, start)) = self.variable(region, byte) else {
            return Element { array: "memory".into(), path: format!("byte {byte} of memory") };
        };
        let variable = &self.program.module().global_variables[variable];
        let array = variable.name.clone().unwrap_or_else(|| "_".into());
        let path = path::scalar_at(self.program.module(), &array, variable.ty, byte - start);
        Element { array, path }
    }

    /// Returns the variable at a byte of a region, and the byte at which it begins.
    pub(super) fn variable(&self, region: u16, byte: u64) -> Option<(Handle<GlobalVariable>, u64)> {
        if let Some(&buffer) = self.program.buffers().get(usize::from(region)) {
            return Some((buffer?, 0));
        }
        let variables = self.interpreter.workgroup_variables();
        let after = variables.partition_point(|&(start, _)| start <= byte);
        variables[..after].last().map(|&(start, variable)| (variable, start))
    }
}

/// Splits a number into an index along each axis.
fn split(number: u64, size: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = size.map(u64::from);
    [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
}
