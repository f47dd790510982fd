"""The first version of the API. It only grows: what is here stays."""
