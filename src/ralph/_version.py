"""The version: "dev" in a checkout, stamped when the wheel is built."""

VERSION = "dev"
