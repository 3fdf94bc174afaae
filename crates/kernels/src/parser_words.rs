//! Describes mistakes that naga's parser finds.

/// Describes a mistake that the parser finds when it computes a constant.
pub(crate) fn of_constant(message: &str) -> Option<String> {
    match message.strip_prefix("Not implemented as constant expression: ") {
        Some(function) => Some(not_evaluated(function.trim_end_matches(" built-in function"))),
        None => of_known_constant(message).map(str::to_owned),
    }
}

/// Returns the message for a function that the parser does not evaluate. `function` is naga's name for it.
fn not_evaluated(function: &str) -> String {
    let name = match function {
        "SmoothStep" => "smoothstep".to_owned(),
        _ => function[..1].to_lowercase() + &function[1..],
    };
    format!(
        "the compiler does not evaluate `{name}` where WGSL needs a constant: in a function, name the result with `let`; for a \
         workgroup size, the length of an array or a default, write the number, or compute it in the program and give it to an \
         `override`"
    )
}

fn of_known_constant(message: &str) -> Option<&'static str> {
    let begins = |start: &str| message.starts_with(start);
    if begins("Cannot cast scalar components of expression") {
        return Some(
            "the compiler does not convert this constant: write the number with the suffix of the type, as in `5i`, or convert \
             a `var` that has it",
        );
    }
    if message.contains(" built-in function argument is out of valid range") {
        return Some("a constant argument is outside of the range of the function: use another number");
    }
    if message.contains(" built-in function expects ") {
        return Some("the function takes another number of arguments");
    }
    if message.ends_with(" operation overflowed") {
        return Some(
            "the constant result is outside of the range of its type: use smaller numbers, or another type",
        );
    }
    if begins("Expected vectors of the same size for reject and accept args.") {
        return Some("`select` takes two vectors of one size");
    }
    if begins("Cannot apply relational function to type") {
        return Some("the function takes other types");
    }
    if begins("failed to convert expression to a concrete type") {
        return Some("the function does not compute numbers without a type: give one a type, as in `1.0f`");
    }
    of_whole(message).or_else(|| {
        let is_no_constant = begins("Constants cannot ") || begins("Constants don't support ");
        is_no_constant
            .then_some("this has no value when the shader is compiled: use a `var` or a `let` in a function")
    })
}

/// Describes a mistake with a message that quotes nothing from the text.
fn of_whole(message: &str) -> Option<&'static str> {
    Some(match message {
        "Cannot access with index of type" => "an index is `i32` or `u32`",
        "Cannot apply the unary op to the argument" => "the operator does not take a value of this type",
        "Cannot apply the binary op to the arguments" => {
            "the operator does not take values of these two types: convert one of them"
        }
        "Cannot apply math function to type" => "the function does not take values of these types",
        "value of `low` is greater than `high` for clamp built-in function" => {
            "the lower limit of `clamp` is above the upper one"
        }
        "Splat is defined only on scalar values" => {
            "a vector of one repeated value takes a number or a `bool`"
        }
        "Can only swizzle vector constants" | "swizzle component not present in source expression" => {
            "the constant has no such components"
        }
        "Constructor must only contain vector or scalar arguments" => {
            "a vector is made of numbers, `bool`s and vectors of them"
        }
        "Type is not constructible" => "no value of this type can be written",
        "Type is too large" => "the type has more bytes than a type may have: use fewer elements",
        "RHS of shift operation is greater than or equal to 32" => {
            "the constant is shifted by as many bits as it has, or more: use a smaller number"
        }
        "Can't use pipeline-overridable constants in const-expressions"
        | "Unexpected override-expression" => "the value of an `override` is not known here: use a `const`",
        "Unexpected runtime-expression" | "Subexpression(s) are not constant" => {
            "the value is not known when the shader is compiled: use a `const`"
        }
        "Expected boolean expression for condition argument of `select`, got something else"
        | "Expected boolean vector for condition arg., got something else" => {
            "the condition of `select` is a `bool`, or a vector of them"
        }
        "Expected same number of vector components between condition, accept, and reject args., got something else" => {
            "the condition and the two values of `select` have as many components as each other"
        }
        "Expected reject and accept args. to be scalars of vectors of the same type, got something else" => {
            "`select` takes two values of one type"
        }
        "Cannot get the array length of a non array type"
        | "Constants cannot get the array length of a dynamically sized array"
        | "Cannot call arrayLength on array sized by override-expression"
        | "Constants don't support array length expressions" => {
            "`arrayLength` takes a pointer to an array without a fixed length, and is not a constant"
        }
        "Division by zero" => "the divisor is the constant 0: divide by another number",
        "Remainder by zero" => "the divisor of the remainder is the constant 0: use another number",
        "Cannot access the type" | "Cannot access at the index" => {
            "a constant has no element at this index: use an index below the number of its elements"
        }
        _ => return None,
    })
}

