"""Work that outlives a request: a leased queue in SQLite and the worker that drains it."""
