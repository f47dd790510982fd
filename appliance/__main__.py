"""``python -m appliance`` is ``skellig``."""

from appliance.cli.main import main

if __name__ == "__main__":
    main()
