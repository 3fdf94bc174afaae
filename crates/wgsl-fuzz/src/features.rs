//! Counts which parts of the language programs use.

use std::collections::BTreeMap;
use std::fmt;

use crate::case::Case;
use crate::tree::statement::{LoopForm, Stmt};
use crate::tree::types::{F32, Scalar, Type};
use crate::tree::visit::{expressions, parts};
use crate::tree::{ANY, Argument, Expr, Node, Space, Step, Tree};

/// Number of programs that use each part of the language.
#[derive(Clone, Debug, Default)]
pub struct Features {
    programs: u64,
    counts: BTreeMap<&'static str, u64>,
}

impl Features {
    /// Counts a program.
    pub fn count(&mut self, case: &Case) {
        self.programs += 1;
        for feature in of(&case.tree) {
            *self.counts.entry(feature).or_default() += 1;
        }
    }

    /// Returns the share of the programs that use a part.
    pub fn share(&self, feature: &str) -> f64 {
        self.counts.get(feature).copied().unwrap_or(0) as f64 / self.programs.max(1) as f64
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for feature in self.counts.keys() {
            writeln!(f, "{:5.1} %  {feature}", 100.0 * self.share(feature))?;
        }
        Ok(())
    }
}

/// Returns the parts that a program uses.
fn of(tree: &Tree) -> std::collections::BTreeSet<&'static str> {
    let mut found = Finder::default();
    let mut tree = tree.clone();
    found.add_if(tree.workgroup[0].is_multiple_of(16), "workgroup that is a multiple of 16 wide");
    found.add_if(tree.has_privates, "private variables");
    found.add_if(tree.globals.iter().any(|global| global.space == Space::Workgroup), "workgroup memory");
    found.add_if(tree.functions.iter().any(|function| function.uniform), "function with barriers");
    for function in &mut tree.functions {
        found.add_if(function.params.iter().any(|param| param.pointer), "pointer parameter");
        found.in_function = true;
        found.list(&mut function.body, Around::default());
    }
    found.in_function = false;
    found.list(&mut tree.main, Around::default());
    found.features
}

/// Context of a statement.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    loops: u32,
    branches: u32,
    switches: u32,
    /// Number of enclosing loops with barriers.
    waiting: u32,
}

/// A visitor that collects the parts.
#[derive(Default)]
struct Finder {
    features: std::collections::BTreeSet<&'static str>,
    in_function: bool,
}

impl Finder {
    fn add_if(&mut self, is: bool, feature: &'static str) {
        if is {
            self.features.insert(feature);
        }
    }

