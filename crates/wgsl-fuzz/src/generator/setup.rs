//! The sizes, the structs and the variables of the module.

use fastrand::Rng;

use super::Generator;
use super::scope::Variable;
use crate::program::{INPUTS, SLOTS};
use crate::tree::print::NUMBERS;
use crate::tree::types::{F32, I32, Scalar, Struct, Type, U32};
use crate::tree::{Global, Space, Tree};

/// Index of the struct that buffers hold.
pub(super) const ITEM: usize = 1;

/// Makes a tree without functions.
pub(super) fn tree(rng: &mut Rng, is_portable: bool) -> Tree {
    // Most widths are multiples of 16, so that 16 invocations can execute together.
    const SIZES: [[u32; 3]; 20] = [
        [16, 1, 1],
        [16, 1, 1],
        [16, 1, 1],
        [16, 1, 1],
        [16, 1, 1],
        [16, 1, 1],
        [32, 1, 1],
        [32, 1, 1],
        [32, 1, 1],
        [64, 1, 1],
        [48, 1, 1],
        [16, 2, 1],
        [16, 1, 2],
        [32, 1, 2],
        [8, 1, 1],
        [4, 2, 1],
        [16, 1, 1],
        [3, 1, 1],
        [2, 3, 2],
        [16, 2, 2],
    ];
    let workgroup = SIZES[rng.usize(0..SIZES.len())];
    let groups = match rng.u8(0..4) {
        0 => [1, 1, 1],
        1 => [rng.u32(2..4), 1, 1],
        2 => [2, 2, 1],
        _ => [1, rng.u32(1..3), 2],
    };
    let field = |name: &str, ty: Type| (name.to_owned(), ty);
    let vector = |scalar, size| Type::Vector(scalar, size);
    let inner = Struct {
        name: "Inner".into(),
        fields: vec![field("p", vector(Scalar::I32, 2)), field("q", U32), field("r", F32)],
    };
    let item = Struct {
        name: "Item".into(),
        fields: vec![
            field("v", vector(Scalar::F32, 3)),
            field("n", U32),
            field("inner", Type::Struct(0)),
            field("k", vector(Scalar::I32, 4)),
        ],
    };
    Tree {
        structs: vec![inner, item],
        globals: Vec::new(),
        functions: Vec::new(),
        main: Vec::new(),
        workgroup,
        groups,
        data_seed: rng.u64(..),
        is_portable,
        has_privates: false,
        has_subgroups: false,
    }
}

/// Names of the buffers of atomics.
const ATOMICS: [&str; 4] = ["own", "own_f", "shared_u", "shared_f"];

impl Generator {
    /// Returns the number of invocations of a workgroup.
    pub(super) fn group_size(&self) -> u32 {
        self.tree.workgroup.iter().product()
    }

    /// Writes the index of a slot in an output of numbers.
    pub(super) fn slot(&self, slot: u32) -> String {
        if self.parts.planar {
            let all = self.group_size() * self.tree.groups.iter().product::<u32>();
            return format!("{}u + invocation", slot * all);
        }
        format!("invocation * {SLOTS}u + {slot}u")
    }

    /// Declares the structs and variables of the module, and puts them and the buffers in scope.
    pub(super) fn declare_globals(&mut self) {
        for name in NUMBERS {
            if self.parts.privates {
                let text = "u32".to_owned();
                self.tree.globals.push(Global { space: Space::Private, name: name.into(), text });
            }
            self.declare(name, &U32, false);
        }
        self.declare_buffers();
        for _ in 0..self.rng.u32(0..3) {
            self.declare_struct();
        }
        let privates = if self.parts.privates { self.rng.u32(1..6) } else { 0 };
        for _ in 0..privates {
            let name = self.name("p");
            let ty = self.any_type(2);
            let text = ty.text(&self.tree.structs);
            self.tree.globals.push(Global { space: Space::Private, name: name.clone(), text });
            self.declare(&name, &ty, true);
        }
    }

    fn declare_struct(&mut self) {
        let name = self.name("S");
        let count = self.rng.u32(1..5);
        let fields = (0..count).map(|at| (format!("f{at}"), self.any_type(1))).collect();
        self.tree.structs.push(Struct { name, fields });
    }

    /// Chooses three inputs, and two of the buffers that are not plain outputs.
    fn choose_buffers(&mut self) {
        let mut inputs = ["in_u", "in_i", "in_f", "in_v", "in_s"];
        let mut others = vec!["out_s", "own", "shared_u", "out_s", "own", "shared_u", "out_x"];
        if !self.options.is_portable {
            others.extend(["own_f", "shared_f", "own_f", "shared_f"]);
        }
        self.rng.shuffle(&mut inputs);
        self.rng.shuffle(&mut others);
        self.buffers = [&inputs[..3], &others[..2]].concat();
        if !self.parts.atomics {
            self.buffers.retain(|name| !ATOMICS.contains(name));
        }
    }

    fn declare_buffers(&mut self) {
        self.choose_buffers();
        let vector = Type::Vector(Scalar::F32, 4);
        let inputs =
            [("in_u", U32), ("in_i", I32), ("in_f", F32), ("in_v", vector), ("in_s", Type::Struct(ITEM))];
        for (name, ty) in inputs {
            if self.has(name) {
                self.declare(name, &Type::array(ty, INPUTS), false);
            }
        }
        for (name, ty) in [("out_u", U32), ("out_i", I32), ("out_f", F32)] {
            for slot in 0..SLOTS {
                let at = self.slot(slot);
                self.scope.push(Variable::slot(name, &at, ty.clone()));
            }
        }
        if self.has("out_s") {
            self.scope.push(Variable::slot("out_s", "invocation", Type::Struct(ITEM)));
        }
        let params = [
            ("nu", U32),
            ("ni", I32),
            ("nf", F32),
            ("turns", U32),
            ("vu", Type::Vector(Scalar::U32, 4)),
            ("vi", Type::Vector(Scalar::I32, 3)),
            ("vf", Type::Vector(Scalar::F32, 2)),
        ];
        for (name, ty) in params {
            let variable = Variable::named(&format!("params.{name}"), ty, false);
            self.scope.push(variable.uniform());
        }
    }

    /// Returns a type; `depth` limits the nesting of arrays and structs.
    pub(super) fn any_type(&mut self, depth: u32) -> Type {
        let scalars = [Scalar::I32, Scalar::U32, Scalar::I32, Scalar::U32, Scalar::F32, Scalar::Bool];
        let sized = self.parts.sizes && self.one_in(2);
        let scalar = if sized { self.sized_scalar() } else { self.pick(&scalars) };
        let depth = if self.parts.composites { depth } else { 0 };
        let composite = depth > 0 && self.one_in(4);
        let choice = self.rng.u8(0..8);
        match choice {
            0..=2 if composite && self.parts.arrays => {
                let of = self.any_type(depth - 1);
                let len = self.rng.u32(1..6);
                Type::array(of, len)
            }
            3..=6 if composite => Type::Struct(self.rng.usize(0..self.tree.structs.len())),
            7 if depth > 0 => Type::Matrix(self.rng.u8(2..5), self.rng.u8(2..5)),
            _ if choice < 4 => Type::Scalar(scalar),
            _ => Type::vector(scalar, self.rng.u8(1..5)),
        }
    }
}
