//! Checks the book: every page is in the summary, every link has a target, every rule has its parts, every test that a
//! page names exists, and every shader is valid.

mod cited;
mod drawings;
mod links;
mod messages;
mod pages;
mod rules;
mod shaders;
