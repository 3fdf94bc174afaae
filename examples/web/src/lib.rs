//! The page that runs Fencepost in a browser, except for its document.
//!
//! Each section of the page has a module, which uses the library as any program does, so the unit tests run on any
//! machine. The module `browser` is the interface for `page.js`, which reads the input, shows the results and draws.

pub mod browser;
pub mod device;
pub mod first;
pub mod hash;
pub mod races;
pub mod timeline;
pub mod units;
pub mod water;
