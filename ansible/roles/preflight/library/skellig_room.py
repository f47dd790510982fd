"""Say where a host lacks the space for a bundle, with the remedy. Nothing on the host is changed."""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.skellig_fitness import Host, room

DOCUMENTATION = r"""
module: skellig_room
short_description: Say where a host lacks the space for a bundle, with the remedy
description: Reads the host and changes nothing; sizes are in bytes.
options:
  root: {type: path, required: true, description: The appliance's folder.}
  sent: {type: int, required: true, description: "The bundle's size where it is sent to the host, else 0."}
  kept: {type: int, required: true, description: The bundle's size.}
  image: {type: int, required: true, description: The size of its image's archive.}
author: [the authors of Skellig]
"""
OPTIONS = {
    "root": {"type": "path", "required": True},
    "sent": {"type": "int", "required": True},
    "kept": {"type": "int", "required": True},
    "image": {"type": "int", "required": True},
}


def main() -> None:
    """Answer Ansible."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    sizes = {name: module.params[name] for name in ("sent", "kept", "image")}
    module.exit_json(changed=False, faults=room(Host(), Path(module.params["root"]), **sizes))


if __name__ == "__main__":
    main()
