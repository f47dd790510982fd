"""Say why a host cannot carry the appliance, each reason with its remedy. Nothing on the host is changed."""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.skellig_fitness import Host, faults, wanted_of

DOCUMENTATION = r"""
module: skellig_host
short_description: Say why a host cannot carry Skellig, each reason with its remedy
description: Reads the host and changes nothing; the roles' argument_specs say what each option means.
options:
  root: {type: path, required: true}
  uid: {type: int, required: true}
  publish: {type: str, default: ""}
  memory_mb: {type: int, required: true}
  free_mb: {type: int, required: true}
  storage_mb: {type: int, required: true}
  user_namespaces: {type: bool, required: true}
  clock_seconds: {type: int, required: true}
  now: {type: int, required: true}
author: [the authors of Skellig]
"""
OPTIONS = {
    "root": {"type": "path", "required": True},
    "uid": {"type": "int", "required": True},
    "publish": {"type": "str", "default": ""},
    "memory_mb": {"type": "int", "required": True},
    "free_mb": {"type": "int", "required": True},
    "storage_mb": {"type": "int", "required": True},
    "user_namespaces": {"type": "bool", "required": True},
    "clock_seconds": {"type": "int", "required": True},
    "now": {"type": "int", "required": True},
}


def main() -> None:
    """Answer Ansible."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    module.exit_json(changed=False, faults=faults(Host(), wanted_of(module.params)))


if __name__ == "__main__":
    main()
