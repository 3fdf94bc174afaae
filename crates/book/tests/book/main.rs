//! The book hangs together: every page is in the summary, every link leads somewhere, every rule has what a rule needs,
//! every test that it names is there, every shader is one.

mod cited;
mod links;
mod messages;
mod pages;
mod rules;
mod shaders;