/// Replaces naga's terms in a message by those of WGSL.
pub(crate) fn plain(message: &str) -> String {
    let begins = |start: &str| message.starts_with(start);
    if let Some(counts) = message.strip_prefix("Constructor expects ")
        && let Some((wanted, given)) = counts.split_once(" components, found ")
    {
        return format!("the vector takes {wanted} values, and is given {given}");
    }
    if let Some(rest) = message.strip_prefix("Composing ")
        && let Some((index, _)) = rest.split_once("'s component type is not expected")
        && let Ok(index) = index.parse::<usize>()
    {
        return format!("value {} does not fit the type that is made of it", index + 1);
    }
    if let Some(counts) = message.strip_prefix("Composing expects ")
        && let Some((wanted, given)) = counts.split_once(" components but ")
    {
        let given = given.trim_end_matches(" were given");
        return format!("the type is made of {wanted} values, and is given {given}");
    }
    if begins("Invalid access into expression [") {
        return "a value has no such element or member".into();
    }
    if begins("Incompatible operands: ") {
        return "an operator does not take values of these two types: convert one of them".into();
    }
    message.replace("{AbstractInt}", "abstract-int").replace("{AbstractFloat}", "abstract-float")
}

/// Returns `true` for a keyword of WGSL, and for a word that WGSL reserves for later. Neither can be a name.
pub fn is_reserved_word(word: &str) -> bool {
    naga::keywords::wgsl::RESERVED.contains(&word)
}

/// Describes the use of a reserved word.
pub(crate) fn reserved(word: &str) -> String {
    format!(
        "`{word}` is a reserved word of WGSL: use another name, such as `{word}_`; a Rust argument needs the same name"
    )
}

/// Describes a conversion that the parser refuses, without its names of types.
pub(crate) fn words(of_naga: &str) -> String {
    let abstracts =
        [("elements of ", ""), ("`{AbstractFloat}`", "a fraction"), ("`{AbstractInt}`", "an integer")];
    let words = abstracts.iter().fold(of_naga.to_owned(), |text, (from, to)| text.replace(from, to));
    words.replacen(" to ", ", the required type is ", 1)
}

#[cfg(test)]
mod tests {
    use crate::{Module, ShaderSource};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const NUMBERS: &[&str] = &[
        "1",
        "0",
        "-1",
        "7u",
        "0u",
        "5i",
        "-2i",
        "2.5",
        "1.5f",
        "0.5h",
        "5li",
        "7lu",
        "2.5lf",
        "true",
        "false",
        "2147483647i",
        "4294967295u",
        "1e30",
        "3e38f",
        "40",
        "a",
        "v",
        "o",
        "s",
        "array(1, 2)",
    ];
    const TYPES: &[&str] = &[
        "i32",
        "u32",
        "f32",
        "f16",
        "i64",
        "u64",
        "f64",
        "bool",
        "vec2",
        "vec3<f32>",
        "vec2<u32>",
        "vec4<i32>",
        "mat2x2<f32>",
        "array<u32, 2>",
        "S",
        "vec3<bool>",
    ];
    const OPERATORS: &[&str] =
        &["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "==", "!=", "<", ">="];
    const FUNCTIONS: &[&str] = &[
        "abs",
        "acos",
        "all",
        "any",
        "asin",
        "atan2",
        "ceil",
        "clamp",
        "cos",
        "countOneBits",
        "cross",
        "degrees",
        "determinant",
        "distance",
        "dot",
        "dot4U8Packed",
        "exp2",
        "extractBits",
        "faceForward",
        "firstLeadingBit",
        "floor",
        "fma",
        "fract",
        "frexp",
        "inverseSqrt",
        "insertBits",
        "ldexp",
        "length",
        "log",
        "max",
        "min",
        "mix",
        "modf",
        "normalize",
        "pack2x16float",
        "pack4x8snorm",
        "pack4xU8",
        "pow",
        "quantizeToF16",
        "radians",
        "reflect",
        "refract",
        "reverseBits",
        "round",
        "saturate",
        "select",
        "sign",
        "sin",
        "smoothstep",
        "sqrt",
        "step",
        "tan",
        "transpose",
        "trunc",
        "unpack2x16float",
        "unpack4xI8",
        "arrayLength",
        "bitcast<u32>",
        "bitcast<f32>",
        "workgroupUniformLoad",
        "atomicLoad",
        "subgroupAdd",
    ];

    /// Random choice of parts of texts, determined by a seed.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, count: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % count as u64) as usize
        }

        fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
            of[self.below(of.len())]
        }

        /// Makes a constant expression, valid or invalid.
        fn expression(&mut self, depth: usize) -> String {
            if depth == 0 {
                return self.one(NUMBERS).into();
            }
            let part = |chance: &mut Self| chance.expression(depth - 1);
            match self.below(8) {
                0 => self.one(NUMBERS).into(),
                1 => format!("{}({})", self.one(TYPES), part(self)),
                2 => format!("{}({}, {})", self.one(TYPES), part(self), part(self)),
                3 => format!("({} {} {})", part(self), self.one(OPERATORS), part(self)),
                4 => format!("{}({})", self.one(&["-", "!", "~", "&", "*"]), part(self)),
                5 => format!(
                    "{}{}",
                    part(self),
                    self.one(&[".x", ".yw", "[0]", "[3]", ".r", ".fract", "[a]", ".wwww"])
                ),
                count => {
                    let arguments: Vec<_> = (5..count + self.below(3)).map(|_| part(self)).collect();
                    format!("{}({})", self.one(FUNCTIONS), arguments.join(", "))
                }
            }
        }

        fn text(&mut self) -> String {
            let expression = self.expression(2);
            let (global, local) = match self.below(10) {
                0 => (format!("const c = {expression};"), String::new()),
                1 => (
                    format!("const c: {} = {expression};", self.one(&["u32", "f32", "vec2<i32>"])),
                    String::new(),
                ),
                2 => (format!("override c: u32 = {expression};"), String::new()),
                3 => (format!("var<private> c = {expression};"), "_ = c;".into()),
                4 => (format!("var<workgroup> c: array<u32, {expression}>;"), "_ = c[0];".into()),
                5 => (format!("const_assert {expression};"), String::new()),
                6 => (String::new(), format!("let c = {expression};")),
                7 => (String::new(), format!("var c: array<u32, 4>; c[{expression}] = 1;")),
                8 => (String::new(), format!("switch 1 {{ case {expression}: {{}} default: {{}} }}")),
                _ => (format!("@compute @workgroup_size({expression}) fn l() {{}}"), String::new()),
            };
            format!(
                "enable f16; const a = 3; const v = vec3(1, 2, 3); override o = 2u; struct S {{ x: u32 }} const s = S(1);
                 {global}
                 @compute @workgroup_size(1) fn k() {{ {local} }}"
            )
        }
    }

    /// Returns a part of a message that only readers of naga's source understand.
    fn inside(message: &str) -> Option<&str> {
        const PARTS: &[&str] = &[
            "Literal(",
            "Handle",
            "{A",
            "Abstract",
            "expression [",
            "Expression",
            "ScalarKind",
            "Scalar",
            "Sint",
            "Uint",
            "Some(",
            "Vector",
            "Compose",
            "Splat",
            "Pointer",
            "NotImplemented",
            "Constants ",
            "Cannot ",
            "Constructor ",
            "runtime-expr",
            "override-expr",
            "Overridden",
            "TypeInner",
            "MathFunction",
            "InvalidA",
            "ZeroValue",
            "Relational",
            "the shader is not valid",
        ];
        PARTS.iter().copied().find(|part| message.contains(part))
    }

    #[test]
    fn no_message_about_a_constant_shows_the_insides_of_the_compiler() {
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
        let mut refused = 0;
        let mut found = Vec::new();
        for _ in 0..1000 {
            let text = chance.text();
            let parsed = catch_unwind(AssertUnwindSafe(|| {
                let module = Module::parse(&ShaderSource::text("k.wgsl", text.clone()))?;
                module.interface("k", &[("o", 0.0)])
            }));
            // Panics of naga are not the subject of this test.
            let Ok(Err(error)) = parsed else { continue };
            refused += 1;
            let message = error.to_string();
            let first = message.lines().next().unwrap_or_default();
            if let Some(part) = inside(first) {
                let kind: String =
                    first.split(": ").skip(1).collect::<Vec<_>>().join(": ").chars().take(24).collect();
                if !found.iter().any(|known: &String| known.contains(&kind)) {
                    found.push(format!("{part}: {message}"));
                }
            }
        }
        assert!(refused > 300, "{refused}");
        assert!(found.is_empty(), "{} messages:\n{}", found.len(), found[..found.len().min(40)].join("\n"));
    }
}
