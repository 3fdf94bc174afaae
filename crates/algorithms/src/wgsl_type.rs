//! WGSL text for elements: their types, and the code that reads and writes them.
//!
//! An element has two forms. In an expression, it is a number, a vector, a matrix, a list of numbers, or a struct of
//! these without padding. In memory, it has the layout of the host, in which WGSL would not place a vector of three:
//! there, vectors are lists of numbers, except for elements that are a vector of two or four.

use crate::expression::HIDDEN;
use fencepost_core::{DType, Scalar, StructType};

/// Types that an expression can use, for messages.
pub(crate) const ELEMENTS: &str =
    "f32, i32, u32, a vector or a list of them, a matrix of f32, or a struct of these";

/// Prefix of the names of structs in their form in memory.
const MEMORY: &str = "fencepost_memory_";

/// Form of a value in an expression.
#[derive(Clone, Copy, Debug)]
enum Form {
    Number,
    /// A vector of this many numbers.
    Vector(usize),
    Matrix {
        columns: usize,
        rows: usize,
    },
    /// An array of numbers that is not a vector.
    List,
    Struct(&'static StructType),
}

fn form(dtype: DType) -> Option<Form> {
    match dtype {
        DType::Scalar(scalar) => is_word(scalar).then_some(Form::Number),
        DType::Array(&DType::Scalar(scalar), len) if is_word(scalar) => match len {
            0 => None,
            2..=4 => Some(Form::Vector(len)),
            _ => Some(Form::List),
        },
        DType::Array(&DType::Array(&DType::Scalar(Scalar::F32), rows @ 2..=4), columns @ 2..=4) => {
            Some(Form::Matrix { columns, rows })
        }
        DType::Struct(of) => {
            let fits =
                of.fields.iter().all(|field| field.offset.is_multiple_of(4) && form(field.dtype).is_some());
            (fits && !of.fields.is_empty() && of.size.is_multiple_of(4)).then_some(Form::Struct(of))
        }
        DType::Array(..) => None,
    }
}

fn is_word(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F32 | Scalar::I32 | Scalar::U32)
}

/// Returns `true` if an expression can use elements of the type.
pub(crate) fn is_element(dtype: DType) -> bool {
    form(dtype).is_some()
}

/// Returns `true` if an expression can use parameters of the type.
pub(crate) fn is_parameter(dtype: DType) -> bool {
    matches!(form(dtype), Some(Form::Number | Form::Vector(_)))
}

/// Returns the structs among some types and in them, or the name of two different structs.
pub(crate) fn structs(
    types: impl IntoIterator<Item = DType>,
) -> std::result::Result<Vec<&'static StructType>, &'static str> {
    let mut known = Vec::new();
    types.into_iter().try_for_each(|dtype| add_structs(dtype, &mut known))?;
    Ok(known)
}

