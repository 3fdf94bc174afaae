//! Describes the mistakes that naga's parser finds in a text.

/// Describes a mistake that the parser finds when it computes a constant.
pub(crate) fn of_constant(message: &str) -> Option<&'static str> {
    Some(match message {
        "Division by zero" => "the divisor is the constant 0: divide by another number",
        "Remainder by zero" => "the divisor of the remainder is the constant 0: use another number",
        "Cannot access the type" | "Cannot access at the index" => {
            "a constant has no element at this index: use an index below the number of its elements"
        }
        _ => return None,
    })
}

/// Describes a name that the language reserves.
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
