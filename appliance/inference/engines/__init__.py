"""One program per kind of engine, each speaking OpenAI's shapes on a unix socket."""
