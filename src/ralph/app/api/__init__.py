"""The public Python API under the names SpecFlow gave it, thin over the house."""
