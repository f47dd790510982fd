"""One file per noun of ``/api/v1``."""
