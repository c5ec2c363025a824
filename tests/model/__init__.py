"""Tests with a small real model on this machine, which `make test-model` downloads and runs."""