fn add_structs(dtype: DType, known: &mut Vec<&'static StructType>) -> std::result::Result<(), &'static str> {
    let DType::Struct(of) = dtype else { return Ok(()) };
    match known.iter().find(|known| known.name == of.name) {
        Some(&same) if same == of => return Ok(()),
        Some(_) => return Err(of.name),
        None => known.push(of),
    }
    of.fields.iter().try_for_each(|field| add_structs(field.dtype, known))
}

/// Returns the declarations of a struct in both forms.
pub(crate) fn declarations(of: &StructType) -> String {
    let name = of.name;
    let members: Vec<String> =
        of.fields.iter().map(|field| format!("{}: {}", field.name, field.dtype)).collect();
    let mut in_memory = Vec::new();
    let mut end = 0;
    for field in of.fields {
        in_memory.extend(padding(end, field.offset));
        in_memory.push(format!("{}: {}", field.name, inside(field.dtype)));
        end = field.offset + field.dtype.size();
    }
    in_memory.extend(padding(end, of.size));
    format!(
        "struct {name} {{ {} }}\nstruct {MEMORY}{name} {{ {} }}\n",
        members.join(", "),
        in_memory.join(", ")
    )
}

/// Returns the member for the bytes from an offset to another, if there are any.
fn padding(from: usize, to: usize) -> Option<String> {
    (to > from).then(|| format!("_{HIDDEN}{from}: array<u32, {}>", (to - from) / 4))
}

/// Returns the type of the elements of an array in memory.
pub(crate) fn of_array(dtype: DType) -> String {
    if is_aligned(dtype) { dtype.to_string() } else { inside(dtype) }
}

/// Returns `true` if WGSL places elements of the type, a vector, as the host does.
fn is_aligned(dtype: DType) -> bool {
    matches!(form(dtype), Some(Form::Vector(2 | 4)))
}

/// Returns the type of a member in memory.
fn inside(dtype: DType) -> String {
    match dtype {
        DType::Scalar(_) => dtype.to_string(),
        DType::Array(of, len) => format!("array<{}, {len}>", inside(*of)),
        DType::Struct(of) => format!("{MEMORY}{}", of.name),
    }
}

/// Returns the expression for an element of an array in memory.
pub(crate) fn load(dtype: DType, place: &str) -> String {
    if is_aligned(dtype) { place.to_owned() } else { loaded(dtype, place) }
}

fn loaded(dtype: DType, place: &str) -> String {
    let parts: Vec<String> = match form(dtype) {
        Some(form @ (Form::Vector(_) | Form::Matrix { .. })) => {
            indices(form).iter().map(|index| format!("{place}{index}")).collect()
        }
        Some(Form::Struct(of)) => {
            let member = |name: &str| format!("{place}.{name}");
            of.fields.iter().map(|field| loaded(field.dtype, &member(field.name))).collect()
        }
        Some(Form::Number | Form::List) | None => return place.to_owned(),
    };
    format!("{dtype}({})", parts.join(", "))
}

/// Returns the statements that write an element of an array in memory. `value` is a name.
pub(crate) fn store(dtype: DType, place: &str, value: &str) -> String {
    if is_aligned(dtype) { format!("{place} = {value};") } else { stored(dtype, place, value) }
}

fn stored(dtype: DType, place: &str, value: &str) -> String {
    let statements: Vec<String> = match form(dtype) {
        Some(form @ (Form::Vector(_) | Form::Matrix { .. })) => {
            indices(form).iter().map(|index| format!("{place}{index} = {value}{index};")).collect()
        }
        Some(Form::Struct(of)) => {
            let member = |of: &str, name: &str| format!("{of}.{name}");
            let one = |name: &str, dtype| stored(dtype, &member(place, name), &member(value, name));
            of.fields.iter().map(|field| one(field.name, field.dtype)).collect()
        }
        Some(Form::Number | Form::List) | None => return format!("{place} = {value};"),
    };
    statements.join(" ")
}

/// Returns the indices of the numbers of a vector or a matrix, in the order of memory.
fn indices(form: Form) -> Vec<String> {
    match form {
        Form::Vector(len) => (0..len).map(|at| format!("[{at}]")).collect(),
        Form::Matrix { columns, rows } => {
            (0..columns).flat_map(|column| (0..rows).map(move |row| format!("[{column}][{row}]"))).collect()
        }
        Form::Number | Form::List | Form::Struct(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_core::{Element, FieldType};
    use fencepost_kernels::{Module, ShaderSource, buffer_mismatch};

    const fn field(name: &'static str, offset: usize, dtype: DType) -> FieldType {
        FieldType { name, offset, dtype }
    }

    static INNER: StructType = StructType {
        name: "Inner",
        size: 20,
        fields: &[field("colour", 4, <[f32; 3]>::DTYPE), field("kind", 16, u32::DTYPE)],
    };
    static OUTER: StructType = StructType {
        name: "Outer",
        size: 120,
        fields: &[
            field("mass", 0, f32::DTYPE),
            field("position", 4, <[f32; 4]>::DTYPE),
            field("inner", 20, DType::Struct(&INNER)),
            field("turn", 44, <[[f32; 3]; 3]>::DTYPE),
            field("bins", 80, <[u32; 9]>::DTYPE),
        ],
    };

    fn types() -> Vec<DType> {
        vec![
            f32::DTYPE,
            i32::DTYPE,
            <[f32; 2]>::DTYPE,
            <[u32; 3]>::DTYPE,
            <[f32; 4]>::DTYPE,
            <[f32; 1]>::DTYPE,
            <[i32; 7]>::DTYPE,
            <[[f32; 2]; 2]>::DTYPE,
            <[[f32; 3]; 4]>::DTYPE,
            <[[f32; 4]; 4]>::DTYPE,
            DType::Struct(&INNER),
            DType::Struct(&OUTER),
        ]
    }

    #[test]
    fn each_element_has_the_layout_of_the_host_and_is_copied_number_by_number() {
        for dtype in types() {
            assert!(is_element(dtype), "{dtype}");
            let structs = structs([dtype]).unwrap().into_iter().map(declarations).collect::<String>();
            let element = of_array(dtype);
            let load = load(dtype, "x[i]");
            let store = store(dtype, "out[i]", "value");
            let text = format!(
                "{structs}
@group(0) @binding(0) var<storage, read> x: array<{element}>;
@group(0) @binding(1) var<storage, read_write> out: array<{element}>;
fn same(x: {dtype}) -> {dtype} {{ return x; }}
@compute @workgroup_size(1) fn k(@builtin(workgroup_id) id: vec3<u32>) {{
    let i = id.x;
    let value = same({load});
    {store}
}}"
            );
            let module = Module::parse(&ShaderSource::text("k.wgsl", text.clone()));
            let interface = module.and_then(|module| module.interface("k", &[]));
            let interface = interface.unwrap_or_else(|error| panic!("{dtype}: {error}\n{text}"));
            for binding in &interface.bindings {
                let misfit = buffer_mismatch(&dtype, binding.layout.as_ref());
                assert!(misfit.is_none(), "{dtype}: {}", misfit.unwrap().as_str());
            }
        }
    }

    #[test]
    fn the_gaps_of_a_struct_are_members_in_memory_alone() {
        assert_eq!(
            declarations(&INNER),
            "struct Inner { colour: vec3<f32>, kind: u32 }\n\
             struct fencepost_memory_Inner { _fencepost_0: array<u32, 1>, colour: array<f32, 3>, kind: u32 }\n"
        );
        assert_eq!(
            load(DType::Struct(&INNER), "x[i]"),
            "Inner(vec3<f32>(x[i].colour[0], x[i].colour[1], x[i].colour[2]), x[i].kind)"
        );
        assert!(declarations(&OUTER).contains("_fencepost_40: array<u32, 1>, turn: array<array<f32, 3>, 3>"));
        assert!(declarations(&OUTER).ends_with("_fencepost_116: array<u32, 1> }\n"));
    }

    #[test]
    fn numbers_that_are_no_words_and_lists_of_vectors_have_no_form() {
        static ODD: StructType = StructType { name: "Odd", size: 5, fields: &[field("x", 1, f32::DTYPE)] };
        let types = [
            u8::DTYPE,
            f64::DTYPE,
            <[u16; 2]>::DTYPE,
            <[f32; 0]>::DTYPE,
            <[[u32; 2]; 2]>::DTYPE,
            <[[f32; 3]; 5]>::DTYPE,
        ];
        for dtype in types.into_iter().chain([DType::Struct(&ODD)]) {
            assert!(!is_element(dtype) && !is_parameter(dtype), "{dtype}");
        }
        assert!(is_parameter(<[f32; 3]>::DTYPE) && !is_parameter(<[f32; 5]>::DTYPE));
        assert!(!is_parameter(DType::Struct(&INNER)) && !is_parameter(<[[f32; 4]; 4]>::DTYPE));
    }

    #[test]
    fn two_structs_of_one_name_are_found_also_inside_of_others() {
        static OTHER: StructType =
            StructType { name: "Inner", size: 4, fields: &[field("kind", 0, u32::DTYPE)] };
        let names = |types: &[DType]| {
            structs(types.iter().copied()).map(|all| all.iter().map(|of| of.name).collect::<Vec<_>>())
        };
        let outer = DType::Struct(&OUTER);
        assert_eq!(names(&[outer, DType::Struct(&INNER), f32::DTYPE]), Ok(vec!["Outer", "Inner"]));
        assert_eq!(names(&[outer, DType::Struct(&OTHER)]), Err("Inner"));
    }
}
