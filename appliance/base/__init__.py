"""The machine, not the product: disk, processes, time, databases, logs."""
