//! Builds the C++ interface to Xapian if the feature is enabled.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "search")]
    xapian();
}

#[cfg(feature = "search")]
fn xapian() {
    let source = "src/programs/xapian.cc";
    println!("cargo::rerun-if-changed={source}");
    cc::Build::new().cpp(true).std("c++17").file(source).compile("originals-xapian");
    println!("cargo::rustc-link-lib=xapian");
}
