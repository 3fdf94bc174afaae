//! Operations of subgroups, which all invocations of a workgroup execute together. On the CPU, a subgroup has 4 invocations.

use super::Generator;
use super::scope::Variable;
use crate::tree::statement::Stmt;
use crate::tree::types::{BOOL, Scalar, Type, U32};
use crate::tree::{Expr, Node};

/// Operations on numbers.
const OF_NUMBERS: [&str; 11] = [
    "subgroupAdd",
    "subgroupMul",
    "subgroupMin",
    "subgroupMax",
    "subgroupExclusiveAdd",
    "subgroupExclusiveMul",
    "subgroupInclusiveAdd",
    "subgroupInclusiveMul",
    "subgroupAnd",
    "subgroupOr",
    "subgroupXor",
];

/// Exchanges of values between invocations.
const EXCHANGES: [&str; 10] = [
    "subgroupBroadcastFirst",
    "subgroupBroadcast",
    "subgroupShuffle",
    "subgroupShuffleDown",
    "subgroupShuffleUp",
    "subgroupShuffleXor",
    "quadBroadcast",
    "quadSwapX",
    "quadSwapY",
    "quadSwapDiagonal",
];

impl Generator {
    /// Puts the subgroup built-ins in scope.
    pub(super) fn declare_subgroup_builtins(&mut self) {
        for &(name, is_uniform) in self.tree.subgroup_builtins() {
            let variable = Variable::named(name, U32, false);
            self.scope.push(if is_uniform { variable.uniform() } else { variable });
        }
    }

    /// Binds the result of an operation to a name.
    pub(super) fn subgroup(&mut self) -> Stmt {
        let result = match self.rng.u8(0..8) {
            0 => self.vote(),
            1..=3 => self.combination(),
            _ => self.exchange_in_subgroup(),
        };
        Stmt::Let(self.declared("s", &result.ty), result)
    }

    fn vote(&mut self) -> Expr {
        let condition = self.expr(&BOOL, 2);
        let name = self.pick(&["subgroupAll", "subgroupAny", "subgroupBallot"]);
        let ty = if name == "subgroupBallot" { Type::Vector(Scalar::U32, 4) } else { BOOL };
        Expr::new(ty, Node::Builtin(name, vec![condition]))
    }

    /// Returns a scalar or vector of numbers.
    fn exchanged(&mut self) -> Expr {
        loop {
            let ty = self.any_type(0);
            if ty.lanes().is_some_and(|(scalar, _)| scalar != Scalar::Bool) {
                return self.stored(&ty, 2);
            }
        }
    }

    fn combination(&mut self) -> Expr {
        let value = self.exchanged();
        let is_integer = value.ty.lanes().is_some_and(|(scalar, _)| scalar.is_integer());
        let names = if is_integer { &OF_NUMBERS[..] } else { &OF_NUMBERS[..8] };
        let name = self.pick(names);
        Expr::new(value.ty.clone(), Node::Builtin(name, vec![value]))
    }

    fn exchange_in_subgroup(&mut self) -> Expr {
        let value = self.exchanged();
        let name = self.pick(&EXCHANGES);
        let mut of = vec![value];
        match name {
            // WGSL requires a constant.
            "subgroupBroadcast" | "quadBroadcast" => of.push(Expr::u32(self.rng.u32(0..4))),
            _ if name.starts_with("subgroupShuffle") => of.push(self.lane()),
            _ => {}
        }
        Expr::new(of[0].ty.clone(), Node::Builtin(name, of))
    }

    /// Returns a lane index or a lane offset, mostly within the subgroup.
    fn lane(&mut self) -> Expr {
        let lane = self.expr(&U32, 2);
        if self.one_in(4) {
            return lane;
        }
        self.binary(U32, "&", lane, Expr::u32(3))
    }
}
