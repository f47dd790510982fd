"""The ``skellig`` command, one file per noun."""
