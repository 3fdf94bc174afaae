//! What the compiler refuses, and says.

#[test]
fn wrong_launches_do_not_compile() {
    trybuild::TestCases::new().compile_fail("../../tests/compile_fail/*.rs");
}
