//! Checks the book: every page is in the summary, every link has a target, every rule has its parts, every test that a
//! page names exists, every shader is valid, and the gallery has every picture and example.

mod cited;
mod drawings;
mod gallery;
mod links;
mod messages;
mod pages;
mod rules;
mod shaders;