    fn list(&mut self, body: &mut [Stmt], around: Around) {
        for stmt in body {
            self.stmt(stmt, around);
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt, around: Around) {
        let mut inner = around;
        match stmt {
            Stmt::Loop(of) => {
                inner.loops += 1;
                inner.waiting += u32::from(waits(&mut of.body));
                self.add_if(true, "loop");
                self.add_if(around.loops > 0, "loop in a loop");
                self.add_if(around.switches > 0, "loop in a switch");
                self.add_if(!of.bound.is_const(), "loop whose end depends on data");
                self.add_if(of.until.is_some(), "loop that ends early");
                self.add_if(of.form == LoopForm::BreakIf, "break if");
            }
            Stmt::If(..) => {
                inner.branches += 1;
                self.add_if(self.in_function, "function with branches");
                self.add_if(around.loops > 0, "branch in a loop");
            }
            Stmt::Switch(_, cases, _) => {
                inner.switches += 1;
                self.add_if(true, "switch");
                self.add_if(cases.iter_mut().any(|(_, body)| waits(body)), "switch with barriers");
                self.add_if(around.loops > 0, "switch in a loop");
            }
            Stmt::Break => {
                self.add_if(true, "break");
                self.add_if(around.loops > 1, "break in two loops");
            }
            Stmt::Continue => {
                self.add_if(true, "continue");
                self.add_if(around.switches > 0, "continue in a switch");
            }
            Stmt::Return(_) if around.branches > 0 => {
                let place = if self.in_function { "early return of a function" } else { "early return" };
                self.add_if(true, place);
                self.add_if(around.loops > 0, "return in a loop");
                let place = if self.in_function {
                    "return of a function in a loop with barriers"
                } else {
                    "return in a loop with barriers"
                };
                self.add_if(around.waiting > 0, place);
            }
            Stmt::Pointer(..) => self.add_if(true, "pointer"),
            Stmt::Exchange(..) | Stmt::Broadcast(_) | Stmt::Tally(_) => {
                self.add_if(true, "barrier");
                self.add_if(around.loops > 0, "barrier in a loop");
                self.add_if(around.branches > 0, "barrier in a branch");
                self.add_if(matches!(stmt, Stmt::Tally(_)), "workgroup atomic");
                self.add_if(matches!(stmt, Stmt::Broadcast(_)), "workgroupUniformLoad");
            }
            Stmt::OwnOfGroup(..) | Stmt::SwapOfGroup(..) => {
                self.add_if(true, "atomic of the invocation in workgroup memory");
            }
            Stmt::Count(..) | Stmt::Own(..) => self.atomic(stmt),
            Stmt::Swap(..) => self.add_if(true, "compare and exchange"),
            Stmt::Assign(place, ..) => {
                let dynamic = place.steps.iter().any(|step| match step {
                    Step::Index(index, _) => !index.is_const(),
                    _ => false,
                });
                self.add_if(dynamic, "store at an index from data");
                self.add_if(dynamic && around.loops > 0, "store at an index from data in a loop");
            }
            Stmt::Call(_) => self.add_if(true, "call for its effects"),
            _ => {}
        }
        let (values, lists) = parts(stmt);
        for value in values {
            expressions(value, &mut |expr| self.expr(expr));
        }
        for list in lists {
            self.list(list, inner);
        }
    }

    fn atomic(&mut self, stmt: &Stmt) {
        let feature = match stmt {
            Stmt::Count(_, value) if value.ty == F32 => "shared atomic float",
            Stmt::Count(..) => "shared atomic",
            Stmt::Own(_, _, value) if value.ty == F32 => "atomic float of the invocation",
            _ => "atomic of the invocation",
        };
        self.add_if(true, feature);
    }

    fn expr(&mut self, expr: &Expr) {
        if let Some((scalar, _)) = expr.ty.lanes() {
            self.add_if(scalar == Scalar::F16, "numbers of 16 bits");
            self.add_if(matches!(scalar, Scalar::I64 | Scalar::U64), "integers of 64 bits");
            self.add_if(scalar == Scalar::F64, "floats of 64 bits");
        }
        match &expr.ty {
            Type::Matrix(..) => self.add_if(true, "matrix"),
            Type::Array(..) => self.add_if(true, "array"),
            Type::Struct(_) => self.add_if(true, "struct"),
            _ => {}
        }
        match &expr.node {
            Node::Read(place) => {
                for step in &place.steps {
                    if let Step::Index(index, len) = step {
                        self.add_if(!index.is_const(), "index from data");
                        self.add_if(*len == ANY, "index that nothing limits");
                    }
                }
            }
            Node::Element(_, _, len) => self.add_if(*len == ANY, "index that nothing limits"),
            Node::Call(_, arguments) => {
                self.add_if(true, "call");
                let points = arguments.iter().any(|argument| matches!(argument, Argument::Pointer(_)));
                self.add_if(points, "call with a pointer");
            }
            Node::Binary("/" | "%", ..) if !expr.ty.is_float() => self.add_if(true, "division of integers"),
            Node::Binary("<<" | ">>", ..) => self.add_if(true, "shift"),
            Node::Builtin(name, _) => {
                self.add_if(name.contains("pack") || name.starts_with("through"), "pack or unpack");
                self.add_if(crate::tolerance::Tolerance::of(name).is_some(), "function that rounds");
                self.add_if(*name == "select", "select");
                let of_quad = name.starts_with("quad");
                self.add_if(name.starts_with("subgroup") || of_quad, "operation of a subgroup");
                self.add_if(of_quad, "operation of a quad");
                self.add_if(name.starts_with("subgroup") && name.contains("clusive"), "scan of a subgroup");
            }
            _ => {}
        }
    }
}

/// Returns `true` if a statement in the list has a barrier.
fn waits(body: &mut [Stmt]) -> bool {
    body.iter_mut().any(|stmt| match stmt {
        Stmt::Exchange(..) | Stmt::Broadcast(_) | Stmt::Tally(_) => true,
        stmt => parts(stmt).1.into_iter().any(|list| waits(list)),
    })
}
