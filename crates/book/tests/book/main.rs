//! The book hangs together: every page is in the summary, every link leads somewhere, every rule has what a rule needs,
//! every shader is one.

mod links;
mod pages;
mod rules;
mod shaders;
