# What a change must pass, step by step: the same steps as `.ci/run`, which runs them all.
# (`just` is a small program that runs recipes; `.ci/run NAME` does the same without it.)

# List the recipes
default:
    @just --list

# Everything a change must pass
ci:
    .ci/run

# Format all code
fmt:
    cargo fmt --all

# Formatting is as it should be
format:
    .ci/run format

# Clippy without warnings
lints:
    .ci/run lints

# Documentation without warnings
documentation:
    .ci/run documentation

# Licences of all dependencies fit
licences:
    .ci/run licences

# All tests that take seconds
tests:
    .ci/run tests

# The long tests that fit into every change
long:
    .ci/run long

# All long tests, or some parts of them
night *PARTS="all":
    .ci/long {{PARTS}}

# Some experiments of the laboratory
lab:
    .ci/run lab

# Random systems against naive checkers
adversary:
    .ci/run adversary

# Lock-free code under loom
loom:
    .ci/run loom

# Proofs, checked by machine (Coq)
proofs:
    .ci/run proofs

# Packages, when their files change
packages:
    .ci/run packages

# The page in a browser
browser:
    .ci/run browser

# The language server and its editors
editor:
    .ci/run editor
