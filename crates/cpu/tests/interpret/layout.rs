//! Random types in memory: whole values and their parts are at the same bytes.

use crate::harness::{Buffer, prepare, run};
use fastrand::Rng;
use std::fmt::Write;

/// Declarations of random types.
#[derive(Default)]
struct Types {
    declarations: String,
    structs: usize,
}

/// A type, with the path and the size of each of its scalars.
struct Made {
    name: String,
    leaves: Vec<(String, usize)>,
}

fn scalar(rng: &mut Rng, only_floats: bool) -> (&'static str, usize) {
    let floats = [("f32", 4), ("f16", 2), ("f64", 8)];
    let others = [("u32", 4), ("i32", 4), ("u64", 8)];
    if only_floats || rng.bool() { floats[rng.usize(0..3)] } else { others[rng.usize(0..3)] }
}

impl Types {
    fn make(&mut self, rng: &mut Rng, depth: u32) -> Made {
        match rng.u32(0..if depth == 0 { 3 } else { 6 }) {
            0 => {
                let (name, size) = scalar(rng, false);
                Made { name: name.into(), leaves: vec![(String::new(), size)] }
            }
            1 => {
                let ((name, size), count) = (scalar(rng, false), rng.usize(2..5));
                let leaves = (0..count).map(|at| (format!("[{at}]"), size)).collect();
                Made { name: format!("vec{count}<{name}>"), leaves }
            }
            2 => {
                let ((name, size), columns, rows) = (scalar(rng, true), rng.usize(2..5), rng.usize(2..5));
                let paths = (0..columns).flat_map(|c| (0..rows).map(move |r| format!("[{c}][{r}]")));
                let leaves = paths.map(|path| (path, size)).collect();
                Made { name: format!("mat{columns}x{rows}<{name}>"), leaves }
            }
            3 => {
                let base = self.make(rng, depth - 1);
                let count = rng.usize(1..4);
                let paths =
                    |at: usize| base.leaves.iter().map(move |(path, size)| (format!("[{at}]{path}"), *size));
                let leaves = (0..count).flat_map(paths).collect();
                Made { name: format!("array<{}, {count}>", base.name), leaves }
            }
            _ => {
                let members: Vec<Made> = (0..rng.usize(1..5)).map(|_| self.make(rng, depth - 1)).collect();
                let name = format!("S{}", self.structs);
                self.structs += 1;
                let mut leaves = Vec::new();
                let _ = write!(self.declarations, "struct {name} {{");
                for (at, member) in members.iter().enumerate() {
                    let _ = write!(self.declarations, " m{at}: {},", member.name);
                    leaves.extend(member.leaves.iter().map(|(path, size)| (format!(".m{at}{path}"), *size)));
                }
                self.declarations.push_str(" }\n");
                Made { name, leaves }
            }
        }
    }
}

#[test]
fn a_value_and_its_parts_are_at_the_same_bytes() {
    let mut rng = Rng::with_seed(5);
    for _ in 0..40 {
        let mut types = Types::default();
        let made = types.make(&mut rng, 3);
        let name = &made.name;
        let leaves = &made.leaves;
        let copy = |to: &str, from: &str| {
            let one = |(path, _): &(String, usize)| format!("{to}{path} = {from}{path};\n");
            leaves.iter().map(one).collect::<String>()
        };
        let text = format!(
            "enable f16;\n{}
            @group(0) @binding(0) var<storage, read> a: array<{name}, 2>;
            @group(0) @binding(1) var<storage, read_write> b: array<{name}, 2>;
            @group(0) @binding(2) var<storage, read_write> c: array<{name}, 2>;
            @group(0) @binding(3) var<storage, read_write> d: array<{name}, 2>;
            var<workgroup> w: array<{name}, 3>;
            @compute @workgroup_size(1) fn k() {{
                var i = 1u;
                b[i] = a[i];
                var v: {name};
                {}
                c[i] = v;
                w[i] = a[i];
                let x = w[i]; var y = x;
                {}
            }}",
            types.declarations,
            copy("v", "a[i]"),
            copy("d[i]", "y"),
        );
        let kernel = prepare(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut input = vec![0_u8; 1 << 14];
        input.fill_with(|| rng.u8(1..));
        let mut buffers = [&input[..], &[0; 1 << 14], &[0; 1 << 14], &[0; 1 << 14]].map(Buffer::new);
        run(&kernel, [1; 3], 0, &[], &mut buffers).unwrap();
        let outputs = [1, 2, 3].map(|at| buffers[at].values::<u8>());
        assert!(outputs[0] == outputs[1] && outputs[0] == outputs[2], "{text}");
        let wrong = outputs[0].iter().zip(&input).filter(|&(out, byte)| *out != 0 && out != byte).count();
        assert_eq!(wrong, 0, "{text}");
        let written = outputs[0].iter().filter(|&&byte| byte != 0).count();
        assert_eq!(written, leaves.iter().map(|(_, size)| size).sum::<usize>(), "{text}");
    }
}
