//! What compiles, and what the compiler says where it does not.

#[test]
fn right_structs_compile_and_wrong_ones_show_both_sides() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/compile_pass/*.rs");
    cases.compile_fail("tests/compile_fail/*.rs");
}
