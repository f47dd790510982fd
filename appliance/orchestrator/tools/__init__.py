"""The tools that agents have without a plugin: one file for each family, all listed in `builtin`."""
